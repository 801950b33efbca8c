"""Rig files (TOML), checked key by key.

Units stand in the names of the keys.
"""

import logging
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from riderless.firmware_interface.devices.outside import DRIVER_SUFFIX, name_driver, twin_file
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import Observer
from riderless.hil.loop.pace.settings import SpeedDrive
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.rig.armable import require_time_outs
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.rig.toml_lines import describe_faults, find_key_lines, find_line_named
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.file_format import describe_kind, load_toml, noun_of, require_format
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.parameters import Bicycle
from riderless.models.plant.drive_losses import DriveLosses
from riderless.models.text_file import read_text_file, why_unreadable

_logger = logging.getLogger("riderless.hil")


def read_rig(path: str | Path) -> Rig:
    """Read a rig file.

    Drivers from outside that it names, of a Python file or an installed package, are run: `drivers_of` tells before.

    Raises
    ------
    InputError
        One sentence naming the file and all its faults.
    """
    path = Path(path)
    text = read_rig_text(path)
    lines = find_key_lines(text)
    try:
        table = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"rig file {path} is not valid TOML: {error}; correct that line") from None
    if noun_of(table) not in ("rig", ""):
        raise InputError(
            f"rig file {path}: it is another kind of file, found {describe_kind(table)}: name the file of a rig"
        )
    try:
        require_format(table, "rig", path)
        rig = _RigFile.model_validate(table).build(path.parent)
        require_time_outs(rig)
        _logger.info("read the rig %r from %s", rig.name, path)
        return rig
    except ValidationError as error:
        raise InputError(f"rig file {path}: {describe_faults(error, lines, _RigFile)}") from None
    except (InputError, DeviceError) as error:
        line = lines.get(("bicycle",)) if isinstance(error, _WrongBicycle) else find_line_named(lines, str(error))
        raise InputError(f"rig file {path}{f', line {line}' if line else ''}: {error}") from None


def drivers_of(path: Path) -> list[Path]:
    """Find the Python files of the drivers and twins that a rig file names; none of them is run. Raises InputError."""
    try:
        ports = _several(load_toml(read_rig_text(path)).get("port", ()))
    except tomllib.TOMLDecodeError:
        return []  # which `read_rig` says
    names = [str(port.get("device", "")) for port in ports if isinstance(port, dict)] if isinstance(ports, list) else []
    drivers = [path.parent / name for name in names if name.endswith(DRIVER_SUFFIX)]
    return [file for driver in drivers for file in (driver, twin_file(driver)) if file.is_file()]


def _device_name(device: str, folder: Path) -> str:
    """Name by which a device is known in this process; a file counts from the rig's folder. Raises DeviceError."""
    return name_driver(folder / device) if device.endswith(DRIVER_SUFFIX) else device


def read_rig_text(path: Path) -> str:
    """Read the text of a rig file, whatever stands in it; raises InputError."""
    try:
        return read_text_file(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"no rig file can be read at {path} ({why_unreadable(error)}): give the path of a TOML file"
        ) from None


class _WrongBicycle(InputError):
    """Fault of the bicycle, or of its file; what it names is no key of the rig."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Port(_Strict):
    path: str | None = None
    baud: int = Field(default=921600, gt=0)
    carries: tuple[Literal["imu", "steer", "wheel", "drive", "sensors", "place", "speed"], ...] = ("sensors", "drive")
    device: str = "node"
    settings: dict[str, float] = {}


class _Loop(_Strict):
    rate_Hz: float = Field(default=200.0, gt=10.0, le=2000.0)
    clock: Literal["device", "host"] = "device"
    drive_lag_s: float = Field(default=0.005, ge=1e-4, lt=0.5)
    command_delay_s: float | None = Field(default=None, gt=0.0, lt=0.2)
    closed_by: Literal["computer", "node"] = "computer"
    watchdog_s: float = 0.025  # its range is that of `require_time_outs`
    latency_test_days: float = Field(default=7.0, ge=0.0, le=366.0)
    stop_proof: bool = True
    certificate: str | None = None  # file of `riderless certify`, beside the rig's


class _Drive(_Strict):
    """Command that the steer drive obeys, and the inner loop by which it does."""

    kind: Literal["torque", "rate", "angle"] = "torque"
    bandwidth_rad_per_s: float | None = None
    damping: float | None = None
    input_delay_s: float = Field(default=0.0, ge=0.0, lt=0.1)
    heartbeat: bool | Literal["node"] = False
    gain: float = 1.0
    offset_Nm: float = 0.0
    dead_band_Nm: float = 0.0
    hysteresis_Nm: float = 0.0
    friction_Nm: float = 0.0

    def losses(self) -> DriveLosses:
        """Make what a pull test found of the drive."""
        return DriveLosses(
            gain=self.gain,
            offset=self.offset_Nm,
            dead_band=self.dead_band_Nm,
            hysteresis=self.hysteresis_Nm,
            friction=self.friction_Nm,
        )

    def inner_loop(self) -> InnerLoop | None:
        """Make the inner loop; None for a torque."""
        if self.kind != "torque":
            if self.bandwidth_rad_per_s is None:
                raise InputError(
                    f"a drive of kind {self.kind} wants its bandwidth_rad_per_s in [drive], found none: give that with "
                    "which the steer follows its commands"
                )
            return InnerLoop(kind=self.kind, bandwidth=self.bandwidth_rad_per_s, damping=self.damping)
        for name in ("bandwidth_rad_per_s", "damping"):
            if getattr(self, name) is not None:
                raise InputError(
                    f"a drive of kind torque has a lag (drive_lag_s in [loop]), found {name} in [drive]: leave it out, "
                    'or say kind = "rate" or "angle"'
                )
        return None


class _Imu(_Strict):
    x_m: float = Field(default=0.3, ge=-3.0, le=3.0)  # on a bicycle, or near it
    z_m: float = Field(default=-0.5, ge=-3.0, le=3.0)


class _Place(_Strict):
    """Sensor of place, belt, and what to do without a place."""

    lost: Literal["stop", "balance"] = "stop"
    belt_width_m: float | None = None
    margin_m: float = 0.05
    delay_s: float = 0.0
    gate_m: float = 0.15
    lost_after_s: float = 0.3
    bandwidth_rad_per_s: float = 2.0
    x_m: float = 0.0
    z_m: float = -0.5
    check_days: float = Field(default=7.0, ge=0.0, le=366.0)

    def settings(self) -> PlaceSettings:
        """Values without the units in their names."""
        named = _without_units(self, ("_rad_per_s", "_m", "_s"))
        return PlaceSettings(**{name: value for name, value in named.items() if name != "check_days"})


class _SpeedDrive(_Strict):
    """Loop that keeps the speed by a treadmill."""

    kp: float = 0.3
    ki_per_s: float = 0.5
    trim_m_per_s: float = 0.5
    ramp_m_per_s2: float = 1.0
    stop_m_per_s2: float = 1.0
    lag_s: float = 0.3
    follow_error_m_per_s: float = 0.4
    follow_time_s: float = 0.5
    lost_after_s: float = 0.5

    def settings(self) -> SpeedDrive:
        """Values without the units in their names."""
        return SpeedDrive(**_without_units(self, ("_m_per_s2", "_m_per_s", "_per_s", "_s")))


class _Operator(_Strict):
    """Demands on the person who runs the machine."""

    present: bool = False


class _Std(_Strict):
    """Standard deviations of what is known of the machine around the bicycle; the names as in the analysis."""

    speed_scale: float = Field(default=0.0, ge=0.0, lt=1.0)
    drive_gain: float = Field(default=0.0, ge=0.0, lt=1.0)
    more_delay_s: float = Field(default=0.0, ge=0.0, lt=0.1)
    steer_damping_Nms_per_rad: float = Field(default=0.0, ge=0.0)
    steer_stiffness_Nm_per_rad: float = Field(default=0.0, ge=0.0)
    steer_inertia_kgm2: float = Field(default=0.0, ge=0.0)
    imu_pitch_deg: float | None = Field(default=None, ge=0.0, lt=10.0)  # None: what a calibration leaves

    def quantities(self) -> dict[str, float]:
        """Those that are not zero, SI, without the units in their names; of the sensor's pitch also a zero."""
        named = _without_units(self, ("_Nms_per_rad", "_Nm_per_rad", "_kgm2", "_s"))
        pitch = named.pop("imu_pitch_deg")
        known = {name: x for name, x in named.items() if x > 0.0}
        return known if pitch is None else {**known, "imu_pitch": math.radians(pitch)}


def _without_units(table: _Strict, units: tuple[str, ...]) -> dict[str, Any]:
    """Values of a table by the names of its keys without the units they end in, of which longer ones come first."""
    return {next((k.removesuffix(u) for u in units if k.endswith(u)), k): x for k, x in vars(table).items()}


def _several(ports: Any) -> Any:
    """One [port] is a list of one."""
    return [ports] if isinstance(ports, dict) else ports


class _RigFile(_Strict):
    """Keys of the TOML file; units stand in the names."""

    format: str = ""  # checked before the rest
    name: str
    bicycle: str
    port: Annotated[tuple[_Port, ...], BeforeValidator(_several)] = (_Port(),)
    loop: _Loop = _Loop()
    drive: _Drive = _Drive()
    imu: _Imu = _Imu()
    place: _Place | None = None
    speed_drive: _SpeedDrive | None = None
    observer: dict[str, float] = {}
    calibration: dict[str, Any] = {}
    limits: dict[str, dict[str, Any]] = {}
    std: _Std = _Std()
    operator: _Operator = _Operator()

    def _bicycle(self, folder: Path) -> Bicycle:
        """Load the bicycle; its own file is sought in the rig's folder first."""
        beside = folder / self.bicycle
        own_file = self.bicycle.endswith(catalogue.BICYCLE_SUFFIX) and beside.is_file()
        try:
            return catalogue.load_bicycle(str(beside) if own_file else self.bicycle)
        except InputError as error:
            raise _WrongBicycle(f"bicycle: {error}") from None

    def build(self, folder: Path) -> Rig:
        """Make the rig of a file in ``folder``."""
        # a height written as positive; old logs, which may have one, still read
        for table, sensor in (("imu", self.imu), ("place", self.place)):
            if sensor and sensor.z_m > 0.0:
                raise InputError(
                    f"{table}.z_m = {sensor.z_m:g} m is below the ground: z points down, so write z_m = {-sensor.z_m:g}"
                )
        try:
            observer = Observer(**self.observer)
        except TypeError:
            known = ", ".join(vars(Observer()))
            raise InputError(
                f"unknown observer setting among {sorted(self.observer)}: the settings are {known}"
            ) from None
        ports = tuple(RigPort(**vars(p)) for p in self.port)
        return Rig(
            bicycle=self._bicycle(folder),
            name=self.name,
            ports=tuple(replace(port, device=_device_name(port.device, folder)) for port in ports),
            clock=self.loop.clock,
            rate=self.loop.rate_Hz,
            drive=self.drive.inner_loop(),
            drive_lag=self.loop.drive_lag_s,
            input_delay=self.drive.input_delay_s,
            heartbeat=self.drive.heartbeat,
            losses=self.drive.losses(),
            command_delay=self.loop.command_delay_s,
            watchdog=self.loop.watchdog_s,
            closed_by=self.loop.closed_by,
            x_imu=self.imu.x_m,
            z_imu=self.imu.z_m,
            calibration=self.calibration,
            observer=observer,
            place=self.place.settings() if self.place else None,
            speed_drive=self.speed_drive.settings() if self.speed_drive else None,
            limits=Limits.of_machine(self.limits, self.drive.kind),
            place_days=self.place.check_days if self.place else 0.0,
            stop_proof=self.loop.stop_proof,
            latency_days=self.loop.latency_test_days,
            certificate=None if self.loop.certificate is None else str(folder / self.loop.certificate),
            std=self.std.quantities(),
            present=self.operator.present,
        )
