"""Threat: a kind of fault and its promise.

Also how bad it may be. A promise is one of three. *Rides through*: the run goes on to its planned end. *Stops*: the
fault is noticed in time, the torque goes to zero, and the cause that is kept is one that names it. *Either*. Times
count from the moment at which the fault meets a bicycle under control.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from riderless.firmware_interface.twins.faults import TO_COMPUTER, TO_NODE, Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause
from riderless.models.parameters import Bicycle

SAMPLE_PERIOD = 0.005  # s, of the node's samples
TORQUE_DECAY = 0.025  # s, five time constants of the drive: less than a hundredth of its torque is left
TIME_TO_ZERO = (
    2 * SAMPLE_PERIOD + TORQUE_DECAY
)  # s: noticed at the next tick, obeyed at the next sample, then the motor's own lag
RAMP_TIME = 0.2  # s
GROSS_TIME = 0.1  # s
ONE_SAMPLE = (SAMPLE_PERIOD, SAMPLE_PERIOD)  # s, of a fault that meets one frame or one sample
FOR_EVER = (1e6, 1e6)

AT_ONCE_CAUSES = frozenset(  # causes after which the torque is zero in the same tick; after the others it ramps down
    {
        Cause.OPERATOR_OFF,
        Cause.STALE_SAMPLE,
        Cause.NOT_A_NUMBER,
        Cause.LEAN_LIMIT,
        Cause.STEER_LIMIT,
        Cause.DEVICE_FAULT,
        Cause.NODE_GUARD,
        Cause.DRIVE_WATCHDOG,
        Cause.STOP_BUTTON,
        Cause.SENSOR_STUCK,
        Cause.SENSOR_RANGE,
        Cause.SENSOR_JUMP,
        Cause.SENSORS_DISAGREE,
        Cause.DRIVE_DISOBEYS,
        Cause.DRIVE_OFF,
        Cause.CLOCK_STEP,
        Cause.DEVICE_RESTARTED,
        Cause.FOREIGN_COMMANDS,
        Cause.OFF_BELT,
    }
)


class Order(Enum):
    """Order that a person gives to the run."""

    STOP = "stop"
    OFF = "off"


class PlaceKind(Enum):
    """Fault of the sensor of place; the value is one of `PLACE_FAULTS` of its twin."""

    SILENT = "silent"
    FROZEN = "frozen"
    OUTLIERS = "outliers"  # size: share of the fixes
    DRIFT = "drift"  # m/s
    LATE = "late"  # s
    NOISY = "noisy"  # times the usual
    JUMP = "jump"  # m
    FLOAT = "float"


class SpeedKind(Enum):
    """Fault of what keeps the speed; the value is one of `BELT_FAULTS` of its twin."""

    SILENT = "silent"
    DEAF = "deaf"
    FROZEN = "frozen"
    STANDS = "stands"
    SLOW = "slow"
    RUNS_AWAY = "runs_away"
    FAULT = "reports_fault"
    STOP_BUTTON = "stop_button"


class Shape(Enum):
    """Course of a fault over time."""

    AT_ONCE = "at once"  # all of it from its onset on
    GROWS = "grows"  # evenly to its size
    SKIPS = "skips"  # in a few equal skips to its size
    STAIRS = "stairs"  # from what is right to its size in many small steps, and stays there


@dataclass(frozen=True)
class AlikeFault:
    """Fault of the same cause as another one, beside it for as long.

    Attributes
    ----------
    what : FaultKind
    size : callable
        Its size from the other fault, the bicycle and the speed [m/s].
    channel : str
        Reading that it strikes.
    """

    what: Kind
    size: Callable[[Fault, Bicycle, float], float]
    channel: str = "phi_dot"


@dataclass(frozen=True)
class Threat:
    """Kind of fault and the promise made for it: one row of the campaign's table.

    Attributes
    ----------
    name : str
    what : FaultKind, Order, PlaceKind, SpeedKind or None
        None: nothing is wrong.
    why : str
        The reason for the promise.
    causes : tuple of Cause
        That may be kept for it; those of CHECK are allowed besides while the machine is not yet armed.
    detected : float or None
        s within which it must be noticed if it lasts that long, from when all of it is there; None where it need not.
    rides : bool
        Whether the run may go on to its planned end, however long the fault lasts.
    sizes : (float, float)
        Between which its size is drawn, see `Kind`; ``signed`` for either sign, ``whole`` for whole numbers.
    chances : (float, float)
        Between which the chance to meet a frame is drawn.
    ways, channels : tuple
        Ways of the bytes, or readings, one of which it strikes.
    lasting : (float, float)
        s, between which its duration is drawn.
    sudden : bool
        Only its beginning can be noticed; one that has begun before the bicycle is under control may be missed.
    gross : float or None
        N m between torque asked for and torque made; if it is exceeded for `GROSS_TIME` the fault must be noticed.
    slack : float
        s for which the drive may go on with an older command because of it.
    refusals : set of Cause
        Of CHECK, for which a machine that would ride may be refused before it is armed.
    refused : bool
        The session does not even begin.
    obeyed : float
        s from its beginning for which the drive may obey torque that nobody of the run asked for.
    deaf : bool
        The drive obeys nobody: no program can promise its torque.
    shape : Shape
        Course over time; what grows or climbs does so for as long as ``lasting``, what skips does so every ``lasting``.
    steps : (int, int)
        Between which the number of skips or stairs is drawn; its size is that of all together.
    right : float
        Size at which nothing is wrong: where stairs begin.
    unseen : bool
        Nothing aboard need show it: a lean that it hides is counted and told, not judged.
    alike : tuple of AlikeFault
        What the same cause does elsewhere in the machine.
    """

    name: str
    what: Kind | Order | PlaceKind | SpeedKind | None
    why: str
    causes: frozenset[Cause] = frozenset()
    detected: float | None = None
    rides: bool = False
    sizes: tuple[float, float] = (0.0, 0.0)
    signed: bool = False
    whole: bool = False
    chances: tuple[float, float] = (1.0, 1.0)
    ways: tuple[int, ...] = (TO_COMPUTER, TO_NODE)
    channels: tuple[str, ...] = ("phi_dot",)
    lasting: tuple[float, float] = FOR_EVER
    sudden: bool = False
    gross: float | None = None
    slack: float = 0.0
    refusals: frozenset[Cause] = frozenset()
    refused: bool = False
    deaf: bool = False
    obeyed: float = 0.0
    shape: Shape = Shape.AT_ONCE
    steps: tuple[int, int] = (1, 1)
    right: float = 0.0
    unseen: bool = False
    alike: tuple[AlikeFault, ...] = ()

    @property
    def to_zero(self) -> float | None:
        """Time in which the torque is gone [s]; None without such a promise."""
        if self.detected is None:
            return None
        return self.detected + self.slack + TIME_TO_ZERO + (RAMP_TIME if self.causes - AT_ONCE_CAUSES else 0.0)

    @property
    def promise(self) -> str:
        """Promise in a few words, for the table."""
        if self.refused:
            return "refused"
        if self.what is None:
            return "rides through, or to a limit that it truly meets"
        if not self.causes:
            return "rides through, or is refused at rest" if self.refusals else "rides through"
        stops = f"stops in {1e3 * self.to_zero:.0f} ms" if self.to_zero is not None else "stops"
        if self.to_zero is not None and self.shape is not Shape.AT_ONCE:
            stops = f"stops in {self.to_zero:.1f} s of having grown"
        if self.deaf:
            stops = "asks for no torque"
        return f"rides or {stops}" if self.rides else stops
