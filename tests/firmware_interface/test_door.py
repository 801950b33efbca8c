"""The door of the room: its names, that they come lazily, and how its objects show themselves."""

import subprocess
import sys

import pytest

from riderless import firmware_interface
from riderless.firmware_interface import (
    Calibration,
    DeviceError,
    Fault,
    FaultKind,
    NodeConfig,
    device,
    device_names,
    open_port,
)
from tests.paths import ROOT

HEAVY = ("numba", "numpy", "serial", "scipy", "multiprocessing")


@pytest.mark.parametrize("name", firmware_interface.__all__)
def test_each_name_is_there_and_public(name):
    assert getattr(firmware_interface, name).__name__ == name
    assert name in dir(firmware_interface)


def test_importing_the_room_loads_nothing_heavy():
    script = f"import sys, riderless.firmware_interface; print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"module 'riderless\.firmware_interface' has no attribute 'bicycle'"):
        _ = firmware_interface.bicycle


def test_devices_by_name():
    places, speeds = ("distance", "nmea", "ubx", "camera"), ("treadmill", "vesc_wheel", "odrive_wheel")
    assert device_names() == (
        "node",
        "vectornav",
        "vesc",
        "vesc_can",
        "odrive",
        "odrive_can",
        "moteus",
        *places,
        *speeds,
    )
    assert device("node").name == "node"
    with pytest.raises(DeviceError, match="unknown device 'abacus': the devices are node, "):
        device("abacus")


def test_representations_are_one_short_line():
    assert repr(Calibration(wheel_radius=0.3)) == "Calibration(wheel_radius=0.3)"
    assert repr(Calibration(wheel_radius=0.3, steer_sign=-1)) == "Calibration(wheel_radius=0.3, steer_sign=-1)"
    assert repr(device("node")) == "Device('node', carries imu, steer, wheel, drive)"
    assert repr(Fault(FaultKind.DROP, chance=0.1)) == "Fault(DROP, chance 0.1)"
    assert "NodeConfig(calibration=Calibration(wheel_radius=0.3), rate_hz=200" in repr(NodeConfig())


def test_representations_of_what_is_open(terminal):
    _, path = terminal
    with open_port(path, 115200) as port:
        assert repr(port) == f"SerialPort('{path}', 115200 baud)"


def test_a_calibration_is_made_again_from_its_representation():
    calibration = Calibration(wheel_radius=0.34, gyro_offset=(0.1, 0.2, 0.3), max_speed=12.0)
    assert eval(repr(calibration)) == calibration  # noqa: S307
