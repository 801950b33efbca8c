"""Driver of the VESC against the shared vectors and its own examples."""

import json
import struct

import pytest

from riderless.firmware_interface.devices import vesc
from riderless.firmware_interface.devices.vesc_codes import VescCommand
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
)
from tests.firmware_interface.devices.vesc_bench import (
    ASKED,
    SCALE,
    answer,
    fed,
    framed,
    fresh,
    told,
)
from tests.paths import REFERENCE


def vectors():
    file = REFERENCE / "device_vectors.json"
    found = [v for v in json.loads(file.read_text(encoding="utf-8"))["vectors"] if v["device"] == "vesc"]
    assert found
    return [(bytes.fromhex(v["hex"]), v) for v in found]


def test_vectors_are_whole_or_rejected():
    for data, v in vectors():
        link = fresh()
        assert fed(link, data) == 0, "none is of our selection"
        assert link["receiver"]["frames_ok"] == v["valid"], v
        assert (link["receiver"]["bytes_skipped"] == 0) == v["valid"], v
        found = list(vesc.packet_payloads(b"\x02" + data))
        assert len(found) == v["valid"], v
        assert [vesc.encode_packet(payload) for payload in found] == [data] * v["valid"]
    assert [vesc.encode_packet(bytes(n)) for n in (255, 256)] == [framed(bytes(n)) for n in (255, 256)]


def test_vectors_of_commands_byte_for_byte():
    encoders = {
        "COMM_GET_VALUES": lambda d: b"\x04",
        "COMM_SET_CURRENT": lambda d: struct.pack(">Bi", 6, round(1e3 * d["A"])),
        "COMM_SET_RPM": lambda d: struct.pack(">Bi", 8, d["erpm"]),
        "COMM_FORWARD_CAN": lambda d: struct.pack(">BBBi", 34, d["id"], 6, 57_123),
        "COMM_GET_VALUES_SELECTIVE": lambda d: struct.pack(">BI", 50, d["mask"]),
    }
    for data, v in vectors():
        if v["kind"] != "tx":
            continue
        assert vesc.encode_packet(encoders[v["decoded"]["cmd"]](v["decoded"])) == data
        if "A" in v["decoded"]:
            said = told(fresh(), T_cmd=SCALE * v["decoded"]["A"], flags=COMMAND_ENABLE)
            assert said == data + ASKED


LIST = struct.Struct(">Bhhiiiihihiiiiii" + "BiBhhhiiB")
NAMES = dict.fromkeys(("temp_fet", "temp_motor"), 10) | dict.fromkeys(("i_motor", "i_in", "id", "iq"), 100)
NAMES |= {"duty": 1e3, "erpm": 1, "v_in": 10} | dict.fromkeys(("ah", "ah_chg", "wh", "wh_chg"), 1e4)
NAMES |= {"tacho": 1, "tacho_abs": 1, "fault": 1, "pid_pos": 1e6, "ctrl_id": 1, "t1": 10, "t2": 10, "t3": 10}
NAMES |= {"vd": 1e3, "vq": 1e3, "status": 1}  # in the order of the answer, and what they are divided by


def test_vectors_of_answers_say_what_they_mean():
    """The captured full answers, cut down to our selection, through the driver."""
    seen = 0
    for data, v in vectors():
        if v["kind"] != "COMM_GET_VALUES reply":
            continue
        kind, *fields = LIST.unpack(data[2:-3])
        found = dict(zip(NAMES, fields, strict=True))
        values = {name: found[name] / divisor for name, divisor in NAMES.items()}
        assert kind == VescCommand.GET_VALUES
        assert values == pytest.approx(v["decoded"])
        link = fresh()
        assert fed(link, answer(*(found[name] for name in ("iq", "v_in", "fault", "pid_pos", "status")))) == 1
        raw, position = link["raw"], v["decoded"]["pid_pos"]
        assert raw["torque_mNm"] == round(1e3 * SCALE * v["decoded"]["iq"])
        assert raw["bus_mV"] == round(1e3 * v["decoded"]["v_in"])
        assert raw["steer_counts"] == pytest.approx(1e6 * (position - 360.0 if position > 180.0 else position), abs=0.6)
        assert bool(raw["faults"]) == bool(v["decoded"]["fault"])
        seen += 1
    assert seen == 3


def test_examples_of_the_driver():
    for case in vesc.DEVICE.examples:
        link = fresh()
        fed(link, case.wire)
        assert bool(link["receiver"]["frames_ok"]) == case.valid, case.source
        assert {name: link["raw"][name] for name in case.raw} == case.raw
