"""The shared test vectors that belong to no device of their own: stuffing and checksums."""

import binascii
import json

import numpy as np
import pytest

from riderless.firmware_interface.framing import crc_ccitt, crc_xmodem
from tests.firmware_interface.wire import framed
from tests.paths import REFERENCE

FILE = REFERENCE / "device_vectors.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))["vectors"]


def of(device):
    found = [pytest.param(bytes.fromhex(v["hex"]), v, id=v["hex"][:24]) for v in VECTORS if v["device"] == device]
    assert found
    return found


def bytes_of(data):
    return np.frombuffer(bytearray(data + b"\0"), np.uint8)


@pytest.mark.parametrize(("data", "v"), of("cobs"))
def test_cobs(data, v):
    """Our frames are COBS of payload and CRC: the vectors' stuffing, seen through ours."""
    raw = bytes.fromhex(v["decoded"]["raw"])
    stuffed = raw + crc_ccitt(bytes_of(raw), 0, len(raw)).to_bytes(2, "little")
    assert framed(raw) == stuff(stuffed)
    assert stuff(raw) == data


def stuff(data):
    return b"".join(bytes([len(part) + 1]) + part for part in data.split(b"\0")) + b"\0"


@pytest.mark.parametrize(("data", "v"), of("crc"))
def test_crcs(data, v):
    wanted = int(v["decoded"]["crc"], 16)
    if "XMODEM" in v["kind"]:
        assert crc_xmodem(bytes_of(data), 0, len(data)) == wanted == binascii.crc_hqx(data, 0)
    else:
        assert crc_ccitt(bytes_of(data), 0, len(data)) == wanted
