"""The VESC's twin: the device's own rules, and driver and twin together through what the supervisor does."""

import binascii
import json
import os
import pty
import struct
import tty

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_interface.calibration import Calibration, calibrate, drive_command, new_clock
from firmware_interface.devices import vesc as driver
from firmware_interface.devices.driver import DeviceRequirements
from firmware_interface.devices.link import LINK_STATE, ROLE_DRIVE, ROLE_STEER, hear, new_link, say
from firmware_interface.errors import DeviceError
from firmware_interface.messages import (
    COMMAND,
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_TORQUE,
    FAULT_DRIVE,
    SAMPLE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from firmware_interface.port import open_port
from firmware_interface.twins import vesc
from firmware_interface.twins.faults import Fault
from firmware_interface.twins.faults import FaultKind as Kind
from firmware_interface.twins.twin import STEP_RATE, TwinConfig
from tests.firmware_interface.listener import device as in_a_thread
from tests.firmware_interface.wire import as_bytes, record
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


# --- driver and twin


class Pair:
    """A driver and a twin, tick by tick at 200 Hz; ``line`` may change what passes up."""

    def __init__(self, *faults, line=bytes, **truth) -> None:
        self.config = config(*faults, **truth)
        self.twin, self.readings, self.line = vesc.make(self.config), READINGS.copy(), line
        links = np.zeros(1, LINK_STATE)
        links[0] = new_link()
        self.link = links[0]
        self.link["hear"], self.link["say"] = driver.DEVICE.hear, driver.DEVICE.say
        self.link["scale"], self.link["role"] = 0.4, ROLE_DRIVE | ROLE_STEER
        self.k = self.seq = 0
        self.pending = b""

    def ticks(self, n, T=0.0, flags=0, send=1):
        """Periods of the loop; ``T`` [N m] positive to the right."""
        for _ in range(n):
            hear(self.link, as_bytes(self.pending), len(self.pending))
            self.seq += send
            command = record(
                COMMAND,
                T_cmd=drive_command(T, COMMAND_KIND_TORQUE, self.config.calibration.as_record()),
                flags=flags,
                seq=self.seq % 65536,
            )
            out = np.zeros(256, np.uint8)
            said = out[: say(self.link, command, send, out)].tobytes()
            self.pending = self.line(self.twin.hear(said, self.k / STEP_RATE))
            for _ in range(STEP_RATE // RATE):
                self.pending += self.twin.instant(self.k / STEP_RATE, self.readings)
                self.k += 1
        return int(self.link["raw"]["status"])

    @property
    def sample(self):
        sample = record(SAMPLE)
        calibrate(self.link["raw"], self.config.calibration.as_record(), new_clock(), sample)
        return sample


@pytest.mark.parametrize("sign", [1, -1])
def test_through_the_check_of_the_supervisor(sign):
    """STREAM, ENABLE, WITHHOLD until the time-out is told, CLEAR, ARMED, RUNNING."""
    pair = Pair(torque_sign=sign)
    assert pair.ticks(5, flags=COMMAND_CLEAR) == OFF
    assert pair.ticks(3, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(9, flags=COMMAND_ENABLE, send=0) == ON, "45 ms are less than its 50 ms"
    assert pair.ticks(5, flags=COMMAND_ENABLE, send=0) == TRIPPED
    assert pair.ticks(3, flags=COMMAND_CLEAR) == OFF
    assert pair.ticks(3, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(3, T=2.0, flags=COMMAND_ENABLE) == ON
    assert pytest.approx(2.0, abs=1e-3) == pair.twin.T
    assert pair.sample["T_meas"] == pytest.approx(READINGS[8], abs=5e-3)
    assert pair.link["raw"]["command_seq"] == pair.seq - 1, "the newest waits for its answer"
    pair.ticks(1, T=2.0, flags=0)
    assert pair.twin.T == 0.0


def test_a_dead_watchdog_is_never_told_to_have_struck():
    pair = Pair(Fault(Kind.WATCHDOG_DEAD))
    pair.ticks(5, T=2.0, flags=COMMAND_ENABLE)
    assert pair.ticks(100, send=0) == ON
    assert pair.twin.T != 0.0


@pytest.mark.parametrize(
    ("kind", "status", "faults"), [(Kind.STOP_BUTTON, STATUS_STOP_BUTTON, 0), (Kind.DRIVE_TRIPS, 0, FAULT_DRIVE)]
)
def test_button_and_fault_are_told(kind, status, faults):
    pair = Pair(Fault(kind, start=0.1))
    assert pair.ticks(10, T=1.0, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(20, T=1.0, flags=COMMAND_ENABLE) == status
    assert pair.link["raw"]["faults"] == faults


@pytest.mark.parametrize("ratio", [1.0, 3.0])
@pytest.mark.parametrize("offset", [0.0, 0.4])
def test_the_steer_angle_goes_around_with_the_bars(ratio, offset):
    pair = Pair(steer_gear_ratio=ratio, steer_sign=-1, steer_offset=offset)
    for angle in np.concatenate([np.linspace(0.3, -1.2, 40), np.linspace(-1.2, 1.2, 60)]):
        pair.readings[6] = angle
        pair.ticks(3)
        assert pair.sample["delta_meas"] == pytest.approx(angle, abs=2e-6)
    assert pair.sample["valid"]


def test_a_lost_and_a_damaged_answer_cost_one_reading_each():
    answers = iter(range(10**6))

    def line(data):
        k = next(answers)
        return b"" if k == 20 else data[:9] + b"\xff" + data[10:] if k == 30 else data[:15] if k == 40 else data

    pair = Pair(line=line)
    pair.ticks(101, flags=COMMAND_ENABLE)
    assert pair.link["raw"]["seq"] == 97
    assert pair.link["receiver"]["frames_bad_crc"] == 2
    assert pair.link["raw"]["command_seq"] == 100
    assert pair.sample["bus_meas"] == 24.0


@pytest.mark.parametrize(
    ("firmware", "sentence"),
    [
        ((5, 3), None),
        ((5, 2), r"VESC 410 5.02 .* found an answer without it: load firmware 5\.03"),
    ],
)
def test_introduction_on_a_pseudo_terminal(monkeypatch, firmware, sentence):
    monkeypatch.setattr(driver, "_TIMEOUT", 20.0)  # the answer ends the waiting
    twin = vesc.VescTwin(config(), firmware=firmware)
    master, slave = pty.openpty()
    tty.setraw(slave)
    with in_a_thread(master, lambda data: twin.hear(data, 0.5)), open_port(os.ttyname(slave), 115200) as port:
        if sentence is None:
            assert driver.introduce(port, DeviceRequirements(200.0, WATCHDOG, SETTINGS)).torque_limit == pytest.approx(
                8.0
            )
        else:
            with pytest.raises(DeviceError, match=sentence):
                driver.introduce(port, DeviceRequirements(200.0, WATCHDOG, SETTINGS))
    os.close(master)
    os.close(slave)
    assert not twin._commanded, "the time-out was not fed"
