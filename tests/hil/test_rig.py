"""Rig files: what is read, and what is refused with which sentence."""

from pathlib import Path

import pytest

from firmware_interface.errors import DeviceError
from hil.limits import Limit, Limits
from hil.rig import Rig
from models.errors import InputError

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "example-rig.toml"


def test_the_example_of_the_docs_loads():
    rig = Rig.from_toml(EXAMPLE)
    assert rig.bicycle.name == "Silver"
    assert rig.limits.torque == Limit(4.0, "N m", "what one hand on the bars overcomes")
    assert rig.limits.steer == Limits().steer, "what the file leaves out keeps its default"
    calibration = rig.calibrated(gyro_lsb=1e-4)
    assert calibration.wheel_radius == 0.342
    assert calibration.gyro_lsb == 1e-4
    assert calibration.steer_gear_ratio == 3.0


def with_text(tmp_path, text):
    path = tmp_path / "rig.toml"
    path.write_text('name = "x"\nbicycle = "Silver"\n' + text)
    return path


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[port]\nbaud = 'fast'", r"port.*baud"),
        ("[loop]\nrate_Hz = 3", "loop.rate_Hz"),
        ("[loop]\nrate = 200", "loop.rate"),
        ("[loop]\nclock = 'sundial'", "loop.clock"),
        ("[loop]\ndrive_lag_s = -1", "loop.drive_lag_s"),
        ("[observer]\nspeed = 1.0", "observer"),
        ("[observer]\nlean_bandwidth = -1.0", "lean_bandwidth"),
        ("[limits.torque]\nvalue = 3.0", "reason"),
        ("[limits.torque]\nvalue = -3.0\nreason = 'because'", "torque"),
        ("[limits.torque]\nvalue = 3.0\nreason = ' '", "reason"),
        ("[limits.torque]\nvalue = 'much'\nreason = 'because'", "number"),
        ("[limits.torque]\nvalue = 3.0\nunit = 'lbf ft'\nreason = 'because'", "lbf ft"),
        ("[limits.talk]\nvalue = 3.0\nreason = 'because'", "talk"),
        ("[limits.speed_min]\nvalue = 11.0\nreason = 'because'", "speed"),
    ],
)
def test_faults_are_named(tmp_path, text, named):
    with pytest.raises(InputError, match=named):
        Rig.from_toml(with_text(tmp_path, text))


def test_all_faults_of_a_file_are_named_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        Rig.from_toml(with_text(tmp_path, "[port]\nbaud = 'fast'\n[loop]\nrate_Hz = 3"))
    assert "port.0.baud" in str(caught.value)
    assert "loop.rate_Hz" in str(caught.value)


def test_calibration_is_checked_when_it_is_used(tmp_path):
    with pytest.raises(InputError, match="wheel_size"):
        Rig.from_toml(with_text(tmp_path, "[calibration]\nwheel_size = 28")).calibrated()
    with pytest.raises(DeviceError, match="rotation"):
        Rig.from_toml(with_text(tmp_path, "[calibration]\nmounting = [[1.0,0,0],[0,1.0,0],[0,0,2.0]]")).calibrated()


def test_a_missing_rig_file_is_told(tmp_path):
    with pytest.raises(InputError, match="no rig file"):
        Rig.from_toml(tmp_path / "none.toml")
