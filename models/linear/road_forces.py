"""Forces along the road in the lateral equations.

Acceleration, drive, brakes, drag, rolling, slope, belt. With a = dv/dt the linear bicycle obeys

    M q'' + (v C1 + C / v) q' + (g K0 + v^2 K2 + K) q + P psi = f,   psi' = cos(lam) / w (v delta + c delta'),

where K, P and C are the sums of what applies: `acceleration` always, and a term of each load, which has a place and
a direction. A force at the rear rim (motor, or brake against the rear frame) adds nothing to `acceleration`.
Retarding forces are positive. On a road that rises, the g of the bicycle is that normal to the road.

Derived by hand (Newton and Euler) and compared with nonlinear models; symbols of Meijaard et al. (2007), appendix A.
"""

from dataclasses import dataclass
from math import cos, sin
from typing import Literal

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices, totals
from riderless.models.parameters import Bicycle

Against = Literal["heading", "road", "velocity"]
STEEPEST = 5.0  # m/s^2; on a road of 30 deg no bicycle coasts
ONLY_STEER = np.array([[0.0, 1.0], [0.0, 0.0]])  # the element (phi, delta)


@dataclass(frozen=True, eq=False)
class RoadTerms:
    """Terms of forces along the road, on the left side of the lateral equations, SI; they add up.

    Attributes
    ----------
    K : (2, 2) array
        Of lean and steer [N m/rad].
    P : (2,) array
        Of the heading relative to the road [N m/rad].
    C : (2, 2) array
        Of lean and steer rate, times the speed [N m^2/rad].
    """

    K: Array
    P: Array
    C: Array

    def __add__(self, other: "RoadTerms") -> "RoadTerms":
        return RoadTerms(self.K + other.K, self.P + other.P, self.C + other.C)

    def __mul__(self, factor: float) -> "RoadTerms":
        return RoadTerms(factor * self.K, factor * self.P, factor * self.C)

    __rmul__ = __mul__


def acceleration(bicycle: Bicycle, a: float) -> RoadTerms:
    """Terms of the acceleration ``a`` [m/s^2], whatever causes it."""
    b, t = bicycle, totals(bicycle)
    sin_lam, cos_lam = sin(b.lam), cos(b.lam)
    steer = (
        (t.IAlz + t.mu * t.ITzz) * cos_lam / b.w
        - t.mu * t.SF * sin_lam
        - t.mA * t.uA * (t.mu + cos_lam)
        + t.mu * sin_lam * (t.ST - t.mT * t.zT)
        + _front_spin(b) * (1.0 + b.c / b.w) * b.c * cos_lam**2
    )
    return _of_steer(a * canonical_matrices(b).C1[0, 1], a * steer)


def drag(bicycle: Bicycle, force: float, x: float, z: float, against: Against = "heading") -> RoadTerms:
    """Terms of a retarding force on a point of the rear frame, such as drag; a negative one pushes.

    Parameters
    ----------
    bicycle : Bicycle
    force : float
        N.
    x, z : float
        Point, m ahead of the rear contact and m below the ground.
    against : str
        Frame's heading, direction of the road, or velocity of the point over the ground.
    """
    b, t = bicycle, totals(bicycle)
    terms = _of_steer(-force * t.mu * z, -force * t.mu * z * sin(b.lam))
    lever = np.array([-z, t.mu * x])  # lean and steer torque of a lateral force
    if against == "heading":
        return terms
    if against == "road":
        return terms + RoadTerms(np.zeros((2, 2)), -force * lever, np.zeros((2, 2)))
    if against == "velocity":
        turned = force * x * cos(b.lam) / b.w * lever
        return terms + RoadTerms(np.outer(turned, [0.0, 1.0]), np.zeros(2), force * np.outer(lever, lever))
    raise InputError(f"a drag acts against the heading, the road or the velocity, found {against!r}: give one of them")


def rolling(bicycle: Bicycle, rear: float, front: float, horizontal: float = 1.0) -> RoadTerms:
    """Terms of moments against the rolling of the wheels.

    Parameters
    ----------
    bicycle : Bicycle
    rear, front : float
        Moment on each wheel [N m].
    horizontal : float
        Where their axis lies: 1 horizontal, as that of a normal force that acts further ahead; 0 along the leaned
        axle; a share between them.
    """
    b, t = bicycle, totals(bicycle)
    sin_lam, cos_lam = sin(b.lam), cos(b.lam)
    by_lean, by_steer = horizontal * np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    at_front = b.c * cos_lam / b.rF if b.rF else 0.0
    K = rear * t.mu * (ONLY_STEER + by_lean + sin_lam * by_steer)
    K += front * (1.0 + b.c / b.w) * cos_lam * (ONLY_STEER + by_lean + (horizontal * sin_lam + at_front) * by_steer)
    return RoadTerms(K, np.zeros(2), np.zeros((2, 2)))


def slope(bicycle: Bicycle, backward: float) -> RoadTerms:
    """Terms of the gravity along a road that rises, ``backward`` = g sin(slope) [m/s^2].

    A belt that accelerates by A acts as a slope of -A, with accelerations relative to the belt.
    """
    if not abs(backward) <= STEEPEST:
        raise InputError(
            f"gravity along a road, or a belt's acceleration, is at most {STEEPEST:g} m/s^2, found {backward:g} m/s^2: "
            "give g sin(slope)"
        )
    b, t = bicycle, totals(bicycle)
    steer = -t.mA * t.uA * (t.mu + cos(b.lam)) - t.mu * sin(b.lam) * t.mT * t.zT
    terms = _of_steer(-backward * t.mu * t.mT * t.zT, backward * steer)
    return terms + RoadTerms(np.zeros((2, 2)), backward * np.array([t.mT * t.zT, -t.SA]), np.zeros((2, 2)))


def effective_mass(bicycle: Bicycle) -> float:
    """Mass [kg] that a force along the bicycle sets going, rotation of the wheels included."""
    b = bicycle
    return totals(b).mT + (b.IRyy / b.rR**2 if b.rR else 0.0) + _front_spin(b)


def wheel_loads(bicycle: Bicycle, a: float = 0.0, pitch: float = 0.0) -> tuple[float, float]:
    """Normal forces [N] on the rear and the front wheel at the acceleration ``a`` [m/s^2].

    ``pitch`` [N m] is the moment of loads about the rear contact that lifts the front.
    """
    b, t = bicycle, totals(bicycle)
    front = (t.mT * t.xT * b.g + a * (t.mT * t.zT - t.ST) - pitch) / b.w
    return t.mT * b.g - front, front


def _of_steer(lean: float, steer: float) -> RoadTerms:
    """Terms of the steer alone: its column of K."""
    return RoadTerms(np.array([[0.0, lean], [0.0, steer]]), np.zeros(2), np.zeros((2, 2)))


def _front_spin(bicycle: Bicycle) -> float:
    """Mass [kg] that the front wheel's spin adds to what a force sets going; none of a skate."""
    return bicycle.IFyy / bicycle.rF**2 if bicycle.rF else 0.0
