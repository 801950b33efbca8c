"""`riderless turns`: steady turns of the nonlinear bicycle and whether it stays in them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from models.nonlinear.hands_free import Family
    from models.nonlinear.steady_turns import SteadyTurn
    from models.parameters import Bicycle

ROWS = 12  # turns of a family in the table; --json has all


def turns(
    bike: Annotated[str, typer.Argument(help="Name in the catalogue, or a TOML file.")],
    lean: Annotated[float | None, typer.Option(help="deg, to the right; with --steer.")] = None,
    steer: Annotated[float | None, typer.Option(help="deg, to the right; with --lean.")] = None,
    speed: Annotated[float | None, typer.Option(help="m/s; with --radius.")] = None,
    radius: Annotated[float | None, typer.Option(help="m, of the rear contact, to the right; with --speed.")] = None,
    hands_free: Annotated[bool, typer.Option("--hands-free", help="All families without steer torque.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw to this file: .svg, .pdf or .png.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in full precision.")] = False,
) -> None:
    """Steady turns: from lean and steer, from speed and radius, or all that need no hands."""
    from math import radians

    from experiments.reports.theory import check_figure_format, families_figure, save_figure, turn_figure
    from experiments.terminal.console import emit_json, screen
    from models import catalogue
    from models.errors import InputError

    ways = {
        "--lean and --steer": (lean is not None, steer is not None),
        "--speed and --radius": (speed is not None, radius is not None),
        "--hands-free": (hands_free,),
    }
    if sum(any(given) for given in ways.values()) != 1 or not any(all(given) for given in ways.values()):
        given = [f"--{name}" for name, value in (("lean", lean), ("steer", steer)) if value is not None]
        given += [f"--{name}" for name, value in (("speed", speed), ("radius", radius)) if value is not None]
        given += ["--hands-free"] if hands_free else []
        raise InputError(
            f"a turn is asked for in one of three ways; found {' '.join(given) or 'none'}: give {', or '.join(ways)}"
        )
    if plot is not None:
        check_figure_format(plot)
    bicycle = catalogue.load_bicycle(bike)
    path = {"path": str(plot) if plot else None}
    if hands_free:
        from models.nonlinear.hands_free import hands_free as all_families

        families = all_families(bicycle)
        if plot is not None:
            save_figure(families_figure(bicycle.name, families), plot)
        if as_json:
            rows = [{"start": f.start, "end": f.end, "turns": [_row(turn) for turn in f.turns]} for f in families]
            emit_json({"bike": bicycle.name, **path, "families": rows})
            return
        _show_families(bicycle, families)
    else:
        from models.nonlinear.steady_turns import from_angles, from_speed_and_radius

        if lean is not None and steer is not None:
            turn = from_angles(bicycle, radians(lean), radians(steer))
        else:
            assert speed is not None  # the ways were checked above
            assert radius is not None
            turn = from_speed_and_radius(bicycle, speed, radius)
        if plot is not None:
            save_figure(turn_figure(bicycle, turn), plot)
        if as_json:
            emit_json({"bike": bicycle.name, **path, "turn": _row(turn)})
            return
        _show(bicycle, turn)
    if plot is not None:
        screen.print(f"figure written to {plot}")


def _row(turn: "SteadyTurn") -> dict[str, Any]:
    """Describe a turn for JSON: SI, and the properties that are not fields."""
    from dataclasses import asdict

    return {**asdict(turn), "radius": turn.radius, "stable": turn.stable}


def _show(bicycle: "Bicycle", turn: "SteadyTurn") -> None:
    from math import degrees

    from experiments.reports.text import eigenvalue_text
    from experiments.terminal.console import print_table

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


def _show_families(bicycle: "Bicycle", families: "tuple[Family, ...]") -> None:
    from math import degrees

    import numpy as np

    from experiments.terminal.console import print_table, screen

    if not families:
        screen.print(f"{bicycle.name} has no turns without steer torque")
    for family in families:
        chosen = np.unique(np.linspace(0, len(family.turns) - 1, ROWS).round().astype(int))
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
