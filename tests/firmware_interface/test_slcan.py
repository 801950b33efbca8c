"""Lines of a CAN adapter: what is written, read, and refused; the twin's adapter is the other side."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.slcan import (
    CanFrame,
    bits_of_single,
    can_frames,
    opening,
    require_room_on_bus,
    take_frames,
    write_frame,
)

ONE_NEWTON_METRE = b"t02E40000803F\r"  # to node 1 of an ODrive, as python-can 4.6.1 writes it


@njit
def _keep(link, identifier, kind, size, data):
    memory = link.memory
    memory[0], memory[1], memory[2], memory[3] = memory[0] + 1, identifier, kind, size
    for i in range(size):
        memory[4 + i] = data[i]
    return 1


@njit
def _take(link, rx, n):
    return take_frames(link, rx, n, _keep)


def taken(line, link=None):
    """What the compiled reader makes of a line: kind, identifier and bytes of its last frame; the link."""
    link = new_link() if link is None else link
    count = _take(link, np.frombuffer(bytearray(line + b"\0"), np.uint8), len(line))
    _, identifier, kind, size, *data = (int(value) for value in link["memory"][:12])
    return count, (identifier, kind, bytes(data[:size])), link


def frames():
    """Frames of any kind."""
    return st.builds(
        lambda far, identifier, data, remote: CanFrame(
            identifier if far else identifier & 0x7FF, b"" if remote else data, far, remote
        ),
        st.booleans(),
        st.integers(0, 2**29 - 1),
        st.binary(max_size=8),
        st.booleans(),
    )


def test_one_newton_metre_is_written_as_others_write_it():
    frame = CanFrame(0x2E, struct.pack("<f", 1.0))
    out = np.zeros(256, np.uint8)
    n = write_frame(out, np.int64(0), np.int64(0x2E), False, bits_of_single(1.0), np.int64(4))
    assert frame.line == out[:n].tobytes() == ONE_NEWTON_METRE
    assert list(can_frames(ONE_NEWTON_METRE)) == [frame]


@given(frames())
def test_a_frame_is_read_as_it_was_written_by_both_readers(frame):
    assert list(can_frames(frame.line)) == [frame]
    count, found, link = taken(frame.line)
    assert count == 1
    assert found == (frame.identifier, frame.extended + 2 * frame.remote, frame.data)
    assert (link["receiver"]["frames_ok"], link["receiver"]["bytes_skipped"]) == (1, 0)
    if not frame.remote:
        out = np.zeros(256, np.uint8)
        bits = np.int64(int.from_bytes(frame.data, "little", signed=False) - (frame.data[7:] >= b"\x80") * 2**64)
        n = write_frame(out, np.int64(0), np.int64(frame.identifier), frame.extended, bits, np.int64(len(frame.data)))
        assert out[:n].tobytes() == frame.line


def test_answers_of_the_adapter_are_no_frames_and_its_bell_is_counted():
    count, _, link = taken(b"z\rZ\r\r" + ONE_NEWTON_METRE + b"\a")
    assert count == 1
    receiver = link["receiver"]
    assert (receiver["frames_ok"], receiver["frames_bad_crc"], receiver["frames_bad_version"]) == (1, 0, 1)


def test_a_stamp_of_time_is_passed_over():
    assert taken(ONE_NEWTON_METRE[:-1] + b"1A2B\r")[1] == taken(ONE_NEWTON_METRE)[1]


@pytest.mark.parametrize(
    "line",
    [
        b"t02E4000080\r",
        b"t02E40000803FF\r",
        b"t02E9000000000000000000\r",
        b"t02G0\r",
        b"T02E0\r",
        b"x02E0\r",
        b"t" * 90 + b"\r",
    ],
)
def test_what_is_no_frame_is_skipped_and_the_next_one_is_heard(line):
    assert list(can_frames(line + b"\r")) == []
    count, _, link = taken(line + b"\r")
    assert (count, link["receiver"]["frames_bad_crc"]) == (0, 1)
    assert taken(ONE_NEWTON_METRE, link)[0] == 1


@given(st.binary(max_size=400))
def test_noise_breaks_nothing(noise):
    assert taken(noise)[0] <= len(noise) // 5


def test_a_bit_rate_that_no_adapter_has_is_refused():
    assert opening(500_000).endswith(b"C\rS6\rO\r")
    with pytest.raises(DeviceError, match=r"one of 10000, .* 1000000 bit/s, found 400000"):
        opening(400_000)


def test_a_bus_that_is_too_slow_is_refused_with_the_arithmetic():
    require_room_on_bus(1000, False, 500_000, "it")
    with pytest.raises(DeviceError, match=r"5000 frames a second x 135 bits = 675000 bit/s, wanted at most 80 %"):
        require_room_on_bus(5000, False, 500_000, "it")
