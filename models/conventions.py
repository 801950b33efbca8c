"""Translation between three papers' names for the same bicycle and the same motion.

- *Meijaard* et al. (2007): the parameters of `Bicycle`, and the coordinates x_P, y_P, psi, phi, theta_B, theta_R,
  delta, theta_F (their figure 2).
- *Moore* (2012), ch. 3: lengths and inertias along the steer axis and across it, and q1 ... q8, the coordinates of
  `models.coordinates`.
- *Basu-Mandal* et al. (2007): the parameters of Meijaard; their z points up and their x backward, and x, y, z are those
  of the rear hub. With psi they mean the angle between the frame and the ground, upright pi/2.

Angles differ by signs and constants. Places do not, so a motion is translated whole: coordinates, rates, accelerations.
"""

from collections.abc import Mapping
from math import cos, pi, sin

import numpy as np
from numpy.typing import ArrayLike

from models.array_types import Array
from models.coordinates import Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_F, Q_THETA_R, Q_X, Q_Y
from models.errors import InputError
from models.parameters import Bicycle

MotionTriple = tuple[Array, Array, Array]  # coordinates, their first and their second derivatives

MOORE_COORDINATES = ("q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8")
MEIJAARD_COORDINATES = ("x_P", "y_P", "psi", "phi", "theta_B", "theta_R", "delta", "theta_F")
BASU_MANDAL_COORDINATES = ("beta_f", "beta_r", "phi", "psi", "psi_f", "theta", "x", "y", "z")  # as in their Table 1
MOORE_PARAMETERS = (
    *("rf", "rr", "d1", "d2", "d3", "l1", "l2", "l3", "l4", "mc", "md", "me", "mf", "g"),
    *("ic11", "ic22", "ic31", "ic33", "id11", "id22", "ie11", "ie22", "ie31", "ie33", "if11", "if22"),
)
_BETA_F, _BETA_R, _PHI, _PSI, _PSI_F, _THETA, _X, _Y, _Z = range(9)
_ANGLES = {_BETA_F: Q_THETA_F, _BETA_R: Q_THETA_R, _PHI: Q_THETA, _PSI: Q_PHI, _PSI_F: Q_DELTA, _THETA: Q_PSI}


def across_axis(lam: float, x: float, z: float) -> tuple[float, float]:
    """Components of (x, z) across and along a steer axis of tilt ``lam``; with ``-lam``, back again."""
    return x * cos(lam) - z * sin(lam), x * sin(lam) + z * cos(lam)


def turned_tensor(lam: float, Ixx: float, Ixz: float, Iyy: float, Izz: float) -> Array:
    """Inertia tensor (3, 3) of a frame in the axes (c1, c2, c3) along and across the steer axis.

    Parameters
    ----------
    lam : float
        Steer axis tilt, rad.
    Ixx, Ixz, Iyy, Izz : float
        Elements in the axes x forward, y right, z down, kg m^2.
    """
    R = np.array([[cos(lam), 0.0, -sin(lam)], [0.0, 1.0, 0.0], [sin(lam), 0.0, cos(lam)]])
    return R @ np.array([[Ixx, 0.0, Ixz], [0.0, Iyy, 0.0], [Ixz, 0.0, Izz]]) @ R.T


def moore_from_meijaard(bicycle: Bicycle) -> dict[str, float]:
    """Parameters of Moore (2012), ch. 3: SI, keys `MOORE_PARAMETERS`.

    Bodies: c rear frame, d rear wheel, e front frame, f front wheel. From the rear hub, d1 along c1 (across the steer
    axis, forward) and d2 along c3 (down the axis) lead to the axis, d3 along e1 to the front hub; l1, l2 lead to the
    centre of mass of the rear frame, and l3, l4 from the front hub to that of the front frame.
    """
    b = bicycle
    axis, _ = across_axis(b.lam, b.w + b.c, 0.0)
    rear, front = across_axis(b.lam, 0.0, -b.rR), across_axis(b.lam, b.w, -b.rF)
    l1, l2 = across_axis(b.lam, b.xB, b.zB + b.rR)
    l3, l4 = across_axis(b.lam, b.xH - b.w, b.zH + b.rF)
    C = turned_tensor(b.lam, b.IBxx, b.IBxz, b.IByy, b.IBzz)
    E = turned_tensor(b.lam, b.IHxx, b.IHxz, b.IHyy, b.IHzz)
    lengths = {"rf": b.rF, "rr": b.rR, "d1": axis - rear[0], "d2": front[1] - rear[1], "d3": front[0] - axis}
    centres = {"l1": l1, "l2": l2, "l3": l3, "l4": l4}
    masses = {"mc": b.mB, "md": b.mR, "me": b.mH, "mf": b.mF, "g": b.g}
    frames = {"ic11": C[0, 0], "ic22": C[1, 1], "ic31": C[0, 2], "ic33": C[2, 2]}
    forks = {"ie11": E[0, 0], "ie22": E[1, 1], "ie31": E[0, 2], "ie33": E[2, 2]}
    wheels = {"id11": b.IRxx, "id22": b.IRyy, "if11": b.IFxx, "if22": b.IFyy}
    return {key: float(value) for key, value in (lengths | centres | masses | frames | forks | wheels).items()}


def meijaard_from_moore(parameters: Mapping[str, float], name: str, std: Mapping[str, float] | None = None) -> Bicycle:
    """Make the bicycle ``name`` from parameters of Moore (2012), with Meijaard's standard deviations ``std``.

    Keys he has besides `MOORE_PARAMETERS` (id33, ic12 ...) follow from symmetry and are not read. The steer axis tilt
    is not among them: it is the pitch at which both wheels of the upright bicycle touch the ground.

    Raises
    ------
    InputError
        For parameters that are absent, wheels that cannot both touch the ground, or what no bicycle can have.
    """
    absent = [key for key in MOORE_PARAMETERS if key not in parameters]
    if absent:
        raise InputError(f"wanted the parameters of Moore (2012), found none called {', '.join(absent)}; add them")
    m = {key: float(parameters[key]) for key in MOORE_PARAMETERS}
    lam = _tilt(m["d1"] + m["d3"], m["d2"], m["rr"], m["rf"])
    w, _ = across_axis(-lam, m["d1"] + m["d3"], m["d2"])
    axis = (m["d1"] + m["rr"] * sin(lam)) / cos(lam)  # where the steer axis meets the ground
    xB, zB = across_axis(-lam, m["l1"], m["l2"])
    xH, zH = across_axis(-lam, m["l3"], m["l4"])
    B = turned_tensor(-lam, m["ic11"], m["ic31"], m["ic22"], m["ic33"])
    H = turned_tensor(-lam, m["ie11"], m["ie31"], m["ie22"], m["ie33"])
    return Bicycle(
        name=name,
        w=w,
        c=axis - w,
        lam=lam,
        g=m["g"],
        rR=m["rr"],
        mR=m["md"],
        IRxx=m["id11"],
        IRyy=m["id22"],
        xB=xB,
        zB=zB - m["rr"],
        mB=m["mc"],
        IBxx=B[0, 0],
        IBxz=B[0, 2],
        IByy=B[1, 1],
        IBzz=B[2, 2],
        xH=w + xH,
        zH=zH - m["rf"],
        mH=m["me"],
        IHxx=H[0, 0],
        IHxz=H[0, 2],
        IHyy=H[1, 1],
        IHzz=H[2, 2],
        rF=m["rf"],
        mF=m["mf"],
        IFxx=m["if11"],
        IFyy=m["if22"],
        std=std or {},
    )


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


def _tilt(across: float, down: float, rR: float, rF: float) -> float:
    """Steer axis tilt [rad] at which hubs ``across`` and ``down`` from one another are at the heights of their radii.

    down cos(lam) - across sin(lam) = rR - rF, that is, a cosine of length hypot(across, down).
    """
    length = np.hypot(across, down)
    if not abs(rR - rF) < length:
        raise InputError(
            f"wanted hubs further apart than the radii differ ({abs(rR - rF):g} m), found {length:g} m; "
            "check d1, d2 and d3"
        )
    return float(np.arccos((rR - rF) / length) - np.arctan2(across, down))
