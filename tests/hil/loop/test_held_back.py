"""Lane held back: for a while the law is told that it is in the middle, the rest balances, and then it comes back."""

import numpy as np
import pytest

from riderless.hil.design.lane import hold_lane_back
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming, continuous, sampled_model
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import State, Verdict
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario

SILVER = load_bicycle("Silver")
GAINS = design(SILVER, "lane", [4.0, 4.5, 5.0], weights={"T_delta": 0.05})
HELD = ((1.0, 2.0), (5.0, 1.5))  # s
KICK = Kick(t=0.7, impulse=2.0)


def ride(excitation, belt=None, kick=KICK):
    rig = with_emulated_place(Rig(SILVER), belt)
    return simulate(
        SILVER, GAINS, speed=4.5, rig=rig, kicks=[kick], duration=8.0, excitation=excitation, model="linear"
    )


@pytest.fixture(scope="module")
def run():
    return ride(Excitation(held_back=HELD))


def is_held(rows):
    return (rows["verdict"] & Verdict.LANE_HELD_BACK) > 0


def test_the_moments_are_those_asked_for(run):
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    t = rows["t"] - rows["t"][0]
    edges = t[np.flatnonzero(np.diff(is_held(rows).astype(int))) + 1]
    assert edges == pytest.approx([1.0, 3.0, 5.0, 6.5], abs=0.011)


def test_the_torque_is_that_of_the_gains_without_place(run):
    """By hand from the log: K has lean, steer, their rates, torque and last command first, then heading and place."""
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    k = GAINS.gains(4.5)
    motion = np.column_stack([rows[f"{name}_est"] for name in ("phi", "delta", "phi_dot", "delta_dot", "T")])
    asked = -motion[1:] @ k[:5] - k[5] * rows["T_cmd"][:-1]
    lane = -k[6] * rows["psi_est"][1:] - k[7] * rows["y_est"][1:]
    held = is_held(rows)[1:]
    assert np.abs(rows["T_req"][1:] - asked)[held].max() < 0.02  # the gains are those of 4.5 m/s only nearly
    assert np.abs(lane[held]).max() > 0.1
    assert np.abs(rows["T_req"][1:] - asked - lane)[~held].max() < 0.02


def test_it_wanders_and_comes_back(run):
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    t, y = rows["t"] - rows["t"][0], np.abs(rows["y_est"])
    assert y[(t > 1.0) & (t < 3.5)].max() > 0.3
    assert y[t > 8.4].max() < 0.15


def test_near_an_edge_it_is_brought_back_at_once():
    """A hold that would last far too long ends at the share of the way to the edge, and the bicycle stays on."""
    belt = 1.6
    run = ride(Excitation(held_back=((1.0, 7.0),), bring_back=0.4), belt)
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    front = rows["y_est"] + SILVER.w * np.sin(rows["psi_est"])
    farthest = np.maximum(np.abs(rows["y_est"]), np.abs(front))
    held = is_held(rows)
    assert farthest[held].max() <= 0.4 * (belt / 2.0 - 0.05)
    last = np.flatnonzero(held)[-1]
    assert rows["t"][last] - rows["t"][0] < 3.5
    assert not held[last + 1 :].any()
    assert run.stop.reason == "success"
    assert farthest.max() < belt / 2.0


def test_it_replays_to_the_last_bit(tmp_path):
    rig = with_emulated_place(Rig(SILVER), 2.0)
    scenario = Scenario(speed=((0.0, 4.5),), kicks=(KICK,), release_after=0.5)
    run_lockstep(tmp_path / "run", rig, GAINS, scenario, 4.0, task=Task(Excitation(held_back=((1.0, 2.0),))))
    run = read_run(tmp_path / "run")
    assert is_held(run.ticks).sum() == pytest.approx(400, abs=2)
    assert run.header.excitation.held_back == ((1.0, 2.0),)
    assert replay(run).identical


def test_the_gains_that_are_left_balance():
    left = hold_lane_back(GAINS)
    assert not left.keeps_lane
    for v, K, found in zip(left.v, left.K, left.closed_loop, strict=True):
        model = sampled_model(SILVER, float(v), LoopTiming())
        assert np.allclose(continuous(model.closed_loop(K), model.dt), found)
    assert left.stable.all()
    with pytest.raises(InputError, match="only gains that keep a lane"):
        hold_lane_back(left)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"held_back": ((1.0, 2.0), (2.5, 1.0))}, "follow one another"),
        ({"held_back": ((1.0, 2.0),), "releases": ((5.0, 1.0),)}, "found both"),
        ({"held_back": ((1.0, 2.0),), "bring_back": 1.2}, "between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        Excitation(**given)
