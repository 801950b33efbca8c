"""State of one device behind a port.

With it, calls from compiled code to the device's driver. Every driver has two compiled functions, pure and
incremental::

    receive(link, rx, n) -> samples          bytes that came in, into link.raw; how many new readings
    speak(link, command, send, out) -> n     what to say this tick: a command if ``send``, questions always

The tick reaches them through function pointers, so that a machine compiles only the drivers it has
and a new device touches nothing but its own file and a line of the registry.
"""

from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address, entry_of
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND, FIX, RAW
from riderless.firmware_interface.node.layouts import PROTOCOL_VERSION
from riderless.firmware_interface.node.protocol import RECEIVER

# What a device carries, as bits.
ROLE_IMU, ROLE_STEER, ROLE_WHEEL, ROLE_DRIVE = 1, 2, 4, 8
ROLE_PLACE, ROLE_SPEED = 16, 32  # a machine may do without; the latter keeps the speed
ROLE_HEARTBEAT = 64  # of a node that makes the heartbeat for another device's drive, and of that drive
ROLE_SENSORS = ROLE_IMU | ROLE_STEER | ROLE_WHEEL
ROLES = {"imu": ROLE_IMU, "steer": ROLE_STEER, "wheel": ROLE_WHEEL, "drive": ROLE_DRIVE}
CARRIES = {**ROLES, "sensors": ROLE_SENSORS, "place": ROLE_PLACE, "speed": ROLE_SPEED}  # as a rig file may write them

RX_SIZE, TX_SIZE = 4096, 256  # bytes of one port in one tick
MEMORY = 16  # whole numbers a driver may remember from one tick to the next

LINK_STATE = np.dtype(
    [
        ("receiver", RECEIVER),  # counters and the frame that is coming in; drivers without our framing use it alike
        ("raw", RAW),  # the newest readings; fields the device does not carry stay zero
        ("fix", FIX),  # the newest fix of place; all zero where the device carries none
        # settings
        ("hear", "u8"),  # address of the compiled `receive`
        ("say", "u8"),  # address of the compiled `speak`
        ("role", "i8"),  # bits of what it carries
        ("scale", "f8"),  # N m on the steer per unit the drive is commanded in
        ("per_amp", "f8"),  # N m on the steer per ampere it reports, where it reports its current
        ("unit", "f8"),  # rad/s or rad of the steer per unit of a rate or an angle it is commanded in
        ("period_us", "i8"),  # between two of its samples
        ("protocol", "i8"),  # version of our node's, that it speaks: an older one in the replay of an old log
        ("session", "u4"),  # in which its commands count; 0 where it knows none
        ("axis", "i8"),  # of the steer drive, where a device has several
        ("wheel_axis", "i8"),  # of the wheel sensor; -1: none
        # state
        ("silence", "f8"),  # s, since its last sample
        ("polled", "u1"),  # it gives readings only when asked, and is asked once a tick
        ("asked", "f8"),  # s, host clock, when it was last asked
        ("taken", "f8"),  # s, host clock, when its readings were taken, as far as one can tell
        ("said_seq", "u2"),  # number of the command it was last given
        ("memory", "i8", (MEMORY,)),  # the driver's own; its file names the places
    ],
    align=True,
)

_LINK, _COMMAND, _BYTES = (types.CPointer(t) for t in (from_dtype(LINK_STATE), from_dtype(COMMAND), types.uint8))
_HEAR = types.int64(_LINK, _BYTES, types.int64)  # signatures of a driver's two entry points
_SAY = types.int64(_LINK, _COMMAND, types.int64, _BYTES)


def new_link() -> np.void:
    """Fresh link that has heard nothing yet, a record of ``LINK_STATE``."""
    link = np.zeros(1, LINK_STATE)[0]
    link["silence"] = np.inf
    link["asked"] = link["taken"] = -np.inf
    link["scale"] = link["per_amp"] = link["unit"] = 1.0
    link["wheel_axis"] = -1
    link["protocol"] = PROTOCOL_VERSION
    return link


def entry_points(receive: Any, speak: Any) -> tuple[int, int]:
    """Compile a driver's `receive` and `speak` for calls by address; returns their two addresses."""
    hear = entry_of(receive, _hear_entry, _HEAR, {"_receive": receive})
    say = entry_of(speak, _say_entry, _SAY, {"_speak": speak, "TX_SIZE": TX_SIZE})
    return address_of(hear), address_of(say)


def _hear_entry(link, rx, n):
    return _receive(carray(link, 1)[0], carray(rx, n), n)  # type: ignore[name-defined]  # noqa: F821


def _say_entry(link, command, send, out):
    return _speak(carray(link, 1)[0], carray(command, 1)[0], send, carray(out, TX_SIZE))  # type: ignore[name-defined]  # noqa: F821


@intrinsic
def _heard(typingctx, address, link, rx, n):
    return types.int64(types.uint64, link, rx, types.int64), call_at_address


@intrinsic
def _said(typingctx, address, link, command, send, out):
    return types.int64(types.uint64, link, command, types.int64, out), call_at_address


@njit(cache=True, nogil=True)
def hear(link, rx, n):
    """Give the device's driver ``rx[:n]``; returns the number of new readings. Runs inside the tick."""
    return _heard(link.hear, link, rx, n)  # type: ignore[call-arg]  # the context comes from numba


@njit(cache=True, nogil=True)
def say(link, command, send, out):
    """Let the device's driver write what it says this tick; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link : record of type ``LINK_STATE``
    command : record of type ``COMMAND``
        Torque [N m] on the steer, or its rate [rad/s] or angle [rad] by its kind, in the sense of the drive.
    send : int
        0 when the drive must not be fed: then the driver only asks for readings.
    out : (TX_SIZE,) uint8 array
        Filled from its beginning.
    """
    return _said(link.say, link, command, send, out)  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def say_nothing(link, command, send, out):
    """Write nothing, for a device that sends by itself; returns 0 bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `say`.
    """
    return np.int64(0)
