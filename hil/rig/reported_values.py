"""Values reported by devices, and their bounds.

None widens what the rig states. A row stands for one field of `Introduction`; docs/safety.md prints the table, and its
test goes through it with devices that report bad values.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, ROLE_STEER
from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION
from riderless.hil.rig.guard import guard_of_rig
from riderless.hil.rig.on_board import command_kind
from riderless.hil.rig.rig import Rig
from riderless.models.errors import InputError

_ROUNDING = 1e-3  # rad/s or rad: a node tells its limits in whole counts
_WATCHDOG_ROUNDING = 5.01e-4  # s: it tells its time-out in whole milliseconds
_ANY = -1  # every bit
SCALE_RANGES = {  # outside of it no instrument can be meant; the rig's [calibration] goes before what a device reports
    "gyro_lsb": (1e-7, 3e-3, "rad/s", "16 bits reach to 100 rad/s with the largest; is it in deg/s?"),
    "accel_lsb": (1e-6, 1e-2, "m/s^2", "16 bits reach to 33 g with the largest; is it in g?"),
    "steer_counts_per_turn": (100.0, 1e9, "", "fewer make steps of 4 deg and more"),
}


class _ReportedValue(NamedTuple):
    """One value that a device reports: what it is, who reports it, and what bounds it."""

    name: str  # field of `Introduction`
    role: int  # bits of the roles in which it counts
    meaning: str
    bound: str
    require: Callable[[Rig, Introduction, str], None] | None = None  # raises InputError; None: no limit depends on it


def require_bounded(rig: Rig, devices: Sequence[Introduction]) -> None:
    """Refuse devices, one for each port, that report what the rig does not allow; raises InputError."""
    for value in REPORTED_VALUES:
        for port, reported in zip(rig.ports, devices, strict=True):
            counts = port.role & value.role or (value.name == "watchdog" and rig.beats_at(port))
            if value.require is not None and counts:
                value.require(rig, reported, value.name)


def _require_rate(rig: Rig, reported: Introduction, name: str) -> None:
    if reported.rate_hz is not None and reported.rate_hz != round(rig.rate):
        raise InputError(
            f"the device '{reported.name}' samples at {reported.rate_hz} Hz but the rig runs at {rig.rate:g} Hz, and "
            f"readings held in between are not modelled: set the device to {rig.rate:g} Hz, or rate_Hz of [loop] to "
            f"{reported.rate_hz} and design gains with --rate {reported.rate_hz}"
        )


def _require_kind(rig: Rig, reported: Introduction, name: str) -> None:
    if reported.obeys >> command_kind(rig) & 1 == 0 and rig.closed_by == "node":
        raise InputError(
            f"the node of the rig '{rig.name}' closes the loop, and '{reported.name}' has no controller on board: set "
            'closed_by = "computer" in [loop] of the rig, or load firmware that has'
        )
    if reported.obeys >> command_kind(rig) & 1 == 0:
        raise InputError(
            f"the drive of the rig '{rig.name}' obeys a steer {rig.drive_kind}, and '{reported.name}' does not: set "
            "its kind in [drive] of the rig to torque, or take another device"
        )


def _require_watchdog(rig: Rig, reported: Introduction, name: str) -> None:
    shortest, watchdog = 2.0 * rig.dt, reported.watchdog
    if watchdog is None:
        return
    if not watchdog <= rig.watchdog + _WATCHDOG_ROUNDING:
        raise InputError(
            f"the rig '{rig.name}' allows a torque for {1e3 * rig.watchdog:g} ms after the last command (watchdog_s), "
            f"but the drive '{reported.name}' keeps it for {1e3 * watchdog:g} ms: shorten the time-out of the drive, "
            "or take the longer time upon you as watchdog_s of the rig"
        )
    if watchdog < shortest * (1.0 - 1e-9):
        raise InputError(
            f"the drive '{reported.name}' switches itself off {1e3 * watchdog:g} ms after the last command, less than "
            f"two periods at {rig.rate:g} Hz ({1e3 * shortest:g} ms): lengthen its time-out, or raise the rate"
        )


def _require_torque(rig: Rig, reported: Introduction, name: str) -> None:
    allowed, greatest = rig.limits.torque.value, reported.torque_limit
    if rig.drive is None and greatest is not None and not greatest >= allowed:
        raise InputError(
            f"the rig allows {allowed:g} N m but the drive makes no more than {greatest:g} N m: lower the torque limit "
            "in the rig"
        )


def _require_command(rig: Rig, reported: Introduction, name: str) -> None:
    """Refuse a drive that does not reach the greatest rate or angle of the rig."""
    greatest, kind = getattr(reported, name), name.removesuffix("_limit")
    if rig.drive is None or rig.drive_kind != kind or greatest is None:
        return
    allowed = float(rig.limits.as_record(kind)["command"])
    if not greatest >= allowed - _ROUNDING:
        raise InputError(
            f"the rig allows a steer {kind} of {allowed:g} {rig.drive.unit} but the drive obeys no more than "
            f"{greatest:g} {rig.drive.unit}: lower that limit in the rig"
        )


def _require_scale(rig: Rig, reported: Introduction, name: str) -> None:
    """Refuse a scale out of its range, unless the rig states its own."""
    (least, most, unit, why), scale = SCALE_RANGES[name], getattr(reported, name)
    if scale is not None and name not in rig.calibration and not least <= scale <= most:
        raise InputError(
            f"{name} of the device '{reported.name}' should lie between {least:g} and {most:g} {unit}".rstrip()
            + f", found {scale:g} {unit}".rstrip()
            + f" ({why}): correct it in the device, or state the right one in [calibration] of the rig"
        )


def _require_factor(rig: Rig, reported: Introduction, name: str) -> None:
    """Refuse a factor of a drive that is no positive number."""
    factor = getattr(reported, name)
    if not 0.0 < factor < math.inf:
        raise InputError(
            f"the drive '{reported.name}' should have a positive {name}, found {factor:g}: correct the settings "
            "under its [[port]], or those of the drive"
        )


def require_scales(rig: Rig, reported: Introduction) -> None:
    """Refuse a device whose scales cannot be meant, before they are used; raises InputError."""
    for name in SCALE_RANGES:
        _require_scale(rig, reported, name)


def calibrated_by(rig: Rig, imu: Introduction, steer: Introduction) -> Calibration:
    """Calibration of a rig with the scales that its devices report, where it states none itself."""
    scales = {
        "gyro_lsb": imu.gyro_lsb,
        "accel_lsb": imu.accel_lsb,
        "steer_counts_per_turn": steer.steer_counts_per_turn,
    }
    return rig.calibrated(**{name: scale for name, scale in scales.items() if scale is not None})


def _require_guard(rig: Rig, reported: Introduction, name: str) -> None:
    """Refuse a node whose guard keeps another limit than it was told."""
    limit = getattr(reported, name)
    if limit is None:
        return
    limits = guard_of_rig(rig, calibrated_by(rig, reported, reported))
    sent, unit = {
        "steer_limit": (limits.steer * limits.calibration.steer_gear_ratio, "rad"),
        "lean_limit": (limits.lean, "rad"),
        "torque_step": (limits.torque_step, "N m"),
    }[name]
    if not limit <= sent + _ROUNDING:
        raise InputError(
            f"the guard of the node '{reported.name}' was told a {name.replace('_', ' ')} of {sent:.3g} {unit} and "
            f"keeps {limit:.3g} {unit}: load the firmware of this riderless (make flash in "
            "firmware_interface/firmware)"
        )


def _require_flash(rig: Rig, reported: Introduction, name: str) -> None:
    if not reported.flash_good:
        raise InputError(
            f"the program in the flash of '{reported.name}' should have the checksum it was built with, but has "
            "another: load the firmware again (make flash in firmware_interface/firmware)"
        )


def _require_protocol(rig: Rig, reported: Introduction, name: str) -> None:
    if reported.protocol != PROTOCOL_VERSION:
        raise InputError(
            f"the device '{reported.name}' should speak protocol version {PROTOCOL_VERSION}, found version "
            f"{reported.protocol}: load the firmware of this riderless (make flash in firmware_interface/firmware)"
        )


REPORTED_VALUES = (
    _ReportedValue("name", _ANY, "make, model, firmware", "text to be read; nothing is computed of it"),
    _ReportedValue("rate_hz", _ANY, "samples a second", "`rate_Hz` of the rig, exactly", _require_rate),
    _ReportedValue(
        "obeys", ROLE_DRIVE, "kinds of command", "must hold the rig's `kind`, which alone is commanded", _require_kind
    ),
    _ReportedValue(
        "watchdog",
        ROLE_DRIVE,
        "time until the torque is gone",
        "from two periods to `watchdog_s` of the rig; commands expire after the shorter one, and CHECK measures it",
        _require_watchdog,
    ),
    _ReportedValue(
        "torque_limit",
        ROLE_DRIVE,
        "greatest torque",
        "`torque` of the rig or more; the loop commands no more than `torque`",
        _require_torque,
    ),
    _ReportedValue(
        "rate_limit",
        ROLE_DRIVE,
        "greatest steer rate",
        "`steer_rate` of the rig or more; the loop commands no more than `steer_rate`",
        _require_command,
    ),
    _ReportedValue(
        "angle_limit",
        ROLE_DRIVE,
        "greatest steer angle",
        "`steer_command` of the rig or more; the loop commands no more than `steer_command`",
        _require_command,
    ),
    _ReportedValue(
        "gyro_lsb",
        ROLE_IMU,
        "rad/s of a count",
        "1e-7 to 0.003, or `[calibration]` of the rig; lean by the accelerometer must agree (`lean_error`)",
        _require_scale,
    ),
    _ReportedValue(
        "accel_lsb",
        ROLE_IMU,
        "m/s^2 of a count",
        "1e-6 to 0.01, or `[calibration]` of the rig; gravity at rest must come out (`rest_force`)",
        _require_scale,
    ),
    _ReportedValue(
        "steer_counts_per_turn",
        ROLE_STEER,
        "counts of a turn of the encoder",
        "100 to 1e9, or `[calibration]` of the rig; steer by yaw rate must agree (`steer_error`)",
        _require_scale,
    ),
    _ReportedValue(
        "scale",
        ROLE_DRIVE,
        "N m of the unit commanded",
        "made of the settings under the rig's `[[port]]`, by no driver of what its device reports",
        _require_factor,
    ),
    _ReportedValue(
        "unit",
        ROLE_DRIVE,
        "rad/s or rad of the unit commanded",
        "made of the settings under the rig's `[[port]]`, by no driver of what its device reports",
        _require_factor,
    ),
    _ReportedValue(
        "per_amp",
        ROLE_DRIVE,
        "N m of an ampere",
        "an ODrive's torque constant: 0.001 to 5 N m/A, and `torque_constant_Nm_A` of the rig where that is given; the "
        "torque reported must be the one commanded (`torque_error`)",
        _require_factor,
    ),
    _ReportedValue("session", _ANY, "number of the session", "commands of another one count for nothing"),
    _ReportedValue("reset_cause", _ANY, "why the node started last", "text to be read: a brown-out is a weak supply"),
    _ReportedValue("flash_good", _ANY, "its program has its checksum", "true", _require_flash),
    _ReportedValue("serial", _ANY, "number of its processor", "text to be read; it tells several nodes apart"),
    _ReportedValue(
        "steer_limit",
        ROLE_STEER,
        "steer at which the node disarms",
        "`steer` of the rig and 2 deg, which it is told; or less",
        _require_guard,
    ),
    _ReportedValue(
        "lean_limit",
        ROLE_IMU,
        "lean at which the node disarms",
        "`lean` of the rig and 5 deg, which it is told; or less",
        _require_guard,
    ),
    _ReportedValue(
        "torque_step",
        ROLE_DRIVE,
        "change of torque in an instant",
        "1.2 times `torque_rate` of the rig, which it is told; or less",
        _require_guard,
    ),
    _ReportedValue("protocol", _ANY, "version of our node's protocol", f"{PROTOCOL_VERSION}", _require_protocol),
)
