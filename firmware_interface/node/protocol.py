"""Our own protocol between the computer and the microcontroller (the *node*), version 3.

The node carries inertial sensor, steer encoder, wheel sensor and steer drive. Four frames, described
byte by byte in ``docs/node-protocol.md`` and, readably, in ``reference_codec.py``. This module is the
compiled codec the loop uses; encoders write whole frames, decoders read the payload of a frame.

A frame that is well-formed but of another version, an unknown type or the wrong length is counted
in ``frames_bad_version`` and otherwise ignored.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from firmware_interface.calibration import is_off_scale
from firmware_interface.framing import DECODER_FIELDS, close_frame, next_frame
from firmware_interface.kernels import njit
from firmware_interface.messages import COMMAND_ENABLE, COMMAND_KIND_ANGLE

PROTOCOL_VERSION = 3

FRAME_SAMPLE = 1  # node to computer, one per period
FRAME_COMMAND = 2  # computer to node, answering a sample
FRAME_HELLO = 3  # node to computer, when asked
FRAME_HELLO_REQUEST = 4  # computer to node

FIRMWARE_NAME_SIZE = 16  # bytes

# The payloads, byte by byte: little-endian, nothing between the fields.
_HEADER = [("version", "u1"), ("type", "u1"), ("seq", "<u2")]
HEADER_LAYOUT = np.dtype(_HEADER)
SAMPLE_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("t_us", "<u4"),
        ("gyro_x_counts", "<i2"),
        ("gyro_y_counts", "<i2"),
        ("gyro_z_counts", "<i2"),
        ("accel_x_counts", "<i2"),
        ("accel_y_counts", "<i2"),
        ("accel_z_counts", "<i2"),
        ("steer_counts", "<i4"),
        ("wheel_mrad_s", "<i4"),
        ("torque_mNm", "<i2"),
        ("bus_mV", "<u2"),
        ("status", "u1"),
        ("faults", "u1"),
        ("command_seq", "<u2"),
        ("rejected", "u1"),
        ("refused", "u1"),
        ("seq_high", "<u2"),
    ]
)
COMMAND_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("value", "<i2"),
        ("expiry_ms", "<u2"),
        ("sample_seq", "<u4"),
        ("session", "<u4"),
        ("flags", "u1"),
    ]
)
HELLO_LAYOUT = np.dtype(
    [
        *_HEADER,
        ("firmware", "u1", (FIRMWARE_NAME_SIZE,)),
        ("rate_hz", "<u2"),
        ("torque_limit_mNm", "<u2"),
        ("watchdog_ms", "<u2"),
        ("gyro_lsb", "<f4"),
        ("accel_lsb", "<f4"),
        ("steer_counts_per_turn", "<u4"),
        ("session", "<u4"),
        ("kind", "u1"),
        ("obeys", "u1"),
        ("rate_limit_mrad_s", "<u2"),
        ("angle_limit_100urad", "<u2"),
    ]
)
HELLO_REQUEST_LAYOUT = np.dtype([*_HEADER, ("nonce", "<u4"), ("kind", "u1")])

_HALF_OF_THE_NUMBERS = 0x8000  # a longer way forward is a step back

# Bytes. Not plain ints: numba compiles a function anew for every literal int it is handed.
SAMPLE_SIZE = np.int64(SAMPLE_LAYOUT.itemsize)
COMMAND_SIZE = np.int64(COMMAND_LAYOUT.itemsize)
HELLO_SIZE = np.int64(HELLO_LAYOUT.itemsize)
HELLO_REQUEST_SIZE = np.int64(HELLO_REQUEST_LAYOUT.itemsize)

VALUE_MAX = 32767  # -32768 is left free: the two ends of the scale are alike
COMMAND_SCALES = (1e3, 1e3, 1e4)  # of a command's value in its frame, by kind: mN m, mrad/s, 100 urad
FLAG_BITS = 0x0F  # of the byte of flags; the kind has the others

# What the node says of itself, as it stands in the frame.
HELLO = np.dtype(
    [
        ("seq", "u2"),  # number of the request it answers
        ("firmware", "u1", (FIRMWARE_NAME_SIZE,)),  # name, ASCII, padded with zeros
        ("rate_hz", "u2"),  # samples per second
        ("torque_limit_mNm", "u2"),  # the node never applies more
        ("watchdog_ms", "u2"),  # torque is zero this long after the last command
        ("gyro_lsb", "f4"),  # rad/s per count
        ("accel_lsb", "f4"),  # m/s^2 per count
        ("steer_counts_per_turn", "u4"),  # of the encoder's own shaft
        ("session", "u4"),  # in which commands count from now on; 0 for none
        ("kind", "u1"),  # that its commands must have
        ("obeys", "u1"),  # kinds the node can open a session for: bit k is kind k
        ("rate_limit_mrad_s", "u2"),  # the node never turns the steer faster
        ("angle_limit_100urad", "u2"),  # nor further from its encoder's zero
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


def _laid_over(typingctx, data, start, layout):
    """View the bytes ``data[start:]`` as a record of the dtype ``layout``; the length is unchecked."""
    if not isinstance(data, types.Array) or data.dtype != types.uint8 or data.ndim != 1 or data.layout != "C":
        return None

    def _build_view(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = builder.gep(array.data, [args[1]])
        return builder.bitcast(first, context.get_value_type(signature.return_type))

    return layout.dtype(data, types.intp, layout), _build_view


laid_over: Any = intrinsic(_laid_over)  # its calls are typed by numba, not by mypy


@njit(cache=True, nogil=True)
def frame_type(payload, n):
    """Type of the frame (``FRAME_*``), or 0 if it is not of this version, or its length is wrong.

    Runs inside the tick.
    """
    if n < 4 or payload[0] != PROTOCOL_VERSION:
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
    return laid_over(payload, 0, HEADER_LAYOUT).seq


@njit(cache=True, nogil=True)
def encode_sample(raw, out):
    """Write the SAMPLE frame of a ``RAW`` record to ``out``; returns its length in bytes."""
    frame = laid_over(out, 1, SAMPLE_LAYOUT)
    frame.version = PROTOCOL_VERSION
    frame.type = FRAME_SAMPLE
    frame.seq = raw.seq
    frame.t_us = raw.t_us
    frame.gyro_x_counts = raw.gyro_counts[0]
    frame.gyro_y_counts = raw.gyro_counts[1]
    frame.gyro_z_counts = raw.gyro_counts[2]
    frame.accel_x_counts = raw.accel_counts[0]
    frame.accel_y_counts = raw.accel_counts[1]
    frame.accel_z_counts = raw.accel_counts[2]
    frame.steer_counts = raw.steer_counts
    frame.wheel_mrad_s = raw.wheel_mrad_s
    frame.torque_mNm = raw.torque_mNm
    frame.bus_mV = raw.bus_mV
    frame.status = raw.status
    frame.faults = raw.faults
    frame.command_seq = raw.command_seq
    frame.rejected = raw.rejected
    frame.refused = raw.refused
    frame.seq_high = raw.seq_high
    return close_frame(out, SAMPLE_SIZE)


@njit(cache=True, nogil=True)
def decode_sample(payload, n, raw):
    """Read a SAMPLE payload of ``n`` bytes into a ``RAW`` record.

    Returns False, leaving ``raw`` alone, if the payload is anything else.

    Runs inside the tick.
    """
    if frame_type(payload, n) != FRAME_SAMPLE:
        return False
    frame = laid_over(payload, 0, SAMPLE_LAYOUT)
    read_readings(frame, raw)
    raw.refused = frame.refused
    raw.seq_high = frame.seq_high
    return True


@njit(cache=True, nogil=True)
def read_readings(frame, raw):
    """Copy what a SAMPLE frame of every version holds into a ``RAW`` record.

    Runs inside the tick.
    """
    raw.seq = frame.seq
    raw.t_us = frame.t_us
    raw.gyro_counts[0] = frame.gyro_x_counts
    raw.gyro_counts[1] = frame.gyro_y_counts
    raw.gyro_counts[2] = frame.gyro_z_counts
    raw.accel_counts[0] = frame.accel_x_counts
    raw.accel_counts[1] = frame.accel_y_counts
    raw.accel_counts[2] = frame.accel_z_counts
    raw.steer_counts = frame.steer_counts
    raw.wheel_mrad_s = frame.wheel_mrad_s
    raw.torque_mNm = frame.torque_mNm
    raw.bus_mV = frame.bus_mV
    raw.status = frame.status
    raw.faults = frame.faults
    raw.command_seq = frame.command_seq
    raw.rejected = frame.rejected
    raw.off_scale = is_off_scale(raw)


@njit(cache=True, nogil=True)
def receive_samples(receiver, rx, n, raw):
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
    i = np.int64(0)  # a literal 0 would compile next_frame twice
    while i < n:
        i = next_frame(receiver, rx, i, n)
        if receiver.size == 0:
            continue
        if decode_sample(receiver.payload, receiver.size, raw):
            samples += note_sequence(receiver, raw.seq)
        elif frame_type(receiver.payload, receiver.size) == 0:
            receiver.frames_bad_version += 1
    return samples


@njit(cache=True, nogil=True, inline="always")
def note_sequence(receiver, seq):
    """Compare a sample's number with the last one; returns 1 for a new sample, 0 for a repeated one.

    Runs inside the tick.
    """
    step = (seq - receiver.last_seq) & 0xFFFF
    if receiver.started:
        if step == 0:
            receiver.samples_repeated += 1
            return 0
        receiver.samples_lost += step - 1 if step < _HALF_OF_THE_NUMBERS else 1
    receiver.started = 1
    receiver.last_seq = seq
    return 1


@njit(cache=True, nogil=True)
def encode_command(command, out):
    """Write the COMMAND frame of a ``COMMAND`` record to ``out``; returns its length in bytes.

    A value that is not a number never leaves: it goes out as zero with ENABLE off. A value beyond
    the field's range is clamped.

    Runs inside the tick.
    """
    value = command.T_cmd
    flags = command.flags
    if not np.isfinite(value):
        value = 0.0
        flags = flags & ~COMMAND_ENABLE
    frame = laid_over(out, 1, COMMAND_LAYOUT)
    frame.version = PROTOCOL_VERSION
    frame.type = FRAME_COMMAND
    frame.seq = command.seq
    scaled = (1e4 if command.kind == COMMAND_KIND_ANGLE else 1e3) * value
    frame.value = np.rint(min(max(scaled, -VALUE_MAX), VALUE_MAX))
    frame.expiry_ms = command.expiry_ms
    frame.sample_seq = command.sample_seq
    frame.session = command.session
    frame.flags = flags & FLAG_BITS | command.kind << 4
    return close_frame(out, COMMAND_SIZE)


@njit(cache=True, nogil=True)
def decode_command(payload, n, command):
    """Read a COMMAND payload into a ``COMMAND`` record; False if it is anything else."""
    if frame_type(payload, n) != FRAME_COMMAND:
        return False
    frame = laid_over(payload, 0, COMMAND_LAYOUT)
    command.seq = frame.seq
    command.kind = frame.flags >> 4
    command.T_cmd = (1e-4 if command.kind == COMMAND_KIND_ANGLE else 1e-3) * frame.value
    command.expiry_ms = frame.expiry_ms
    command.sample_seq = frame.sample_seq
    command.session = frame.session
    command.flags = frame.flags & FLAG_BITS
    return True


@njit(cache=True, nogil=True)
def encode_hello(hello, out):
    """Write the HELLO frame of a ``HELLO`` record to ``out``; returns its length in bytes."""
    frame = laid_over(out, 1, HELLO_LAYOUT)
    frame.version = PROTOCOL_VERSION
    frame.type = FRAME_HELLO
    frame.seq = hello.seq
    for k in range(FIRMWARE_NAME_SIZE):
        frame.firmware[k] = hello.firmware[k]
    frame.rate_hz = hello.rate_hz
    frame.torque_limit_mNm = hello.torque_limit_mNm
    frame.watchdog_ms = hello.watchdog_ms
    frame.gyro_lsb = hello.gyro_lsb
    frame.accel_lsb = hello.accel_lsb
    frame.steer_counts_per_turn = hello.steer_counts_per_turn
    frame.session = hello.session
    frame.kind = hello.kind
    frame.obeys = hello.obeys
    frame.rate_limit_mrad_s = hello.rate_limit_mrad_s
    frame.angle_limit_100urad = hello.angle_limit_100urad
    return close_frame(out, HELLO_SIZE)


@njit(cache=True, nogil=True)
def decode_hello(payload, n, hello):
    """Read a HELLO payload into a ``HELLO`` record; False if it is anything else."""
    if frame_type(payload, n) != FRAME_HELLO:
        return False
    frame = laid_over(payload, 0, HELLO_LAYOUT)
    hello.seq = frame.seq
    for k in range(FIRMWARE_NAME_SIZE):
        hello.firmware[k] = frame.firmware[k]
    hello.rate_hz = frame.rate_hz
    hello.torque_limit_mNm = frame.torque_limit_mNm
    hello.watchdog_ms = frame.watchdog_ms
    hello.gyro_lsb = frame.gyro_lsb
    hello.accel_lsb = frame.accel_lsb
    hello.steer_counts_per_turn = frame.steer_counts_per_turn
    hello.session = frame.session
    hello.kind = frame.kind
    hello.obeys = frame.obeys
    hello.rate_limit_mrad_s = frame.rate_limit_mrad_s
    hello.angle_limit_100urad = frame.angle_limit_100urad
    return True


@njit(cache=True, nogil=True)
def request_nonce(payload):
    """Nonce of a HELLO_REQUEST payload."""
    return laid_over(payload, 0, HELLO_REQUEST_LAYOUT).nonce


@njit(cache=True, nogil=True)
def request_kind(payload):
    """Kind of command that a HELLO_REQUEST payload wants a session for."""
    return laid_over(payload, 0, HELLO_REQUEST_LAYOUT).kind
