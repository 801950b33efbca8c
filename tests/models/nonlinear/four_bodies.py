"""The bicycle as four rigid bodies with rotation matrices: a slow second route to velocities, energy and momentum.

Positions and rotations are written down from Moore (2012), figure 3.1, and differentiated with a complex step, exact to
rounding; nothing here is from `models` but the published parameters.
"""

from dataclasses import dataclass

import numpy as np

STEP = 1e-30


def turn(axis, angle):
    """Rotation matrix about coordinate axis 0, 1 or 2, columns the turned axes; ``angle`` may be complex."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.zeros((3, 3), dtype=np.result_type(angle, float))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[axis, axis], R[i, i], R[j, j], R[j, i], R[i, j] = 1.0, c, c, s, -s
    return R


@dataclass
class Moving:
    """One body: mass, tensor in the ground's axes, centre, its velocity, angular velocity."""

    m: float
    I: np.ndarray
    r: np.ndarray
    v: np.ndarray
    omega: np.ndarray


def _configuration(b, q):
    """Centres and rotations of R, B, H, F, and the front contact; axes of the ground, z down."""
    frame = turn(2, q[2]) @ turn(0, q[3]) @ turn(1, q[4])
    upright = turn(1, b.lam).T  # from the axes of the upright bicycle, in which its parameters are given
    fork = frame @ turn(2, q[6])
    lean = turn(2, q[2]) @ turn(0, q[3])
    hub_R = np.array([q[0], q[1], 0.0 * q[0]]) - b.rR * lean[:, 2]
    to_axis = upright @ np.array([b.w + b.c, 0.0, b.rR])  # foot of the steer axis, from the hub
    axis = hub_R + frame @ to_axis
    hub_F = axis + fork @ (upright @ np.array([-b.c, 0.0, -b.rF]))
    centre_B = hub_R + frame @ (upright @ np.array([b.xB, 0.0, b.zB + b.rR]))
    centre_H = hub_F + fork @ (upright @ np.array([b.xH - b.w, 0.0, b.zH + b.rF]))
    wheel_R, wheel_F = frame @ turn(1, q[5]), fork @ turn(1, q[7])
    axle = fork[:, 1]
    down = np.array([0.0, 0.0, 1.0]) - axle[2] * axle
    contact_F = hub_F + b.rF * down / np.sqrt(down @ down)
    places = (hub_R, centre_B, centre_H, hub_F, contact_F)
    return places, (wheel_R, frame @ upright, fork @ upright, wheel_F)


def bodies(b, q, u):
    """The four `Moving` bodies R, B, H, F of bicycle ``b``, and the front contact (place, velocity of its material)."""
    places, rotations = _configuration(b, np.asarray(q, float))
    moved, turned = _configuration(b, np.asarray(q) + 1j * STEP * np.asarray(u))
    tensors = (
        np.diag([b.IRxx, b.IRyy, b.IRxx]),
        np.array([[b.IBxx, 0, b.IBxz], [0, b.IByy, 0], [b.IBxz, 0, b.IBzz]]),
        np.array([[b.IHxx, 0, b.IHxz], [0, b.IHyy, 0], [b.IHxz, 0, b.IHzz]]),
        np.diag([b.IFxx, b.IFyy, b.IFxx]),
    )
    found = []
    for n, m in enumerate((b.mR, b.mB, b.mH, b.mF)):
        R, W = rotations[n], turned[n].imag / STEP @ rotations[n].T
        omega = np.array([W[2, 1], W[0, 2], W[1, 0]])
        found.append(Moving(m, R @ tensors[n] @ R.T, places[n], moved[n].imag / STEP, omega))
    contact = places[4]
    return found, contact, found[3].v + np.cross(found[3].omega, contact - found[3].r)


def energy(b, q, u):
    """Kinetic and potential energy, J."""
    parts, _, _ = bodies(b, q, u)
    return sum(0.5 * p.m * p.v @ p.v + 0.5 * p.omega @ p.I @ p.omega - p.m * b.g * p.r[2] for p in parts)


def momentum(b, q, u):
    """Linear momentum, angular momentum about the ground's origin, and the front wheel's spin about its axle."""
    parts, _, _ = bodies(b, q, u)
    linear = sum(p.m * p.v for p in parts)
    angular = sum(np.cross(p.r, p.m * p.v) + p.I @ p.omega for p in parts)
    axle = (turn(2, q[2]) @ turn(0, q[3]) @ turn(1, q[4]) @ turn(2, q[6]))[:, 1]
    return np.concatenate([linear, angular, [axle @ parts[3].I @ parts[3].omega]])


def along(function, h=1e-3):
    """Derivative at zero of a smooth function of one number, by six central points."""
    return sum(weight * (function(k * h) - function(-k * h)) for k, weight in ((1, 45.0), (2, -9.0), (3, 1.0))) / (
        60.0 * h
    )
