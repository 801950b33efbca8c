"""A driver and its twin in memory: bytes from one to the other, tick by tick, with a line one can damage."""

from collections.abc import Callable
from functools import cache

import numpy as np

from riderless.firmware_interface import slcan
from riderless.firmware_interface.calibration import DEVICE_CLOCK, Calibration, calibrate
from riderless.firmware_interface.devices.driver import Device, Introduction
from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_DRIVE, ROLE_SPEED, hear, new_link, say
from riderless.firmware_interface.devices.registry import DEVICES, device
from riderless.firmware_interface.devices.speed.speed_memory import SPEED_SAY
from riderless.firmware_interface.messages import COMMAND, COMMAND_CLEAR, COMMAND_ENABLE, SAMPLE
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.twins.conformance import DriverBench
from riderless.firmware_interface.twins.machine import new_twin
from riderless.firmware_interface.twins.twin import STEP_RATE, TwinConfig
from tests.firmware_interface.wire import record

RATE, WATCHDOG = 200, 0.05
SETTINGS = {name: device(name).test_settings for name in DEVICES}
READINGS = np.array([0.1, -0.2, 0.3, 0.4, -0.5, -9.7, 0.25, 6.0, 1.2])


@cache
def introduced(name: str) -> Introduction:
    """What the device says of itself."""
    return DriverBench(name, device(name), RATE).introduction


SHIFT = Callable[[bytes], bytes]


def whole(data: bytes) -> bytes:
    """A line that damages nothing."""
    return data


class Pair:
    """Driver and twin; ``down`` and ``up`` may change what passes."""

    def __init__(self, name: str, faults=(), down: SHIFT = whole, up: SHIFT = whole, **truth) -> None:
        self.name, self.driver = name, device(name)
        settings, said = self.driver.settled(SETTINGS[name]), introduced(name)
        scales = {k: v for k, v in vars(said).items() if k.endswith(("lsb", "turn")) and v is not None}
        self.calibration = Calibration(wheel_radius=0.3, **{**scales, **truth})
        self.links = np.zeros(1, LINK_STATE)
        self.links[0] = linked(self.driver, settings, said)
        self.link = self.links[0]
        config = TwinConfig(
            carries=self.driver.carries,
            calibration=self.calibration,
            rate_hz=RATE,
            watchdog=WATCHDOG,
            torque_limit=7.0,
            settings={**settings, "baud": 921600},
            faults=faults,
        )
        self.twin = new_twin(name, config)
        self.readings, self.k, self.seq = READINGS.copy(), 0, 0
        self.down, self.up = down, up
        self.pending = b""
        self.said = bytearray()  # all that came up
        self.prepare()

    def prepare(self) -> None:
        """What `introduce` would have set, told to the twin."""
        if self.name == "vectornav":
            self.twin.hear(b"$VNWRG,06,0*XX\r\n$VNWRG,75,1,4,01,0129*XX\r\n", 0.0)
        if self.name == "node":
            self.twin.hear(reference_codec.encode(reference_codec.HelloRequest(1, 12345)), 0.0)
            self.pending = self.twin.instant(0.0, self.readings)
            self.k = STEP_RATE // RATE
            hello = reference_codec.decode(self.pending.split(b"\0")[0])
            self.link["session"] = hello.session
        if self.name.endswith("_can"):
            self.twin.hear(slcan.opening(SETTINGS[self.name]["bit_rate"]), 0.0)
        if self.name == "odrive":
            self.twin.hear(b"w axis0.config.watchdog_timeout 0.05\nw axis0.config.enable_watchdog 1\n", 0.0)

    @property
    def t(self) -> float:
        """Device time [s]."""
        return self.k / STEP_RATE

    def period(self, T=0.0, flags=0, send=True) -> int:
        """One period of the loop: hear, speak, let 5 ms pass; returns the number of new readings."""
        came = self.take(self.pending)
        self.pending = b""
        command, out = record(COMMAND, T_cmd=T, flags=flags, seq=self.seq + send, expiry_ms=50), np.zeros(256, np.uint8)
        self.seq += send
        if self.driver.carries == ROLE_SPEED and round(self.t * RATE) % 20 == 0:  # as the loop does, ten times a second
            self.link["memory"][SPEED_SAY] = 1
        n = say(self.link, command, 1 if send and self.driver.carries & ROLE_DRIVE else 0, out)
        bytes_down = self.down(out[:n].tobytes())
        for i in range(STEP_RATE // RATE):
            answer = self.twin.hear(bytes_down, self.t) if i == 0 and bytes_down else b""
            self.pending += self.up(answer + self.twin.instant(self.t, self.readings))
            self.k += 1
        return came

    def take(self, data: bytes) -> int:
        """Bytes to the driver."""
        self.said += data
        return int(hear(self.link, np.frombuffer(bytearray(data + b"\0"), np.uint8), len(data)))

    def periods(self, n: int, **how) -> None:
        """Several periods alike."""
        for _ in range(n):
            self.period(**how)

    def enable(self) -> None:
        """As the supervisor does: cleared, off, then on."""
        self.periods(10, flags=COMMAND_CLEAR)
        self.periods(30, flags=COMMAND_ENABLE)

    @property
    def raw(self) -> np.void:
        """The newest reading, in counts."""
        return self.link["raw"]

    @property
    def sample(self) -> np.void:
        """The newest reading in SI units."""
        sample = record(SAMPLE)
        calibrate(self.raw, self.calibration.as_record(), record(DEVICE_CLOCK), sample)
        return sample


def linked(driver: Device, settings: dict, said: Introduction) -> np.void:
    """A link to the device, as the loop makes it."""
    link = new_link()
    link["hear"], link["say"] = driver.hear, driver.say
    link["role"], link["period_us"] = driver.carries, 1e6 / RATE
    link["scale"], link["per_amp"] = said.scale, said.per_amp
    link["axis"], link["wheel_axis"] = settings.get("axis", 0), settings.get("wheel_axis", -1)
    if driver.prepare is not None:
        driver.prepare(link, settings)
    return link
