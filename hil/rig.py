"""A wired machine: which bicycle, port, rates, instrument places and limits. One TOML file each."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from firmware_interface.calibration import Calibration
from hil.estimator import Observer
from hil.limits import Limits
from models import catalogue
from models.errors import InputError
from models.parameters import Bicycle

SENSORS, DRIVE = 1, 2  # bits of what a device carries
CARRIES = {"sensors": SENSORS, "drive": DRIVE}


@dataclass(frozen=True)
class Port:
    """One serial port and what the device behind it carries."""

    path: str | None = None
    baud: int = 921600
    carries: tuple[str, ...] = ("sensors", "drive")

    @property
    def role(self) -> int:
        """SENSORS, DRIVE or both."""
        return sum(CARRIES[name] for name in self.carries)


@dataclass(frozen=True)
class Rig:
    """Everything the loop must know of a machine. The defaults are the emulated one.

    ``clock`` says who beats time: "device" ticks when a sample arrives, "host" on the computer's
    own clock. Either way a command takes effect at the device's next sampling instant, one sample
    after the measurement it answers.
    """

    bicycle: Bicycle
    name: str = "emulated"
    ports: tuple[Port, ...] = (Port(),)
    clock: Literal["device", "host"] = "device"
    rate: float = 200.0  # Hz
    drive_lag: float = 0.005  # s
    watchdog: float = 0.025  # s, the drive's own time-out; 3 to 5 periods
    x_imu: float = 0.3  # m, on the rear frame, forward of the rear contact
    z_imu: float = -0.5  # m, negative above ground
    calibration: Mapping[str, Any] = field(default_factory=dict)  # keys of Calibration that this machine sets
    observer: Observer = field(default_factory=Observer)
    limits: Limits = field(default_factory=Limits)
    latency_days: float = 0.0  # oldest latency test that vouches for the computer; 0: none is asked for

    def __post_init__(self) -> None:
        carried = [name for port in self.ports for name in port.carries]
        if sorted(carried) != sorted(CARRIES):
            raise InputError(
                "the ports of a rig must carry 'sensors' and 'drive' once each, together or apart, "
                f"found {carried}: say in each [[port]] what it carries"
            )

    @property
    def roles(self) -> list[int]:
        """What each port's device carries."""
        return [port.role for port in self.ports]

    @property
    def dt(self) -> float:
        """Nominal period of the loop [s]."""
        return 1.0 / self.rate

    def calibrated(self, **scales: float) -> Calibration:
        """Counts to SI for this machine; ``scales`` are what the device says of itself.

        Raises
        ------
        InputError
            For a calibration key that does not exist.
        """
        try:
            return Calibration(**{"wheel_radius": self.bicycle.rR, **scales, **self.calibration})
        except TypeError:
            known = ", ".join(f.name for f in fields(Calibration))
            raise InputError(
                f"unknown calibration key among {sorted(self.calibration)}: the keys are {known}"
            ) from None

    @classmethod
    def from_toml(cls, path: Path) -> "Rig":
        """Read a rig file.

        Raises
        ------
        InputError
            One sentence naming the file and all its faults.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"no rig file can be read at {path} ({error.strerror}): give the path of a TOML file"
            ) from None
        try:
            given = _RigFile.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"rig file {path} is not valid TOML: {error}; correct that line") from None
        except ValidationError as error:
            raise InputError(f"rig file {path}: {_sentence(error)}") from None
        return given.build()


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Port(_Strict):
    path: str | None = None
    baud: int = Field(default=921600, gt=0)
    carries: tuple[Literal["sensors", "drive"], ...] = ("sensors", "drive")


class _Loop(_Strict):
    rate_Hz: float = Field(default=200.0, gt=10.0, le=2000.0)
    clock: Literal["device", "host"] = "device"
    drive_lag_s: float = Field(default=0.005, ge=1e-4, lt=0.5)
    watchdog_s: float = Field(default=0.025, gt=0.0, lt=1.0)
    latency_test_days: float = Field(default=7.0, ge=0.0, le=366.0)


class _Imu(_Strict):
    x_m: float = 0.3
    z_m: float = -0.5


def _several(ports: Any) -> Any:
    """One [port] is a list of one."""
    return [ports] if isinstance(ports, dict) else ports


class _RigFile(_Strict):
    """The TOML file, key by key; units stand in the names."""

    name: str
    bicycle: str
    port: Annotated[tuple[_Port, ...], BeforeValidator(_several)] = (_Port(),)
    loop: _Loop = _Loop()
    imu: _Imu = _Imu()
    observer: dict[str, float] = {}
    calibration: dict[str, Any] = {}
    limits: dict[str, dict[str, Any]] = {}

    def build(self) -> Rig:
        try:
            observer = Observer(**self.observer)
        except TypeError:
            known = ", ".join(vars(Observer()))
            raise InputError(
                f"unknown observer setting among {sorted(self.observer)}: the settings are {known}"
            ) from None
        return Rig(
            bicycle=catalogue.load(self.bicycle),
            name=self.name,
            ports=tuple(Port(p.path, p.baud, p.carries) for p in self.port),
            clock=self.loop.clock,
            rate=self.loop.rate_Hz,
            drive_lag=self.loop.drive_lag_s,
            watchdog=self.loop.watchdog_s,
            x_imu=self.imu.x_m,
            z_imu=self.imu.z_m,
            calibration=self.calibration,
            observer=observer,
            limits=Limits.from_dict(self.limits),
            latency_days=self.loop.latency_test_days,
        )


def _sentence(error: ValidationError) -> str:
    """All faults of a file in one sentence."""
    faults = [
        f"{'.'.join(str(p) for p in e['loc'])}: {e['msg'].lower()} (found {e['input']!r})" for e in error.errors()
    ]
    return "; ".join(faults) + "; correct these keys"
