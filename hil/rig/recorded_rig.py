"""Rig in the header of a run.

It is written there, and a rig is made again of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.outside import driver_origin
from riderless.firmware_interface.devices.registry import DEVICES
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import Observer
from riderless.hil.loop.pace.settings import SpeedDrive
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.rig.recorded_values import require_rig_numbers, typed_values
from riderless.hil.rig.rig import Rig, RigPort
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses


@dataclass(frozen=True)
class _Drivers:
    """Origins of drivers from outside as a log tells them: texts by name."""

    of: dict[str, dict[str, str]]


_NUMBERS = ("rate", "drive_lag", "input_delay", "command_delay", "watchdog", "x_imu", "z_imu", "latency_days")
_WORDS = ("name", "clock", "closed_by", "std", "present", "heartbeat")
_PARTS: dict[str, type[Any]] = {  # of some rigs only; runs of before have none
    "drive": InnerLoop,
    "losses": DriveLosses,
    "place": PlaceSettings,
    "speed_drive": SpeedDrive,
}


def rig_to_record(rig: Rig, calibration: Calibration) -> dict[str, Any]:
    """Collect what a header keeps of a rig: its keys and their values.

    Parameters
    ----------
    rig : Rig
    calibration : Calibration
        That the run uses, with what its devices said.
    """
    parts: dict[str, Any] = {"drive": rig.drive, "losses": rig.losses if rig.losses.told else None}
    parts |= {"place": rig.place, "speed_drive": rig.speed_drive, "drivers": _drivers_to_record(rig)}
    return {
        "name": rig.name,
        "ports": rig.ports,
        "clock": rig.clock,
        "closed_by": rig.closed_by,
        **{name: getattr(rig, name) for name in _NUMBERS},
        "std": dict(rig.std),
        **{key: part for key, part in parts.items() if part},
        **({"present": True} if rig.present else {}),
        **({"heartbeat": rig.heartbeat} if rig.heartbeat else {}),
        "rules": rig.rules,
        "stop_time": rig.stop_time,  # for readers
        "observer": vars(rig.observer),
        "limits": rig.limits.as_dict(),
        "calibration": vars(calibration),
    }


def _drivers_to_record(rig: Rig) -> dict[str, Mapping[str, str]]:
    """Origins of the drivers from outside, by name."""
    outside = [port.device for port in rig.ports if port.device not in DEVICES]
    return {name: rig.drivers.get(name) or driver_origin(name)._asdict() for name in outside}


def require_drivers_of(rig: Rig) -> None:
    """Refuse to load drivers from outside that are not those of the run; raises DeviceError."""
    for name, recorded in rig.drivers.items():
        found = driver_origin(name)
        if recorded and recorded.get("sha256") != found.sha256:
            made = " ".join(filter(None, (recorded.get("package"), recorded.get("version"))))
            raise DeviceError(
                f"wanted the driver {name} that the run was made with ({made}, sha256 "
                f"{str(recorded.get('sha256'))[:12]}), found {' '.join(filter(None, found[:2]))} of "
                f"{found.sha256[:12]}, which is another or was changed since: install or name that one"
            )


def rig_of_record(recorded: Mapping[str, Any], bicycle: Bicycle, calibration: Calibration) -> Rig:
    """Make the rig of a run again.

    Parameters
    ----------
    recorded : mapping
        As `rig_to_record` made it; keys that are younger than the run may be missing.
    bicycle : Bicycle
    calibration : Calibration

    Raises
    ------
    InputError, KeyError, TypeError
        It is no rig.
    """
    settings = {key: recorded[key] for key in (*_WORDS, *_NUMBERS) if key in recorded}
    settings["rules"] = recorded.get("rules", 1)
    require_rig_numbers(settings)
    if "ports" in recorded:
        settings["ports"] = tuple(typed_values(RigPort, port) for port in recorded["ports"])
    ports = settings.get("ports", ())
    recorded_drivers = recorded.get("drivers", {})
    drivers = {p.device: recorded_drivers.get(p.device, {}) for p in ports if p.device not in DEVICES}
    settings |= {
        key: typed_values(part, recorded[key]) for key, part in _PARTS.items() if recorded.get(key) is not None
    }
    return Rig(
        bicycle,
        calibration=vars(calibration),
        observer=typed_values(Observer, recorded["observer"]),
        limits=Limits.of_log(recorded["limits"]),
        drivers=typed_values(_Drivers, {"of": drivers}).of,
        **settings,
    )
