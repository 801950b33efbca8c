"""Rides on a belt with edges: kicks as hard as they are said to be, rides judged by the true place, kept in a file."""

from dataclasses import replace

import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Plant, Scenario
from tests.studies.path_rides.belt import (
    BELT_WEIGHTS,
    belt_markdown,
    belt_rides,
    is_met,
    limits_markdown,
)
from tests.studies.path_rides.belt_answers import make_rides, read_rides
from tests.studies.path_rides.belt_ride import BeltResult, BeltRide, kick_of_lean_rate, ride_belt

HARD = BeltRide("Benchmark", 2.5, seed=21, minutes=0.45, weights=BELT_WEIGHTS)  # of those asked for
GOOD = BeltResult("", 60.0, 7, 0.5, 0.04, 6.0, 0.1, 0.2)


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
@pytest.mark.parametrize("bicycle", ["Silver", "Benchmark"])
def test_a_kick_gives_the_lean_rate_that_is_asked_for(bicycle, model):
    """By the emulated bicycle itself, pushed for a moment so short that nothing else happens."""
    bike = load_bicycle(bicycle)
    push = Kick(t=0.0, impulse=kick_of_lean_rate(bike, 0.35), duration=1e-4)
    plant = Plant(bike, Scenario(speed=((0.0, 4.0),), kicks=(push,), release_after=0.0), model=model)
    for _ in range(4):
        plant.advance(0.0, True, 0.5e-4)
    assert plant.state[2] == pytest.approx(0.35, rel=5e-3)


@pytest.fixture(scope="module")
def ridden():
    return ride_belt(HARD)


def test_the_hardest_ride_stays_on_the_belt(ridden):
    assert is_met([(HARD, ridden)])
    assert 0.4 < ridden.farthest < 0.55  # the same kick moves the linear bicycle by about half a metre
    assert ridden.kicks == 3
    assert ridden.ridden == pytest.approx(27.0, abs=0.6)
    assert 0.005 < ridden.rms < 0.05


@pytest.mark.slow
def test_the_usual_weights_come_too_near_to_the_edge():
    """What the weights are for: the supervisor ends such a ride 5 cm from the edge, before a wheel is off."""
    result = ride_belt(replace(HARD, weights=()))
    assert result.ended == "BELT_EDGE"
    assert result.ridden < 25.0
    assert 0.54 < result.farthest < 0.75


@pytest.mark.slow
def test_a_kick_that_is_too_hard_takes_it_off():
    result = ride_belt(replace(HARD, lean_rate=0.6))
    assert result.ended in ("BELT_EDGE", "a wheel left the belt")
    assert not is_met([(HARD, result)])


@pytest.mark.slow
@pytest.mark.parametrize("v", [2.5, 7.0])
@pytest.mark.parametrize("bicycle", ["Silver", "Benchmark"])
def test_five_minutes_meet_the_task(bicycle, v):
    ride = BeltRide(bicycle, v, seed=22, minutes=5.0, weights=BELT_WEIGHTS)
    result = ride_belt(ride)
    assert is_met([(ride, result)])
    assert result.kicks == 37


@pytest.mark.parametrize(("name", "value"), [("ended", "BELT_EDGE"), ("farthest", 0.61), ("rms", 0.051)])
def test_each_part_of_the_task_counts(name, value):
    assert is_met([(HARD, GOOD)])
    bad = replace(GOOD, **{name: value})
    assert not is_met([(HARD, GOOD), (HARD, bad)])
    assert "| no |" in belt_markdown([(HARD, GOOD), (HARD, bad)])
    assert "1 of 2 rides meet it" in belt_markdown([(HARD, GOOD), (HARD, bad)])


def test_rides_are_kept_and_not_ridden_again(tmp_path, ridden):
    """Also after a line that was cut short."""
    kept, other = tmp_path / "rides.jsonl", replace(HARD, minutes=0.2)
    assert dict(make_rides([other], kept, jobs=1)) == read_rides(kept)
    text = kept.read_text()
    kept.write_text(text.replace(f'"farthest": {read_rides(kept)[other].farthest}', '"farthest": 0.123') + '{"ride": ')
    assert [result.farthest for _, result in make_rides([other], kept, jobs=1)] == [0.123]
    assert kept.read_text().count("\n") == 1


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "rides.jsonl"
    path.write_text('{"bicycle": "Silver"}\n{}\n')
    with pytest.raises(InputError, match="line 1"):
        read_rides(path)


def test_the_study_is_the_task():
    rides = belt_rides(10, 30.0)
    assert len(rides) == len(set(rides)) == 100
    assert {ride.v for ride in rides} == {2.5, 3.5, 4.5, 5.5, 7.0}
    assert all((ride.torque, ride.lean_rate, ride.minutes) == (7.0, 0.35, 30.0) for ride in rides)


def test_the_table_of_limits_has_the_worst_seed():
    worse = replace(GOOD, farthest=0.57)
    weak = replace(HARD, torque=4.0, seed=2)
    table = limits_markdown([(HARD, GOOD), (replace(HARD, seed=2), worse), (weak, replace(GOOD, ended="BELT_EDGE"))])
    rows = {line.split("|")[1].strip() + line.split("|")[2]: line for line in table.splitlines() if "|" in line}
    assert "0.57, 0.040" in rows["torque limit [N m] 7 (the task) "]
    assert "left it in 1 of 1" in rows["torque limit [N m] 4 "]
