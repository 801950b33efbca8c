"""Headers and stop records that no run ever had: each log is a good one with these values in its header."""

from dataclasses import replace
from typing import Any

from tests.experiments.hostile_files.log_parts import GONE, LogParts

HUGE = 10**400  # an integer that no float holds
LONG = int("9" * 4000)
NAN, INFINITY = float("nan"), float("inf")


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    out: Any = 0
    for _ in range(depth):
        out = [out]
    return out


# values of one key each: what is wrong -> (path, value)
ONE_VALUE: dict[str, tuple[str, Any]] = {
    "schema is a text": ("schema", "1"),
    "schema is a list": ("schema", [1]),
    "schema is nan": ("schema", NAN),
    "schema is far ahead": ("schema", LONG),
    "schema is before the first": ("schema", -5),
    "schema is true": ("schema", True),
    "runner is a table": ("runner", {"a": 1}),
    "label is a list": ("label", [1, 2]),
    "label is long": ("label", "long " * 50_000),
    "label has control characters": ("label", "\x1b[2J\x07\x00[/red]"),
    "label is a lone surrogate": ("label", "\ud800"),
    "no controller": ("controller", GONE),
    "controller is a number": ("controller", 3),
    "controller is a table": ("controller", {}),
    "excitation is a text": ("excitation", "sweep"),
    "excitation is a list": ("excitation", [1]),
    "excitation of no kind": ("excitation.kind", "earthquake"),
    "excitation kind is a list": ("excitation.kind", ["sweep"]),
    "excitation amplitude is a text": ("excitation.amplitude", "7"),
    "excitation amplitude is nan": ("excitation.amplitude", NAN),
    "excitation amplitude is nothing": ("excitation.amplitude", None),
    "excitation for ever": ("excitation.duration", 1e12),
    "excitation infinitely long": ("excitation.duration", INFINITY),
    "excitation delayed for ever": ("excitation.delay", 1e12),
    "excitation has an unknown key": ("excitation.colour", "red"),
    "excitation releases is a number": ("excitation.releases", 3),
    "excitation releases of texts": ("excitation.releases", [["a", "b"]]),
    "excitation releases of one number": ("excitation.releases", [[1.0]]),
    "excitation releases far away": ("excitation.releases", [[1e12, 1e12]]),
    "excitation periods is a text": ("excitation.periods", "two"),
    "excitation seed is huge": ("excitation.seed", LONG),
    "scenario is a list": ("scenario", [1, 2]),
    "scenario is a text": ("scenario", "fast"),
    "scenario x0 is a text": ("scenario.x0", "upright"),
    "scenario x0 of texts": ("scenario.x0", ["a"]),
    "scenario x0 is nothing": ("scenario.x0", None),
    "scenario x0 is a number": ("scenario.x0", 1.0),
    "emulation is a number": ("emulation", 1),
    "condition is a list": ("condition", ["a"]),
    "condition name is a table": ("condition", {"name": {"a": 1}, "protocol": [], "repeat": "x"}),
    "ports is a number": ("ports", 5),
    "ports of numbers": ("ports", [1, 2]),
    "devices is a number": ("devices", 7),
    "devices of texts": ("devices", ["node"]),
    "devices without a name": ("devices", [{}]),
    "devices too many": ("devices", [{"name": "node", "rate_hz": 200}] * 4),
    "devices with a text for a rate": ("devices", [{"name": "node", "rate_hz": "fast"}]),
    "devices with a text for a scale": ("devices", [{"name": "node", "scale": "big"}]),
    "devices none": ("devices", []),
    "provenance is a text": ("provenance", "mine"),
    "provenance packages is a list": ("provenance.packages", ["riderless"]),
    "provenance packages is nothing": ("provenance.packages", None),
    "provenance git is a text": ("provenance.git", "abc"),
    "provenance version is a table": ("provenance.packages", {"riderless": {"a": [1]}}),
    "no rig": ("rig", GONE),
    "rig is a text": ("rig", "mine"),
    "rig is nothing": ("rig", None),
    "rig is a list": ("rig", [1]),
    "rig name is a list": ("rig.name", ["a"]),
    "rig clock is unknown": ("rig.clock", "sundial"),
    "rig rate is a text": ("rig.rate", "200"),
    "rig rate is zero": ("rig.rate", 0),
    "rig rate is negative": ("rig.rate", -200.0),
    "rig rate is nan": ("rig.rate", NAN),
    "rig rate is infinite": ("rig.rate", INFINITY),
    "rig rate is tiny": ("rig.rate", 1e-300),
    "rig rate is huge": ("rig.rate", 1e12),
    "rig rate has 400 digits": ("rig.rate", HUGE),
    "rig rate is a list": ("rig.rate", [200.0]),
    "rig rate is true": ("rig.rate", True),
    "rig drive lag is negative": ("rig.drive_lag", -1.0),
    "rig drive lag is hours": ("rig.drive_lag", 1e9),
    "rig drive lag is a text": ("rig.drive_lag", "slow"),
    "rig drive lag is nan": ("rig.drive_lag", NAN),
    "rig command delay is a text": ("rig.command_delay", "late"),
    "rig command delay is nan": ("rig.command_delay", NAN),
    "rig watchdog is nan": ("rig.watchdog", NAN),
    "rig watchdog is a text": ("rig.watchdog", "dog"),
    "rig watchdog is huge": ("rig.watchdog", 1e30),
    "rig watchdog is negative": ("rig.watchdog", -1.0),
    "rig imu is nan": ("rig.x_imu", NAN),
    "rig imu is a text": ("rig.z_imu", "below"),
    "rig std is a list": ("rig.std", [0.1]),
    "rig std of a text": ("rig.std", {"drive_gain": "small"}),
    "rig std of nothing known": ("rig.std", {"colour": 1.0}),
    "rig std is negative": ("rig.std", {"drive_gain": -0.5}),
    "rig std is nan": ("rig.std", {"drive_gain": NAN}),
    "rig ports is empty": ("rig.ports", []),
    "rig ports is a number": ("rig.ports", 1),
    "rig ports of texts": ("rig.ports", ["node"]),
    "rig ports carry a text": ("rig.ports.0.carries", "drive"),
    "rig ports carry what nobody knows": ("rig.ports.0.carries", ["smell"]),
    "rig ports carry numbers": ("rig.ports.0.carries", [1, 2]),
    "rig ports of an unknown device": ("rig.ports.0.device", "arduino"),
    "rig ports with a number for a device": ("rig.ports.0.device", 3),
    "rig ports with a list for a device": ("rig.ports.0.device", ["node"]),
    "rig ports with a path of ours": ("rig.ports.0.path", "../../../../etc/passwd"),
    "rig ports at no baud": ("rig.ports.0.baud", 0),
    "rig ports with a text for baud": ("rig.ports.0.baud", "fast"),
    "rig ports with settings in a list": ("rig.ports.0.settings", [1]),
    "rig ports with unknown settings": ("rig.ports.0.settings", {"gain": 1.0}),
    "rig observer is a list": ("rig.observer", [1]),
    "rig observer of a text": ("rig.observer.lean_bandwidth", "wide"),
    "rig observer of nan": ("rig.observer.lean_bandwidth", NAN),
    "rig observer of 400 digits": ("rig.observer.lean_bandwidth", HUGE),
    "rig observer has an unknown key": ("rig.observer.colour", 1.0),
    "rig limits is a list": ("rig.limits", [1]),
    "rig limits of a text": ("rig.limits.torque", "seven"),
    "rig limits unknown": ("rig.limits.colour", {"value": 1, "unit": "1", "reason": "x"}),
    "rig limits of 400 digits": ("rig.limits.torque.value", HUGE),
    "rig limits of nan": ("rig.limits.torque.value", NAN),
    "rig calibration is a text": ("rig.calibration", "good"),
    "rig calibration of a text": ("rig.calibration.gyro_lsb", "small"),
    "rig calibration of nan": ("rig.calibration.gyro_lsb", NAN),
    "rig calibration of 400 digits": ("rig.calibration.gyro_lsb", HUGE),
    "rig calibration of a flat mounting": ("rig.calibration.mounting", [1.0, 0.0]),
    "rig calibration of a text for mounting": ("rig.calibration.mounting", "flat"),
    "rig calibration of an offset of texts": ("rig.calibration.gyro_offset", ["a", "b", "c"]),
    "rig calibration sign of a half": ("rig.calibration.steer_sign", 0.5),
    "rig calibration deep": ("rig.calibration.mounting", nested(60)),
    "no bicycle": ("bicycle", GONE),
    "bicycle is a name": ("bicycle", "Silver"),
    "bicycle is a list": ("bicycle", [1]),
    "bicycle has an unknown key": ("bicycle.colour", "red"),
    "bicycle lacks its wheelbase": ("bicycle.w", GONE),
    "bicycle wheelbase is a text": ("bicycle.w", "1.01"),
    "bicycle wheelbase is nan": ("bicycle.w", NAN),
    "bicycle wheelbase has 400 digits": ("bicycle.w", HUGE),
    "bicycle wheelbase is zero": ("bicycle.w", 0.0),
    "bicycle wheelbase is a list": ("bicycle.w", [1.01]),
    "bicycle name is a list": ("bicycle.name", ["Silver"]),
    "bicycle name is a number": ("bicycle.name", 3),
    "bicycle std is a list": ("bicycle.std", [0.1]),
    "bicycle std of a text": ("bicycle.std", {"w": "small"}),
    "bicycle missing is a number": ("bicycle.missing", 4),
    "bicycle note is a table": ("bicycle.note", {"a": 1}),
    "no schedule": ("schedule", GONE),
    "schedule is a number": ("schedule", 5),
    "schedule is a list": ("schedule", ["a"]),
    "schedule is nothing": ("schedule", None),
    "schedule is empty": ("schedule", ""),
    "schedule is a path": ("schedule", "/etc/passwd"),
    "schedule is a device": ("schedule", "/dev/zero"),
    "schedule is a path with a zero": ("schedule", "a\x00b"),
    "schedule is words": ("schedule", "no more\nthan words"),
    "schedule is deep": ("schedule", "format = 'riderless gain schedule 1'\na = " + "[" * 5000 + "]" * 5000),
    "schedule with 5000 digits": ("schedule", "format = 'riderless gain schedule 1'\na = " + "9" * 5000),
}

# several values at once
SEVERAL: dict[str, tuple[tuple[str, Any], ...]] = {
    "sweep for a week": (
        ("excitation.kind", "sweep"),
        ("excitation.amplitude", 1.0),
        ("excitation.duration", 6e8),
        ("excitation.f_high", 5.0),
    ),
    "multisine of a billion periods": (
        ("excitation.kind", "multisine"),
        ("excitation.amplitude", 1.0),
        ("excitation.duration", 60.0),
        ("excitation.periods", 10**9),
    ),
    "sweep beyond the rate": (
        ("excitation.kind", "sweep"),
        ("excitation.amplitude", 1.0),
        ("excitation.duration", 60.0),
        ("excitation.f_high", 1e9),
    ),
    "schema ahead and provenance of numbers": (("schema", LONG), ("provenance", {"git": 3.0, "packages": 4.0})),
    "nothing but a label": tuple((key, GONE) for key in ("rig", "bicycle", "schedule", "controller", "provenance")),
}

# values of the stop record
STOPS: dict[str, tuple[str, Any]] = {
    "stop reason is a list": ("reason", ["success"]),
    "stop reason is nothing": ("reason", None),
    "stop cause is a table": ("cause", {"a": 1}),
    "stop rows is a text": ("rows", "many"),
    "stop rows has 4000 digits": ("rows", LONG),
    "stop dropped is a list": ("dropped", [1]),
    "stop utc is a number": ("utc", 5),
}

# texts in place of the header
TEXTS: dict[str, str] = {
    "header is a list": "[]",
    "header is a number": "7",
    "header is nothing": "null",
    "header is empty": "",
    "header is words": "no more than words",
    "header is deep": '{"schema": 1, "rig": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "header has 5000 digits": '{"schema": 1, "a": ' + "9" * 5000 + "}",
    "header is an empty object": "{}",
}


def hostile_headers(good: LogParts) -> dict[str, bytes]:
    """Logs by what is wrong with them."""
    logs = {name: good.with_header(change).log() for name, change in ONE_VALUE.items()}
    logs |= {name: good.with_header(*changes).log() for name, changes in SEVERAL.items()}
    logs |= {name: good.with_stop(change).log() for name, change in STOPS.items()}
    logs |= {name: replace(good, header=words).log() for name, words in TEXTS.items()}
    return logs
