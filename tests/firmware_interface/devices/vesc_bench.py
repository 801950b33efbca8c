"""Shared by the tests of the VESC's driver: packets made by hand, and a link that hears and speaks."""

import binascii
import struct

import numpy as np

from riderless.firmware_interface.devices import vesc
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER, new_link
from riderless.firmware_interface.messages import (
    COMMAND,
)
from tests.firmware_interface.wire import as_bytes, record

SCALE = 0.4  # N m on the steer per A
SETTINGS = {"torque_constant_Nm_A": 0.2, "gear_ratio": 2.0, "current_limit_A": 20.0}
ASKED = bytes.fromhex("02053200218120f55003")  # kind 50, bits 5, 8, 15, 16 and 21; its CRC by binascii.crc_hqx
COUNTERS = ("frames_ok", "frames_bad_crc", "frames_bad_length", "frames_bad_version", "bytes_skipped")


def framed(payload):
    head = struct.pack(">BB", 2, len(payload)) if len(payload) < 256 else struct.pack(">BH", 3, len(payload))
    return head + payload + struct.pack(">HB", binascii.crc_hqx(payload, 0), 3)


def answer(iq=0, v_in=240, fault=0, position=0, status=0):
    """In the VESC's units: 0.01 A, 0.1 V, code, millionths of a degree, bits."""
    return framed(struct.pack(">BIihBiB", 50, 0x00218120, iq, v_in, fault, position, status))


def fresh(scale=SCALE, role=ROLE_DRIVE | ROLE_STEER):
    link = new_link()
    link["scale"], link["role"] = scale, role
    return link


def fed(link, *chunks):
    return sum(vesc.receive(link, as_bytes(chunk), len(chunk)) for chunk in chunks)


def told(link, send=1, **command):
    out = np.full(256, 0xAA, np.uint8)
    return out[: vesc.speak(link, record(COMMAND, **command), send, out)].tobytes()


def counted(link):
    return {name: int(link["receiver"][name]) for name in COUNTERS if link["receiver"][name]}
