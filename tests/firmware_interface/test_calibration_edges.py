"""Just within and just beyond what a calibration believes, on every axis and to either side; ends of the scales."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from riderless.firmware_interface.calibration import (
    DEVICE_CLOCK,
    Calibration,
    calibrate,
    drive_command,
    is_off_scale,
    steer_command,
    to_counts,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    COMMAND_KIND_TORQUE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
    RAW,
    SAMPLE,
)
from tests.firmware_interface.wire import record

EXACT = Calibration(  # powers of two, so that a limit is hit exactly
    wheel_radius=1.0,
    gyro_lsb=2.0**-10,
    accel_lsb=2.0**-4,
    steer_counts_per_turn=1024.0,
    max_rate=1.0,
    max_acceleration=16.0,
    max_steer=2 * math.pi / 8,
    max_speed=2.0,
)


def is_valid(clock=None, **raw):
    sample = record(SAMPLE)
    calibrate(record(RAW, **raw), EXACT.as_record(), record(DEVICE_CLOCK) if clock is None else clock, sample)
    return bool(sample["valid"])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("name", "most"), [("gyro_counts", 1024), ("accel_counts", 256)])
@pytest.mark.parametrize("axis", range(3))
def test_each_rate_and_each_force_has_its_bound(name, most, axis, sign):
    counts = [0, 0, 0]
    counts[axis] = sign * most
    assert is_valid(**{name: counts})
    counts[axis] = sign * (most + 1)
    assert not is_valid(**{name: counts})


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("name", "most"), [("steer_counts", 128), ("wheel_mrad_s", 2000)])
def test_steer_and_speed_have_their_bounds(name, most, sign):
    assert is_valid(**{name: sign * most})
    assert not is_valid(**{name: sign * (most + 1)})


@pytest.mark.parametrize(
    ("faults", "valid"),
    [
        (FAULT_IMU, False),
        (FAULT_ENCODER, False),
        (FAULT_IMU | FAULT_ENCODER, False),
        (FAULT_DRIVE | FAULT_BUS, True),
        (FAULT_BUS | FAULT_IMU, False),
        (FAULT_DRIVE | FAULT_ENCODER, False),
    ],
)
def test_faults_of_sensors_spoil_a_sample_and_those_of_the_drive_do_not(faults, valid):
    assert is_valid(faults=faults) is valid


@pytest.mark.parametrize("end", [-32768, 32767])
@pytest.mark.parametrize("place", range(7))
def test_both_ends_of_every_narrow_scale(place, end):
    raw = record(RAW)
    for value, off in ((end, True), (end - int(math.copysign(1, end)), False)):
        if place == 6:
            raw["torque_mNm"] = value
        else:
            raw["gyro_counts" if place < 3 else "accel_counts"][place % 3] = value
        assert bool(is_off_scale(raw)) is off


def test_a_clock_that_stands_still_is_no_step_back_and_half_a_turn_back_is():
    clock = record(DEVICE_CLOCK)
    assert is_valid(clock, t_us=5000)
    assert is_valid(clock, t_us=5000)
    assert not is_valid(clock, t_us=4999)
    assert clock["now_us"] == 4999
    assert is_valid(clock, t_us=4999 + 2**31 - 1), "nearly half a turn forwards"
    assert not is_valid(clock, t_us=4998), "half a turn is taken for a step back"


def test_counts_saturate_just_beyond_their_ends():
    cal, raw = EXACT.as_record(), record(RAW)
    readings = np.zeros(9)
    readings[0], readings[3], readings[8] = 32767.4 * 2.0**-10, -32767.6 * 2.0**-4, 32.7676
    to_counts(readings, cal, raw)
    assert (raw["gyro_counts"][0], raw["accel_counts"][0], raw["torque_mNm"]) == (32767, -32768, 32767)
    assert raw["off_scale"] == 1
    readings[:] = 0.0
    readings[6], readings[7] = 1e9, -1e9
    to_counts(readings, cal, raw)
    assert (raw["steer_counts"], raw["wheel_mrad_s"], raw["off_scale"]) == (2**31 - 1, -(2**31), 0)
    readings[:] = -1e9
    to_counts(readings, cal, raw)
    assert (raw["steer_counts"], raw["torque_mNm"]) == (-(2**31), -32768)


def test_a_reading_of_zero_is_off_no_scale():
    raw = record(RAW)
    to_counts(np.zeros(9), EXACT.as_record(), raw)
    assert raw["off_scale"] == 0
    assert is_valid()


@pytest.mark.parametrize("name", ["steer_sign", "wheel_sign", "torque_sign"])
@pytest.mark.parametrize("value", [0, 2, -2, 0.5])
def test_a_sign_is_one_or_minus_one(name, value):
    with pytest.raises(DeviceError, match=f"{name} must be 1 or -1, found {value}"):
        Calibration(wheel_radius=0.3, **{name: value})


@pytest.mark.parametrize("name", ["wheel_radius", "steer_gear_ratio", "max_rate", "max_speed"])
def test_a_scale_is_more_than_nothing(name):
    for value in (0.0, -1.0):
        with pytest.raises(DeviceError, match=f"{name} must be positive, found {value}"):
            Calibration(**{"wheel_radius": 0.3, name: value})


def test_a_mounting_is_a_rotation_to_a_millionth():
    for slip, refused in ((4e-7, False), (-4e-7, False), (6e-7, True), (-6e-7, True)):
        mounting = ((1.0 + slip, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # its product is off by twice that
        if refused:
            with pytest.raises(DeviceError, match="must be a rotation"):
                Calibration(wheel_radius=0.3, mounting=mounting)
        else:
            assert Calibration(wheel_radius=0.3, mounting=mounting).mounting == mounting


def test_a_calibration_shows_what_is_not_usual():
    assert repr(Calibration(wheel_radius=0.3)) == "Calibration(wheel_radius=0.3)"
    assert repr(Calibration(wheel_radius=0.3, steer_sign=-1)) == "Calibration(wheel_radius=0.3, steer_sign=-1)"


def test_a_mounting_turns_all_axes_into_each_other():
    """Counts of a rate and a force seen from the bicycle, by an independent route."""
    turned = Rotation.from_euler("zyx", (40.0, -25.0, 15.0), degrees=True)
    calibration = Calibration(
        wheel_radius=0.3, gyro_lsb=1e-4, accel_lsb=1e-3, mounting=tuple(map(tuple, turned.as_matrix()))
    )
    rates, forces = [1000, -2000, 3000], [-3000, 500, 9000]
    sample = record(SAMPLE)
    calibrate(
        record(RAW, gyro_counts=rates, accel_counts=forces), calibration.as_record(), record(DEVICE_CLOCK), sample
    )
    found = [float(sample[f"{name}_dot_meas"]) for name in ("phi", "theta", "psi")]
    assert found == pytest.approx(turned.apply(1e-4 * np.array(rates)))
    assert [float(sample[f"a_{axis}_meas"]) for axis in "xyz"] == pytest.approx(turned.apply(1e-3 * np.array(forces)))


@pytest.mark.parametrize("sign", [1, -1])
def test_an_angle_is_told_as_the_encoder_counts_it(sign):
    """Sent to a drive that holds it, the angle is the one that the encoder then shows."""
    calibration = Calibration(wheel_radius=0.3, steer_sign=sign, steer_offset=0.15, steer_counts_per_turn=2.0**20)
    told = drive_command(0.4, COMMAND_KIND_ANGLE, calibration.as_record())
    assert told == pytest.approx(sign * 0.55)
    sample = record(SAMPLE)
    counts = round(told / (2 * math.pi) * 2**20)
    calibrate(record(RAW, steer_counts=counts), calibration.as_record(), record(DEVICE_CLOCK), sample)
    assert float(sample["delta_meas"]) == pytest.approx(0.4, abs=1e-5)
    assert steer_command(told, COMMAND_KIND_ANGLE, calibration.as_record()) == pytest.approx(0.4)


@pytest.mark.parametrize("kind", [COMMAND_KIND_TORQUE, COMMAND_KIND_RATE])
@pytest.mark.parametrize(("steer_sign", "torque_sign"), [(1, -1), (-1, 1)])
def test_a_torque_and_a_rate_are_told_with_the_sign_of_their_drive(kind, steer_sign, torque_sign):
    calibration = Calibration(wheel_radius=0.3, steer_sign=steer_sign, torque_sign=torque_sign, steer_offset=0.15)
    told = drive_command(0.4, kind, calibration.as_record())
    assert told == torque_sign * 0.4
    assert steer_command(told, kind, calibration.as_record()) == 0.4
