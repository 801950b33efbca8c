"""The shared test vectors of the devices: from manuals and public test suites, each with its source."""

import binascii
import json
import math
from pathlib import Path

import numpy as np
import pytest

from firmware_interface.devices import odrive, odrive_setup, vectornav, vectornav_setup, vesc, vesc_setup
from firmware_interface.devices.link import new_link
from firmware_interface.devices.xmodem import crc_xmodem
from firmware_interface.framing import crc16, encode_frame
from firmware_interface.messages import COMMAND, COMMAND_ENABLE
from firmware_interface.twins.vesc import VescTwin
from tests.firmware_interface.pairs import SCALES, SETTINGS, linked
from tests.firmware_interface.wire import record

FILE = Path(__file__).resolve().parents[3] / "shared/reference/device_vectors.json"
if not FILE.exists():
    pytest.skip(f"the shared vectors are not here: {FILE.name}", allow_module_level=True)
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))["vectors"]


def of(device, **wanted):
    found = [v for v in VECTORS if v["device"] == device and all(v[k] == x for k, x in wanted.items())]
    assert found
    return [pytest.param(bytes.fromhex(v["hex"]), v, id=v["hex"][:24]) for v in found]


def bytes_of(data):
    return np.frombuffer(bytearray(data + b"\0"), np.uint8)


@pytest.mark.parametrize(("data", "v"), of("vectornav", kind="binary"))
def test_vectornav_binary(data, v):
    link = new_link()
    samples = vectornav.receive(link, bytes_of(data), len(data))
    counted = link["receiver"]
    if v["valid"]:
        assert counted["frames_ok"] == counted["frames_bad_version"] == 1, "whole, though not the message we order"
        assert counted["bytes_skipped"] == 0
        assert samples == 0
        body = np.frombuffer(data[4:-2], "<f4")
        printed = v["decoded"].get("yaw_pitch_roll_deg") or v["decoded"]["values"]
        assert body == pytest.approx(np.array(printed), rel=1e-6)
    else:
        assert counted["frames_ok"] == 0
        assert counted["bytes_skipped"] > 0


@pytest.mark.parametrize(("data", "v"), of("vectornav", kind="ascii"))
def test_vectornav_ascii(data, v):
    text = v["decoded"].get("text") or data.decode()
    body = text[1:].split("*")[0]
    assert (vectornav_setup.checked(data) == body) == v["valid"]
    if v["valid"]:
        assert vectornav_setup.line_of(body) == data + b"\r\n"
        link = new_link()
        vectornav.receive(link, bytes_of(data + b"\r\n"), len(data) + 2)
        assert link["receiver"]["bytes_skipped"] == 0, "an answer between messages is passed over"


@pytest.mark.parametrize(("data", "v"), of("vesc"))
def test_vesc_packets(data, v):
    link = new_link()
    vesc.receive(link, bytes_of(data), len(data))
    assert link["receiver"]["frames_ok"] == v["valid"]
    found = [payload for payload, _ in vesc_setup.payloads(data)]
    assert len(found) == v["valid"]
    if v["valid"]:
        assert vesc_setup.packet(found[0]) == data


@pytest.mark.parametrize(("data", "v"), [p for p in of("vesc", kind="tx") if "A" in p.values[1]["decoded"]])
def test_vesc_set_current_byte_for_byte(data, v):
    link, out = linked_vesc(), np.zeros(256, np.uint8)
    command = record(COMMAND, T_cmd=v["decoded"]["A"] * link["scale"], flags=COMMAND_ENABLE)
    n = vesc.speak(link, command, 1, out)
    assert out[:n].tobytes()[: len(data)] == data


@pytest.mark.parametrize(("data", "v"), of("vesc", kind="COMM_GET_VALUES reply"))
def test_vesc_values_have_the_places_and_scales_we_rely_on(data, v):
    """The full answer carries the fields of our selection at the same places of the list, in the same units."""
    (payload, _), told = next(vesc_setup.payloads(data)), v["decoded"]
    layouts = [">h"] * 2 + [">i"] * 4 + [">h", ">i", ">h"] + [">i"] * 6 + [">B", ">i", ">B"]
    offsets = np.cumsum([1, *(np.dtype(layout).itemsize for layout in layouts)])
    field = [np.frombuffer(payload, layout, 1, offset)[0] for layout, offset in zip(layouts, offsets, strict=False)]
    assert field[vesc_setup.IQ] / 100 == pytest.approx(told["iq"])
    assert field[vesc_setup.V_IN] / 10 == pytest.approx(told["v_in"])
    assert field[vesc_setup.FAULT] == told["fault"]
    assert field[vesc_setup.PID_POS] / 1e6 == pytest.approx(told["pid_pos"])
    assert payload[-1] == told["status"]


@pytest.mark.parametrize(("data", "v"), [p for p in of("vesc", valid=True) if "mask" in p.values[1]["decoded"]])
def test_vesc_selection_is_laid_out_by_its_mask(data, v):
    (payload, _), mask = next(vesc_setup.payloads(data)), v["decoded"]["mask"]
    assert int.from_bytes(payload[1:5], "big") == mask
    if len(payload) > 5:
        from firmware_interface.calibration import Calibration
        from firmware_interface.twins.twin import TwinConfig

        twin = VescTwin(TwinConfig(8, Calibration(wheel_radius=0.3), 200, 0.05, 7.0, SETTINGS["vesc"]))
        answer, _ = next(vesc_setup.payloads(twin.hear(vesc_setup.packet(payload[:5]), 0.0)))
        assert len(answer) == len(payload)


@pytest.mark.parametrize(("data", "v"), of("odrive"))
def test_odrive_lines(data, v):
    text = v["decoded"]["text"].split("*")[0].strip()
    line = data.split(b";")[0].strip()
    assert (odrive_setup.checked(line) == text) == v["valid"]
    buffer = bytes_of(line.replace(b" ", b" "))
    assert (odrive.star_of(buffer, len(line)) >= 0) == v["valid"]
    if v["valid"] and ";" not in v["decoded"]["text"]:
        assert odrive_setup.line_of(text) == data


@pytest.mark.parametrize(("data", "v"), of("cobs"))
def test_cobs(data, v):
    """Our frames are COBS of payload and CRC: the vectors' stuffing, seen through ours."""
    raw = bytes.fromhex(v["decoded"]["raw"])
    out = np.zeros(len(raw) + 8, np.uint8)
    n = encode_frame(bytes_of(raw), len(raw), out)
    stuffed = raw + crc16(bytes_of(raw), 0, len(raw)).to_bytes(2, "little")
    wanted = b"".join(bytes([len(part) + 1]) + part for part in stuffed.split(b"\0")) + b"\0"
    assert out[:n].tobytes() == wanted
    plain = b"".join(bytes([len(part) + 1]) + part for part in raw.split(b"\0")) + b"\0"
    assert plain == data


@pytest.mark.parametrize(("data", "v"), of("crc"))
def test_crcs(data, v):
    wanted = int(v["decoded"]["crc"], 16)
    if "XMODEM" in v["kind"]:
        assert crc_xmodem(bytes_of(data), 0, len(data)) == wanted == binascii.crc_hqx(data, 0)
    else:
        assert crc16(bytes_of(data), 0, len(data)) == wanted


def linked_vesc():
    links = np.zeros(1, dtype=new_link().dtype)
    from firmware_interface.devices.registry import device

    links[0] = linked(device("vesc"), SETTINGS["vesc"], SCALES["vesc"])
    assert math.isclose(links[0]["scale"], 0.4)
    return links[0]
