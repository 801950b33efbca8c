"""What a driver says of itself: one `DEVICE` in each file of this folder that is named in the registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from firmware_interface.devices.link import ANY
from firmware_interface.errors import DeviceError
from firmware_interface.framing import BITS_PER_BYTE
from firmware_interface.port import SerialPort

DeviceSettings = Mapping[str, float]


class DeviceSetting(NamedTuple):
    """A key that a rig file may give a device beside port and baud rate; None as default: it must."""

    default: float | None
    unit: str
    meaning: str


@dataclass(frozen=True)
class Wants:
    """What the rig expects of a device when it is introduced."""

    rate: float  # Hz, of the loop
    watchdog: float  # s, the drive's own time-out
    settings: DeviceSettings = field(default_factory=dict)


@dataclass(frozen=True)
class Introduction:
    """What a device said of itself, in SI units; None where it does not know or does not carry it."""

    name: str  # make, model, firmware
    rate_hz: int | None = None  # samples per second; None for a device that answers when asked
    torque_limit: float | None = None  # N m on the steer, never exceeded
    watchdog: float | None = None  # s without a command until the torque is zero
    gyro_lsb: float | None = None  # rad/s per count
    accel_lsb: float | None = None  # m/s^2 per count
    steer_counts_per_turn: float | None = None  # of the encoder's own shaft
    scale: float = 1.0  # N m on the steer per unit the drive is commanded in
    per_amp: float = 1.0  # N m on the steer per ampere it reports


class Traffic(NamedTuple):
    """Bytes on the line in one period of the loop."""

    up: int  # to the computer
    down: int  # from it
    what: str  # the arithmetic, in words


class Example(NamedTuple):
    """A message and what it means, for the conformance tests of this room."""

    wire: bytes
    valid: bool
    raw: Mapping[str, Any]  # fields of RAW after it; those left out are not looked at
    source: str


@dataclass(frozen=True)
class Device:
    """A driver.

    Parameters
    ----------
    name : str
        As a rig file writes it.
    carries : int
        Bits of what it can carry.
    hear, say : int
        Addresses of the compiled functions, see `link`.
    introduce : callable
        ``introduce(port, wants)`` sets the device up, before the loop, and returns an `Introduction`;
        raises DeviceError with one sentence.
    traffic : callable
        ``traffic(carries, settings)`` gives the bytes of one period.
    delimiter : int
        Byte that ends each message; ANY where the link's ``missing`` tells.
    settings : mapping
        Keys of the rig file that are this device's own.
    examples : tuple of Example
        Messages to the computer.
    """

    name: str
    carries: int
    hear: int
    say: int
    introduce: Callable[[SerialPort, Wants], Introduction]
    traffic: Callable[[int, DeviceSettings], Traffic]
    delimiter: int = ANY
    settings: Mapping[str, DeviceSetting] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()

    def settled(self, given: DeviceSettings) -> dict[str, float]:
        """Settings with defaults filled in.

        Raises
        ------
        DeviceError
            For an unknown key, or one that is missing.
        """
        unknown = sorted(set(given) - set(self.settings))
        if unknown:
            known = ", ".join(self.settings) or "none"
            raise DeviceError(f"a {self.name} has no setting {', '.join(unknown)}: its settings are {known}")
        missing = [name for name, setting in self.settings.items() if setting.default is None and name not in given]
        if missing:
            say = "; ".join(f"{name} [{self.settings[name].unit}], {self.settings[name].meaning}" for name in missing)
            raise DeviceError(f"a {self.name} needs {say}: give it under its [[port]]")
        return {name: float(given.get(name, setting.default or 0.0)) for name, setting in self.settings.items()}

    def require_room(self, carries: int, settings: DeviceSettings, rate: float, baud: int) -> None:
        """Refuse a line that cannot carry the messages, with the arithmetic.

        Raises
        ------
        DeviceError
        """
        traffic = self.traffic(carries, settings)
        busiest = max(traffic.up, traffic.down)
        needed = busiest * BITS_PER_BYTE * rate
        if needed > baud:
            raise DeviceError(
                f"{baud} baud is too slow for a {self.name} at {rate:g} Hz: {traffic.what}, so {busiest} bytes x "
                f"{BITS_PER_BYTE} bits x {rate:g} Hz = {needed:.0f} bit/s; raise the baud rate (of the device too) "
                "or lower the rate"
            )
