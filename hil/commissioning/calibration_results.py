"""Results of a calibration, written into the rig.

Values have their errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.link import ROLE_DRIVE
from riderless.firmware_interface.devices.registry import device
from riderless.hil.commissioning.sensor_calibration import Estimate, rotation_angle
from riderless.hil.rig.rig import Rig

TORQUE_CONSTANT_KEY = "torque_constant_Nm_A"  # setting, in the rig file, of a drive that is commanded in amperes
SIGNIFICANT_ERRORS = 2.0  # standard errors by which a value must differ from the old one to replace it
# Repeatability of hands, eyes and tapes, in the unit of the key: a value must differ by more than this, besides.
REPEATABILITY = {
    "gyro_offset": 1e-3,
    "mounting": math.radians(0.3),
    "steer_offset": 2e-3,
    "wheel_radius": 5e-4,
    TORQUE_CONSTANT_KEY: 0.01,  # of the constant
}
_WIDE_RANGES = dict.fromkeys(("max_rate", "max_acceleration", "max_steer", "max_speed"), 1e6)


@dataclass(frozen=True, kw_only=True)
class _CalibrationChange:
    """Proposed change of one value of the rig file."""

    table: str
    key: str
    old: Any
    new: Any
    error: float  # one standard error, of the worst component
    unit: str


@dataclass
class Notes:
    """Notebook of a calibration: everything measured, and the changes of the rig file that follow from it.

    Attributes
    ----------
    rig : Rig
        As the file says, with what has been found.
    measured : mapping of name to (Estimate, unit)
        Everything measured, whether it goes into the rig file or not.
    changes : mapping of (table, key) to _CalibrationChange
    torque_limit : float or None
        N m, as the drive said, before its torque was measured.
    """

    rig: Rig
    measured: dict[str, tuple[Estimate, str]] = field(default_factory=dict)
    changes: dict[tuple[str, str], _CalibrationChange] = field(default_factory=dict)
    torque_limit: float | None = None

    def meet(self, devices: Sequence[Introduction]) -> None:
        """Note the torque limit that the drive said of itself."""
        drive = next(device for port, device in zip(self.rig.ports, devices, strict=True) if port.role & ROLE_DRIVE)
        self.torque_limit = drive.torque_limit

    def sensing(self) -> Rig:
        """Rig with wide ranges of the sensors: a zero that is far off must not make its readings implausible."""
        return replace(self.rig, calibration={**self.rig.calibration, **_WIDE_RANGES})

    def measure(self, name: str, value: Any, error: Any, unit: str) -> None:
        """Note a measured value, whether or not the rig file has a place for it.

        Parameters
        ----------
        name : str
        value : float or array
            In ``unit``.
        error : float or array
            One standard error of each component, in ``unit``.
        unit : str
        """
        self.measured[name] = (Estimate(value, error), unit)

    def calibrate(self, key: str, value: Any, error: Any, unit: str) -> bool:
        """Note a value of ``[calibration]`` and change the rig where it differs from the one before.

        Parameters
        ----------
        key : str
            Name in ``[calibration]``.
        value : number or nested list
            In ``unit``.
        error : float or list
            One standard error of each component, in ``unit``; signs have none.
        unit : str

        Returns
        -------
        bool
            Whether it differs.
        """
        self.measure(key, value, error, unit)
        old = getattr(self.rig.calibrated(), key)
        worst = float(np.max(np.abs(error))) if key not in ("steer_sign", "wheel_sign", "torque_sign") else 0.0
        if not _differs(key, old, value, worst):
            return False
        new = _rounded(key, value, worst)
        self.changes["calibration", key] = _CalibrationChange(
            table="calibration", key=key, old=old, new=new, error=worst, unit=unit
        )
        self.rig = replace(self.rig, calibration={**self.rig.calibration, key: new})
        return True

    def correct_torque(self, gain: float, error: float) -> bool | None:
        """Correct the drive's torque constant; returns whether it changes, None if the drive has no such setting.

        ``gain`` is the torque made per torque asked for, with its standard error.

        Only drives that are commanded in amperes have the setting; others know their motor themselves.
        """
        at = next(i for i, port in enumerate(self.rig.ports) if port.role & ROLE_DRIVE)
        port = self.rig.ports[at]
        if TORQUE_CONSTANT_KEY not in device(port.device).settings:
            return None
        old = float(port.settings[TORQUE_CONSTANT_KEY])
        if abs(gain - 1.0) <= max(SIGNIFICANT_ERRORS * error, REPEATABILITY[TORQUE_CONSTANT_KEY]):
            return False
        new = _rounded(TORQUE_CONSTANT_KEY, gain * old, error * old)
        table = f"port.{at}.settings"
        self.changes[table, TORQUE_CONSTANT_KEY] = _CalibrationChange(
            table=table, key=TORQUE_CONSTANT_KEY, old=old, new=new, error=error * old, unit="N m/A"
        )
        ports = list(self.rig.ports)
        ports[at] = replace(port, settings={**port.settings, TORQUE_CONSTANT_KEY: new})
        self.rig = replace(self.rig, ports=tuple(ports))
        return True


def _differs(key: str, old: Any, new: Any, error: float) -> bool:
    """Tell whether a value differs from the old one by more than its error and its repeatability."""
    if key == "mounting":
        by = rotation_angle(np.array(new) @ np.array(old).T)
    else:
        by = float(np.max(np.abs(np.subtract(new, old))))
    return by > max(SIGNIFICANT_ERRORS * error, REPEATABILITY.get(key, 0.0))


def _rounded(key: str, value: Any, error: float) -> Any:
    """Round to two digits of the error, as a rig file should show it; a rotation matrix remains one."""
    if isinstance(value, int):
        return value
    digits = 8 if key == "mounting" else min(8, max(0, 1 - math.floor(math.log10(error)))) if error > 0.0 else 8
    rounded = np.round(value, digits) + 0.0  # no minus zero
    return rounded.tolist() if np.ndim(rounded) else float(rounded)
