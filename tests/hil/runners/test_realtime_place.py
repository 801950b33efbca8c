"""A lane kept in real time: our node and a distance sensor behind two pseudo-terminals."""

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import start_twin
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.fitting import with_emulated_place
from riderless.hil.rig.path_file import plan_ride, read_path_file
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import session
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.replay import replay
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Surroundings
from tests.hil.machine import scenario
from tests.paths import ROOT

pytestmark = pytest.mark.realtime


def test_a_lane_is_kept_behind_two_ports(tmp_path):
    rig = read_rig(ROOT / "docs" / "rigs" / "lane.toml")
    gains = design(rig.bicycle, "lane", (4.5, 5.0, 5.5), rig.timing)
    belt = Emulation("nonlinear", Surroundings(belt_width=rig.place.belt_width))
    for n in range(3):  # a machine that was busy for a moment is tried again
        with start_twin(rig, scenario(kicks=(0.2,)), belt) as twin:
            outcome = session.run_realtime(tmp_path / str(n), rig, gains, twin.paths, 4.0)
        if outcome.reason != "fault":
            break
    assert outcome.reason == "success", outcome.cause
    run = read_run(tmp_path / str(n))
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert np.abs(rows["y_est"]).max() > 0.03, "the kick moved it"
    assert np.abs(rows["y_est"][-40:]).max() < 0.1, "and it came back"
    assert np.median(rows["place_age"]) < 0.02
    unanswered = (rows["command_seq"].astype(int) - rows["acked_seq"]) & 0xFFFF
    assert np.median(unanswered) == 1, "a command is obeyed from the next sample on, as the rig's timing says"
    assert replay(run).identical


def test_a_path_is_ridden_behind_two_ports(tmp_path):
    """The same lane change as in simulated time: asked and ridden, and the log replays with its route."""
    asked = read_path_file(ROOT / "docs" / "path_files" / "lane-change.toml")
    rig = with_emulated_place(Rig(load_bicycle("Silver")), 3.0)
    gains = design(rig.bicycle, "lane", (4.5, 5.0, 5.5), rig.timing)
    route = plan_ride(asked, rig, gains, asked.speed)
    for n in range(3):  # a machine that was busy for a moment is tried again
        emulation = Emulation("nonlinear", Surroundings(belt_width=3.0))
        with start_twin(rig, scenario(v=asked.speed), emulation) as twin:
            outcome = session.run_realtime(
                tmp_path / str(n), rig, gains, twin.paths, route.ride_time, task=Task(route=route)
            )
        if outcome.reason != "fault":
            break
    assert outcome.reason == "success", outcome.cause
    run = read_run(tmp_path / str(n))
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert rows["y_est"][-100:].mean() == pytest.approx(0.5, abs=0.1)
    assert replay(run).identical


def test_a_treadmill_is_driven_behind_three_ports(tmp_path):
    """Node, distance sensor and treadmill on pseudo-terminals: the belt starts with arming and keeps its speed."""
    rig = read_rig(ROOT / "docs" / "rigs" / "treadmill.toml")
    gains = design(rig.bicycle, "lane", (3.5, 4.0, 4.5), rig.timing)
    asked = ((0.0, 4.0),)
    with pytest.raises(InputError, match="wants to be asked for a speed, found none"):
        session.run_realtime(tmp_path / "none", rig, gains, ["/dev/null"] * 3, 5.0)
    for n in range(3):  # a machine that was busy for a moment is tried again
        emulation = Emulation("nonlinear", Surroundings(belt_width=rig.place.belt_width))
        with start_twin(rig, scenario(v=4.0, kicks=()), emulation) as twin:
            outcome = session.run_realtime(
                tmp_path / str(n), rig, gains, twin.paths, 2.0, task=Task(asked_speeds=asked)
            )
        if outcome.reason != "fault":
            break
    assert outcome.reason == "success", outcome.cause
    run = read_run(tmp_path / str(n))
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    assert run.ticks["v_meas"][0] < 0.1
    assert rows["v_est"][-200:].mean() == pytest.approx(4.0, abs=0.05)
    assert replay(run).identical
