"""Simulation of the nonlinear bicycle.

Initial states, and rides recorded at every step.

Coordinates ``q``, speeds ``u`` (8,) and torques ``T`` (3,) are those of `riderless.models.coordinates`.
"""

from dataclasses import dataclass
from math import ceil, inf
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number, shortened
from riderless.models.coordinates import Q_DELTA, Q_NAMES, Q_PHI, Q_PSI, Q_THETA, Q_THETA_R, Q_X, Q_Y
from riderless.models.errors import InputError
from riderless.models.nonlinear.contact_forces import OUTSIDE, describe_status
from riderless.models.nonlinear.equations import dependent_speeds, integrate_step, pitch, status
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.vectors import compiled
from riderless.models.parameters import Bicycle
from riderless.models.tables import data_frame, describe_range, html_table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]


STEP_ROUNDING = 1e-6  # of a duration: so far it may be off a whole number of steps, as 1/3 s in steps of 0.33333 ms


@compiled
def _record(p, q, u, T, dt, friction, flags):
    """Step through rows 1.. of ``q`` and ``u`` (n, 8) under ``T`` (n - 1, 3); how many rows are filled."""
    n = q.shape[0]
    for m in range(n):
        flags[m] = status(p, q[m], u[m], T[min(m, n - 2)], friction)
        if flags[m] & OUTSIDE:
            return m
        if m + 1 < n:
            q[m + 1], u[m + 1] = q[m], u[m]
            if integrate_step(p, q[m + 1], u[m + 1], T[m], dt) != 0:
                return m + 1
    return n


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Motion of the nonlinear bicycle, as far as the model holds.

    Attributes
    ----------
    t : (n,) array, s
    q, u : (n, 8) arrays
        Coordinates and speeds, rad and m.
    status : (n,) array of int
        Flags of `riderless.models.nonlinear.contact_forces` at each instant.
    ended : str
        Why it ended before its time; empty when it did not.
    """

    t: Array
    q: Array
    u: Array
    status: NDArray[np.int64]
    ended: str = ""

    def __repr__(self) -> str:
        end = f", ended: {self.ended}" if self.ended else ""
        return f"Trajectory({len(self.t)} instants, {describe_range(self.t, 's')}{end})"

    def _repr_html_(self) -> str:
        heads = ("t [s]", "phi [rad]", "delta [rad]", "psi [rad]", "x [m]", "y [m]", "status")
        order = [Q_PHI, Q_DELTA, Q_PSI, Q_X, Q_Y]
        rows = [(t, *q[order], int(flags)) for t, q, flags in zip(self.t, self.q, self.status, strict=True)]
        return html_table(repr(self), heads, rows)

    def to_frame(self) -> "pandas.DataFrame":
        """Coordinates, their rates and the status as a pandas data frame, one row an instant; the index is ``t`` [s].

        Raises
        ------
        InputError
            When pandas is not installed.
        """
        columns: dict[str, NDArray] = {"t": self.t}
        columns |= dict(zip(Q_NAMES, self.q.T, strict=True))
        columns |= {f"{name}_dot": rate for name, rate in zip(Q_NAMES, self.u.T, strict=True)}
        units = {name: "m" if name in ("x", "y") else "rad" for name in Q_NAMES}
        units |= {f"{name}_dot": f"{unit}/s" for name, unit in units.items()}
        return data_frame({**columns, "status": self.status}, "t", {"t": "s", **units})


def initial_state(
    bicycle: Bicycle,
    roll: float = 0.0,
    steer: float = 0.0,
    roll_rate: float = 0.0,
    steer_rate: float = 0.0,
    v: float = 0.0,
) -> tuple[Array, Array]:
    """Coordinates and speeds (8,) at the origin, heading along x.

    Parameters
    ----------
    bicycle : Bicycle
    roll, steer : float
        rad, positive to the right.
    roll_rate, steer_rate : float
        rad/s.
    v : float
        Forward speed of the rear rim, m/s.

    Raises
    ------
    InputError
        For what is no number, and a state outside the domain of the model.
    """
    for given in (roll, steer, roll_rate, steer_rate, v):
        if not isinstance(given, Real):
            raise InputError(f"wanted numbers of rad, rad/s and m/s for a state, found {shortened(given)}; correct it")
    p = pack_bicycle(bicycle)
    q, u = np.zeros(8), np.zeros(8)
    q[Q_PHI], q[Q_DELTA] = roll, steer
    q[Q_THETA] = pitch(p, roll, steer, bicycle.lam)
    u[Q_PHI], u[Q_THETA_R], u[Q_DELTA] = roll_rate, -v / (bicycle.rR or 1.0), steer_rate
    dependent_speeds(p, q, u)
    if status(p, q, u, np.zeros(3), inf) & OUTSIDE:
        raise InputError(
            f"wanted a state in which bicycle {bicycle.name!r} rolls on both wheels, found roll {roll:g} rad, steer "
            f"{steer:g} rad, rates {roll_rate:g} and {steer_rate:g} rad/s, {v:g} m/s; tilt and steer it less"
        )
    return q, u


def simulate_nonlinear(
    bicycle: Bicycle,
    q: ArrayLike,
    u: ArrayLike,
    duration: float,
    dt: float = 0.001,
    torque: ArrayLike = (0.0, 0.0, 0.0),
    friction: float = inf,
) -> Trajectory:
    """Ride from ``(q, u)`` for ``duration`` [s] in steps of ``dt`` [s].

    Parameters
    ----------
    bicycle : Bicycle
    q, u : (8,) arrays
        Of `initial_state`; they stay as they are.
    duration, dt : float
        Length of the ride, a whole number of steps, and of one step, s.
    torque : (3,) or (steps, 3) array, N m
        On lean, rear wheel and steer; held constant, or over each step.
    friction : float
        Coefficient of the ground, zero or more, for the status; infinite where nothing slips.

    Raises
    ------
    InputError
        For times that are no times, states or torques of another shape, a coefficient that is none, or a start
        outside the domain.
    """
    steps = _whole_steps(duration, dt)
    if not ((is_number(friction) and friction >= 0.0) or friction == inf):
        raise InputError(
            f"wanted a coefficient of friction of zero or more, found {shortened(friction)}; give for example 0.8, or "
            "inf where nothing slips"
        )
    q, u = np.asarray(q, dtype=float), np.asarray(u, dtype=float)
    if q.shape != (8,) or u.shape != (8,):
        raise InputError(
            f"wanted coordinates and speeds of (8,) each, found {q.shape} and {u.shape}; start from a state of "
            "`initial_state`"
        )
    T = np.asarray(torque, dtype=float)
    if T.shape not in ((3,), (steps, 3)) or not np.isfinite(T).all():
        raise InputError(f"wanted finite torques (3,) or ({steps}, 3) in N m, found shape {T.shape}; one row a step")
    rows_q, rows_u = np.zeros((steps + 1, 8)), np.zeros((steps + 1, 8))
    rows_q[0], rows_u[0] = q, u
    flags = np.zeros(steps + 1, np.int64)
    n = _record(
        pack_bicycle(bicycle), rows_q, rows_u, np.ascontiguousarray(np.broadcast_to(T, (steps, 3))), dt, friction, flags
    )
    if n == 0:
        raise InputError(f"the ride cannot start: {describe_status(OUTSIDE)}; start from a state of `initial_state`")
    ended = describe_status(OUTSIDE) if n <= steps else ""
    return Trajectory(dt * np.arange(n), rows_q[:n], rows_u[:n], flags[:n], ended)


def _whole_steps(duration: float, dt: float) -> int:
    """Number of steps of a ride, which must be whole."""
    if not (is_number(dt) and dt > 0.0 and is_number(duration) and duration > 0.0):
        raise InputError(
            f"wanted a duration and a step above zero, found {shortened(duration)} s in steps of {shortened(dt)} s; "
            "give seconds"
        )
    steps = max(1, round(duration / dt))
    if abs(steps * dt - duration) > STEP_ROUNDING * duration:
        raise InputError(
            f"wanted a duration of whole steps, found {duration:g} s in steps of {dt:g} s; give "
            f"{steps * dt:.9g} s, or steps of {duration / ceil(duration / dt):.9g} s"
        )
    return steps
