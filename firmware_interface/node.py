"""Our own protocol between the computer and the microcontroller (the *node*), version 1.

The node carries inertial sensor, steer encoder, wheel sensor and steer drive. Four frames, described
byte by byte in ``docs/node-protocol.md`` and, readably, in ``node_plain.py``. This module is the
compiled codec the loop uses; encoders write whole frames, decoders read the payload of a frame.

A frame that is well-formed but of another version, an unknown type or the wrong length is counted
in ``frames_bad_version`` and otherwise ignored.
"""

import numpy as np
from numba import njit

from firmware_interface.framing import DECODER_FIELDS, close_frame, next_frame
from firmware_interface.messages import COMMAND_ENABLE

VERSION = 1

FRAME_SAMPLE = 1  # node to computer, one per period
FRAME_COMMAND = 2  # computer to node, answering a sample
FRAME_HELLO = 3  # node to computer, when asked
FRAME_HELLO_REQUEST = 4  # computer to node

SAMPLE_SIZE = 37  # bytes of payload, header included
COMMAND_SIZE = 11
HELLO_SIZE = 38
HELLO_REQUEST_SIZE = 4

TORQUE_MAX_mNm = 32767  # -32768 is left free: the two ends of the scale are alike

# What the node says of itself, as it stands in the frame.
HELLO = np.dtype(
    [
        ("seq", "u2"),  # number of the request it answers
        ("firmware", "u1", (16,)),  # name, ASCII, padded with zeros
        ("rate_hz", "u2"),  # samples per second
        ("torque_limit_mNm", "u2"),  # the node never applies more
        ("watchdog_ms", "u2"),  # torque is zero this long after the last command
        ("gyro_lsb", "f4"),  # rad/s per count
        ("accel_lsb", "f4"),  # m/s^2 per count
        ("steer_counts_per_turn", "u4"),  # of the encoder's own shaft
    ],
    align=True,
)

# A decoder that also watches the numbers of the samples. (Its own fields come first: behind the
# others they would make it, to numba, a subtype of DECODER.)
RECEIVER = np.dtype(
    [
        ("samples_lost", "u4"),  # gaps in the sequence numbers
        ("samples_repeated", "u4"),
        ("last_seq", "u2"),
        ("started", "u1"),
        *DECODER_FIELDS,
    ],
    align=True,
)


def new_receiver() -> np.void:
    """Fresh receiver of samples, a record of type ``RECEIVER``, all counters zero."""
    return np.zeros(1, RECEIVER)[0]


@njit(cache=True, nogil=True)
def frame_type(payload, n):
    """Type of the frame (``FRAME_*``), or 0 if it is not of this version, or its length is wrong.

    Runs inside the tick.
    """
    if n < 4 or payload[0] != VERSION:
        return 0
    kind = payload[1]
    if (
        (kind == FRAME_SAMPLE and n == SAMPLE_SIZE)
        or (kind == FRAME_COMMAND and n == COMMAND_SIZE)
        or (kind == FRAME_HELLO and n == HELLO_SIZE)
        or (kind == FRAME_HELLO_REQUEST and n == HELLO_REQUEST_SIZE)
    ):
        return kind
    return 0


@njit(cache=True, nogil=True)
def frame_seq(payload):
    """Sequence number of a frame.

    Runs inside the tick.
    """
    return _u16(payload, 2)


@njit(cache=True, nogil=True)
def encode_sample(raw, out):
    """Write the SAMPLE frame of a ``RAW`` record to ``out``; returns its length in bytes."""
    i = _put_header(out, FRAME_SAMPLE, raw.seq)
    i = _put_u32(out, i, raw.t_us)
    for axis in range(3):
        i = _put_u16(out, i, raw.gyro_counts[axis])
    for axis in range(3):
        i = _put_u16(out, i, raw.accel_counts[axis])
    i = _put_u32(out, i, raw.steer_counts)
    i = _put_u32(out, i, raw.wheel_mrad_s)
    i = _put_u16(out, i, raw.torque_mNm)
    i = _put_u16(out, i, raw.bus_mV)
    i = _put_u8(out, i, raw.status)
    i = _put_u8(out, i, raw.faults)
    i = _put_u16(out, i, raw.command_seq)
    i = _put_u8(out, i, raw.rejected)
    return close_frame(out, i - 1)


@njit(cache=True, nogil=True)
def decode_sample(payload, n, raw):
    """Read a SAMPLE payload of ``n`` bytes into a ``RAW`` record.

    Returns False, leaving ``raw`` alone, if the payload is anything else.

    Runs inside the tick.
    """
    if frame_type(payload, n) != FRAME_SAMPLE:
        return False
    raw.seq = _u16(payload, 2)
    raw.t_us = _u32(payload, 4)
    for axis in range(3):
        raw.gyro_counts[axis] = _u16(payload, 8 + 2 * axis)
        raw.accel_counts[axis] = _u16(payload, 14 + 2 * axis)
    raw.steer_counts = _u32(payload, 20)
    raw.wheel_mrad_s = _u32(payload, 24)
    raw.torque_mNm = _u16(payload, 28)
    raw.bus_mV = _u16(payload, 30)
    raw.status = payload[32]
    raw.faults = payload[33]
    raw.command_seq = _u16(payload, 34)
    raw.rejected = payload[36]
    return True


@njit(cache=True, nogil=True)
def receive(receiver, rx, n, raw):
    """Take ``rx[:n]`` off the line; the newest sample stays in ``raw``.

    Samples missing between two received ones are counted in ``receiver.samples_lost``, a sample that
    comes twice in ``receiver.samples_repeated``. Numbers that step back (the node has restarted)
    count as one lost sample.

    Parameters
    ----------
    receiver : record of type ``RECEIVER``
    rx : uint8 array
    n : int
    raw : record of type ``RAW``
        Unchanged if no sample was completed.

    Returns
    -------
    int
        Number of new samples.

    Runs inside the tick.
    """
    samples = 0
    i = 0
    while i < n:
        i = next_frame(receiver, rx, i, n)
        if receiver.size == 0:
            continue
        if decode_sample(receiver.payload, receiver.size, raw):
            samples += _note_sequence(receiver, raw.seq)
        elif frame_type(receiver.payload, receiver.size) == 0:
            receiver.frames_bad_version += 1
    return samples


@njit(cache=True, nogil=True)
def _note_sequence(receiver, seq):
    """Compare a sample's number with the last one; returns 1 for a new sample, 0 for a repeated one."""
    step = (seq - receiver.last_seq) & 0xFFFF
    if receiver.started:
        if step == 0:
            receiver.samples_repeated += 1
            return 0
        receiver.samples_lost += step - 1 if step < 0x8000 else 1
    receiver.started = 1
    receiver.last_seq = seq
    return 1


@njit(cache=True, nogil=True)
def encode_command(command, out):
    """Write the COMMAND frame of a ``COMMAND`` record to ``out``; returns its length in bytes.

    A torque that is not a number never leaves: it goes out as zero with ENABLE off. A torque beyond
    the field's range is clamped.

    Runs inside the tick.
    """
    T = command.T_cmd
    flags = command.flags
    if not np.isfinite(T):
        T = 0.0
        flags = flags & ~COMMAND_ENABLE
    T_mNm = int(np.rint(min(max(1e3 * T, -TORQUE_MAX_mNm), TORQUE_MAX_mNm)))
    i = _put_header(out, FRAME_COMMAND, command.seq)
    i = _put_u16(out, i, T_mNm)
    i = _put_u16(out, i, command.expiry_ms)
    i = _put_u16(out, i, command.sample_seq)
    i = _put_u8(out, i, flags)
    return close_frame(out, i - 1)


@njit(cache=True, nogil=True)
def decode_command(payload, n, command):
    """Read a COMMAND payload into a ``COMMAND`` record; False if it is anything else."""
    if frame_type(payload, n) != FRAME_COMMAND:
        return False
    command.seq = _u16(payload, 2)
    command.T_cmd = 1e-3 * np.int16(_u16(payload, 4))
    command.expiry_ms = _u16(payload, 6)
    command.sample_seq = _u16(payload, 8)
    command.flags = payload[10]
    return True


@njit(cache=True, nogil=True)
def encode_hello(hello, out):
    """Write the HELLO frame of a ``HELLO`` record to ``out``; returns its length in bytes."""
    i = _put_header(out, FRAME_HELLO, hello.seq)
    for k in range(16):
        i = _put_u8(out, i, hello.firmware[k])
    i = _put_u16(out, i, hello.rate_hz)
    i = _put_u16(out, i, hello.torque_limit_mNm)
    i = _put_u16(out, i, hello.watchdog_ms)
    i = _put_u32(out, i, np.float32(hello.gyro_lsb).view(np.uint32))
    i = _put_u32(out, i, np.float32(hello.accel_lsb).view(np.uint32))
    i = _put_u32(out, i, hello.steer_counts_per_turn)
    return close_frame(out, i - 1)


@njit(cache=True, nogil=True)
def decode_hello(payload, n, hello):
    """Read a HELLO payload into a ``HELLO`` record; False if it is anything else."""
    if frame_type(payload, n) != FRAME_HELLO:
        return False
    hello.seq = _u16(payload, 2)
    for k in range(16):
        hello.firmware[k] = payload[4 + k]
    hello.rate_hz = _u16(payload, 20)
    hello.torque_limit_mNm = _u16(payload, 22)
    hello.watchdog_ms = _u16(payload, 24)
    hello.gyro_lsb = np.uint32(_u32(payload, 26)).view(np.float32)
    hello.accel_lsb = np.uint32(_u32(payload, 30)).view(np.float32)
    hello.steer_counts_per_turn = _u32(payload, 34)
    return True


# Little-endian fields. Encoders begin at out[1]: the byte before it belongs to COBS.


@njit(cache=True, nogil=True)
def _put_header(out, kind, seq):
    out[1] = VERSION
    out[2] = kind
    return _put_u16(out, 3, seq)


@njit(cache=True, nogil=True)
def _put_u8(out, i, value):
    out[i] = value
    return i + 1


@njit(cache=True, nogil=True)
def _put_u16(out, i, value):
    out[i] = value & 0xFF
    out[i + 1] = (value >> 8) & 0xFF
    return i + 2


@njit(cache=True, nogil=True)
def _put_u32(out, i, value):
    return _put_u16(out, _put_u16(out, i, value), value >> 16)


@njit(cache=True, nogil=True)
def _u16(payload, i):
    return payload[i] | (payload[i + 1] << 8)


@njit(cache=True, nogil=True)
def _u32(payload, i):
    return _u16(payload, i) | (_u16(payload, i + 2) << 16)
