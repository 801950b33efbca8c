"""Random draw of a threat's faults.

Their sizes, times, chances and places.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from riderless.experiments.fault_injection.threats.fault_spec import Order, PlaceKind, Shape, SpeedKind, Threat
from riderless.firmware_interface.twins.faults import Fault, Faults
from riderless.firmware_interface.twins.place.sensor import PlaceFault
from riderless.firmware_interface.twins.speed.belt import BeltFault
from riderless.models.parameters import Bicycle

FOREVER = 1e5  # s
SEED_RANGE = 2**31


class Draws(Protocol):
    """Source of numbers: a generator of random ones, or the genes of a search."""

    def integers(self, high: int, /) -> Any:
        """Whole number from 0 to below ``high``."""

    def uniform(self, low: float, high: float, /) -> Any:
        """Number between two others."""

    def choice(self, options: Sequence[Any], /) -> Any:
        """One of several."""


def draw_faults(threat: Threat, onset: float, draws: Draws) -> Faults:
    """Draw the faults of a threat that begins at ``onset`` [s since power-up]; none where none is in the machine."""
    if threat.what is None or isinstance(threat.what, (Order, PlaceKind, SpeedKind)):
        return ()
    channel = str(draws.choice(threat.channels))
    size = _size(threat, draws)
    lasting = float(draws.uniform(*threat.lasting))
    chance = float(draws.uniform(*threat.chances))
    way = int(draws.choice(threat.ways))
    seed = int(draws.integers(SEED_RANGE))

    def fault(part: float, start: float, stop: float) -> Fault:
        return Fault(threat.what, part, start, stop, chance, channel, way, seed)  # type: ignore[arg-type]

    if threat.shape in (Shape.AT_ONCE, Shape.GROWS):
        return (fault(size, onset, onset + lasting),)
    low, high = threat.steps
    steps = low + int(draws.integers(high - low + 1))
    if threat.shape is Shape.SKIPS:
        return tuple(fault(size / steps, onset + lasting * i, FOREVER) for i in range(steps))
    ends = [onset + lasting * i / steps for i in range(steps)] + [FOREVER]
    sizes = [threat.right + (size - threat.right) * (i + 1) / steps for i in range(steps)]
    return tuple(fault(part, *ends[i : i + 2]) for i, part in enumerate(sizes))


def with_alike(threat: Threat, faults: Faults, bicycle: Bicycle, v: float) -> Faults:
    """Add to the faults of a threat what the same cause does elsewhere in the machine.

    Parameters
    ----------
    threat : Threat
    faults : tuple of Fault
    bicycle : Bicycle
    v : float
        Speed at which the ride begins [m/s].
    """
    beside = (
        replace(fault, kind=other.what, size=other.size(fault, bicycle, v), channel=other.channel)
        for fault in faults
        for other in threat.alike
    )
    return (*faults, *beside)


def draw_place_faults(threat: Threat, onset: float, draws: Draws) -> tuple[PlaceFault, ...]:
    """Draw the faults of the sensor of place; none where the threat is another."""
    if not isinstance(threat.what, PlaceKind):
        return ()
    size, lasting = _size(threat, draws), float(draws.uniform(*threat.lasting))
    return (PlaceFault(threat.what.value, onset, onset + lasting, size),) if lasting > 0.0 else ()


def draw_speed_faults(threat: Threat, onset: float, draws: Draws) -> tuple[BeltFault, ...]:
    """Draw the faults of what keeps the speed [s since power-up]; none where the threat is another."""
    if not isinstance(threat.what, SpeedKind):
        return ()
    lasting = float(draws.uniform(*threat.lasting))
    return (BeltFault(threat.what.value, onset, onset + lasting),) if lasting > 0.0 else ()


def _size(threat: Threat, draws: Draws) -> float:
    """Draw the size of a fault, evenly over the logarithm where both ends are positive."""
    low, high = threat.sizes
    if not math.isfinite(low):
        return low
    size = math.exp(draws.uniform(math.log(low), math.log(high))) if low > 0.0 else draws.uniform(low, high)
    if threat.whole:
        size = round(size)
    sign = draws.choice((-1.0, 1.0)) if threat.signed else 1.0
    return float(sign * size)
