"""A wired machine: which bicycle, port, rates, instrument places and limits. One TOML file each."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from firmware_interface.calibration import Calibration
from hil.estimator import Observer
from hil.limits import Limits
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
        from hil.rig_file import read  # the checks of files cost 0.1 s, which the emulated rig need not wait for

        return read(path)
