"""The VESC's twin: the device's own rules."""

import binascii
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.messages import (
    STATUS_ENABLED,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.twins import vesc
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.twin import TwinConfig
from tests.paths import REFERENCE

SETTINGS = {"torque_constant_Nm_A": 0.2, "gear_ratio": 2.0, "current_limit_A": 20.0}
WATCHDOG, RATE = 0.05, 200
READINGS = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -9.8, 0.25, 0.0, 1.2])
ON, OFF, TRIPPED = STATUS_ENABLED, 0, STATUS_WATCHDOG


def config(*faults, **truth):
    cal = Calibration(wheel_radius=0.3, **{"steer_counts_per_turn": 360e6, **truth})
    return TwinConfig(
        carries=ROLE_DRIVE | ROLE_STEER,
        calibration=cal,
        rate_hz=RATE,
        watchdog=WATCHDOG,
        torque_limit=7.0,
        settings=SETTINGS,
        faults=faults,
    )


def framed(payload):
    return bytes([2, len(payload)]) + payload + struct.pack(">HB", binascii.crc_hqx(payload, 0), 3)


def amperes(A, kind=6):
    return framed(struct.pack(">Bi", kind, round(1e3 * A)))


ALIVE, ASK = framed(b"\x1e"), framed(bytes.fromhex("3200218120"))


def values(answer):
    """Of our selection: iq, v_in, fault, pid_pos, status, in the VESC's units."""
    assert answer == framed(answer[2:-3])
    kind, mask, *found = struct.unpack(">BIihBiB", answer[2:-3])
    assert (kind, mask) == (50, 0x00218120)
    return tuple(found)


def step(twin, t, data=b"", readings=READINGS):
    answer = twin.hear(data, t)
    assert twin.instant(t, readings) == b"", "it says nothing unasked"
    return answer


# --- the rules of the device


def test_after_power_up_it_makes_nothing_and_times_out():
    twin = vesc.make(config())
    step(twin, 0.0)
    assert (twin.T, twin.enabled) == (0.0, False)
    assert values(twin.hear(ASK, 0.04))[4] == 0
    assert values(twin.hear(ASK, 0.06))[4] == 1


def test_the_time_out_is_not_latched_and_questions_do_not_feed_it():
    twin = vesc.make(config())
    step(twin, 0.0, amperes(2.5))
    assert pytest.approx(1.0) == twin.T
    for t in (0.02, 0.04):
        assert values(step(twin, t, ASK))[4] == 0
    assert twin.T != 0.0
    assert values(step(twin, 0.051, ASK))[4] == 1
    assert (twin.T, twin.enabled) == (0.0, False)
    assert values(step(twin, 0.052, amperes(-2.5) + ASK))[4] == 0
    assert pytest.approx(-1.0) == twin.T
    assert twin.enabled


@pytest.mark.parametrize("kind", [7, 8, 9, 30])
def test_other_commands_feed_it_without_torque_of_ours(kind):
    twin = vesc.make(config())
    step(twin, 0.0, amperes(2.5))
    feed = ALIVE if kind == 30 else amperes(1.0, kind)
    step(twin, 0.04, feed)
    assert pytest.approx(1.0 if kind == 30 else 0.0) == twin.T, "to be alive changes nothing"
    assert values(step(twin, 0.08, ASK))[4] == 0
    assert values(step(twin, 0.1, ASK))[4] == 1
    step(twin, 0.11, feed)
    assert twin.T == 0.0, "the time-out has taken the current away"
    assert values(step(twin, 0.12, ASK))[4] == 0
    step(twin, 0.13, amperes(2.5))
    step(twin, 0.5, ALIVE)
    assert twin.T == 0.0, "even if that went unseen"


@pytest.mark.parametrize("data", [framed(b"\x06\x00\x00"), framed(b"\x22\x07" + amperes(1.0)[2:-3]), framed(b"\xde")])
def test_what_is_not_for_it_does_not_feed_it(data):
    twin = vesc.make(config())
    assert step(twin, 0.06, data) == b""
    assert not twin.enabled
    assert values(twin.hear(ASK, 0.06))[4] == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_torque_and_readings_in_the_axes_of_the_bicycle(sign):
    twin = vesc.make(config(torque_sign=sign, steer_sign=-1, steer_offset=0.05, steer_gear_ratio=2.0))
    step(twin, 0.0, amperes(5.0))
    assert pytest.approx(2.0 * sign) == twin.T
    iq, v_in, fault, position, status = values(twin.hear(ASK, 0.0))
    assert (iq, v_in, fault, status) == (300 * sign, 240, 0, 0)
    assert position == pytest.approx(1e6 * (360.0 - np.degrees(0.6)), abs=40.0)  # single precision
    step(twin, 0.001, amperes(30.0))
    assert sign * 7.0 == twin.T, "never beyond its limit"


def test_full_values_and_version():
    twin = vesc.make(config())
    step(twin, 0.0)
    answer = twin.hear(framed(b"\x04"), 0.0)
    assert len(answer) == 79, "as captured"
    question = b"\x04" + bytes(254)  # the shortest it takes with a length of two bytes
    assert twin.hear(b"\x03\x00\xff" + question + struct.pack(">HB", binascii.crc_hqx(question, 0), 3), 0.0) == answer
    assert answer[2:3] + answer[-4:-3] == b"\x04\x00"
    assert struct.unpack_from(">h", answer, 2 + 1 + 26) == (240,), "behind nine values"
    assert twin.hear(framed(b"\x00"), 0.0)[2:9] == b"\x00\x06\x02410\0"


def test_older_firmware():
    assert len(vesc.VescTwin(config(), firmware=(5, 2)).hear(ASK, 0.0)) == 21, "without the status"
    assert vesc.VescTwin(config(), firmware=(3, 40)).hear(ASK, 0.0) == b""


def test_packets_in_pieces_and_behind_false_starts():
    twin, question = vesc.make(config()), framed(b"\x00")
    answer = twin.hear(question, 0.0)
    assert b"".join(twin.hear(question[i : i + 1], 0.0) for i in range(len(question))) == answer
    assert twin.hear(b"\x02\x05garbage\x03\xff" + question * 2, 0.0) == answer * 2
    broken = bytearray(question)
    broken[3] ^= 1
    assert twin.hear(bytes(broken), 0.0) == b""
    assert twin.hear(question, 0.0) == answer


def test_a_false_start_makes_it_wait_for_what_it_claims():
    twin = vesc.make(config())
    assert b"".join(twin.hear(data, 0.0) for data in (b"\x02\x2b", *[ASK] * 4)) == b""
    assert len(twin.hear(ASK, 0.0)) == 22 * 5, "45 bytes later it looks again, and finds all five"


@given(
    st.lists(st.binary(max_size=40) | st.sampled_from([ASK, ALIVE, amperes(1.0), b"\x02\xf0", b"\x03"]), max_size=30)
)
def test_nothing_confuses_it_for_long(parts):
    twin = vesc.make(config())
    for k, part in enumerate(parts):
        twin.hear(part, 0.001 * k)
        twin.instant(0.001 * k, READINGS)
    twin.hear(bytes(600), 0.1)  # more than any false start may claim
    assert values(twin.hear(ASK, 0.1))[1] == 240


def test_a_reset_forgets_everything():
    twin = vesc.make(config(Fault(Kind.RESET, 0.3, start=1.0)))
    step(twin, 0.99, amperes(2.5) + ASK[:4])
    assert twin.T != 0.0
    assert step(twin, 1.0, ASK) == b""
    assert (twin.T, twin.enabled) == (0.0, False)
    assert values(step(twin, 1.31, ASK))[4] == 0, "it has just begun"
    assert not twin.enabled
    assert values(step(twin, 1.36, ASK))[4] == 1
    step(twin, 1.37, amperes(2.5))
    assert twin.T != 0.0, "once only"


def test_slowing_misses_questions_and_obeys_all_the_same():
    twin, missed = vesc.make(config(Fault(Kind.SLOWING, 1.0, seed=3))), 0
    for k in range(400):
        missed += step(twin, 0.005 * k, amperes(2.5) + ASK) == b""
        assert pytest.approx(1.0) == twin.T
    assert 250 < missed < 350, "from none to all in a second, then all"


@pytest.mark.parametrize(
    ("fault", "T", "iq"),
    [
        (Fault(Kind.DRIVE_GAIN, 0.5), 0.5, 300),
        (Fault(Kind.DRIVE_GAIN, -1.0), -1.0, 300),
        (Fault(Kind.DRIVE_LIES, 0.5), 0.5, 250),
        (Fault(Kind.DRIVE_CLAMP, 0.3), 0.3, 300),
        (Fault(Kind.DRIVE_TRIPS), 0.0, 300),
        (Fault(Kind.STOP_BUTTON), 0.0, 300),
    ],
)
def test_faults_of_the_drive(fault, T, iq):
    twin = vesc.make(config(fault))
    step(twin, 0.0, amperes(2.5))
    assert pytest.approx(T) == twin.T
    assert values(twin.hear(ASK, 0.0))[0] == iq


def test_a_drive_that_holds():
    twin = vesc.make(config(Fault(Kind.DRIVE_HOLDS, start=0.01)))
    step(twin, 0.0, amperes(2.5))
    step(twin, 0.02, amperes(0.0))
    assert pytest.approx(1.0) == twin.T
    step(twin, 0.5)
    assert pytest.approx(1.0) == twin.T
    assert twin.enabled


@pytest.mark.parametrize(("kind", "code", "bits"), [(Kind.DRIVE_TRIPS, 4, 0), (Kind.STOP_BUTTON, 0, 2)])
def test_what_stops_it_takes_the_current_away_until_a_new_command(kind, code, bits):
    twin = vesc.make(config(Fault(kind, start=0.01, stop=0.03)))
    step(twin, 0.0, amperes(2.5))
    found = values(step(twin, 0.02, amperes(2.5) + ASK))
    assert (found[2], found[4]) == (code, bits)
    assert (twin.T, twin.enabled) == (0.0, False)
    found = values(step(twin, 0.031, ASK))
    assert (found[2], found[4]) == (0, 0)
    assert twin.T == 0.0
    step(twin, 0.032, amperes(2.5))
    assert pytest.approx(1.0) == twin.T


def test_vectors_of_answers_have_the_twins_layout():
    file = REFERENCE / "device_vectors.json"
    seen = 0
    for v in json.loads(file.read_text(encoding="utf-8"))["vectors"]:
        data, twin = bytes.fromhex(v["hex"]), vesc.make(config())
        if v["device"] != "vesc":
            continue
        if v["kind"] == "COMM_GET_VALUES reply":
            assert len(twin.hear(framed(b"\x04"), 0.0)) == len(data)
            seen += 1
        elif v["valid"] and "SELECTIVE reply" in v["kind"] and "mask" in v["decoded"]:
            answer = twin.hear(framed(data[2:7]), 0.0)
            assert answer[:7] == data[:7]
            assert len(answer) == len(data)
            seen += 1
        elif v["valid"]:
            twin.hear(b"\xff" + data, 0.0)
            assert twin.hear(framed(b"\x00"), 0.0)[2:4] == b"\x00\x06", "whatever came, it goes on"
            seen += 1
    assert seen == 14
