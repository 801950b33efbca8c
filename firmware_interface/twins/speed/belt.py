"""Emulated belt of a treadmill.

Its motion and messages, compiled for simulated time and for its twin.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_FAULT,
    SPEED_RUNNING,
    SPEED_STOPPED,
    SPEED_TIMED_OUT,
)
from riderless.firmware_interface.devices.speed.treadmill import (
    BELT_COMMAND,
    BELT_COMMAND_SIZE,
    BELT_REPORT,
    BELT_REPORT_SIZE,
    BELT_RUN,
    BELT_VERSION,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import DECODER, close_frame, next_frame
from riderless.firmware_interface.kernels import njit

BELT_FAULTS = ("silent", "deaf", "frozen", "stands", "slow", "runs_away", "reports_fault", "stop_button")
BELT_TIME_OUT = 0.5  # s without a command after which it comes to rest
COMES_TO_REST = 1.0  # m/s^2, by itself
BELT_LAG, BELT_SCALE, BELT_REPORTS_EVERY = 0.3, 0.97, 0.1  # s; its speed by what it thinks; s
FASTEST_BELT = 12.0  # m/s
BELT_SILENT, BELT_DEAF, BELT_FROZEN, _STANDS, _SLOW, _AWAY, BELT_FAULTY, BELT_BUTTON = (
    1 << i for i in range(len(BELT_FAULTS))
)
_RUNAWAY = 1.5  # m/s^2
_SLOW_SHARE = 0.8
_CRAWL = 1e-3  # m/s, at which it stands
_MOST_FAULTS = 4

BELT_TWIN = np.dtype(
    [
        ("on", "i8"),  # there is one
        ("hear", "u8"),  # address of what hears bytes; 0 where it is not asked for by `hear_speed_drive`
        ("tell", "u8"),  # and of what writes them
        ("unit", "f8"),  # mm/s, of a drive of the wheel: per unit that it counts in
        ("asked", "i8"),  # what it was asked and has not answered, as bits
        ("state", "i8"),  # of an ODrive's axis
        ("error", "i8"),  # of an ODrive's axis, latched
        ("shown", "f8"),  # m/s, that a frozen one repeats
        ("decoder", DECODER),
        ("speed", "f8"),  # m/s, true
        ("change", "f8"),  # m/s^2
        ("aim", "f8"),  # m/s, ramped by itself
        ("told", "f8"),  # m/s
        ("told_change", "f8"),  # m/s^2
        ("runs", "i8"),
        ("timed_out", "i8"),
        ("unheard_for", "f8"),  # s
        ("answered", "i8"),  # number of the last command
        ("seq", "i8"),
        ("next_report", "f8"),  # s
        ("n_faults", "i8"),
        ("fault", "i8", (_MOST_FAULTS,)),  # bits of BELT_FAULTS
        ("fault_from", "f8", (_MOST_FAULTS,)),  # s, since it runs
        ("fault_to", "f8", (_MOST_FAULTS,)),
        ("ran_from", "f8"),  # s, when it was first told to run; negative before
    ],
    align=True,
)


class BeltFault(NamedTuple):
    """Fault of a belt, from ``start`` to ``stop`` [s] after it was first told to run."""

    kind: str  # of BELT_FAULTS
    start: float
    stop: float = 1e9


def new_belt(faults: Sequence[BeltFault] = ()) -> np.void:
    """Make a belt that stands, as after power-up, a record of BELT_TWIN.

    Raises
    ------
    DeviceError
        An unknown fault, or too many.
    """
    belt = np.zeros(1, BELT_TWIN)[0]
    unknown = [fault.kind for fault in faults if fault.kind not in BELT_FAULTS]
    if unknown or len(faults) > _MOST_FAULTS:
        raise DeviceError(f"a belt has at most {_MOST_FAULTS} faults among {', '.join(BELT_FAULTS)}, found {unknown}")
    belt["on"], belt["ran_from"], belt["n_faults"] = 1, -1.0, len(faults)
    for i, fault in enumerate(faults):
        belt["fault"][i] = 1 << BELT_FAULTS.index(fault.kind)
        belt["fault_from"][i], belt["fault_to"][i] = fault.start, fault.stop
    return belt


@njit(cache=True, nogil=True)
def belt_faults(b, t):
    """Find the faults that are on at ``t`` [s], as bits of `BELT_FAULTS`."""
    wrong = 0
    for i in range(b.n_faults):
        since = t - b.ran_from
        if b.ran_from >= 0.0 and b.fault_from[i] <= since < b.fault_to[i]:
            wrong |= b.fault[i]
    return wrong


@njit(cache=True, nogil=True)
def tell_speed(b, t, runs, speed, change):
    """Let it take a command at ``t`` [s].

    Parameters
    ----------
    b : record of BELT_TWIN
    t : float
        s
    runs : int
        0 to come to rest.
    speed, change : float
        m/s and m/s^2
    """
    b.unheard_for, b.runs = 0.0, runs
    if runs and b.ran_from < 0.0:
        b.ran_from = t
    b.told, b.told_change = speed, change


@njit(cache=True, nogil=True)
def hear_belt(b, rx, n, t):
    """Let the belt hear bytes.

    Parameters
    ----------
    b : record of BELT_TWIN
    rx : uint8 array
    n : int
        Bytes that came.
    t : float
        s
    """
    i = 0
    while i < n:
        i = next_frame(b.decoder, rx, i, n)
        data = b.decoder.payload
        if b.decoder.size != BELT_COMMAND_SIZE or data[0] != BELT_VERSION or data[1] != BELT_COMMAND:
            continue
        if belt_faults(b, t) & BELT_DEAF:
            continue
        b.answered = np.int64(data[2]) | (np.int64(data[3]) << 8)
        speed = 1e-3 * (np.int64(data[6]) | (np.int64(data[7]) << 8))
        tell_speed(b, t, data[4] & BELT_RUN, speed, 1e-3 * (np.int64(data[8]) | (np.int64(data[9]) << 8)))
        if b.runs == 0:
            b.timed_out = 0  # told not to run, it may be told to run again


@njit(cache=True, nogil=True)
def move_belt(b, t, dt):
    """Let ``dt`` [s] pass from ``t`` on; ``speed`` and ``change`` are those at its end and over it."""
    wrong = belt_faults(b, t)
    b.unheard_for += dt
    if b.runs and b.unheard_for > BELT_TIME_OUT:
        b.timed_out = 1
    obeys = b.runs and not b.timed_out and not wrong & (BELT_FAULTY | BELT_BUTTON)
    wanted, step = (b.told, b.told_change * dt) if obeys else (0.0, COMES_TO_REST * dt)
    b.aim = min(max(min(wanted, FASTEST_BELT), b.aim - step), b.aim + step)
    share = _SLOW_SHARE if wrong & _SLOW else 1.0
    v = b.speed + (1.0 - np.exp(-dt / BELT_LAG)) * (BELT_SCALE * share * b.aim - b.speed)
    if wrong & _STANDS:
        v = max(b.speed - 2.0 * COMES_TO_REST * dt, 0.0)
    if wrong & _AWAY:
        v = min(b.speed + _RUNAWAY * dt, FASTEST_BELT)
    v = 0.0 if v < _CRAWL and wanted == 0.0 else v
    b.change, b.speed = (v - b.speed) / dt, v


@njit(cache=True, nogil=True)
def report_belt(b, t, out):
    """Write the belt's report into ``out`` where one is due at ``t`` [s]; returns the number of bytes."""
    if t < b.next_report:
        return 0
    b.next_report += BELT_REPORTS_EVERY
    wrong = belt_faults(b, t)
    if wrong & BELT_SILENT:
        return 0
    if not wrong & BELT_FROZEN:
        b.seq = (b.seq + 1) & 0xFFFF
    status = SPEED_RUNNING if b.runs and not b.timed_out else 0
    status |= (SPEED_TIMED_OUT if b.timed_out else 0) | (SPEED_FAULT if wrong & BELT_FAULTY else 0)
    status |= SPEED_STOPPED if wrong & BELT_BUTTON else 0
    speed, aim = np.int64(np.rint(1e3 * b.speed / BELT_SCALE)), np.int64(np.rint(1e3 * b.aim))
    time = np.int64(1e3 * t)
    out[1], out[2] = BELT_VERSION, BELT_REPORT
    out[3], out[4], out[5], out[6] = b.seq & 0xFF, b.seq >> 8, status, 0
    out[7], out[8], out[9], out[10] = speed & 0xFF, (speed >> 8) & 0xFF, aim & 0xFF, (aim >> 8) & 0xFF
    out[11], out[12] = b.answered & 0xFF, b.answered >> 8
    for i in range(4):
        out[13 + i] = (time >> (8 * i)) & 0xFF
    return close_frame(out, BELT_REPORT_SIZE)
