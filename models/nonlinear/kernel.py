"""Kernel of the nonlinear Whipple bicycle (Kane).

Kane's method is applied to the kinematics in numbers; no equations are printed out by a computer algebra.

Everything is written in the *yaw frame*: x along the heading of the rear wheel, y to the right, z down, turning
with the yaw alone, its origin in the rear contact. The rear frame turns at ``omega = (u4, eta, rho)``, and a point
``P`` of it moves at ``omega x P + V x``, where ``V = -rR u6`` is the speed of the rear wheel's rim. Hence

- the front contact ``p`` (on the ground, ``p_z = 0``) at rest means ``omega x p + V x + u7 t + w g1 = 0``: its
  vertical component gives ``eta``, the other two give ``rho`` and the rim speed ``w = rF u8`` of the front wheel;
- the coefficients of (u4, V, u7) in omega and w are the partial velocities, and half of them vanish;
- the accelerations when (u4, V, u7) are constant (the bias) come from the same three equations differentiated.

Each wheel's mass and inertia belong to its frame, as if it were locked, and its own spin is added as momentum along the
axle. So there are two bodies: 1 (rear frame and wheel) and 2 (front frame and wheel). With inertia ``J`` and static
moment ``mu`` of the whole about the rear contact, the equations need few terms more than those of a rigid body.

A wheel of zero radius is a skate: its rim speed is well defined and it has no spin, so it needs no special case.

All functions are inlined by the compiler; vectors are tuples of three floats, which then live in registers.
"""

import math
from typing import NamedTuple

from riderless.models.nonlinear.vectors import (
    add,
    apply,
    cross3,
    dot3,
    inlined,
    mix,
    sincos_tilt,
    tensor,
    tensor_rolled,
)

Vector3 = tuple[float, float, float]
SymmetricTensor = tuple[float, float, float, float, float, float]  # xx, yy, zz, xy, xz, yz


class Pose(NamedTuple):
    """Directions and points at one configuration, in the yaw frame."""

    s4: float
    c4: float
    c1: Vector3
    c2: Vector3
    c3: Vector3
    e1: Vector3
    e2: Vector3
    over_n: float  # 1 / cosine of the front wheel's lean
    g1: tuple[float, float]  # heading of the front wheel, horizontal
    g3: Vector3  # from the front hub to its contact, unit
    S: Vector3  # m, point of the steer axis
    p: Vector3  # m, front contact
    t: Vector3  # m, c3 x (p - S): velocity of the front contact per steer rate
    p1: Vector3  # m, centres of mass
    p2: Vector3
    t2: Vector3  # m, velocity of the second centre of mass per steer rate


class Partials(NamedTuple):
    """Partial velocities: eta = eta4 u4 + eta7 u7, rho = rhoV V + rho7 u7, w = wV V + w7 u7."""

    eta4: float
    eta7: float
    rhoV: float
    rho7: float
    wV: float
    w7: float
    over_x: float  # 1/m, over the front contact's distance ahead, along the rear heading ...
    over_ahead: float  # ... and along the front heading


class Speeds(NamedTuple):
    """All speeds at one instant."""

    u3: float  # rad/s, yaw rate
    u4: float
    u5: float
    u7: float
    V: float  # m/s, rim speed of the rear wheel
    w: float  # m/s, rim speed of the front wheel
    omega: Vector3  # rad/s, of the rear frame


class Inertia(NamedTuple):
    """Inertia for the six speeds (omega, V, u7, w), about the rear contact."""

    J: SymmetricTensor  # kg m^2, omega with omega
    mu: Vector3  # kg m
    a: Vector3  # kg m, omega with V
    j: Vector3  # kg m^2, omega with u7
    f: Vector3  # kg m, omega with w
    j2: Vector3  # kg m^2, momentum of body 2 about its centre of mass per u7
    VV: float  # kg
    V7: float  # kg m
    s77: float  # kg m^2


class Bias(NamedTuple):
    """Accelerations and generalised forces of inertia and weight while (u4, V, u7) are constant."""

    alpha: Vector3  # rad/s^2, of the rear frame
    w: float  # m/s^2
    ky: float  # m/s^2, of the point of the rear frame at the contact, less gravity
    kz: float
    e: Vector3  # m/s^2, of centre of mass 2, due to the steer rate
    N: Vector3  # N m, moment about the rear contact
    V: float  # N
    s7: float  # N m
    fw: float  # N


@inlined
def pose(b, q4, q5, q7):
    """`Pose` of a bicycle.

    Parameters
    ----------
    b : Packed
    q4, q5, q7 : float
        Roll, pitch and steer, rad.
    """
    s4, c4 = sincos_tilt(q4)
    s5, c5 = sincos_tilt(q5)
    s7, c7 = sincos_tilt(q7)
    c1, c2, c3 = (c5, s5 * s4, -s5 * c4), (0.0, c4, s4), (s5, -c5 * s4, c5 * c4)
    e1 = (c7 * c5, c7 * c1[1] + s7 * c4, c7 * c1[2] + s7 * s4)
    e2 = (-s7 * c5, c7 * c4 - s7 * c1[1], c7 * s4 - s7 * c1[2])
    n = math.sqrt(e2[0] * e2[0] + e2[1] * e2[1])
    over_n = 1.0 / n
    g1 = (e2[1] * over_n, -e2[0] * over_n)
    g3 = (e2[2] * g1[1], -e2[2] * g1[0], n)
    hub = (0.0, b.rR * s4, -b.rR * c4)
    S = add(hub, mix(b.d1, c1, b.d2, c3))
    s = mix(b.d3, e1, b.rF, g3)
    s2 = mix(b.b1, e1, b.b3, c3)
    return Pose(
        s4,
        c4,
        c1,
        c2,
        c3,
        e1,
        e2,
        over_n,
        g1,
        g3,
        S,
        add(S, s),
        cross3(c3, s),
        add(hub, mix(b.a1, c1, b.a3, c3)),
        add(S, s2),
        (b.b1 * e2[0], b.b1 * e2[1], b.b1 * e2[2]),
    )


@inlined
def partials(o):
    """`Partials` at pose ``o``, from the front contact at rest."""
    p, t, g = o.p, o.t, o.g1
    over_x, over_ahead = 1.0 / p[0], 1.0 / (p[0] * g[0] + p[1] * g[1])
    across = p[0] * g[1] - p[1] * g[0]
    rhoV = g[1] * over_ahead
    rho7 = (t[0] * g[1] - t[1] * g[0]) * over_ahead
    return Partials(
        p[1] * over_x,
        t[2] * over_x,
        rhoV,
        rho7,
        -g[0] - rhoV * across,
        -(t[0] * g[0] + t[1] * g[1]) - rho7 * across,
        over_x,
        over_ahead,
    )


@inlined
def speeds(o, k, u4, V, u7):
    """All `Speeds` from the three independent ones.

    Parameters
    ----------
    o : Pose
    k : Partials
    u4, V, u7 : float
        Roll rate [rad/s], speed of the rear rim [m/s] and steer rate [rad/s].
    """
    eta = k.eta4 * u4 + k.eta7 * u7
    rho = k.rhoV * V + k.rho7 * u7
    u5 = eta / o.c4
    return Speeds(rho - o.s4 * u5, u4, u5, u7, V, k.wV * V + k.w7 * u7, (u4, eta, rho))


@inlined
def inertia(b, o):
    """`Inertia` of bicycle ``b`` at pose ``o``."""
    J1 = tensor_rolled(b.P11, b.P13, b.P22, b.P33, o.s4, o.c4, o.c3[0], o.c1[0])
    J2 = tensor(b.Q11, b.Q13, b.Q22, b.Q33, o.e1, o.e2, o.c3)
    p1, p2 = o.p1, o.p2
    h1, h2 = (b.m1 * p1[0], b.m1 * p1[1], b.m1 * p1[2]), (b.m2 * p2[0], b.m2 * p2[1], b.m2 * p2[2])
    xx, yy, zz = h1[0] * p1[0] + h2[0] * p2[0], h1[1] * p1[1] + h2[1] * p2[1], h1[2] * p1[2] + h2[2] * p2[2]
    J = (
        J1[0] + J2[0] + yy + zz,
        J1[1] + J2[1] + xx + zz,
        J1[2] + J2[2] + xx + yy,
        J1[3] + J2[3] - h1[0] * p1[1] - h2[0] * p2[1],
        J1[4] + J2[4] - h1[0] * p1[2] - h2[0] * p2[2],
        J1[5] + J2[5] - h1[1] * p1[2] - h2[1] * p2[2],
    )
    mu = add(h1, h2)
    j2 = mix(b.Q13, o.e1, b.Q33, o.c3)
    return Inertia(
        J,
        mu,
        (0.0, mu[2] - b.sR * o.c4, -mu[1] - b.sR * o.s4),
        add(j2, cross3(h2, o.t2)),
        (b.sF * o.e2[0], b.sF * o.e2[1], b.sF * o.e2[2]),
        j2,
        b.m1 + b.m2 + b.iR,
        b.m2 * o.t2[0],
        b.Q33 + b.m2 * b.b1 * b.b1,
    )


@inlined
def _contact_bias(b, o, k, v):
    """Rates of eta, rho and w that keep the front contact at rest while (u4, V, u7) are constant.

    The three equations of the contact, differentiated in the yaw frame, where the rear frame turns at ``turn``.

    Parameters
    ----------
    b : Packed
    o : Pose
    k : Partials
    v : Speeds
    """
    p, g, c3, S = o.p, o.g1, o.c3, o.S
    turn = (v.u4, v.omega[1], o.s4 * v.u5)
    c3_dot = (v.u5 * o.c1[0], v.u5 * o.c1[1] - v.u4 * c3[2], v.u5 * o.c1[2] + v.u4 * c3[1])
    yaw = (dot3(v.omega, o.g3) + v.u7 * dot3(c3, o.g3)) * o.over_n  # rate of the front wheel's heading, in space
    advance = -v.w - b.rF * (dot3(v.omega, o.e2) - yaw * o.e2[2])  # speed of the front contact along g1
    rear = v.V - b.rR * v.u5  # and of the rear one along x
    p_dot = (advance * g[0] - rear + v.u3 * p[1], advance * g[1] - v.u3 * p[0], 0.0)
    S_dot = cross3(turn, S)
    s = (p[0] - S[0], p[1] - S[1], p[2] - S[2])
    s_dot = (p_dot[0] - S_dot[0] - b.rR * v.u5, p_dot[1] - S_dot[1], -S_dot[2])
    t_dot = add(cross3(c3_dot, s), cross3(c3, s_dot))
    bend = v.w * (yaw - v.u3)
    x = -v.omega[2] * p_dot[1] + v.u7 * t_dot[0] - bend * g[1]
    y = v.omega[2] * p_dot[0] + v.u7 * t_dot[1] + bend * g[0]
    eta = (v.u4 * p_dot[1] - v.omega[1] * p_dot[0] + v.u7 * t_dot[2]) * k.over_x
    rho = (x * g[1] - y * g[0]) * k.over_ahead
    return eta, rho, -(x - rho * p[1]) * g[0] - (y + rho * p[0]) * g[1]


@inlined
def bias(b, o, k, i, v):
    """`Bias` of a bicycle at one instant.

    Parameters
    ----------
    b : Packed
    o : Pose
    k : Partials
    i : Inertia
    v : Speeds
    """
    eta, rho, w = _contact_bias(b, o, k, v)
    omega, u7 = v.omega, v.u7
    alpha = (-v.u3 * omega[1], eta + v.u3 * v.u4, rho)
    lift = b.rR * v.u5
    ky, kz = lift * omega[2] + v.u3 * v.V, -lift * omega[1] - b.g
    spin1, spin2 = -b.sR * v.V, b.sF * v.w

    # The whole as one rigid body, with the momentum of spin and steer turned by omega.
    mu, Jomega = i.mu, apply(i.J, omega)
    N = add(apply(i.J, alpha), cross3(omega, add(Jomega, mix(spin1, o.c2, u7, i.j2))))
    N = add(N, (mu[1] * kz - mu[2] * ky, -mu[0] * kz, mu[0] * ky))

    # Body 2 turns on, about e3 = c3; in its own axes omega is (p, q, r).
    p, q, r = dot3(omega, o.e1), dot3(omega, o.e2), dot3(omega, o.c3)
    e = mix(-b.b1 * u7 * (2.0 * r + u7), o.e1, 2.0 * b.b1 * u7 * p, o.c3)
    skew = b.Q11 - b.Q22
    h1 = u7 * skew * q - spin2 * (r + u7)
    h2 = u7 * (skew * p + b.Q13 * (r + u7)) + b.sF * w
    h3 = u7 * b.Q13 * q + spin2 * p
    N = add(add(N, mix(h1, o.e1, h2, o.e2)), mix(h3, o.c3, b.m2, cross3(o.p2, e)))

    away = cross3(omega, mu)
    lateral = q * dot3(omega, o.p2) - dot3(omega, omega) * dot3(o.e2, o.p2) + o.e2[1] * ky + o.e2[2] * kz
    return Bias(
        alpha,
        w,
        ky,
        kz,
        e,
        N,
        i.a[1] * alpha[1] + i.a[2] * alpha[2] + omega[1] * away[2] - omega[2] * away[1] + b.m2 * e[0],
        dot3(i.j, alpha) - q * (skew * p + b.Q13 * r) + b.m2 * b.b1 * lateral + spin2 * p,
        b.iF * w + b.sF * (dot3(o.e2, alpha) - u7 * p),
    )


@inlined
def mass_matrix(b, k, i):
    """Mass matrix of (u4, V, u7): entries 44, 4V, 47, VV, V7, 77."""
    J, a, j, f = i.J, i.a, i.j, i.f
    z4 = J[4] + k.eta4 * J[5]
    f4 = f[0] + k.eta4 * f[1]
    y7 = J[1] * k.eta7 + J[5] * k.rho7 + j[1] + f[1] * k.w7
    z7 = J[5] * k.eta7 + J[2] * k.rho7 + j[2] + f[2] * k.w7
    w7 = f[1] * k.eta7 + f[2] * k.rho7 + b.iF * k.w7
    return (
        J[0] + k.eta4 * (2.0 * J[3] + k.eta4 * J[1]),
        z4 * k.rhoV + k.eta4 * a[1] + k.wV * f4,
        (J[3] + k.eta4 * J[1]) * k.eta7 + z4 * k.rho7 + j[0] + k.eta4 * j[1] + k.w7 * f4,
        k.rhoV * (k.rhoV * J[2] + 2.0 * (a[2] + f[2] * k.wV)) + i.VV + k.wV * k.wV * b.iF,
        k.rhoV * z7 + a[1] * k.eta7 + a[2] * k.rho7 + i.V7 + k.wV * w7,
        k.eta7 * y7 + k.rho7 * z7 + j[1] * k.eta7 + j[2] * k.rho7 + i.s77 + k.w7 * w7,
    )


@inlined
def solve(M, r):
    """Solution of the symmetric 3 x 3 system, M as from `mass_matrix`, by cofactors."""
    A, B, C, D, E, F = M
    x, y, z = D * F - E * E, C * E - B * F, B * E - C * D
    over = 1.0 / (A * x + B * y + C * z)
    v, s, t = A * F - C * C, B * C - A * E, A * D - B * B
    return (
        (x * r[0] + y * r[1] + z * r[2]) * over,
        (y * r[0] + v * r[1] + s * r[2]) * over,
        (z * r[0] + s * r[1] + t * r[2]) * over,
    )


@inlined
def evaluate(b, q4, q5, q7, u4, V, u7, T4, TV, T7):
    """Pose, partials, speeds, inertia, bias and the rates of (u4, V, u7).

    Parameters
    ----------
    b : Packed
    q4, q5, q7 : float
        Roll, pitch and steer, rad.
    u4, V, u7 : float
        Roll rate [rad/s], speed of the rear rim [m/s] and steer rate [rad/s].
    T4 : float
        Roll torque, N m.
    TV : float
        Drive of the rear wheel as a force at the rim, N, forward.
    T7 : float
        Steer torque, N m.
    """
    o = pose(b, q4, q5, q7)
    k = partials(o)
    v = speeds(o, k, u4, V, u7)
    i = inertia(b, o)
    h = bias(b, o, k, i, v)
    r4 = T4 - h.N[0] - k.eta4 * h.N[1]
    rV = TV - k.rhoV * h.N[2] - h.V - k.wV * h.fw
    r7 = T7 - k.eta7 * h.N[1] - k.rho7 * h.N[2] - h.s7 - k.w7 * h.fw
    return o, k, v, i, h, solve(mass_matrix(b, k, i), (r4, rV, r7))
