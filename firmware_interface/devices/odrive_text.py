"""Lines of an ODrive, compiled.

Numbers to text and back, the checksum, and answers out of a stream of bytes.

Nothing allocates. Writers append to ``out`` at ``n`` and return the new length.
"""

import math

import numpy as np

from riderless.firmware_interface.ascii_text import append_text, ascii_bytes
from riderless.firmware_interface.framing import MAX_PAYLOAD
from riderless.firmware_interface.kernels import njit

# forms of an answer: no number, digits only, any other number, two numbers; and of what is no answer
FORM_WORDS, FORM_WHOLE, FORM_REAL, FORM_PAIR, FORM_BROKEN = range(5)

_STAR, _POINT, _MINUS, _PLUS, _SPACE, _E, _ZERO, _NINE = (ord(c) for c in "*.-+ e09")
_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D
_TO_LOWER = 0x20  # bit that a small letter has and its capital has not
_INF, _NAN = ascii_bytes("inf"), ascii_bytes("nan")
_PUT_AXIS, _OF_REQUEST, _GAP = ascii_bytes("w axis"), ascii_bytes(".requested_state "), ascii_bytes(" ")
_WHOLE_MAX = 2.0**32  # of the widest property that is asked for
_EXPONENT_MAX = 400  # beyond every double


@njit(cache=True, nogil=True)
def append_whole(out, n, number):
    """Append a whole number of zero or more. Runs inside the tick."""
    size, rest = 1, number // 10
    while rest > 0:
        size += 1
        rest //= 10
    for i in range(size):
        out[n + size - 1 - i] = _ZERO + number % 10
        number //= 10
    return n + size


@njit(cache=True, nogil=True)
def append_decimal(out, n, value, places=4):
    """Append a number of magnitude below 1e12 with four or six decimals, to the nearest. Runs inside the tick.

    Parameters
    ----------
    out : uint8 array
    n : int
        Where it begins; where it ends is returned.
    value : float
    places : int
        Decimals, 4 or 6.
    """
    scale = 1_000_000 if places == 6 else 10_000
    ticks = np.int64(np.rint(scale * abs(value)))
    if value < 0.0 and ticks > 0:
        out[n] = _MINUS
        n += 1
    n = append_whole(out, n, ticks // scale)
    out[n] = _POINT
    rest = ticks % scale
    for i in range(places):
        out[n + places - i] = _ZERO + rest % 10
        rest //= 10
    return n + places + 1


@njit(cache=True, nogil=True)
def close_line(out, begin, n):
    """End the line that begins at ``begin`` with its checksum. Runs inside the tick."""
    check = np.int64(0)
    for i in range(begin, n):
        check ^= out[i]
    out[n] = _STAR
    n = append_whole(out, n + 1, check)
    out[n] = _LINE_FEED
    return n + 1


@njit(cache=True, nogil=True)
def append_request(out, n, axis, state):
    """Append the line that tells an axis which state to take. Runs inside the tick.

    Parameters
    ----------
    out : uint8 array
    n : int
        Where it begins; where it ends is returned.
    axis : int
    state : int
        ``AXIS_*``.
    """
    end = append_text(out, append_whole(out, append_text(out, n, _PUT_AXIS), axis), _OF_REQUEST)
    return close_line(out, n, append_text(out, append_whole(out, end, np.int64(state)), _GAP))


@njit(cache=True, nogil=True, inline="always")
def take_lines(link, rx, n, take):
    """Take ``rx[:n]`` off the line; returns how many batches were completed. Runs inside the tick.

    Parameters
    ----------
    link, rx, n
        As for `riderless.firmware_interface.devices.link.hear`.
    take : compiled function
        ``take(link, form, first, second)`` takes an answer, its form (``FORM_*``) and numbers; 1 if it completes a
        batch.
    """
    receiver, batches = link.receiver, 0
    for i in range(n):
        if rx[i] != _LINE_FEED and rx[i] != _CARRIAGE_RETURN:
            if receiver.filled < MAX_PAYLOAD:  # the rest of an over-long line has no place to go
                receiver.payload[receiver.filled] = rx[i]
            receiver.filled += 1
        elif receiver.filled > 0:
            form, first, second = _read_answer(receiver)
            batches += take(link, form, first, second)
    return batches


@njit(cache=True, nogil=True)
def _read_answer(receiver):
    """Take the whole line that is in the receiver, and count it: its form (``FORM_*``) and numbers.

    Runs inside the tick.
    """
    size, receiver.filled = receiver.filled, 0
    fits = size <= MAX_PAYLOAD
    star = _find_star(receiver.payload, size) if fits else np.int64(-1)
    if star < 0:
        if fits:
            receiver.frames_bad_crc += 1
        else:
            receiver.frames_bad_length += 1
        receiver.bytes_skipped += size + 1
        return FORM_BROKEN, 0.0, 0.0
    form, first, second = parse_answer(receiver.payload, star)
    if form == FORM_WORDS:  # `invalid property`, `unknown command`
        receiver.frames_bad_version += 1
    else:
        receiver.frames_ok += 1
    return form, first, second


@njit(cache=True, nogil=True)
def _find_star(line, size):
    """Index of the star in ``line[:size]``; -1 if its checksum is missing or wrong. Runs inside the tick."""
    check, star = np.int64(0), np.int64(0)
    while star < size and line[star] != _STAR:
        check ^= line[star]
        star += 1
    if not star + 1 < size <= star + 4:  # one to three digits
        return np.int64(-1)
    checksum = np.int64(0)
    for i in range(star + 1, size):
        if not _ZERO <= line[i] <= _NINE:
            return np.int64(-1)
        checksum = 10 * checksum + line[i] - _ZERO
    return star if checksum == check else np.int64(-1)


@njit(cache=True, nogil=True)
def parse_answer(line, stop):
    """Form of ``line[:stop]`` (``FORM_*``) and its numbers, as far as it has any. Runs inside the tick."""
    whole, first, at = _number(line, np.int64(0), stop)
    if at < 0:
        return FORM_WORDS, 0.0, 0.0
    if at == stop:
        return FORM_WHOLE if whole else FORM_REAL, first, 0.0
    if line[at] != _SPACE:
        return FORM_WORDS, 0.0, 0.0
    _, second, at = _number(line, at + 1, stop)
    return FORM_PAIR if at == stop else FORM_WORDS, first, second


@njit(cache=True, nogil=True)
def _number(line, at, stop):
    """Parse the number at ``at``: whether it is made of digits only, its value, and its end, -1 if it is none.

    Runs inside the tick.
    """
    negative = at < stop and line[at] == _MINUS
    signed = negative or (at < stop and line[at] == _PLUS)
    sign = -1.0 if negative else 1.0
    at += 1 if signed else 0
    if _says(line, at, stop, _INF):
        return False, sign * math.inf, at + 3
    if _says(line, at, stop, _NAN):
        return False, math.nan, at + 3
    value, at, digits = _digits(line, at, stop, 0.0)
    decimals = np.int64(0)
    point = at < stop and line[at] == _POINT
    if point:
        value, at, decimals = _digits(line, at + 1, stop, value)
    if digits + decimals == 0:
        return False, 0.0, np.int64(-1)
    power, scaled = -decimals, at < stop and line[at] | _TO_LOWER == _E
    if scaled:
        at += 1
        down = at < stop and line[at] == _MINUS
        at += 1 if down or (at < stop and line[at] == _PLUS) else 0
        size, at, digits = _digits(line, at, stop, 0.0)
        if digits == 0:
            return False, 0.0, np.int64(-1)
        size = min(size, float(_EXPONENT_MAX))
        power += np.int64(-size if down else size)
    whole = not (signed or point or scaled) and value < _WHOLE_MAX
    # a power of ten up to 22 is exact, and so is what is divided by it but for one rounding
    value = value * 10.0 ** float(power) if power > 0 else value / 10.0 ** float(-power)
    return whole, sign * value, at


@njit(cache=True, nogil=True)
def _digits(line, at, stop, value):
    """Append the digits that follow to ``value``; returns it, where they end, and how many. Runs inside the tick."""
    begin = at
    while at < stop and _ZERO <= line[at] <= _NINE:
        value = 10.0 * value + (line[at] - _ZERO)
        at += 1
    return value, at, at - begin


@njit(cache=True, nogil=True)
def _says(line, at, stop, word):
    """True if the word stands at ``at``, in capitals or small letters. Runs inside the tick."""
    same = at + word.size <= stop
    i = 0
    while same and i < word.size:
        same = line[at + i] | _TO_LOWER == word[i]
        i += 1
    return same
