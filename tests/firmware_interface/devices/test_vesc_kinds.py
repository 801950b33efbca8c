"""VESC under commands of a rate and of an angle: bytes by hand and from a manual, driver and twin, settings."""

import math
import struct

import numpy as np
import pytest

from riderless.firmware_interface.calibration import DELTA_READING, Calibration, drive_command
from riderless.firmware_interface.devices import vesc
from riderless.firmware_interface.devices.driver import DeviceRequirements
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
)
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.vesc import VescTwin
from tests.firmware_interface.devices.test_vesc_introduction import VERSION, introduced
from tests.firmware_interface.devices.vesc_bench import ASKED, SETTINGS, answer, framed, fresh, told

WATCHDOG = 0.05
# SET_RPM as boncurscontrols.com/doc/commands/set-speed prints it, for 3000 and -3000
PRINTED = {3000: "02 05 08 00 00 0B B8 F8 04 03", -3000: "02 05 08 FF FF F4 48 90 24 03"}


def unit_of(kind: int, **settings) -> float:
    """What the driver makes of the settings, by way of its introduction."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vesc, "ask_and_listen", _answers)
        wants = DeviceRequirements(200.0, WATCHDOG, {**SETTINGS, "pole_pairs": 7.0, "encoder_ratio": 1.0, **settings})
        wants = DeviceRequirements(wants.rate, wants.watchdog, wants.settings, kind=kind)
        return vesc.introduce(_Port(), wants).unit


class _Port:
    path, baud = "/dev/ttyACM0", 115200


def _answers(port, request, timeout):
    yield {0: VERSION, 50: answer()}[request(0)[2]]


def linked(kind: int, **settings):
    link = fresh()
    link["unit"] = unit_of(kind, **settings)
    return link


@pytest.mark.parametrize(("erpm", "line"), PRINTED.items())
def test_a_rate_is_the_packet_of_the_manual(erpm, line):
    # 7 pole pairs, 2 turns of the motor per turn of the steer: 14 electrical turns a turn of the steer
    rate = erpm / 60.0 / 14.0 * 2.0 * math.pi
    said = told(linked(COMMAND_KIND_RATE), T_cmd=rate, kind=COMMAND_KIND_RATE, flags=COMMAND_ENABLE)
    assert said == bytes.fromhex(line) + ASKED


@pytest.mark.parametrize("degrees", [0.0, 12.5, -12.5, 359.0])
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_an_angle_is_in_millionths_of_a_degree_of_the_encoder(degrees, ratio):
    link = linked(COMMAND_KIND_ANGLE, encoder_ratio=ratio)
    said = told(link, T_cmd=math.radians(degrees), kind=COMMAND_KIND_ANGLE, flags=COMMAND_ENABLE)
    assert said == framed(struct.pack(">Bi", 9, round(1e6 * ratio * degrees))) + ASKED


@pytest.mark.parametrize("kind", [COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
@pytest.mark.parametrize(("value", "flags"), [(0.3, 0), (math.nan, COMMAND_ENABLE), (math.inf, COMMAND_ENABLE)])
def test_off_is_a_brake_current_of_zero_whatever_the_kind(kind, value, flags):
    said = told(linked(kind), T_cmd=value, kind=kind, flags=flags)
    assert said == framed(struct.pack(">Bi", 7, 0)) + ASKED


@pytest.mark.parametrize("kind", [COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_more_than_the_field_holds_is_its_end(kind):
    said = told(linked(kind), T_cmd=-1e12, kind=kind, flags=COMMAND_ENABLE)
    assert said == framed(struct.pack(">Bi", 8 if kind == COMMAND_KIND_RATE else 9, -(2**31) + 1)) + ASKED


@pytest.mark.parametrize("pairs", [0.0, -7.0, 2.5, math.nan, math.inf])
def test_a_rate_needs_pole_pairs(pairs):
    with pytest.raises(DeviceError, match=r"needs pole_pairs, a whole number from 1, found .*half the number of its"):
        unit_of(COMMAND_KIND_RATE, pole_pairs=pairs)
    assert unit_of(COMMAND_KIND_TORQUE, pole_pairs=pairs) == 1.0


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan])
def test_an_angle_needs_the_ratio_of_its_encoder(ratio):
    with pytest.raises(DeviceError, match="encoder_ratio of a VESC must be positive, found"):
        unit_of(COMMAND_KIND_ANGLE, encoder_ratio=ratio)


def test_a_torque_rig_of_before_needs_neither(monkeypatch):
    said = introduced(monkeypatch, {0: VERSION, 50: answer()})
    assert (said.scale, said.unit, said.obeys) == (0.4, 1.0, 1)


class Pair:
    """Driver and twin, told a value in the axes of the bicycle."""

    def __init__(self, kind: int, **truth) -> None:
        settings = {**SETTINGS, "pole_pairs": 7.0, "encoder_ratio": truth.get("steer_gear_ratio", 1.0)}
        cal = Calibration(wheel_radius=0.3, **truth)
        self.kind, self.cal = kind, cal.as_record()
        config = TwinConfig(
            carries=12, calibration=cal, rate_hz=200, watchdog=WATCHDOG, torque_limit=8.0, settings=settings, kind=kind
        )
        self.twin, self.readings = VescTwin(config), np.zeros(9)
        self.link = linked(kind, encoder_ratio=settings["encoder_ratio"])

    def tell(self, t: float, value: float, flags: int = COMMAND_ENABLE, delta: float = 0.0, kind: int | None = None):
        self.readings[DELTA_READING] = delta
        self.twin.instant(t, self.readings)
        kind = self.kind if kind is None else kind
        sent = drive_command(value, kind, self.cal)
        self.twin.hear(told(self.link, T_cmd=sent, kind=kind, flags=flags), t)
        self.twin.instant(t + 0.001, self.readings)
        return self.twin.T, self.twin.enabled


@pytest.mark.parametrize("sign", [1, -1])
def test_the_twin_turns_as_fast_as_it_is_told(sign):
    pair = Pair(COMMAND_KIND_RATE, torque_sign=sign)
    for rate in (1.5, -0.2, 0.0):
        made, on = pair.tell(0.0, rate)
        assert made == pytest.approx(rate, abs=2 * math.pi / 60 / 14), "a revolution a minute is the step"
        assert on


@pytest.mark.parametrize("truth", [{}, {"steer_sign": -1, "steer_offset": 0.4}, {"steer_gear_ratio": 3.0}])
@pytest.mark.parametrize("delta", [0.0, -0.5])
def test_the_twin_goes_where_it_is_told_by_the_shorter_way(truth, delta):
    pair = Pair(COMMAND_KIND_ANGLE, **truth)
    made, on = pair.tell(0.0, -0.25, delta=delta)
    assert (made, on) == (pytest.approx(-0.25, abs=1e-6), True)


@pytest.mark.parametrize("kind", [COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
def test_it_lets_go_after_its_time_out_and_when_told_off(kind):
    pair = Pair(kind)
    assert pair.tell(0.0, 0.5)[1]
    pair.twin.instant(WATCHDOG + 0.002, pair.readings)
    assert not pair.twin.enabled
    assert pair.twin.T == 0.0
    assert pair.tell(0.1, 0.5)[1], "not latched"
    assert pair.tell(0.12, 0.5, flags=0) == (0.0, False)


def test_a_current_in_front_of_a_plant_that_obeys_a_rate_makes_nothing():
    assert Pair(COMMAND_KIND_RATE).tell(0.0, 2.0, kind=COMMAND_KIND_TORQUE) == (0.0, False)
