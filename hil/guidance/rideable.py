"""Check of a path before its ride.

Lean, steer, torque and speed against limits, and the edges of a belt.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil

import numpy as np

from riderless.hil.guidance.demand import SLOWEST_RIDE, PathDemand, path_demand
from riderless.hil.guidance.path import Path
from riderless.models.bicycle_file import is_number
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

SHARE = 0.8  # of a limit: the rest is for what disturbs the ride
LEAN_ROOM = np.radians(8.0)  # of the limit of lean: gusts of 4 N take up to 4.6 deg of it, the law's own errors 1 deg;
LEAN_SHARE = 0.5  # but a low limit is not taken up by that


@dataclass(frozen=True)
class RideLimits:
    """Limits of a ride, each above 0; infinite where there is none.

    Attributes
    ----------
    lean, steer : float
        rad
    torque : float
        N m
    speed_min, speed_max : float
        m/s

    Raises
    ------
    InputError
        A limit that is no number above 0, or no speed between the two.
    """

    lean: float = np.radians(20.0)
    steer: float = np.radians(30.0)
    torque: float = 7.0
    speed_min: float = SLOWEST_RIDE
    speed_max: float = 15.0

    def __post_init__(self) -> None:
        for name, unit in zip((f.name for f in fields(self)), ("rad", "rad", "N m", "m/s", "m/s"), strict=True):
            value = getattr(self, name)
            if not ((is_number(value) and value > 0.0) or value == np.inf):
                raise InputError(
                    f"the limit {name} of a ride must be a number above 0 in {unit}, found {value!r}: give one, or "
                    "inf for none"
                )
        if self.speed_min > self.speed_max:
            raise InputError(
                f"the limits of a ride leave no speed: speed_min is {self.speed_min:g} m/s and speed_max "
                f"{self.speed_max:g} m/s; give a speed_min that is not above speed_max"
            )


def require_rideable(bicycle: Bicycle, path: Path, v: float, limits: RideLimits) -> PathDemand:
    """Check a path at the speed ``v`` [m/s]; what it asks for.

    Parameters
    ----------
    bicycle : Bicycle
    path : Path
    v : float
    limits : RideLimits
        `SHARE` of lean, steer and torque may be asked for, and `LEAN_ROOM` less than the limit of lean; the rest is for
        what disturbs the ride.

    Raises
    ------
    InputError
        The speed or what the path asks for is beyond its limit: where, and at which speed it would do.
    """
    if not limits.speed_min <= v <= limits.speed_max:
        raise InputError(
            f"the path {path.name} shall be ridden at {v:g} m/s, and the limits are {limits.speed_min:g} to "
            f"{limits.speed_max:g} m/s: choose a speed between them"
        )
    demand = path_demand(bicycle, path, v)
    beyond = _beyond(demand, limits)
    if beyond is None:
        return demand
    what, size, limit, where = beyond
    slower = _fastest(lambda speed: _beyond(path_demand(bicycle, path, speed), limits) is None, limits.speed_min, v)
    remedy = f"ride at {slower:.1f} m/s, or make it wider" if slower else "make it wider"
    raise InputError(
        f"the path {path.name} at {v:g} m/s asks for {size} of {what} at {where:.0f} m, and {limit} leave room for "
        f"gusts and errors below the limit: {remedy}"
    )


def _beyond(demand: PathDemand, limits: RideLimits) -> tuple[str, str, str, float] | None:
    """First quantity beyond its limit: name, size and limit in words, and where [m]; None where all are within."""
    lean = min(SHARE * limits.lean, max(LEAN_SHARE * limits.lean, limits.lean - LEAN_ROOM))
    for what, values, most in (
        ("lean", demand.phi, lean),
        ("steer", demand.delta, SHARE * limits.steer),
        ("steer torque", demand.T_delta, SHARE * limits.torque),
    ):
        i = int(np.argmax(np.abs(values)))
        if abs(values[i]) > most:
            return what, _words(what, abs(values[i])), _words(what, most), float(demand.s[i])
    return None


def _words(what: str, value: float) -> str:
    """Size in words, angles in degrees."""
    return f"{value:.2g} N m" if what == "steer torque" else f"{np.degrees(value):.1f} deg"


def _fastest(possible: Callable[[float], bool], low: float, high: float) -> float | None:
    """Fastest speed between two at which something is possible, of whole 0.1 m/s; None where it is at none."""
    for tenths in range(ceil(10.0 * high) - 1, ceil(10.0 * low) - 1, -1):
        if possible(tenths / 10.0):
            return tenths / 10.0
    return None
