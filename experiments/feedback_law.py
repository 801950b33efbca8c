"""Feedback law of a lab's controller.

A steer torque from lean, steer and their rates, held, late and through a slow drive. The loop stays continuous, so that
a recording may have any rate. A value that is held for a period is half a period late on average. A pure delay tau is
the quotient of polynomials that agrees with exp(-s tau) to the fifth order (Pade 2/3): for a weave of 12 rad/s and 35
ms it is wrong by 1e-6. A drive's lag is a state of its own.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from riderless.experiments.dynamics import Dynamics, Mechanics
from riderless.hil.design.closed_loop import gyro_readings
from riderless.models.array_types import Array
from riderless.models.coordinates import ANGLE_STATES, DELTA, PHI_DOT, RATE_STATES, STATES
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant

SHORTEST_DELAY = 1e-3  # s; a shorter one is taken to first order, which is wrong by 1e-4 of it
DELAY_STATES = ("delay_1", "delay_2", "delay_3")
DELAY_LINE = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-60.0, -36.0, -9.0]])  # of its states per delay
DELAY_INPUT, DELAY_OUTPUT = np.array([0.0, 0.0, 60.0]), np.array([1.0, -0.4, 0.05])
SLOW_MOTION_ROUNDS = 30  # of the iteration for fast states that follow the slow ones; each gains a digit or so
LOOPS_KEPT = 256  # by speed


@dataclass(frozen=True)
class FeedbackLaw:
    """T_delta = k max(v0 - v, 0) phi_dot + gains . (phi, delta, phi_dot, delta_dot), as the controller reads them.

    Attributes
    ----------
    k, v0 : float
        Of the steer into the lean [N s^2, m/s].
    gains : (4,)
        N m/rad of lean and steer, N m s/rad of their rates; a torque to the right for a lean to the right is positive.
    delay_s : float
        s, from the reading to the torque that answers it.
    rate_hz : float
        At which the law is computed and its torque held; 0 for a continuous one.
    drive_lag_s : float
        s, time constant with which the drive follows.
    """

    k: float = 0.0
    v0: float = 0.0
    gains: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    delay_s: float = 0.0
    rate_hz: float = 0.0
    drive_lag_s: float = 0.0

    @property
    def name(self) -> str:
        """Law in a few words."""
        words = self.formula if any(self.gains) else f"steer into the lean, {self.k:g} ({self.v0:g} - v)"
        return f"{words}, {1e3 * self.latency:.3g} ms late" if self.latency else words

    @property
    def formula(self) -> str:
        """Torque as a formula: "2 (6.5 - v) phi_dot"."""
        terms = [f"{self.k:g} ({self.v0:g} - v) phi_dot"] if self.k or not any(self.gains) else []
        terms += [f"{gain:g} {name}" for gain, name in zip(self.gains, STATES, strict=True) if gain]
        return " + ".join(terms).replace("+ -", "- ")

    @property
    def needs(self) -> tuple[str, ...]:
        """Signals beside the lean rate that the law answers."""
        phi, delta, _, delta_dot = self.gains
        return (("phi",) if phi else ()) + (("delta",) if delta or delta_dot else ())

    def times(self, factor: float) -> "FeedbackLaw":
        """Law with so many times the torque."""
        phi, delta, phi_dot, delta_dot = (factor * gain for gain in self.gains)
        return replace(self, k=factor * self.k, gains=(phi, delta, phi_dot, delta_dot))

    @property
    def latency(self) -> float:
        """Time from a reading to its torque [s]: the delay, and half of a held period."""
        return self.delay_s + (0.5 / self.rate_hz if self.rate_hz else 0.0)

    def torque(self, v: Array | float, phi: Array, delta: Array, phi_dot: Array, delta_dot: Array) -> Array:
        """Torque [N m] that the law asks for, without its delay.

        Parameters
        ----------
        v : float or array
            m/s.
        phi, delta, phi_dot, delta_dot : array
            As the controller reads them [rad, rad/s]; also rows of such readings by states.
        """
        g = self.gains
        lean_rate_gain = self.k * np.maximum(self.v0 - v, 0.0) + g[2]
        return np.asarray(g[0] * phi + g[1] * delta + lean_rate_gain * phi_dot + g[3] * delta_dot)

    def row(self, real: Variant, v: float) -> Array:
        """Row (4,) of the torque asked for, on the bicycle's states; the lean rate is what the roll gyro reads."""
        unit = np.eye(len(STATES))
        unit[PHI_DOT] = roll_gyro(real, v)
        return self.torque(v, *unit)


def roll_gyro(real: Variant, v: float) -> Array:
    """Row (4,) of what the roll gyro reads on the bicycle's states."""
    return np.asarray(gyro_readings(real, v)[0])


def steer_torque_rates(mass: Array) -> Array:
    """Rates of the bicycle's four states per N m on the steer axis, (4,), from the mass matrix."""
    rates = np.zeros(len(STATES))
    rates[RATE_STATES] = np.linalg.solve(mass, [0.0, 1.0])
    return rates


@dataclass(frozen=True)
class LawDynamics:
    """Dynamics of a bicycle under a law, for each variant of the machine and each additional delay [s]."""

    law: FeedbackLaw

    def __call__(self, real: Variant, more_delay: float) -> Dynamics:
        tau = self.law.latency + more_delay
        if tau < -SHORTEST_DELAY:
            raise InputError(f"wanted a torque after its reading, found one {-1e3 * tau:.3g} ms before it")
        if tau < SHORTEST_DELAY and not self.law.drive_lag_s:
            return self._prompt(real, tau)
        return self._late(real, max(tau, SHORTEST_DELAY))

    def _prompt(self, real: Variant, tau: float) -> Dynamics:
        """Dynamics of the bicycle's own states: the law is part of its mass, damping and stiffness.

        A torque K x(t - tau) is K x - tau K x_dot to first order.
        """

        def matrices(v: float) -> tuple[Array, Array, Array]:
            mass, damping, stiffness = real.matrices(v)
            row = real.drive_gain * self.law.row(real, v)
            by_angles, by_rates = row[ANGLE_STATES], row[RATE_STATES]
            mass[DELTA] += tau * by_rates
            damping[DELTA] += tau * by_angles - by_rates
            stiffness[DELTA] -= by_angles
            return mass, damping, stiffness

        def matrix(v: float) -> Array:
            mass, damping, stiffness = matrices(v)
            A = np.zeros((len(STATES), len(STATES)))
            A[ANGLE_STATES, RATE_STATES] = np.eye(2)
            A[RATE_STATES] = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
            return A

        unit = np.eye(len(STATES))
        return Dynamics(
            self.law.name,
            STATES,
            matrix,
            output=unit[PHI_DOT],
            embed=lambda v: unit,
            mechanics=Mechanics(real.bicycle, matrices, real.speed_scale, gyros=real.gyros),
            steer_torque=lambda v: steer_torque_rates(matrices(v)[0]),
            drive=lambda v: real.drive_gain * self.law.row(real, v),
            feedback=lambda v: self.law.row(real, v),
            roll_gyro=lambda v: roll_gyro(real, v),
        )

    def _late(self, real: Variant, tau: float) -> Dynamics:
        """Dynamics with the states of the delay line, and of the drive where it has a lag."""
        lag, n = self.law.drive_lag_s, len(STATES)
        states = (*STATES, *DELAY_STATES, *(("T_drive",) if lag else ()))
        line = slice(n, n + len(DELAY_STATES))
        delayed = _padded(DELAY_OUTPUT, len(states), n)
        torque = real.drive_gain * (np.eye(len(states))[-1] if lag else delayed)

        @lru_cache(LOOPS_KEPT)
        def matrix(v: float) -> Array:
            A = np.zeros((len(states), len(states)))
            A[:n, :n] = real.system(v)[0]
            A[:n] += np.outer(steer_torque_rates(real.matrices(v)[0]), torque)
            A[line, line] = DELAY_LINE / tau
            A[line, :n] = np.outer(DELAY_INPUT / tau, self.law.row(real, v))
            if lag:
                A[-1] = (delayed - np.eye(len(states))[-1]) / lag
            return A

        return Dynamics(
            self.law.name,
            states,
            matrix,
            output=np.eye(len(states))[PHI_DOT],
            embed=lru_cache(LOOPS_KEPT)(lambda v: _slow_motion(matrix(v))),
            mechanics=Mechanics(real.bicycle, real.matrices, real.speed_scale, torque, gyros=real.gyros),
            steer_torque=lambda v: _padded(steer_torque_rates(real.matrices(v)[0]), len(states)),
            drive=lambda v: torque,
            feedback=lambda v: _padded(self.law.row(real, v), len(states)),
            roll_gyro=lambda v: _padded(roll_gyro(real, v), len(states)),
        )


def _padded(row: Array, length: int, first: int = 0) -> Array:
    """Row with zeros around it."""
    padded = np.zeros(length)
    padded[first : first + len(row)] = row
    return padded


def _slow_motion(A: Array) -> Array:
    """Whole states (m, 4) from those of the bicycle, with the fast ones where the slow motion has them.

    The fast states z = L x of an invariant motion obey A_zx + A_zz L = L (A_xx + A_xz L).
    """
    n = len(STATES)
    to_fast = np.linalg.inv(A[n:, n:])
    L = -to_fast @ A[n:, :n]
    for _ in range(SLOW_MOTION_ROUNDS):
        L = to_fast @ (L @ (A[:n, :n] + A[:n, n:] @ L) - A[n:, :n])
    return np.vstack([np.eye(n), L])
