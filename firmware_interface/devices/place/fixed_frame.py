"""Frames of fixed length in a byte stream.

They have a fixed beginning; between them the stream may hold anything else. Bytes that cannot be the beginning of a
frame are skipped one by one, so a false start swallows nothing.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit


@njit(cache=True, nogil=True)
def push_byte(receiver, byte, beginning, length):
    """Take one byte; True where ``receiver.payload[:length]`` is a frame now. Runs inside the tick.

    Then `drop_frame` or `drop_byte` makes room for what follows.

    Parameters
    ----------
    receiver : record with the fields of DECODER
    byte : int
    beginning : (b,) uint8 array
        First bytes of every frame.
    length : int
        Of a frame, at most 252.
    """
    receiver.payload[receiver.filled] = byte
    receiver.filled += 1
    _find_beginning(receiver, beginning)
    return receiver.filled == length


@njit(cache=True, nogil=True)
def drop_frame(receiver):
    """Forget a frame that was good. Runs inside the tick."""
    receiver.frames_ok += 1
    receiver.filled = 0


@njit(cache=True, nogil=True)
def drop_byte(receiver, beginning):
    """Forget the first byte of a frame that was none, and find the next beginning. Runs inside the tick."""
    _shift(receiver)
    _find_beginning(receiver, beginning)


@njit(cache=True, nogil=True)
def _shift(receiver):
    receiver.filled -= 1
    receiver.bytes_skipped += 1
    for i in range(receiver.filled):
        receiver.payload[i] = receiver.payload[i + 1]


@njit(cache=True, nogil=True)
def _find_beginning(receiver, beginning):
    """Drop bytes until what is left may begin a frame."""
    while receiver.filled > 0:
        same = True
        for i in range(min(receiver.filled, beginning.size)):
            same = same and receiver.payload[i] == beginning[i]
        if same:
            return
        _shift(receiver)


@njit(cache=True, nogil=True)
def whole_number(data, i, n):
    """Unsigned whole number of ``n`` bytes at ``i``, low byte first. Runs inside the tick."""
    number = np.int64(0)
    for k in range(n):
        number |= np.int64(data[i + k]) << np.int64(8 * k)
    return number


@njit(cache=True, nogil=True)
def signed_number(data, i, n):
    """Whole number of ``n`` bytes at ``i`` in two's complement, low byte first. Runs inside the tick."""
    number = whole_number(data, i, n)
    return number - (np.int64(1) << np.int64(8 * n)) if number >> np.int64(8 * n - 1) else number
