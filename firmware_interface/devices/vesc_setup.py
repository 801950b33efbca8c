"""Meeting a VESC before the loop: its firmware, and one answer of the kind the loop asks for."""

import binascii
import struct
from collections.abc import Iterator

from firmware_interface.devices.device import Introduction, Wants
from firmware_interface.errors import DeviceError
from firmware_interface.port import Port, answers

COUNTS_PER_TURN = 360e6  # millionths of a degree
FW_VERSION, GET_VALUES_SELECTIVE = 0, 50
IQ, V_IN, FAULT, PID_POS, STATUS = 5, 8, 15, 16, 21  # places of the values, bits of the mask
MASK = 1 << IQ | 1 << V_IN | 1 << FAULT | 1 << PID_POS | 1 << STATUS
_VALUES = struct.Struct(">ihBiB")  # of that mask, behind the packet's kind and the mask
FAULTS = {
    1: "over voltage",
    2: "under voltage",
    3: "gate driver",
    4: "absolute over current",
    5: "over temperature of the transistors",
    6: "over temperature of the motor",
    7: "gate driver over voltage",
    8: "gate driver under voltage",
    9: "microcontroller under voltage",
}
_TIMEOUT = 1.0  # s


def introduce(port: Port, wants: Wants) -> Introduction:
    """Ask for firmware and values.

    Raises
    ------
    DeviceError
        When nothing answers, the firmware does not tell its time-out, or a fault is present.
    """
    settings = wants.settings
    version = _answer(port, bytes([FW_VERSION]), "its firmware")
    major, minor = version[1], version[2]
    hardware = version[3:].split(b"\0")[0].decode("ascii", errors="replace")
    values = _answer(port, struct.pack(">BI", GET_VALUES_SELECTIVE, MASK), "its values")
    mask = int.from_bytes(values[1:5], "big")
    if mask != MASK or len(values) != 5 + _VALUES.size:
        raise DeviceError(
            f"the VESC {hardware} on {port.path} should answer with the status byte that tells of its time-out, "
            "found firmware "
            f"{major}.{minor:02d} without it: load a newer one with VESC Tool, else the time-out cannot be proven"
        )
    _, _, fault, _, _ = _VALUES.unpack(values[5:])
    if fault:
        raise DeviceError(
            f"the VESC {hardware} on {port.path} should be without a fault, found fault {fault} "
            f"({FAULTS.get(fault, 'see VESC Tool')}): remove its cause and switch the drive off and on"
        )
    scale = settings["torque_constant_Nm_A"] * settings["gear_ratio"]
    if not scale > 0.0:
        raise DeviceError(
            "torque constant and gear ratio of a VESC must be positive, found "
            f"{settings['torque_constant_Nm_A']:g} N m/A and "
            f"{settings['gear_ratio']:g}: a drive that turns the other way has torque_sign = -1 in [calibration]"
        )
    return Introduction(
        name=f"VESC {hardware} {major}.{minor:02d}",
        torque_limit=settings["current_limit_A"] * scale,
        watchdog=None,  # it does not tell: what the rig says is proven while arming
        steer_counts_per_turn=COUNTS_PER_TURN,
        scale=scale,
        per_amp=scale,
    )


def packet(payload: bytes) -> bytes:
    """A packet of up to 65535 bytes of payload."""
    n = len(payload)
    head = bytes([2, n]) if n < 256 else bytes([3, n >> 8, n & 0xFF])
    return head + payload + binascii.crc_hqx(payload, 0).to_bytes(2, "big") + b"\x03"


def payloads(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Payloads of all whole packets in ``data``, wherever they begin, and where each packet ends."""
    at = 0
    while at < len(data):
        head = {2: 2, 3: 3}.get(data[at], 0)
        length = int.from_bytes(data[at + 1 : at + head], "big") if head else 0
        end = at + head + length
        if head and length and data[end + 2 : end + 3] == b"\x03":
            payload = data[at + head : end]
            if binascii.crc_hqx(payload, 0) == int.from_bytes(data[end : end + 2], "big"):
                at = end + 3
                yield payload, at
                continue
        at += 1


def _answer(port: Port, question: bytes, what: str) -> bytes:
    """The payload that answers a question: the same kind comes back."""
    heard = b""
    for data in answers(port, lambda k: packet(question), _TIMEOUT):
        heard = (heard + data)[-4096:]
        for payload, _ in payloads(heard):
            if payload[0] == question[0]:
                return payload
    wanted = f"a VESC on {port.path} should tell {what} at {port.baud} baud"
    if not heard:
        raise DeviceError(
            f"{wanted}, but nothing came; is it powered, is this its port, and is UART among its apps in VESC Tool?"
        )
    raise DeviceError(f"{wanted}, but {len(heard)} bytes of something else came; is it another device or baud rate?")
