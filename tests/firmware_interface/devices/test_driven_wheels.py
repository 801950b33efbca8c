"""Drives of the rear wheel by a second route: bytes worked out here, and the twins of the steer drives, which were
written from the firmware and know nothing of these drivers."""

import binascii
import math
import struct
import threading
import time

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.devices.speed import odrive_wheel, vesc_wheel
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_FAULT,
    SPEED_HEARD,
    SPEED_REPORTED,
    SPEED_SAY,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_STATUS,
    SPEED_STOPPED,
    SPEED_TIMED_OUT,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_KIND_RATE
from riderless.firmware_interface.twins.odrive import ODriveTwin
from riderless.firmware_interface.twins.pseudo_port import PseudoPort
from riderless.firmware_interface.twins.speed.odrive_wheel import make as make_odrive_wheel
from riderless.firmware_interface.twins.speed.vesc_wheel import make as make_vesc_wheel
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.vesc import VescTwin
from riderless.firmware_interface.udp_port import open_line

VESC = {"pole_pairs": 7.0, "gear_ratio": 4.0, "wheel_radius_m": 0.3}
ODRIVE = {"axis": 0.0, "gear_ratio": 4.0, "wheel_radius_m": 0.3}
TURN = 2.0 * math.pi * 0.3 / 4.0  # m of the bicycle per turn of the motor
READINGS = np.zeros(9)


def packet(payload):
    return bytes([2, len(payload)]) + payload + binascii.crc_hqx(payload, 0).to_bytes(2, "big") + b"\x03"


def config(**settings):
    truth = Calibration(wheel_radius=0.3)
    how = {"rate_hz": 200, "watchdog": 0.5, "torque_limit": 7.0, "kind": COMMAND_KIND_RATE}
    return TwinConfig(carries=7, calibration=truth, settings=settings, **how)


def link_of(driver, settings):
    link = new_link()
    driver.DEVICE.prepare(link, settings)
    return link


def say(driver, link, speed=None):
    memory, out = link["memory"], np.zeros(256, np.uint8)
    memory[SPEED_SAY], memory[SPEED_SAY_RUN] = 1, speed is not None
    memory[SPEED_SAY_SPEED] = round(1e3 * (speed or 0.0))
    said = out[: driver.speak(link, link, 0, out)].tobytes()
    assert driver.speak(link, link, 0, out) == 0, "once"
    return said


def hear(driver, link, data):
    return driver.receive(link, np.frombuffer(bytearray(data), np.uint8), len(data))


def answer(rpm=0, supply=251, fault=0, status=0):
    mask = 1 << 7 | 1 << 8 | 1 << 15 | 1 << 21
    return packet(struct.pack(">BIihBB", 50, mask, rpm, supply, fault, status))


def test_a_vesc_is_told_electrical_revolutions_and_a_loose_motor():
    link = link_of(vesc_wheel, VESC)
    question = packet(struct.pack(">BI", 50, 1 << 7 | 1 << 8 | 1 << 15 | 1 << 21))
    rpm = round(4.0 / TURN * 60.0 * 7)
    assert say(vesc_wheel, link, 4.0) == packet(struct.pack(">Bi", 8, rpm)) + question
    assert say(vesc_wheel, link) == packet(struct.pack(">Bi", 7, 0)) + question


@pytest.mark.parametrize(
    ("told", "status"),
    [({}, 0), ({"fault": 4}, SPEED_FAULT), ({"status": 1}, SPEED_TIMED_OUT), ({"status": 2}, SPEED_STOPPED)],
)
def test_what_a_vesc_answers_is_speed_and_status(told, status):
    link = link_of(vesc_wheel, VESC)
    for rpm in (3565, -20):
        assert hear(vesc_wheel, link, b"\x02\xff" + answer(rpm, **told)) == 1, "behind a false start too"
        assert link["memory"][SPEED_REPORTED] == pytest.approx(1e3 * rpm / 7 / 60.0 * TURN, abs=0.51)
        assert link["memory"][SPEED_STATUS] == status


@pytest.mark.parametrize("place", range(len(answer())))
def test_a_damaged_answer_is_none(place):
    link, data = link_of(vesc_wheel, VESC), bytearray(answer(1234))
    data[place] ^= 0x10
    assert hear(vesc_wheel, link, data) == 0
    assert link["memory"][SPEED_HEARD] == 0


def test_the_vesc_of_the_steer_understands_what_is_said():
    link, twin = link_of(vesc_wheel, VESC), VescTwin(config(torque_constant_Nm_A=0.2, pole_pairs=7.0))
    heard = twin.hear(say(vesc_wheel, link, 4.0), 0.0)
    twin.instant(0.001, READINGS)
    assert twin.enabled
    assert pytest.approx(2.0 * math.pi * 4.0 / TURN, abs=0.02) == twin.T, "rad/s of the motor: it makes a rate of it"
    assert hear(vesc_wheel, link, heard) == 1
    twin.hear(say(vesc_wheel, link), 0.1)
    twin.instant(0.101, READINGS)
    assert not twin.enabled


def test_the_odrive_of_the_steer_understands_what_is_said():
    link, twin = link_of(odrive_wheel, ODRIVE), ODriveTwin(config(axis=0.0, wheel_axis=-1.0, gear_ratio=1.0))
    twin.hear(b"w axis0.config.watchdog_timeout 0.5\nw axis0.config.enable_watchdog 1\n", 0.0)
    twin.properties["axis0.controller.config.vel_limit"] = 50.0
    for k in range(1000):
        t = 1e-3 * k
        twin.instant(t, READINGS)
        if k % 100 == 0:
            assert hear(odrive_wheel, link, twin.hear(say(odrive_wheel, link, 4.0 if k > 0 else None), t)) == 1
    assert twin.properties["axis0.controller.input_vel"] == pytest.approx(4.0 / TURN, abs=1e-4)
    assert twin.enabled
    assert twin.requests.count(8) == 1, "asked again it would let go"
    for k in range(1000, 1700):
        twin.instant(1e-3 * k, READINGS)
    hear(odrive_wheel, link, twin.hear(say(odrive_wheel, link, 4.0), 1.7))
    assert link["memory"][SPEED_STATUS] == SPEED_TIMED_OUT, "its watchdog struck, and it stays off"
    for t in (1.8, 1.9):
        hear(odrive_wheel, link, twin.hear(say(odrive_wheel, link), t))
        twin.instant(t + 0.001, READINGS)
    assert link["memory"][SPEED_STATUS] == 0, "told not to run, it is cleared"


def lines(*words):
    said = b""
    for word in words:
        check = 0
        for byte in word.encode():
            check ^= byte
        said += word.encode() + b"*%d\r\n" % check
    return said


def test_of_an_odrive_only_whole_batches_count():
    link = link_of(odrive_wheel, ODRIVE)
    memory, pair = link["memory"], "1.500000 2.000000"
    assert hear(odrive_wheel, link, lines("8", pair, "0")) == 0, "nothing was asked"
    for late, count in ((("8", pair, "0"), 1), (("8", "0"), 0), ((pair, "0"), 0), (("0", "8", pair, "0"), 0)):
        say(odrive_wheel, link, 1.0)
        assert hear(odrive_wheel, link, lines(*late)) == count, late
    assert memory[SPEED_REPORTED] == round(2e3 * TURN)
    say(odrive_wheel, link, 1.0)
    broken = lines("8", pair, "0").replace(b"2.0", b"3.0")
    assert hear(odrive_wheel, link, broken) == 0
    say(odrive_wheel, link, 1.0)
    assert hear(odrive_wheel, link, b"1" * 300 + b"\r\n" + lines("8", pair, "0")) == 0
    assert [link["receiver"][f"frames_bad_{what}"] for what in ("crc", "length")] == [1, 1]
    say(odrive_wheel, link, 1.0)
    hear(odrive_wheel, link, lines("1", pair, str(0x40 | 0x4000)))
    assert memory[SPEED_STATUS] == SPEED_FAULT | SPEED_STOPPED


@pytest.mark.parametrize(
    ("driver", "settings", "wrong"),
    [
        (vesc_wheel, {**VESC, "pole_pairs": 3.5}, "pole_pairs, a whole number from 1, found 3.5"),
        (vesc_wheel, {**VESC, "gear_ratio": 0.0}, "gear_ratio of the vesc_wheel must be positive, found 0"),
        (
            odrive_wheel,
            {**ODRIVE, "wheel_radius_m": -1.0},
            "wheel_radius_m of the odrive_wheel must be positive, found -1",
        ),
        (odrive_wheel, {**ODRIVE, "axis": 2.0}, "has axes 0 and 1, found axis 2"),
    ],
)
def test_settings_without_sense_are_refused(driver, settings, wrong):
    with pytest.raises(DeviceError, match=wrong):
        driver.DEVICE.prepare(new_link(), settings)


class OnATerminal:
    """Twin behind a pseudo-terminal, in a thread."""

    def __init__(self, twin):
        self.port, self.twin, self.over = PseudoPort(), twin, False
        self.thread = threading.Thread(target=self._serve)

    def _serve(self):
        import os

        begin, k = time.monotonic(), 0
        os.set_blocking(self.port.fd, False)
        while not self.over:
            try:
                data = os.read(self.port.fd, 4096)
            except (BlockingIOError, OSError):
                data = b""
            said = self.twin.hear(data, 1e-3 * k) if data else b""
            while 1e-3 * k < time.monotonic() - begin:
                said += self.twin.instant(1e-3 * k, READINGS)
                k += 1
            if said:
                os.write(self.port.fd, said)
            time.sleep(1e-3)

    def __enter__(self):
        self.thread.start()
        return self.port.path

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        self.port.close()


def introduced(name, twin, settings):
    for k in range(2):
        twin.instant(1e-3 * k, READINGS)  # what is to be compiled, then is
    with OnATerminal(twin) as path, open_line(path, 115200, name, False) as port:
        return device(name).introduce(port, DeviceRequirements(200.0, 0.025, settings)).name


def test_they_introduce_themselves_on_a_terminal():
    vesc = config(torque_constant_Nm_A=0.2, pole_pairs=7.0)
    assert introduced("vesc_wheel", VescTwin(vesc), VESC) == "VESC 410 6.02, rear wheel"
    with pytest.raises(
        DeviceError, match=r"should tell its speed and status, found \d+ bytes of answer: load firmware"
    ):
        introduced("vesc_wheel", VescTwin(vesc, firmware=(5, 2)), VESC)
    twin = ODriveTwin(config(axis=0.0, wheel_axis=-1.0, gear_ratio=1.0))
    assert introduced("odrive_wheel", twin, ODRIVE) == "ODrive 0.5.6, axis0, rear wheel"
    assert twin.properties["axis0.config.watchdog_timeout"] == 0.5
    assert twin.properties["axis0.config.enable_watchdog"] == 1
    assert twin.properties["axis0.controller.config.control_mode"] == 2


def test_their_own_twins_introduce_themselves_too():
    assert introduced("vesc_wheel", make_vesc_wheel(config(**VESC)), VESC) == "VESC 410 6.02, rear wheel"
    twin = make_odrive_wheel(config(**ODRIVE))
    assert introduced("odrive_wheel", twin, ODRIVE) == "ODrive 0.5.6, axis0, rear wheel"
    assert float(twin.properties["axis0.config.watchdog_timeout"]) == 0.5
