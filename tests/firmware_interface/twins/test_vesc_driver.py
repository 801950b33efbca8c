"""The VESC's driver and its twin together, through what the supervisor does."""

import os
import pty
import tty

import numpy as np
import pytest

from riderless.firmware_interface.calibration import DEVICE_CLOCK, calibrate, drive_command
from riderless.firmware_interface.devices import vesc as driver
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.devices.link import LINK_STATE, ROLE_DRIVE, ROLE_STEER, hear, new_link, say
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND,
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_TORQUE,
    FAULT_DRIVE,
    SAMPLE,
    STATUS_STOP_BUTTON,
)
from riderless.firmware_interface.port import open_port
from riderless.firmware_interface.twins import vesc
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.twin import STEP_RATE
from tests.firmware_interface.listener import device as in_a_thread
from tests.firmware_interface.twins.test_vesc_twin import OFF, ON, RATE, READINGS, SETTINGS, TRIPPED, WATCHDOG, config
from tests.firmware_interface.wire import as_bytes, record


class Pair:
    """A driver and a twin, tick by tick at 200 Hz; ``line`` may change what passes up."""

    def __init__(self, *faults, line=bytes, **truth) -> None:
        self.config = config(*faults, **truth)
        self.twin, self.readings, self.line = vesc.make(self.config), READINGS.copy(), line
        links = np.zeros(1, LINK_STATE)
        links[0] = new_link()
        self.link = links[0]
        self.link["hear"], self.link["say"] = driver.DEVICE.hear, driver.DEVICE.say
        self.link["scale"], self.link["role"] = 0.4, ROLE_DRIVE | ROLE_STEER
        self.k = self.seq = 0
        self.pending = b""

    def ticks(self, n, T=0.0, flags=0, send=1):
        """Periods of the loop; ``T`` [N m] positive to the right."""
        for _ in range(n):
            hear(self.link, as_bytes(self.pending), len(self.pending))
            self.seq += send
            command = record(
                COMMAND,
                T_cmd=drive_command(T, COMMAND_KIND_TORQUE, self.config.calibration.as_record()),
                flags=flags,
                seq=self.seq % 65536,
            )
            out = np.zeros(256, np.uint8)
            said = out[: say(self.link, command, send, out)].tobytes()
            self.pending = self.line(self.twin.hear(said, self.k / STEP_RATE))
            for _ in range(STEP_RATE // RATE):
                self.pending += self.twin.instant(self.k / STEP_RATE, self.readings)
                self.k += 1
        return int(self.link["raw"]["status"])

    @property
    def sample(self):
        sample = record(SAMPLE)
        calibrate(self.link["raw"], self.config.calibration.as_record(), record(DEVICE_CLOCK), sample)
        return sample


@pytest.mark.parametrize("sign", [1, -1])
def test_through_the_check_of_the_supervisor(sign):
    """STREAM, ENABLE, WITHHOLD until the time-out is told, CLEAR, ARMED, RUNNING."""
    pair = Pair(torque_sign=sign)
    assert pair.ticks(5, flags=COMMAND_CLEAR) == OFF
    assert pair.ticks(3, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(9, flags=COMMAND_ENABLE, send=0) == ON, "45 ms are less than its 50 ms"
    assert pair.ticks(5, flags=COMMAND_ENABLE, send=0) == TRIPPED
    assert pair.ticks(3, flags=COMMAND_CLEAR) == OFF
    assert pair.ticks(3, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(3, T=2.0, flags=COMMAND_ENABLE) == ON
    assert pytest.approx(2.0, abs=1e-3) == pair.twin.T
    assert pair.sample["T_meas"] == pytest.approx(READINGS[8], abs=5e-3)
    assert pair.link["raw"]["command_seq"] == pair.seq - 1, "the newest waits for its answer"
    pair.ticks(1, T=2.0, flags=0)
    assert pair.twin.T == 0.0


def test_a_dead_watchdog_is_never_told_to_have_struck():
    pair = Pair(Fault(Kind.WATCHDOG_DEAD))
    pair.ticks(5, T=2.0, flags=COMMAND_ENABLE)
    assert pair.ticks(100, send=0) == ON
    assert pair.twin.T != 0.0


@pytest.mark.parametrize(
    ("kind", "status", "faults"), [(Kind.STOP_BUTTON, STATUS_STOP_BUTTON, 0), (Kind.DRIVE_TRIPS, 0, FAULT_DRIVE)]
)
def test_button_and_fault_are_told(kind, status, faults):
    pair = Pair(Fault(kind, start=0.1))
    assert pair.ticks(10, T=1.0, flags=COMMAND_ENABLE) == ON
    assert pair.ticks(20, T=1.0, flags=COMMAND_ENABLE) == status
    assert pair.link["raw"]["faults"] == faults


@pytest.mark.parametrize("ratio", [1.0, 3.0])
@pytest.mark.parametrize("offset", [0.0, 0.4])
def test_the_steer_angle_goes_around_with_the_bars(ratio, offset):
    pair = Pair(steer_gear_ratio=ratio, steer_sign=-1, steer_offset=offset)
    for angle in np.concatenate([np.linspace(0.3, -1.2, 40), np.linspace(-1.2, 1.2, 60)]):
        pair.readings[6] = angle
        pair.ticks(3)
        assert pair.sample["delta_meas"] == pytest.approx(angle, abs=2e-6)
    assert pair.sample["valid"]


def test_a_lost_and_a_damaged_answer_cost_one_reading_each():
    answers = iter(range(10**6))

    def line(data):
        k = next(answers)
        return b"" if k == 20 else data[:9] + b"\xff" + data[10:] if k == 30 else data[:15] if k == 40 else data

    pair = Pair(line=line)
    pair.ticks(101, flags=COMMAND_ENABLE)
    assert pair.link["raw"]["seq"] == 97
    assert pair.link["receiver"]["frames_bad_crc"] == 2
    assert pair.link["raw"]["command_seq"] == 100
    assert pair.sample["bus_meas"] == 24.0


@pytest.mark.parametrize(
    ("firmware", "sentence"),
    [
        ((5, 3), None),
        ((5, 2), r"VESC 410 5.02 .* found an answer without it: load firmware 5\.03"),
    ],
)
def test_introduction_on_a_pseudo_terminal(monkeypatch, firmware, sentence):
    monkeypatch.setattr(driver, "_TIMEOUT", 20.0)  # the answer ends the waiting
    twin = vesc.VescTwin(config(), firmware=firmware)
    master, slave = pty.openpty()
    tty.setraw(slave)
    with in_a_thread(master, lambda data: twin.hear(data, 0.5)), open_port(os.ttyname(slave), 115200) as port:
        if sentence is None:
            assert driver.introduce(port, DeviceRequirements(200.0, WATCHDOG, SETTINGS)).torque_limit == pytest.approx(
                8.0
            )
        else:
            with pytest.raises(DeviceError, match=sentence):
                driver.introduce(port, DeviceRequirements(200.0, WATCHDOG, SETTINGS))
    os.close(master)
    os.close(slave)
    assert not twin._commanded, "the time-out was not fed"
