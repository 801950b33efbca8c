"""Lines of an emulated ODrive, compiled: numbers, and the checksum behind the star."""

import numpy as np

from riderless.firmware_interface.kernels import njit


@njit(cache=True, nogil=True)
def find_checked_star(line, size):
    """Find the star of ``line[:size]`` with the right checksum; -1 if it has none."""
    check, checksum, star = np.int64(0), np.int64(0), np.int64(-1)
    for i in range(size):
        if star >= 0:
            checksum = 10 * checksum + np.int64(line[i]) - 48
        elif line[i] == 42:
            star = np.int64(i)
        else:
            check ^= np.int64(line[i])
    return star if star >= 0 and checksum == check else np.int64(-1)


@njit(cache=True, nogil=True)
def read_number(line, at, stop):
    """Read the decimal number at ``at``."""
    value, share, sign = 0.0, 0.0, 1.0
    while at < stop and line[at] != 32:
        digit = np.int64(line[at]) - 48
        if line[at] == 45:
            sign = -1.0
        elif line[at] == 46:
            share = 1.0
        elif share > 0.0:
            share *= 0.1
            value += share * digit
        else:
            value = 10.0 * value + digit
        at += 1
    return sign * value


@njit(cache=True, nogil=True)
def put_digits(out, n, number, least):
    """Append a whole number with so many digits at least; returns where it ends.

    Parameters
    ----------
    out : uint8 array
    n : int
        Where it begins.
    number, least : int
        Number from 0, and how many digits it has at least.
    """
    size, rest = 1, number // 10
    while rest > 0:
        size, rest = size + 1, rest // 10
    size = max(size, least)
    for i in range(size):
        out[n + size - 1 - i] = 48 + number % 10
        number //= 10
    return n + size


@njit(cache=True, nogil=True)
def put_checksum(out, begin, n):
    """End the line that begins at ``begin`` with its checksum; returns where it ends."""
    check = np.int64(0)
    for i in range(begin, n):
        check ^= np.int64(out[i])
    out[n] = 42
    n = put_digits(out, n + 1, check, 1)
    out[n], out[n + 1] = 13, 10
    return n + 2
