"""Introduction of a VESC: each thing that is wrong has its own sentence."""

from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.devices import vesc
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER
from riderless.firmware_interface.errors import DeviceError
from tests.firmware_interface.devices.vesc_bench import SETTINGS, answer, framed

VERSION = framed(b"\x00\x06\x02" + b"410\0" + bytes(17))


def introduced(monkeypatch, by_kind, **settings):
    """By a device that answers so, by the kind of the question: in pieces, behind noise; to any other nothing."""

    def answers(port, request, timeout):
        said = by_kind.get(request(0)[2])
        yield from (b"\x02" + said[:4], said[4:]) if said else ()

    monkeypatch.setattr(vesc, "ask_and_listen", answers)
    port = SimpleNamespace(path="/dev/ttyACM0", baud=115200)
    return vesc.introduce(port, DeviceRequirements(200.0, 0.05, {**SETTINGS, **settings}))


@pytest.mark.parametrize(("version", "name"), [(VERSION, "VESC 410 6.02"), (framed(b"\x00\x05\x03"), "VESC 5.03")])
def test_introduction(monkeypatch, version, name):
    said = introduced(monkeypatch, {0: version, 50: answer()})
    assert (said.name, said.scale, said.torque_limit, said.watchdog) == (name, 0.4, 8.0, 0.05)
    assert (said.steer_counts_per_turn, said.rate_hz, said.gyro_lsb) == (360e6, None, None)


@pytest.mark.parametrize(
    ("by_kind", "sentence"),
    [
        ({}, "but nothing came; is it powered, is this its port, and is UART among its apps"),
        ({0: b"\x55" * 40}, "but 41 bytes of something else came; is it another device, or is 115200 not its baud"),
        ({0: framed(b"\x00")}, "only the question came back; are transmit and receive wired together"),
        ({0: VERSION}, "status, without which its time-out cannot be proven, but found no answer to that question"),
        ({0: VERSION, 50: framed(answer()[2:-4])}, r"found an answer without it: load firmware 5\.03 or newer"),
        ({0: VERSION, 50: framed(b"\x32\x00\x21\x81\x21" + bytes(12))}, "found an answer without it"),
        ({0: VERSION, 50: answer(fault=1)}, r"free of faults, found fault 1 \(over-voltage\); remove the cause"),
        ({0: VERSION, 50: answer(fault=9)}, r"found fault 9 \(microcontroller under-voltage\)"),
        ({0: VERSION, 50: answer(fault=10)}, r"found fault 10 \(named in VESC Tool\)"),
        ({0: VERSION, 50: answer(v_in=0)}, "should have a supply, found 0 V; connect the battery"),
        ({0: framed(VERSION[2:19] + b"\0\0\0\0\1")}, "should be a motor controller, found hardware of type 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(monkeypatch, by_kind, sentence):
    with pytest.raises(DeviceError, match=sentence) as told:
        introduced(monkeypatch, by_kind)
    assert "/dev/ttyACM0" in str(told.value)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_impossible_settings(monkeypatch, name, value):
    with pytest.raises(DeviceError, match=f"{name} of a VESC must be positive, found"):
        introduced(monkeypatch, {0: VERSION, 50: answer()}, **{name: value})


def test_settings_and_room():
    assert vesc.DEVICE.settled({"torque_constant_Nm_A": 1, "current_limit_A": 2})["gear_ratio"] == 1.0
    with pytest.raises(DeviceError, match=r"needs torque_constant_Nm_A \[N m/A\], .*; current_limit_A \[A\]"):
        vesc.DEVICE.settled({})
    vesc.DEVICE.require_room(ROLE_DRIVE | ROLE_STEER, SETTINGS, 500.0, 115200)
    with pytest.raises(DeviceError, match=r"20 bytes down, and an answer of 22 .* 22 bytes x 10 bits x 1000 Hz"):
        vesc.DEVICE.require_room(ROLE_DRIVE | ROLE_STEER, SETTINGS, 1000.0, 115200)
    assert vesc.DEVICE.traffic(ROLE_STEER, SETTINGS).down == 10
