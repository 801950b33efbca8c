"""The rules of the node, in simulated time, one test per rule of docs/node-protocol.md."""

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_FRAME, new_decoder
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_SATURATED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.rules import (
    firmware_hello,
    firmware_latch,
    firmware_receive,
    firmware_sample,
)
from tests.firmware_interface.wire import SESSION, as_bytes, command_frame

PERIOD = 0.005
WATCHDOG_PERIODS = 5


class Bench:
    """A node at 200 Hz with a watchdog of 25 ms and a limit of 7 N m, one instant at a time.

    At its first instant, number 0, it hears the request for a session, unless ``nonce`` is 0.
    """

    def __init__(self, nonce: int = SESSION, **calibration) -> None:
        self.fw = new_firmware(Calibration(wheel_radius=0.3, **calibration))
        self.decoder = new_decoder()
        self.k = 0
        self.seq = 0
        self.readings, self.bus = np.zeros(9), 24.0
        self.session = self.hello(nonce).session

    def hello(self, nonce: int, seq: int = 1) -> reference_codec.HelloFrame:
        """What the node answers at the next instant, at which nothing else comes in."""
        self.instant(reference_codec.encode(reference_codec.HelloRequest(seq, nonce)))
        out = np.zeros(MAX_FRAME, np.uint8)
        return reference_codec.decode(out[: firmware_hello(self.fw, out) - 1].tobytes())

    def instant(self, line: bytes = b"") -> float:
        """``line`` comes in, then the sampling instant; returns the torque from then on."""
        firmware_receive(self.fw, self.decoder, as_bytes(line), len(line))
        T = firmware_latch(self.fw, self.k * PERIOD)
        out = np.zeros(MAX_FRAME, np.uint8)
        self.said = out[: firmware_sample(self.fw, self.readings, self.bus, out) - 1].tobytes()
        self.k += 1
        return T

    def frame(self, T: float = 0.0, flags: int = COMMAND_ENABLE, seq: int | None = None, **values) -> bytes:
        """The next command, an answer to the latest sample."""
        self.seq = self.seq + 1 if seq is None else seq
        numbers = {"sample_seq": int(self.fw["seq"]) - 1, "session": self.session}
        return command_frame(self.seq, T, flags, **{**numbers, **values})

    def command(self, T: float = 0.0, flags: int = COMMAND_ENABLE, **values) -> float:
        return self.instant(self.frame(T, flags, **values))

    def enable(self) -> "Bench":
        self.command(flags=0)
        self.command()
        assert self.status & STATUS_ENABLED
        return self

    def sample(self) -> reference_codec.Sample:
        """The sample of the latest instant, as read by the plain codec."""
        return reference_codec.decode(self.said)

    @property
    def status(self) -> int:
        return int(self.fw["raw"]["status"])


def test_disabled_at_power_up_and_enabled_only_after_off_was_seen():
    bench = Bench()
    assert bench.instant() == 0.0
    for _ in range(10):
        assert bench.command(T=2.0) == 0.0
    assert bench.status == 0
    assert bench.command(T=2.0, flags=0) == 0.0
    assert bench.command(T=2.0) == 2.0
    assert bench.status == STATUS_ENABLED


def test_enable_off_disables_at_once_and_may_come_back():
    bench = Bench().enable()
    assert bench.command(T=1.0) == 1.0
    assert bench.command(T=1.0, flags=0) == 0.0
    assert bench.status == 0
    assert bench.command(T=1.0) == 1.0


def test_torque_holds_until_the_next_command_or_its_expiry():
    bench = Bench().enable()
    assert bench.command(T=1.0, expiry_ms=15) == 1.0  # one period old by the node's reckoning
    assert bench.instant() == 1.0
    assert bench.instant() == 0.0  # three periods: void
    assert bench.status == STATUS_ENABLED
    assert bench.command(T=-1.0, expiry_ms=15) == -1.0


def test_watchdog_strikes_within_its_time_of_the_last_command():
    bench = Bench().enable()
    assert bench.command(T=1.0) == 1.0
    last = int(bench.fw["heard_us"])
    while bench.instant() != 0.0:
        pass
    assert bench.fw["now_us"] - last == 1e6 * WATCHDOG_PERIODS * PERIOD
    assert bench.status == STATUS_WATCHDOG
    assert bench.fw["trips"] == 1


def test_watchdog_stays_until_off_and_clear():
    bench = Bench().enable()
    for _ in range(WATCHDOG_PERIODS):
        bench.instant()
    assert bench.status == STATUS_WATCHDOG
    assert bench.command(T=1.0) == 0.0  # commands are back, ENABLE still on
    assert bench.command(T=1.0, flags=COMMAND_ENABLE | COMMAND_CLEAR) == 0.0
    assert bench.command(T=1.0, flags=0) == 0.0  # off, but not cleared
    assert bench.command(T=1.0) == 0.0
    assert bench.status == STATUS_WATCHDOG
    assert bench.command(flags=COMMAND_CLEAR) == 0.0
    assert bench.status == 0
    assert bench.command(T=1.0) == 1.0
    assert bench.fw["trips"] == 1


def test_watchdog_does_not_strike_while_disabled():
    bench = Bench()
    bench.command(flags=0)
    for _ in range(100):
        bench.instant()
    assert bench.status == 0


def test_stale_enable_does_not_enable():
    bench = Bench().enable()
    bench.command(flags=0)
    bench.fw["stop_button"] = 1
    bench.command(T=1.0)
    bench.fw["stop_button"] = 0
    for _ in range(WATCHDOG_PERIODS):
        assert bench.instant() == 0.0
    assert bench.status == 0


def test_repeated_command_is_no_sign_of_life():
    bench = Bench().enable()
    frame = bench.frame(T=1.0)
    torques = [bench.instant(frame) for _ in range(2 * WATCHDOG_PERIODS)]
    assert torques == [1.0] * (WATCHDOG_PERIODS - 1) + [0.0] * (WATCHDOG_PERIODS + 1)
    assert bench.status == STATUS_WATCHDOG | STATUS_FOREIGN, "and has become too old in the end"


def test_garbage_is_no_sign_of_life_and_is_counted():
    bench = Bench().enable()
    damaged = bytearray(bench.frame(T=1.0))
    damaged[5] ^= 0x10
    for _ in range(WATCHDOG_PERIODS):
        bench.instant(bytes(damaged))
    assert bench.status == STATUS_WATCHDOG
    assert bench.sample().rejected == WATCHDOG_PERIODS


def test_count_of_rejected_frames_wraps():
    bench = Bench()
    bench.instant(b"\x01\0" * 300)
    assert bench.sample().rejected == 300 - 256


def test_only_the_newest_of_several_commands_counts():
    bench = Bench().enable()
    line = bench.frame(1.0, seq=50) + bench.frame(2.0, seq=51)
    assert bench.instant(line) == 2.0
    assert bench.sample().command_seq == 51


def test_command_numbers_may_wrap_and_have_gaps():
    bench = Bench().enable()
    for seq in (32000, 64000, 65535, 0, 1, 900):
        assert bench.command(0.5, seq=seq) == 0.5
        assert bench.sample().command_seq == seq


@pytest.mark.parametrize("T", [7.0, 7.5, 32.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_limit(T, sign):
    bench = Bench().enable()
    assert bench.command(T=sign * T) == sign * 7.0
    assert bench.status == STATUS_ENABLED | STATUS_SATURATED
    assert bench.command(T=sign * 6.9) == pytest.approx(sign * 6.9)
    assert bench.status == STATUS_ENABLED


@pytest.mark.parametrize(("cause", "status"), [({"stop_button": 1}, STATUS_STOP_BUTTON), ({"faults": FAULT_DRIVE}, 0)])
def test_stop_button_and_faults_disable_and_nothing_comes_back_by_itself(cause, status):
    bench = Bench().enable()
    for name, value in cause.items():
        bench.fw[name] = value
    assert bench.command(T=1.0) == 0.0
    assert bench.status == status
    assert bench.sample().faults == cause.get("faults", 0)
    for name in cause:
        bench.fw[name] = 0
    assert bench.command(T=1.0) == 0.0
    assert bench.status == 0
    bench.command(flags=0)
    assert bench.command(T=1.0) == 1.0


def edges(bench: Bench, instants: int, **values) -> int:
    """Edges of the heartbeat in so many instants at which commands come."""
    count = 0
    for _ in range(instants):
        before = bench.fw["heartbeat"].item()
        bench.command(**values)
        count += bench.fw["heartbeat"].item() != before
    return count


def test_the_heartbeat_has_an_edge_at_each_instant_while_the_drive_is_enabled():
    bench = Bench()
    assert edges(bench, 5, flags=0) == 0
    assert edges(bench, 100) == 100
    assert edges(bench, 100, T=1.0) == 100
    assert edges(bench, 5, flags=0) == 0


@pytest.mark.parametrize(
    "end",
    [
        lambda bench: bench.fw.__setitem__("stop_button", 1),
        lambda bench: bench.fw.__setitem__("faults", FAULT_DRIVE),
        lambda bench: bench.readings.__setitem__(6, 2.0),  # the steer, beyond the bound of 1.5 rad: its guard
        lambda bench: bench.instant(bench.frame(session=bench.session ^ 1)),  # a foreign command
        lambda bench: [bench.instant() for _ in range(WATCHDOG_PERIODS + 1)],  # nothing comes
        lambda bench: [bench.command(sample_seq=0) for _ in range(WATCHDOG_PERIODS + 1)],  # nothing fresh comes
    ],
)
def test_what_disables_the_drive_leaves_the_heartbeat_still(end):
    bench = Bench().enable()
    edges(bench, 20)
    end(bench)
    bench.instant()
    bench.instant()
    assert edges(bench, 50) == 0


def test_sample_carries_clock_number_and_readings():
    bench = Bench(gyro_lsb=0.001, accel_lsb=0.01)
    bench.readings[:] = (0.1, -0.2, 0.3, 0.0, 1.0, -9.8, 0.25 * np.pi, 15.0, -1.5)
    bench.bus = 24.5
    bench.command(flags=0)
    assert bench.sample() == reference_codec.Sample(
        seq=1,
        t_us=5000,
        gyro_x_counts=100,
        gyro_y_counts=-200,
        gyro_z_counts=300,
        accel_x_counts=0,
        accel_y_counts=100,
        accel_z_counts=-980,
        steer_counts=2500,
        wheel_mrad_s=15000,
        torque_mNm=-1500,
        bus_mV=24500,
        status=0,
        faults=0,
        command_seq=1,
        rejected=0,
        refused=0,
        seq_high=0,
    )


def test_clock_and_numbers_wrap():
    bench = Bench()
    bench.k = (2**32 + 5000) * 1e-6 / PERIOD
    for number in (65535, 65536, 2**32 - 1, 0):
        bench.fw["seq"] = number
        bench.instant()
        assert (bench.sample().seq, bench.sample().seq_high) == (number % 65536, number // 65536)
        assert bench.sample().t_us == round(1e6 * (bench.k - 1) * PERIOD) - 2**32


def test_drive_that_counts_the_other_way():
    bench = Bench(torque_sign=-1).enable()
    assert bench.command(T=-2.0) == 2.0  # asked in the drive's sense, applied to the right
    bench.readings[8] = 2.0
    bench.instant()
    assert bench.sample().torque_mNm == -2000


def test_hello_is_told_once_for_each_request():
    bench = Bench()
    out = np.zeros(MAX_FRAME, np.uint8)
    bench.instant()
    assert firmware_hello(bench.fw, out) == 0
    assert bench.hello(SESSION, seq=321) == reference_codec.HelloFrame(
        321,
        b"riderless twin\0\0",
        200,
        7000,
        25,
        np.float32(np.radians(250) / 32768),
        np.float32(4 * 9.80665 / 32768),
        20000,
        SESSION,
        reset_cause=1,
        steer_limit_counts=4775,
        lean_limit_mrad=900,
        torque_step_mNm=14000,
    )
    assert firmware_hello(bench.fw, out) == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rate_hz": 0}, "rate must be 1 to 10000 Hz, found 0 Hz"),
        ({"torque_limit": 33.0}, "torque limit must be above 0 and at most 32.767 N m, found 33.0 N m"),
        ({"watchdog_ms": 9}, "at least two sampling periods, 10 ms at 200 Hz, .* found 9 ms"),
        ({"name": "x" * 17}, "at most 16 ASCII characters"),
    ],
)
def test_impossible_nodes_are_refused(wrong, words):
    with pytest.raises(DeviceError, match=words):
        new_firmware(Calibration(wheel_radius=0.3), **wrong)
