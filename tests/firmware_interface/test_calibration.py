"""Counts to SI units: signs, scales, mounting, validity, the unwrapped clock; and back."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.calibration import (
    DEVICE_CLOCK,
    Calibration,
    calibrate,
    drive_command,
    is_off_scale,
    to_counts,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import (
    COMMAND_KIND_TORQUE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
    RAW,
    SAMPLE,
)
from tests.firmware_interface.wire import record

QUARTER_TURN_YAW = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))  # sensor x looks to the right


def calibrated(calibration: Calibration, clock=None, **raw) -> np.void:
    sample = record(SAMPLE)
    calibrate(record(RAW, **raw), calibration.as_record(), record(DEVICE_CLOCK) if clock is None else clock, sample)
    return sample


def test_each_field_by_hand():
    sample = calibrated(
        Calibration(
            wheel_radius=0.35,
            gyro_lsb=0.001,
            accel_lsb=0.01,
            gyro_offset=(0.0, 0.0, 0.005),
            steer_counts_per_turn=20000,
            steer_gear_ratio=2.0,
            steer_offset=0.1,
            steer_sign=-1,
            wheel_sign=-1,
            torque_sign=-1,
        ),
        seq=12,
        t_us=2_500_000,
        gyro_counts=[100, -200, 300],
        accel_counts=[10, 20, -981],
        steer_counts=-4000,  # a tenth of a turn of the steer, to the left as the encoder counts
        wheel_mrad_s=-10_000,
        torque_mNm=250,
        bus_mV=24_100,
        status=9,
        faults=FAULT_DRIVE | FAULT_BUS,
        command_seq=11,
        rejected=3,
    )
    wanted = {
        "t": 2.5,
        "phi_dot_meas": 0.1,
        "theta_dot_meas": -0.2,
        "psi_dot_meas": 0.295,
        "a_x_meas": 0.1,
        "a_y_meas": 0.2,
        "a_z_meas": -9.81,
        "delta_meas": 0.2 * math.pi - 0.1,
        "v_meas": 3.5,
        "T_meas": -0.25,
        "bus_meas": 24.1,
        "steer_age": 0.0,  # the tick knows of it
        "seq": 12,
        "command_seq": 11,
        "status": 9,
        "faults": 9,
        "rejected": 3,
        "valid": 1,  # a fault of drive or supply is for the supervisor; the numbers are good
    }
    for name in SAMPLE.names:
        assert sample[name] == pytest.approx(wanted[name], rel=1e-14), name


def test_mounting_turns_sensor_axes_into_bicycle_axes():
    sample = calibrated(
        Calibration(wheel_radius=0.3, gyro_lsb=1e-3, accel_lsb=1e-2, mounting=QUARTER_TURN_YAW),
        gyro_counts=[100, 200, 300],
        accel_counts=[1, 2, 3],
    )
    rates = [sample[name] for name in ("phi_dot_meas", "theta_dot_meas", "psi_dot_meas")]
    forces = [sample[name] for name in ("a_x_meas", "a_y_meas", "a_z_meas")]
    assert rates == pytest.approx([-0.2, 0.1, 0.3])  # what sensor x feels is about the bicycle's y
    assert forces == pytest.approx([-0.02, 0.01, 0.03])


@pytest.mark.parametrize(
    "raw",
    [
        {"off_scale": 1},
        {"steer_counts": -(2**31)},
        {"wheel_mrad_s": -(2**31)},
        {"faults": FAULT_IMU},
        {"faults": FAULT_ENCODER},
        {"steer_counts": 5001},  # just over a quarter turn
        {"wheel_mrad_s": 100_100},  # 30.03 m/s
    ],
)
def test_invalid(raw):
    assert calibrated(Calibration(wheel_radius=0.3), **raw)["valid"] == 0
    assert calibrated(Calibration(wheel_radius=0.3))["valid"] == 1


@pytest.mark.parametrize(
    "raw",
    [
        {"gyro_counts": [32767, 0, 0]},
        {"gyro_counts": [0, 0, -32768]},
        {"accel_counts": [0, -32768, 0]},
        {"accel_counts": [0, 0, 32767]},
        {"torque_mNm": -32768},
    ],
)
def test_an_end_of_the_scale(raw):
    assert is_off_scale(record(RAW, **raw))
    assert not is_off_scale(record(RAW, **{name: np.array(value) // 2 for name, value in raw.items()}))


def test_limits_of_rate_and_acceleration():
    calibration = Calibration(wheel_radius=0.3, gyro_lsb=1e-3, accel_lsb=1e-2, max_rate=1.0, max_acceleration=20.0)
    for raw in ({"gyro_counts": [0, 1001, 0]}, {"accel_counts": [2001, 0, 0]}):
        assert calibrated(calibration, **raw)["valid"] == 0
    assert calibrated(calibration, gyro_counts=[999, 0, 0], accel_counts=[0, 0, -1999])["valid"] == 1


def test_clock_goes_over_the_wrap():
    clock, calibration = record(DEVICE_CLOCK), Calibration(wheel_radius=0.3)
    times = [calibrated(calibration, clock, t_us=t)["t"] for t in (2**32 - 5000, 0, 5000, 5000)]
    start = 1e-6 * (2**32 - 5000)
    assert np.array(times) - start == pytest.approx([0.0, 0.005, 0.010, 0.010], abs=1e-9)


def test_clock_counts_many_wraps():
    clock, calibration = record(DEVICE_CLOCK), Calibration(wheel_radius=0.3)
    step = 1_000_000_000  # 1000 s
    for k in range(20):
        sample = calibrated(calibration, clock, t_us=k * step % 2**32)
        assert sample["t"] == pytest.approx(1000.0 * k, abs=1e-6)
        assert sample["valid"] == 1


def test_clock_that_steps_back_makes_one_invalid_sample():
    clock, calibration = record(DEVICE_CLOCK), Calibration(wheel_radius=0.3)
    valid = [calibrated(calibration, clock, t_us=t)["valid"] for t in (60_000_000, 60_005_000, 0, 5000)]
    assert valid == [1, 1, 0, 1]


SMALL = st.floats(-1.5, 1.5)


@given(st.tuples(*[SMALL] * 9), st.sampled_from([1, -1]))
def test_there_and_back_is_true_to_half_a_count(values, sign):
    calibration = Calibration(
        wheel_radius=0.3,
        mounting=QUARTER_TURN_YAW,
        gyro_offset=(0.01, -0.02, 0.03),
        accel_offset=(-0.1, 0.2, 0.3),
        steer_gear_ratio=3.0,
        steer_offset=-0.05,
        steer_sign=sign,
        wheel_sign=sign,
        torque_sign=sign,
    )
    cal, raw, sample = calibration.as_record(), record(RAW), record(SAMPLE)
    to_counts(np.array(values), cal, raw)
    calibrate(raw, cal, record(DEVICE_CLOCK), sample)
    back = [*sample.tolist()][1:10]
    back[7] /= calibration.wheel_radius  # speed to wheel rate
    gyro, accel = calibration.gyro_lsb, calibration.accel_lsb
    lsb = [gyro] * 3 + [accel] * 3 + [2 * math.pi / 60000, 1e-3, 1e-3]
    assert (np.abs(np.subtract(back, values)) <= 0.5001 * np.array(lsb)).all()


def test_too_large_and_missing_readings_come_back_invalid():
    calibration = Calibration(wheel_radius=0.3)
    for channel in range(9):
        for value in (1e12, -1e12, math.nan, math.inf):
            readings = np.zeros(9)
            readings[channel] = value
            raw = record(RAW)
            to_counts(readings, calibration.as_record(), raw)
            sample = record(SAMPLE)
            calibrate(raw, calibration.as_record(), record(DEVICE_CLOCK), sample)
            assert sample["valid"] == 0
            assert all(np.isfinite(v) for v in sample.tolist())


def test_torque_is_commanded_in_the_sense_of_the_drive():
    turned = Calibration(wheel_radius=0.3, torque_sign=-1).as_record()
    assert drive_command(1.5, COMMAND_KIND_TORQUE, turned) == -1.5


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"wheel_radius": 0.0}, "wheel_radius must be positive, found 0.0 m"),
        ({"gyro_lsb": -1.0}, "gyro_lsb must be positive"),
        ({"accel_lsb": math.nan}, "accel_lsb must be a finite number"),
        ({"steer_sign": 0}, "steer_sign must be 1 or -1, found 0"),
        ({"wheel_radius": "big"}, "wheel_radius must be a finite number, found 'big'"),
        ({"mounting": ((1, 0, 0), (0, 1), (0, 0, 1))}, "mounting must be finite numbers of shape"),
        ({"gyro_offset": (1.0, 2.0)}, "gyro_offset must be finite numbers of shape"),
        ({"mounting": ((1, 0, 0), (0, 1, 0), (0, 0, -1))}, "mounting must be a rotation"),
        ({"mounting": ((1, 0, 0), (0, 1, 0), (0, 0.1, 1))}, "mounting must be a rotation"),
        ({"mounting": ((1, 0, 0), (0, 1e300, 1e300), (0, 0, 1e300))}, "mounting must be a rotation"),
    ],
)
def test_impossible_calibrations_are_refused(wrong, words):
    with pytest.raises(DeviceError, match=words.replace("(", r"\(")):
        Calibration(**{"wheel_radius": 0.3, **wrong})
