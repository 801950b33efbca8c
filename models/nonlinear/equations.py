"""Nonlinear Whipple bicycle: compiled functions on arrays.

Accelerations, contact forces and steps in time.

Coordinates ``q``, speeds ``u`` (8,) and torques ``T`` (3,) are those of `riderless.models.coordinates`. Compiled
functions take ``p`` of `riderless.models.nonlinear.parameters.pack_bicycle`, and neither check nor allocate. Outside
the domain (`status`) results mean nothing; `integrate_step`, `integrate_steps` and `pitch` notice.
"""

from math import nan, sqrt

from riderless.models.coordinates import (
    Q_DELTA,
    Q_PHI,
    Q_PSI,
    Q_THETA,
    Q_THETA_F,
    Q_THETA_R,
    Q_X,
    Q_Y,
    REAR_TORQUE,
    ROLL_TORQUE,
    STEER_TORQUE,
    U_DELTA,
    U_PHI,
    U_THETA_R,
)
from riderless.models.nonlinear.contact_forces import OUTSIDE, contact_forces_of, grip, inside
from riderless.models.nonlinear.integrator import (
    NEWTON_STEPS_MAX,
    PITCH_TOLERANCE,
    lower_front_wheel,
    rk4,
    settle_pitch,
    state_rates,
)
from riderless.models.nonlinear.kernel import evaluate, inertia, mass_matrix, partials, pose, speeds
from riderless.models.nonlinear.parameters import unpack_bicycle
from riderless.models.nonlinear.vectors import add, compiled, cross3, dot3, inlined, mix, sincos


@inlined
def _state(b, q, u):
    return (q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], u[Q_PHI], -b.roll_R * u[Q_THETA_R], u[Q_DELTA])


@inlined
def _evaluate(b, q, u, T):
    V, TV = -b.roll_R * u[Q_THETA_R], -T[REAR_TORQUE] / b.roll_R
    return evaluate(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA], u[Q_PHI], V, u[Q_DELTA], T[ROLL_TORQUE], TV, T[STEER_TORQUE])


@inlined
def _fill_speeds(b, q, u, v):
    """All of ``u`` from `Speeds`."""
    sine, cosine = sincos(q[Q_PSI])
    path = v.V - b.rR * v.u5
    u[Q_X], u[Q_Y] = path * cosine, path * sine
    u[Q_PSI], u[Q_PHI], u[Q_THETA] = v.u3, v.u4, v.u5
    u[Q_THETA_R], u[Q_DELTA], u[Q_THETA_F] = -v.V / b.roll_R, v.u7, v.w / b.roll_F


@compiled
def pitch(p, roll, steer, guess):
    """Pitch [rad] that puts the front wheel on the ground; NaN when Newton's method finds none.

    Parameters
    ----------
    p : array of `pack_bicycle`
    roll, steer : float
        rad.
    guess : float
        Pitch [rad] where the search begins; the steer axis tilt serves.
    """
    b, q5 = unpack_bicycle(p), guess
    for _ in range(NEWTON_STEPS_MAX):
        before = q5
        q5, _pose = lower_front_wheel(b, roll, before, steer)
        if abs(q5 - before) < PITCH_TOLERANCE:
            return q5
    return nan


@compiled
def dependent_speeds(p, q, u):
    """Fill in Q_X, Q_Y, Q_PSI, Q_THETA and Q_THETA_F of ``u`` (8,) from its other three."""
    b = unpack_bicycle(p)
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    _fill_speeds(b, q, u, speeds(o, partials(o), u[Q_PHI], -b.roll_R * u[Q_THETA_R], u[Q_DELTA]))


@compiled
def accelerations(p, q, u, T, out):
    """Write the rates of all eight speeds into ``out``.

    Parameters
    ----------
    p : array of `pack_bicycle`
    q : (8,) array
        Coordinates; the pitch must fit the others, place and turn may be any.
    u : (8,) array
        Speeds; only the independent ones are read.
    T : (3,) array
        Torques, N m.
    out : (8,) array
        Written, rad/s^2 and m/s^2.
    """
    b = unpack_bicycle(p)
    o, k, v, _, h, (u4_dot, V_dot, u7_dot) = _evaluate(b, q, u, T)
    eta_dot = h.alpha[1] - v.u3 * v.u4 + k.eta4 * u4_dot + k.eta7 * u7_dot
    u5_dot = (eta_dot + v.omega[1] * o.s4 / o.c4 * v.u4) / o.c4
    path, path_dot = v.V - b.rR * v.u5, V_dot - b.rR * u5_dot
    sine, cosine = sincos(q[Q_PSI])
    out[Q_X] = path_dot * cosine - path * v.u3 * sine
    out[Q_Y] = path_dot * sine + path * v.u3 * cosine
    out[Q_PSI] = h.alpha[2] + k.rhoV * V_dot + k.rho7 * u7_dot - o.s4 * u5_dot - o.c4 * v.u4 * v.u5
    out[Q_PHI] = u4_dot
    out[Q_THETA] = u5_dot
    out[Q_THETA_R] = -V_dot / b.roll_R
    out[Q_DELTA] = u7_dot
    out[Q_THETA_F] = (h.w + k.wV * V_dot + k.w7 * u7_dot) / b.roll_F


# Generalised forces for the roll rate [N m], the rear rim's speed [N] and the steer rate [N m].


@inlined
def _of_frame(k, force, moment):
    """Generalised forces of a force and a moment about the rear contact on the rear frame, in the yaw frame."""
    return (moment[0] + k.eta4 * moment[1], force[0] + k.rhoV * moment[2], k.eta7 * moment[1] + k.rho7 * moment[2])


@compiled
def rolling_forces(p, q, rear, front, horizontal):
    """Generalised forces of moments [N m] against the rolling of rear and front wheel.

    Parameters
    ----------
    p : array
    q : (8,) array
    rear, front : float
        Positive against rolling forward.
    horizontal : float
        Axis: 1 horizontal, across the wheel's heading; 0 along its axle; a share between.
    """
    b = unpack_bicycle(p)
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    k = partials(o)
    at_rear = mix(rear * horizontal, (0.0, 1.0, 0.0), rear * (1.0 - horizontal), o.c2)
    at_front = mix(front * horizontal, (-o.g1[1], o.g1[0], 0.0), front * (1.0 - horizontal), o.e2)
    roll, rim, steer = _of_frame(k, (0.0, 0.0, 0.0), add(at_rear, at_front))
    spun_rear, spun_front = dot3(at_rear, o.c2) / b.roll_R, dot3(at_front, o.e2) / b.roll_F
    return roll, rim - spun_rear + k.wV * spun_front, steer + dot3(at_front, o.c3) + k.w7 * spun_front


@compiled
def frame_drag(p, q, u, point, per_square):
    """Generalised forces of drag on a point of the rear frame, against its velocity.

    Parameters
    ----------
    p : array
    q, u : (8,) arrays
    point : tuple of 3 float
        m, in the yaw frame.
    per_square : float
        N s^2/m^2, force per speed squared.
    """
    b = unpack_bicycle(p)
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    k = partials(o)
    v = speeds(o, k, u[Q_PHI], -b.roll_R * u[Q_THETA_R], u[Q_DELTA])
    velocity = add(cross3(v.omega, point), (v.V, 0.0, 0.0))
    size = -per_square * sqrt(dot3(velocity, velocity))
    force = (size * velocity[0], size * velocity[1], size * velocity[2])
    return _of_frame(k, force, cross3(point, force))


@compiled
def inertial_forces(p, q, ahead, right):
    """Generalised forces of a field that would accelerate all masses alike.

    Parameters
    ----------
    p : array
    q : (8,) array
    ahead, right : float
        m/s^2, of the rear wheel's heading.
    """
    b = unpack_bicycle(p)
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    k = partials(o)
    on1, on2 = (b.m1 * ahead, b.m1 * right, 0.0), (b.m2 * ahead, b.m2 * right, 0.0)
    roll, rim, steer = _of_frame(k, add(on1, on2), add(cross3(o.p1, on1), cross3(o.p2, on2)))
    return roll, rim, steer + dot3(o.t2, on2)


@compiled
def nonlinear_derivative(p, x, T, x_dot):
    """Write the rate of a state into ``x_dot``; for any integrator.

    The pitch is taken as it is; an integrator that is accurate keeps it, `integrate_step` puts it right.

    Parameters
    ----------
    p : array of `pack_bicycle`
    x : (11,) array
        State: ``q`` and the independent speeds of ``Q_PHI``, ``Q_THETA_R`` and ``Q_DELTA``.
    T : (3,) array
        Torques, N m.
    x_dot : (11,) array
        Written.
    """
    b = unpack_bicycle(p)
    state = (x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[U_PHI], -b.roll_R * x[U_THETA_R], x[U_DELTA])
    k = state_rates(b, state, T[ROLL_TORQUE], -T[REAR_TORQUE] / b.roll_R, T[STEER_TORQUE])
    x_dot[0], x_dot[1], x_dot[2], x_dot[3], x_dot[4], x_dot[5] = k[0], k[1], k[2], k[3], k[4], k[5]
    x_dot[6], x_dot[7] = k[6], k[7]
    x_dot[U_PHI], x_dot[U_THETA_R], x_dot[U_DELTA] = k[U_PHI], -k[U_THETA_R] / b.roll_R, k[U_DELTA]


@compiled
def energy(p, q, u):
    """Kinetic energy and potential energy above the ground, J."""
    b = unpack_bicycle(p)
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    k, i = partials(o), inertia(b, o)
    M = mass_matrix(b, k, i)
    u4, V, u7 = u[Q_PHI], -b.roll_R * u[Q_THETA_R], u[Q_DELTA]
    kinetic = 0.5 * (M[0] * u4 * u4 + M[3] * V * V + M[5] * u7 * u7) + M[1] * u4 * V + M[2] * u4 * u7 + M[4] * V * u7
    return kinetic - b.g * i.mu[2]


@compiled
def contact_forces(p, q, u, T, u_dot, out):
    """Write the forces of the ground into ``out``: rear then front wheel, each longitudinal, lateral, normal.

    Directions as in `riderless.models.nonlinear.contact_forces`.

    Parameters
    ----------
    p : array of `pack_bicycle`
    q, u : (8,) arrays
        Coordinates and speeds.
    T : (3,) array
        Torques, N m.
    u_dot : (8,) array
        Result of `accelerations` for the same ``T``.
    out : (6,) array
        Written, N.
    """
    b = unpack_bicycle(p)
    o, k, v, i, h, _ = _evaluate(b, q, u, T)
    forces = contact_forces_of(b, o, k, v, i, h, u_dot[Q_PHI], -b.roll_R * u_dot[Q_THETA_R], u_dot[Q_DELTA])
    out[0], out[1], out[2], out[3], out[4], out[5] = forces


@compiled
def status(p, q, u, T, friction):
    """Status flags of `riderless.models.nonlinear.contact_forces`; 0: all is well.

    Parameters
    ----------
    p : array of `pack_bicycle`
    q, u : (8,) arrays
        Coordinates and speeds.
    T : (3,) array
        Torques, N m.
    friction : float
        Coefficient of friction of the ground, 1.
    """
    b = unpack_bicycle(p)
    o, k, v, i, h, rates = _evaluate(b, q, u, T)
    if not inside(q[Q_PHI], q[Q_THETA], q[Q_DELTA], v.u4, v.V, v.u7, o.p, o.g1):
        return OUTSIDE
    return grip(contact_forces_of(b, o, k, v, i, h, rates[0], rates[1], rates[2]), friction)


@compiled
def integrate_steps(p, q, u, T, dt, n):
    """Advance ``q`` and ``u`` in place by ``n`` steps under constant torques; return how many were done.

    Fewer than ``n`` when the next step would leave the domain; ``q`` and ``u`` are then the last good state.

    Parameters
    ----------
    p : array of `pack_bicycle`
    q, u : (8,) arrays
        Coordinates and speeds, changed in place.
    T : (3,) array
        Torques, N m.
    dt : float
        Step, s.
    n : int
        Number of steps.
    """
    b = unpack_bicycle(p)
    x, done = _state(b, q, u), n
    for m in range(n):
        y = rk4(b, x, T[ROLL_TORQUE], -T[REAR_TORQUE] / b.roll_R, T[STEER_TORQUE], dt)
        next_x, fits = settle_pitch(b, y)
        if not fits:
            done = m
            break
        x = next_x
    q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7] = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    o = pose(b, q[Q_PHI], q[Q_THETA], q[Q_DELTA])
    _fill_speeds(b, q, u, speeds(o, partials(o), x[U_PHI], x[U_THETA_R], x[U_DELTA]))
    return done


@compiled
def integrate_step(p, q, u, T, dt):
    """Advance by one step of `integrate_steps`; return 0, or OUTSIDE when it would leave the domain.

    Parameters
    ----------
    p : array of `pack_bicycle`
    q, u : (8,) arrays
        Coordinates and speeds, changed in place; they stay when the step would leave the domain.
    T : (3,) array
        Torques, N m.
    dt : float
        Step, s.
    """
    return 0 if integrate_steps(p, q, u, T, dt, 1) == 1 else OUTSIDE
