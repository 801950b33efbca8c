"""Sessions of kind rate and angle: what their commands may be, and what is left when they stop."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_FRAME
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_SATURATED,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.node import firmware_state, reference_codec
from tests.firmware_interface.node import test_rules as rules
from tests.firmware_interface.wire import SESSION

PERIOD = rules.PERIOD
KINDS = (COMMAND_KIND_TORQUE, COMMAND_KIND_RATE, COMMAND_KIND_ANGLE)
OTHERS = [(kind, other) for kind in KINDS for other in (*KINDS, 3, 15) if other != kind]


class KindBench(rules.Bench):
    """A node that obeys all kinds, to 7 N m, 6 rad/s and 0.6 rad, with a session of one kind open."""

    def __init__(self, kind: int, limits: dict | None = None, **calibration) -> None:
        limits = {"rate_limit": 6.0, "angle_limit": 0.6} if limits is None else limits
        self.fw = rules.new_firmware(Calibration(wheel_radius=0.3, **calibration), **limits)
        self.decoder = rules.new_decoder()
        self.k = self.seq = 0
        self.readings, self.bus, self.kind = np.zeros(9), 24.0, kind
        self.told = self.hello(SESSION)
        self.session = self.told.session

    def hello(self, nonce: int, seq: int = 1, kind: int | None = None) -> reference_codec.HelloFrame:
        kind = self.kind if kind is None else kind
        self.instant(reference_codec.encode(reference_codec.HelloRequest(seq, nonce, kind)))
        out = np.zeros(MAX_FRAME, np.uint8)
        return reference_codec.decode(out[: rules.firmware_hello(self.fw, out) - 1].tobytes())

    def frame(self, T=0.0, flags=COMMAND_ENABLE, seq=None, kind: int | None = None, **values) -> bytes:
        self.seq = self.seq + 1 if seq is None else seq
        numbers = {"expiry_ms": 1000, "sample_seq": int(self.fw["seq"]) - 1, "session": self.session, **values}
        kind = self.kind if kind is None else kind
        value = round((1e4 if kind == COMMAND_KIND_ANGLE else 1e3) * T)
        return reference_codec.encode(
            reference_codec.Command(
                self.seq, value, numbers["expiry_ms"], numbers["sample_seq"], numbers["session"], flags | kind << 4
            )
        )


@pytest.mark.parametrize("kind", KINDS)
def test_hello_tells_kinds_and_limits(kind):
    told = KindBench(kind).told
    assert (told.kind, told.obeys, told.session) == (kind, 7, SESSION)
    assert (told.torque_limit_mNm, told.rate_limit_mrad_s, told.angle_limit_100urad) == (7000, 6000, 6000)


@pytest.mark.parametrize(("kind", "value"), [(COMMAND_KIND_RATE, -2.5), (COMMAND_KIND_ANGLE, 0.125)])
def test_commands_are_obeyed_in_their_unit(kind, value):
    bench = KindBench(kind).enable()
    assert bench.command(value) == pytest.approx(value, abs=1e-12)
    assert bench.status == STATUS_ENABLED
    assert bench.fw["refused"] == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rate_has_the_drives_sign_and_an_angle_the_encoders_sign_and_zero(sign):
    bench = KindBench(COMMAND_KIND_RATE, torque_sign=sign, steer_sign=-sign, steer_offset=0.1).enable()
    assert bench.command(1.0) == sign * 1.0
    bench = KindBench(COMMAND_KIND_ANGLE, torque_sign=-sign, steer_sign=sign, steer_offset=0.1).enable()
    bench.readings[6] = bench.command(0.3)  # the steer stands where it was told to
    assert bench.readings[6] == pytest.approx(sign * 0.3 - 0.1)
    bench.instant()
    assert bench.sample().steer_counts == round(20000 * 0.3 / (2 * math.pi)), "so the encoder says what was commanded"


@pytest.mark.parametrize(("kind", "limit"), [(COMMAND_KIND_RATE, 6.0), (COMMAND_KIND_ANGLE, 0.6)])
def test_a_command_is_clamped_to_the_limit_of_its_kind(kind, limit):
    bench = KindBench(kind).enable()
    for asked, made in ((1.5 * limit, limit), (-1.5 * limit, -limit), (0.5 * limit, 0.5 * limit)):
        assert bench.command(asked) == pytest.approx(made, abs=1e-12)
        assert bool(bench.status & STATUS_SATURATED) == (abs(asked) > limit)


@pytest.mark.parametrize(("kind", "other"), OTHERS)
@pytest.mark.parametrize("flags", [COMMAND_ENABLE, 0, COMMAND_CLEAR])
def test_a_command_of_another_kind_is_refused_counted_and_switches_off(kind, other, flags):
    bench = KindBench(kind).enable()
    bench.command(0.5)
    assert bench.instant(bench.frame(0.5, flags, kind=other)) == 0.0
    assert bench.status == STATUS_FOREIGN
    assert bench.fw["refused"] == 1
    for flags in (0, COMMAND_CLEAR, COMMAND_ENABLE):
        assert bench.command(0.5, flags) == 0.0, "not even its own kind until another session"
    assert bench.status == STATUS_FOREIGN


def test_no_session_for_a_kind_that_is_not_obeyed():
    bench = KindBench(COMMAND_KIND_RATE, limits={"angle_limit": 0.6})
    assert (bench.told.session, bench.told.obeys, bench.told.rate_limit_mrad_s) == (0, 0b101, 0)
    for flags in (0, COMMAND_CLEAR, COMMAND_ENABLE):
        assert bench.command(0.5, flags) == 0.0
    for kind in (1, 3, 9, 200):
        assert bench.hello(7, kind=kind).session == 0
    assert bench.hello(8, kind=COMMAND_KIND_ANGLE).session != 0


def test_the_same_nonce_for_another_kind_opens_another_session_but_not_while_enabled():
    bench = KindBench(COMMAND_KIND_RATE)
    assert bench.hello(SESSION).kind == COMMAND_KIND_RATE
    bench.enable()
    told = bench.hello(SESSION, kind=COMMAND_KIND_ANGLE)
    assert (told.session, told.kind) == (0, 0)
    assert bench.status == STATUS_FOREIGN
    told = bench.hello(SESSION, kind=COMMAND_KIND_ANGLE)
    assert (told.session != 0, told.kind) == (True, COMMAND_KIND_ANGLE)
    assert bench.command(0.1, 0, session=told.session, kind=COMMAND_KIND_ANGLE) == 0.0
    assert bench.command(0.1, session=told.session, kind=COMMAND_KIND_ANGLE) == pytest.approx(0.1)


def silent(kind: int, expiry_ms: int, value: float = 0.4) -> list[tuple[float, bool]]:
    """What the drive is told, and whether it is on, in each period after the last command came."""
    bench = KindBench(kind).enable()
    told = [(bench.command(value, expiry_ms=expiry_ms), bool(bench.status & STATUS_ENABLED))]
    told += [(bench.instant(), bool(bench.status & STATUS_ENABLED)) for _ in range(8)]
    assert bench.status == STATUS_WATCHDOG
    return told


def test_a_rate_without_commands_is_zero_after_its_expiry_and_off_after_the_watchdog():
    told = silent(COMMAND_KIND_RATE, 15)  # the sample that was answered is a period old
    assert told == [(0.4, True)] * 2 + [(0.0, True)] * 2 + [(0.0, False)] * 5
    assert silent(COMMAND_KIND_RATE, 25) == [(0.4, True)] * 4 + [(0.0, False)] * 5


def test_an_angle_without_commands_is_held_and_off_after_the_watchdog():
    for expiry_ms in (15, 25):
        told = silent(COMMAND_KIND_ANGLE, expiry_ms)
        assert [on for _, on in told] == [True] * 4 + [False] * 5
        assert [value for value, on in told if on] == pytest.approx([0.4] * 4)
        assert [value for value, on in told if not on] == [0.0] * 5


def test_an_angle_drive_is_not_enabled_by_a_command_that_is_void_already():
    bench = KindBench(COMMAND_KIND_ANGLE)
    bench.command(flags=0)
    assert bench.command(0.3, expiry_ms=5) == 0.0
    assert bench.status == 0
    assert bench.command(0.3) == pytest.approx(0.3)
    assert bench.status == STATUS_ENABLED


def test_after_off_and_on_an_angle_is_the_new_one():
    bench = KindBench(COMMAND_KIND_ANGLE).enable()
    bench.command(0.3)
    assert bench.command(flags=0) == 0.0
    assert bench.status == 0
    assert bench.command(-0.2) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"rate_limit": 0.0}, r"rate limit must be above 0 and at most 32.767 rad/s, found 0.0 rad/s"),
        ({"angle_limit": 4.0}, r"angle limit must be above 0 and at most 3.2767 rad, found 4.0 rad"),
    ],
)
def test_limits_that_no_frame_can_hold(limits, words):
    with pytest.raises(DeviceError, match=words):
        firmware_state.new_firmware(Calibration(wheel_radius=0.3), **limits)
