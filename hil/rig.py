"""A wired machine: which bicycle, port, rates, instrument places and limits. One TOML file each."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from firmware_interface.calibration import Calibration
from hil.estimator import Observer
from hil.limits import Limits
from models import catalogue
from models.errors import InputError
from models.parameters import Bicycle


@dataclass(frozen=True)
class Rig:
    """Everything the loop must know of a machine. The defaults are the emulated one.

    ``clock`` says who beats time: "device" ticks when a sample arrives, "host" on the computer's
    own clock. Either way a command takes effect at the device's next sampling instant, one sample
    after the measurement it answers.
    """

    bicycle: Bicycle
    name: str = "emulated"
    port: str | None = None
    baud: int = 921600
    clock: Literal["device", "host"] = "device"
    rate: float = 200.0  # Hz
    drive_lag: float = 0.005  # s
    watchdog: float = 0.025  # s, the drive's own time-out; 3 to 5 periods
    x_imu: float = 0.3  # m, on the rear frame, forward of the rear contact
    z_imu: float = -0.5  # m, negative above ground
    calibration: Mapping[str, Any] = field(default_factory=dict)  # keys of Calibration that this machine sets
    observer: Observer = field(default_factory=Observer)
    limits: Limits = field(default_factory=Limits)

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


class _Loop(_Strict):
    rate_Hz: float = Field(default=200.0, gt=10.0, le=2000.0)
    clock: Literal["device", "host"] = "device"
    drive_lag_s: float = Field(default=0.005, ge=1e-4, lt=0.5)
    watchdog_s: float = Field(default=0.025, gt=0.0, lt=1.0)


class _Imu(_Strict):
    x_m: float = 0.3
    z_m: float = -0.5


class _RigFile(_Strict):
    """The TOML file, key by key; units stand in the names."""

    name: str
    bicycle: str
    port: _Port = _Port()
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
            port=self.port.path,
            baud=self.port.baud,
            clock=self.loop.clock,
            rate=self.loop.rate_Hz,
            drive_lag=self.loop.drive_lag_s,
            watchdog=self.loop.watchdog_s,
            x_imu=self.imu.x_m,
            z_imu=self.imu.z_m,
            calibration=self.calibration,
            observer=observer,
            limits=Limits.from_dict(self.limits),
        )


def _sentence(error: ValidationError) -> str:
    """All faults of a file in one sentence."""
    faults = [
        f"{'.'.join(str(p) for p in e['loc'])}: {e['msg'].lower()} (found {e['input']!r})" for e in error.errors()
    ]
    return "; ".join(faults) + "; correct these keys"
