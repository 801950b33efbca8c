"""The VESC's driver: packets both ways, angles that go around, noise, and each sentence of its introduction."""

import binascii
import json
import struct
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_interface.devices import vesc
from firmware_interface.devices.driver import DeviceRequirements
from firmware_interface.devices.link import ANY, ROLE_DRIVE, ROLE_STEER, new_link
from firmware_interface.devices.vesc_codes import VescCommand
from firmware_interface.errors import DeviceError
from firmware_interface.messages import (
    COMMAND,
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from tests.firmware_interface.wire import as_bytes, record

SCALE = 0.4  # N m on the steer per A
SETTINGS = {"torque_constant_Nm_A": 0.2, "gear_ratio": 2.0, "current_limit_A": 20.0}
ASKED = bytes.fromhex("02053200218120f55003")  # kind 50, bits 5, 8, 15, 16 and 21; its CRC by binascii.crc_hqx
COUNTERS = ("frames_ok", "frames_bad_crc", "frames_bad_length", "frames_bad_version", "bytes_skipped")


def framed(payload):
    head = struct.pack(">BB", 2, len(payload)) if len(payload) < 256 else struct.pack(">BH", 3, len(payload))
    return head + payload + struct.pack(">HB", binascii.crc_hqx(payload, 0), 3)


def answer(iq=0, v_in=240, fault=0, position=0, status=0):
    """In the VESC's units: 0.01 A, 0.1 V, code, millionths of a degree, bits."""
    return framed(struct.pack(">BIihBiB", 50, 0x00218120, iq, v_in, fault, position, status))


def fresh(scale=SCALE, role=ROLE_DRIVE | ROLE_STEER):
    link = new_link()
    link["scale"], link["role"] = scale, role
    return link


def fed(link, *chunks):
    return sum(vesc.receive(link, as_bytes(chunk), len(chunk)) for chunk in chunks)


def told(link, send=1, **command):
    out = np.full(256, 0xAA, np.uint8)
    return out[: vesc.speak(link, record(COMMAND, **command), send, out)].tobytes()


def counted(link):
    return {name: int(link["receiver"][name]) for name in COUNTERS if link["receiver"][name]}


# --- what it says


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


# --- what it hears


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


# --- a line with other things on it


@pytest.mark.parametrize(
    ("data", "counters"),
    [
        (framed(b"\x00\x06\x02410\0"), {"frames_ok": 1}),  # late, known, not needed
        (framed(b"\x04" + bytes(73)), {"frames_ok": 1}),
        (framed(b"\xde\x04\x00"), {"frames_ok": 1, "frames_bad_version": 1}),
        (framed(answer()[2:-4]), {"frames_ok": 1, "frames_bad_version": 1}),  # old firmware: no status
        (framed(b"\x32\x00\x21\x81\x21" + bytes(12)), {"frames_ok": 1, "frames_bad_version": 1}),  # another selection
        (ASKED, {"frames_ok": 1, "frames_bad_version": 1}),  # an echo
        (framed(b"\x15" + bytes(246)), {"frames_ok": 1, "frames_bad_version": 1}),  # the longest there is room for
        (answer()[:-1] + b"\x04", {"frames_bad_crc": 1, "bytes_skipped": 22}),  # its end byte is wrong
        (b"\x02\x00\x00\x00\x03" + bytes(3), {"bytes_skipped": 8}),  # nothing in it
        (b"\x02\xf8" + bytes(9), {"frames_bad_length": 1, "bytes_skipped": 11}),
        (b"\x03\x01\x2c" + bytes(9), {"frames_bad_length": 1, "bytes_skipped": 12}),  # 300 bytes
        (b"\x03\x00\xff" + bytes(9), {"bytes_skipped": 12}),  # a VESC never sends this
    ],
)
def test_what_is_no_answer_is_counted(data, counters):
    link = fresh()
    assert fed(link, data) == 0
    assert counted(link) == counters
    assert link["receiver"]["filled"] == 0
    assert fed(link, answer()) == 1


@pytest.mark.parametrize(("start", "length"), [(framed(b"\x15" + b"text " * 60), 307), (b"\x02\xf0", 2)])
def test_a_long_packet_or_a_false_start_costs_no_reading(start, length):
    link = fresh()
    assert fed(link, start, *[answer(position=k) for k in range(5)]) == 5
    assert counted(link) == {"frames_ok": 5, "frames_bad_length": 1, "bytes_skipped": length}


STARTS = [b"\x02", b"\x03", b"\x02\xf0", b"\x02\x11", b"\x03\x02", b"\x03\x02\x11", b"\x02\x11\x32\x00\x21"]
STUFF = st.one_of(
    st.binary(max_size=300),
    st.sampled_from(STARTS),
    st.integers(1, 21).map(lambda n: answer(iq=3)[:n]),
    st.integers(1, 21).map(lambda n: answer(iq=3)[-n:]),
    st.integers(1, 60).map(lambda n: framed(b"\x04" + bytes(73))[:n]),
)


@given(st.lists(STUFF, max_size=12), st.integers(0, 20))
@example([b"\x02\xf0"], 0)
def test_every_answer_is_heard_whatever_stands_between(stuff, tail):
    """And `missing` is never more than what is left of the answer under way."""
    link, n = fresh(), 0
    for k, noise in enumerate(stuff):
        assert fed(link, noise) == 0
        whole = answer(iq=k, position=1000 * k)
        for i in range(len(whole)):
            assert fed(link, whole[i : i + 1]) == (i == 21)
            assert 1 <= link["missing"] <= (21 - i or 22)
        assert (link["raw"]["steer_counts"], link["raw"]["seq"]) == (1000 * k, k + 1)
        n += len(noise) + len(whole)
    fed(link, answer()[:tail])
    receiver = link["receiver"]
    assert receiver["frames_ok"] == len(stuff)
    assert receiver["bytes_skipped"] + 22 * receiver["frames_ok"] + receiver["filled"] == n + tail


@given(st.lists(STUFF | st.just(answer(iq=5, position=9)), max_size=20), st.data())
def test_bytes_may_come_in_any_pieces(parts, data):
    said, whole, pieces = b"".join(parts), fresh(), fresh()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=12)))
    samples = fed(pieces, *[said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)])
    assert samples == fed(whole, said)
    assert pieces["raw"] == whole["raw"]
    assert counted(pieces) == counted(whole)
    assert pieces["missing"] == whole["missing"]


@given(st.integers(0, 21), st.integers(1, 255))
def test_a_damaged_answer_is_no_reading(at, flipped):
    damaged = bytearray(answer(iq=-1234, position=200_000_000))
    damaged[at] ^= flipped
    link = fresh()
    assert fed(link, bytes(damaged)) == 0
    assert fed(link, answer()) == 1


# --- the shared vectors


def vectors(shared):
    file = shared / "reference" / "device_vectors.json"
    if not file.exists():
        pytest.skip(f"the shared vectors are not here: {file.name}")
    found = [v for v in json.loads(file.read_text(encoding="utf-8"))["vectors"] if v["device"] == "vesc"]
    assert found
    return [(bytes.fromhex(v["hex"]), v) for v in found]


def test_vectors_are_whole_or_rejected(shared):
    for data, v in vectors(shared):
        link = fresh()
        assert fed(link, data) == 0, "none is of our selection"
        assert link["receiver"]["frames_ok"] == v["valid"], v
        assert (link["receiver"]["bytes_skipped"] == 0) == v["valid"], v
        found = list(vesc.packet_payloads(b"\x02" + data))
        assert len(found) == v["valid"], v
        assert [vesc.encode_packet(payload) for payload in found] == [data] * v["valid"]
    assert [vesc.encode_packet(bytes(n)) for n in (255, 256)] == [framed(bytes(n)) for n in (255, 256)]


def test_vectors_of_commands_byte_for_byte(shared):
    encoders = {
        "COMM_GET_VALUES": lambda d: b"\x04",
        "COMM_SET_CURRENT": lambda d: struct.pack(">Bi", 6, round(1e3 * d["A"])),
        "COMM_SET_RPM": lambda d: struct.pack(">Bi", 8, d["erpm"]),
        "COMM_FORWARD_CAN": lambda d: struct.pack(">BBBi", 34, d["id"], 6, 57_123),
        "COMM_GET_VALUES_SELECTIVE": lambda d: struct.pack(">BI", 50, d["mask"]),
    }
    for data, v in vectors(shared):
        if v["kind"] != "tx":
            continue
        assert vesc.encode_packet(encoders[v["decoded"]["cmd"]](v["decoded"])) == data
        if "A" in v["decoded"]:
            said = told(fresh(), T_cmd=SCALE * v["decoded"]["A"], flags=COMMAND_ENABLE)
            assert said == data + ASKED


LIST = struct.Struct(">Bhhiiiihihiiiiii" + "BiBhhhiiB")
NAMES = dict.fromkeys(("temp_fet", "temp_motor"), 10) | dict.fromkeys(("i_motor", "i_in", "id", "iq"), 100)
NAMES |= {"duty": 1e3, "erpm": 1, "v_in": 10} | dict.fromkeys(("ah", "ah_chg", "wh", "wh_chg"), 1e4)
NAMES |= {"tacho": 1, "tacho_abs": 1, "fault": 1, "pid_pos": 1e6, "ctrl_id": 1, "t1": 10, "t2": 10, "t3": 10}
NAMES |= {"vd": 1e3, "vq": 1e3, "status": 1}  # in the order of the answer, and what they are divided by


def test_vectors_of_answers_say_what_they_mean(shared):
    """The captured full answers, cut down to our selection, through the driver."""
    seen = 0
    for data, v in vectors(shared):
        if v["kind"] != "COMM_GET_VALUES reply":
            continue
        kind, *fields = LIST.unpack(data[2:-3])
        found = dict(zip(NAMES, fields, strict=True))
        values = {name: found[name] / divisor for name, divisor in NAMES.items()}
        assert kind == VescCommand.GET_VALUES
        assert values == pytest.approx(v["decoded"])
        link = fresh()
        assert fed(link, answer(*(found[name] for name in ("iq", "v_in", "fault", "pid_pos", "status")))) == 1
        raw, position = link["raw"], v["decoded"]["pid_pos"]
        assert raw["torque_mNm"] == round(1e3 * SCALE * v["decoded"]["iq"])
        assert raw["bus_mV"] == round(1e3 * v["decoded"]["v_in"])
        assert raw["steer_counts"] == pytest.approx(1e6 * (position - 360.0 if position > 180.0 else position), abs=0.6)
        assert bool(raw["faults"]) == bool(v["decoded"]["fault"])
        seen += 1
    assert seen == 3


def test_examples_of_the_driver():
    for case in vesc.DEVICE.examples:
        link = fresh()
        fed(link, case.wire)
        assert bool(link["receiver"]["frames_ok"]) == case.valid, case.source
        assert {name: link["raw"][name] for name in case.raw} == case.raw


# --- the introduction

VERSION = framed(b"\x00\x06\x02" + b"410\0" + bytes(17))


def introduced(monkeypatch, by_kind, **settings):
    """By a device that answers so, by the kind of the question: in pieces, behind noise; to any other nothing."""

    def answers(port, request, timeout):
        said = by_kind.get(request(0)[2])
        yield from (b"\x02" + said[:4], said[4:]) if said else ()

    monkeypatch.setattr(vesc, "ask_and_listen", answers)
    port = SimpleNamespace(path="/dev/ttyACM0", baud=115200)
    return vesc.introduce(port, DeviceRequirements(200.0, 0.05, {**SETTINGS, **settings}))


@pytest.mark.parametrize(("version", "name"), [(VERSION, "VESC 410 6.02"), (framed(b"\x00\x05\x03"), "VESC 5.03")])
def test_introduction(monkeypatch, version, name):
    said = introduced(monkeypatch, {0: version, 50: answer()})
    assert (said.name, said.scale, said.torque_limit, said.watchdog) == (name, 0.4, 8.0, 0.05)
    assert (said.steer_counts_per_turn, said.rate_hz, said.gyro_lsb) == (360e6, None, None)


@pytest.mark.parametrize(
    ("by_kind", "sentence"),
    [
        ({}, "but nothing came; is it powered, is this its port, and is UART among its apps"),
        ({0: b"\x55" * 40}, "but 41 bytes of something else came; is it another device, or is 115200 not its baud"),
        ({0: framed(b"\x00")}, "only the question came back; are transmit and receive wired together"),
        ({0: VERSION}, "status, without which its time-out cannot be proven, but found no answer to that question"),
        ({0: VERSION, 50: framed(answer()[2:-4])}, r"found an answer without it: load firmware 5\.03 or newer"),
        ({0: VERSION, 50: framed(b"\x32\x00\x21\x81\x21" + bytes(12))}, "found an answer without it"),
        ({0: VERSION, 50: answer(fault=1)}, r"free of faults, found fault 1 \(over-voltage\); remove the cause"),
        ({0: VERSION, 50: answer(fault=9)}, r"found fault 9 \(microcontroller under-voltage\)"),
        ({0: VERSION, 50: answer(fault=10)}, r"found fault 10 \(named in VESC Tool\)"),
        ({0: VERSION, 50: answer(v_in=0)}, "should have a supply, found 0 V; connect the battery"),
        ({0: framed(VERSION[2:19] + b"\0\0\0\0\1")}, "should be a motor controller, found hardware of type 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(monkeypatch, by_kind, sentence):
    with pytest.raises(DeviceError, match=sentence) as told:
        introduced(monkeypatch, by_kind)
    assert "/dev/ttyACM0" in str(told.value)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_impossible_settings(monkeypatch, name, value):
    with pytest.raises(DeviceError, match=f"{name} of a VESC must be positive, found"):
        introduced(monkeypatch, {0: VERSION, 50: answer()}, **{name: value})


def test_settings_and_room():
    assert vesc.DEVICE.settled({"torque_constant_Nm_A": 1, "current_limit_A": 2})["gear_ratio"] == 1.0
    with pytest.raises(DeviceError, match=r"needs torque_constant_Nm_A \[N m/A\], .*; current_limit_A \[A\]"):
        vesc.DEVICE.settled({})
    assert vesc.DEVICE.delimiter == ANY
    vesc.DEVICE.require_room(ROLE_DRIVE | ROLE_STEER, SETTINGS, 500.0, 115200)
    with pytest.raises(DeviceError, match=r"20 bytes down, and an answer of 22 .* 22 bytes x 10 bits x 1000 Hz"):
        vesc.DEVICE.require_room(ROLE_DRIVE | ROLE_STEER, SETTINGS, 1000.0, 115200)
    assert vesc.DEVICE.traffic(ROLE_STEER, SETTINGS).down == 10
