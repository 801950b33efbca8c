"""Moments without torque: how they are played, kept within limits, logged and replayed."""

import dataclasses

import numpy as np
import pytest

from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.limits import RecordedLimits
from riderless.hil.loop.states import Cause, State, Verdict
from riderless.hil.rig.task import Task
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario
from tests.hil.machine import gains, rig_of

BEGIN, LENGTH = 2.0, 1.5


def ride(folder, excitation, v=4.5, kicks=(), duration=6.0, **limits):
    rig = rig_of("Silver")
    if limits:
        changed = {n: dataclasses.replace(getattr(rig.limits, n), value=value) for n, value in limits.items()}
        rig = rig_of("Silver", limits=RecordedLimits(**vars(rig.limits) | changed))
    scenario = Scenario(speed=((0.0, v),), kicks=tuple(Kick(t, impulse) for t, impulse in kicks), seed=4)
    outcome = run_lockstep(folder, rig, gains(rig, speeds=(3.0, 3.5, 4.5)), scenario, duration, task=Task(excitation))
    return outcome, read_run(folder)


def released(run):
    return (run.ticks["verdict"] & Verdict.RELEASED) > 0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "run"
    outcome, run = ride(folder, Excitation(releases=((BEGIN, LENGTH),)), kicks=((0.8, 3.0),))
    assert outcome.reason == "success"
    return run


def test_the_torque_is_off_for_as_long_as_asked_and_comes_back(run):
    rows = np.flatnonzero(released(run))
    assert len(rows) == round(LENGTH * 200)
    assert np.all(np.diff(rows) == 1)
    begun = np.flatnonzero(run.ticks["state"] == State.RUNNING)[0]
    assert rows[0] - begun - 1 == round(BEGIN * 200)
    step = 500.0 / 200  # N m in a tick, the limit of the torque's rate
    gone = np.abs(run.ticks["T_cmd"][rows[0] - 1]) // step + 1
    assert np.all(run.ticks["T_cmd"][rows[int(gone) :]] == 0.0)
    assert np.any(run.ticks["T_cmd"][rows[-1] + 1 : rows[-1] + 20] != 0.0)


def test_everything_but_the_torque_goes_on(run):
    part = run.ticks[released(run)]
    assert np.all(part["state"] == State.RUNNING)
    assert np.all(np.diff(part["command_seq"]) == 1), "the drive's watchdog is fed by a frame in every tick"
    assert np.all(np.isfinite(part["T_req"]))
    assert np.abs(part["T_req"]).max() > 0.0, "the controller's wish is logged although it is not granted"
    assert np.all(part["status"] == part["status"][0])


def test_it_replays_bit_for_bit(run):
    again = replay(run)
    assert again.identical, again.difference
    assert again.ticks == len(run.ticks)


def test_a_replay_without_the_release_is_another_run(run):
    content = run.header.to_json()
    header = RunHeader({**content, "excitation": {**content["excitation"], "releases": []}})
    assert replay(dataclasses.replace(run, header=header)).first == run.ticks["k"][np.flatnonzero(released(run))[0]]


def test_the_bicycle_is_caught_before_a_limit_and_not_let_go_again(tmp_path):
    """At 3 m/s, far below its weave speed, the pushed bicycle falls within the first release."""
    limit, share = rig_of().limits.lean.value, 0.3
    outcome, run = ride(
        tmp_path / "run", Excitation(releases=((1.2, 3.0), (6.0, 0.5)), catch=share), 3.0, ((0.9, 3.0),), 8.0
    )
    assert outcome.reason == "success"
    rows = np.flatnonzero(released(run))
    first, second = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    assert len(first) < 600
    assert len(second) == 100
    phi, delta = (np.abs(run.ticks[name]) for name in ("phi_est", "delta_est"))
    shares = np.maximum(phi / limit, delta / rig_of().limits.steer.value)
    assert shares[first].max() <= share < shares[first[-1] + 1]
    assert shares.max() < 0.9


def test_a_limit_ends_a_release_like_anything_else(tmp_path):
    outcome, run = ride(
        tmp_path / "run", Excitation(releases=((1.2, 5.0),), catch=0.99), 3.0, ((0.9, 3.0),), 8.0, steer=0.1, lean=0.1
    )
    assert outcome.reason == "fault"
    assert Cause(int(run.ticks["cause"][-1])) in (Cause.LEAN_LIMIT, Cause.STEER_LIMIT)
    assert replay(run).identical


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"releases": ((-1.0, 1.0),)}, "begin at 0 s"),
        ({"releases": ((1.0, 0.0),)}, "longer than 0 s"),
        ({"releases": ((1.0, 2.0), (2.0, 1.0))}, "follow one another"),
        ({"catch": 1.0}, "between 0 and 1"),
        ({"delay": -1.0}, "delay"),
    ],
)
def test_nonsense_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        Excitation(**settings)


def test_a_delay_puts_silence_before_the_signal():
    plain, late = (Excitation("sweep", 2.0, 3.0, 0.5, 4.0, delay=delay).samples(100.0) for delay in (0.0, 1.5))
    assert np.all(late[:150] == 0.0)
    assert np.array_equal(late[150:], plain)


def test_freedom_is_a_share_where_released_and_nothing_elsewhere():
    freedom = Excitation(releases=((0.5, 0.25), (1.0, 0.5)), catch=0.4).freedom(100.0)
    assert len(freedom) == 150
    assert set(np.flatnonzero(freedom)) == {*range(50, 75), *range(100, 150)}
    assert set(freedom) == {0.0, 0.4}
    assert len(Excitation().freedom(200.0)) == 0
