"""Limits of the machine.

Each has a value, a unit and the reason of the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from riderless.firmware_interface.messages import COMMAND_KINDS
from riderless.models.bicycle_file import is_real
from riderless.models.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Limit:
    """One bound the supervisor enforces."""

    value: float
    unit: str
    reason: str


MACHINE_LIMITS = (
    "torque",
    "torque_rate",
    "lean",
    "steer",
    "speed_min",
    "speed_max",
    "bus_min",
    "bus_max",
)  # of each machine
COMMAND_LIMITS = {  # of the command and of its change, for each kind of drive
    "torque": ("torque", "torque_rate"),
    "rate": ("steer_rate", "steer_acceleration"),
    "angle": ("steer_command", "steer_rate"),
}
RANGES = {  # outside of it a value is a slip of the pen, or takes the limit away; and why
    "torque": (0.1, 20.0, "more breaks wrists, and less balances nothing"),
    "torque_rate": (5.0, 5000.0, "a kick asks for about 130 N m/s"),
    "steer_rate": (0.2, 30.0, "more turns the bars round in a blink, and less balances nothing; is it in deg/s?"),
    "steer_acceleration": (5.0, 5000.0, "a kick asks for about 60 rad/s^2; is it in deg/s^2?"),
    "steer_command": (0.05, 1.4, "beyond 80 deg no bicycle rides; is it in degrees?"),
    "lean": (0.05, 0.8, "a bicycle at 45 deg is lost; is it in degrees?"),
    "steer": (0.05, 1.4, "beyond 80 deg no bicycle rides; is it in degrees?"),
    "lean_arm": (0.01, 0.3, "a person holds it upright; is it in degrees?"),
    "steer_arm": (0.01, 0.6, "a person holds it straight; is it in degrees?"),
    "speed_min": (0.05, 5.0, "below it no steer torque can balance a bicycle"),
    "speed_max": (0.5, 30.0, "no riderless bicycle goes faster; is it in km/h?"),
    "gains_reach": (0.05, 5.0, "other speeds want other gains"),
    "bus_min": (3.0, 100.0, "a steer drive wants some volts; is it in mV?"),
    "bus_max": (5.0, 120.0, "no steer drive has more; is it in mV?"),
    "rest_rate": (0.02, 1.0, "a gyro that reads more at rest is broken; is it in deg/s?"),
    "rest_force": (0.2, 3.0, "an accelerometer that is farther off is broken; is it in g?"),
    "rest_tilt": (0.05, 0.5, "a machine that leans farther is not upright; is it in degrees?"),
    "stale": (0.01, 0.2, "the weave grows by half in 0.2 s; is it in ms?"),
    "saturated": (0.05, 5.0, "any kick saturates for a moment, and in 5 s it has fallen"),
    "late": (0.1, 2000.0, "late ticks a second, of at most 2000"),
    "stuck": (0.02, 10.0, "a healthy reading may rest for a sample or two; is it in ms?"),
    "invalid": (0.005, 0.2, "a bicycle falls while nothing is read; is it in ms?"),
    "steer_jump": (0.001, 0.5, "between two samples; is it in degrees?"),
    "gyro_jump": (0.1, 30.0, "within one sample; is it in deg/s?"),
    "lean_error": (0.02, 0.8, "two readings of one lean; is it in degrees?"),
    "steer_error": (0.02, 0.8, "two readings of one steer angle; is it in degrees?"),
    "gyro_drift": (0.01, 1.0, "no gyro drifts so far in a run; is it in deg/s?"),
    "roll_drift": (0.01, 1.0, "no gyro drifts so far in a run; is it in deg/s?"),
    "side_force": (0.2, 10.0, "a wind that leans it by 30 deg makes more; is it in g?"),
    "torque_error": (0.05, 10.0, "reported against commanded"),
    "follow_error": (0.02, 0.8, "steer against its commands; is it in degrees?"),
    "seldom": (0.5, 0.99, "balance needs every other sample at least; is it in per cent?"),
    "often": (1.11, 1.9, "a delay that ends brings 1.1 for a moment, and at 2 the gains are of another rate"),
    "broken": (0.01, 0.5, "balance needs every other frame at least; is it in per cent?"),
    "ramp": (0.1, 0.3, "quicker jerks the bars, slower is no stop; is it in ms?"),
    "check": (1.0, 60.0, "less proves no stream, and nobody holds it for longer; is it in ms?"),
    "check_timeout": (2.0, 600.0, "a person stands and waits; is it in ms?"),
}
WATCHDOG_RANGE = (
    0.001,
    0.2,
    "under a torque that nobody computes any more the weave grows by half in 0.2 s; in ms?",
)  # s
ORDER = (("bus_min", "bus_max"), ("lean_arm", "lean"), ("steer_arm", "steer"), ("check", "check_timeout"))


@dataclass(frozen=True, repr=False)
class Limits:
    """Limits of one rig, with reasons; the defaults suit the emulated bicycle, a real rig states its own."""

    torque: Limit = Limit(7.0, "N m", "what a hand on the bars can still overcome")
    torque_rate: Limit = Limit(500.0, "N m/s", "a kick asks for about 130 N m/s; a broken sensor for far more")
    steer_rate: Limit = Limit(6.0, "rad/s", "of a command; a kick asks for about 2 rad/s")
    steer_acceleration: Limit = Limit(300.0, "rad/s^2", "change of a rate commanded; a kick asks for about 60 rad/s^2")
    steer_command: Limit = Limit(0.7, "rad", "40 deg, of an angle commanded: before the steer's own limit")
    lean: Limit = Limit(0.52, "rad", "30 deg: the training wheels touch")
    steer: Limit = Limit(0.79, "rad", "45 deg: before the cable stops")
    lean_arm: Limit = Limit(0.09, "rad", "5 deg: a person holds it upright when arming")
    steer_arm: Limit = Limit(0.17, "rad", "10 deg: a person holds it straight when arming")
    speed_min: Limit = Limit(0.3, "m/s", "below it no steer torque can balance a bicycle")
    speed_max: Limit = Limit(10.0, "m/s", "the fastest belt or floor foreseen")
    gains_reach: Limit = Limit(0.5, "m/s", "beyond the speeds of the gains, a usual step of their grid")
    bus_min: Limit = Limit(20.0, "V", "a six-cell battery is empty below it")
    bus_max: Limit = Limit(30.0, "V", "regeneration must not lift the bus above the drive's rating")
    rest_rate: Limit = Limit(0.35, "rad/s", "20 deg/s, the largest offset that a data sheet allows a gyro at rest")
    rest_force: Limit = Limit(1.5, "m/s^2", "off gravity; data sheets allow 0.1 g of offset and 3 % of scale")
    rest_tilt: Limit = Limit(0.3, "rad", "off upright by the accelerometer; a lifted front wheel tilts it by 0.2")
    stale: Limit = Limit(0.05, "s", "ten periods at 200 Hz: weave grows by a fifth at most")
    saturated: Limit = Limit(0.5, "s", "a recovery that takes longer than this has failed")
    late: Limit = Limit(20.0, "1/s", "a tenth of the ticks at 200 Hz: balance survives that many holes, not more")
    stuck: Limit = Limit(0.1, "s", "the last digit of a gyro or accelerometer never rests so long")
    invalid: Limit = Limit(0.02, "s", "a few samples off the scale are an impact, more a broken sensor")
    steer_jump: Limit = Limit(0.04, "rad", "against the rate before: the strongest drive turns the bars a tenth of it")
    gyro_jump: Limit = Limit(3.0, "rad/s", "within one sample; a hard push makes 1 rad/s")
    lean_error: Limit = Limit(0.25, "rad", "lean by gyro against lean by accelerometer, apart from a push")
    steer_error: Limit = Limit(0.15, "rad", "steer by encoder against steer by yaw rate, with tyres that slip")
    gyro_drift: Limit = Limit(
        0.15, "rad/s", "yaw bias learnt since RUNNING: data sheets allow a tenth of it, the rest is for steer"
    )
    roll_drift: Limit = Limit(0.08, "rad/s", "roll bias learnt since RUNNING: ten times the usual noise makes 0.035")
    side_force: Limit = Limit(2.0, "m/s^2", "mean of a second: a turn leaves none, a wind that leans it by 12 deg this")
    torque_error: Limit = Limit(0.8, "N m", "torque reported against torque commanded, apart from friction")
    follow_error: Limit = Limit(0.12, "rad", "steer against its commands: what load and lag leave of a rate or angle")
    seldom: Limit = Limit(0.8, "1", "share of the samples promised; the observer needs most of them")
    often: Limit = Limit(1.2, "1", "share of the samples promised; a delay that ends brings 1.1 for a moment")
    broken: Limit = Limit(0.1, "1", "share of broken frames; a good cable has none")
    ramp: Limit = Limit(0.2, "s", "quick enough to stop, slow enough not to jerk the bars")
    check: Limit = Limit(1.0, "s", "the stream must have been alive this long without a gap or an error")
    check_timeout: Limit = Limit(10.0, "s", "a person should not stand waiting for a check that cannot pass")

    def __post_init__(self) -> None:
        self._require_numbers()
        self.require_plausible()

    def _require_numbers(self) -> None:
        """Refuse what is no positive number in the right unit with a reason."""
        for f in fields(self):
            limit = getattr(self, f.name)
            if not isinstance(limit, Limit):
                raise InputError(f"limit '{f.name}' wants a Limit(value, unit, reason), found {limit!r}: give one")
            _require_number(f.name, limit.value, limit.unit)
            if not (np.isfinite(limit.value) and limit.value > 0):
                raise InputError(
                    f"limit '{f.name}' must be a positive number, found {limit.value!r} {limit.unit}: set it in the rig"
                )
            _require_unit(f.name, limit.unit)
            if not str(limit.reason or "").strip():
                raise InputError(
                    f"limit '{f.name}' has no reason: write in the rig why it is {limit.value:g} {limit.unit}"
                )

    def __repr__(self) -> str:
        of_machine = ((name, getattr(self, name)) for name in MACHINE_LIMITS)
        return f"Limits({', '.join(f'{name} {limit.value:g} {limit.unit}' for name, limit in of_machine)}, ...)"

    def as_record(self, kind: str = "torque") -> np.void:
        """Values alone, a record of LIMITS, for the compiled supervisor of a drive of that kind."""
        record = np.zeros(1, LIMITS)[0]
        record["kind"] = COMMAND_KINDS.index(kind)
        record["command"], record["command_change"] = (getattr(self, name).value for name in COMMAND_LIMITS[kind])
        for f in fields(self):
            record[f.name] = getattr(self, f.name).value
        return record

    def as_dict(self) -> dict[str, dict[str, float | str]]:
        """For the log's header and the rig file."""
        return {f.name: vars(getattr(self, f.name)).copy() for f in fields(self)}

    @classmethod
    def of_machine(cls, table: dict[str, dict[str, float | str]], kind: str = "torque") -> "Limits":
        """Limits of a rig file, which must state those of its machine and kind of drive; raises as `from_dict`."""
        given = _given(table)
        own = [name for name in MACHINE_LIMITS if name != "torque_rate"]  # of a drive that obeys a torque
        missing = [name for name in dict.fromkeys((*COMMAND_LIMITS[kind], *own)) if name not in given]
        if missing:
            raise InputError(
                f"the limits {', '.join(missing)} are missing: each machine has its own, so state each as "
                "[limits.NAME] with a value and a reason"
            )
        return cls(**given)

    @classmethod
    def of_log(cls, table: dict[str, dict[str, float | str]]) -> "Limits":
        """Limits of a log, which may have been made when any positive number would do; raises InputError."""
        given = _given(table)
        try:
            return cls(**given)
        except InputError:
            return RecordedLimits(**given)

    def require_plausible(self) -> None:
        """Refuse values that no machine can mean, and pairs that contradict each other; raises InputError."""
        for name, (least, most, why) in RANGES.items():
            limit = getattr(self, name)
            if not least <= limit.value <= most:
                raise InputError(
                    f"limit '{name}' must lie between {least:g} and {most:g} {limit.unit}, found {limit.value:g} "
                    f"{limit.unit} ({why}): correct it in the rig"
                )
        if self.speed_min.value >= self.speed_max.value:
            raise InputError(
                f"the speed window is empty: speed_min {self.speed_min.value:g} m/s must lie below "
                f"speed_max {self.speed_max.value:g} m/s"
            )
        self.require_order()

    def require_order(self, pairs: Sequence[tuple[str, str]] = ORDER) -> None:
        """Refuse pairs of limits that leave no room between them; raises InputError."""
        for lower, upper in pairs:
            low, high = getattr(self, lower), getattr(self, upper)
            if low.value >= high.value:
                raise InputError(
                    f"limit '{lower}' must lie below '{upper}', found {low.value:g} and {high.value:g} {low.unit}: "
                    "correct them in the rig"
                )


class RecordedLimits(Limits):
    """Limits that a run was made with: any positive numbers. They reach no machine: opening its ports refuses them."""

    def __post_init__(self) -> None:
        self._require_numbers()


def _given(table: dict[str, dict[str, float | str]]) -> dict[str, Limit]:
    """Limits that a table states; raises InputError for an unknown one, or one without value and reason."""
    given = {}
    for name, entry in table.items():
        if name not in _UNITS:
            hint = did_you_mean(name, _UNITS, f"the limits are {', '.join(_UNITS)}")
            raise InputError(f"unknown limit '{name}': {hint}")
        unit = _UNITS[name]
        if not isinstance(entry, dict) or not {"value", "reason"} <= entry.keys():
            raise InputError(f"limit '{name}' needs a value in {unit} and a reason, found {entry!r}")
        _require_unit(name, entry.get("unit", unit))
        _require_number(name, entry["value"], unit)
        given[name] = Limit(float(entry["value"]), unit, str(entry["reason"]))
    return given


def _require_number(name: str, value: object, unit: str) -> None:
    """Refuse text, true and false: they are no numbers, though Python counts with some of them."""
    if not is_real(value):
        raise InputError(f"limit '{name}' needs a number in {unit}, found {value!r}")


def _require_unit(name: str, unit: object) -> None:
    if unit != _UNITS[name]:
        raise InputError(f"limit '{name}' is in {_UNITS[name]}, found '{unit}': convert the value")


_UNITS = {f.name: f.default.unit for f in fields(Limits) if isinstance(f.default, Limit)}
LIMITS = np.dtype(
    [
        *((f.name, "f8") for f in fields(Limits)),
        ("kind", "i8"),  # COMMAND_KIND_* of the drive
        ("command", "f8"),  # N m, rad/s or rad, greatest command
        ("command_change", "f8"),  # and greatest change of it per second
        ("node_step", "f8"),  # N m an instant, of the node whose controller closes the loop; 0: the computer does
    ]
)
