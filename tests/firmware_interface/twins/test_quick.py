"""Compiled twins against those on pseudo-terminals: the same bytes for the same words and motion."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.calibration import Calibration
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_IMU, ROLE_STEER, ROLE_WHEEL, new_link
from riderless.firmware_interface.devices.registry import device
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    STATUS_ENABLED,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.twins.odrive import ODriveTwin
from riderless.firmware_interface.twins.quick import (
    hear_quick,
    new_quick_twin,
    quick_introduction,
    quick_output,
    tell_quick,
)
from riderless.firmware_interface.twins.twin import TwinConfig
from riderless.firmware_interface.twins.vectornav import VectorNavTwin
from riderless.firmware_interface.twins.vesc import VescTwin

TURNED = Calibration(
    wheel_radius=0.3,
    mounting=((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    gyro_offset=(0.01, -0.02, 0.03),
    accel_offset=(0.1, 0.2, -0.1),
    steer_gear_ratio=1.5,
    steer_offset=0.1,
    steer_sign=-1,
    torque_sign=-1,
)
SETTINGS = {
    "vesc": {"torque_constant_Nm_A": 0.35, "gear_ratio": 2.0, "current_limit_A": 20.0, "pole_pairs": 7.0},
    "odrive": {"axis": 0.0, "wheel_axis": 1.0, "gear_ratio": 2.0, "torque_limit_Nm": 7.0},
    "vectornav": {"async_port": 1.0},
}
ROLES = {"vesc": ROLE_DRIVE | ROLE_STEER, "odrive": ROLE_DRIVE | ROLE_STEER | ROLE_WHEEL, "vectornav": ROLE_IMU}
DT, WATCHDOG = 0.005, 0.05


def config_of(kind, command_kind):
    driver = device(kind)
    return TwinConfig(
        carries=ROLES[kind],
        calibration=TURNED,
        rate_hz=200,
        watchdog=WATCHDOG,
        torque_limit=7.0,
        settings={**driver.settled(SETTINGS[kind]), **({"encoder_ratio": 1.5} if kind == "vesc" else {})},
        kind=command_kind,
    )


def link_of(kind, config):
    said, link, driver = quick_introduction(kind, config), new_link(), device(kind)
    link["hear"], link["say"], link["role"] = driver.hear, driver.say, ROLES[kind]
    link["scale"], link["per_amp"], link["unit"] = said.scale, said.per_amp, said.unit
    link["axis"], link["wheel_axis"] = 0, 1 if kind == "odrive" else -1
    link["period_us"] = 5000
    return link


@pytest.mark.parametrize("command_kind", [COMMAND_KIND_TORQUE, COMMAND_KIND_RATE, COMMAND_KIND_ANGLE])
@pytest.mark.parametrize("kind", ["vesc", "odrive"])
def test_a_drive_makes_and_answers_what_its_twin_does(kind, command_kind):
    config, driver = config_of(kind, command_kind), device(kind)
    quick, link = new_quick_twin(kind, 0, config), link_of(kind, config)
    slow = VescTwin(config) if kind == "vesc" else ODriveTwin(config)
    if kind == "odrive":
        slow.properties["axis0.config.watchdog_timeout"], slow.properties["axis0.config.enable_watchdog"] = WATCHDOG, 1
        slow._feed(0)
    rng, tx, rx, on = np.random.default_rng(1), np.zeros(256, np.uint8), np.zeros(4096, np.uint8), 0
    for k in range(400):
        t, readings = k * DT, rng.normal(size=9) * 0.3
        slow.instant(t, readings)
        command = np.zeros(1, COMMAND)[0]
        command["kind"], command["T_cmd"], command["seq"] = command_kind, rng.normal() * 0.5, k
        silent = 200 <= k < 230  # longer than the watchdog
        command["flags"] = COMMAND_ENABLE if 20 < k < 200 or k > 260 else (2 if k >= 230 else 0)
        n = driver.speak(link, command, 0 if silent else 1, tx)
        hear_quick(quick, tx, n, t, readings)
        answer = slow.hear(tx[:n].tobytes(), t)
        slow.instant(t, readings)
        told = tell_quick(quick, t, readings, rx)
        if kind == "vesc":
            assert rx[:told].tobytes() == answer, k
        other = link.copy()
        driver.receive(other, np.frombuffer(bytearray(answer), np.uint8), len(answer))
        value, enabled = quick_output(quick, t)
        assert enabled == slow.enabled, k
        assert not enabled or value == pytest.approx(slow.T, abs=1e-6), k
        on += enabled
        driver.receive(link, rx, told)  # what nobody reads of an ODrive's answer differs: the steer's rate, wheel turns
        assert str(link["raw"]) == str(other["raw"]), k
        if k == 229:
            assert link["raw"]["status"] & STATUS_WATCHDOG
    assert on > 200
    assert link["raw"]["status"] & STATUS_ENABLED


def test_an_inertial_sensor_streams_what_its_twin_does():
    config = config_of("vectornav", COMMAND_KIND_TORQUE)
    quick, slow = new_quick_twin("vectornav", 0, config), VectorNavTwin(config)
    slow.registers[75], slow.registers[6] = "1,4,01,0129", "0"
    rng, rx = np.random.default_rng(1), np.zeros(4096, np.uint8)
    for k in range(20):
        readings = rng.normal(size=9)
        n = tell_quick(quick, k * DT, readings, rx)
        assert rx[:n].tobytes() == slow.instant(k * DT, readings), k


def test_a_rate_that_a_sensor_has_not_is_refused():
    config = config_of("vectornav", COMMAND_KIND_TORQUE)
    with pytest.raises(DeviceError, match="800 Hz divided by a whole number, found a loop of 300 Hz"):
        new_quick_twin("vectornav", 0, replace(config, rate_hz=300))


def test_what_it_says_of_itself_is_what_the_driver_wants():
    for kind in SETTINGS:
        said = quick_introduction(kind, config_of(kind, COMMAND_KIND_TORQUE))
        assert said.name
        assert (said.rate_hz is None) == (kind != "vectornav")
