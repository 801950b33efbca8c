"""Every limit of the machine: value, unit and the reason it has that value."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from models.errors import InputError


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
SENSIBLE_RANGES = {  # outside of it a value is a slip of the pen
    "ramp": (0.1, 0.3),
    "stale": (0.01, 0.2),
    "check": (1.0, 60.0),
    "check_timeout": (2.0, 600.0),
    "saturated": (0.05, 5.0),
    "stuck": (0.02, 10.0),
    "invalid": (0.005, 0.2),
    "seldom": (0.5, 0.99),
    "broken": (0.01, 0.5),
}
RIG_RANGES = {  # of a machine's own limits, refused when its file is read; logs of before keep what they had
    "torque": (0.1, 20.0, "more breaks wrists, and less balances nothing"),
    "torque_rate": (5.0, 5000.0, "a kick asks for about 130 N m/s"),
    "lean": (0.05, 0.8, "a bicycle at 45 deg is lost; is it in degrees?"),
    "steer": (0.05, 1.4, "beyond 80 deg no bicycle rides; is it in degrees?"),
    "lean_arm": (0.01, 0.3, "a person holds it upright; is it in degrees?"),
    "steer_arm": (0.01, 0.6, "a person holds it straight; is it in degrees?"),
    "speed_min": (0.05, 5.0, "below it no steer torque can balance a bicycle"),
    "speed_max": (0.5, 30.0, "no riderless bicycle goes faster; is it in km/h?"),
    "bus_min": (3.0, 100.0, "a steer drive wants some volts; is it in mV?"),
    "bus_max": (5.0, 120.0, "no steer drive has more; is it in mV?"),
    "late": (0.1, 500.0, "late ticks a second"),
    "steer_jump": (0.001, 0.5, "between two samples; is it in degrees?"),
    "gyro_jump": (0.1, 30.0, "within one sample; is it in deg/s?"),
    "lean_error": (0.02, 0.8, "two readings of one lean; is it in degrees?"),
    "steer_error": (0.02, 0.8, "two readings of one steer angle; is it in degrees?"),
    "gyro_drift": (0.01, 1.0, "bias learnt since RUNNING; is it in deg/s?"),
    "side_force": (0.2, 10.0, "mean lateral acceleration"),
    "torque_error": (0.05, 10.0, "reported against commanded"),
}
RIG_ORDER = (("bus_min", "bus_max"), ("lean_arm", "lean"), ("steer_arm", "steer"), ("check", "check_timeout"))


@dataclass(frozen=True, repr=False)
class Limits:
    """Limits of one rig, with reasons; the defaults suit the emulated bicycle, a real rig states its own."""

    torque: Limit = Limit(7.0, "N m", "what a hand on the bars can still overcome")
    torque_rate: Limit = Limit(500.0, "N m/s", "a kick asks for about 130 N m/s; a broken sensor for far more")
    lean: Limit = Limit(0.52, "rad", "30 deg: the training wheels touch")
    steer: Limit = Limit(0.79, "rad", "45 deg: before the cable stops")
    lean_arm: Limit = Limit(0.09, "rad", "5 deg: a person holds it upright when arming")
    steer_arm: Limit = Limit(0.17, "rad", "10 deg: a person holds it straight when arming")
    speed_min: Limit = Limit(0.3, "m/s", "below it no steer torque can balance a bicycle")
    speed_max: Limit = Limit(10.0, "m/s", "the fastest belt or floor foreseen")
    bus_min: Limit = Limit(20.0, "V", "a six-cell battery is empty below it")
    bus_max: Limit = Limit(30.0, "V", "regeneration must not lift the bus above the drive's rating")
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
        0.15, "rad/s", "learnt since RUNNING: data sheets allow a tenth of it, the rest is for steer"
    )
    side_force: Limit = Limit(3.0, "m/s^2", "mean of a second: a turn leaves none, a wind that leans it by 17 deg this")
    torque_error: Limit = Limit(0.8, "N m", "torque reported against torque commanded, apart from friction")
    seldom: Limit = Limit(0.8, "1", "share of the samples promised; the observer needs most of them")
    broken: Limit = Limit(0.1, "1", "share of broken frames; a good cable has none")
    ramp: Limit = Limit(0.2, "s", "quick enough to stop, slow enough not to jerk the bars")
    check: Limit = Limit(1.0, "s", "the stream must have been alive this long without a gap or an error")
    check_timeout: Limit = Limit(10.0, "s", "a person should not stand waiting for a check that cannot pass")

    def __post_init__(self) -> None:
        for f in fields(self):
            limit = getattr(self, f.name)
            if not (np.isfinite(limit.value) and limit.value > 0):
                raise InputError(
                    f"limit '{f.name}' must be a positive number, found {limit.value!r} {limit.unit}: set it in the rig"
                )
            least, most = SENSIBLE_RANGES.get(f.name, (0.0, np.inf))
            if not least <= limit.value <= most:
                raise InputError(
                    f"limit '{f.name}' must lie between {least:g} and {most:g} {limit.unit}, found {limit.value:g} "
                    f"{limit.unit}: correct it in the rig"
                )
            if not limit.reason.strip():
                raise InputError(
                    f"limit '{f.name}' has no reason: write in the rig why it is {limit.value:g} {limit.unit}"
                )
        if self.speed_min.value >= self.speed_max.value:
            raise InputError(
                f"the speed window is empty: speed_min {self.speed_min.value:g} m/s must lie below "
                f"speed_max {self.speed_max.value:g} m/s"
            )

    def __repr__(self) -> str:
        of_machine = ((name, getattr(self, name)) for name in MACHINE_LIMITS)
        return f"Limits({', '.join(f'{name} {limit.value:g} {limit.unit}' for name, limit in of_machine)}, ...)"

    def as_record(self) -> np.void:
        """Values alone, a record of LIMITS, for the compiled supervisor."""
        record = np.zeros(1, LIMITS)[0]
        for f in fields(self):
            record[f.name] = getattr(self, f.name).value
        return record

    def as_dict(self) -> dict[str, dict[str, float | str]]:
        """For the log's header and the rig file."""
        return {f.name: vars(getattr(self, f.name)).copy() for f in fields(self)}

    @classmethod
    def of_machine(cls, table: dict[str, dict[str, float | str]]) -> "Limits":
        """Limits of a rig file, which must state those that are the machine's own; raises as `from_dict`."""
        missing = [name for name in MACHINE_LIMITS if name not in table]
        if missing:
            raise InputError(
                f"the limits {', '.join(missing)} are missing: each machine has its own, so state each as "
                "[limits.NAME] with a value and a reason"
            )
        limits = cls.from_dict(table)
        limits._require_plausible()
        return limits

    def _require_plausible(self) -> None:
        """Refuse values that no rig can mean, and pairs that contradict each other."""
        for name, (least, most, why) in RIG_RANGES.items():
            limit = getattr(self, name)
            if not least <= limit.value <= most:
                raise InputError(
                    f"limit '{name}' must lie between {least:g} and {most:g} {limit.unit}, found {limit.value:g} "
                    f"{limit.unit} ({why}): correct it in the rig"
                )
        self.require_order()

    def require_order(self, pairs: Sequence[tuple[str, str]] = RIG_ORDER) -> None:
        """Refuse pairs of limits that leave no room between them; raises InputError."""
        for lower, upper in pairs:
            low, high = getattr(self, lower), getattr(self, upper)
            if low.value >= high.value:
                raise InputError(
                    f"limit '{lower}' must lie below '{upper}', found {low.value:g} and {high.value:g} {low.unit}: "
                    "correct them in the rig"
                )

    @classmethod
    def from_dict(cls, table: dict[str, dict[str, float | str]]) -> "Limits":
        """Limits of a rig file; those it leaves out keep their default.

        Raises
        ------
        InputError
            For an unknown limit, or one without value and reason.
        """
        known = {f.name: f.default.unit for f in fields(cls) if isinstance(f.default, Limit)}
        given = {}
        for name, entry in table.items():
            if name not in known:
                raise InputError(f"unknown limit '{name}': the limits are {', '.join(known)}")
            if not isinstance(entry, dict) or not {"value", "reason"} <= entry.keys():
                raise InputError(f"limit '{name}' needs a value in {known[name]} and a reason, found {entry!r}")
            unit = entry.get("unit", known[name])
            if unit != known[name]:
                raise InputError(f"limit '{name}' is in {known[name]}, found '{unit}': convert the value")
            if isinstance(entry["value"], bool):
                raise InputError(f"limit '{name}' needs a number in {known[name]}, found {entry['value']!r}")
            try:
                value = float(entry["value"])
            except (TypeError, ValueError):
                raise InputError(f"limit '{name}' needs a number in {known[name]}, found {entry['value']!r}") from None
            given[name] = Limit(value, known[name], str(entry["reason"]))
        return cls(**given)


LIMITS = np.dtype([(f.name, "f8") for f in fields(Limits)])
