"""What is particular to the VESC: an angle that goes around, a time-out that is not latched."""

import numpy as np
import pytest

from firmware_interface.calibration import Calibration
from firmware_interface.devices.vesc_setup import packet, payloads
from firmware_interface.faults import Fault, Kind
from firmware_interface.messages import COMMAND_ENABLE, STATUS_STOP_BUTTON
from firmware_interface.twins import vesc
from firmware_interface.twins.twin import TwinConfig
from tests.firmware_interface.pairs import SETTINGS, Pair


def config(name, **changed):
    return TwinConfig(12, Calibration(wheel_radius=0.3), 200, 0.05, 7.0, SETTINGS[name], **changed)


@pytest.mark.parametrize("ratio", [1.0, 5.0])
def test_the_steer_angle_goes_through_zero_and_around(ratio):
    pair = Pair("vesc", steer_gear_ratio=ratio)
    for angle in np.concatenate([np.linspace(0.3, -1.2, 60), np.linspace(-1.2, 1.2, 120)]):
        pair.readings[6] = angle
        pair.periods(3)
    assert pair.sample["delta_meas"] == pytest.approx(1.2, abs=1e-6)


def test_a_kill_switch_is_a_stop_button():
    pair = Pair("vesc", faults=(Fault(Kind.STOP_BUTTON, start=0.5),))
    pair.enable()
    pair.periods(80, T=1.0, flags=COMMAND_ENABLE)
    assert pair.raw["status"] & STATUS_STOP_BUTTON
    assert pair.twin.T == 0.0


def test_the_time_out_is_not_latched():
    twin, current = vesc.make(config("vesc")), packet(bytes([6]) + (1000).to_bytes(4, "big"))
    twin.hear(current, 0.0)
    twin.instant(0.001, np.zeros(9))
    assert pytest.approx(0.4) == twin.T
    twin.instant(0.1, np.zeros(9))
    assert not twin.enabled
    twin.hear(packet(bytes([50]) + (1 << 5).to_bytes(4, "big")), 0.1)
    twin.instant(0.101, np.zeros(9))
    assert not twin.enabled, "a question is no sign of life"
    twin.hear(current, 0.11)
    twin.instant(0.111, np.zeros(9))
    assert twin.enabled


def test_packets_in_pieces_and_behind_false_starts():
    twin = vesc.make(config("vesc"))
    question = packet(bytes([0]))
    answer = b"".join(twin.hear(question[i : i + 1], 0.0) for i in range(len(question)))
    assert next(payloads(answer))[0][1:3] == bytes([6, 2])
    assert twin.hear(b"\x02\x05garbage\x03" + question, 0.0) == answer
