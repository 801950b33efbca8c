"""Nonlinear equations of a user, as a function.

They are made linear, compared with ours far from upright, and integrated over a ride.

The function is ``rates(phi, delta, phi_dot, delta_dot, v, T_phi, T_delta)`` and gives ``phi_ddot, delta_ddot, v_dot``:
rad, m/s and N m in the signs of `riderless.models.coordinates`, v the forward speed of the rear rim. The pitch is its
own business.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA, Q_THETA_R, ROLL_TORQUE, STEER_TORQUE
from riderless.models.errors import InputError
from riderless.models.nonlinear.equations import accelerations, pitch
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle

Rates = Callable[..., Sequence[float]]

LINEARISED = 1e-7  # relative error of a matrix from differences
DIFFERENCE = 2e-3  # rad, rad/s; the error is of its fourth power
FAR_STATES = {  # states phi, delta, phi_dot, delta_dot, v, and the torques: each shows its own terms
    "straight": (0.0, 0.0, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaned": (0.4, 0.0, 0.0, 0.0, 4.6, 0.0, 0.0),
    "steered": (0.0, 0.3, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaned and steered at rest": (0.4, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0),
    "leaned and steered": (0.4, -0.3, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaning": (0.0, 0.0, 1.0, 0.0, 4.6, 0.0, 0.0),
    "steering": (0.0, 0.0, 0.0, 2.0, 4.6, 0.0, 0.0),
    "all of it, at rest": (0.3, 0.2, 0.7, -1.5, 0.0, 1.0, -0.5),
    "all of it": (0.3, 0.2, 0.7, -1.5, 4.6, 1.0, -0.5),
}
FIGURE_4 = {"v": 4.6, "phi_dot": 0.5, "duration": 5.0}  # m/s, rad/s, s


class FarState(NamedTuple):
    """Accelerations phi_ddot, delta_ddot [rad/s^2] and v_dot [m/s^2] in one state, found and right."""

    words: str
    found: tuple[float, ...]
    right: tuple[float, ...]

    @property
    def agrees(self) -> bool:
        """True where they agree to a millionth."""
        scale = max(1.0, *map(abs, self.right))
        return all(abs(a - b) <= 1e-6 * scale for a, b in zip(self.found, self.right, strict=True))


class Ride(NamedTuple):
    """Ride of figure 4 of Meijaard et al. (2007): gain of speed [m/s] after 5 s, and period [s] of the lean rate."""

    speed_gain: float
    period: float


def our_rates(bicycle: Bicycle) -> Rates:
    """Our own nonlinear equations in the form wanted of a person's."""
    p, rim = pack_bicycle(bicycle), bicycle.rR or 1.0
    q, u, T, u_dot = np.zeros(8), np.zeros(8), np.zeros(3), np.zeros(8)

    def rates(
        phi: float, delta: float, phi_dot: float, delta_dot: float, v: float, T_phi: float, T_delta: float
    ) -> tuple[float, float, float]:
        q[Q_PHI], q[Q_DELTA], q[Q_THETA] = phi, delta, pitch(p, phi, delta, bicycle.lam)
        u[Q_PHI], u[Q_DELTA], u[Q_THETA_R] = phi_dot, delta_dot, -v / rim
        T[ROLL_TORQUE], T[STEER_TORQUE] = T_phi, T_delta
        accelerations(p, q, u, T, u_dot)
        return float(u_dot[Q_PHI]), float(u_dot[Q_DELTA]), float(-rim * u_dot[Q_THETA_R])

    return rates


def linearised(rates: Rates, g: float) -> tuple[Array, Array]:
    """Matrices M, C1, K0, K2 (4, 2, 2) of a nonlinear function around upright, straight riding, and their tolerance.

    M comes from the torques, K0 from rest, C1 and K2 from 4.6 m/s.

    Raises
    ------
    InputError
    """
    v = FIGURE_4["v"]

    def column(k: int, speed: float) -> Array:
        """Derivative of phi_ddot, delta_ddot by one of the states or torques."""
        state = np.array([0.0, 0.0, 0.0, 0.0, speed, 0.0, 0.0])
        off = DIFFERENCE * np.eye(7)[k]
        once = _called(rates, state + off) - _called(rates, state - off)
        twice = _called(rates, state + 2.0 * off) - _called(rates, state - 2.0 * off)
        return ((8.0 * once - twice) / (12.0 * DIFFERENCE))[:2]

    mobility = np.column_stack([column(k, v) for k in (5, 6)])
    if not abs(np.linalg.det(mobility)) > 0.0:
        raise InputError("wanted accelerations that depend on T_phi and T_delta, found none: add the torques")
    M = np.linalg.inv(mobility)
    at_rest, moving = (-M @ np.column_stack([column(k, speed) for k in (0, 1)]) for speed in (0.0, v))
    C1 = -M @ np.column_stack([column(k, v) for k in (2, 3)]) / v
    matrices = np.array([M, C1, at_rest / g, (moving - at_rest) / v**2])
    scale = np.abs(matrices).max(axis=(1, 2), keepdims=True)
    return matrices, np.broadcast_to(LINEARISED * scale, matrices.shape).copy()


def far_states(rates: Rates, bicycle: Bicycle) -> list[FarState]:
    """Accelerations far from upright, beside ours."""
    ours = our_rates(bicycle)
    return [
        FarState(words, tuple(_called(rates, np.array(x)).tolist()), tuple(ours(*x))) for words, x in FAR_STATES.items()
    ]


def ride_of(rates: Rates) -> Ride:
    """Ride figure 4 by a function; nan where it falls."""

    def derivative(t: float, x: Array) -> list[float]:
        phi_ddot, delta_ddot, v_dot = _called(rates, np.array([*x, 0.0, 0.0]))
        return [x[2], x[3], phi_ddot, delta_ddot, v_dot]

    def fallen(t: float, x: Array) -> float:
        return 1.0 - abs(x[0])

    def upward(t: float, x: Array) -> float:
        return float(x[2])

    fallen.terminal = True  # type: ignore[attr-defined]
    upward.direction = 1.0  # type: ignore[attr-defined]
    start = [0.0, 0.0, FIGURE_4["phi_dot"], 0.0, FIGURE_4["v"]]
    solution = solve_ivp(derivative, (0.0, FIGURE_4["duration"]), start, rtol=1e-8, atol=1e-9, events=(fallen, upward))
    passed = solution.t_events[1]
    if not solution.success or len(solution.t_events[0]) or len(passed) < 2:
        return Ride(float("nan"), float("nan"))
    return Ride(float(solution.y[4, -1] - FIGURE_4["v"]), float((passed[-1] - passed[0]) / (len(passed) - 1)))


def _called(rates: Rates, state: Array) -> Array:
    answer = rates(*state.tolist())
    try:
        derivative = np.array(answer, dtype=float)
    except (TypeError, ValueError):
        derivative = np.empty(0)
    if derivative.shape != (3,) or not np.isfinite(derivative).all():
        raise InputError(
            f"wanted phi_ddot, delta_ddot [rad/s^2] and v_dot [m/s^2], three finite numbers, found {shortened(answer)} "
            f"at phi, delta, phi_dot, delta_dot, v, T_phi, T_delta = {', '.join(f'{x:g}' for x in state)}; correct it"
        )
    return derivative
