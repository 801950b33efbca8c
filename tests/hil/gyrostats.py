"""Bicycle of two gyrostats, as Peterson (2013) describes his robot bicycle, as a bicycle of four bodies.

A gyrostat is a rear or front assembly with its wheel in it: mass, centre of mass and tensor of both together, and the
spin moment J of the wheel. Its axes lie along the steer axis: z down along it, x forward and square to it, y to the
right; its origin is the centre of its wheel. How mass and diametral moment divide between wheel and frame
changes nothing linear: here the wheel is a hoop.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

MOST_TILT = 1.2  # rad


@dataclass(frozen=True)
class Gyrostat:
    """Assembly with its wheel, SI.

    Parameters
    ----------
    m : float
        Mass [kg].
    Ixx, Iyy, Izz, Ixz : float
        Tensor about the centre of mass, the wheel locked in it [kg m^2].
    J : float
        Moment of the wheel about its axle [kg m^2].
    R : float
        Radius of the wheel, to the ground [m].
    a, b : float
        Centre of mass from the wheel's centre, along x and z [m].
    c : float
        From the wheel's centre to the steer axis along x (rear), or from the axis to the wheel's centre (front) [m].
    """

    m: float
    Ixx: float
    Iyy: float
    Izz: float
    Ixz: float
    J: float
    R: float
    a: float
    b: float
    c: float


def bicycle_of_gyrostats(
    rear: Gyrostat, front: Gyrostat, ls: float, g: float = 9.81, name: str = "gyrostats", source: str = ""
) -> Bicycle:
    """Convert two gyrostats to the 25 parameters of Meijaard et al. (2007).

    Parameters
    ----------
    rear, front : Gyrostat
    ls : float
        From the rear wheel's centre to the front one's along the steer axis, down [m].
    g : float
        Gravity [m/s^2].
    name, source : str

    Raises
    ------
    InputError
        No steer axis tilt brings both wheels to the ground, or the bicycle cannot be.
    """
    length = rear.c + front.c

    def gap(lam: float) -> float:
        return float(-length * np.sin(lam) + ls * np.cos(lam) - rear.R + front.R)

    if gap(-MOST_TILT) * gap(MOST_TILT) > 0.0:
        raise InputError(
            f"no steer axis tilt within {MOST_TILT:g} rad brings both wheels of {name} to the ground: check c, ls and R"
        )
    lam = float(brentq(gap, -MOST_TILT, MOST_TILT, xtol=1e-15))
    axes = np.array([[np.cos(lam), 0.0, np.sin(lam)], [0.0, 1.0, 0.0], [-np.sin(lam), 0.0, np.cos(lam)]])  # columns
    w = length * np.cos(lam) + ls * np.sin(lam)
    xB, zB, mB, IB, mR = _frame(rear, np.array([0.0, 0.0, -rear.R]), axes)
    xH, zH, mH, IH, mF = _frame(front, np.array([w, 0.0, -front.R]), axes)
    return Bicycle(
        name=name,
        w=float(w),
        c=float((front.R * np.sin(lam) - front.c) / np.cos(lam)),
        lam=lam,
        g=g,
        rR=rear.R,
        mR=mR,
        IRxx=0.5 * rear.J,
        IRyy=rear.J,
        xB=xB,
        zB=zB,
        mB=mB,
        IBxx=IB[0, 0],
        IBxz=IB[0, 2],
        IByy=IB[1, 1],
        IBzz=IB[2, 2],
        xH=xH,
        zH=zH,
        mH=mH,
        IHxx=IH[0, 0],
        IHxz=IH[0, 2],
        IHyy=IH[1, 1],
        IHzz=IH[2, 2],
        rF=front.R,
        mF=mF,
        IFxx=0.5 * front.J,
        IFyy=front.J,
        source=source,
    )


def _frame(body: Gyrostat, wheel: Array, axes: Array) -> tuple[float, float, float, Array, float]:
    """Take the wheel, a hoop at ``wheel`` [m], off: x, z, mass and tensor (3, 3) of the frame, and its mass."""
    hoop = body.J / body.R**2
    mass = body.m - hoop
    if mass <= 0.0:
        raise InputError(
            f"a wheel of J = {body.J:g} kg m^2 at {body.R:g} m weighs more than its assembly, {body.m:g} kg"
        )
    centre = wheel + axes @ np.array([body.a, 0.0, body.b])
    place = (body.m * centre - hoop * wheel) / mass
    local = np.array([[body.Ixx, 0.0, body.Ixz], [0.0, body.Iyy, 0.0], [body.Ixz, 0.0, body.Izz]])
    whole = axes @ local @ axes.T
    wheels_own = body.J * np.diag([0.5, 1.0, 0.5])
    tensor = whole - wheels_own - hoop * _spread(wheel - centre) - mass * _spread(place - centre)
    return float(place[0]), float(place[2]), mass, tensor, hoop


def _spread(d: Array) -> Array:
    """Tensor (3, 3) of a unit mass at ``d`` [m]."""
    return np.asarray((d @ d) * np.eye(3) - np.outer(d, d))
