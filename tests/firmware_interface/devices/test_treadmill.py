"""The treadmill's protocol by a second route: COBS by hand, a CRC bit by bit; and a real pseudo-terminal."""

import binascii
import struct
import threading
import time

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.link import new_link
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.devices.speed import treadmill
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_AIM,
    SPEED_ANSWERED,
    SPEED_HEARD,
    SPEED_REPORTED,
    SPEED_SAY,
    SPEED_SAY_CHANGE,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_STATUS,
    SPEED_STOPPED,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.pseudo_port import PseudoPort
from riderless.firmware_interface.twins.speed.belt import BeltFault, new_belt
from riderless.firmware_interface.twins.speed.treadmill import TreadmillTwin
from riderless.firmware_interface.udp_port import open_line
from tests.paths import DOCS


def crc(data):
    """CRC-16/CCITT-FALSE, bit by bit."""
    c = 0xFFFF
    for byte in data:
        c ^= byte << 8
        for _ in range(8):
            c = (c << 1 ^ 0x1021) & 0xFFFF if c & 0x8000 else c << 1 & 0xFFFF
    return c


def frame(payload):
    """COBS by its definition: blocks without a zero, each after its length and one."""
    body = payload + struct.pack("<H", crc(payload))
    return b"".join(bytes([len(block) + 1]) + block for block in body.split(b"\0")) + b"\0"


def report(seq=7, status=1, speed=3500, aim=3500, answered=42, ms=123456):
    return frame(struct.pack("<BBHBBhhHI", 1, 0x52, seq, status, 0, speed, aim, answered, ms))


def command(seq, run, speed, change):
    return frame(struct.pack("<BBHBBHH", 1, 0x43, seq, run, 0, speed, change))


def hear(link, data):
    return treadmill.receive(link, np.frombuffer(bytearray(data), np.uint8), len(data))


def test_the_second_route_is_right():
    assert crc(b"123456789") == binascii.crc_hqx(b"123456789", 0xFFFF) == 0x29B1  # the catalogue's check value


def test_the_page_prints_these_bytes():
    page = (DOCS / "speed-drive.md").read_text(encoding="utf-8")
    for data in (report(), command(42, 1, 3500, 500)):
        assert data.hex(" ").upper() in page


def test_a_report_is_read():
    link = new_link()
    for seq, status, speed in ((7, 1, 3500), (8, 2 | 8, -20), (0xFFFF, 0, 0)):
        assert hear(link, report(seq, status, speed, aim=speed + 1, answered=0x1234)) == 1
        memory = link["memory"]
        assert memory[SPEED_REPORTED] == speed
        assert memory[SPEED_AIM] == speed + 1
        assert memory[SPEED_STATUS] == status
        assert memory[SPEED_ANSWERED] == 0x1234
    assert hear(link, report(0xFFFF)) == 0, "the same number again"
    assert memory[SPEED_HEARD] == 3


@pytest.mark.parametrize("place", range(len(report()) - 1))
def test_a_damaged_report_is_none(place):
    link, data = new_link(), bytearray(report())
    data[place] ^= 0x10
    assert hear(link, data) == 0
    assert hear(link, b"\0" + report()) == 1, "and the next one is read"


def test_what_is_not_a_report_is_none():
    link = new_link()
    for data in (command(1, 1, 3000, 500), frame(b"\x02" + struct.pack("<BHBBhhHI", 0x52, 7, 1, 0, 1, 1, 1, 1))):
        assert hear(link, data) == 0
    assert link["receiver"]["frames_bad_version"] == 2


def test_a_command_is_written_when_there_is_something_to_say():
    link, out = new_link(), np.zeros(256, np.uint8)
    assert treadmill.speak(link, link, 0, out) == 0
    for seq, run, speed, change in ((1, 1, 3500, 500), (2, 0, 0, 1000), (3, 1, 70000, 70000)):
        memory = link["memory"]
        memory[SPEED_SAY], memory[SPEED_SAY_RUN] = 1, run
        memory[SPEED_SAY_SPEED], memory[SPEED_SAY_CHANGE] = speed, change
        n = treadmill.speak(link, link, 0, out)
        assert out[:n].tobytes() == command(seq, run, min(speed, 0xFFFF), min(change, 0xFFFF))
        assert treadmill.speak(link, link, 0, out) == 0, "once"


def test_the_twin_obeys_commands_of_the_second_route():
    twin, heard = TreadmillTwin(new_belt()), b""
    for k in range(4000):
        t = 1e-3 * k
        if k % 100 == 0:
            twin.hear(command(k // 100, 1, 2000, 1000), t)
        heard += twin.instant(t, np.zeros(9))
    payload = heard.split(b"\0")[-2] + b"\0"
    assert twin.belt_speed[0] == pytest.approx(0.97 * 2.0, abs=0.02), "it shows 3 % more than it runs"
    link = new_link()
    assert hear(link, payload) == 1
    assert link["memory"][SPEED_REPORTED] == pytest.approx(2000, abs=20)
    assert len(heard) == pytest.approx(40 * 20, abs=25), "ten reports a second"


class OnATerminal:
    """Treadmill behind a pseudo-terminal, in a thread; what it is told reaches it ``late`` s later."""

    def __init__(self, faults=(), late=0.0):
        self.port, self.twin, self.over = PseudoPort(), TreadmillTwin(new_belt(faults)), False
        self.late, self.coming = late, []
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
            self.coming += [(time.monotonic() + self.late, data)] if data else []
            while self.coming and self.coming[0][0] <= time.monotonic():
                self.twin.hear(self.coming.pop(0)[1], 1e-3 * k)
            while 1e-3 * k < time.monotonic() - begin:
                said = self.twin.instant(1e-3 * k, np.zeros(9))
                k += 1
                if said:
                    os.write(self.port.fd, said)
            time.sleep(2e-3)

    def __enter__(self):
        self.thread.start()
        return self.port.path

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        self.port.close()


def test_an_answer_to_an_earlier_word_is_one_and_a_belt_that_hears_nothing_has_none():
    """On a busy machine each answer came after the next word, and was taken for bytes without a whole frame."""
    driver, wants = device("treadmill"), DeviceRequirements(200.0, 0.025)
    with OnATerminal(late=0.3) as path, open_line(path, 115200, "treadmill", False) as port:
        assert driver.introduce(port, wants).name == "treadmill, protocol 1"
    found = pytest.raises(DeviceError, match=r"found \d+ reports of which none does: check the line towards it")
    with OnATerminal(late=9.0) as path, open_line(path, 115200, "treadmill", False) as port, found:
        driver.introduce(port, wants)


def test_it_introduces_itself_on_a_terminal():
    driver, wants = device("treadmill"), DeviceRequirements(200.0, 0.025)
    with OnATerminal() as path, open_line(path, 115200, "treadmill", False) as port:
        assert driver.introduce(port, wants).name == "treadmill, protocol 1"
    quiet = PseudoPort()
    try:
        silence = pytest.raises(DeviceError, match="found silence: switch it on")
        with open_line(quiet.path, 115200, "treadmill", False) as port, silence:
            driver.introduce(port, wants)
    finally:
        quiet.close()
    with pytest.raises(DeviceError, match="its stop button is pressed"):
        treadmill._introduced(port, SPEED_STOPPED)
    with pytest.raises(DeviceError, match="found \\['tired'\\]"):
        new_belt((BeltFault("tired", 1.0),))
