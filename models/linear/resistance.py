"""Resistance forces from the change of speed.

The rate of a measured speed tells the sum of the forces along the road. Rolling takes its share by its coefficient; the
rest acts on the rear frame (air, a rope, a hand), as the gravity of an incline, or at the rear rim (motor, brake),
which has no terms of its own: `riderless.models.linear.road_forces`.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from riderless.models.errors import InputError
from riderless.models.linear.road_forces import (
    RoadTerms,
    acceleration,
    drag,
    effective_mass,
    rolling,
    slope,
    wheel_loads,
)
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle

Balance = Literal["frame", "rope", "incline"]
MOST_ROLLING = 0.1  # per load, as of a flat tyre on sand
MOST_HEIGHT = 3.0  # of the centre of mass; no bicycle is so high


class RetardingForces(NamedTuple):
    """Forces [N] against the motion: rolling, and the rest that is not at the rear rim."""

    rolling: float = 0.0
    rest: float = 0.0


@dataclass(frozen=True)
class Resistance:
    """Resistance of the road and what balances it.

    Attributes
    ----------
    rolling : float
        Moment that resists each wheel, per its load and radius.
    rolling_axis : float
        Axis of these moments: 0 along the leaned axles, 1 horizontal, or a share between.
    drag_share : float
        Share of the rest of the force that is not at the rear rim.
    drag_height : float
        Where that acts, in heights of the centre of mass.
    balance : str
        What it is: a force on the frame along its heading, a rope along the road, or an incline.
    x : float
        Where a rope is tied, m ahead of the rear contact.
    stated : bool
        Somebody says so: it acts at a kept speed too. Else it is known by its slowing alone, and is at most that.
    """

    rolling: float = 0.0
    rolling_axis: float = 1.0
    drag_share: float = 1.0
    drag_height: float = 1.0
    balance: Balance = "frame"
    x: float = 0.0
    stated: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.rolling <= MOST_ROLLING:
            raise InputError(
                f"a rolling resistance per load lies between 0 and {MOST_ROLLING:g}, found {self.rolling:g}: give "
                "0.004 to 0.012 for a tyre on a hard floor"
            )
        if not 0.0 <= self.drag_height <= MOST_HEIGHT:
            raise InputError(
                f"a force on the frame acts from 0 to {MOST_HEIGHT:g} times the height of the centre of mass, found "
                f"{self.drag_height:g}: give a place on the bicycle"
            )

    def forces(self, bicycle: Bicycle, a: float, on_belt: bool = False) -> RetardingForces:
        """Forces at the acceleration ``a`` [m/s^2] relative to the ground, or to a belt that keeps it in place."""
        moved = effective_mass(bicycle) - on_belt * totals(bicycle).mT  # what the forces along the road set going
        rolled, slowing = self.rolling * sum(wheel_loads(bicycle)), -moved * a
        if self.stated:
            return RetardingForces(rolled, self.drag_share * (slowing - rolled))
        slowing = 0.0 if on_belt else max(slowing, 0.0)
        rolled = min(rolled, slowing)
        return RetardingForces(rolled, self.drag_share * (slowing - rolled))

    def terms(self, bicycle: Bicycle, forces: RetardingForces) -> RoadTerms:
        """Terms of forces in the lateral equations, but for those of the acceleration itself."""
        rear, front = wheel_loads(bicycle)
        share = forces.rolling / (rear + front)
        terms = rolling(bicycle, share * rear * bicycle.rR, share * front * bicycle.rF, self.rolling_axis)
        if self.balance == "incline":
            return terms + slope(bicycle, forces.rest / totals(bicycle).mT)
        z = self.drag_height * totals(bicycle).zT
        return terms + drag(bicycle, forces.rest, self.x, z, "road" if self.balance == "rope" else "heading")


def speed_change(bicycle: Bicycle, a: float, on_belt: bool = False) -> RoadTerms:
    """Terms of the acceleration ``a`` [m/s^2] on a floor, or on a belt whose bicycle its drive keeps in place."""
    terms = acceleration(bicycle, a)
    return terms + slope(bicycle, -a) if on_belt else terms
