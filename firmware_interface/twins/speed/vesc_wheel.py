"""Twin of a VESC on the rear wheel.

Its packets have a codec of their own; the wheel moves as the emulated belt. Its time-out ends with the next command. It
answers what it is asked at its next step. A wheel that is told no speed rolls out.
"""

import binascii
from collections.abc import Mapping, Sequence

import numpy as np

from riderless.firmware_interface.devices.speed.wheel_settings import wheel_travel
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.speed.belt import (
    BELT_BUTTON,
    BELT_DEAF,
    BELT_FAULTY,
    BELT_FROZEN,
    BELT_SCALE,
    BELT_SILENT,
    BeltFault,
    belt_faults,
    new_belt,
    tell_speed,
)
from riderless.firmware_interface.twins.speed.treadmill import TreadmillTwin
from riderless.firmware_interface.twins.twin import TwinConfig

OWN_CHANGE = 3.0  # m/s^2, that a drive of the wheel allows itself
_LONGEST = 64  # bytes of payload that it is ever sent
_OVER_CURRENT = 4  # the fault code it shows


def new_vesc_wheel(settings: Mapping[str, float], faults: Sequence[BeltFault] = ()) -> np.void:
    """Make a wheel that stands, as after power-up, a record of BELT_TWIN; raises DeviceError."""
    wheel = new_belt(faults)
    wheel["unit"] = 1e3 * wheel_travel("vesc_wheel", settings) / (60.0 * settings["pole_pairs"])
    return wheel


@njit(cache=True, nogil=True)
def _crc(data, start, stop):
    """CRC-16 of ``data[start:stop]``, polynomial 0x1021 from 0, bit by bit."""
    c = np.int64(0)
    for i in range(start, stop):
        c ^= np.int64(data[i]) << 8
        for _ in range(8):
            c = ((c << 1) ^ 0x1021) & 0xFFFF if c & 0x8000 else (c << 1) & 0xFFFF
    return c


@njit(cache=True, nogil=True)
def hear_vesc_wheel(b, rx, n, t):
    """Let it hear bytes; what is no packet is dropped byte by byte.

    Parameters
    ----------
    b : record of BELT_TWIN
    rx : uint8 array
    n : int
        Bytes that came.
    t : float
        s
    """
    held = b.decoder
    for i in range(n):
        if belt_faults(b, t) & BELT_DEAF:
            held.filled = 0
            continue
        held.payload[held.filled] = rx[i]
        held.filled += 1
        while held.filled > 0:
            size = np.int64(held.payload[1]) if held.filled > 1 else np.int64(1)
            drop = np.int64(0)
            if held.payload[0] != 2 or size == 0 or size > _LONGEST:
                drop = np.int64(1)
            elif held.filled >= 2 and held.filled == size + 5:
                checksum = np.int64(held.payload[size + 2]) << 8 | np.int64(held.payload[size + 3])
                right = held.payload[size + 4] == 3 and checksum == _crc(held.payload, 2, size + 2)
                if right:
                    _obey(b, held.payload, size, t)
                drop = size + 5 if right else np.int64(1)
            if drop == 0:
                break
            for k in range(drop, held.filled):
                held.payload[k - drop] = held.payload[k]
            held.filled -= drop


@njit(cache=True, nogil=True)
def _obey(b, packet, size, t):
    """Do what the payload ``packet[2:2 + size]`` says."""
    kind, value = packet[2], np.int64(0)
    for k in range(3, 2 + size):
        value = value << 8 | np.int64(packet[k])
    if kind == 50 and size == 5:  # of the selection, only that of our driver is answered
        b.asked = 1 if value == 0x208180 else 0
    elif kind in (7, 8) and size == 5:  # a brake current, a speed
        value = value - (1 << 32) if value >= 1 << 31 else value
        b.timed_out = 0
        tell_speed(b, t, 1 if kind == 8 else 0, 1e-3 * value * b.unit, OWN_CHANGE)


@njit(cache=True, nogil=True)
def tell_vesc_wheel(b, t, out):
    """Write the answer that is due into ``out``; returns the number of bytes."""
    if b.asked == 0:
        return 0
    b.asked = 0
    wrong = belt_faults(b, t)
    if wrong & BELT_SILENT:
        return 0
    if not wrong & BELT_FROZEN:
        b.shown = b.speed
    rpm = np.int64(1e3 * b.shown / BELT_SCALE / b.unit)
    status = (1 if b.timed_out else 0) | (2 if wrong & BELT_BUTTON else 0)
    out[0], out[1], out[2] = 2, 13, 50
    out[3], out[4], out[5], out[6] = 0, 0x20, 0x81, 0x80
    for k in range(4):
        out[7 + k] = (rpm >> (24 - 8 * k)) & 0xFF
    out[11], out[12] = 0, 251  # 25.1 V
    out[13], out[14] = _OVER_CURRENT if wrong & BELT_FAULTY else 0, status
    crc = _crc(out, 2, 15)
    out[15], out[16], out[17] = crc >> 8, crc & 0xFF, 3
    return 18


_ASKS_VERSION = bytes([2, 1, 0, 0, 0, 3])  # a packet: the CRC of a zero is zero
_VERSION = bytes([0, 6, 2]) + b"410\0" + bytes(17)  # firmware 6.02; number, pairing, test and kind are zero


class _VescWheelTwin(TreadmillTwin):
    """VESC on its line: it also says what it is, when it is asked before the loop."""

    def hear(self, data: bytes, t: float) -> bytes:
        """Take packets; a question for the version is answered at once."""
        super().hear(data, t)
        questions = data.count(_ASKS_VERSION)
        return questions * (
            bytes([2, len(_VERSION)]) + _VERSION + binascii.crc_hqx(_VERSION, 0).to_bytes(2, "big") + b"\3"
        )


def make(config: TwinConfig) -> _VescWheelTwin:
    """Make a VESC as after power-up."""
    return _VescWheelTwin(new_vesc_wheel(config.settings), hear_vesc_wheel, tell_vesc_wheel)
