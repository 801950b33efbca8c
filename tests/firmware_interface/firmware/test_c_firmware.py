"""The firmware in C against both Python codecs: every byte, every counter."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import MAX_FRAME, MAX_PAYLOAD
from riderless.firmware_interface.messages import RAW
from riderless.firmware_interface.node import protocol, reference_codec
from riderless.firmware_interface.node.firmware_state import new_firmware
from riderless.firmware_interface.twins import c_node
from riderless.firmware_interface.twins.c_node import FirmwareInC
from tests.firmware_interface.node.test_protocol import COMMANDS, FRAMES, HELLOS, SAMPLES
from tests.firmware_interface.test_framing import PAYLOADS
from tests.firmware_interface.wire import SESSION, as_bytes, command_frame, encoded, record

try:
    c_node.build_library()
except DeviceError as problem:
    pytest.skip(str(problem), allow_module_level=True)

CALIBRATION = Calibration(wheel_radius=0.3)
PERIOD = 0.005


def new_core(**settings) -> FirmwareInC:
    return FirmwareInC(new_firmware(CALIBRATION, **settings))


def opened_core() -> FirmwareInC:
    """A node that has opened `SESSION` and sent sample 0."""
    core = new_core()
    core.state.session, core.state.seq = SESSION, 1
    return core


def hear(core: FirmwareInC, *chunks: bytes) -> FirmwareInC:
    for chunk in chunks:
        core.receive(as_bytes(chunk), len(chunk))
    return core


def said(tell, *arguments) -> bytes:
    out = np.full(MAX_FRAME, 0xAA, np.uint8)
    n = tell(*arguments, out)
    assert (out[n:] == 0xAA).all()
    return out[:n].tobytes()


# ---- frames


@given(SAMPLES)
@example(reference_codec.decode(FRAMES["SAMPLE"]["line"][:-1]))
def test_samples_are_those_of_both_codecs(sample):
    library, state = c_node.load_library(), c_node.FirmwareState()
    identity, start = c_node.Identity(rate_hz=200), c_node.Start()
    library.node_init(state, identity, start)
    number = sample.seq_high << 16 | sample.seq
    state.seq, state.now_us = number, sample.t_us
    state.status, state.faults, state.obeyed_seq, state.rejected, state.refused = sample[12:17]
    readings = c_node.Readings(tuple(sample[2:5]), tuple(sample[5:8]), *sample[8:12])
    line = said(lambda out: library.node_sample(state, readings, c_node.as_c_pointer(out)))
    assert line == reference_codec.encode(sample)
    raw = record(RAW, gyro_counts=sample[2:5], accel_counts=sample[5:8])
    for name in set(RAW.names) & set(sample._fields):
        raw[name] = getattr(sample, name)
    assert line == encoded(protocol.encode_sample, raw)
    assert state.seq == (number + 1) % 2**32


@given(HELLOS)
@example(reference_codec.decode(FRAMES["HELLO"]["line"][:-1]))
def test_hellos_are_those_of_both_codecs(hello):
    firmware = new_firmware(CALIBRATION)
    for name, value in hello._asdict().items():
        firmware["hello"][name] = list(value) if name in ("firmware", "serial") else value
    for name in ("steer_limit_counts", "lean_limit_mrad", "torque_step_mNm"):
        firmware["bounds"][name] = firmware["hello"][name]
    hello = hello._replace(kind=hello.kind % 3)
    hello = hello._replace(obeys=hello.obeys | 1 << hello.kind)
    request = reference_codec.HelloRequest(hello.seq, 0 if hello.session == 0 else hello.session ^ 1, hello.kind)
    firmware["hello"]["kind"], firmware["hello"]["obeys"] = hello.kind, hello.obeys
    firmware["salt"] = 1
    core = hear(FirmwareInC(firmware), reference_codec.encode(request))
    if request.nonce == 0:
        hello = hello._replace(session=0, kind=0)
        firmware["hello"]["session"] = firmware["hello"]["kind"] = 0
    assert core.state.hello_pending
    line = said(core.hello)
    assert line == reference_codec.encode(hello) == encoded(protocol.encode_hello, firmware["hello"])
    assert said(core.hello) == b""


@given(COMMANDS)
@example(reference_codec.decode(FRAMES["COMMAND"]["line"][:-1]))
@example(reference_codec.Command(0, -32768, 65535, 0, 1, 255))
def test_commands_are_understood(command):
    core = new_core()
    state = core.state
    state.seq, state.session, state.kind = (command.sample_seq + 3) % 2**32, command.session, command.flags >> 4
    hear(core, reference_codec.encode(command))
    assert (state.frames_ok, state.rejected) == (1, 0)
    assert (state.pending, state.refused) == ((True, 0) if command.session else (False, 1))
    if command.session:
        found = (
            state.command_seq,
            state.command_value,
            state.command_expiry_ms,
            state.command_sample,
            state.command_flags,
        )
        assert found == (command.seq, *command[1:4], command.flags & 15)
        assert state.age_us == 10_000, "two samples old"


@given(PAYLOADS)
def test_frames_are_those_of_plain_python(payload):
    out = as_bytes(bytes([0xAA]) + payload + bytes(3))
    n = c_node.load_library().node_close_frame(c_node.as_c_pointer(out), len(payload))
    assert out.tobytes() == reference_codec.frame(payload)
    assert n == len(out)


@given(PAYLOADS, st.data())
def test_any_payload_is_unstuffed_wherever_it_is_split(payload, data):
    line = reference_codec.frame(payload)
    cut = data.draw(st.integers(0, len(line)))
    core = hear(new_core(), line[:cut], line[cut:])
    assert core.state.frames_ok == 1
    assert bytes(core.state.payload)[: len(payload)] == payload[:73]


@pytest.mark.parametrize("size", [1, 2, 249, MAX_PAYLOAD])
@pytest.mark.parametrize("byte", [0, 1, 255])
def test_extreme_payloads(size, byte):
    assert hear(new_core(), reference_codec.frame(bytes([byte]) * size)).state.frames_ok == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x01\0",
        b"\x03\x11\x22\0",
        b"\x09\x11\x22\x33\x44\0",
        b"\x05\x11\x22\x33\x44\0",
        b"\xff" + b"\x11" * 300 + b"\0",
        b"\x11" * 65536 + command_frame(9, T=3.0),  # where a count of 16 bits begins anew
        reference_codec.frame(b"\x01" + FRAMES["COMMAND"]["payload"][1:]),
        reference_codec.frame(FRAMES["COMMAND"]["payload"] + b"\0"),
        reference_codec.frame(FRAMES["COMMAND"]["payload"][:-1]),
        reference_codec.frame(FRAMES["HELLO_REQUEST"]["payload"][:-1]),
        reference_codec.frame(FRAMES["HELLO_REQUEST"]["payload"] + b"\0"),
        reference_codec.frame(b"\x04\x09\x07\0"),
        reference_codec.frame(b"\x04"),
    ],
    ids=lambda garbage: garbage[:8].hex(),
)
def test_each_bad_frame_is_counted_and_costs_only_itself(garbage):
    core = hear(opened_core(), b"\0\0\0" + command_frame(1) + garbage)
    assert core.state.rejected == 1
    assert (core.state.command_seq, core.state.hello_pending) == (1, False)
    hear(core, b"\0\0" + command_frame(2, T=1.5))
    assert core.state.rejected == 1
    assert (core.state.command_seq, core.state.command_value) == (2, 1500)


@pytest.mark.parametrize("size", [MAX_PAYLOAD + 1, MAX_PAYLOAD + 2])
def test_over_long_frame_with_the_right_crc_is_refused(size):
    payload = bytes(random.Random(size).choices(range(1, 256), k=size))
    body = payload + reference_codec.crc16(payload).to_bytes(2, "little")
    core = hear(new_core(), bytes([len(body) + 1]) + body + b"\0")
    assert (core.state.frames_ok, core.state.rejected) == (0, 1)


def test_over_long_frame_is_refused_whatever_stands_at_the_end_of_its_place():
    payload = bytes(random.Random(1).choices(range(1, 256), k=MAX_PAYLOAD))
    crc = reference_codec.crc16(payload).to_bytes(2, "big")  # its bytes change places with one byte too many
    assert 0 not in crc
    core = hear(new_core(), b"\xfd" + payload + crc + b"\x11\0")
    assert (core.state.frames_ok, core.state.rejected) == (0, 1)


def test_a_crc_of_nothing_is_no_frame():
    core = hear(new_core(), b"\x03\xff\xff\0")
    assert (core.state.frames_ok, core.state.rejected) == (0, 1)


def test_messages_for_the_computer_are_no_offence():
    core = hear(new_core(), FRAMES["HELLO"]["line"] + FRAMES["SAMPLE"]["line"])
    assert (core.state.frames_ok, core.state.rejected) == (2, 0)
