"""The nonlinear Whipple bicycle: compiled functions on arrays, and the same for people.

Coordinates ``q``, speeds ``u`` (8,) and torques ``T`` (3,) are those of `models.nonlinear_coordinates`. Compiled
functions take ``p`` of `pack`, and neither check nor allocate. Outside the domain (`status`) results mean nothing;
`step`, `run` and `pitch` notice.
"""

from dataclasses import dataclass
from math import inf, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.errors import InputError
from models.nonlinear.contact_forces import OUTSIDE, contact_forces_of, describe, grip, inside
from models.nonlinear.integrator import SETTLED, TRIES, lower, rk4, settle, slopes
from models.nonlinear.kernel import evaluate, inertia, mass_matrix, partials, pose, speeds
from models.nonlinear.parameters import pack, unpack
from models.nonlinear.vectors import compiled, inlined, sincos
from models.nonlinear_coordinates import FRONT, PITCH, REAR, ROLL, STEER, YAW, X, Y
from models.parameters import Bicycle

Array = NDArray[np.float64]


@inlined
def _state(b, q, u):
    return (q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], u[ROLL], -b.roll_R * u[REAR], u[STEER])


@inlined
def _evaluate(b, q, u, T):
    V, TV = -b.roll_R * u[REAR], -T[1] / b.roll_R
    return evaluate(b, q[ROLL], q[PITCH], q[STEER], u[ROLL], V, u[STEER], T[0], TV, T[2])


@inlined
def _fill_speeds(b, q, u, v):
    """All of ``u`` from `Speeds`."""
    sine, cosine = sincos(q[YAW])
    path = v.V - b.rR * v.u5
    u[X], u[Y] = path * cosine, path * sine
    u[YAW], u[ROLL], u[PITCH] = v.u3, v.u4, v.u5
    u[REAR], u[STEER], u[FRONT] = -v.V / b.roll_R, v.u7, v.w / b.roll_F


@compiled
def pitch(p, roll, steer, guess):
    """Pitch [rad] that puts the front wheel on the ground; NaN when Newton's method finds none from ``guess``."""
    b, q5 = unpack(p), guess
    for _ in range(TRIES):
        before = q5
        q5, _pose = lower(b, roll, before, steer)
        if abs(q5 - before) < SETTLED:
            return q5
    return nan


@compiled
def dependent_speeds(p, q, u):
    """Fill in X, Y, YAW, PITCH and FRONT of ``u`` (8,) from its other three."""
    b = unpack(p)
    o = pose(b, q[ROLL], q[PITCH], q[STEER])
    _fill_speeds(b, q, u, speeds(o, partials(o), u[ROLL], -b.roll_R * u[REAR], u[STEER]))


@compiled
def accelerations(p, q, u, T, out):
    """Rates of all eight speeds into ``out`` (8,), under torques ``T`` (3,) [N m].

    ``q`` must have its pitch and may have any place and turn; of ``u`` only the independent speeds are read.
    """
    b = unpack(p)
    o, k, v, _, h, (u4_dot, V_dot, u7_dot) = _evaluate(b, q, u, T)
    eta_dot = h.alpha[1] - v.u3 * v.u4 + k.eta4 * u4_dot + k.eta7 * u7_dot
    u5_dot = (eta_dot + v.omega[1] * o.s4 / o.c4 * v.u4) / o.c4
    path, path_dot = v.V - b.rR * v.u5, V_dot - b.rR * u5_dot
    sine, cosine = sincos(q[YAW])
    out[X] = path_dot * cosine - path * v.u3 * sine
    out[Y] = path_dot * sine + path * v.u3 * cosine
    out[YAW] = h.alpha[2] + k.rhoV * V_dot + k.rho7 * u7_dot - o.s4 * u5_dot - o.c4 * v.u4 * v.u5
    out[ROLL] = u4_dot
    out[PITCH] = u5_dot
    out[REAR] = -V_dot / b.roll_R
    out[STEER] = u7_dot
    out[FRONT] = (h.w + k.wV * V_dot + k.w7 * u7_dot) / b.roll_F


@compiled
def derivative(p, x, T, x_dot):
    """Rate of the state ``x`` (11,), which is ``q`` and then the speeds of ROLL, REAR and STEER; for any integrator.

    The pitch is taken as it is; an integrator that is accurate keeps it, `step` puts it right.
    """
    b = unpack(p)
    state = (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], -b.roll_R * x[9], x[10])
    k = slopes(b, state, T[0], -T[1] / b.roll_R, T[2])
    x_dot[0], x_dot[1], x_dot[2], x_dot[3], x_dot[4], x_dot[5] = k[0], k[1], k[2], k[3], k[4], k[5]
    x_dot[6], x_dot[7], x_dot[8], x_dot[9], x_dot[10] = k[6], k[7], k[8], -k[9] / b.roll_R, k[10]


@compiled
def energy(p, q, u):
    """Kinetic energy and potential energy above the ground, J."""
    b = unpack(p)
    o = pose(b, q[ROLL], q[PITCH], q[STEER])
    k, i = partials(o), inertia(b, o)
    M = mass_matrix(b, k, i)
    u4, V, u7 = u[ROLL], -b.roll_R * u[REAR], u[STEER]
    kinetic = 0.5 * (M[0] * u4 * u4 + M[3] * V * V + M[5] * u7 * u7) + M[1] * u4 * V + M[2] * u4 * u7 + M[4] * V * u7
    return kinetic - b.g * i.mu[2]


@compiled
def contact_forces(p, q, u, T, u_dot, out):
    """Forces [N] of the ground into ``out`` (6,): rear then front wheel, each longitudinal, lateral, normal.

    Directions as in `models.nonlinear.contact_forces`. ``u_dot`` (8,) is what `accelerations` gave for the same ``T``.
    """
    b = unpack(p)
    o, k, v, i, h, _ = _evaluate(b, q, u, T)
    forces = contact_forces_of(b, o, k, v, i, h, u_dot[ROLL], -b.roll_R * u_dot[REAR], u_dot[STEER])
    out[0], out[1], out[2], out[3], out[4], out[5] = forces


@compiled
def status(p, q, u, T, friction):
    """Status flags of `models.nonlinear.contact_forces`; ``friction`` is of the ground [1]; 0: all is well."""
    b = unpack(p)
    o, k, v, i, h, rates = _evaluate(b, q, u, T)
    if not inside(q[ROLL], q[PITCH], q[STEER], v.u4, v.V, v.u7, o.p, o.g1):
        return OUTSIDE
    return grip(contact_forces_of(b, o, k, v, i, h, rates[0], rates[1], rates[2]), friction)


@compiled
def run(p, q, u, T, dt, n):
    """Advance ``q`` and ``u`` in place by ``n`` steps of ``dt`` [s] under constant torques; how many were done.

    Fewer than ``n`` when the next step would leave the domain; ``q`` and ``u`` are then the last good state.
    """
    b = unpack(p)
    x, done = _state(b, q, u), n
    for m in range(n):
        next_x, fits = settle(b, rk4(b, x, T[0], -T[1] / b.roll_R, T[2], dt))
        if not fits:
            done = m
            break
        x = next_x
    q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7] = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    o = pose(b, q[ROLL], q[PITCH], q[STEER])
    _fill_speeds(b, q, u, speeds(o, partials(o), x[8], x[9], x[10]))
    return done


@compiled
def step(p, q, u, T, dt):
    """One step of `run`: 0, or OUTSIDE when it would leave the domain (``q`` and ``u`` then stay)."""
    return 0 if run(p, q, u, T, dt, 1) == 1 else OUTSIDE


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
            if step(p, q[m + 1], u[m + 1], T[m], dt) != 0:
                return m + 1
    return n


@dataclass(frozen=True)
class Trajectory:
    """A ride, as far as the model holds.

    Attributes
    ----------
    t : (n,) array, s
    q, u : (n, 8) arrays
        Coordinates and speeds, rad and m.
    status : (n,) array of int
        Flags of `models.nonlinear.contact_forces` at each instant.
    ended : str
        Why it ended before its time; empty when it did not.
    """

    t: Array
    q: Array
    u: Array
    status: NDArray[np.int64]
    ended: str = ""


def initial(
    bicycle: Bicycle,
    roll: float = 0.0,
    steer: float = 0.0,
    roll_rate: float = 0.0,
    steer_rate: float = 0.0,
    v: float = 0.0,
) -> tuple[Array, Array]:
    """Coordinates and speeds (8,) at the origin, heading along x; rad, rad/s, and the rear rim's ``v`` [m/s].

    Raises
    ------
    InputError
        For a state outside the domain of the model.
    """
    p = pack(bicycle)
    q, u = np.zeros(8), np.zeros(8)
    q[ROLL], q[STEER] = roll, steer
    q[PITCH] = pitch(p, roll, steer, bicycle.lam)
    u[ROLL], u[REAR], u[STEER] = roll_rate, -v / (bicycle.rR or 1.0), steer_rate
    dependent_speeds(p, q, u)
    if status(p, q, u, np.zeros(3), inf) & OUTSIDE:
        raise InputError(
            f"wanted a state in which bicycle {bicycle.name!r} rolls on both wheels, found roll {roll:g} rad, steer "
            f"{steer:g} rad, rates {roll_rate:g} and {steer_rate:g} rad/s, {v:g} m/s; tilt and steer it less"
        )
    return q, u


def simulate(
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
        Of `initial`; they stay as they are.
    duration, dt : float, s
    torque : (3,) or (steps, 3) array, N m
        Held constant, or over each step.
    friction : float
        Coefficient of the ground, for the status.

    Raises
    ------
    InputError
        For times that are no times, torques of another shape, or a start outside the domain.
    """
    if not (0.0 < dt < inf and 0.0 <= duration < inf):
        raise InputError(
            f"wanted a duration and a step above zero, found {duration} s in steps of {dt} s; give seconds"
        )
    steps = max(1, round(duration / dt))
    T = np.asarray(torque, dtype=float)
    if T.shape not in ((3,), (steps, 3)) or not np.isfinite(T).all():
        raise InputError(f"wanted finite torques (3,) or ({steps}, 3) in N m, found shape {T.shape}; one row a step")
    rows_q, rows_u = np.zeros((steps + 1, 8)), np.zeros((steps + 1, 8))
    rows_q[0], rows_u[0] = q, u
    flags = np.zeros(steps + 1, np.int64)
    n = _record(
        pack(bicycle), rows_q, rows_u, np.ascontiguousarray(np.broadcast_to(T, (steps, 3))), dt, friction, flags
    )
    if n == 0:
        raise InputError(f"the ride cannot start: {describe(OUTSIDE)}; start from a state of `initial`")
    ended = describe(OUTSIDE) if n <= steps else ""
    return Trajectory(dt * np.arange(n), rows_q[:n], rows_u[:n], flags[:n], ended)
