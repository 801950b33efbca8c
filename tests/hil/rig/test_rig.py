"""Rig files: what is read, and what is refused with which sentence."""

import numpy as np
import pytest

from riderless.experiments.dynamics import MACHINE_QUANTITIES
from riderless.experiments.theory.run_theory import how_well_known
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.loop.limits import MACHINE_LIMITS, Limit, Limits
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import Rig
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from tests.paths import DOCS

EXAMPLE = DOCS / "rigs/measured.toml"


def test_the_example_of_the_docs_loads():
    rig = read_rig(EXAMPLE)
    assert rig.bicycle.name == "Silver"
    assert rig.limits.torque == Limit(4.0, "N m", "what one hand on the bars overcomes")
    assert rig.limits.stale == Limits().stale, "what the file leaves out keeps its default"
    assert rig.latency_days == 7
    calibration = rig.calibrated(gyro_lsb=1e-4)
    assert calibration.wheel_radius == 0.342
    assert calibration.gyro_lsb == 1e-4
    assert calibration.steer_gear_ratio == 3.0


OWN_LIMITS = "".join(
    f"[limits.{name}]\nvalue = {getattr(Limits(), name).value}\nreason = 'as always'\n" for name in MACHINE_LIMITS
)


def with_text(tmp_path, text):
    """A rig file with ``text`` and all limits that a machine must state, unless ``text`` states them."""
    name = text.split("]")[0].removeprefix("[limits.")
    rest = OWN_LIMITS.split("[limits.")
    limits = "".join(f"[limits.{part}" for part in rest[1:] if not part.startswith(f"{name}]"))
    path = tmp_path / "rig.toml"
    path.write_text('name = "x"\nbicycle = "Silver"\n' + text + "\n" + limits)
    return path


def test_the_name_of_a_bicycle_makes_no_rig():
    with pytest.raises(InputError, match=r"^wanted a Bicycle, found 'Silver': get one with load_bicycle$"):
        Rig("Silver")


def test_a_rig_without_the_limits_of_its_machine_does_not_load(tmp_path):
    path = tmp_path / "rig.toml"
    path.write_text('name = "x"\nbicycle = "Silver"\n')
    with pytest.raises(InputError, match=r"torque, torque_rate, lean, .* are missing"):
        read_rig(path)


def test_two_ports_share_what_a_rig_needs(tmp_path):
    apart = "[[port]]\npath = 'a'\ncarries = ['sensors']\n[[port]]\npath = 'b'\nbaud = 115200\ncarries = ['drive']"
    rig = read_rig(with_text(tmp_path, apart))
    assert [port.role for port in rig.ports] == [ROLE_SENSORS, ROLE_DRIVE]
    assert [port.path for port in rig.ports] == ["a", "b"]
    with pytest.raises(InputError, match="once each"):
        read_rig(with_text(tmp_path, "[[port]]\npath = 'a'\ncarries = ['sensors']"))


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
        ("[limits.ramp]\nvalue = 0.5\nreason = 'because'", "between 0.1 and 0.3 s"),
        ("[limits.stale]\nvalue = 50\nreason = 'in ms'", "between 0.01 and 0.2 s"),
        ("[limits.speed_min]\nvalue = 11.0\nreason = 'because'", "speed"),
    ],
)
def test_faults_are_named(tmp_path, text, named):
    with pytest.raises(InputError, match=named):
        read_rig(with_text(tmp_path, text))


def test_how_well_the_machine_is_known_comes_under_the_names_of_the_analysis():
    known = read_rig(EXAMPLE).std
    assert known == {"speed_scale": 0.005, "drive_gain": 0.03, "more_delay": 0.001, "steer_damping": 0.02}
    assert set(known) < set(MACHINE_QUANTITIES)


def test_a_rig_that_says_nothing_of_its_sensor_s_pitch_leaves_it_to_what_calibration_leaves(tmp_path):
    said = read_rig(with_text(tmp_path, "[std]\nimu_pitch_deg = 0.1"))
    assert how_well_known(said) == {"imu_pitch": pytest.approx(np.radians(0.1))}
    exact = read_rig(with_text(tmp_path, "[std]\nimu_pitch_deg = 0.0"))
    assert how_well_known(exact) == {"imu_pitch": 0.0}
    assert how_well_known(read_rig(with_text(tmp_path, ""))) == {"imu_pitch": pytest.approx(np.radians(0.3))}


def test_all_faults_of_a_file_are_named_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read_rig(with_text(tmp_path, "[port]\nbaud = 'fast'\n[loop]\nrate_Hz = 3"))
    assert "port.0.baud" in str(caught.value)
    assert "loop.rate_Hz" in str(caught.value)


def test_calibration_is_checked_when_it_is_used(tmp_path):
    with pytest.raises(InputError, match="wheel_size"):
        read_rig(with_text(tmp_path, "[calibration]\nwheel_size = 28")).calibrated()
    with pytest.raises(DeviceError, match="rotation"):
        read_rig(with_text(tmp_path, "[calibration]\nmounting = [[1.0,0,0],[0,1.0,0],[0,0,2.0]]")).calibrated()


def test_a_missing_rig_file_is_told(tmp_path):
    with pytest.raises(InputError, match="no rig file"):
        read_rig(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("how", "gone"),
    [
        ({}, 0.035),  # a period of 5 ms until a sample sees it, one until the command is obeyed, five lags of 5 ms
        ({"drive_lag": 0.02}, 0.11),
        ({"rate": 100.0, "command_delay": 0.002}, 0.037),
    ],
)
def test_a_torque_that_is_cut_is_gone_after_period_delay_and_five_lags(how, gone):
    assert Rig(load_bicycle("Silver"), **how).torque_gone == pytest.approx(gone)


def test_a_rig_and_its_limits_are_one_line_each():
    rig = read_rig(EXAMPLE)
    assert repr(rig) == f"Rig({rig.name}: {rig.bicycle.name}, 200 Hz, node)"
    assert repr(rig.limits).startswith("Limits(torque 4 N m, torque_rate 400 N m/s, lean 0.35 rad,")


def test_a_bicycle_on_skates_is_no_machine_that_is_ridden():
    with pytest.raises(InputError, match=r"TwoMassSkateTheory has a skate for its rear wheel, .*no machine rides it"):
        Rig(load_bicycle("TwoMassSkateTheory")).calibrated()
