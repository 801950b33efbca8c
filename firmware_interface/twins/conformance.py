"""Rules that hold for every driver and its twin, tried in memory at every rate: `check_driver`.

The driver is introduced to its twin through a port without a line, in simulated time; then the loop's bytes go to and
fro, whole, cut, damaged, and as noise.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import DEVICE_CLOCK, Calibration, calibrate
from riderless.firmware_interface.devices.driver import Device, DeviceRequirements
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, ROLE_STEER, ROLE_WHEEL, hear, say
from riderless.firmware_interface.devices.outside import DRIVER_SUFFIX, name_driver
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND,
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    SAMPLE,
    STATUS_ENABLED,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.twins.machine import new_twin
from riderless.firmware_interface.twins.twin import STEP_RATE, TwinConfig
from riderless.firmware_interface.twins.twin_in_memory import TwinPort

RATES = (100, 200, 500, 1000)  # Hz, of the loop
BAUD = 921600
WHEEL_RADIUS = 0.3  # m
WATCHDOG = 0.05  # s
TORQUE_LIMIT = 7.0  # N m
TRUE_READINGS = np.array([0.1, -0.2, 0.3, 0.4, -0.5, -9.7, 0.25, 6.0, 1.2])  # as `calibration.to_counts` takes them
_SEEN = {  # column of a sample: what carries it, what it should be, and how far it may be off, SI
    "phi_dot_meas": (ROLE_IMU, TRUE_READINGS[0], 2e-3),
    "theta_dot_meas": (ROLE_IMU, TRUE_READINGS[1], 2e-3),
    "psi_dot_meas": (ROLE_IMU, TRUE_READINGS[2], 2e-3),
    "a_x_meas": (ROLE_IMU, TRUE_READINGS[3], 2e-2),
    "a_y_meas": (ROLE_IMU, TRUE_READINGS[4], 2e-2),
    "a_z_meas": (ROLE_IMU, TRUE_READINGS[5], 2e-2),
    "delta_meas": (ROLE_STEER, TRUE_READINGS[6], 1e-3),
    "v_meas": (ROLE_WHEEL, WHEEL_RADIUS * TRUE_READINGS[7], 1e-2),
    "T_meas": (ROLE_DRIVE, TRUE_READINGS[8], 1e-2),
}
_SENSORS = ROLE_IMU | ROLE_STEER | ROLE_WHEEL
_NOISE = 20_000  # bytes
_CUT = 3000  # bytes that come one by one
_DAMAGED_EVERY = 53  # bytes
_SETTLED = 0.5  # s, after which readings have come and a drive is on


class Finding(NamedTuple):
    """Rule that was tried, and what came of it."""

    rule: str
    rate: int  # Hz
    passed: bool
    found: str = ""


class Conformance(NamedTuple):
    """Findings of `check_driver`."""

    driver: str
    findings: tuple[Finding, ...]
    refused: tuple[Finding, ...] = ()  # rates that the driver refused, and its sentences

    @property
    def failures(self) -> tuple[Finding, ...]:
        """Rules that do not hold."""
        return tuple(finding for finding in self.findings if not finding.passed)

    @property
    def passed(self) -> bool:
        """Does every rule hold at every rate?"""
        return bool(self.findings) and not self.failures

    def __str__(self) -> str:
        rates = sorted({finding.rate for finding in self.findings})
        refused = "".join(f"\n  {one.rate} Hz is refused: {one.found}" for one in self.refused)
        if self.passed:
            return f"{self.driver}: all {len(self.findings)} rules hold, at {', '.join(map(str, rates))} Hz{refused}"
        lines = [f"  {one.rate} Hz: {one.rule}: {one.found}" for one in self.failures]
        return (
            "\n".join((f"{self.driver}: {len(self.failures)} of {len(self.findings)} rules do not hold", *lines))
            + refused
        )


class DriverBench:
    """Driver and twin after their introduction, at one rate of the loop."""

    def __init__(self, name: str, driver: Device, rate: int) -> None:
        settings = driver.settled(driver.test_settings)
        config = TwinConfig(
            carries=driver.carries,
            calibration=Calibration(wheel_radius=WHEEL_RADIUS),
            rate_hz=rate,
            watchdog=WATCHDOG,
            torque_limit=TORQUE_LIMIT,
            settings={**settings, "baud": BAUD},
        )
        self.port = TwinPort(new_twin(name, config), name, BAUD, TRUE_READINGS)
        self.twin, self.driver, self.rate = self.port.twin, driver, rate
        wants = DeviceRequirements(rate=rate, watchdog=WATCHDOG, settings=settings, nonce=12345)
        self.introduction = driver.introduce(self.port, wants)
        self.link = self.fresh_link()
        self._pending, self._seq = b"", 0
        self.heard: list[bytes] = []  # what came up, period by period

    def fresh_link(self) -> np.void:
        """Link as the loop makes it, that has heard nothing."""
        return self.driver.new_link(self.driver.test_settings, self.driver.carries, 1.0 / self.rate, self.introduction)

    def run(self, duration: float, T: float = 0.0, flags: int = 0, send: bool = True) -> int:
        """Let time pass; returns the number of new readings.

        Parameters
        ----------
        duration : float
            s
        T, flags
            Of the commands [N m].
        send : bool
            Commands are sent.
        """
        readings, out, steps = 0, np.zeros(256, np.uint8), STEP_RATE // self.rate
        for _ in range(round(duration * self.rate)):
            readings += take(self.link, self._pending)
            self.heard.append(self._pending)
            self._seq += send
            command = np.zeros(1, COMMAND)[0]
            command["T_cmd"], command["flags"], command["seq"], command["expiry_ms"] = T, flags, self._seq & 0xFFFF, 50
            n = say(self.link, command, 1 if send and self.driver.carries & ROLE_DRIVE else 0, out)
            self._pending = self.port.step(out[:n].tobytes())
            for _ in range(steps - 1):
                self._pending += self.port.step()
        return readings

    def enable(self) -> None:
        """Clear, then switch on, as the supervisor does."""
        self.run(_SETTLED, flags=COMMAND_CLEAR)
        self.run(_SETTLED, flags=COMMAND_ENABLE)

    @property
    def status(self) -> int:
        """Bits that the drive reports."""
        return int(self.link["raw"]["status"])

    @property
    def sample(self) -> np.void:
        """Newest reading, SI."""
        scales = {
            key: x for key, x in vars(self.introduction).items() if key.endswith(("lsb", "turn")) and x is not None
        }
        sample, clock = np.zeros(1, SAMPLE)[0], np.zeros(1, DEVICE_CLOCK)[0]
        calibrate(self.link["raw"], Calibration(wheel_radius=WHEEL_RADIUS, **scales).as_record(), clock, sample)
        return sample


def take(link: np.void, data: bytes) -> int:
    """Give a driver bytes that came in; returns the number of new readings."""
    return int(hear(link, np.frombuffer(bytearray(data + b"\0"), np.uint8), len(data)))


def check_driver(name: str | Path, rates: tuple[int, ...] = RATES) -> Conformance:
    """Try a driver against its twin: what it must do at every rate of the loop.

    Parameters
    ----------
    name : str or Path
        Of a device as a rig writes it; a path ending in .py is a file, which is run.
    rates : tuple of int
        Rates of the loop [Hz]. One that the driver refuses with a sentence is no failure, unless it refuses all.

    Raises
    ------
    DeviceError
        There is no such driver or twin.
    """
    name = name_driver(name) if str(name).endswith(DRIVER_SUFFIX) else str(name)
    driver = device(name)
    findings: list[Finding] = []
    refused: list[Finding] = []
    for rate in rates:
        try:
            driver.require_room(driver.carries, driver.settled(driver.test_settings), rate, BAUD)
            bench = DriverBench(name, driver, rate)
        except DeviceError as error:
            refused.append(Finding("it introduces itself", rate, False, str(error)))
            continue
        findings += _findings(bench)
    return Conformance(name, tuple(findings), tuple(refused))


def _findings(bench: DriverBench) -> Iterator[Finding]:
    """Try every rule at one rate."""
    rate, driver = bench.rate, bench.driver
    yield Finding(
        "it introduces itself with a name", rate, bool(bench.introduction.name), repr(bench.introduction.name)
    )
    if driver.carries & (_SENSORS | ROLE_DRIVE):
        suits = bench.introduction.rate_hz in (None, rate)
        found = f"{bench.introduction.rate_hz} Hz"
        yield Finding("it samples at the loop's rate, or when asked, or refuses the rate", rate, suits, found)
    yield from _examples(bench)
    readings = bench.run(2 * _SETTLED, flags=COMMAND_CLEAR)
    if driver.carries & (_SENSORS | ROLE_DRIVE):
        yield Finding("readings come", rate, readings > 0, f"{readings} in {2 * _SETTLED:g} s")
        lost = bench.introduction.rate_hz is not None and readings < 2 * _SETTLED * bench.rate - 2
        yield Finding("none is lost", rate, not lost, f"{readings} of {2 * _SETTLED * rate:g}")
        yield from _values(bench)
        yield from _cut_bytes(bench)
        yield from _noise(bench)
    if driver.carries & ROLE_DRIVE:
        yield from _drive(bench)
    if not driver.over_udp:
        yield _slow_line(bench)


def _examples(bench: DriverBench) -> Iterator[Finding]:
    for example in bench.driver.examples:
        link = bench.fresh_link()
        take(link, example.wire)
        good = bool(link["receiver"]["frames_ok"]) == example.valid
        good = good and all(np.array_equal(link["raw"][key], value) for key, value in example.raw.items())
        yield Finding("its example messages mean what they say", bench.rate, good, example.source)


def _values(bench: DriverBench) -> Iterator[Finding]:
    sample = bench.sample
    for column, (carrier, wanted, tolerance) in _SEEN.items():
        if bench.driver.carries & carrier:
            found = float(sample[column])
            good = abs(found - wanted) <= tolerance
            yield Finding(f"{column} is what the twin measures", bench.rate, good, f"{found:g}, wanted {wanted:g}")


def _cut_bytes(bench: DriverBench) -> Iterator[Finding]:
    """Let a stream come in whole and byte by byte; what answers questions says nothing without them."""
    if bench.introduction.rate_hz is None:
        return
    stream = b"".join(bench.heard)[:_CUT]
    whole, bytewise = bench.fresh_link(), bench.fresh_link()
    wanted = take(whole, stream)
    found = sum(take(bytewise, stream[i : i + 1]) for i in range(len(stream)))
    good = found == wanted and bool(whole["raw"] == bytewise["raw"])
    yield Finding("bytes may come in any pieces", bench.rate, good, f"{found} readings byte by byte, {wanted} at once")


def _noise(bench: DriverBench) -> Iterator[Finding]:
    """Throw random bytes at the driver, then let it hear the twin again."""
    link, noise = bench.fresh_link(), np.random.default_rng(1).integers(0, 256, _NOISE, np.uint8).tobytes()
    believed = sum(take(link, noise[i : i + 64]) for i in range(0, len(noise), 64))
    yield Finding("noise is not believed", bench.rate, believed <= 1, f"{believed} readings in {_NOISE} random bytes")
    if bench.introduction.rate_hz is not None:
        stream = b"".join(bench.heard)
        if bench.driver.has_checksum:
            yield _damage(bench, stream)
        after, undisturbed = take(link, stream), take(bench.fresh_link(), stream)
        good = after >= undisturbed - 14  # a false start may swallow 250 bytes
        yield Finding("it hears again after noise", bench.rate, good, f"{after} readings, {undisturbed} without noise")


def _damage(bench: DriverBench, stream: bytes) -> Finding:
    """Flip a bit in every 53rd byte: a reading that nobody sent must not come of it."""
    damaged = np.frombuffer(bytearray(stream), np.uint8)
    hits = damaged[::_DAMAGED_EVERY]
    hits ^= np.left_shift(1, np.random.default_rng(2).integers(0, 8, len(hits))).astype(np.uint8)
    good, link, wrong = bench.fresh_link(), bench.fresh_link(), 0
    sent, start = set(), 0
    for piece in bench.heard:
        if take(good, piece):
            sent.add(_values_of(good))
        if take(link, damaged[start : start + len(piece)].tobytes()):
            wrong += _values_of(link) not in sent
        start += len(piece)
    return Finding("a damaged message is no reading", bench.rate, wrong == 0, f"{wrong} readings that nobody sent")


def _values_of(link: np.void) -> bytes:
    """Readings of a driver, without its numbers and times."""
    raw = link["raw"].copy()
    for name in ("seq", "t_us", "t", "command_seq"):
        if name in raw.dtype.names:
            raw[name] = 0
    return bytes(raw.tobytes())


def _drive(bench: DriverBench) -> Iterator[Finding]:
    rate, twin = bench.rate, bench.twin
    bench.enable()
    yield Finding("a drive that is switched on says so", rate, bool(bench.status & STATUS_ENABLED))
    for T in (1.5, -2.25, 0.0):
        bench.run(0.05, T=T, flags=COMMAND_ENABLE)
        yield Finding("a torque goes through", rate, abs(twin.T - T) < 5e-3, f"{twin.T:g} N m, wanted {T:g}")
    for T in (np.nan, np.inf, -np.inf):
        bench.run(0.05, T=1.0, flags=COMMAND_ENABLE)
        bench.run(0.05, T=T, flags=COMMAND_ENABLE)
        yield Finding("what is no number makes no torque", rate, twin.T == 0.0, f"{twin.T:g} N m of {T}")
    bench.enable()
    bench.run(0.05, T=1.0, flags=COMMAND_ENABLE)
    bench.run(0.03, T=1.0)
    yield Finding("switched off is no torque", rate, twin.T == 0.0, f"{twin.T:g} N m")
    bench.enable()
    bench.run(0.05, T=1.0, flags=COMMAND_ENABLE)
    bench.run(2 * WATCHDOG, send=False)
    struck = bench.status & (STATUS_WATCHDOG | STATUS_ENABLED) == STATUS_WATCHDOG
    found = f"{twin.T:g} N m, status {bench.status:#x}"
    yield Finding("commands that stop end the torque, and it says so", rate, twin.T == 0.0 and struck, found)
    bench.enable()
    again = bench.status & (STATUS_WATCHDOG | STATUS_ENABLED) == STATUS_ENABLED
    yield Finding("cleared, it can be switched on again", rate, again, f"status {bench.status:#x}")


def _slow_line(bench: DriverBench) -> Finding:
    driver = bench.driver
    try:
        driver.require_room(driver.carries, driver.settled(driver.test_settings), bench.rate, 300)
    except DeviceError as error:
        return Finding("a line that is too slow is refused", bench.rate, True, str(error))
    return Finding("a line that is too slow is refused", bench.rate, False, "300 baud were taken")
