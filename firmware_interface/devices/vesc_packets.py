"""Packets of a VESC in plain Python, for what is said before the loop."""

import binascii
from collections.abc import Iterator

SHORT_PACKET, LONG_PACKET, PACKET_END = 2, 3, 3  # first bytes and last byte of a packet


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
