"""Version 1 of the protocol as the loop spoke it: for the replay of runs that were made with it, and for nothing else.

Its SAMPLE is that of today without the last two fields; its COMMAND has half the sample's number and no session.
"""

import numpy as np

from riderless.firmware_interface.framing import close_frame, next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_ENABLE
from riderless.firmware_interface.node.layouts import (
    FRAME_COMMAND,
    FRAME_SAMPLE,
    HEADER_LAYOUT,
    SAMPLE_LAYOUT,
    VALUE_MAX,
    laid_over,
)
from riderless.firmware_interface.node.protocol import note_sequence, read_readings, type_of_frame

_VERSION = 1
_SAMPLE_LAYOUT = np.dtype([(name, SAMPLE_LAYOUT[name]) for name in SAMPLE_LAYOUT.names[:-2]])  # type: ignore[index]
_COMMAND_LAYOUT = np.dtype(
    [
        *((name, HEADER_LAYOUT[name]) for name in HEADER_LAYOUT.names or ()),
        ("torque_mNm", "<i2"),
        ("expiry_ms", "<u2"),
        ("sample_seq", "<u2"),
        ("flags", "u1"),
    ]
)
_COMMAND_SIZE = np.int64(_COMMAND_LAYOUT.itemsize)
_SIZES = np.array([0, _SAMPLE_LAYOUT.itemsize, _COMMAND_SIZE, 38, 4])  # bytes of its payloads, by type of frame


@njit(cache=True, nogil=True)
def receive_samples_1(receiver, rx, n, raw):
    """Take ``rx[:n]`` off the line, as `protocol.receive_samples` does; returns the number of new samples.

    Runs inside the tick.

    Parameters
    ----------
    receiver : record of type ``RECEIVER``
    rx : uint8 array
    n : int
    raw : record of type ``RAW``
    """
    samples = 0
    i = np.int64(0)
    while i < n:
        i = next_frame(receiver, rx, i, n)
        if receiver.size == 0:
            continue
        kind = type_of_frame(receiver.payload, receiver.size, _VERSION, _SIZES)
        if kind == FRAME_SAMPLE:
            read_readings(laid_over(receiver.payload, 0, _SAMPLE_LAYOUT), raw)
            samples += note_sequence(receiver, raw.seq)
        elif kind == 0:
            receiver.frames_bad_version += 1
    return samples


@njit(cache=True, nogil=True)
def encode_command_1(command, out):
    """Write the COMMAND frame of a ``COMMAND`` record to ``out``; returns its length in bytes.

    Runs inside the tick.
    """
    T = command.T_cmd
    flags = command.flags
    if not np.isfinite(T):
        T = 0.0
        flags = flags & ~COMMAND_ENABLE
    frame = laid_over(out, 1, _COMMAND_LAYOUT)
    frame.version = _VERSION
    frame.type = FRAME_COMMAND
    frame.seq = command.seq
    frame.torque_mNm = np.rint(min(max(1e3 * T, -VALUE_MAX), VALUE_MAX))
    frame.expiry_ms = command.expiry_ms
    frame.sample_seq = command.sample_seq & 0xFFFF
    frame.flags = flags
    return close_frame(out, _COMMAND_SIZE)
