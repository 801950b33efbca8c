"""What a calibration has found so far: values with their errors, and the rig as it would be with them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from firmware_interface.devices.driver import Introduction
from firmware_interface.devices.link import ROLE_DRIVE
from firmware_interface.devices.registry import device
from hil.commissioning.sensor_calibration import Estimate, angle_of
from hil.rig.rig import Rig

CONSTANT = "torque_constant_Nm_A"  # the setting of a drive that knows its motor from the rig file
TIMES = 2.0  # standard errors by which a value must differ from the old one to replace it
# By how much a value must differ, besides: what hands, eyes and tapes repeat, in the unit of the key.
REPEATS = {
    "gyro_offset": 1e-3,
    "mounting": math.radians(0.3),
    "steer_offset": 2e-3,
    "wheel_radius": 5e-4,
    CONSTANT: 0.01,  # of the constant
}
_WIDE = dict.fromkeys(("max_rate", "max_acceleration", "max_steer", "max_speed"), 1e6)


@dataclass(frozen=True)
class CalibrationChange:
    """A value of the rig file that is to be another."""

    table: str
    key: str
    old: Any
    new: Any
    error: float  # one standard error, of the worst component
    unit: str


@dataclass
class Notes:
    """The notebook of a calibration.

    Attributes
    ----------
    rig : Rig
        As the file says, with what has been found.
    measured : mapping of name to (Estimate, unit)
        Everything measured, whether it goes into the rig file or not.
    changes : mapping of (table, key) to Change
    """

    rig: Rig
    measured: dict[str, tuple[Estimate, str]] = field(default_factory=dict)
    changes: dict[tuple[str, str], CalibrationChange] = field(default_factory=dict)
    torque_limit: float | None = None  # N m, as the drive said, before its torque was measured

    def meet(self, devices: Sequence[Introduction]) -> None:
        """Note what the devices said of themselves."""
        drive = next(said for port, said in zip(self.rig.ports, devices, strict=True) if port.role & ROLE_DRIVE)
        self.torque_limit = drive.torque_limit

    def sensing(self) -> Rig:
        """The rig with readings taken as they come: a zero that is far off must not make them implausible."""
        return replace(self.rig, calibration={**self.rig.calibration, **_WIDE})

    def measure(self, name: str, value: Any, error: Any, unit: str) -> None:
        """Note a value that the rig file has no place for."""
        self.measured[name] = (Estimate(value, error), unit)

    def calibrate(self, key: str, value: Any, error: Any, unit: str) -> bool:
        """Note a value of ``[calibration]``; returns whether it differs from the one before."""
        self.measure(key, value, error, unit)
        old = getattr(self.rig.calibrated(), key)
        worst = float(np.max(np.abs(error))) if key not in ("steer_sign", "wheel_sign", "torque_sign") else 0.0
        if not _differs(key, old, value, worst):
            return False
        new = _rounded(key, value, worst)
        self.changes["calibration", key] = CalibrationChange("calibration", key, old, new, worst, unit)
        self.rig = replace(self.rig, calibration={**self.rig.calibration, key: new})
        return True

    def correct_torque(self, gain: float, error: float) -> bool | None:
        """Note the torque made per torque asked for; returns whether the drive's setting changes, None if it has none.

        The setting stands in the rig file for drives that are commanded in amperes; others know their
        motor themselves.
        """
        at = next(i for i, port in enumerate(self.rig.ports) if port.role & ROLE_DRIVE)
        port = self.rig.ports[at]
        if CONSTANT not in device(port.device).settings:
            return None
        old = float(port.settings[CONSTANT])
        if abs(gain - 1.0) <= max(TIMES * error, REPEATS[CONSTANT]):
            return False
        new = _rounded(CONSTANT, gain * old, error * old)
        table = f"port.{at}.settings"
        self.changes[table, CONSTANT] = CalibrationChange(table, CONSTANT, old, new, error * old, "N m/A")
        ports = list(self.rig.ports)
        ports[at] = replace(port, settings={**port.settings, CONSTANT: new})
        self.rig = replace(self.rig, ports=tuple(ports))
        return True


def _differs(key: str, old: Any, new: Any, error: float) -> bool:
    """Whether a value is another, beyond its error and what can be repeated."""
    if key == "mounting":
        by = angle_of(np.array(new) @ np.array(old).T)
    else:
        by = float(np.max(np.abs(np.subtract(new, old))))
    return by > max(TIMES * error, REPEATS.get(key, 0.0))


def _rounded(key: str, value: Any, error: float) -> Any:
    """As a rig file should show it: two digits of the error, and a rotation that remains one."""
    if isinstance(value, int):
        return value
    digits = 8 if key == "mounting" else min(8, max(0, 1 - math.floor(math.log10(error)))) if error > 0.0 else 8
    rounded = np.round(value, digits) + 0.0  # no minus zero
    return rounded.tolist() if np.ndim(rounded) else float(rounded)
