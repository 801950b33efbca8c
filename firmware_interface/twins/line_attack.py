"""Attacker on the line, or crashed host.

Both send well-formed frames that nobody meant to send now. He hears every frame posted from power-up on, and says again
what he has heard (REPLAY, LOOP), or what he makes of it (FORGE: he reads session and numbers along, and so knows all
that the protocol asks of a command).
"""

import numpy as np

from riderless.firmware_interface.framing import close_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_ENABLE
from riderless.firmware_interface.node.layouts import (
    COMMAND_LAYOUT,
    COMMAND_SIZE,
    FRAME_COMMAND,
    PROTOCOL_VERSION,
    laid_over,
)
from riderless.firmware_interface.twins.faults import FaultKind

_KEPT = 2048  # frames: 10 s at 200 Hz
_ROOM = 64  # bytes; no frame of ours is longer
_INSTANT = 1e-9  # s
_REPLAY, _LOOP, _FORGE = int(FaultKind.REPLAY), int(FaultKind.LOOP), int(FaultKind.FORGE)

EAVESDROPPER = np.dtype(
    [
        ("heard", "i8"),  # frames so far; the latest are kept
        ("t", "f8", (_KEPT,)),  # s, when each was posted
        ("size", "i8", (_KEPT,)),
        ("bytes", "u1", (_KEPT, _ROOM)),
        ("said", "u1", (_ROOM,)),  # room for what the attacker says next
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def is_attacked(faults, way):
    """Tell whether anybody listens on this way of the line, ever."""
    for i in range(faults.size):  # noqa: SIM110
        if faults[i].way & way and _REPLAY <= faults[i].kind <= _FORGE:
            return True
    return False


@njit(cache=True, nogil=True)
def silences(fault, way, t):
    """Tell whether this fault keeps new frames from being sent at ``t`` [s]."""
    return fault.kind == _LOOP and fault.way & way != 0 and fault.start <= t < fault.stop


@njit(cache=True, nogil=True)
def eavesdrop(spy, frame, n, t):
    """Keep ``frame[:n]``; a longer one than ours is passed over.

    Parameters
    ----------
    spy : record of type ``EAVESDROPPER``
    frame : uint8 array
    n : int
    t : float
        s, when it was posted.
    """
    if n > _ROOM:
        return
    slot = spy.heard % _KEPT
    spy.t[slot] = t
    spy.size[slot] = n
    for i in range(n):
        spy.bytes[slot, i] = frame[i]
    spy.heard += 1


@njit(cache=True, nogil=True)
def repeat(spy, fault, way, t, out):
    """Write the next frame that is said again by ``t`` [s] to ``out``; returns its bytes, 0 if there is none now.

    Parameters
    ----------
    spy : record of type ``EAVESDROPPER``
    fault : record of type ``FAULT_RECORD``
        ``held`` is the number of the next frame to replay; ``begun`` counts instants of a loop.
    way : int
    t : float
    out : uint8 array
    """
    if not fault.way & way or not fault.start <= t < fault.stop:
        return 0
    if fault.kind == _REPLAY:
        if not fault.begun:
            fault.begun = 1
            fault.held = 0.0
        number = max(np.int64(fault.held), spy.heard - _KEPT)
        while number < spy.heard and spy.t[number % _KEPT] < fault.start - fault.size - _INSTANT:
            number += 1  # older than the attack reaches
        due = number < spy.heard and spy.t[number % _KEPT] <= t - fault.size + _INSTANT
        fault.held = number + 1.0 if due else number
        return _said_again(spy, number, out) if due else 0
    if fault.kind == _LOOP and t != fault.held:  # one frame an instant
        fault.held = t
        length = min(np.int64(fault.size), spy.heard, _KEPT)
        fault.begun += 1
        return _said_again(spy, spy.heard - length + fault.begun % length, out) if length > 0 else 0
    return 0


@njit(cache=True, nogil=True)
def _said_again(spy, number, out):
    slot = number % _KEPT
    for i in range(spy.size[slot]):
        out[i] = spy.bytes[slot, i]
    return spy.size[slot]


@njit(cache=True, nogil=True)
def forge(fault, way, frame, n, t, out):
    """Write a command of the fault's torque to ``out``: the genuine one in ``frame[:n]`` with the next number.

    Parameters
    ----------
    fault : record of type ``FAULT_RECORD``
    way : int
    frame : uint8 array
    n : int
    t : float
        s
    out : uint8 array

    Returns
    -------
    int
        Bytes of the frame; 0 if the fault is another or is not on, or the genuine frame is no command.
    """
    if fault.kind != _FORGE or not fault.way & way or not fault.start <= t < fault.stop or n != COMMAND_SIZE + 4:
        return 0
    for i in range(n):
        out[i] = frame[i]
    i = int(out[0])
    while 0 < i < n - 1:  # undo COBS: each zero was replaced by the way to the next
        step = int(out[i])
        out[i] = 0
        i += max(step, 1)
    command = laid_over(out, 1, COMMAND_LAYOUT)
    if command.version != PROTOCOL_VERSION or command.type != FRAME_COMMAND:
        return 0
    command.seq = command.seq + 1
    command.value = np.rint(1e3 * fault.size)
    command.flags = command.flags | COMMAND_ENABLE
    return close_frame(out, COMMAND_SIZE)
