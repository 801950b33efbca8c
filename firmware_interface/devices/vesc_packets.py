"""Packets of a VESC.

In plain Python for those before the loop, compiled for those inside it.
"""

import binascii
from collections.abc import Iterator

import numpy as np

from riderless.firmware_interface.devices.vesc_codes import VescCommand
from riderless.firmware_interface.framing import MAX_PAYLOAD, crc_xmodem
from riderless.firmware_interface.kernels import njit

SHORT_PACKET, LONG_PACKET, PACKET_END = 2, 3, 3  # first bytes and last byte of a packet
SHORT_OVERHEAD = np.int64(5)  # bytes of a short packet that are not payload
FOUR_BYTE_PAYLOAD = np.int64(5)  # bytes: a kind and four more

# Not plain ints: numba compiles a function anew for every literal int it is handed.
_FW_VERSION, _GET_VALUES = np.int64(VescCommand.FW_VERSION), np.int64(VescCommand.GET_VALUES)
_LONGEST = np.int64(MAX_PAYLOAD + 2) - SHORT_OVERHEAD  # bytes of payload there is room to judge
_FIRMWARE_LONGEST = np.int64(512)  # bytes of payload a VESC ever sends


def encode_packet(payload: bytes) -> bytes:
    """Encode the packet of 1 to 65535 bytes of payload."""
    n = len(payload)
    head = bytes([SHORT_PACKET, n]) if n <= 255 else bytes([LONG_PACKET]) + n.to_bytes(2, "big")
    return head + payload + binascii.crc_hqx(payload, 0).to_bytes(2, "big") + bytes([PACKET_END])


def packet_payloads(data: bytes) -> Iterator[bytes]:
    """Payloads of all whole packets in ``data``, whatever stands between them."""
    at = 0
    while at < len(data):
        head = {SHORT_PACKET: 2, LONG_PACKET: 3}.get(data[at], 0)
        end = at + head + int.from_bytes(data[at + 1 : at + head], "big")
        if data[at + head : end] and encode_packet(data[at + head : end]) == data[at : end + 3]:
            yield data[at + head : end]
            at = end + 3
        else:
            at += 1


@njit(cache=True, nogil=True)
def write_packet(out, start, kind, value):
    """Write a packet of a kind and four bytes at ``start``; returns where it ends. Runs inside the tick.

    Parameters
    ----------
    out : uint8 array
    start : int
    kind : int
        Of `VescCommand`.
    value : int
        Its four bytes, high byte first.
    """
    out[start], out[start + 1], out[start + 2] = SHORT_PACKET, FOUR_BYTE_PAYLOAD, kind
    for i in range(4):
        out[start + 3 + i] = (value >> (24 - 8 * i)) & 0xFF
    end = start + 2 + FOUR_BYTE_PAYLOAD
    crc = crc_xmodem(out, start + 2, end)
    out[end], out[end + 1], out[end + 2] = crc >> 8, crc & 0xFF, PACKET_END
    return end + 3


@njit(cache=True, nogil=True, inline="always")
def take_packets(link, rx, n, head, size, take):
    """Take ``rx[:n]`` off the line; returns the number of answers. Runs inside the tick.

    Parameters
    ----------
    link, rx, n
        As for `riderless.firmware_interface.devices.link.hear`.
    head : (b,) uint8 array
        First bytes of an answer to what is asked inside the loop.
    size : int
        Of its packet [bytes].
    take : compiled function
        ``take(link, data, start)`` reads the answer at ``data[start]``.
    """
    receiver, answers = link.receiver, 0
    for i in range(n):
        receiver.payload[receiver.filled] = rx[i]
        receiver.filled += 1
        start = _ends_answer(receiver, head, size)
        if start >= 0:
            take(link, receiver.payload, start)
            answers += 1
        else:
            _pass_packets(receiver)
    return answers


@njit(cache=True, nogil=True)
def _ends_answer(receiver, head, size):
    """Find the answer of ``size`` bytes, beginning with ``head``, that the newest byte ends; -1 if it ends none.

    It is known by its last byte's coming, wherever it stands: a false start in front, which may claim to be longer
    than ten answers, holds it up for nothing. Runs inside the tick.
    """
    data, start = receiver.payload, receiver.filled - size
    if start < 0 or data[receiver.filled - 1] != PACKET_END:
        return np.int64(-1)
    alike = True
    for i in range(head.size):
        alike &= data[start + i] == head[i]
    if not alike or crc_xmodem(data, start + 2, start + size - 1) != 0:
        return np.int64(-1)
    receiver.frames_ok += 1
    receiver.frames_bad_length += start > 0
    receiver.bytes_skipped += start
    receiver.filled = 0
    return start


@njit(cache=True, nogil=True)
def _pass_packets(receiver):
    """Pass whole packets that are no answer, and byte for byte what begins none; keep the rest.

    Runs inside the tick.
    """
    data, filled, start = receiver.payload, receiver.filled, np.int64(0)
    while start < filled:
        size = _size(receiver, start)
        if size > filled - start:
            break
        if size > 0 and data[start + size - 1] == PACKET_END and crc_xmodem(data, start + 2, start + size - 1) == 0:
            receiver.frames_ok += 1
            # answers to what was asked before the loop may come late
            if data[start + 2] != _FW_VERSION and data[start + 2] != _GET_VALUES:
                receiver.frames_bad_version += 1
            start += size
        else:
            receiver.frames_bad_crc += size > 0
            receiver.bytes_skipped += 1
            start += 1
    if start > 0:
        for i in range(start, filled):
            data[i - start] = data[i]
        receiver.filled = filled - start


@njit(cache=True, nogil=True)
def _size(receiver, start):
    """Bytes, as far as one can tell, of the packet at ``start``; 0 if none begins there. Runs inside the tick."""
    data, held = receiver.payload, receiver.filled - start
    if data[start] == SHORT_PACKET:
        if held < 2:
            return np.int64(2)
        length = np.int64(data[start + 1])
        if length <= _LONGEST:
            return length + SHORT_OVERHEAD if length > 0 else np.int64(0)
        receiver.frames_bad_length += 1
    elif data[start] == LONG_PACKET:
        if held < 3:
            return np.int64(3)
        length = np.int64(data[start + 1]) << 8 | np.int64(data[start + 2])
        receiver.frames_bad_length += 255 < length <= _FIRMWARE_LONGEST
    return np.int64(0)


@njit(cache=True, nogil=True)
def high_first_number(data, start, size):
    """Signed number in ``size`` bytes, high byte first. Runs inside the tick."""
    value = np.int64(0)
    for i in range(size):
        value = value << 8 | np.int64(data[start + i])
    half = np.int64(1) << (8 * size - 1)
    return value - 2 * half if value >= half else value
