"""Frames by COBS and CRC-16.

Bytes to payloads and back; a zero delimits frames.

A frame on the line is ``COBS(payload + CRC) 00``. COBS (Cheshire and Baker 1999) removes every zero
from what it stuffs, so a zero on the line is a delimiter and nothing else, and whoever has lost the
thread is in step again at the next one. The CRC is CRC-16/CCITT-FALSE (polynomial 0x1021, initial
value 0xFFFF, no reflection; ``ibm_3740`` in the catalogues) of the payload, low byte first.

Payloads are at most ``MAX_PAYLOAD`` bytes. With that bound COBS always costs exactly one byte, in
front, and both directions work in place: nothing is allocated and nothing is copied twice.

Everything here is compiled and runs inside the tick.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit

MAX_PAYLOAD = 250  # bytes; with its CRC shorter than the 254 after which COBS inserts a second byte
FRAME_OVERHEAD = 4  # COBS byte, CRC, delimiter
MAX_FRAME = MAX_PAYLOAD + FRAME_OVERHEAD
DELIMITER = 0x00
BITS_PER_BYTE = 10  # on a serial line: start, eight data, stop

DECODER_FIELDS: list[tuple] = [
    # counters; they only grow
    ("frames_ok", "u4"),  # whole, with the right CRC
    ("frames_bad_crc", "u4"),
    ("frames_bad_length", "u4"),  # too short, too long, or not a COBS frame
    ("frames_bad_version", "u4"),  # right CRC, but not a frame of this protocol (counted by node/protocol.py)
    ("bytes_skipped", "u4"),  # bytes of rejected frames, their delimiters included
    # the frame that has just been completed
    ("size", "i4"),  # bytes in `payload`, 0 while no frame is complete
    ("payload", "u1", (MAX_PAYLOAD + 2,)),  # with the two bytes of the CRC behind it
    # the frame that is coming in
    ("first", "u1"),  # its first byte: where COBS says the first zero was
    ("filled", "i8"),  # bytes since the last delimiter
]
DECODER = np.dtype(DECODER_FIELDS, align=True)


def new_decoder() -> np.void:
    """Fresh decoder, a record of type ``DECODER``, all counters zero."""
    return np.zeros(1, DECODER)[0]


def _crc_tables() -> np.ndarray:
    """CRC of each byte with 0 to 7 zero bytes behind it, (8, 256)."""
    crc, tables = np.arange(256, dtype=np.uint32) << 8, []
    for _ in range(8):
        for _ in range(8):
            crc = (crc << 1) ^ np.where(crc & 0x8000, 0x1021, 0).astype(np.uint32)
        tables.append((crc & 0xFFFF).astype(np.uint16))
    return np.array(tables)


_CRC_TABLES = _crc_tables()


@njit(cache=True, nogil=True, inline="always")
def _crc(initial, data, start, stop):
    """CRC-16 of ``data[start:stop]`` with the polynomial 0x1021, not reflected. Runs inside the tick."""
    crc = np.uint32(initial)
    i = start
    while i + 8 <= stop:  # eight bytes at once: the sum of what each of them gives alone ("slicing by eight")
        high = _CRC_TABLES[7, (crc >> 8) ^ data[i]] ^ _CRC_TABLES[6, (crc & 0xFF) ^ data[i + 1]]
        middle = _CRC_TABLES[5, data[i + 2]] ^ _CRC_TABLES[4, data[i + 3]]
        middle ^= _CRC_TABLES[3, data[i + 4]] ^ _CRC_TABLES[2, data[i + 5]]
        crc = np.uint32(high ^ middle ^ _CRC_TABLES[1, data[i + 6]] ^ _CRC_TABLES[0, data[i + 7]])
        i += 8
    while i < stop:
        crc = np.uint32((crc << 8) & 0xFFFF) ^ _CRC_TABLES[0, (crc >> 8) ^ data[i]]
        i += 1
    return crc


@njit(cache=True, nogil=True)
def crc_ccitt(data, start, stop):
    """CRC-16/CCITT-FALSE of ``data[start:stop]``: of our own frames. Runs inside the tick."""
    return _crc(0xFFFF, data, start, stop)


@njit(cache=True, nogil=True)
def crc_xmodem(data, start, stop):
    """CRC-16/XMODEM (initial value 0) of ``data[start:stop]``: of VectorNav and VESC. Runs inside the tick.

    Over data and their own CRC, high byte first, it is 0.
    """
    return _crc(0, data, start, stop)


@njit(cache=True, nogil=True)
def close_frame(out, n):
    """Turn the payload standing in ``out[1:1 + n]`` into a frame, in place.

    Runs inside the tick.

    Parameters
    ----------
    out : uint8 array, at least ``n + 4`` long
    n : int
        Bytes of payload, 1 to ``MAX_PAYLOAD``.

    Returns
    -------
    int
        Bytes of the frame, ``n + 4``; it begins at ``out[0]``.
    """
    crc = crc_ccitt(out, 1, n + 1)
    out[n + 1] = crc & 0xFF
    out[n + 2] = crc >> 8
    end = n + 3
    out[end] = DELIMITER
    next_zero = end
    for i in range(end - 1, 0, -1):
        if out[i] == 0:
            out[i] = next_zero - i
            next_zero = i
    out[0] = next_zero
    return end + 1


@njit(cache=True, nogil=True)
def next_frame(decoder, rx, start, stop):
    """Feed ``rx[start:stop]`` to the decoder, up to the end of the next good frame.

    Afterwards ``decoder.size`` is the length of the frame in ``decoder.payload``, or 0 if the bytes
    ran out first; an unfinished frame is kept for the next call. Bad frames are counted and passed
    over. So a caller loops::

        i = 0
        while i < n:
            i = next_frame(decoder, rx, i, n)
            if decoder.size > 0:
                ...  # decoder.payload[:decoder.size]

    Runs inside the tick.

    Parameters
    ----------
    decoder : record with the fields of ``DECODER``
    rx : uint8 array
    start, stop : int
        Bytes to look at.

    Returns
    -------
    int
        Index of the first byte not yet looked at.
    """
    decoder.size = 0
    filled = decoder.filled
    payload = decoder.payload
    i = start
    while i < stop:
        if filled == 0 and rx[i] != DELIMITER:
            decoder.first = rx[i]
            filled = 1
            i += 1
        # a tight loop over the bytes of one frame; the rest of an over-long one has no place to go
        place = filled - 1
        end, room = i, min(stop, i + MAX_PAYLOAD + 2 - place)
        while end < room:
            byte = rx[end]
            if byte == DELIMITER:
                break
            payload[place] = byte
            place += 1
            end += 1
        while end < stop and rx[end] != DELIMITER:
            end += 1
        filled += end - i
        if end == stop:
            break
        i = end + 1
        if filled > 0:  # delimiters in a row are idling, not frames
            _judge(decoder, filled)
            filled = 0
            if decoder.size > 0:
                decoder.filled = 0
                return i
    decoder.filled = filled
    return stop


@njit(cache=True, nogil=True)
def _judge(decoder, filled):
    """Un-stuff and check the complete frame of ``filled`` bytes; accept or count it."""
    length = filled - 1  # payload and CRC
    i = decoder.first - 1
    fits = 3 <= length <= MAX_PAYLOAD + 2
    payload = decoder.payload
    while fits and i < length:  # each zero was replaced by the way to the next
        while i < length and payload[i] == 1:  # zeros in a row, which need not wait for one another
            payload[i] = 0
            i += 1
        if i < length:
            step = payload[i]
            payload[i] = 0
            i += step
    if not fits or i != length:
        decoder.frames_bad_length += 1
        decoder.bytes_skipped += filled + 1
        return
    sent = decoder.payload[length - 2] | (decoder.payload[length - 1] << 8)
    if crc_ccitt(decoder.payload, 0, length - 2) != sent:
        decoder.frames_bad_crc += 1
        decoder.bytes_skipped += filled + 1
        return
    decoder.frames_ok += 1
    decoder.size = length - 2
