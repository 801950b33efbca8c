"""Reference codec of the node protocol.

In plain Python: slow, short, and to be read as its specification.

The compiled codec in ``framing.py`` and ``protocol.py`` is tested against this one. Each message is a
named tuple whose fields stand in the order of the frame; ``encode`` makes the bytes on the line,
``decode`` takes one frame, without its delimiter, apart.
"""

import struct
from typing import NamedTuple

VERSION = 4


class Sample(NamedTuple):
    """Node to computer, one per period. Units and meaning: ``messages.RAW``."""

    seq: int
    t_us: int
    gyro_x_counts: int
    gyro_y_counts: int
    gyro_z_counts: int
    accel_x_counts: int
    accel_y_counts: int
    accel_z_counts: int
    steer_counts: int
    wheel_mrad_s: int
    torque_mNm: int
    bus_mV: int
    status: int
    faults: int
    command_seq: int
    rejected: int
    refused: int
    seq_high: int


class Command(NamedTuple):
    """Computer to node, answering a sample. Units and meaning: ``messages.COMMAND``."""

    seq: int
    value: int  # mN m, mrad/s or 100 urad, by kind
    expiry_ms: int
    sample_seq: int
    session: int
    flags: int  # in the lower four bits; the kind in the upper four


class HelloFrame(NamedTuple):
    """Node to computer, when asked. Units and meaning: ``layouts.HELLO``."""

    seq: int
    firmware: bytes
    rate_hz: int
    torque_limit_mNm: int
    watchdog_ms: int
    gyro_lsb: float
    accel_lsb: float
    steer_counts_per_turn: int
    session: int
    kind: int = 0
    obeys: int = 1
    rate_limit_mrad_s: int = 0
    angle_limit_100urad: int = 0
    reset_cause: int = 0
    flash_good: int = 1
    serial: bytes = bytes(12)
    steer_limit_counts: int = 0
    lean_limit_mrad: int = 0
    torque_step_mNm: int = 0


class HelloRequest(NamedTuple):
    """Computer to node, the question that HELLO answers, with limits and scales for its guard: ``layouts.GUARD``."""

    seq: int
    nonce: int
    kind: int = 0
    steer_zero_counts: int = 0
    steer_limit_counts: int = 0
    lean_limit_mrad: int = 0
    torque_step_mNm: int = 0
    roll_x: int = 0
    roll_y: int = 0
    roll_z: int = 0
    roll_zero: int = 0
    yaw_x: int = 0
    yaw_y: int = 0
    yaw_z: int = 0
    yaw_zero: int = 0
    side_x: int = 0
    side_y: int = 0
    side_z: int = 0
    side_zero: int = 0
    speed_scale: int = 0


Message = Sample | Command | HelloFrame | HelloRequest

# type byte -> message, and its fields behind version and type; all little-endian, no padding
LAYOUTS: dict[int, tuple[type, struct.Struct]] = {
    1: (Sample, struct.Struct("<H I 3h 3h i i h H B B H B B H")),
    2: (Command, struct.Struct("<H h H I I B")),
    3: (HelloFrame, struct.Struct("<H 16s H H H f f I I B B H H B B 12s I H H")),
    4: (HelloRequest, struct.Struct("<H I B i I H H 4i 4i 4i i")),
}


def encode(message: Message) -> bytes:
    """Bytes of the frame, delimiter included."""
    kind, layout = next((k, layout) for k, (cls, layout) in LAYOUTS.items() if isinstance(message, cls))
    return frame(bytes([VERSION, kind]) + layout.pack(*message))


def decode(stuffed: bytes) -> Message | None:
    """Message in one frame (without its delimiter); None if there is none to be trusted."""
    payload = unframe(stuffed)
    if payload is None or len(payload) < 2 or payload[0] != VERSION or payload[1] not in LAYOUTS:
        return None
    cls, layout = LAYOUTS[payload[1]]
    if len(payload) != 2 + layout.size:
        return None
    return cls(*layout.unpack(payload[2:]))


def frame(payload: bytes) -> bytes:
    """``COBS(payload + CRC) 00`` of at most 250 bytes of payload.

    COBS: cut at the zeros, and write before each piece its length plus one. (The longer general
    form, for pieces of more than 253 bytes, is never needed here.)
    """
    pieces = (payload + crc16(payload).to_bytes(2, "little")).split(b"\x00")
    return b"".join(bytes([len(piece) + 1]) + piece for piece in pieces) + b"\x00"


def unframe(stuffed: bytes) -> bytes | None:
    """Payload of one frame (without its delimiter); None if it is malformed or its CRC is wrong."""
    pieces = []
    while stuffed:
        length, stuffed = stuffed[0], stuffed[1:]
        if length == 0 or len(stuffed) < length - 1:
            return None
        pieces.append(stuffed[: length - 1])
        stuffed = stuffed[length - 1 :]
    data = b"\x00".join(pieces)
    payload, crc = data[:-2], data[-2:]
    if not 1 <= len(payload) <= 250 or crc16(payload).to_bytes(2, "little") != crc:
        return None
    return payload


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE, bit by bit: polynomial 0x1021, initial value 0xFFFF."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc
