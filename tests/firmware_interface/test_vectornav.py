"""What is particular to the VectorNav: numbers from its clock, ASCII in between, registers and their errors."""

import math
import struct

import numpy as np
import pytest

from firmware_interface.calibration import Calibration
from firmware_interface.devices.vectornav import SIZE
from firmware_interface.devices.vectornav_setup import ERRORS, checked, line_of
from firmware_interface.faults import Fault, Kind
from firmware_interface.twins.twin import TwinConfig
from firmware_interface.twins.vectornav import make
from tests.firmware_interface.pairs import Pair, whole


def test_hand_worked_message():
    """From the tables of the manual: FA, group 01, fields 0129 low byte first, and a CRC that leaves nothing over."""
    rate, force = (0.5, -0.25, 0.125), (1.0, -2.0, -9.5)
    body = bytes.fromhex("012901") + struct.pack("<Q3f3f3f", 5_000_000, 0.0, 0.0, 0.0, *rate, *force)
    crc = 0
    for byte in body:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    message = b"\xfa" + body + crc.to_bytes(2, "big")
    assert len(message) == SIZE
    pair = Pair("vectornav")
    assert pair.take(message) == 1
    assert pair.raw["t_us"] == 5000
    assert pair.raw["gyro_counts"].tolist() == [x * 2**20 for x in rate]
    assert pair.raw["accel_counts"].tolist() == [x * 2**16 for x in force]


def test_a_lost_message_leaves_a_gap_in_the_numbers():
    lost = iter(range(1000))
    pair = Pair("vectornav", up=lambda data: b"" if len(data) >= SIZE and next(lost) % 10 == 7 else data)
    pair.periods(40)
    assert pair.link["receiver"]["samples_lost"] == 4
    assert pair.raw["seq"] == 40 - 1


def test_the_same_message_twice_is_one():
    pair = Pair("vectornav", up=lambda data: data * 2)
    came = sum(pair.period() for _ in range(20))
    assert came == 19
    assert pair.link["receiver"]["samples_repeated"] == 19


def test_a_restart_shows_in_the_clock():
    pair = Pair("vectornav", faults=(Fault(Kind.CLOCK_JUMP, size=-0.2, start=0.3),))
    pair.periods(80)
    assert pair.link["receiver"]["samples_lost"] >= 1


def test_numbers_that_are_none_are_off_the_scale():
    pair = Pair("vectornav")
    pair.periods(5)
    pair.readings[0] = math.nan
    pair.periods(3)
    assert pair.raw["off_scale"] == 1
    pair.readings[0] = 0.0
    pair.periods(3)
    assert pair.raw["off_scale"] == 0


def test_what_is_missing_tells_when_a_message_can_be_whole():
    pair = Pair("vectornav")
    pair.periods(3)
    message = bytes(pair.said[-SIZE:])
    assert pair.link["missing"] == SIZE
    pair.take(message[:20])
    assert pair.link["missing"] == SIZE - 20
    pair.take(message[20:])
    assert pair.link["missing"] == SIZE


def test_ascii_in_between_is_passed_over():
    pair = Pair("vectornav", up=lambda data: line_of("VNERR,03") + data if data else data)
    pair.periods(20)
    assert pair.raw["seq"] == 19
    assert pair.link["receiver"]["bytes_skipped"] == 0


def twin(baud=921600):
    return make(TwinConfig(1, Calibration(wheel_radius=0.3), 200, 0.05, 7.0, {"baud": baud}))


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"$VNRRG,01*00\r\n", 3),
        (line_of("VNXXX,01"), 4),
        (line_of("VNRRG"), 5),
        (line_of("VNWRG,75,1"), 5),
        (line_of("VNWRG,06,0,0"), 6),
        (line_of("VNWRG,75,1,0,01,0129"), 7),
        (line_of("VNRRG,99"), 8),
        (line_of("VNWRG,01,other"), 8),
    ],
)
def test_errors_of_the_twin(request_, code):
    assert code in ERRORS
    assert checked(twin().hear(request_, 0.0).strip()) == f"VNERR,{code:02X}"


def test_a_stream_too_fast_for_the_line_is_refused():
    slow = twin(baud=57600)
    assert checked(slow.hear(line_of("VNWRG,75,1,4,01,0129"), 0.0).strip()) == "VNERR,0C"
    assert checked(slow.hear(line_of("VNWRG,75,1,8,01,0129"), 0.0).strip()) == "VNWRG,75,1,8,01,0129"


def test_stream_beats_at_a_divisor_of_800_hz_whatever_the_steps():
    device = twin()
    device.hear(line_of("VNWRG,06,0") + line_of("VNWRG,75,1,3,01,0129"), 0.0)
    said = b"".join(device.instant(k * 1e-3, np.zeros(9)) for k in range(3000))
    assert len(said) // SIZE == 800
    times = [struct.unpack_from("<Q", said, i * SIZE + 4)[0] for i in range(800)]
    assert np.diff(times) == pytest.approx(3.75e6, abs=1)


def test_four_digit_checks_and_none():
    import binascii

    text = b"VNRRG,01"
    assert checked(b"$VNRRG,01*%04X\r\n" % binascii.crc_hqx(text, 0)) == "VNRRG,01"
    assert checked(b"$VNRRG,01*XX") == "VNRRG,01"
    assert checked(b"$VNRRG,01*0000") is None
    assert whole(b"") == b""
