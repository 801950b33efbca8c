"""The plausibility monitor at its edges: either side, just at a limit, after gaps and spoilt samples, over wraps."""

import math

import numpy as np
import pytest

from riderless.hil.loop.drives.following import FOLLOWING_TIME, LETTING_GO
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.states import Symptom
from tests.hil.loop.test_plausibility import DT, NOTHING, Watched, ticks_to_cross
from tests.hil.machine import rig_of


@pytest.fixture
def watched():
    w = Watched()
    assert w.ticks(10) == NOTHING
    w.monitor["since"] = 2.0  # s, so that rates are judged
    return w


def test_a_jump_is_noticed_again_three_samples_after_a_gap(watched):
    assert watched.tick(missed=1) == NOTHING
    assert watched.ticks(2) == NOTHING
    watched.sample["delta_meas"] += 0.05
    assert watched.tick() == Symptom.SENSOR_JUMP


@pytest.mark.parametrize("name", ["delta_meas", "phi_dot_meas", "psi_dot_meas"])
def test_a_spoilt_sample_is_nothing_to_compare_with(watched, name):
    watched.sample["valid"], watched.sample[name] = 0, 1.0 if name == "delta_meas" else 5.0
    assert watched.tick() == NOTHING
    watched.sample["valid"], watched.sample[name] = 1, 0.0
    assert watched.ticks(5) == NOTHING
    watched.sample[name] = 0.1 if name == "delta_meas" else 4.0
    assert watched.tick() == Symptom.SENSOR_JUMP


def test_steer_that_goes_fast_over_a_gap_is_no_jump_in_any_sample_after_it(watched):
    """9 rad/s, reached slowly: over a lost sample the angle goes twice as far as between two."""
    for rate in np.linspace(0.0, 9.0, 20):
        watched.sample["delta_meas"] += rate * DT
        assert watched.tick() == NOTHING
    watched.sample["delta_meas"] += 2 * 9.0 * DT
    assert watched.tick(missed=1) == NOTHING
    for _ in range(3):
        watched.sample["delta_meas"] += 9.0 * DT
        assert watched.tick() == NOTHING


@pytest.mark.parametrize(("gyro", "other"), [("phi_dot_meas", "psi_dot_meas"), ("psi_dot_meas", "phi_dot_meas")])
def test_one_gyro_that_leaps_is_enough(watched, gyro, other):
    watched.sample[gyro], watched.sample[other] = 3.5, 0.5
    assert watched.tick() == Symptom.SENSOR_JUMP


def test_a_gyro_is_compared_with_the_sample_before_not_with_zero(watched):
    for rate in (2.0, 4.0, 6.0, 4.0, 2.0, 0.0, -2.0, -4.0):
        watched.sample["phi_dot_meas"] = watched.sample["psi_dot_meas"] = rate
        assert watched.tick() == NOTHING


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_encoder_and_yaw_gyro_disagree_to_either_side(watched, sign):
    bicycle = rig_of().bicycle
    watched.estimate["yaw_error"] = sign * 0.3 * 5.0 * math.cos(bicycle.lam) / bicycle.w  # 0.3 rad of steer at 5 m/s
    assert watched.until(Symptom.SENSORS_DISAGREE, running=False) == ticks_to_cross(0.15, 0.3)


def test_a_steer_that_does_not_follow_its_angle_disobeys_and_hides_no_other_symptom(watched):
    watched.limits = Limits().as_record("angle")
    watched.estimate["T"] = 2.0 * watched.limits["follow_error"]  # asked for, where the steer stays
    letting_go, halfway = round(LETTING_GO / DT), math.ceil(FOLLOWING_TIME * math.log(2.0) / DT)
    assert watched.ticks(letting_go + halfway - 2) == NOTHING
    assert watched.until(Symptom.DRIVE_DISOBEYS) <= 4
    watched.sample["phi_dot_meas"] = 5.0
    assert watched.tick() == Symptom.DRIVE_DISOBEYS | Symptom.SENSOR_JUMP


def test_at_one_metre_a_second_yaw_still_tells_of_steer():
    bicycle, w = rig_of().bicycle, Watched()
    w.ticks(5)
    w.estimate["v"], w.estimate["yaw_error"] = 1.0, 0.3 * 1.0 * math.cos(bicycle.lam) / bicycle.w
    assert w.until(Symptom.SENSORS_DISAGREE) == ticks_to_cross(0.15, 0.3)


def test_errors_are_smoothed_over_a_tenth_of_a_second(watched):
    watched.estimate["lean_error"] = 0.5  # half of it is the limit: after 0.1 s ln 2 = 69 ms, the 14th tick
    assert watched.until(Symptom.SENSORS_DISAGREE) == 14


def test_what_is_just_at_its_limit_is_no_fault(watched):
    """In a tick without time, of the same sample again, nothing moves: every quantity stays where it is put."""
    at = {"lean_error": 0.25, "steer_error": 0.15, "torque_error": 0.8, "invalid": 0.02, "since": 1.0}
    for name, value in at.items():
        watched.monitor[name] = value
    for name in ("lean_error", "steer_error", "torque_error", "invalid"):
        assert watched.limits[name] == at[name]
    watched.monitor["resting"] = watched.limits["stuck"]
    watched.stirring = [False] * 6
    watched.monitor["rate"], watched.monitor["broken"] = 0.0, 1000.0
    assert watched.tick(dt=0.0, missed=-1) == NOTHING, "rates are not judged before a second is over"
    watched.monitor["since"], watched.sample["valid"], watched.monitor["invalid"] = 2.0, 0, 0.02
    watched.monitor["rate"], watched.monitor["broken"] = 160.0, 20.0
    watched.limits["seldom"], watched.limits["broken"] = 160.0 * DT, 20.0 * DT
    assert watched.tick(dt=0.0, missed=-1) == NOTHING


@pytest.mark.parametrize(("dt", "noticed"), [(0.05, Symptom.SENSORS_DISAGREE), (0.051, NOTHING)])
def test_a_gap_longer_than_the_limit_of_silence_says_nothing_of_sensors(watched, dt, noticed):
    watched.estimate["lean_error"] = 1.0
    assert watched.tick(missed=9, dt=dt) == noticed


def test_before_the_first_sample_no_time_counts_and_a_long_tick_makes_no_rate_negative():
    w = Watched()
    assert w.ticks(3, samples=0, broken=1) == NOTHING
    assert w.monitor["since"] == w.monitor["broken"] == 0.0
    w.ticks(3)
    w.tick(samples=0, dt=5.0)
    assert w.monitor["rate"] == 0.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_torque_beyond_or_short_of_the_command_is_disobeyed_to_either_side(watched, sign):
    watched.estimate["T"], watched.sample["T_meas"] = sign * 2.0, sign * 4.0
    assert watched.until(Symptom.DRIVE_DISOBEYS) == ticks_to_cross(0.8, 2.0)
    watched.sample["T_meas"] = 0.0
    assert watched.ticks(400) & Symptom.DRIVE_DISOBEYS


def test_a_limit_itself_is_still_allowed(watched):
    watched.limits["steer_jump"], watched.limits["gyro_jump"] = 0.25, 2.0
    watched.sample["delta_meas"] = 0.25
    assert watched.tick() == NOTHING
    watched = Watched()
    watched.ticks(10)
    watched.limits["gyro_jump"] = 2.0
    watched.sample["phi_dot_meas"] = 2.0
    assert watched.tick() == NOTHING


def test_a_device_that_wraps_its_clock_and_its_numbers_has_neither_stepped_nor_restarted():
    w = Watched(t_us=2**32 - 200_000, seq=0xFFFF - 60)  # numbers wrap 20 samples after the clock
    assert w.ticks(100) == NOTHING
    assert int(w.raw["t_us"]) < 400_000
    assert int(w.raw["seq"]) < 100


def test_a_clock_that_wraps_over_a_gap_has_not_stepped():
    w = Watched(t_us=2**32 - 25_000)
    assert w.ticks(3) == NOTHING
    assert w.tick(missed=9, dt=0.02) == NOTHING
    assert w.ticks(3) == NOTHING


@pytest.mark.parametrize("back", [1, 2, 1000, 32768])
def test_numbers_that_go_back_are_a_device_that_has_restarted(watched, back):
    watched.raw["seq"] = (int(watched.raw["seq"]) - 1 - back) & 0xFFFF
    assert watched.tick() & Symptom.DEVICE_RESTARTED


def test_a_gap_of_most_of_the_numbers_is_a_gap(watched):
    assert not watched.tick(missed=0x7FFE, dt=0.04) & Symptom.DEVICE_RESTARTED


@pytest.mark.parametrize(
    ("off", "noticed"), [(2500, NOTHING), (-2500, NOTHING), (2501, Symptom.CLOCK_STEP), (-2501, Symptom.CLOCK_STEP)]
)
def test_the_clock_may_be_off_by_half_a_period_a_sample(watched, off, noticed):
    watched.raw["t_us"] = int(watched.raw["t_us"]) + off
    assert watched.tick() == noticed


def test_a_reading_off_the_scale_counts_its_time_anew_after_a_good_one(watched):
    for _ in range(7):  # more, and too many of them are no good
        watched.sample["valid"] = 0
        assert watched.ticks(3) == NOTHING
        watched.sample["valid"] = 1
        assert watched.tick() == NOTHING


def test_a_tick_without_time_changes_no_rate(watched):
    rate, broken = float(watched.monitor["rate"]), float(watched.monitor["broken"])
    assert rate == pytest.approx(200.0)
    watched.tick(samples=1, broken=1, dt=0.0)
    assert watched.monitor["rate"] == rate
    assert watched.monitor["broken"] == broken


def test_rates_follow_with_half_a_second():
    """Every second sample is missing: the rate goes from 200 to 100 a second with a time constant of 0.5 s."""
    w = Watched()
    w.ticks(300)
    for k in range(100):
        w.tick(samples=k % 2, missed=k % 2)
    assert float(w.monitor["rate"]) == pytest.approx(100.0 + 100.0 * math.exp(-1.0), abs=2.0)


@pytest.mark.parametrize(("n", "noticed"), [(198, False), (206, True)])
def test_rates_are_judged_from_a_second_on(n, noticed):
    w = Watched()
    w.tick()
    symptoms = w.ticks(n - 1, samples=0, broken=1)
    assert bool(symptoms & Symptom.RATE_LOW) is noticed
    assert bool(symptoms & Symptom.LINK_NOISY) is noticed


@pytest.mark.parametrize("seq", [0, 0xFFF0])  # numbers in the middle, and wrapping
@pytest.mark.parametrize(
    ("missed", "dt", "told"),
    [
        (0, 0.02, 0.005),  # a sample tells of one period, however late it comes
        (2, 0.001, 0.015),
        (8, 0.001, 0.045),
        (9, 0.001, 0.05),
        (10, 0.001, 0.05),  # no more than the limit of silence
        (0x7FFE, 0.02, 0.05),
        (0x7FFF, 0.02, 0.02),  # numbers that go back, and the same again, tell nothing of time
        (-1, 0.02, 0.02),
    ],
)
def test_errors_are_smoothed_by_the_time_that_a_sample_tells_of(seq, missed, dt, told):
    w = Watched(seq=seq)
    w.ticks(10)
    w.estimate["lean_error"] = 0.2
    w.tick(missed=missed, dt=dt)
    assert w.monitor["lean_error"] == pytest.approx(0.2 * (1.0 - math.exp(-told / 0.1)))


@pytest.mark.parametrize(
    ("step", "samples", "noticed"),
    [(0.0203, 3, Symptom.SENSOR_JUMP), (0.0197, 3, NOTHING), (0.0153, 4, NOTHING), (-0.0203, 3, Symptom.SENSOR_JUMP)],
)
def test_a_slip_is_what_strays_by_more_than_0_06_rad_within_three_samples(watched, step, samples, noticed):
    told = NOTHING
    for _ in range(samples):
        watched.sample["delta_meas"] += step
        told |= watched.tick()
    assert told == noticed


def test_a_tick_without_a_sample_forgets_nothing(watched):
    assert watched.tick(samples=0) == NOTHING
    watched.sample["delta_meas"] += 0.05
    assert watched.tick() == Symptom.SENSOR_JUMP


def test_what_is_noticed_of_the_samples_rate_stands_beside_all_else(watched):
    watched.monitor["rate"], watched.monitor["broken"] = 20.0, 100.0
    watched.sample["delta_meas"] += 0.1
    assert watched.tick() == Symptom.RATE_LOW | Symptom.LINK_NOISY | Symptom.SENSOR_JUMP
    watched.monitor["rate"] = 400.0
    assert watched.tick() == Symptom.RATE_HIGH | Symptom.LINK_NOISY | Symptom.SENSOR_JUMP, "and back to its rate before"


def test_samples_just_as_often_as_allowed_are_not_too_often(watched):
    watched.monitor["rate"] = 240.0
    watched.limits["often"] = 240.0 * DT
    assert watched.tick(dt=0.0) == NOTHING


def test_broken_frames_are_forgotten_with_half_a_second():
    w = Watched()
    w.ticks(10)
    w.monitor["broken"] = 10.0
    w.tick()
    assert w.monitor["broken"] == pytest.approx(9.9)
    w.tick(broken=1)
    assert w.monitor["broken"] == pytest.approx(9.9 + 0.01 * (200.0 - 9.9))


@pytest.mark.parametrize(("before", "noticed"), [(2, NOTHING), (3, Symptom.SENSOR_JUMP)])
def test_a_slip_is_looked_for_from_the_sixth_sample_on(before, noticed):
    w = Watched()
    assert w.ticks(before) == NOTHING
    for step in (0.0203, 0.0203):
        w.sample["delta_meas"] += step
        assert w.tick() == NOTHING
    w.sample["delta_meas"] += 0.0203
    assert w.tick() == noticed


def test_a_slip_of_just_its_limit_is_none(watched):
    watched.limits["steer_jump"] = 0.25
    for _ in range(3):
        watched.sample["delta_meas"] += 0.125  # 0.375 altogether, one and a half times the limit
        assert watched.tick() == NOTHING


def test_a_jump_is_told_as_it_comes_and_as_it_ends_and_is_no_slip_afterwards(watched):
    watched.sample["delta_meas"] += 0.1
    assert watched.tick() == Symptom.SENSOR_JUMP
    assert watched.tick() == Symptom.SENSOR_JUMP, "the rate goes back"
    assert watched.ticks(10) == NOTHING
