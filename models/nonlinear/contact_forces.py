"""Contact forces of the nonlinear bicycle's wheels.

With them, the limits of its model. Forces of the ground on a wheel [N]: longitudinal (forward, along the heading of
that wheel), lateral (to its right) and normal (up; a wheel that would have to be pulled down is about to lift). They
follow from the balance of momentum of the whole bicycle about the rear contact, and of the front wheel's spin about its
axle.

A status is a sum of the flags below, 0 when the model holds.
"""

from riderless.firmware_interface.kernels import njit
from riderless.models.nonlinear.vectors import apply, cross3, inlined

REAR_LIFTS, FRONT_LIFTS, REAR_SLIPS, FRONT_SLIPS, OUTSIDE = 1, 2, 4, 8, 16
STATUS_MEANINGS = {
    REAR_LIFTS: "the rear wheel is about to lift",
    FRONT_LIFTS: "the front wheel is about to lift",
    REAR_SLIPS: "the rear wheel needs more friction than there is",
    FRONT_SLIPS: "the front wheel needs more friction than there is",
    OUTSIDE: "outside the model: fallen over, steered across, or not on both wheels",
}

TILT_MAX = 1.5  # rad, of roll, pitch and steer: beyond, the pitch is ill determined and riders are on the floor
ACROSS_MIN = 0.01  # of the front heading along the line from contact to contact, else the wheels block one another
MODEL_SPEED_MAX = 1e4  # rad/s and m/s: no bicycle
CONTACT_HEIGHT_MAX = 1e-8  # m, the front contact off the ground


def describe_status(status: int) -> str:
    """Put a status into words; empty when all is well."""
    return "; ".join(text for flag, text in STATUS_MEANINGS.items() if status & flag)


@inlined
def contact_forces_of(b, o, k, v, i, h, u4_dot, V_dot, u7_dot):
    """Rear and front contact force, each longitudinal, lateral, normal: six numbers, N.

    Parameters
    ----------
    b : Packed
    o, k, v, i, h : Pose, Partials, Speeds, Inertia and Bias
        Of the same instant, from `riderless.models.nonlinear.kernel.evaluate`.
    u4_dot, V_dot, u7_dot : float
        Rates of the independent speeds: roll [rad/s^2], rear rim [m/s^2] and steer [rad/s^2].
    """
    alpha = (
        h.alpha[0] + u4_dot,
        h.alpha[1] + k.eta4 * u4_dot + k.eta7 * u7_dot,
        h.alpha[2] + k.rhoV * V_dot + k.rho7 * u7_dot,
    )
    gain = (alpha[0] - h.alpha[0], alpha[1] - h.alpha[1], alpha[2] - h.alpha[2])
    w_gain = k.wV * V_dot + k.w7 * u7_dot
    turn = apply(i.J, gain)
    Ny = h.N[1] + turn[1] + i.a[1] * V_dot + i.j[1] * u7_dot + i.f[1] * w_gain
    Nz = h.N[2] + turn[2] + i.a[2] * V_dot + i.j[2] * u7_dot + i.f[2] * w_gain

    m = b.m1 + b.m2
    away, push = cross3(v.omega, i.mu), cross3(alpha, i.mu)
    swept = cross3(v.omega, away)
    lag = b.m2 * b.b1 * u7_dot
    Fx = push[0] + swept[0] + m * V_dot + b.m2 * h.e[0] + lag * o.e2[0]
    Fy = push[1] + swept[1] + m * h.ky + b.m2 * h.e[1] + lag * o.e2[1]
    Fz = push[2] + swept[2] + m * h.kz + b.m2 * h.e[2] + lag * o.e2[2]

    p, g = o.p, o.g1
    along = h.fw + i.f[0] * gain[0] + i.f[1] * gain[1] + i.f[2] * gain[2] + b.iF * w_gain
    across = (Nz - along * (p[0] * g[1] - p[1] * g[0])) * k.over_ahead
    lift = Ny * k.over_x  # minus the front wheel's z component, that is, upwards
    front_x, front_y = along * g[0] - across * g[1], along * g[1] + across * g[0]
    return Fx - front_x, Fy - front_y, -Fz - lift, along, across, lift


@njit(cache=True, nogil=True)
def grip(forces, friction):
    """Status flags of six contact forces [N] on ground with a coefficient of ``friction`` [1]."""
    status = 0
    if not forces[2] > 0.0:
        status |= REAR_LIFTS
    elif not forces[0] ** 2 + forces[1] ** 2 <= (friction * forces[2]) ** 2:
        status |= REAR_SLIPS
    if not forces[5] > 0.0:
        status |= FRONT_LIFTS
    elif not forces[3] ** 2 + forces[4] ** 2 <= (friction * forces[5]) ** 2:
        status |= FRONT_SLIPS
    return status


@njit(cache=True, nogil=True)
def inside(q4, q5, q7, u4, V, u7, p, g1):
    """Check that the model holds at this tilt and these speeds.

    Parameters
    ----------
    q4, q5, q7 : float
        Roll, pitch and steer, rad.
    u4, V, u7 : float
        Roll rate [rad/s], speed of the rear rim [m/s] and steer rate [rad/s].
    p : (3,) tuple
        Front contact in the yaw frame, m.
    g1 : (2,) tuple
        Heading of the front wheel in the yaw frame, unit vector.
    """
    tilt = abs(q4) < TILT_MAX and abs(q5) < TILT_MAX and abs(q7) < TILT_MAX
    speed = abs(u4) < MODEL_SPEED_MAX and abs(V) < MODEL_SPEED_MAX and abs(u7) < MODEL_SPEED_MAX
    ahead = p[0] * g1[0] + p[1] * g1[1]
    return tilt and speed and abs(p[2]) < CONTACT_HEIGHT_MAX and p[0] > 0.0 and ahead > ACROSS_MIN * p[0]
