"""Theories of the machines that were recorded: which bicycle moves in a recording, and which feedback moves with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from riderless.experiments.dynamics import Dynamics, Mechanics, Theory
from riderless.hil.design.closed_loop import gyro_readings
from riderless.models import catalogue
from riderless.models.array_types import Array
from riderless.models.coordinates import ANGLE_STATES, DELTA, PHI_DOT, RATE_STATES, STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.parameters import Bicycle


def open_loop(bicycle: Bicycle) -> Theory:
    """Theory of the uncontrolled bicycle: Meijaard et al. (2007) eq. (5.3) without torques."""
    return Theory("open loop", bicycle, _uncontrolled)


def _uncontrolled(real: Variant, more_delay: float) -> Dynamics:
    """Dynamics of `open_loop`, in which nothing is late."""
    return _four_states(
        "open loop",
        lambda v: real.system(v)[0],
        Mechanics(real.bicycle, real.matrices, real.speed_scale, imu_pitch=real.imu_pitch),
        lambda v: steer_torque_rates(real.matrices(v)[0]),
        lambda v: _roll_gyro(real, v),
    )


def lean_feedback(bicycle: Bicycle, k: float, v0: float, std: Mapping[str, float] | None = None) -> Theory:
    """Theory of the bicycle that steers into the lean: T_delta = k (v0 - v) phi_dot, nothing above v0.

    Continuous and without delay, as the Delft controllers are known. A delay tau is taken to first order,
    T = k (v0 - v) (phi_dot - tau phi_ddot).

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
    feedback = _LeanFeedback(k, v0)
    return Theory(feedback.name, bicycle, feedback, std or {})


@dataclass(frozen=True)
class _LeanFeedback:
    """Dynamics of `lean_feedback` for each variant of the machine."""

    k: float
    v0: float

    @property
    def name(self) -> str:
        return f"steer into the lean, {self.k:g} ({self.v0:g} - v)"

    def commanded(self, v: float) -> float:
        return self.k * max(self.v0 - v, 0.0)

    def __call__(self, real: Variant, more_delay: float) -> Dynamics:
        def read(v: float) -> Array:
            return _roll_gyro(real, v)

        def matrices(v: float) -> tuple[Array, Array, Array]:
            gain = real.drive_gain * self.commanded(v)
            mass, damping, stiffness = real.matrices(v)
            by_angles, by_rates = gain * read(v)[ANGLE_STATES], gain * read(v)[RATE_STATES]
            mass[DELTA] += more_delay * by_rates
            damping[DELTA] += more_delay * by_angles - by_rates
            stiffness[DELTA] -= by_angles
            return mass, damping, stiffness

        def matrix(v: float) -> Array:
            mass, damping, stiffness = matrices(v)
            A = np.zeros((len(STATES), len(STATES)))
            A[ANGLE_STATES, RATE_STATES] = np.eye(2)
            A[RATE_STATES] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
            return A

        return _four_states(
            self.name,
            matrix,
            Mechanics(real.bicycle, matrices, real.speed_scale, imu_pitch=real.imu_pitch),
            lambda v: steer_torque_rates(matrices(v)[0]),
            read,
            lambda v: self.commanded(v) * read(v),
            real.drive_gain,
        )


def _roll_gyro(real: Variant, v: float) -> Array:
    """Row (4,) of what the roll gyro reads on the bicycle's four states."""
    roll, _ = gyro_readings(real, v)
    return np.asarray(roll)


def steer_torque_rates(mass: Array) -> Array:
    """Rates of the bicycle's four states per N m on the steer axis, (4,), from the mass matrix."""
    rates = np.zeros(len(STATES))
    rates[RATE_STATES] = np.linalg.solve(mass, [0.0, 1.0])
    return rates


def _four_states(
    name: str,
    matrix: Callable[[float], Array],
    mechanics: Mechanics,
    steer_torque: Callable[[float], Array],
    roll_gyro: Callable[[float], Array],
    feedback: Callable[[float], Array] | None = None,
    drive_gain: float = 1.0,
) -> Dynamics:
    """Continuous dynamics of the bicycle's own four states.

    Parameters
    ----------
    name, matrix, mechanics, steer_torque, roll_gyro, feedback
        As `Dynamics` takes them; without feedback nothing is commanded.
    drive_gain : float
        Torque on the steer axis per torque commanded.
    """
    unit = np.eye(len(STATES))
    still = np.zeros(len(STATES))
    return Dynamics(
        name,
        STATES,
        matrix,
        output=unit[PHI_DOT],
        embed=lambda v: unit,
        mechanics=mechanics,
        steer_torque=steer_torque,
        roll_gyro=roll_gyro,
        drive=None if feedback is None else lambda v: drive_gain * feedback(v),
        feedback=(lambda v: still) if feedback is None else feedback,
    )


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
    "delft-sbw": lambda bicycle: lean_feedback(bicycle, 2.0, 6.5),
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
