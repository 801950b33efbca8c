"""Translation of motions between three papers' coordinates.

- *Meijaard* et al. (2007): x_P, y_P, psi, phi, theta_B, theta_R, delta, theta_F (their figure 2).
- *Moore* (2012), ch. 3: q1 ... q8, the coordinates of `riderless.models.coordinates`. His constants of a bicycle:
`riderless.models.moore`. - *Basu-Mandal* et al. (2007): their z points up and their x backward, and x, y, z are those
of the rear hub. With psi
  they mean the angle between the frame and the ground, upright pi/2.

Angles differ by signs and constants. Places do not, so a motion is translated whole: coordinates, rates, accelerations.
"""

from math import pi

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.array_types import Array
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_F, Q_THETA_R, Q_X, Q_Y

MotionTriple = tuple[Array, Array, Array]  # coordinates, their first and their second derivatives

MEIJAARD_COORDINATES = ("x_P", "y_P", "psi", "phi", "theta_B", "theta_R", "delta", "theta_F")
BASU_MANDAL_COORDINATES = ("beta_f", "beta_r", "phi", "psi", "psi_f", "theta", "x", "y", "z")  # as in their Table 1
_BETA_F, _BETA_R, _PHI, _PSI, _PSI_F, _THETA, _X, _Y, _Z = range(9)
_ANGLES = {_BETA_F: Q_THETA_F, _BETA_R: Q_THETA_R, _PHI: Q_THETA, _PSI: Q_PHI, _PSI_F: Q_DELTA, _THETA: Q_PSI}


def meijaard_from_moore_motion(lam: float, q: ArrayLike, u: ArrayLike, u_dot: ArrayLike) -> MotionTriple:
    """Motion (..., 8) in Meijaard's coordinates, whose pitch theta_B is zero when upright and straight.

    The order is that of Moore, and rates and accelerations are the same.

    Parameters
    ----------
    lam : float
        Steer axis tilt, rad.
    q, u, u_dot : (..., 8) arrays
        Moore's coordinates and their first and second derivatives, SI.
    """
    q = np.array(q, dtype=float)
    q[..., Q_THETA] -= lam
    return q, np.array(u, dtype=float), np.array(u_dot, dtype=float)


def moore_from_meijaard_motion(lam: float, q: ArrayLike, u: ArrayLike, u_dot: ArrayLike) -> MotionTriple:
    """Motion (..., 8) in Moore's coordinates; the inverse of `meijaard_from_moore_motion`.

    Parameters
    ----------
    lam : float
        Steer axis tilt, rad.
    q, u, u_dot : (..., 8) arrays
        Meijaard's coordinates and their first and second derivatives, SI.
    """
    return meijaard_from_moore_motion(-lam, q, u, u_dot)


def basu_mandal_from_moore(lam: float, rR: float, q: ArrayLike, u: ArrayLike, u_dot: ArrayLike) -> MotionTriple:
    """Motion (..., 9) in the coordinates of Basu-Mandal et al. (2007), from Moore's (..., 8).

    Order `BASU_MANDAL_COORDINATES`.

    Parameters
    ----------
    lam : float
        Steer axis tilt of the bicycle, rad.
    rR : float
        Radius of its rear wheel, m.
    q, u, u_dot : (..., 8) arrays
        Moore's coordinates and their first and second derivatives, SI.
    """
    moore = [np.asarray(each, dtype=float) for each in (q, u, u_dot)]
    basu = [np.empty((*each.shape[:-1], 9)) for each in moore]
    constants: tuple[dict[int, float], ...] = ({_PHI: pi + lam, _PSI: pi / 2.0}, {}, {})
    for theirs, ours, constant in zip(basu, moore, constants, strict=True):
        for a, b in _ANGLES.items():
            theirs[..., a] = constant.get(a, 0.0) - ours[..., b]
    for theirs, ours, hub in zip(basu, moore, _hub(rR, *moore), strict=True):
        theirs[..., _X], theirs[..., _Y], theirs[..., _Z] = -ours[..., Q_X] - hub[0], ours[..., Q_Y] + hub[1], -hub[2]
    return basu[0], basu[1], basu[2]


def moore_from_basu_mandal(lam: float, rR: float, q: ArrayLike, u: ArrayLike, u_dot: ArrayLike) -> MotionTriple:
    """Motion (..., 8) in Moore's coordinates; the inverse of `basu_mandal_from_moore`.

    Their z is not read: a wheel on the ground leaves no choice in it.

    Parameters
    ----------
    lam : float
        Steer axis tilt of the bicycle, rad.
    rR : float
        Radius of its rear wheel, m.
    q, u, u_dot : (..., 9) arrays
        Basu-Mandal's coordinates and their first and second derivatives, SI.
    """
    basu = [np.asarray(each, dtype=float) for each in (q, u, u_dot)]
    moore = [np.empty((*each.shape[:-1], 8)) for each in basu]
    constants: tuple[dict[int, float], ...] = ({_PHI: pi + lam, _PSI: pi / 2.0}, {}, {})
    for ours, theirs, constant in zip(moore, basu, constants, strict=True):
        for a, b in _ANGLES.items():
            ours[..., b] = constant.get(a, 0.0) - theirs[..., a]
    for ours, theirs, hub in zip(moore, basu, _hub(rR, *moore), strict=True):
        ours[..., Q_X], ours[..., Q_Y] = -theirs[..., _X] - hub[0], theirs[..., _Y] - hub[1]
    return moore[0], moore[1], moore[2]


def _hub(rR: float, q: Array, u: Array, u_dot: Array) -> tuple[Array, Array, Array]:
    """Rear hub from the rear contact (3, ...), along Moore's x, y and z, and its two derivatives."""
    yaw, r, r_dot = (each[..., Q_PSI] for each in (q, u, u_dot))
    roll, p, p_dot = (each[..., Q_PHI] for each in (q, u, u_dot))
    sy, cy, s, c = np.sin(yaw), np.cos(yaw), np.sin(roll), np.cos(roll)
    side, side_dot, side_ddot = rR * s, rR * c * p, rR * (c * p_dot - s * p * p)
    right, right_dot = np.array([-sy, cy]), np.array([-cy * r, -sy * r])
    right_ddot = np.array([-cy * r_dot + sy * r * r, -sy * r_dot - cy * r * r])
    place = side * right
    velocity = side_dot * right + side * right_dot
    acceleration = side_ddot * right + 2.0 * side_dot * right_dot + side * right_ddot
    height = -rR * c, rR * s * p, rR * (s * p_dot + c * p * p)
    first, second, third = (np.array([*xy, z]) for xy, z in zip((place, velocity, acceleration), height, strict=True))
    return first, second, third
