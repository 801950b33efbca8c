"""A moteus by its own adapter: frames of its maker, introductions and refusals, a line that is cut."""

import re
import struct

import numpy as np
import pytest

from riderless.firmware_interface.devices import moteus
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_RATE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.twins import moteus as twin_file
from riderless.firmware_interface.twins.conformance import take
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from tests.firmware_interface.devices.bus_bench import BusBench, known_frames

BENCH = BusBench(moteus, twin_file, "fdcanusb")
SETTINGS, config, introduced, refused = BENCH.settings, BENCH.config, BENCH.introduced, BENCH.refused
spoken, tell = BENCH.spoken, BENCH.tell


def linked(introduction=Introduction("x", scale=2.0)):
    return BENCH.linked(introduction)


def frames(**having):
    ours = [(f["identifier"], f["data"], f["means"]) for f in known_frames("moteus")]
    return [frame for frame in ours if set(having.values()) <= set(frame[2])]


def answer_of(twin, identifier, data):
    """Data of the frame that answers; empty if none does."""
    twin.hear(f"can send {identifier} {data}\n".encode(), 0.0)
    found = re.search(rb"rcv 100 ([0-9a-f]+)", twin.instant(0.0, np.zeros(9)))
    return bytes.fromhex(found[1].decode()) if found else b""


def test_there_are_ten_frames_of_its_maker_at_least():
    assert len(frames()) >= 10


@pytest.mark.parametrize(("identifier", "data", "means"), frames(key="mode"))
def test_the_twin_takes_the_modes_of_its_makers_frames(identifier, data, means):
    twin = twin_file.make(config())
    if "answer_of" in means:
        return
    answer = answer_of(twin, identifier, data)
    assert twin.record["axis_state"] == means["mode"]
    if "answer" in means:
        assert answer[:4] == bytes.fromhex(means["answer"])[:4], "registers, their form, and the mode"
        assert (answer[11:13], len(answer)) == (bytes.fromhex("230d"), 16)


@pytest.mark.parametrize(("identifier", "data", "means"), frames(key="answer_size"))
def test_the_twin_answers_as_long_as_its_maker_says(identifier, data, means):
    answer = answer_of(twin_file.make(config()), identifier, data)
    assert len(answer) == next(size for size in (16, 24, 64) if size >= means["answer_size"])


@pytest.mark.parametrize(("identifier", "data", "means"), frames())
def test_the_driver_hears_its_makers_frames_and_makes_no_reading_of_other_answers(identifier, data, means):
    link = linked()
    assert take(link, f"rcv {identifier} {data} E B F\r\n".encode()) == 0
    assert link["receiver"]["frames_ok"] == 1
    assert link["memory"][moteus._FOREIGN] == ("answer_of" not in means), "what goes to servo 1 is a master's"


def test_what_the_driver_says_is_made_of_its_makers_subframes():
    line = spoken(linked(), 3.0, COMMAND_ENABLE)
    data = bytes.fromhex(line.removeprefix(b"can send 8001 ").decode().strip())
    assert len(data) == 48
    assert data[:6] == bytes.fromhex("01000a0c0620"), "mode 10, six floats from register 0x20"
    position, *rest = struct.unpack("<6f", data[6:30])
    assert np.isnan(position)
    assert rest == [0.0, 1.5, 0.0, 0.0, 3.5], "a torque at its output: no place, no gains"
    assert data[30:32] == bytes.fromhex("0d27")
    assert struct.unpack("<f", data[32:36])[0] == pytest.approx(0.05)
    assert data[36:42] == bytes.fromhex("0d2b00000000")
    assert data[42:] == bytes.fromhex("1c0400170d50")
    assert spoken(linked(), np.nan, COMMAND_ENABLE).startswith(b"can send 8001 010000")
    assert spoken(linked(), send=0) == b"can send 8001 1c0400170d\n", "a question alone"


def test_what_it_says_of_itself_and_a_torque():
    introduction, port = introduced()
    assert (introduction.name, introduction.scale, introduction.rate_hz) == ("moteus 1.3.4, servo 1", 2.0, None)
    link = linked(introduction)
    tell(link, port, 10, value=1.0, flags=COMMAND_ENABLE)
    assert link["raw"]["status"] == STATUS_ENABLED
    assert pytest.approx(1.0) == port.twin.T


def test_a_timeout_that_does_not_switch_off():
    for mode in (10.0, 12.0, 15.0):
        sentence = refused(config({**SETTINGS, "timeout_mode": mode}))
        assert f"servo.timeout_mode of moteus 1 on memory:fdcanusb should be 0, found {mode:g}" in sentence


def test_silence_another_servo_another_device_and_a_fault():
    assert "nothing came; is this the fdcanusb's port" in refused(port=BENCH.saying())
    assert "an slcan adapter does not do" in refused(port=BENCH.saying(b"z\r\n"))
    assert "only servo 5 is heard" in refused(config({**SETTINGS, "servo_id": 5.0}), others=b"rcv 500 20000a\r\n")
    assert "found mode 1, fault 33" in refused(config(faults=(Fault(Kind.DRIVE_TRIPS),)))
    assert "from 1 to 126, found 0" in refused(wanted={**SETTINGS, "servo_id": 0.0})
    assert "commanded a torque here" in refused(kind=COMMAND_KIND_RATE)


def test_another_master_before_and_in_the_loop():
    assert "found master 2: end it" in refused(others=b"rcv 8201 01000a\r\n")
    assert BENCH.status_after(b"rcv 8201 01000a\r\n") & STATUS_FOREIGN


def test_a_cut_line_ends_the_torque_within_100_ms_and_latches():
    introduction, port = introduced()
    link = linked(introduction)
    tell(link, port, 40, value=2.0, flags=COMMAND_ENABLE)
    assert pytest.approx(2.0) == port.twin.T
    BENCH.cut(port)
    tell(link, port, 4, value=2.0, flags=COMMAND_ENABLE)
    assert port.twin.T == 0.0
    assert link["raw"]["status"] == STATUS_WATCHDOG
    tell(link, port, 4)
    tell(link, port, 4, value=2.0, flags=COMMAND_ENABLE)
    assert link["raw"]["status"] == STATUS_ENABLED, "off has cleared it"
