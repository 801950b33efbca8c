"""An ODrive over CAN: frames of its makers, introductions and refusals, all kinds of command, a line that is cut."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface import slcan
from riderless.firmware_interface.devices import odrive_can
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.slcan import CanFrame
from riderless.firmware_interface.twins import odrive_can as twin_file
from riderless.firmware_interface.twins.conformance import take
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from tests.firmware_interface.devices.bus_bench import BusBench, BusPort, can_frames_of
from tests.firmware_interface.devices.pairs import Pair

BENCH = BusBench(odrive_can, twin_file)
FRAMES = can_frames_of("odrive")
SETTINGS, config, introduced, refused = BENCH.settings, BENCH.config, BENCH.introduced, BENCH.refused
linked, spoken, tell = BENCH.linked, BENCH.spoken, BENCH.tell
ONE_OF_06 = {**SETTINGS, "firmware": 0.6}
OF_MASTER = {"set state", "set modes", "set rate", "set angle", "question"}


def test_there_are_ten_frames_of_others_at_least():
    assert len(FRAMES) >= 10


@pytest.mark.parametrize(("frame", "means"), FRAMES)
def test_the_driver_reads_frames_of_others(frame, means):
    link = linked(Introduction("x", 200), {**SETTINGS, "node_id": means["node"]})
    own = link.copy()
    assert take(link, frame.line) == 0
    memory = link["memory"]
    if means["message"] == "heartbeat":
        assert (memory[odrive_can._ERROR], memory[odrive_can._STATE]) == (means["error"], means["state"])
    elif means["message"] == "estimates":
        assert memory[odrive_can._POSITION] == round(1e6 * means["turns"])
        assert memory[odrive_can._HEARD] != 0
    else:
        assert means["message"] in OF_MASTER
        assert memory[odrive_can._FOREIGN] == 1, "it is no axis that says this"
    other = own.copy()
    other["memory"][odrive_can._NODE] = 9
    take(other, frame.line)
    assert other["memory"][odrive_can._FOREIGN] == other["memory"][odrive_can._HEARD] == 0, "another node's concern"


@pytest.mark.parametrize(("frame", "means"), FRAMES)
def test_the_twin_obeys_frames_of_others_and_says_them(frame, means):
    kind = {"set rate": COMMAND_KIND_RATE, "set angle": COMMAND_KIND_ANGLE}.get(means["message"], COMMAND_KIND_TORQUE)
    twin = twin_file.make(config({**SETTINGS, "node_id": means["node"], "gear_ratio": 1.0}, kind=kind))
    twin.hear(slcan.opening(1e6), 0.0)
    record = twin.record
    if means["message"] == "heartbeat":
        record["error"], record["axis_state"], record["fed"] = means["error"], means["state"], 1e9
        size = twin._quick.tell(record, 0.0, np.zeros(9), out := np.zeros(4096, np.uint8))
        assert frame.line in out[:size].tobytes()
        return
    twin.hear(frame.line, 0.0)
    if means["message"] == "set state":
        assert record["wanted"] == means["state"]
    elif means["message"] == "set modes":
        assert record["memory"][7] == 0, "no input mode but passthrough is obeyed"
    elif means["message"] == "set rate":
        assert record["value"] == pytest.approx(2.0 * np.pi * means["turns_per_s"])
    elif means["message"] == "set angle":
        assert record["value"] == pytest.approx(2.0 * np.pi * means["turns"], rel=1e-6)
    elif means["message"] == "question":
        assert CanFrame(0x09, bytes(8)).line in twin.instant(0.0, np.zeros(9))


@pytest.mark.parametrize("settings", [SETTINGS, ONE_OF_06])
def test_what_it_says_of_itself(settings):
    introduction, port = introduced(config(settings), settings)
    assert introduction.name == (
        "ODrive 0.6.2, node 3 (control_mode, input_mode, enable_watchdog, watchdog_timeout not read back)"
        if settings is ONE_OF_06
        else "ODrive 0.5, node 3"
    )
    assert (introduction.rate_hz, introduction.scale, introduction.torque_limit, introduction.watchdog) == (
        200,
        2.0,
        7.0,
        0.05,
    )
    assert introduction.per_amp == pytest.approx(0.2)
    assert not port.twin.enabled
    assert port.twin.T == 0.0


@pytest.mark.parametrize("kind", [COMMAND_KIND_TORQUE, COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
@pytest.mark.parametrize("settings", [SETTINGS, ONE_OF_06])
def test_every_kind_of_command_is_obeyed(kind, settings):
    introduction, port = introduced(config(settings, kind=kind), settings, kind=kind)
    link = linked(introduction, settings)
    tell(link, port, 40, kind=kind, flags=2)
    tell(link, port, 40, kind=kind, value=0.3, flags=COMMAND_ENABLE)
    assert link["raw"]["status"] == STATUS_ENABLED
    assert pytest.approx(0.3, abs=1e-6) == port.twin.T


def test_a_set_point_of_one_newton_metre_is_the_line_that_others_write():
    link = linked(Introduction("x", 200), {**SETTINGS, "node_id": 1})
    assert spoken(link, 1.0, COMMAND_ENABLE) == b"t02E40000803F\r"
    assert spoken(link, 1.0, COMMAND_ENABLE, send=0) == b"", "no question keeps the watchdog alive"


def test_silence_another_device_and_a_wrong_bit_rate():
    assert "nothing came; is this its port" in refused(port=BENCH.saying())
    chatter = BENCH.saying(b"$VNYPR,1*00\r\n")
    assert "bytes of something else came; is the drive's can.config.baud_rate 1000000 bit/s" in refused(port=chatter)
    assert "no frame came" in refused(config({**SETTINGS, "bit_rate": 250_000.0}))
    assert "found node 5: correct node_id" in refused(config({**SETTINGS, "node_id": 5.0}))


def test_another_master_on_the_bus():
    question = CanFrame(3 << 5 | 0x17, remote=True).line
    torque = CanFrame(3 << 5 | 0x0E, struct.pack("<f", 0.5)).line
    for line in (question, torque):
        assert "found message 0x" in refused(others=line)
        assert "of another master: end it" in refused(others=line)
    written = CanFrame(3 << 5 | 0x04, bytes.fromhex("01 c9 00 00 00")).line  # its watchdog off, by 0.6's number
    assert "found message 0x04 of another master" in refused(config(ONE_OF_06), ONE_OF_06, others=written)
    introduced(others=written)  # 0.5: what the axis says of its encoder
    introduced(others=CanFrame(4 << 5 | 0x0E, bytes(4)).line + CanFrame(3 << 5 | 0x0E, bytes(4), extended=True).line)


def test_another_master_in_the_loop_is_reported_from_then_on():
    assert BENCH.status_after(CanFrame(3 << 5 | 0x0E, struct.pack("<f", 0.5)).line) & STATUS_FOREIGN


def test_another_version_is_refused_either_way():
    assert "should run firmware 0.5.6, but answers as 0.6.2" in refused(config(ONE_OF_06), SETTINGS)
    assert "should run firmware 0.6, but answers as 0.5" in refused(config(SETTINGS), ONE_OF_06)


def test_a_pace_that_is_not_the_loops():
    assert "should tell heartbeat 200 times a second, found 100" in refused(config(rate_hz=100))
    assert "heartbeat_rate_ms (0.6: _msg_rate_ms) to 5 in odrivetool" in refused(config(rate_hz=100))


def test_a_watchdog_that_is_off_or_slow():
    assert "the watchdog of node 3" in refused(config(faults=(Fault(Kind.WATCHDOG_DEAD),)))
    assert "watchdog_timeout = 0.05 and enable_watchdog = True" in refused(config(watchdog=1.0))


NUMBERS = {"control_mode_id": 382.0, "input_mode_id": 383.0, "enable_watchdog_id": 201.0, "watchdog_timeout_id": 200.0}
READ_BACK = {**ONE_OF_06, **NUMBERS}


@pytest.mark.parametrize("kind", [COMMAND_KIND_TORQUE, COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_one_of_06_is_read_back_by_the_numbers_that_the_rig_gives(kind):
    introduction, port = introduced(config(READ_BACK, kind=kind), READ_BACK, kind=kind)
    assert introduction.name == "ODrive 0.6.2, node 3"
    assert not port.twin.enabled


def test_the_question_for_a_value_is_the_one_of_its_makers():
    line, asked = CanFrame(3 << 5 | 4, bytes.fromhex("00 7e01 00")).line, []
    twin = twin_file.make(config(READ_BACK))
    hear = twin.hear
    twin.hear = lambda data, t: (asked.append(data), hear(data, t))[1]
    introduced(wanted=READ_BACK, port=BusPort(twin))
    assert any(line in data for data in asked)


class DeafToModes(BusPort):
    """A drive that goes on in position control whatever it is told."""

    def step(self, data=b""):
        return super().step(b"".join(part + b"\r" for part in data.split(b"\r")[:-1] if part[:4] != b"t06B"))


@pytest.mark.parametrize(
    ("twin_config", "words"),
    [
        (
            config(READ_BACK, faults=(Fault(Kind.WATCHDOG_DEAD),)),
            "enable_watchdog of node 3 on memory:can0 should be 1, found 0",
        ),
        (config(READ_BACK, watchdog=1.0), "watchdog_timeout of node 3 on memory:can0 should be 0.05, found 1: set"),
        (
            config({**READ_BACK, "control_mode_id": 500.0}),
            "control_mode of node 3 on memory:can0 should be 1, found no answer",
        ),
    ],
)
def test_what_06_is_set_to_otherwise_is_refused(twin_config, words):
    sentence = refused(twin_config, READ_BACK)
    assert words in sentence
    assert "_id (" in sentence
    assert "flat_endpoints.json of firmware 0.6.2" in sentence


def test_a_drive_that_stays_in_another_mode_is_refused_before_it_is_ever_on():
    port = DeafToModes(twin_file.make(config(READ_BACK)))
    assert "control_mode of node 3 on memory:can0 should be 1, found 3: set" in refused(wanted=READ_BACK, port=port)
    assert not port.twin.enabled


def test_an_error_that_stays():
    assert "found state 1, error 0x40" in refused(config(faults=(Fault(Kind.DRIVE_TRIPS),)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("node_id", 63.0, "from 0 to 62, found 63"),
        ("firmware", 0.4, "0.5 (board v3.x) or 0.6 (S1, Pro), found 0.4"),
        ("bit_rate", 400_000.0, "found 400000"),
        ("control_mode_id", 382.0, "tells no value by a number, found control_mode_id:"),
        ("gear_ratio", 0.0, "gear_ratio of the odrive_can must be positive"),
        ("torque_constant_Nm_A", np.nan, "must be positive, found nan"),
    ],
)
def test_settings_that_cannot_be_meant(name, value, words):
    assert words in refused(wanted={**SETTINGS, name: value})


def test_a_bus_that_is_too_slow_for_the_loop():
    slow = {**SETTINGS, "bit_rate": 125_000.0}
    assert "a CAN bus of 125000 bit/s is too slow for an ODrive at 200 Hz" in refused(config(slow), slow)


@pytest.mark.parametrize("settings", [SETTINGS, ONE_OF_06])
def test_a_cut_line_ends_the_torque_within_100_ms_and_latches(settings):
    introduction, port = introduced(config(settings), settings)
    link = linked(introduction, settings)
    tell(link, port, 40, flags=2)
    tell(link, port, 40, value=2.0, flags=COMMAND_ENABLE)
    assert pytest.approx(2.0) == port.twin.T
    begun = port.k
    BENCH.cut(port)
    assert port.k - begun >= 40
    tell(link, port, 40, value=2.0, flags=COMMAND_ENABLE)
    assert port.twin.T == 0.0, "latched: a new command alone does not bring it back"
    assert link["raw"]["status"] & (STATUS_ENABLED | STATUS_WATCHDOG) == STATUS_WATCHDOG


def test_a_reading_without_a_heartbeat_counts_for_nothing():
    pair = Pair(
        "odrive_can", up=lambda data: b"".join(part + b"\r" for part in data.split(b"\r") if part[:4] != b"t061")
    )
    pair.periods(20)
    assert pair.raw["seq"] == 0


def test_the_emergency_stop_and_errors_of_06():
    twin_config = config(ONE_OF_06, faults=(Fault(Kind.STOP_BUTTON, start=3.0), Fault(Kind.DRIVE_TRIPS, start=4.0)))
    introduction, port = introduced(replace(twin_config), ONE_OF_06)
    link = linked(introduction, ONE_OF_06)
    while port.k < 3500:
        tell(link, port, 10)
    assert link["raw"]["status"] & STATUS_STOP_BUTTON
    while port.k < 4500:
        tell(link, port, 10)
    assert link["raw"]["faults"] & FAULT_DRIVE


def test_registered():
    assert device("odrive_can") is BENCH.driver
