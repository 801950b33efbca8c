"""Steady turns in the terminal.

One turn, or families of turns without steer torque.
"""

from dataclasses import asdict
from math import degrees
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.reports.text import eigenvalue_text
from riderless.experiments.terminal.console import print_table, screen
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:  # some of their kernels compile when they are imported
    from riderless.models.nonlinear.hands_free import TurnFamily
    from riderless.models.nonlinear.steady_turns import SteadyTurn

TURNS_SHOWN = 12  # of a family in the table; --json has all


def turn_document(turn: "SteadyTurn") -> dict[str, Any]:
    """Describe a turn for JSON: SI, and the properties that are not fields."""
    return {**asdict(turn), "radius": turn.radius, "stable": turn.stable}


def show_turn(bicycle: Bicycle, turn: "SteadyTurn") -> None:
    """Print one turn."""
    side = "right" if turn.psi_dot > 0.0 else "left"
    upper = [s for s in turn.eigenvalues if s.imag >= 0.0]
    print_table(
        f"{bicycle.name}: steady turn to the {side}, {'stable' if turn.stable else 'unstable'}",
        ["quantity", "value"],
        [
            ["lean deg", f"{degrees(turn.phi):.4f}"],
            ["steer deg", f"{degrees(turn.delta):.4f}"],
            ["pitch from upright deg", f"{degrees(turn.theta - bicycle.lam):.4f}"],
            ["speed m/s", f"{turn.v:.4f}"],
            ["yaw rate deg/s", f"{degrees(turn.psi_dot):.3f}"],
            ["radius m", f"{abs(turn.radius):.4f}"],
            ["steer torque N m", f"{turn.T_delta:.4f}"],
            ["eigenvalues 1/s", "  ".join(eigenvalue_text(s, 3) for s in upper)],
        ],
        "Radius and speed: of the rear contact. Eigenvalues: under this constant steer torque, energy kept.",
    )


def show_families(bicycle: Bicycle, families: "tuple[TurnFamily, ...]") -> None:
    """Print the families of turns without steer torque, some turns of each."""
    if not families:
        screen.print(f"{bicycle.name} has no turns without steer torque")
    for family in families:
        chosen = np.unique(np.linspace(0, len(family.turns) - 1, TURNS_SHOWN).round().astype(int))
        print_table(
            f"{bicycle.name}, hands free, from {family.start} to {family.end}: {len(family.turns)} turns",
            ["lean deg", "steer deg", "speed m/s", "radius m", "yaw deg/s", ""],
            [
                [
                    f"{degrees(turn.phi):.3f}",
                    f"{degrees(turn.delta):.3f}",
                    f"{turn.v:.4f}",
                    f"{turn.radius:.3f}",
                    f"{degrees(turn.psi_dot):.2f}",
                    "stable" if turn.stable else "unstable",
                ]
                for turn in (family.turns[i] for i in chosen)
            ],
        )
