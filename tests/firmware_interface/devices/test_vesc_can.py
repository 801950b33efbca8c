"""A VESC over CAN: frames of its makers and users, introductions and refusals, all kinds of command, a cut line."""

import struct

import numpy as np
import pytest

from riderless.firmware_interface import slcan
from riderless.firmware_interface.devices import vesc_can
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.slcan import CanFrame
from riderless.firmware_interface.twins import vesc_can as twin_file
from riderless.firmware_interface.twins.conformance import take
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from tests.firmware_interface.devices.bus_bench import BusBench, BusPort, can_frames_of

BENCH = BusBench(vesc_can, twin_file, pole_pairs=7.0, encoder_ratio=2.0)
FRAMES = can_frames_of("vesc")
SETTINGS, config, introduced, refused = BENCH.settings, BENCH.config, BENCH.introduced, BENCH.refused
spoken, tell = BENCH.spoken, BENCH.tell


def linked(introduction=vesc_can.Introduction("x", scale=0.4), settings=None):
    return BENCH.linked(introduction, settings)


def test_a_current_of_51_ampere_is_the_frame_of_its_document():
    (frame, means), *others = FRAMES
    assert len(others) >= 9
    assert spoken(linked(), 0.4 * means["A"], COMMAND_ENABLE).startswith(frame.line)
    twin = twin_file.make(config(torque_limit=30.0))
    twin.hear(slcan.opening(1e6) + frame.line, 0.0)
    twin.instant(0.0, np.zeros(9))
    assert pytest.approx(0.4 * means["A"]) == twin.T
    link = linked()
    take(link, frame.line)
    assert link["memory"][vesc_can._FOREIGN] == 1, "it was not we who said it"


def test_a_captured_answer_is_put_together_by_the_introduction():
    bus = vesc_can._Bus(BusPort(twin_file.make(config())), {**SETTINGS, "vesc_id": 4.0, "host_id": 3.0})
    captured = [frame for frame, means in FRAMES if means["message"] in ("fill", "process")]
    answers = [bus._answer(frame) for frame in captured]
    assert answers[:-1] == [b""] * 11
    assert len(answers[-1]) == 73
    assert answers[-1][0] == 4
    assert int.from_bytes(answers[-1][1:3], "big") == 253, "25.3 degrees, as its status 4 says"
    damaged = captured[2]._replace(data=captured[2].data[:-1] + b"\1")
    assert [bus._answer(f) for f in (*captured[:2], damaged, *captured[3:])][-1] == b"", "its CRC is wrong"


def test_captured_frames_that_are_no_answer_of_ours_change_nothing():
    for frame, means in FRAMES[1:]:
        link = linked(settings={**SETTINGS, "vesc_id": 4.0, "host_id": 3.0})
        assert take(link, frame.line) == 0, means
        assert link["raw"]["seq"] == 0
        assert link["memory"][vesc_can._FOREIGN] == 0, means


def test_the_twin_answers_the_captured_question_of_its_firmware_in_the_captured_form():
    twin = twin_file.make(config({**SETTINGS, "vesc_id": 4.0}))
    twin.hear(slcan.opening(1e6) + CanFrame(0x804, bytes((3, 0, 0)), True).line, 0.0)
    answers = [frame for frame in slcan.can_frames(twin.instant(0.0, np.zeros(9))) if frame.extended]
    assert [frame.identifier for frame in answers] == [0x503] * 4 + [0x703]
    assert [frame.data[0] for frame in answers] == [0, 7, 14, 21, 4]
    assert answers[-1].data[2:4] == bytes((0, 24))


@pytest.mark.parametrize("kind", [COMMAND_KIND_TORQUE, COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_every_kind_of_command_is_obeyed(kind):
    introduction, port = introduced(config(kind=kind), kind=kind)
    assert introduction.name == "VESC 410 6.02"
    link = linked(introduction)
    tell(link, port, 40, kind=kind, value=0.3, flags=COMMAND_ENABLE)
    assert link["raw"]["status"] == STATUS_ENABLED
    assert pytest.approx(0.3, abs=0.01) == port.twin.T


def test_silence_another_id_and_a_wrong_bit_rate():
    assert "nothing came; is this its port" in refused(port=BENCH.saying())
    assert "no frame came" in refused(config({**SETTINGS, "bit_rate": 250_000.0}))
    status = CanFrame(0x905, bytes(8), True).line
    assert "only VESC 5 is heard: correct vesc_id" in refused(config({**SETTINGS, "vesc_id": 5.0}), others=status)
    assert "must differ, found 23 for both" in refused(wanted={**SETTINGS, "host_id": 23.0})
    assert "from 0 to 254, found 255" in refused(wanted={**SETTINGS, "vesc_id": 255.0})


def test_a_fault_and_no_supply():
    assert "fault 4 (absolute over-current)" in refused(config(faults=(Fault(Kind.DRIVE_TRIPS),)))
    assert "should have a supply" in refused(config(bus=0.0))


def test_another_master_before_and_in_the_loop():
    current = CanFrame(1 << 8 | 23, struct.pack(">i", 500), True).line
    assert "found command 1 of another master: end it" in refused(others=current)
    introduced(others=CanFrame(1 << 8 | 24, bytes(4), True).line)
    assert BENCH.status_after(current) & STATUS_FOREIGN


def test_an_answer_that_lacks_a_piece_is_none():
    introduction, port = introduced()
    link, line = linked(introduction), spoken(linked(introduction), send=0)
    whole = port.step(line)
    assert take(link, whole) == 1
    pieces = [part + b"\r" for part in port.step(line).split(b"\r")[:-1]]
    assert take(link, b"".join(pieces[:2] + pieces[3:])) == 0
    assert link["receiver"]["frames_bad_length"] == 1
    assert take(link, port.step(line)) == 1


def test_a_cut_line_ends_the_torque_within_100_ms_and_the_next_command_brings_it_back():
    introduction, port = introduced()
    link = linked(introduction)
    tell(link, port, 40, value=2.0, flags=COMMAND_ENABLE)
    assert pytest.approx(2.0) == port.twin.T
    BENCH.cut(port)
    tell(link, port, 2, send=0)
    assert link["raw"]["status"] & (STATUS_ENABLED | STATUS_WATCHDOG) == STATUS_WATCHDOG, "asking does not feed it"
    tell(link, port, 2, value=2.0, flags=COMMAND_ENABLE)
    assert pytest.approx(2.0) == port.twin.T, "not latched, as its maker has it: the supervisor latches"
