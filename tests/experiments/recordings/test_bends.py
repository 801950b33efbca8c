"""Bends of a path: what the path asks of a bicycle is no kick, and its motion there is not free."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.timeline.recorded import kick_times
from riderless.hil.design.methods import design
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import RUN_UP_TIME, plan_route
from riderless.hil.guidance.shapes import circle, straight
from riderless.hil.logs.log import read_run
from riderless.hil.rig.fitting import with_emulated_receiver
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.plant.plant import Kick, Scenario

SPEED = 4.0
PUSH = 16.0  # s after the release, at half a second under control


def ridden(folder, path, duration, kicks=()):
    rig = with_emulated_receiver(Rig(catalogue.load_bicycle("Silver")))
    gains = design(rig.bicycle, "lane", [3.5, 4.0, 4.5], rig.timing)
    route = plan_route(rig.bicycle, path, SPEED, RideLimits())
    scenario = Scenario(speed=((0.0, SPEED),), kicks=kicks, seed=1)
    outcome = run_lockstep(
        folder, rig, gains, scenario, duration, emulation=Emulation("nonlinear"), task=Task(route=route)
    )
    assert outcome.reason == "success", outcome.cause
    return folder


@pytest.fixture(scope="module")
def round_a_circle(tmp_path_factory):
    """Circle of 10 m at 4 m/s with 4 m to come into it, left after a quarter; then straight on, with a push."""
    push = Kick(t=PUSH, impulse=2.9, duration=0.08, x=0.3, z=-0.8)
    path = circle(10.0, rounds=0.25, entry=4.0)
    return ridden(tmp_path_factory.mktemp("bends") / "run", path, 20.0, (push,)), path


def test_only_the_push_is_a_kick_and_the_bend_is_where_the_path_has_it(round_a_circle):
    folder, path = round_a_circle
    response = response_of_run(read_run(folder))
    (bend,) = response.bends
    control = float(response.lane.t[0])
    begin = control + RUN_UP_TIME
    assert begin - 2.0 < bend[0] < begin  # it leans before the path bends
    assert begin + path.length / SPEED < bend[1] < begin + path.length / SPEED + 4.0
    (kick,) = kick_times(response)
    assert kick == pytest.approx(control + 0.5 + PUSH, abs=0.1)
    lean = np.abs(response.phi) > 0.05
    assert not response.free[lean & (response.t < kick)].any()
    windows, rejected = find_windows(response)
    assert all(window.t_start > kick for window in windows)
    assert any("in a bend of its path" in one.reason for one in rejected)


def test_before_bends_were_known_they_were_marked_as_kicks(round_a_circle):
    """The same recording without its bends: nobody kicked it but once."""
    response = response_of_run(read_run(round_a_circle[0]))
    assert len(kick_times(replace(response, bends=()))) > 1


def test_a_long_run_read_in_stretches_has_the_same_bends(round_a_circle, monkeypatch):
    run = read_run(round_a_circle[0], everything=False, stored=True)
    whole = response_of_run(read_run(round_a_circle[0]))
    monkeypatch.setattr(run_response, "STRETCH_ROWS", 1000)
    parts = response_of_run(run)
    assert np.allclose(parts.bends, whole.bends, atol=0.1)
    assert np.mean(parts.free != whole.free[: len(parts.free)]) < 0.02


def test_a_straight_path_has_no_bend(tmp_path):
    response = response_of_run(read_run(ridden(tmp_path / "run", straight(20.0), 4.0)))
    assert response.bends == ()
