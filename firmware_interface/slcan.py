"""CAN frames through an adapter that speaks slcan, the ASCII lines of Lawicel's CAN232.

``t IDD L DATA`` is a frame of 11 bits, ``T IDDDDDDD L DATA`` one of 29 bits, in hexadecimal digits; ``r`` and ``R`` are
requests without data. A carriage return ends a line. The adapter answers ``z``, ``Z`` or an empty line, and a bell
where it refuses. It may put four digits of time behind a frame.

A line has no checksum: what guards it is the CRC of CAN and that of USB, and its strict form.

In plain Python for those before the loop, compiled for those inside it.
Source: Lawicel AB, CAN232 manual version 3, and the firmware of the CANable (slcan.c).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit

_BIT_RATES = (10_000, 20_000, 50_000, 100_000, 125_000, 250_000, 500_000, 800_000, 1_000_000)  # bit/s: S0 to S8
_DIGITS = re.compile(rb"[0-9A-Fa-f]+")
_STAMP = 4  # digits of time
_MOST = 0.8  # share of a bus that frames may take: those of other devices want room
EXTENDED, REMOTE = 1, 2  # bits of a frame's kind

_END, _BELL = 13, 7
_LONGEST = 30  # bytes of a line: T, eight digits, the length, sixteen digits, four of time
_CAPITAL = np.int64(55)  # A, less ten
_T, _BIG_T, _R, _BIG_R = (ord(letter) for letter in "tTrR")


class CanFrame(NamedTuple):
    """Frame as it came off the bus."""

    identifier: int
    data: bytes = b""
    extended: bool = False
    remote: bool = False

    @property
    def line(self) -> bytes:
        """Line by which the adapter is told to send it."""
        letter = ("R" if self.extended else "r") if self.remote else ("T" if self.extended else "t")
        digits = f"{self.identifier:08X}" if self.extended else f"{self.identifier:03X}"
        return f"{letter}{digits}{len(self.data)}{self.data.hex().upper()}\r".encode()


def opening(bit_rate: float) -> bytes:
    """Lines that end what was left half-said, close the adapter, set the bit rate and open it; raises DeviceError."""
    if bit_rate not in _BIT_RATES:
        known = ", ".join(map(str, _BIT_RATES))
        raise DeviceError(
            f"bit_rate of a CAN adapter is one of {known} bit/s, found {bit_rate:g}: correct it in the rig"
        )
    return b"\r\r\rC\rS%d\rO\r" % _BIT_RATES.index(int(bit_rate))


def can_frames(data: bytes) -> Iterator[CanFrame]:
    """Frames of the whole lines in ``data``, whatever stands between them."""
    for line in data.replace(b"\a", b"\r").split(b"\r")[:-1]:
        letter, digits = line[:1], line[1:]
        if letter not in (b"t", b"T", b"r", b"R") or not _DIGITS.fullmatch(digits):
            continue
        extended, remote = letter in (b"T", b"R"), letter in (b"r", b"R")
        head = 8 if extended else 3
        size = int(digits[head : head + 1] or b"F", 16)
        content = digits[head + 1 :]
        n = 0 if remote else 2 * size
        if size <= 8 and len(content) in (n, n + _STAMP):
            yield CanFrame(int(digits[:head], 16), bytes.fromhex(content[:n].decode()), extended, remote)


def require_room_on_bus(frames: float, extended: bool, bit_rate: float, what: str) -> None:
    """Refuse a bus that cannot carry so many frames a second, with the arithmetic.

    Parameters
    ----------
    frames : float
        Hz, of eight bytes each.
    extended : bool
        With identifiers of 29 bits.
    bit_rate : float
        bit/s
    what : str
        What sends them.

    Raises
    ------
    DeviceError
    """
    bits = 160 if extended else 135  # with a stuffed bit after every fourth, and the gap to the next frame
    needed = frames * bits
    if needed > _MOST * bit_rate:
        raise DeviceError(
            f"a CAN bus of {bit_rate:.0f} bit/s is too slow for {what}: {frames:g} frames a second x {bits} bits = "
            f"{needed:.0f} bit/s, wanted at most {100 * _MOST:g} %: raise the bit rate of the bus, or lower rate_Hz"
        )


@njit(cache=True, nogil=True)
def write_frame(out, n, identifier, extended, data, size):
    """Write the line of a frame at ``n``; returns where it ends. Runs inside the tick.

    Parameters
    ----------
    out : uint8 array
    n : int
    identifier : int
    extended : bool
        29 bits in place of 11.
    data : int
        Its bytes, the first in the lowest bits.
    size : int
        How many.
    """
    out[n] = _BIG_T if extended else _T
    digits = 8 if extended else 3
    for i in range(digits):
        digit = (identifier >> (4 * (digits - 1 - i))) & 15
        out[n + 1 + i] = 48 + digit if digit < 10 else _CAPITAL + digit
    n += 1 + digits
    out[n] = 48 + size
    n = put_hex(out, n + 1, data, size, _CAPITAL)
    out[n] = _END
    return n + 1


@njit(cache=True, nogil=True)
def put_hex(out, n, value, size, ten):
    """Append bytes, the lowest first, as hexadecimal digits; returns where they end. Runs inside the tick.

    Parameters
    ----------
    out : uint8 array
    n : int
    value : int
    size : int
        Bytes.
    ten : int
        Letter of the digit ten, less ten: of a capital or a small A.
    """
    for i in range(size):
        for shift in (4, 0):
            digit = (np.int64(value) >> (8 * i + shift)) & 15
            out[n] = 48 + digit if digit < 10 else ten + digit
            n += 1
    return n


@njit(cache=True, nogil=True, inline="always")
def take_frames(link, rx, n, take):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick.

    Parameters
    ----------
    link, rx, n
        As for `riderless.firmware_interface.devices.link.hear`.
    take : compiled function
        ``take(link, identifier, kind, size, data)`` reads a frame whose bytes stand in ``data[:size]``; returns 1 for
        a new reading. ``kind`` has the bits EXTENDED and REMOTE.
    """
    receiver, readings = link.receiver, 0
    for i in range(n):
        byte = rx[i]
        if byte in (_END, _BELL):
            size, kind, identifier = _read_line(receiver)
            receiver.frames_bad_version += byte == _BELL
            receiver.filled = 0
            if size >= 0:
                readings += take(link, identifier, kind, size, receiver.payload)
        elif receiver.filled <= _LONGEST:  # one more than a line has, and it is known to be too long
            receiver.payload[receiver.filled] = byte
            receiver.filled += 1
        else:
            receiver.bytes_skipped += 1
    return readings


@njit(cache=True, nogil=True)
def _read_line(receiver):
    """Read the line that stands in the payload: size, kind and identifier of its frame; a size of -1 for none.

    The frame's bytes then stand at the payload's beginning. Runs inside the tick.
    """
    line, n, nothing = receiver.payload, receiver.filled, np.int64(-1)
    if n == 0 or (n == 1 and (line[0] == 122 or line[0] == 90)):  # "z", "Z": the adapter has sent it
        return nothing, np.int64(0), np.int64(0)
    kind = np.int64(EXTENDED if line[0] == _BIG_T or line[0] == _BIG_R else 0)
    kind |= REMOTE if line[0] == _R or line[0] == _BIG_R else 0
    head = 10 if kind & EXTENDED else 5
    good = n >= head and (line[0] == _T or kind != 0)
    identifier, size = np.int64(0), np.int64(0)
    if good:
        for i in range(1, head - 1):
            value = hex_value(line[i])
            good &= value >= 0
            identifier = identifier << 4 | value
        size = np.int64(line[head - 1]) - 48
        digits = 0 if kind & REMOTE else 2 * size
        good &= 0 <= size <= 8 and (n == head + digits or n == head + digits + _STAMP)
        if good:
            for i in range(head, n):
                good &= hex_value(line[i]) >= 0
    if not good:
        receiver.frames_bad_crc += 1
        receiver.bytes_skipped += n
        return nothing, np.int64(0), np.int64(0)
    receiver.frames_ok += 1
    size = np.int64(0) if kind & REMOTE else size
    for i in range(size):
        line[i] = hex_value(line[head + 2 * i]) << 4 | hex_value(line[head + 1 + 2 * i])
    return size, kind, identifier


@njit(cache=True, nogil=True)
def hex_value(digit):
    """Value of a hexadecimal digit; -1 if it is none. Runs inside the tick."""
    if 48 <= digit <= 57:
        return np.int64(digit) - 48
    if 65 <= digit <= 70:
        return np.int64(digit) - 55
    if 97 <= digit <= 102:
        return np.int64(digit) - 87
    return np.int64(-1)


@njit(cache=True, nogil=True)
def little_endian(data, start, size):
    """Number without a sign in ``size`` bytes, low byte first. Runs inside the tick."""
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(data[start + i]) << (8 * i)
    return value


@njit(cache=True, nogil=True)
def single_at(data, start):
    """Single-precision number, low byte first. Runs inside the tick."""
    return np.float64(np.uint32(little_endian(data, start, 4)).view(np.float32))


@njit(cache=True, nogil=True)
def bits_of_single(value):
    """Bits of a number in single precision. Runs inside the tick."""
    return np.int64(np.float32(value).view(np.uint32))
