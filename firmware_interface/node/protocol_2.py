"""Version 2 of the protocol as the loop speaks it: to a node that obeys a torque only, and for the replay of old runs.

Its SAMPLE is that of today; its COMMAND has no kind, its HELLO no kinds and no limits but that of the torque.
"""

import numpy as np

from riderless.firmware_interface.framing import close_frame, next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_ENABLE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.node.layouts import (
    COMMAND_LAYOUT,
    COMMAND_SIZE,
    FRAME_COMMAND,
    FRAME_SAMPLE,
    SAMPLE_LAYOUT,
    SAMPLE_SIZE,
    VALUE_MAX,
    laid_over,
)
from riderless.firmware_interface.node.protocol import note_sequence, read_readings, type_of_frame

_VERSION = 2
_SIZES = np.array([0, SAMPLE_SIZE, COMMAND_SIZE, 42, 8])  # bytes of its payloads, by type of frame


@njit(cache=True, nogil=True)
def receive_samples_2(receiver, rx, n, raw):
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
            frame = laid_over(receiver.payload, 0, SAMPLE_LAYOUT)
            read_readings(frame, raw)
            raw.refused = frame.refused
            raw.seq_high = frame.seq_high
            samples += note_sequence(receiver, raw.seq)
        elif kind == 0:
            receiver.frames_bad_version += 1
    return samples


@njit(cache=True, nogil=True)
def encode_command_2(command, out):
    """Write the COMMAND frame of a ``COMMAND`` record to ``out``; returns its length in bytes.

    A value that is no torque never leaves, no more than one that is no number.

    Runs inside the tick.
    """
    T = command.T_cmd
    flags = command.flags
    if not np.isfinite(T) or command.kind != COMMAND_KIND_TORQUE:
        T = 0.0
        flags = flags & ~COMMAND_ENABLE
    frame = laid_over(out, 1, COMMAND_LAYOUT)
    frame.version = _VERSION
    frame.type = FRAME_COMMAND
    frame.seq = command.seq
    frame.value = np.rint(min(max(1e3 * T, -VALUE_MAX), VALUE_MAX))
    frame.expiry_ms = command.expiry_ms
    frame.sample_seq = command.sample_seq
    frame.session = command.session
    frame.flags = flags
    return close_frame(out, COMMAND_SIZE)
