"""Rides of half a minute, on other bicycles than those tuned on: slow faults end none badly, healthy rides go on."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.studies.fault_injection.slow_rides.healthy import ABOUT, SHOWN, TUNING, draw_healthy_ride
from experiments.studies.fault_injection.slow_rides.ride import RideResult, judge_ride, play_ride
from experiments.studies.fault_injection.slow_rides.slow_faults import SLOW_FAULTS, draw_slow_ride
from experiments.studies.fault_injection.slow_rides.study import (
    TRUE_LIMIT,
    JudgedRide,
    complain_of_healthy,
    complain_of_slow,
    healthy_markdown,
    run_rides,
    slow_markdown,
)
from hil.loop.limits import Limit, Limits
from hil.loop.states import Cause, State

SLOW_COUNT, HEALTHY_COUNT = 144, 57


@pytest.fixture(scope="module")
def slow():
    return run_rides(SLOW_COUNT, seed=101, jobs=1)


def test_slow_faults_of_detectable_size_are_found_and_none_is_unsafe(slow):
    assert [str(one) for one in slow if one.complaint] == []
    assert {one.ride.name for one in slow} == {fault.name for fault in SLOW_FAULTS}
    assert sum(one.result.cause is Cause.SENSORS_DISAGREE for one in slow) > SLOW_COUNT / 4
    assert sum(one.found for one in slow) < SLOW_COUNT, "small ones are ridden"
    assert len(slow_markdown(slow).splitlines()) == 2 + len(SLOW_FAULTS)


def test_no_healthy_ride_is_stopped():
    judged = run_rides(HEALTHY_COUNT, seed=101, healthy=True, jobs=1)
    assert [str(one) for one in judged if one.complaint] == []
    assert len(healthy_markdown(judged).splitlines()) == 2 + len(ABOUT)


def test_rides_are_shown_on_other_bicycles_than_those_tuned_on():
    assert not {name for name, _ in SHOWN.machines} & {name for name, _ in TUNING.machines}


def test_a_seed_and_a_number_are_a_ride():
    for draw in (draw_slow_ride, draw_healthy_ride):
        assert repr(draw(3, 4)) == repr(draw(3, 4))
        assert repr(draw(3, 4)) != repr(draw(3, 4 + len(SLOW_FAULTS) * len(ABOUT)))


def test_torque_on_a_bicycle_that_truly_leans_is_unsafe_whatever_its_sensors_say():
    ride = draw_healthy_ride(1, 0, TUNING)
    rows, diary = play_ride(ride)
    assert State.RUNNING in rows["state"]
    assert complain_of_healthy(ride, judge_ride(rows, diary)) == ""
    torque = int(np.flatnonzero(np.abs(diary["T"]) > 0.07)[-1])
    for ticks, unsafe in ((95, False), (105, True)):
        leant = diary.copy()
        leant["phi"][torque - ticks :] = -0.6
        result = judge_ride(rows, leant)
        assert result.unsafe == unsafe
        assert result.lean == 0.6
    assert complain_of_healthy(ride, result) == "unsafe"


def ended(cause: Cause, lean_deg: float) -> RideResult:
    """A ride that ended by a cause at 10 s and truly leant so far, with no torque beyond the limit."""
    return RideResult(cause, 10.0, np.radians(lean_deg), 0.0)


@pytest.mark.parametrize(
    ("cause", "lean_deg", "complaint"),
    [
        (Cause.LEAN_LIMIT, 23.9, ""),  # a turn in wind: by the turn 27.5 deg
        (Cause.LEAN_LIMIT, 22.0, "stopped by LEAN_LIMIT"),
        (Cause.SATURATED, 25.0, ""),
        (Cause.SENSORS_DISAGREE, 29.0, "stopped by SENSORS_DISAGREE"),  # a symptom is never a limit
        (Cause.DRIVE_DISOBEYS, 29.0, "stopped by DRIVE_DISOBEYS"),
    ],
)
def test_a_healthy_ride_that_truly_came_to_its_limit_is_no_false_stop(cause, lean_deg, complaint):
    ride = draw_healthy_ride(1, list(ABOUT).index("wind"), SHOWN)
    result = ended(cause, lean_deg)
    assert complain_of_healthy(ride, result) == complaint
    one = JudgedRide(0, ride, result, complaint)
    assert str(one).endswith(f"({TRUE_LIMIT})") == (complaint == "")
    assert healthy_markdown([one]).splitlines()[2].split(" | ")[2:4] == (["0", "1"] if not complaint else ["1", "0"])


def test_a_ride_that_was_never_armed_or_lay_on_its_wheels_need_not_find_its_fault():
    encoder = next(i for i, fault in enumerate(SLOW_FAULTS) if fault.name == "steer encoder creeps")
    ride = replace(draw_slow_ride(1, encoder, SHOWN), size=0.2, onset=2.0, grown=3.0)
    free, wheels = replace(ride.surroundings, training_wheels=None), replace(ride.surroundings, training_wheels=0.17)
    on_free, on_wheels = replace(ride, surroundings=free), replace(ride, surroundings=wheels)
    ridden = replace(ended(Cause.OPERATOR_STOP, 9.8), ended=31.8)
    assert complain_of_slow(on_free, ridden) == "not found within 6 s"
    assert complain_of_slow(on_wheels, ridden) == ""
    assert complain_of_slow(on_wheels, replace(ridden, lean=0.1)) == "not found within 6 s"
    assert complain_of_slow(on_wheels, replace(ridden, leaning=0.6)) == "unsafe"
    assert complain_of_slow(on_free, ended(Cause.CHECK_UPRIGHT, 0.0)) == ""


def test_limits_asleep_are_found_out(slow):
    """The rides that ended by a contradiction, with the slow limits out of action: some are unsafe or not found."""
    asleep = replace(
        Limits(),
        gyro_drift=Limit(1.0, "rad/s", "asleep"),
        side_force=Limit(10.0, "m/s^2", "asleep"),
        lean=Limit(0.8, "rad", "asleep"),
    )
    found = [one.ride for one in slow if one.result.cause is Cause.SENSORS_DISAGREE][:20]
    complaints = [complain_of_slow(ride, judge_ride(*play_ride(ride, asleep))) for ride in found]
    assert "unsafe" in complaints
    assert "not found within 6 s" in complaints
