"""Theories of the recorded machines.

They tell which bicycle moves in a recording, and which feedback moves with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from riderless.experiments.dynamics import ROAD_QUANTITIES, Dynamics, Mechanics, Theory
from riderless.experiments.feedback_law import FeedbackLaw, LawDynamics, roll_gyro, steer_torque_rates
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT, STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.resistance import MOST_HEIGHT, Resistance
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle


def open_loop(bicycle: Bicycle) -> Theory:
    """Theory of the uncontrolled bicycle: Meijaard et al. (2007) eq. (5.3) without torques."""
    return Theory("open loop", bicycle, _uncontrolled)


def _uncontrolled(real: Variant, more_delay: float) -> Dynamics:
    """Dynamics of `open_loop`, in which nothing is late."""
    unit, still = np.eye(len(STATES)), np.zeros(len(STATES))
    return Dynamics(
        "open loop",
        STATES,
        lambda v: real.system(v)[0],
        output=unit[PHI_DOT],
        embed=lambda v: unit,
        mechanics=Mechanics(real.bicycle, real.matrices, real.speed_scale, gyros=real.gyros),
        steer_torque=lambda v: steer_torque_rates(real.matrices(v)[0]),
        feedback=lambda v: still,
        roll_gyro=lambda v: roll_gyro(real, v),
    )


def lean_feedback(bicycle: Bicycle, k: float, v0: float, std: Mapping[str, float] | None = None) -> Theory:
    """Theory of the bicycle that steers into the lean at once: T_delta = k (v0 - v) phi_dot, nothing above v0.

    Parameters
    ----------
    bicycle : Bicycle
    k : float
        Gain [N s^2], that is N m per rad/s and m/s.
    v0 : float
        Speed above which the controller does nothing [m/s].
    std : mapping of str to float, optional
        Standard deviations of quantities of `riderless.experiments.dynamics.MACHINE_QUANTITIES`, SI.
    """
    return feedback(bicycle, FeedbackLaw(k, v0), std)


def feedback(bicycle: Bicycle, law: FeedbackLaw, std: Mapping[str, float] | None = None) -> Theory:
    """Theory of the bicycle under a law with its delay, as of a lab's controller; ``std`` as of `lean_feedback`."""
    return Theory(law.name, bicycle, LawDynamics(law), std or {}, known_delay=law.latency)


BALANCES = ("air", "motor", "rope", "incline", "unknown")  # of rolling resistance
RESISTING_SURFACES = ("floor", "belt")
RESISTANCE_KEYS = ("surface", "balanced_by", "at", "rolling", "rolling_axis")  # of a table [resistance]
_SURELY = {"drag_share": 0.0, "drag_height": 0.0}  # standard deviations of what is known
_BEYOND = 1.0  # m, before and behind the wheels' contacts, that something may be tied to a bicycle


def with_stated_resistance(theory: Theory, table: Mapping[str, Any], where: str) -> Theory:
    """Theory with the resistance that a table [resistance] of a mapping or protocol states; the rest is uncertain.

    Parameters
    ----------
    theory : Theory
    table : mapping
        Keys of `RESISTANCE_KEYS`.
    where : str
        Begins every refusal.

    Raises
    ------
    InputError
        The table states what cannot be.
    """
    surface, by, bicycle = table.get("surface", "floor"), table.get("balanced_by", "unknown"), theory.bicycle
    for key, value, names in (("surface", surface, RESISTING_SURFACES), ("balanced_by", by, BALANCES)):
        if value not in names:
            raise InputError(f"{where}: wanted {key} among {', '.join(names)}, found {value!r}; correct it")
    if (by == "rope") != ("at" in table) or (by == "air" and surface == "belt"):
        raise InputError(
            f"{where}: wanted at = [x, z] (m) for a rope and for nothing else, and air on a floor only, found "
            f"{', '.join(f'{key} = {value}' for key, value in table.items())}; correct it"
        )
    stated = {key: float(table[key]) for key in ("rolling", "rolling_axis") if key in table}
    known, moved = dict.fromkeys(stated, 0.0) | _SURELY, {**stated, "drag_share": float(by in ("rope", "incline"))}
    resistance = Resistance(stated=True)
    if by == "rope":
        x, z = (float(place) for place in table["at"])
        moved["drag_height"] = z / totals(bicycle).zT
        resistance = Resistance(balance="rope", x=x, stated=True)
        if not (-_BEYOND <= x <= bicycle.w + _BEYOND and 0.0 <= moved["drag_height"] <= MOST_HEIGHT):
            raise InputError(
                f"{where}: wanted a place on the bicycle, found at = [{x:g}, {z:g}]: give m ahead of the rear contact "
                "and m below the ground, so less than zero above it"
            )
    elif by == "incline":
        resistance = Resistance(balance="incline", stated=True)
    elif by != "motor":
        resistance = Resistance(stated=by == "unknown")
        known, moved = dict.fromkeys(stated, 0.0), dict(stated)
        if by == "unknown":
            known["drag_share"] = moved["drag_share"] = 0.5
    for key, value in stated.items():
        allowed = ROAD_QUANTITIES[key].range
        if not allowed.allows(value):
            raise InputError(
                f"{where}: wanted {key} from {allowed.least:g} to {allowed.most:g}, found {value:g}: {allowed.why}"
            )
    theory = replace(theory, resistance=resistance, on_belt=surface == "belt")
    return replace(theory, std={**known, **theory.std}, moved={**theory.moved, **moved})


def fixed(bicycle: Bicycle, dynamics: Dynamics) -> Theory:
    """Theory of dynamics that depend on nothing uncertain: no bands, nothing to identify."""
    return Theory(dynamics.name, bicycle, lambda real, more_delay: dynamics)


def _unknown_law(bicycle: Bicycle) -> Theory:
    """Refuse to predict a loop whose controller and gains no log states."""
    raise InputError(
        f"wanted the controller of {bicycle.name} to predict its motion, found a log steered by rate that names none: "
        "its free responses have no theory; look at it with `riderless plot`"
    )


# Bicycle and theory of each kind of recordings, where a recording does not bring its own.
BICYCLES = {"kooijman": "Silver", "delft-sbw": "DelftSbW2024"}
THEORIES: dict[str, Callable[[Bicycle], Theory]] = {
    "kooijman": open_loop,
    "delft-sbw": lambda bicycle: replace(lean_feedback(bicycle, 2.0, 6.5), on_belt=True),
    "chalmers": _unknown_law,
}


def published_bicycle(kind: str, source: str) -> Bicycle:
    """Published bicycle of a recording's kind; `source` is named where there is none."""
    if kind not in BICYCLES:
        raise InputError(
            f"{source}: wanted a bicycle to predict the motion of, found none for a recording of "
            f"kind '{kind}'; name one of the catalogue (`riderless bikes`)."
        )
    return catalogue.load_bicycle(BICYCLES[kind])


def published_theory(kind: str, bicycle: Bicycle) -> Theory:
    """Theory that was published for recordings of a kind; of other kinds the bicycle moves by itself."""
    return THEORIES.get(kind, open_loop)(bicycle)
