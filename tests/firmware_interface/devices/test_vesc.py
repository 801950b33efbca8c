"""Driver of the VESC: currents and questions out, answers in, angles that go around."""

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from tests.firmware_interface.devices.vesc_bench import ASKED, SCALE, answer, counted, fed, framed, fresh, told


def test_a_current_and_a_question_worked_by_hand():
    """-0.6 N m / 0.4 N m/A = -1500 mA = FFFFFA24."""
    link = fresh()
    said = told(link, T_cmd=-0.6, flags=COMMAND_ENABLE, seq=7)
    assert said == bytes.fromhex("020506fffffa24d1a903") + ASKED
    assert link["said_seq"] == 7


@pytest.mark.parametrize(
    ("T", "scale", "flags"),
    [(T, SCALE, COMMAND_ENABLE) for T in (np.nan, np.inf, -np.inf, 1e308)]
    + [(1.0, scale, COMMAND_ENABLE) for scale in (0.0, np.nan)]
    + [(1.0, SCALE, flags) for flags in (0, COMMAND_CLEAR)],
)
def test_what_is_no_current_or_not_enabled_is_no_torque(T, scale, flags):
    link = fresh(scale)
    assert told(link, T_cmd=T, flags=flags) == framed(b"\x07" + bytes(4)) + ASKED
    fed(link, answer())
    assert not link["raw"]["status"] & STATUS_ENABLED


@pytest.mark.parametrize(("T", "mA"), [(1e9, 2**31 - 1), (-1e9, -(2**31) + 1)])
def test_a_current_stays_within_its_field(T, mA):
    assert told(fresh(), T_cmd=T, flags=COMMAND_ENABLE)[:10] == framed(struct.pack(">Bi", 6, mA))


@pytest.mark.parametrize(("send", "role"), [(0, ROLE_DRIVE | ROLE_STEER), (1, ROLE_STEER)])
def test_only_questions_when_the_drive_must_not_be_fed(send, role):
    link = fresh(role=role)
    assert told(link, send, T_cmd=1.0, flags=COMMAND_ENABLE, seq=9) == ASKED
    assert link["said_seq"] == 0


def test_an_answer_becomes_a_reading():
    link = fresh()
    link["raw"]["seq"] = 65_535
    told(link, T_cmd=1.0, flags=COMMAND_ENABLE, seq=513)
    assert fed(link, answer(iq=-250, v_in=251, position=12_345_678)) == 1
    raw = link["raw"]
    assert (raw["torque_mNm"], raw["bus_mV"], raw["steer_counts"]) == (-1000, 25_100, 12_345_678)
    assert (raw["status"], raw["faults"], raw["off_scale"], raw["t_us"]) == (STATUS_ENABLED, 0, 0, 0)
    assert (raw["command_seq"], raw["seq"]) == (513, 0), "numbers go around"
    assert counted(link) == {"frames_ok": 1}


@pytest.mark.parametrize(
    ("values", "status", "faults"),
    [
        ({}, STATUS_ENABLED, 0),
        ({"status": 1}, STATUS_WATCHDOG, 0),
        ({"status": 2}, STATUS_STOP_BUTTON, 0),
        ({"status": 3}, STATUS_WATCHDOG | STATUS_STOP_BUTTON, 0),
        ({"status": 0xFC}, STATUS_ENABLED, 0),  # bits of firmware to come
        ({"fault": 4}, 0, FAULT_DRIVE),
        ({"fault": 255, "status": 1}, STATUS_WATCHDOG, FAULT_DRIVE),
    ],
)
def test_status_and_faults(values, status, faults):
    link = fresh()
    told(link, flags=COMMAND_ENABLE)
    fed(link, answer(**values))
    assert (link["raw"]["status"], link["raw"]["faults"]) == (status, faults)


def test_enabled_is_what_the_last_command_said():
    link = fresh()
    fed(link, answer())
    assert link["raw"]["status"] == 0, "nothing was ever said"
    for send, flags, on in [(1, COMMAND_ENABLE, True), (0, 0, True), (1, COMMAND_CLEAR, False), (0, 1, False)]:
        told(link, send, flags=flags)
        fed(link, answer())
        assert bool(link["raw"]["status"] & STATUS_ENABLED) == on


@pytest.mark.parametrize(
    ("first", "counts"),
    [(0, 0), (180_000_000, 180_000_000), (180_000_001, -179_999_999), (359_999_999, -1), (360_000_000, 0)],
)
def test_the_first_angle_is_the_one_nearest_to_zero(first, counts):
    link = fresh()
    fed(link, answer(position=first, v_in=656))
    raw = link["raw"]
    assert (raw["steer_counts"], raw["off_scale"], raw["bus_mV"]) == (counts, 0, 65_535)


@given(st.lists(st.integers(-179_000_000, 179_000_000), max_size=20), st.integers(-179_000_000, 180_000_000))
@example([179_000_000] * 12, 0)
@example([-179_000_000] * 12, 0)
def test_the_angle_goes_on_around_the_turn(steps, angle):
    link = fresh()
    fed(link, answer(position=angle % 360_000_000))
    for step in steps:
        angle += step
        fed(link, answer(position=angle % 360_000_000))
        inside = abs(angle) < 2**31
        assert link["raw"]["off_scale"] == (not inside)
        if not inside:
            return
        assert link["raw"]["steer_counts"] == angle


@pytest.mark.parametrize("values", [{"position": 2**31 - 1}, {"position": -1}, {"iq": 2**31 - 1}])
def test_what_is_off_its_scale_is_said_and_forgotten(values):
    link = fresh(scale=1000.0)
    fed(link, answer(iq=1, position=7))
    fed(link, answer(**values))
    assert link["raw"]["off_scale"] == 1
    assert (link["raw"]["torque_mNm"], link["raw"]["steer_counts"]) == (10_000, 7), "the last good ones stay"
    fed(link, answer(position=8, v_in=-1))
    assert (link["raw"]["off_scale"], link["raw"]["steer_counts"], link["raw"]["bus_mV"]) == (0, 8, 0)
