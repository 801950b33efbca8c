"""CAN adapter in front of compiled twins, which speaks slcan; independent of the driver's codec.

It passes frames once it is open, at the bit rate of its bus alone. It acknowledges a frame that it is told to send by
``z`` or ``Z``, other lines by an empty one, and what it cannot do by a bell.
"""

from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.kernels import njit

BIT_RATES = (10, 20, 50, 100, 125, 250, 500, 800, 1000)  # kbit/s, by the digit behind S
OPEN, RIGHT_RATE, RATE = 2, 3, 4  # places in a twin's memory: open, at its bus's bit rate, which digit that is
_LINE = 40  # bytes that a line may have


class BusFrame(NamedTuple):
    """BusFrame as it was told to the adapter."""

    identifier: np.int64
    extended: bool
    remote: bool
    size: np.int64
    data: np.int64  # its bytes, the first in the lowest bits


def rate_digit(bit_rate: float) -> int:
    """Digit by which the adapter is told the bit rate of the bus [bit/s]; -1 for none."""
    return BIT_RATES.index(round(1e-3 * bit_rate)) if round(1e-3 * bit_rate) in BIT_RATES else -1


@njit(cache=True, nogil=True, inline="always")
def hear_lines(d, rx, n, t, readings, obey):
    """Let the adapter take ``rx[:n]``, and the device obey the frames in it.

    Parameters
    ----------
    d : record of QUICK_TWIN
    rx : uint8 array
    n : int
    t : float
        s
    readings : (9,) float64 array
    obey : compiled function
        ``obey(d, frame, t, readings)``, with a `BusFrame`.
    """
    for i in range(n):
        if rx[i] != 13:
            d.held[d.filled] = rx[i]
            d.filled = min(d.filled + 1, _LINE)
            continue
        size, d.filled = d.filled, 0
        is_frame, frame = _take_line(d, size)
        if is_frame and d.memory[OPEN] and d.memory[RIGHT_RATE]:
            obey(d, frame, t, readings)


@njit(cache=True, nogil=True)
def _take_line(d, n):
    """Obey a line for the adapter itself, or read the frame it holds; whether it holds one, and the frame."""
    line, nothing = d.held, BusFrame(np.int64(0), False, False, np.int64(0), np.int64(0))
    if n == 0:
        return False, nothing
    first = line[0]
    if first == 67:  # C
        d.memory[OPEN] = 0
    elif first == 79:  # O
        d.memory[OPEN] = 1
    elif first == 83 and n == 2:  # S
        d.memory[RIGHT_RATE] = np.int64(line[1]) - 48 == d.memory[RATE]
    elif first in (84, 82, 116, 114):  # T, R, t, r
        extended, remote = first < 100, first in (82, 114)
        head = 9 if extended else 4
        size = np.int64(line[head]) - 48
        if n < head + 1 or size > 8 or n != head + 1 + (0 if remote else 2 * size):
            _say(d, 7)
            return False, nothing
        data = np.int64(0)
        for i in range(0 if remote else size):
            data |= _number(line, head + 1 + 2 * i, 2) << (8 * i)
        _say(d, 90 if extended else 122)
        _say(d, 13)
        return True, BusFrame(_number(line, 1, head - 1), extended, remote, size, data)
    _say(d, 13)
    return False, nothing


@njit(cache=True, nogil=True)
def _number(line, at, digits):
    value = np.int64(0)
    for i in range(at, at + digits):
        digit = np.int64(line[i])
        value = 16 * value + (digit - 48 if digit < 58 else (digit & 0x5F) - 55)
    return value


@njit(cache=True, nogil=True)
def _say(d, byte):
    if d.n_answer < d.answer.size:
        d.answer[d.n_answer] = byte
        d.n_answer += 1


@njit(cache=True, nogil=True)
def drain_answer(d, out):
    """Write into ``out`` what the adapter answered; returns where it ends."""
    n = d.n_answer
    for i in range(n):
        out[i] = d.answer[i]
    d.n_answer = 0
    return n


@njit(cache=True, nogil=True)
def put_frame(d, out, n, frame):
    """Append the line of a frame that a device sends; returns where it ends.

    Parameters
    ----------
    d : record of QUICK_TWIN
    out : uint8 array
    n : int
    frame : BusFrame
    """
    if not d.memory[OPEN] or not d.memory[RIGHT_RATE]:
        return n
    digits = 8 if frame.extended else 3
    out[n] = (84 if frame.extended else 116) if not frame.remote else (82 if frame.extended else 114)
    for i in range(digits):
        out[n + 1 + i] = _hex(frame.identifier >> (4 * (digits - 1 - i)))
    n += 1 + digits
    out[n] = 48 + frame.size
    n += 1
    if not frame.remote:
        for i in range(frame.size):
            byte = frame.data >> (8 * i)
            out[n], out[n + 1] = _hex(byte >> 4), _hex(byte)
            n += 2
    out[n] = 13
    return n + 1


@njit(cache=True, nogil=True)
def _hex(nibble):
    nibble &= 15
    return nibble + 48 if nibble < 10 else nibble + 55
