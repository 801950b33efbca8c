"""One step of the observer with numbers small enough to follow with a pencil."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.loop.observer import ESTIMATE, OBSERVER, Observer, balanced_turn, follow_drive, observe
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix

HALF = math.log(2.0) / 0.01  # rad/s: what is left after 0.01 s is a half
SETTINGS = {
    "dt": 0.01,
    "lean_bandwidth": 1.0,
    "yaw_bandwidth": 2.0,
    "steer_bandwidth": HALF,
    "speed_bandwidth": HALF,
    "held_factor": 3.0,
    "drive_lag": 0.004 / math.log(2.0),
    "command_delay": 0.004,
    "x_imu": 0.3,
    "z_imu": -0.5,
    "w": 1.0,
    "c": 0.2,
    "cos_lam": 0.5,
    "g": 10.0,
}
BEFORE = {
    "phi": 0.1,
    "phi_dot": 0.2,
    "delta": 0.05,
    "delta_dot": 1.0,
    "v": 4.0,
    "gyro_bias": 0.01,
    "yaw_bias": 0.02,
    "psi_dot": 0.3,
    "t": 1.0,
    "started": 1,
}
READ = {
    "t": 1.01,
    "phi_dot_meas": 0.25,
    "psi_dot_meas": 0.35,
    "a_y_meas": 0.6,
    "delta_meas": 0.08,
    "v_meas": 6.0,
    "steer_age": 0.004,
}


def record(dtype, values):
    made = np.zeros(1, dtype)[0]
    for name, value in values.items():
        made[name] = value
    return made


def stepped(held=False, before=BEFORE, **changes):
    e = record(ESTIMATE, before)
    observe(record(OBSERVER, SETTINGS), e, record(SAMPLE, {**READ, **changes}), held)
    return e


def assert_is(e, **wanted):
    for name, value in wanted.items():
        assert float(e[name]) == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_one_step_by_hand():
    """The steer filter finds 0.08 - (0.05 + 0.006 * 1) = 0.024 rad; rolling is (5 * 0.078 + 0.2 * 1.6) / 2 rad/s."""
    assert_is(
        stepped(),
        v=5.0,
        delta=0.06 + 0.75 * 0.024,
        delta_dot=1.0 + 0.25 / 0.01 * 0.024,
        yaw_error=0.33 - 0.355,
        yaw_bias=0.0195,
        psi_dot=0.3305,
        lean_error=0.395 - 0.1022,  # (5 * 0.33 + 0.3 * 3 + 0.5 * 4 - 0.6) / 10 less the integral
        phi=0.108056,
        gyro_bias=0.007072,
        phi_dot=0.242928,
        t=1.01,
        turn=(1.0 - math.exp(-0.02)) * 5.0 * 0.3305 / 10.0,  # v psi_dot / g, smoothed over half a second
        lean_shown=(1.0 - math.exp(-0.05)) * 0.2928,  # over a fifth of a second
    )


def test_one_step_while_held_is_three_times_as_fast_and_its_bias_nine_times():
    assert_is(
        stepped(held=True),
        v=5.0,
        delta=0.078,
        yaw_error=-0.025,
        yaw_bias=0.0185,
        psi_dot=0.3315,
        lean_error=0.2928,
        phi=0.119768,
        gyro_bias=-0.016352,
        phi_dot=0.266352,
    )


def test_an_angle_that_is_as_old_as_the_step_is_compared_with_the_old_one():
    assert_is(stepped(steer_age=0.01), delta=0.06 + 0.75 * 0.03, delta_dot=1.0 + 25.0 * 0.03)
    assert_is(stepped(steer_age=0.0), delta=0.06 + 0.75 * 0.02, delta_dot=1.0 + 25.0 * 0.02)


@pytest.mark.parametrize(
    ("gap", "counted"), [(0.05, 0.05), (0.19, 0.19), (0.3, 0.01), (1.5, 0.01), (0.0, 0.01), (-1.0, 0.01)]
)
def test_time_is_counted_over_a_gap_of_up_to_a_fifth_of_a_second_and_a_jump_of_the_clock_is_one_period(gap, counted):
    left = 2.0 ** (-counted / 0.01)
    assert_is(stepped(t=1.0 + gap), t=1.0 + gap, v=6.0 - 2.0 * left)


def test_a_gap_of_just_a_fifth_of_a_second_is_a_jump():
    assert_is(stepped(before={**BEFORE, "t": 0.0}, t=0.2), v=5.0)


def test_an_endless_bandwidth_is_refused():
    with pytest.raises(InputError, match="yaw_bandwidth"):
        Observer(yaw_bandwidth=math.inf)


def test_the_first_sample_is_taken_as_it_is():
    assert_is(
        stepped(before={"phi": 7.0, "phi_dot": 7.0, "delta_dot": 7.0, "psi_dot": 7.0}),
        phi=0.0,
        phi_dot=0.0,
        psi_dot=0.0,
        delta=0.08,
        delta_dot=0.0,
        gyro_bias=0.25,
        rest_bias=0.25,
        yaw_bias=0.35,
        rest_yaw=0.35,
        v=6.0,
        t=1.01,
        started=1,
    )


def test_the_drive_follows_the_old_command_until_the_new_one_is_obeyed():
    """Half of 1 and half of 3 after 4 ms; then 6 ms towards 5, which leave 1 / (2 sqrt 2)."""
    o, e = record(OBSERVER, SETTINGS), record(ESTIMATE, {"T": 1.0, "u_prev": 3.0})
    follow_drive(o, e, 5.0)
    left = 1.0 / (2.0 * math.sqrt(2.0))
    assert_is(e, T=2.0 * left + 5.0 * (1.0 - left), u_prev=5.0)


@pytest.mark.parametrize(("delay", "wanted"), [(0.004, 5.0), (0.01, 3.0)])
def test_a_drive_without_lag_makes_what_it_was_told_last(delay, wanted):
    o = record(OBSERVER, {**SETTINGS, "drive_lag": 0.0, "command_delay": delay})
    e = record(ESTIMATE, {"T": 1.0, "u_prev": 3.0})
    follow_drive(o, e, 5.0)
    assert_is(e, T=wanted, u_prev=5.0)


def test_settings_and_geometry_reach_the_compiled_observer():
    silver = catalogue.load_bicycle("Silver")
    settings = Observer(0.1, 0.2, 30.0, 4.0, 5.0)
    o = settings.as_record(silver, 0.01, 0.007, 0.3, -0.5, 0.004)
    assert_is(o, lean_bandwidth=0.1, yaw_bandwidth=0.2, steer_bandwidth=30.0, speed_bandwidth=4.0, held_factor=5.0)
    assert_is(o, dt=0.01, drive_lag=0.007, x_imu=0.3, z_imu=-0.5, command_delay=0.004)
    assert_is(o, w=silver.w, c=silver.c, cos_lam=math.cos(silver.lam), g=silver.g)
    assert_is(settings.as_record(silver, 0.01, 0.007, 0.3, -0.5), command_delay=0.01)


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
@pytest.mark.parametrize("v", [3.0, 7.0])
def test_a_turn_leans_as_the_whipple_model_that_stays_in_it(name, v):
    """Second route: the lean and steer torque per radian of steer at which nothing accelerates."""
    bicycle = catalogue.load_bicycle(name)
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, 1]
    lean, _ = np.linalg.solve(np.column_stack([A[2:, 0], b[2:]]), -A[2:, 1])
    factors = balanced_turn(bicycle)
    told = factors["lean_by_speed"] * v + factors["lean_by_trail"] / v
    assert told * v * math.cos(bicycle.lam) / bicycle.w == pytest.approx(lean, rel=1e-9)
