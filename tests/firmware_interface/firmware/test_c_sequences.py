"""The firmware in C beside the compiled one, fed alike for long; and over the wraps of clock and number."""

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.messages import COMMAND_CLEAR, COMMAND_ENABLE, STATUS_WATCHDOG
from riderless.firmware_interface.node import reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.node.guard_limits import GuardLimits
from riderless.firmware_interface.node.rules import (
    firmware_hello,
    firmware_latch,
    firmware_receive,
    firmware_sample,
)
from riderless.firmware_interface.twins import c_node
from riderless.firmware_interface.twins.c_node import FirmwareInC
from riderless.firmware_interface.twins.faults import BOTH_WAYS, TO_NODE, Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.faulty_link import fetch, post
from riderless.firmware_interface.twins.virtual_node import CORES
from tests.firmware_interface.firmware.test_c_firmware import CALIBRATION, PERIOD, hear, opened_core, said
from tests.firmware_interface.node.test_protocol import FRAMES, U16
from tests.firmware_interface.wire import as_bytes, command_frame

try:
    c_node.build_library()
except DeviceError as problem:
    pytest.skip(str(problem), allow_module_level=True)


class Pair:
    """Both firmwares, fed alike; every step compares them."""

    def __init__(self, rng: random.Random, **settings) -> None:
        sign = rng.choice((-1, 1))
        calibration = Calibration(wheel_radius=0.3, torque_sign=sign, steer_sign=sign, steer_offset=rng.gauss(0, 1))
        self.python, c = (new_firmware(calibration, **settings) for _ in range(2))
        self.decoder, self.c, self.core = new_decoder(), c, FirmwareInC(c)
        self.enabled = self.trips = self.struck = 0

    def step(self, t: float, line: bytes, stop_button: int, faults: int, readings: np.ndarray, bus: float) -> None:
        for firmware in (self.python, self.c):
            firmware["stop_button"], firmware["faults"] = stop_button, faults
        firmware_receive(self.python, self.decoder, as_bytes(line), len(line))
        hear(self.core, line)
        T = firmware_latch(self.python, t)
        assert self.core.latch(t) == T
        assert said(self.core.hello) == said(firmware_hello, self.python)
        assert said(self.core.sample, readings, bus) == said(firmware_sample, self.python, readings, bus)
        for name in (
            "T",
            "value",
            "kind",
            "enabled",
            "heartbeat",
            "commands",
            "trips",
            "rejected",
            "refused",
            "session",
            "now_us",
            "heard_us",
        ):
            assert self.c[name] == self.python[name], name
        for name in ("lean", "lean_drift", "lean_samples", "still", "cut", "struck"):
            assert getattr(self.core.state, name) == self.python[name], name
        self.enabled += int(self.c["enabled"])
        self.struck |= int(self.python["struck"])


class Line:
    """What may come down a line: mostly good commands, sometimes anything else, in pieces."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.seq, self.left = rng, 65500, b""
        self.node: np.void | None = None  # whose session and samples it knows

    def command(self) -> bytes:
        rng = self.rng
        self.seq = (self.seq + rng.choices((1, 0, rng.randrange(65536)), (20, 0.05, 0.05))[0]) % 65536
        torque_mNm = rng.choice((0, rng.randint(-1500, 1500), rng.randint(-32768, 32767), 7000, -7000, 6999))
        flags = rng.choices((COMMAND_ENABLE, 0, COMMAND_CLEAR, rng.randrange(256)), (20, 1, 3, 1))[0]
        kind = rng.choices((int(self.node["kind"]), rng.randrange(16)), (300, 1))[0]
        expiry_ms = rng.choice((1000, 15, 15, 10, 5, 0, 65535))
        behind = rng.choices((0, rng.randrange(8), rng.randrange(2**32)), (20, 1, 0.05))[0]
        session = rng.choices((int(self.node["session"]), rng.randrange(2**32)), (300, 1))[0]
        sample_seq = (int(self.node["seq"]) - 1 - behind) % 2**32
        return reference_codec.encode(
            reference_codec.Command(self.seq, torque_mNm, expiry_ms, sample_seq, session, flags & 15 | kind << 4)
        )

    def other(self) -> bytes:
        rng = self.rng
        stray = rng.choice((b"", b"\0\0", rng.randbytes(rng.randint(1, 40)), rng.randbytes(rng.randint(1, 600))))
        frame = rng.choice(
            (FRAMES["HELLO"]["line"], FRAMES["SAMPLE"]["line"], reference_codec.frame(rng.randbytes(11)))
        )
        damaged = bytearray(self.command())
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        request = self.request(rng.choices((0, rng.randrange(2**32)), (10, 1))[0])
        return rng.choice((stray, frame, damaged, bytes(damaged[: rng.randrange(15)]), request, request))

    def request(self, nonce: int) -> bytes:
        rng = self.rng
        limits = GuardLimits(
            steer=rng.uniform(0.3, 2.0),
            lean=rng.uniform(0.2, 1.0),
            torque_step=rng.choice((0.5, 3.0, 40.0)),
            rate_hz=200,
            calibration=Calibration(wheel_radius=0.3, gyro_offset=(0.01, 0.02, -0.03), accel_offset=(0.1, -0.2, 0.0)),
        ).as_fields()
        anything = struct.unpack("<iIHH13i", rng.randbytes(64))
        fields = rng.choices(((), limits, anything), (4, 8, 1))[0]
        return reference_codec.encode(
            reference_codec.HelloRequest(rng.randrange(65536), nonce, rng.choice((0, 0, 1, 2, 2, 3)), *fields)
        )

    def take(self, silent: bool) -> bytes:
        rng = self.rng
        if (self.node["foreign"] or self.node["struck"] or self.node["session"] == 0) and rng.random() < 0.3:
            self.left += b"\0" + self.request(rng.randrange(2**32))
        for _ in range(0 if silent else rng.choice((1, 1, 1, 1, 0, 2, 3))):
            self.left += self.other() if rng.random() < 0.1 else self.command()
        cut = len(self.left) if rng.random() < 0.7 else rng.randint(0, len(self.left))
        taken, self.left = self.left[:cut], self.left[cut:]
        return taken


ONE_OF_EACH = (0, 5, 7)  # seeds that choose each of the settings


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed not in ONE_OF_EACH)) for seed in range(12)]
)
def test_long_sequences_make_the_same_torques_and_bytes(seed):
    rng = random.Random(seed)
    quick = {"rate_hz": 1000, "watchdog_ms": 5, "torque_limit": 32.767}
    settings = rng.choice(({}, {"watchdog_ms": 40, "torque_limit": 3.5}, quick))
    settings = {**settings, "rate_limit": rng.choice((6.0, 1.234)), "angle_limit": rng.choice((0.6, 3.2767))}
    pair, line, t = Pair(rng, **settings), Line(rng), 0.0
    line.node = pair.python
    pair.python["seq"] = pair.core.state.seq = 2**32 - 1 - rng.randrange(1500)  # the numbers wrap too
    period = 1 / settings.get("rate_hz", 200)
    stop_button = faults = silent = resting = 0
    for k in range(2500):
        stop_button = rng.random() < (0.5 if stop_button else 0.005)
        faults = (rng.randrange(256) if rng.random() < 0.005 else faults) if rng.random() < 0.7 else 0
        silent = rng.random() < (0.8 if silent else 0.02)
        readings = np.array(
            [rng.gauss(0, rng.choice((1, 1, 1, 1e5) if rng.random() < 0.05 else (1,))) for _ in range(9)]
        )
        readings[6] = resting if rng.random() < 0.6 else 0.1 * readings[6]
        resting = readings[6]
        if rng.random() < 0.01:
            readings[rng.randrange(9)] = rng.choice((np.nan, np.inf, -np.inf))
        pair.step(t, line.take(bool(silent)), stop_button, faults, readings, rng.choice((24.0, 0.0, -1.0, 70.0)))
        jump = rng.uniform(0, 4000) if rng.random() < 0.001 else 0.0
        if k == 1250:
            jump = max(0.0, 4294.5 - t)  # 0.5 s before the clock wraps
        t += jump + period * rng.choices((1, rng.random(), 10), (50, 1, 1))[0]
    assert t > 2**32 * 1e-6
    assert pair.enabled > 200
    assert pair.python["trips"] > 5
    assert pair.struck
    assert pair.python["refused"] > 50
    assert pair.python["rejected"] > 100


def test_behind_a_bad_line_both_say_the_same():
    faults = (
        Fault(Kind.FLIP, 1, chance=0.1, way=BOTH_WAYS),
        Fault(Kind.SPLIT, 0.002, chance=0.2, way=BOTH_WAYS),
        Fault(Kind.NOISE, 40, chance=0.1, way=TO_NODE),
        Fault(Kind.VERSION, 3, chance=0.05, way=TO_NODE),
        Fault(Kind.REORDER, chance=0.05, way=BOTH_WAYS),
        Fault(Kind.STOP_BUTTON, start=1.0, stop=1.2),
        Fault(Kind.DRIVE_TRIPS, start=2.0, stop=2.2),
        Fault(Kind.BUS, 12.0, start=2.5),
    )
    up = []
    for core in CORES.values():
        node_, rx, enabled = core.new_node(new_firmware(CALIBRATION), faults, 1e-5), np.zeros(4096, np.uint8), 0
        said_by_it = b""
        for k in range(800):
            session, flags = int(node_.firmware["session"]), COMMAND_CLEAR if k % 50 < 4 else COMMAND_ENABLE
            frame = command_frame(k, 0.1, flags, sample_seq=k - 1, session=session)
            line = as_bytes(frame if session else reference_codec.encode(reference_codec.HelloRequest(k, 99)))
            post(node_.down, node_.faults, TO_NODE, line, len(line), k * PERIOD, k * PERIOD)
            core.sampling_instant(node_, np.zeros(9), 24.0, k * PERIOD, k * PERIOD)
            said_by_it += rx[: fetch(node_.up, k * PERIOD, rx)].tobytes()
            T, on = core.drive_output(node_, k * PERIOD)
            enabled += on
            assert on or T == 0
        assert 300 < enabled < 700
        up.append(said_by_it)
    assert up[0] == up[1]


# ---- wraps


def enabled_core() -> FirmwareInC:
    core = hear(opened_core(), command_frame(1))
    core.latch(0.0)
    hear(core, command_frame(2, flags=COMMAND_ENABLE))
    core.latch(PERIOD)
    assert core.state.enabled
    return core


def test_commands_keep_it_enabled_over_the_wraps_of_clock_and_number():
    start = 2**32 * 1e-6 - 100 * PERIOD
    core, first = opened_core(), 2**32 - 100
    core.state.seq = first + 1
    hear(core, command_frame(65435, sample_seq=first))
    core.latch(start)
    for k in range(1, 200):
        core.state.seq = (first + k + 1) % 2**32
        hear(core, command_frame(65435 + k, T=1.0, flags=COMMAND_ENABLE, sample_seq=first + k))
        assert core.latch(start + k * PERIOD) == 1.0
    assert core.state.now_us < 1_000_000
    assert core.state.obeyed_seq == (65435 + 199) % 65536


def test_watchdog_strikes_over_the_wrap_of_the_clock():
    start = 2**32 * 1e-6 - 2.5 * PERIOD
    core = hear(opened_core(), command_frame(1))
    core.latch(start)
    hear(core, command_frame(2, T=1.0, flags=COMMAND_ENABLE))
    torques = [core.latch(start + k * PERIOD) for k in range(1, 7)]
    assert torques == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert core.state.status == STATUS_WATCHDOG


def test_a_command_does_not_grow_young_when_the_clock_comes_round():
    core = enabled_core()
    for hour in range(1, 5):
        core.latch(3600.0 * hour)
        assert not core.state.enabled
    assert core.state.age_us == 2**32 - 1  # 4 h modulo 2^32 us are 25 min


@given(U16, U16)
@settings(max_examples=30)
def test_a_number_counts_as_new_when_it_is_ahead(first, second):
    core = hear(opened_core(), command_frame(first))
    core.latch(0.0)
    hear(core, command_frame(second))
    core.latch(PERIOD)
    assert core.state.commands == (2 if 0 < (second - first) % 65536 < 32768 else 1)
