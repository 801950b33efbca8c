"""The plausibility monitor, fed by hand and with what a real bicycle recorded."""

import math

import numpy as np
import pytest

from riderless.firmware_interface.messages import RAW, SAMPLE
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import ESTIMATE, observe
from riderless.hil.loop.plausibility import RATE_TIME, SMOOTHING_TIME, judge_plausibility, new_monitor
from riderless.hil.loop.states import Symptom
from tests.hil.machine import rig_of

DT = 0.005  # s
NOTHING = Symptom.NONE


class Watched:
    """A monitor fed by hand, one sample after another: at rest at 5 m/s, its last digits stirring."""

    def __init__(self, t_us=0, seq=0):
        rig = rig_of()
        self.limits = Limits().as_record()
        self.observer = rig.observer.as_record(rig.bicycle, DT, rig.drive_lag, rig.x_imu, rig.z_imu)
        self.monitor = new_monitor()
        self.raw, self.sample, self.estimate = (np.zeros(1, dtype)[0] for dtype in (RAW, SAMPLE, ESTIMATE))
        self.raw["t_us"], self.raw["seq"] = t_us, seq
        self.sample["valid"], self.sample["v_meas"], self.estimate["v"] = 1, 5.0, 5.0
        self.stirring = [True] * 6
        self.k = 0

    def tick(self, samples=1, broken=0, missed=0, running=True, dt=DT):
        """One tick; returns what was noticed. ``missed`` samples got lost before this one."""
        self.k += 1
        if samples:
            self.raw["seq"] = (int(self.raw["seq"]) + 1 + missed) & 0xFFFF
            self.raw["t_us"] = (int(self.raw["t_us"]) + 5000 * (1 + missed)) & 0xFFFFFFFF
            for channel, stirs in enumerate(self.stirring):
                counts = self.raw["gyro_counts" if channel < 3 else "accel_counts"]
                counts[channel % 3] += (1 if self.k % 2 else -1) * stirs
        return Symptom(
            judge_plausibility(
                self.limits,
                self.observer,
                self.monitor,
                self.raw,
                self.sample,
                self.estimate,
                samples,
                broken,
                running,
                dt,
            )
        )

    def ticks(self, n, **how):
        """What was noticed in any of ``n`` ticks."""
        noticed = NOTHING
        for _ in range(n):
            noticed |= self.tick(**how)
        return noticed

    def until(self, symptom, longest=400, **how):
        """Ticks until a symptom is noticed, and nothing else before or with it."""
        for n in range(1, longest + 1):
            noticed = self.tick(**how)
            if noticed:
                assert noticed == symptom
                return n
        raise AssertionError(f"{symptom!r} was not noticed in {longest} ticks")


@pytest.fixture
def watched():
    w = Watched(t_us=1_500_000)
    assert w.ticks(10) == NOTHING
    w.monitor["since"] = 2.0  # s, so that rates are judged
    return w


def ticks_to_cross(limit, size, constant=SMOOTHING_TIME):
    """Ticks until a step of ``size``, smoothed, passes ``limit``: 1 - exp(-n dt / constant) > limit / size."""
    return math.floor(-constant / DT * math.log(1.0 - limit / size)) + 1


# by hand


def test_nothing_is_noticed_of_a_device_that_has_not_spoken():
    w = Watched()
    assert w.ticks(1000, samples=0) == NOTHING
    assert w.ticks(1000) == NOTHING, "nor when it begins to"


@pytest.mark.parametrize("together", [1, 3, 5])
def test_an_error_is_noticed_as_soon_where_samples_come_several_at_once(watched, together):
    """Three at a time, as an adapter with a latency timer hands them over, and two ticks without any."""
    watched.sample["T_meas"] = 1.6  # N m, against 0 commanded
    for ticks in range(1, 100):
        come = ticks % together == 0
        if watched.tick(samples=together if come else 0, missed=together - 1):
            break
    wanted = ticks_to_cross(0.8, 1.6)
    assert wanted <= ticks < wanted + together


@pytest.mark.parametrize("channel", range(6))
def test_a_channel_that_rests_for_a_tenth_of_a_second_is_stuck(watched, channel):
    watched.stirring[channel] = False
    assert watched.until(Symptom.SENSOR_STUCK) in (20, 21, 22)
    watched.stirring[channel] = True
    assert watched.tick() == NOTHING


def test_counts_that_rest_now_and_then_are_no_fault(watched):
    for _ in range(10):
        watched.stirring = [False] * 6
        assert watched.ticks(18) == NOTHING
        watched.stirring = [True] * 6
        assert watched.ticks(2) == NOTHING


def test_a_few_samples_off_the_scale_are_an_impact_and_more_a_fault(watched):
    watched.sample["valid"] = 0
    assert watched.ticks(3) == NOTHING
    watched.sample["valid"] = 1
    assert watched.tick() == NOTHING
    watched.sample["valid"] = 0
    assert watched.until(Symptom.SENSOR_RANGE) in (4, 5)


@pytest.mark.parametrize(("spoilt", "of"), [(1, 2), (2, 3), (3, 4), (1, 4)])
def test_too_many_samples_off_the_scale_are_a_fault_even_one_by_one(watched, spoilt, of):
    """So many lost samples are RATE_LOW; the gains are for all of them."""
    for i in range(400):
        watched.sample["valid"] = int(i % of >= spoilt)
        if watched.tick() == Symptom.SENSOR_RANGE:
            break
    share = spoilt / of
    assert i * DT == pytest.approx(-RATE_TIME * math.log(1.0 - 0.2 / share), abs=0.1)


def test_one_sample_of_six_off_the_scale_is_borne(watched):
    for i in range(400):
        watched.sample["valid"] = int(i % 6 > 0)
        assert watched.tick() == NOTHING


@pytest.mark.parametrize(
    ("step", "noticed"), [(0.03, NOTHING), (0.05, Symptom.SENSOR_JUMP), (-0.05, Symptom.SENSOR_JUMP)]
)
def test_the_steer_cannot_leap(watched, step, noticed):
    watched.sample["delta_meas"] += step
    assert watched.tick() == noticed


def test_a_fast_steer_is_no_jump_and_one_that_stops_dead_is(watched):
    for rate in np.linspace(0.0, 12.0, 20):  # rad/s
        watched.sample["delta_meas"] += rate * DT
        assert watched.tick() == NOTHING
    assert watched.tick() == Symptom.SENSOR_JUMP


def test_over_a_gap_nothing_is_called_a_jump(watched):
    watched.sample["delta_meas"] += 0.1
    watched.sample["phi_dot_meas"] = 3.5
    assert watched.tick(missed=1) == NOTHING


@pytest.mark.parametrize("axis", ["phi_dot_meas", "psi_dot_meas"])
@pytest.mark.parametrize(("step", "noticed"), [(2.8, NOTHING), (3.2, Symptom.SENSOR_JUMP), (-3.2, Symptom.SENSOR_JUMP)])
def test_a_gyro_cannot_leap(watched, axis, step, noticed):
    watched.sample[axis] += step
    assert watched.tick() == noticed


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("size", [0.3, 0.5, 1.0])
def test_gyro_and_accelerometer_disagree_as_soon_as_the_smoothed_lean_does(watched, sign, size):
    watched.estimate["lean_error"] = sign * size
    assert watched.until(Symptom.SENSORS_DISAGREE) == ticks_to_cross(0.25, size)


def test_one_shaken_sample_is_no_contradiction(watched):
    watched.estimate["lean_error"] = 4.0  # rad, as 40 m/s^2 would show it
    assert watched.tick() == NOTHING
    watched.estimate["lean_error"] = 0.24
    assert watched.ticks(400) == NOTHING


@pytest.mark.parametrize("v", [2.0, 5.0, 8.0])
def test_encoder_and_yaw_gyro_disagree_by_the_same_angle_at_every_speed(watched, v):
    bicycle = rig_of().bicycle
    per_rad = v * math.cos(bicycle.lam) / bicycle.w  # 1/s, yaw rate of a steady steer angle
    watched.estimate["v"] = v
    watched.estimate["yaw_error"] = 0.14 * per_rad
    assert watched.ticks(400, running=False) == NOTHING
    watched = Watched()
    watched.ticks(300, running=False)
    watched.estimate["v"] = v
    watched.estimate["yaw_error"] = 0.3 * per_rad
    assert watched.until(Symptom.SENSORS_DISAGREE, running=False) == ticks_to_cross(0.15, 0.3)


def test_a_bicycle_that_hardly_rolls_says_little_about_steer(watched):
    watched.estimate["v"], watched.estimate["yaw_error"] = 0.02, 0.05  # 0.05 rad/s: would be 2.7 rad of steer
    assert watched.ticks(400) == NOTHING


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_drive_that_makes_another_torque_disobeys_but_only_while_it_is_steered(watched, sign):
    watched.sample["T_meas"] = 2.0
    watched.estimate["T"] = 2.0 + sign * 1.6
    assert watched.ticks(400, running=False) == NOTHING
    assert watched.until(Symptom.DRIVE_DISOBEYS) == ticks_to_cross(0.8, 1.6)


def test_clock_and_numbers_wrap_without_a_word():
    w = Watched(t_us=2**32 - 10 * 5000, seq=2**16 - 20)
    assert w.ticks(40) == NOTHING
    assert int(w.raw["t_us"]) < 2**20


def test_lost_samples_explain_a_gap_in_time(watched):
    assert watched.tick(missed=3) == NOTHING


@pytest.mark.parametrize("step_us", [3000, -3000, -6000, 1_000_000, -1_000_000])
def test_a_clock_that_does_not_go_with_the_numbers_has_stepped(watched, step_us):
    watched.raw["t_us"] = int(watched.raw["t_us"]) + step_us
    assert watched.tick() == Symptom.CLOCK_STEP
    assert watched.tick() == NOTHING, "once, when it happens"


def test_a_clock_may_run_a_fifth_wrong(watched):
    for sign in (1, -1):
        watched.raw["t_us"] = int(watched.raw["t_us"]) + sign * 1000
        assert watched.tick() == NOTHING


def test_a_device_that_counts_from_the_start_has_restarted(watched):
    watched.raw["seq"], watched.raw["t_us"] = 0, 0
    assert watched.tick() == Symptom.DEVICE_RESTARTED


def test_old_samples_say_nothing_of_the_sensors(watched):
    """A buffer that turns sends the last two again and again: what goes back in time is not valid, its readings are."""
    watched.ticks(10)
    seq, t_us = int(watched.raw["seq"]), int(watched.raw["t_us"])
    for i in range(200):
        back = i % 2
        watched.raw["seq"], watched.raw["t_us"] = seq - back, t_us - 5000 * back
        watched.sample["valid"] = 1 - back
        assert watched.tick() == (Symptom.DEVICE_RESTARTED if back else NOTHING)


def test_samples_that_come_too_seldom(watched):
    w = watched
    for k in range(1000):
        assert w.tick(samples=int(k % 10 != 0)) == NOTHING, "nine in ten are enough"
    noticed = [w.tick(samples=int(k % 10 > 3)) for k in range(400)]
    first = noticed.index(Symptom.RATE_LOW)
    expected = RATE_TIME * math.log((0.9 - 0.6) / (0.8 - 0.6)) / DT  # from 0.9 towards 0.6, past 0.8
    assert abs(first - expected) <= 10


@pytest.mark.parametrize(("share", "within"), [(2.0, 0.12), (1.5, 0.27), (1.25, 0.85)])
def test_samples_that_come_too_often(watched, share, within):
    """A device that counts and stamps as promised, but faster than it says: only the computer's clock can tell."""
    n = watched.until(Symptom.RATE_HIGH, dt=DT / share)
    assert n * DT / share == pytest.approx(RATE_TIME * math.log((share - 1.0) / (share - 1.2)), abs=2 * DT)
    assert n * DT / share < within


def test_samples_a_little_too_often_are_borne(watched):
    assert watched.ticks(2000, dt=DT / 1.15) == NOTHING


def test_samples_that_had_piled_up_or_come_late_together_are_not_too_often(watched):
    fresh = Watched()
    assert fresh.tick(samples=100) | fresh.ticks(400) == NOTHING, "before the loop began"
    for _ in range(20):
        assert watched.ticks(9, samples=0) | watched.tick(samples=10, missed=9) | watched.ticks(90) == NOTHING


def test_two_samples_in_every_other_tick_are_no_loss(watched):
    for k in range(1000):
        assert watched.tick(samples=2 * (k % 2), missed=k % 2) == NOTHING


def test_broken_frames_are_counted(watched):
    for k in range(1000):
        assert watched.tick(broken=int(k % 20 == 0)) == NOTHING, "one in twenty is borne"
    noticed = [watched.tick(broken=int(k % 5 == 0)) for k in range(400)]
    assert Symptom.LINK_NOISY in noticed
    assert set(noticed) == {NOTHING, Symptom.LINK_NOISY}


# real rides: the steer-by-wire bicycle of TU Delft, kicked by hand, 100 Hz, no yaw gyro


def delft(shared, kph):
    log = np.genfromtxt(shared / f"data/delft_treadmill/eigen_normal_sil6.5n2_{kph}kph.log", delimiter=",", names=True)
    return log[log["speed"] > 1.0]


def test_a_real_bicycle_stays_below_the_limits_of_a_jump(shared):
    limits = Limits()
    for kph in ("7.2", "9", "12.6", "16.2", "18"):
        log = delft(shared, kph)
        assert np.abs(np.diff(log["fork_angle"], 2)).max() < limits.steer_jump.value / 4, kph
        assert np.abs(np.diff(log["lean_rate"])).max() < limits.gyro_jump.value, kph
        rests = (np.diff(log["lean_rate"]) == 0) & (np.diff(log["y_acceleration"]) == 0)
        assert not rests.any(), f"nothing rests at {kph} km/h"


def test_on_a_real_bicycle_lean_rate_and_accelerometer_agree(shared):
    for kph in ("12.6", "16.2"):
        assert_no_disagreement(delft(shared, kph)[:5000], kph)


def assert_no_disagreement(log, kph):
    """The place of the sensor is not published: (0, -0.7) m fits best. Yaw is that of rolling without slip."""
    w = Watched()
    rig = rig_of("DelftSbW2024", rate=100.0, watchdog=0.05)
    w.observer = rig.observer.as_record(rig.bicycle, 0.01, rig.drive_lag, 0.0, -0.7)
    turn = math.cos(rig.bicycle.lam) / rig.bicycle.w
    yaw_rates = (log["speed"] * log["fork_angle"] + rig.bicycle.c * log["fork_rate"]) * turn
    worst = 0.0
    for k, (row, psi_dot) in enumerate(zip(log, yaw_rates, strict=True)):
        w.sample["t"], w.sample["phi_dot_meas"], w.sample["psi_dot_meas"] = 0.01 * k, row["lean_rate"], psi_dot
        w.sample["delta_meas"], w.sample["v_meas"] = row["fork_angle"], row["speed"]
        w.sample["a_y_meas"] = row["y_acceleration"]
        observe(w.observer, w.estimate, w.sample, False)
        w.raw["t_us"] = (int(w.raw["t_us"]) + 5000) & 0xFFFFFFFF  # `tick` adds the other half of 0.01 s
        assert w.tick(dt=0.01) == NOTHING, f"{kph} km/h, row {k}"
        worst = max(worst, abs(float(w.monitor["lean_error"])))
    assert worst > 0.05, f"the kicks at {kph} km/h are seen"


def test_a_gap_is_no_disagreement_of_sensors():
    watched = Watched()
    watched.ticks(100)
    watched.estimate["lean_error"] = 1.0  # what an observer makes of half a second without samples
    assert not watched.tick(samples=100, missed=99, dt=0.5) & Symptom.SENSORS_DISAGREE
    assert watched.ticks(40) & Symptom.SENSORS_DISAGREE, "an error that stays is one"
