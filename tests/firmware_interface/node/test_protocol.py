"""The messages of the node: worked frames of the document, two codecs, sequence numbers."""

import math
import re

import fastcrc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.framing import new_decoder
from riderless.firmware_interface.messages import (
    COMMAND,
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    RAW,
)
from riderless.firmware_interface.node import layouts, protocol, reference_codec
from tests.firmware_interface.wire import SESSION, as_bytes, encoded, payloads, record, sample_frame
from tests.paths import DOCS

DOCUMENT = DOCS / "node-protocol.md"


def worked_frames() -> dict[str, dict[str, bytes]]:
    """{name: {payload, crc, line}} out of the document."""
    frames = {}
    for name, body in re.findall(r"```frame (\w+)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL):
        parts = re.match(r"payload([\s\dA-F]+)crc\s+0x([\dA-F]{4})\s+line([\s\dA-F]+)", body)
        payload, crc, line = parts.groups()
        frames[name] = {
            "payload": bytes.fromhex(payload),
            "crc": bytes.fromhex(crc)[::-1],
            "line": bytes.fromhex(line),
        }
    return frames


FRAMES = worked_frames()

# What the document says of each worked frame, in its words' order.
SAMPLE_66536 = {
    "seq": 1000,
    "t_us": 332_680_000,
    "gyro_counts": [100, -100, 0],
    "accel_counts": [0, 0, -8192],
    "steer_counts": -1000,
    "wheel_mrad_s": 15000,
    "torque_mNm": -1500,
    "bus_mV": 24000,
    "status": 1,
    "faults": 0,
    "command_seq": 0x1233,
    "rejected": 0,
    "refused": 0,
    "seq_high": 1,
}
COMMAND_1234 = {
    "seq": 0x1234,
    "T_cmd": -1.5,
    "expiry_ms": 15,
    "sample_seq": 66536,
    "session": SESSION,
    "flags": COMMAND_ENABLE,
    "kind": COMMAND_KIND_TORQUE,
}
COMMAND_1235 = {**COMMAND_1234, "seq": 0x1235, "T_cmd": 1e-4 * 2500, "kind": COMMAND_KIND_ANGLE}
HELLO_7 = {
    "seq": 7,
    "firmware": [ord(c) for c in "demo"] + [0] * 12,
    "rate_hz": 200,
    "torque_limit_mNm": 7000,
    "watchdog_ms": 25,
    "gyro_lsb": 2.0**-13,
    "accel_lsb": 2.0**-10,
    "steer_counts_per_turn": 20000,
    "session": SESSION,
    "kind": COMMAND_KIND_TORQUE,
    "obeys": 0b101,
    "rate_limit_mrad_s": 0,
    "angle_limit_100urad": 6000,
    "reset_cause": 1,
    "flash_good": 1,
    "serial": list(range(1, 13)),
    "steer_limit_counts": 2611,
    "lean_limit_mrad": 611,
    "torque_step_mNm": 3000,
}
GUARD_7 = (-100, 2611, 611, 3000, 167772, 0, 0, 0, 0, 0, 2**19, 0, 0, 2**18, 0, 0, 1288490)

MEANING = {
    "SAMPLE": (RAW, SAMPLE_66536, protocol.encode_sample, protocol.decode_sample),
    "COMMAND": (COMMAND, COMMAND_1234, protocol.encode_command, protocol.decode_command),
    "COMMAND_ANGLE": (COMMAND, COMMAND_1235, protocol.encode_command, protocol.decode_command),
}


def assert_holds(message: np.void, wanted: dict) -> None:
    for name in (name for name in message.dtype.names if name != "off_scale"):  # which stands in no frame
        assert np.array_equal(message[name], wanted[name]), name


def test_document_works_out_every_frame():
    assert set(FRAMES) == {"SAMPLE", "COMMAND", "COMMAND_ANGLE", "HELLO", "HELLO_REQUEST"}


@pytest.mark.parametrize("name", FRAMES)
def test_worked_frame_is_right_by_other_means(name):
    worked = FRAMES[name]
    payload, crc, line = worked["payload"], worked["crc"], worked["line"]
    assert fastcrc.crc16.ibm_3740(payload).to_bytes(2, "little") == crc
    # COBS by its definition: walk the distances, and find the zeros of payload and CRC
    at, walked = 0, bytearray(line)
    while line[at]:
        walked[at] = 0
        at += line[at]
    assert at == len(line) - 1
    assert walked[1:-1] == payload + crc


@pytest.mark.parametrize("name", MEANING)
def test_worked_frame_is_what_both_codecs_make_and_read(name):
    dtype, values, encode, decode = MEANING[name]
    line = FRAMES[name]["line"]
    assert encoded(encode, record(dtype, **values)) == line
    assert reference_codec.encode(reference_codec.decode(line[:-1])) == line
    (payload,) = payloads(new_decoder(), line)
    assert payload == FRAMES[name]["payload"]
    message = record(dtype)
    assert decode(as_bytes(payload), len(payload), message)
    assert_holds(message, values)


def test_worked_hello():
    line = FRAMES["HELLO"]["line"]
    assert encoded(protocol.encode_hello, record(layouts.HELLO, **HELLO_7)) == line
    hello = reference_codec.decode(line[:-1])
    assert reference_codec.encode(hello) == line
    assert hello._replace(firmware=[*hello.firmware], serial=[*hello.serial])._asdict() == HELLO_7
    payload = FRAMES["HELLO"]["payload"]
    assert protocol.frame_type(as_bytes(payload), len(payload)) == layouts.FRAME_HELLO


def test_worked_hello_request():
    line = FRAMES["HELLO_REQUEST"]["line"]
    request = reference_codec.HelloRequest(7, 0x1234ABCD, 0, *GUARD_7)
    assert reference_codec.decode(line[:-1]) == request
    assert reference_codec.encode(request) == line
    payload = FRAMES["HELLO_REQUEST"]["payload"]
    assert protocol.frame_type(as_bytes(payload), len(payload)) == layouts.FRAME_HELLO_REQUEST
    assert protocol.request_nonce(as_bytes(payload)) == 0x1234ABCD
    guard = record(layouts.GUARD)
    protocol.request_guard(as_bytes(payload), guard)
    assert np.hstack([guard[name] for name in layouts.GUARD.names]).tolist() == [*GUARD_7]


def integers(bits: int, signed: bool = False) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


U8, U16, U32, I16, I32 = (
    integers(8),
    integers(16),
    integers(32),
    integers(16, signed=True),
    integers(32, signed=True),
)
F32 = st.floats(width=32, allow_nan=False)
SAMPLES = st.builds(
    reference_codec.Sample, U16, U32, I16, I16, I16, I16, I16, I16, I32, I32, I16, U16, U8, U8, U16, U8, U8, U16
)
COMMANDS = st.builds(reference_codec.Command, U16, st.integers(-32767, 32767), U16, U32, U32, U8)
HELLOS = st.builds(
    reference_codec.HelloFrame,
    U16,
    st.binary(min_size=16, max_size=16),
    U16,
    U16,
    U16,
    F32,
    F32,
    U32,
    U32,
    U8,
    U8,
    U16,
    U16,
    U8,
    st.integers(0, 1),
    st.binary(min_size=12, max_size=12),
    U32,
    U16,
    U16,
)


@given(SAMPLES)
def test_samples_of_the_two_codecs(sample):
    line = reference_codec.encode(sample)
    (payload,) = payloads(new_decoder(), line)
    raw = record(RAW)
    assert protocol.decode_sample(as_bytes(payload), len(payload), raw)
    assert [*np.hstack([raw[name] for name in RAW.names[:-1]]).tolist()] == list(sample)
    ends = {-32768, 32767}
    assert raw["off_scale"] == bool(ends & {*raw["gyro_counts"], *raw["accel_counts"], raw["torque_mNm"]})
    assert encoded(protocol.encode_sample, raw) == line


@given(COMMANDS)
def test_commands_of_the_two_codecs(command):
    line = reference_codec.encode(command)
    (payload,) = payloads(new_decoder(), line)
    read = record(COMMAND)
    assert protocol.decode_command(as_bytes(payload), len(payload), read)
    kind = command.flags >> 4
    assert round((1e4 if kind == COMMAND_KIND_ANGLE else 1e3) * float(read["T_cmd"])) == command.value
    assert [int(read[name]) for name in ("seq", "expiry_ms", "sample_seq", "session", "flags", "kind")] == [
        command.seq,
        command.expiry_ms,
        command.sample_seq,
        command.session,
        command.flags & 15,
        kind,
    ]
    assert encoded(protocol.encode_command, read) == line


@given(HELLOS)
def test_hellos_of_the_two_codecs(hello):
    line = reference_codec.encode(hello)
    (payload,) = payloads(new_decoder(), line)
    assert protocol.frame_type(as_bytes(payload), len(payload)) == layouts.FRAME_HELLO
    said = record(layouts.HELLO, **hello._replace(firmware=[*hello.firmware], serial=[*hello.serial])._asdict())
    assert encoded(protocol.encode_hello, said) == line


@pytest.mark.parametrize("T", [math.nan, math.inf, -math.inf])
def test_torque_that_is_no_number_never_leaves(T):
    line = encoded(
        protocol.encode_command,
        record(COMMAND, T_cmd=T, seq=5, flags=COMMAND_ENABLE | COMMAND_CLEAR, expiry_ms=15, sample_seq=9),
    )
    assert reference_codec.decode(line[:-1]) == reference_codec.Command(5, 0, 15, 9, 0, COMMAND_CLEAR)


@pytest.mark.parametrize(("T", "torque_mNm"), [(32.767, 32767), (40.0, 32767), (-1e300, -32767), (0.0004, 0)])
def test_torque_is_clamped_and_rounded(T, torque_mNm):
    line = encoded(protocol.encode_command, record(COMMAND, T_cmd=T, flags=COMMAND_ENABLE))
    assert reference_codec.decode(line[:-1]) == reference_codec.Command(0, torque_mNm, 0, 0, 0, COMMAND_ENABLE)


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (COMMAND_KIND_RATE, -1.2345, -1234),  # mrad/s
        (COMMAND_KIND_RATE, 40.0, 32767),
        (COMMAND_KIND_ANGLE, 0.12345, 1234),  # 100 urad
        (COMMAND_KIND_ANGLE, -4.0, -32767),
    ],
)
def test_rates_and_angles_have_their_own_units(kind, given, value):
    line = encoded(protocol.encode_command, record(COMMAND, T_cmd=given, kind=kind, flags=COMMAND_ENABLE))
    assert reference_codec.decode(line[:-1]) == reference_codec.Command(0, value, 0, 0, 0, COMMAND_ENABLE | kind << 4)


@given(st.floats(width=64))
def test_torque_on_the_line_is_a_clamped_whole_number(T):
    line = encoded(protocol.encode_command, record(COMMAND, T_cmd=T, flags=COMMAND_ENABLE))
    finite = math.isfinite(T)
    wanted = round(min(max(1e3 * T, -32767), 32767)) if finite else 0
    assert reference_codec.decode(line[:-1]) == reference_codec.Command(
        0, wanted, 0, 0, 0, COMMAND_ENABLE if finite else 0
    )


@pytest.mark.parametrize(
    "payload",
    [
        b"\x01" + FRAMES["SAMPLE"]["payload"][1:],  # another version
        b"\x02" + FRAMES["SAMPLE"]["payload"][1:],
        b"\x04\x09" + FRAMES["SAMPLE"]["payload"][2:],  # unknown type
        FRAMES["SAMPLE"]["payload"][:-1],
        FRAMES["SAMPLE"]["payload"] + b"\0",
        b"\x04",
        b"\x03" + FRAMES["SAMPLE"]["payload"][1:],
        bytes([protocol.PROTOCOL_VERSION, len(protocol.FRAME_SIZES)]) + FRAMES["SAMPLE"]["payload"][2:],
    ],
)
def test_foreign_frames_are_counted_and_ignored(payload):
    receiver, raw = record(protocol.RECEIVER), record(RAW, seq=7)
    line = reference_codec.frame(payload)
    for count in (1, 2):
        assert protocol.receive_samples(receiver, as_bytes(line), len(line), raw) == 0
        assert receiver["frames_bad_version"] == count
    assert raw == record(RAW, seq=7)
    assert reference_codec.decode(line[:-1]) is None


def test_what_is_no_command_is_not_read_as_one():
    command, right = record(COMMAND, seq=7), FRAMES["COMMAND"]["payload"]
    for payload in (bytes([right[0] + 1]) + right[1:], FRAMES["SAMPLE"]["payload"], right + b"\0", right[:-1]):
        assert not protocol.decode_command(as_bytes(payload), len(payload), command)
    assert command == record(COMMAND, seq=7)


def test_other_messages_are_no_samples_and_no_offence():
    receiver, raw = record(protocol.RECEIVER), record(RAW)
    line = FRAMES["HELLO"]["line"] + FRAMES["COMMAND"]["line"]
    assert protocol.receive_samples(receiver, as_bytes(line), len(line), raw) == 0
    assert receiver["frames_ok"] == 2
    assert receiver["frames_bad_version"] == 0


@pytest.mark.parametrize(
    ("numbers", "new", "lost", "repeated"),
    [
        ([0], 1, 0, 0),
        ([500, 501, 502], 3, 0, 0),  # the first one seen is no gap
        ([65534, 65535, 0, 1], 4, 0, 0),
        ([1, 2, 5, 6], 4, 2, 0),
        ([65535, 3], 2, 3, 0),
        ([4, 4, 5, 5, 5, 6], 3, 0, 3),
        ([900, 901, 0, 1], 4, 1, 0),  # restarted
        ([0, 0x7FFF], 2, 0x7FFE, 0),  # the longest way forward
        ([0, 0x8000], 2, 1, 0),  # a step back
    ],
)
def test_sequence_numbers(numbers, new, lost, repeated):
    receiver, raw = record(protocol.RECEIVER), record(RAW)
    line = b"".join(sample_frame(seq) for seq in numbers)
    assert protocol.receive_samples(receiver, as_bytes(line), len(line), raw) == new
    assert receiver["samples_lost"] == lost
    assert receiver["samples_repeated"] == repeated
    assert raw["seq"] == numbers[-1]


def test_newest_of_several_samples_stays():
    receiver, raw = record(protocol.RECEIVER), record(RAW)
    line = sample_frame(1, steer_counts=10) + sample_frame(2, steer_counts=20) + sample_frame(3)[:-2]
    assert protocol.receive_samples(receiver, as_bytes(line), len(line), raw) == 2
    assert (raw["seq"], raw["steer_counts"]) == (2, 20)
    rest = sample_frame(3)[-2:]
    assert protocol.receive_samples(receiver, as_bytes(rest), len(rest), raw) == 1
    assert raw["seq"] == 3


def test_plain_layouts_have_the_documented_sizes():
    sizes = {kind: 2 + layout.size for kind, (_, layout) in reference_codec.LAYOUTS.items()}
    assert sizes == {1: 40, 2: 17, 3: 70, 4: 73}
    assert sizes == {
        layouts.FRAME_SAMPLE: layouts.SAMPLE_SIZE,
        layouts.FRAME_COMMAND: layouts.COMMAND_SIZE,
        layouts.FRAME_HELLO: layouts.HELLO_SIZE,
        layouts.FRAME_HELLO_REQUEST: layouts.HELLO_REQUEST_SIZE,
    }


TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i16": "<i2", "i32": "<i4", "f32": "<f4"}


@pytest.mark.parametrize(
    ("title", "layout"),
    [
        ("1 SAMPLE", layouts.SAMPLE_LAYOUT),
        ("2 COMMAND", layouts.COMMAND_LAYOUT),
        ("3 HELLO", layouts.HELLO_LAYOUT),
        ("4 HELLO_REQUEST", layouts.HELLO_REQUEST_LAYOUT),
    ],
)
def test_layout_is_the_table_of_the_document(title, layout):
    section = DOCUMENT.read_text().split(f"### {title}")[1].split("##")[0]
    rows = re.findall(r"^\| (\d+) \| (?:(\d+) × )?(\w+) \| (\w+) \|", section, re.MULTILINE)
    wanted = {}
    for offset, count, kind, name in rows:
        at, size = int(offset), np.dtype(TYPES[kind]).itemsize
        if count == "3":  # one field for each axis
            what, unit = name.split("_")
            wanted |= {f"{what}_{axis}_{unit}": (np.dtype(TYPES[kind]), at + k * size) for k, axis in enumerate("xyz")}
        else:
            wanted[name] = (np.dtype((TYPES[kind], (int(count),))) if count else np.dtype(TYPES[kind]), at)
    fields = {name: layout.fields[name][:2] for name in layout.names}
    header = {name: fields.pop(name) for name in layouts.HEADER_LAYOUT.names}
    assert header == {"version": (np.dtype("u1"), 0), "type": (np.dtype("u1"), 1), "seq": (np.dtype("<u2"), 2)}
    assert fields == wanted
