"""Rides of half a minute in all circumstances: faults that come slowly end none badly, and nothing wrong stops none."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.fault_injection import campaign
from riderless.experiments.fault_injection.cases import CaseOptions, FaultCase, draw_case
from riderless.experiments.fault_injection.circumstances import BESIDE_FAULTS, CIRCUMSTANCES, ON_WHEELS
from riderless.experiments.fault_injection.judge import NOT_SEEN, check_written_log, judge_case
from riderless.experiments.fault_injection.machines import USUAL_SPACE, VARIED_BICYCLES
from riderless.experiments.fault_injection.promises import RODE_THROUGH
from riderless.experiments.fault_injection.ride_plan import RUN_AT
from riderless.experiments.fault_injection.simulate import play_case
from riderless.experiments.fault_injection.threats.fault_list import HEALTHY, ThreatPool
from riderless.experiments.fault_injection.threats.fault_spec import Shape
from riderless.experiments.fault_injection.threats.slow_faults import FOUND_WITHIN, SLOW_THREATS
from riderless.hil.loop.states import Cause, State
from riderless.models.errors import InputError
from riderless.models.plant.environment import Surroundings
from tests.experiments.fault_injection.test_fault_injection import altered, command

SLOW, HEALTHY_RIDES = CaseOptions(pool=ThreatPool.SLOW), CaseOptions(pool=ThreatPool.NONE)
MUST_BE_FOUND = {threat.name for threat in SLOW_THREATS if threat.detected is not None}


@pytest.fixture(scope="module")
def slow():
    return campaign.run_cases(3 * len(SLOW_THREATS), seed=101, jobs=1, options=SLOW)


def healthy_case(name: str, number: int = 0, seed: int = 101) -> FaultCase:
    """A ride with nothing wrong in these circumstances."""
    place = next(i for i, threat in enumerate(HEALTHY) if threat.name == name)
    return draw_case(seed, place + number * len(HEALTHY), HEALTHY_RIDES)


def slow_case(name: str, number: int = 0) -> FaultCase:
    """A ride with this slow fault, which begins under control."""
    place = next(i for i, threat in enumerate(SLOW_THREATS) if threat.name == name)
    drawn = (draw_case(101, place + n * len(SLOW_THREATS), SLOW) for n in range(number, 100))
    return next(case for case in drawn if case.onset > RUN_AT + 0.4)


def test_slow_faults_of_detectable_size_are_found_and_none_is_unsafe(slow):
    assert [(v.index, v.threat, v.complaints) for v in slow if v.complaints] == []
    assert {v.threat for v in slow} == {threat.name for threat in SLOW_THREATS}
    assert sum(v.outcome == "SENSORS_DISAGREE" for v in slow) > len(slow) / 4
    assert sum(v.outcome == RODE_THROUGH for v in slow) > len(slow) / 4, "small ones are ridden"


def test_an_encoder_that_is_off_hides_no_turn_from_the_lean_limit():
    """Found by a campaign: 1.5 deg of steer, learnt as a bias of the yaw gyro, made 0.67 s of torque beyond 30 deg."""
    case = draw_case(316006, 116, SLOW)
    result = judge_case(case, play_case(case))
    assert (result.outcome, result.complaints) == ("LEAN_LIMIT", ())
    assert result.danger.leaning < 0.3


def test_no_healthy_ride_is_stopped():
    verdicts = campaign.run_cases(len(HEALTHY), seed=101, jobs=1, options=HEALTHY_RIDES)
    assert [(v.index, v.threat, v.complaints) for v in verdicts if v.complaints] == []
    assert [v.threat for v in verdicts] == list(CIRCUMSTANCES)
    assert sum(v.outcome == RODE_THROUGH for v in verdicts) > 0.9 * len(verdicts)


def test_rides_are_shown_on_other_bicycles_than_those_tuned_on():
    assert not set(VARIED_BICYCLES) & {name for name, _ in USUAL_SPACE.machines}
    assert {draw_case(1, index, SLOW).machine[0] for index in range(100)} == set(VARIED_BICYCLES)


def test_a_seed_and_a_number_are_a_ride():
    for options in (SLOW, HEALTHY_RIDES):
        assert draw_case(3, 4, options) == draw_case(3, 4, options)
        assert draw_case(3, 4, options).scenario != draw_case(4, 4, options).scenario


def test_slow_faults_meet_all_circumstances_but_training_wheels():
    names = [draw_case(2, index, SLOW).circumstances.name for index in range(400)]
    assert set(names) == set(BESIDE_FAULTS) == set(CIRCUMSTANCES) - {ON_WHEELS}
    assert 0.4 < names.count("nothing but kicks") / len(names) < 0.6


def test_what_skips_adds_up_to_its_size():
    for threat in (t for t in SLOW_THREATS if t.shape is Shape.SKIPS):
        low, high = threat.sizes
        for number in range(10):
            case = slow_case(threat.name, number)
            assert low <= abs(sum(fault.size for fault in case.faults)) <= high
            assert case.parts[0].grown == case.faults[-1].start


def test_circumstances_reach_the_machine():
    quiet, noisy = (play_case(healthy_case(name)) for name in ("nothing but kicks", "ten times the noise"))
    at_rest = quiet.rows["state"] == State.ARMED
    assert np.std(noisy.rows["psi_dot_meas"][at_rest]) > 5.0 * np.std(quiet.rows["psi_dot_meas"][at_rest])
    ramp = healthy_case("speed ramp")
    speed = play_case(ramp).rows["v_meas"]
    assert speed[-300] == pytest.approx(ramp.scenario.speed[-1][1], abs=0.1)
    assert speed[500] == pytest.approx(ramp.scenario.speed[0][1], abs=0.1)
    kicked = healthy_case("strong kicks")
    wheels = replace(
        kicked, circumstances=replace(kicked.circumstances, surroundings=Surroundings(training_wheels=0.05))
    )
    leans = [np.abs(play_case(case).diary["phi"]).max() for case in (wheels, kicked)]
    assert 0.05 < leans[0] < 0.08 < leans[1]


def test_a_ride_with_torque_on_top_is_written_and_replayed():
    case = healthy_case("turn of a lane")
    played = play_case(case)
    assert np.degrees(np.abs(played.diary["phi"]).max()) > 4.0, "nobody pushed it: it turns"
    assert check_written_log(case, played) == []


def ended(cause: Cause, lean_deg: float):
    """A healthy ride that ended by a cause at 10 s and truly leant so far before."""
    case = healthy_case("drive 10 ms late")
    played = altered(play_case(case), cause=(2000, cause), state=(2000, State.FAULT), d_phi=(2000, 0.0))
    for name, value in (("T", 0.0), ("T_asked", 0.0), ("on", 0)):
        played.diary[name][2000:] = value
    played.diary["phi"][1990:2000] = np.radians(lean_deg)
    return judge_case(case, played)


@pytest.mark.parametrize(
    ("cause", "lean_deg", "told"),
    [
        (Cause.LEAN_LIMIT, 24.5, False),  # a turn in wind: by the turn 27.5 deg
        (Cause.LEAN_LIMIT, 22.0, True),
        (Cause.SATURATED, 25.0, False),
        (Cause.SENSORS_DISAGREE, 29.0, True),  # a symptom is never a limit
        (Cause.DRIVE_DISOBEYS, 29.0, True),
    ],
)
def test_a_healthy_ride_that_truly_came_to_its_limit_is_no_false_stop(cause, lean_deg, told):
    complaints = ended(cause, lean_deg).complaints
    assert complaints == ((f"{cause.name} at 10.000 s, with nothing wrong",) if told else ())


def test_only_a_blow_of_a_training_wheel_excuses_sensors_that_disagree():
    case = draw_case(352001, 1716, HEALTHY_RIDES)
    played = play_case(case)
    assert judge_case(case, played).outcome == "SENSORS_DISAGREE"
    assert judge_case(case, played).complaints == ()
    played.diary["phi"] *= 0.5
    assert len(judge_case(case, played).complaints) == 1


def asleep(loop):
    """Put the limits of slow faults out of action."""
    for limit, value in (("gyro_drift", 1.0), ("roll_drift", 1.0), ("side_force", 10.0), ("lean", 0.8)):
        loop.limits[limit] = value


def test_limits_asleep_are_found_out(slow):
    """Rides that ended by a contradiction, with the slow limits out of action: some are unsafe or not found."""
    found = [v.index for v in slow if v.outcome == "SENSORS_DISAGREE" and v.threat in MUST_BE_FOUND][:20]
    cases = [draw_case(101, index, SLOW) for index in found]
    complaints = " ".join(c for case in cases for c in judge_case(case, play_case(case, asleep)).complaints)
    assert "beyond the limit of lean" in complaints
    assert "not noticed in" in complaints


def test_a_fault_counts_from_when_it_has_grown_and_only_if_it_began_under_control():
    case = replace(slow_case("steer encoder creeps"), faults=())
    drift = replace(slow_case("steer encoder creeps").faults[0], size=0.002, start=5.0, stop=12.0)
    case = replace(case, onset=5.0, faults=(drift,), scenario=healthy_case("nothing but kicks").scenario)
    ridden = play_case(case)  # a drift so small is ridden
    (complaint,) = judge_case(case, ridden).complaints
    assert complaint == f"not noticed in {case.plan.stop_at - 12.0:.3f} s"
    late = replace(drift, stop=case.plan.stop_at - FOUND_WITHIN + 0.01)
    early = replace(case, onset=1.5, faults=(replace(drift, start=1.5),))
    for one in (replace(case, faults=(late,)), early):
        assert judge_case(one, ridden).complaints == ()


def test_a_lean_that_nothing_aboard_shows_is_counted_and_told_by_name():
    for name, told in (("wheel sensor drifts", False), ("lateral accelerometer drifts a little", True)):
        case = replace(slow_case(name), faults=())
        leaning = play_case(case)
        leaning.diary["phi"][1500:1650] = 0.6
        verdict = judge_case(case, leaning)
        assert ("torque for 0.750 s beyond the limit of lean" in verdict.complaints) == told
        assert (verdict.declared == NOT_SEEN) != told
        assert verdict.danger.leaning == pytest.approx(0.75)


def test_the_line_printed_plays_a_ride_again():
    options = CaseOptions(length=12.0, pool=ThreatPool.SLOW, bicycles=("Silver", "Pista"))
    case = draw_case(7, 5, options)
    assert case.replay == "riderless faults --duration 12 --threats slow --bicycles Silver,Pista --seed 7 --case 5"
    assert case.machine[0] in options.bicycles
    told = command(*case.replay.split()[2:])
    assert told.exit_code == 0, told.output
    assert f"case 5 of seed 7: {case.name}" in told.output
    assert case.circumstances.name in told.output.replace("\n", " ")
    assert draw_case(7, 5, SLOW).replay == "riderless faults --threats slow --seed 7 --case 5"


def test_command_draws_rides_with_nothing_wrong():
    shown = command("--threats", "none", "--count", "2", "--duration", "3", "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    assert "ten times the noise" in shown.output
    told = command("--threats", "none", "--case", "4", "--duration", "3")
    assert "gusts (gusts " in told.output
    assert "FAULT BEGINS" not in told.output


@pytest.mark.parametrize("arguments", [("--threats", "none", "--together", "2"), ("--bicycles", "Tandem")])
def test_command_refuses_rides_of_nonsense(arguments):
    assert isinstance(command(*arguments).exception, InputError)
