"""A rear wheel driven by a VESC or an ODrive, in simulated time: speeds followed, failures named, logs replayed."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from riderless.firmware_interface.twins.speed.belt import BELT_SCALE, BeltFault
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Cause, State
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import RigPort
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.plant import Scenario, Surroundings
from tests.paths import ROOT

RAMP = ((0.0, 4.0), (3.0, 4.0), (6.0, 5.0))
SETTINGS = {
    "vesc_wheel": {"pole_pairs": 7.0, "gear_ratio": 4.0, "wheel_radius_m": 0.3},
    "odrive_wheel": {"gear_ratio": 4.0, "wheel_radius_m": 0.3},
}
DEVICES = tuple(SETTINGS)


@cache
def machine(name):
    rig = read_rig(ROOT / "docs" / "rigs" / "driven-wheel.toml")
    wheel = RigPort(device=name, baud=115200, carries=("speed",), settings=SETTINGS[name])
    rig = replace(rig, ports=(*rig.ports[:2], wheel))
    return rig, design(rig.bicycle, "lane", [3.0, 3.5, 4.0, 4.5, 5.0, 5.5], rig.timing)


def ride(folder, name, faults=(), speed=RAMP, seconds=9.0):
    rig, gains = machine(name)
    wheel = Emulation("nonlinear", Surroundings(belt_width=1.2), belt_faults=faults)
    outcome = run_lockstep(folder, rig, gains, Scenario(speed=speed, seed=1), seconds, emulation=wheel)
    return outcome, read_run(folder)


@pytest.mark.parametrize("name", DEVICES)
def test_an_asked_speed_is_followed_in_its_ramp(tmp_path, name):
    outcome, run = ride(tmp_path / "run", name)
    assert outcome.reason == "success", outcome.cause
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    under = rows["t"] - rows["t"][0]
    by_hand = np.interp(under, *np.add(np.transpose(RAMP), [[Scenario(speed=RAMP).release_after], [0.0]]))
    assert rows["v_asked"] == pytest.approx(by_hand, abs=0.02)
    settled = (under > 2.0) & (under < 3.4)
    assert rows["v_est"][settled].mean() == pytest.approx(4.0, abs=0.03), "although it shows 3 % too much"
    assert rows["v_belt"][settled].mean() == pytest.approx(4.0 / BELT_SCALE, abs=0.03), "as it says itself"
    assert rows["v_est"][-1] == pytest.approx(5.0, abs=0.05)
    assert rows["belt_age"].max() <= 0.12
    assert replay(run).identical


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize(
    ("kind", "within"),
    [
        ("silent", 0.65),
        ("deaf", 0.75),
        ("stands", 0.8),
        ("slow", 1.5),
        ("runs_away", 0.9),
        ("reports_fault", 0.15),
        ("stop_button", 0.15),
    ],
)
def test_a_wheel_drive_that_fails_ends_the_ride_by_name(tmp_path, name, kind, within):
    outcome, run = ride(tmp_path / "run", name, (BeltFault(kind, 8.0),), RAMP[:1])
    assert (outcome.reason, int(run.ticks["cause"][-1])) == ("fault", Cause.SPEED_DRIVE), outcome.cause
    begun = run.ticks[run.ticks["state"] == State.CHECK]["t"][0] + 8.0
    down = run.ticks[run.ticks["state"] == State.RAMPDOWN]["t"][0]
    assert begun - 0.05 < down < begun + within + 0.05
    assert abs(run.ticks["T_cmd"][-1]) == 0.0


def test_one_that_says_the_same_again_and_again_does_no_harm(tmp_path):
    outcome, _ = ride(tmp_path / "run", "vesc_wheel", (BeltFault("frozen", 6.0),), RAMP[:1], 5.0)
    assert outcome.reason == "success", outcome.cause
