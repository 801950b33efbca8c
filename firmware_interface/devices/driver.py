"""Description of a driver.

There is one `DEVICE` in each file that the registry names, and in each driver from outside.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from riderless.firmware_interface.devices.link import CARRIES, entry_points, new_link
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import BITS_PER_BYTE
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION, RESET_CAUSES
from riderless.firmware_interface.port import SerialPort

DeviceSettings = Mapping[str, float]


class DeviceSetting(NamedTuple):
    """Key that a rig file may give a device beside port and baud rate; must give it where the default is None."""

    default: float | None
    unit: str
    meaning: str


@dataclass(frozen=True)
class DeviceRequirements:
    """Requirements of the rig that a device is told when it is introduced."""

    rate: float  # Hz, of the loop
    watchdog: float  # s, the drive's own time-out
    settings: DeviceSettings = field(default_factory=dict)
    nonce: int = 0  # drawn anew for each introduction, for a device that opens a session; 0 only asks
    kind: int = COMMAND_KIND_TORQUE  # of the commands there will be
    guard: "Callable[[Introduction], GuardLimits] | None" = None  # limits for a node that guards itself, once known


@dataclass(frozen=True)
class Introduction:
    """Answer of a device about itself, in SI units; None where it does not know or does not carry it."""

    name: str  # make, model, firmware
    rate_hz: int | None = None  # samples per second; None for a device that answers when asked
    torque_limit: float | None = None  # N m on the steer, never exceeded
    watchdog: float | None = None  # s without a command until the torque is zero
    gyro_lsb: float | None = None  # rad/s per count
    accel_lsb: float | None = None  # m/s^2 per count
    steer_counts_per_turn: float | None = None  # of the encoder's own shaft
    session: int = 0  # in which commands count, as it opened it; 0 where it knows none
    scale: float = 1.0  # N m on the steer per unit the drive is commanded in
    per_amp: float = 1.0  # N m on the steer per ampere it reports
    unit: float = 1.0  # rad/s or rad of the steer per unit of a rate or an angle it is commanded in
    obeys: int = 1 << COMMAND_KIND_TORQUE  # kinds of command, as bits
    rate_limit: float | None = None  # rad/s of the steer, never exceeded
    angle_limit: float | None = None  # rad of the steer from its encoder's zero, never exceeded
    protocol: int = PROTOCOL_VERSION  # of our node's, that it speaks
    reset_cause: str = RESET_CAUSES[0]  # of its latest start
    flash_good: bool = True  # the check of its program at that start
    serial: str = ""  # of its processor
    # limits of its own guard in force; None where it has no such guard
    steer_limit: float | None = None  # rad of the encoder's shaft, from straight ahead
    lean_limit: float | None = None  # rad
    torque_step: float | None = None  # N m, change of torque per instant


def require_positive(device: str, settings: DeviceSettings, *names: str) -> None:
    """Refuse settings that are no positive numbers; raises DeviceError."""
    for name in names:
        if not 0.0 < settings[name] < math.inf:
            raise DeviceError(
                f"{name} of the {device} must be positive, found {settings[name]:g}: correct it under its [[port]]"
            )


def require_whole(device: str, settings: DeviceSettings, **numbers: range) -> None:
    """Refuse settings that are no whole numbers of their range; raises DeviceError."""
    for name, known in numbers.items():
        if settings[name] not in known:
            raise DeviceError(
                f"{name} of the {device} is a whole number from {known[0]} to {known[-1]}, found {settings[name]:g}: "
                "correct it under its [[port]]"
            )


class Traffic(NamedTuple):
    """Bytes on the line in one period of the loop."""

    up: int  # to the computer
    down: int  # from it
    what: str  # the arithmetic, in words
    rate: float | None = None  # Hz, of a device that speaks at its own pace; None: once a period of the loop


class ExampleMessage(NamedTuple):
    """Message and its meaning, for the conformance tests of this room."""

    wire: bytes
    valid: bool
    raw: Mapping[str, Any]  # fields of RAW after it; those left out are not looked at
    source: str


@dataclass(frozen=True, kw_only=True)
class Device:
    """Driver of one kind of device: what it carries, its compiled functions, its settings.

    Parameters
    ----------
    name : str
        As a rig file writes it.
    carries : int
        Bits of what it can carry.
    receive, speak : compiled functions
        See `riderless.firmware_interface.devices.link`.
    introduce : callable
        ``introduce(port, wants)`` sets the device up, before the loop, and returns an `Introduction`;
        raises DeviceError with one sentence.
    traffic : callable
        ``traffic(carries, settings)`` gives the bytes of one period.
    settings : mapping
        Keys of the rig file that are this device's own.
    test_settings : mapping
        Settings with which `riderless.check_driver` tries it; those without a default at least.
    examples : tuple of ExampleMessage
        Messages to the computer.
    prepare : callable or None
        ``prepare(link, settings)`` writes settings that the compiled functions want into a fresh link's memory.
    over_udp : bool
        It sends UDP packets to a port of this computer, and hears nothing.
    has_checksum : bool
        Its messages carry one, so that a damaged one is found.
    """

    name: str
    carries: int
    receive: Any
    speak: Any
    introduce: Callable[[SerialPort, DeviceRequirements], Introduction]
    traffic: Callable[[int, DeviceSettings], Traffic]
    settings: Mapping[str, DeviceSetting] = field(default_factory=dict)
    test_settings: Mapping[str, float] = field(default_factory=dict)
    examples: tuple[ExampleMessage, ...] = ()
    prepare: Callable[[Any, DeviceSettings], None] | None = None
    over_udp: bool = False
    has_checksum: bool = True

    @property
    def hear(self) -> int:
        """Address of the compiled `receive`."""
        return self._addresses[0]

    @property
    def say(self) -> int:
        """Address of the compiled `speak`."""
        return self._addresses[1]

    @cached_property
    def _addresses(self) -> tuple[int, int]:
        """Compiled, or loaded, when a loop asks for them: to read a rig file is not to wait for a compiler."""
        return entry_points(self.receive, self.speak)

    def __repr__(self) -> str:
        """Name and what it can carry."""
        carried = ", ".join(name for name, bit in CARRIES.items() if name != "sensors" and self.carries & bit)
        return f"Device({self.name!r}, carries {carried})"

    def new_link(self, given: DeviceSettings, role: int, period: float, introduction: "Introduction") -> np.void:
        """Link to such a device that has heard nothing yet, a record of ``LINK_STATE``.

        Parameters
        ----------
        given : mapping
            Settings, as of `settled`.
        role : int
            What it carries in the rig, ``ROLE_...`` bits.
        period : float
            Of the loop [s].
        introduction : Introduction
            What the device said of itself.
        """
        link, settings = new_link(), self.settled(given)
        link["hear"], link["say"] = self.hear, self.say
        link["role"], link["period_us"] = role, round(1e6 * period)
        link["polled"] = introduction.rate_hz is None
        link["session"], link["protocol"] = introduction.session, introduction.protocol
        link["scale"], link["per_amp"], link["unit"] = introduction.scale, introduction.per_amp, introduction.unit
        link["axis"], link["wheel_axis"] = settings.get("axis", 0), settings.get("wheel_axis", -1)
        if self.prepare is not None:
            self.prepare(link, settings)
        return link

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

        Parameters
        ----------
        carries : int
            Bits of what the device carries here.
        settings : mapping
            All of the device's own settings.
        rate : float
            Hz, of the loop.
        baud : int
            bit/s of the line.

        Raises
        ------
        DeviceError
            If the busier way needs more than ``baud``.
        """
        if self.over_udp:
            return
        traffic = self.traffic(carries, settings)
        rate = traffic.rate or rate
        busiest = max(traffic.up, traffic.down)
        needed = busiest * BITS_PER_BYTE * rate
        if needed > baud:
            raise DeviceError(
                f"{baud} baud is too slow for a {self.name} at {rate:g} Hz: {traffic.what}, so {busiest} bytes x "
                f"{BITS_PER_BYTE} bits x {rate:g} Hz = {needed:.0f} bit/s; raise the baud rate (of the device too) "
                "or lower the rate"
            )
