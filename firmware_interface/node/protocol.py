"""Codec of our own protocol, compiled, version 4.

The protocol runs between the computer and the microcontroller (the *node*).

The node carries inertial sensor, steer encoder, wheel sensor and steer drive. Four frames, described
byte by byte in ``docs/node-protocol.md`` and, readably, in ``reference_codec.py``. This module is the
compiled codec the loop and the emulated node use; encoders write whole frames, decoders read the payload of a frame.
HELLO comes before the loop, and is read by the other one.

A frame that is well-formed but of another version, an unknown type or the wrong length is counted
in ``frames_bad_version`` and otherwise ignored.
"""

import numpy as np

from riderless.firmware_interface.calibration import is_off_scale
from riderless.firmware_interface.framing import DECODER_FIELDS, close_frame, next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_ENABLE, COMMAND_KIND_ANGLE
from riderless.firmware_interface.node.layouts import (
    COMMAND_LAYOUT,
    COMMAND_SIZE,
    FIRMWARE_NAME_SIZE,
    FLAG_BITS,
    FRAME_COMMAND,
    FRAME_HELLO,
    FRAME_SAMPLE,
    FRAME_SIZES,
    HEADER_LAYOUT,
    HELLO_LAYOUT,
    HELLO_REQUEST_LAYOUT,
    HELLO_SIZE,
    PROTOCOL_VERSION,
    SAMPLE_LAYOUT,
    SAMPLE_SIZE,
    SERIAL_SIZE,
    VALUE_MAX,
    laid_over,
)

_HEADER_SIZE = HEADER_LAYOUT.itemsize  # bytes
_HALF_OF_THE_NUMBERS = 0x8000  # a longer way forward is a step back

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


@njit(cache=True, nogil=True)
def frame_type(payload, n, version=PROTOCOL_VERSION):
    """Type of a frame (``FRAME_*``) of ``n`` bytes, or 0 if it is of another version, or its length is wrong.

    Runs inside the tick.
    """
    if n < _HEADER_SIZE or payload[0] != version:
        return 0
    kind = payload[1]
    return kind if kind < FRAME_SIZES.size and FRAME_SIZES[kind] == n else 0


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
def decode_sample(payload, n, raw, version=PROTOCOL_VERSION):
    """Read a SAMPLE payload of ``n`` bytes into a ``RAW`` record.

    Returns False, leaving ``raw`` alone, if the payload is anything else.

    Runs inside the tick.

    Parameters
    ----------
    payload : uint8 array
    n : int
    raw : record of type ``RAW``
    version : int
        Of the protocol.
    """
    if frame_type(payload, n, version) != FRAME_SAMPLE:
        return False
    frame = laid_over(payload, 0, SAMPLE_LAYOUT)
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
    raw.refused = frame.refused
    raw.seq_high = frame.seq_high
    raw.off_scale = is_off_scale(raw)
    return True


@njit(cache=True, nogil=True)
def receive_samples(receiver, rx, n, raw, version=PROTOCOL_VERSION):
    """Take ``rx[:n]`` off the line; the newest sample stays in ``raw``.

    Samples missing between two received ones are counted in ``receiver.samples_lost``, a sample that
    comes twice in ``receiver.samples_repeated``. Numbers that step back (the node has restarted)
    count as one lost sample.

    Runs inside the tick.

    Parameters
    ----------
    receiver : record of type ``RECEIVER``
    rx : uint8 array
    n : int
    raw : record of type ``RAW``
        Unchanged if no sample was completed.
    version : int
        Of the protocol that the node speaks.

    Returns
    -------
    int
        Number of new samples.
    """
    samples = 0
    i = np.int64(0)  # a literal 0 would compile next_frame twice
    while i < n:
        i = next_frame(receiver, rx, i, n)
        if receiver.size == 0:
            continue
        if decode_sample(receiver.payload, receiver.size, raw, version):
            samples += _note_sequence(receiver, raw.seq)
        elif frame_type(receiver.payload, receiver.size, version) == 0:
            receiver.frames_bad_version += 1
    return samples


@njit(cache=True, nogil=True, inline="always")
def _note_sequence(receiver, seq):
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
def encode_command(command, out, version=PROTOCOL_VERSION):
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
    frame.version = version
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
    frame.reset_cause = hello.reset_cause
    frame.flash_good = hello.flash_good
    for k in range(SERIAL_SIZE):
        frame.serial[k] = hello.serial[k]
    frame.steer_limit_counts = hello.steer_limit_counts
    frame.lean_limit_mrad = hello.lean_limit_mrad
    frame.torque_step_mNm = hello.torque_step_mNm
    return close_frame(out, HELLO_SIZE)


@njit(cache=True, nogil=True)
def request_nonce(payload):
    """Nonce of a HELLO_REQUEST payload."""
    return laid_over(payload, 0, HELLO_REQUEST_LAYOUT).nonce


@njit(cache=True, nogil=True)
def request_kind(payload):
    """Kind of command that a HELLO_REQUEST payload wants a session for."""
    return laid_over(payload, 0, HELLO_REQUEST_LAYOUT).kind


@njit(cache=True, nogil=True)
def request_guard(payload, guard):
    """Read what a HELLO_REQUEST payload brings for the guard into a ``GUARD`` record."""
    frame = laid_over(payload, 0, HELLO_REQUEST_LAYOUT)
    guard.steer_zero_counts = frame.steer_zero_counts
    guard.steer_limit_counts = frame.steer_limit_counts
    guard.lean_limit_mrad = frame.lean_limit_mrad
    guard.torque_step_mNm = frame.torque_step_mNm
    for i in range(4):
        guard.roll[i], guard.yaw[i], guard.side[i] = frame.roll[i], frame.yaw[i], frame.side[i]
    guard.speed_scale = frame.speed_scale
