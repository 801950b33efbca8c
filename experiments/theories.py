"""Theories of the machines that were recorded: which bicycle moves in a recording, and which feedback moves with it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from riderless.experiments.dynamics import Dynamics, Mechanics, Theory
from riderless.experiments.feedback_law import FeedbackLaw, LawDynamics, roll_gyro, steer_torque_rates
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT, STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
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
