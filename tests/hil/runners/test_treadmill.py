"""A treadmill that the loop drives, in simulated time: speeds followed, failures named, logs replayed."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from riderless.firmware_interface.twins.speed.belt import BELT_SCALE, BeltFault
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Cause, State
from riderless.hil.loop.tick_record import SPEED_COLUMNS
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep, simulate
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Scenario, Surroundings
from tests.paths import ROOT

RAMP = ((0.0, 4.0), (3.0, 4.0), (6.0, 5.0))


@cache
def machine():
    rig = read_rig(ROOT / "docs" / "rigs" / "treadmill.toml")
    return rig, design(rig.bicycle, "lane", [3.0, 3.5, 4.0, 4.5, 5.0, 5.5], rig.timing)


def ride(folder, faults=(), speed=RAMP, seconds=9.0, **changes):
    rig, gains = machine()
    belt = Emulation("nonlinear", Surroundings(belt_width=1.2), belt_faults=faults)
    scenario = Scenario(speed=speed, seed=1)
    outcome = run_lockstep(folder, replace(rig, **changes), gains, scenario, seconds, emulation=belt)
    return outcome, read_run(folder)


def test_an_asked_speed_is_followed_in_its_ramp(tmp_path):
    outcome, run = ride(tmp_path / "run")
    assert outcome.reason == "success", outcome.cause
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    under = rows["t"] - rows["t"][0]
    release = Scenario(speed=RAMP).release_after
    by_hand = np.interp(under, *np.add(np.transpose(RAMP), [[release], [0.0]]))
    assert rows["v_asked"] == pytest.approx(by_hand, abs=0.02)
    settled = (under > 2.0) & (under < 3.4)
    assert rows["v_est"][settled].mean() == pytest.approx(4.0, abs=0.03), "although the belt shows 3 % too much"
    assert rows["v_cmd"][-1] == pytest.approx(rows["v_meas"][-1] / BELT_SCALE, abs=0.08)
    assert rows["v_est"][-1] == pytest.approx(5.0, abs=0.05)
    assert np.abs(rows["y_est"]).max() < 0.15, "and it keeps its lane meanwhile"
    assert rows["belt_age"].max() <= 0.11
    held = run.ticks[run.ticks["state"] == State.CHECK]
    assert held["v_meas"][0] < 0.1 < 3.5 < held["v_meas"][-1], "the belt starts when the machine is armed"
    assert replay(run).identical
    other = {**run.header.content, "asked_speeds": [[0.0, 4.1]]}
    assert replay(replace(run, header=replace(run.header, content=other))).first
    rows = run.ticks.copy()
    rows["v_cmd"][600] += 1e-12
    assert "v_cmd" in replay(replace(run, ticks=rows)).sentence


@pytest.mark.parametrize(
    ("kind", "within"),
    [("silent", 0.65), ("deaf", 1.5), ("stands", 0.8), ("slow", 1.5), ("runs_away", 0.9), ("stop_button", 0.15)],
)
def test_a_treadmill_that_fails_ends_the_ride_by_name(tmp_path, kind, within):
    outcome, run = ride(tmp_path / "run", (BeltFault(kind, 8.0),), RAMP[:1], 9.0)
    assert (outcome.reason, int(run.ticks["cause"][-1])) == ("fault", Cause.SPEED_DRIVE), outcome.cause
    check = run.ticks[run.ticks["state"] == State.CHECK]
    begun = check["t"][0] + 8.0
    down = run.ticks[run.ticks["state"] == State.RAMPDOWN]["t"][0]
    assert begun - 0.05 < down < begun + within + 0.05
    assert abs(run.ticks["T_cmd"][-1]) == 0.0
    assert replay(run).identical


def test_a_treadmill_that_never_starts_keeps_the_check_from_passing(tmp_path):
    outcome, run = ride(tmp_path / "run", (BeltFault("stands", 0.0),), RAMP[:1])
    assert outcome.cause.startswith("the treadmill or wheel drive does not keep the speed asked for")
    assert State.RUNNING not in run.ticks["state"]


def test_a_machine_without_one_knows_nothing_of_it():
    bicycle = load_bicycle("Silver")
    run = simulate(bicycle, design(bicycle, "lqr", [4.0]), speed=4.0, duration=0.5, model="linear")
    assert all(np.isnan(run.ticks[column.name]).all() for column in SPEED_COLUMNS)
    assert run.header.asked_speeds == ()


def test_what_cannot_be_asked_is_refused(tmp_path):
    rig, _ = machine()
    with pytest.raises(InputError, match=r"is asked for 11 m/s, and the rig's limits are 0\.3 to 10 m/s"):
        ride(tmp_path / "a", speed=((0.0, 4.0), (9.0, 11.0)))
    slow = replace(rig.speed_drive, ramp=0.3)
    with pytest.raises(InputError, match=r"takes 16 s to 4 m/s, and arming is given up after 10 s"):
        ride(tmp_path / "b", speed_drive=slow)
    with pytest.raises(InputError, match=r"wants one \[\[port\]\] with carries = \[\"speed\"\]"):
        replace(rig, speed_drive=None)
