"""Experiment that runs itself and changes its speed by itself: several speeds in one run, which nobody touches."""

import math
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.analysis.identification.forced_windows import kicked_windows
from riderless.experiments.campaigns.adaptive.course import Course, join_legs, legs_named
from riderless.experiments.campaigns.adaptive.runs import LearningRuns, windows_of
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.folder import read_runs
from riderless.experiments.campaigns.run import run_conditions_in_lockstep
from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.experiment_design.choice import TimeCosts
from riderless.experiments.recordings.read import read_recording
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.models.errors import InputError
from tests.experiments.campaigns.test_auto import settings
from tests.paths import ROOT

BOTH = "Silver lane 5.0 m/s then 6.5 m/s kicked 0.2 s"


def with_legs(rig="", **protocol):
    table = settings(**{"until": "drive_gain, steer_damping", "legs": 2, "minutes": 1.3, **protocol})
    if rig:
        return {key: value for key, value in table.items() if key not in ("bicycles", "belt")} | {"rig": str(rig)}
    return table


@pytest.fixture(scope="module")
def made(tmp_path_factory, without_report):
    """Campaign whose runs may have two legs each."""
    with without_report():
        return run_campaign(plan_campaign(with_legs()), tmp_path_factory.mktemp("legs"))


def test_a_run_of_two_legs_changes_its_speed_between_the_kicks():
    campaign = plan_campaign(with_legs())
    slow, fast = campaign.conditions
    run = join_legs([slow, fast], campaign.learning, TimeCosts(speed_change=0.3, settling=3.0))
    # 1.5 s, three kicks 4 s apart; then 1.5 m/s at 0.3 m/s^2 and 3 s to settle are 8 s: two kicks are left out
    assert run.scenario.speed == ((0.0, 5.0), (13.0, 5.0), (18.0, 6.5))  # after a release at 0.5 s
    assert run.duration == 0.5 + 1.5 + 8 * 4.0
    assert run.excitation.amplitude == max(one.excitation.amplitude for one in (slow, fast))
    played = run.excitation.samples(200.0)
    kicks = [np.abs(played[300 + 800 * i : 300 + 800 * (i + 1)]).max() for i in range(8)]
    weak, strong = (pytest.approx(one.excitation.amplitude, rel=1e-3) for one in (slow, fast))
    assert kicks == [weak, weak, weak, 0.0, 0.0, strong, strong, strong]
    assert run.label == BOTH
    assert legs_named(BOTH, campaign.conditions) == [slow, fast]
    assert join_legs([slow], campaign.learning) is slow


@pytest.mark.parametrize("label", ["Silver lane 5.0 m/s then 9 m/s kicked 0.2 s", "Silver lane 5.0 m/s then m/s", "x"])
def test_a_run_that_the_menu_does_not_have_is_none_of_its_legs(label):
    assert legs_named(label, plan_campaign(with_legs()).conditions) == []


def test_a_treadmill_takes_the_bicycle_from_speed_to_speed_and_every_kick_counts(tmp_path):
    """Nobody sets a belt: the loop asks the emulated treadmill, over its bytes, while the bicycle keeps its lane."""
    campaign = plan_campaign(with_legs(ROOT / "docs/rigs/treadmill.toml"))
    run = Course(campaign.conditions, campaign.learning).choose(BOTH)
    assert "once armed it goes to 5 m/s by itself" in run.instruction
    assert run.instruction.endswith("it changes its speed by itself to 6.5 m/s")
    (attempt,) = run_conditions_in_lockstep([run], tmp_path, lambda *_: None)
    assert attempt.outcome.reason == "success"
    ticks = read_run(attempt.folder).ticks
    assert ticks["v_asked"].max() == pytest.approx(6.5)
    assert np.abs(ticks["y_est"]).max() < 0.5
    windows = windows_of(attempt.folder)
    speeds = [one.window.v_mean for one in windows]
    assert speeds == pytest.approx([5.0] * 3 + [6.5] * 3, abs=0.03)


def test_a_campaign_of_legs_ends_in_its_time_and_its_recordings_lead_to_the_same_course(made):
    names = [step.choice.condition.name for step in made.course.steps]
    assert any(" then " in name for name in names)
    assert made.course.ending.kind == "spent"
    assert made.course.minutes <= 1.3
    assert sum(step.windows for step in made.course.steps) >= 9
    assert sum(run.as_json()["refusal"] != "" for run in made.rehearsals) == 0
    assert {run.condition.label for run in made.rehearsals} == {name.rpartition(" run ")[0] for name in names}
    again = LearningRuns.of(plan_campaign(with_legs()))
    again.take_up(read_runs(made.folder), CampaignDisplay())
    assert [one.name for one in again.made] == names
    assert np.array_equal(again.course.values, made.course.values)


class Killed(CampaignDisplay):
    """Ends its process at once, as `kill -9` does, between two legs of a run."""

    def watch(self, condition, row):
        if row["t_host"] > 17.0:  # of 25.5 s: the first leg is over at 13 s
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("_unreported")
def test_killed_between_two_legs_it_goes_on_as_if_nothing_had_been(made, tmp_path):
    child = os.fork()
    if child == 0:
        try:
            run_campaign(plan_campaign(with_legs()), tmp_path, display=Killed())
        finally:
            os._exit(1)  # whatever happens, no second pytest
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (cut,) = read_runs(next(tmp_path.iterdir()))
    assert (cut.name, cut.outcome.reason) == (made.runs[0].name, "killed")
    assert " then " in cut.name
    assert len(windows_of(cut.folder)) >= 2  # of the first leg, which do not count
    again = run_campaign(plan_campaign(with_legs()), tmp_path)
    names = [[step.choice.condition.name for step in one.course.steps] for one in (again, made)]
    assert names[0] == names[1]
    assert np.array_equal(again.course.values, made.course.values)
    assert [run.outcome.reason for run in again.runs] == ["killed", *(run.outcome.reason for run in made.runs)]


def test_a_leg_that_a_rehearsal_refused_is_not_joined_again():
    campaign = plan_campaign(with_legs())
    course = Course(campaign.conditions, campaign.learning)
    first = course.choose()
    assert " then " in first.label
    course.drop(first.label, "its rehearsal refuses it")
    other = course.choose()
    assert other.label != first.label
    assert course.ending is None


def test_a_rig_whose_speed_a_person_sets_has_runs_of_one_speed():
    with pytest.raises(InputError, match=r"legs = 2 wants a machine that changes its speed by itself.*'lane'"):
        plan_campaign(with_legs(ROOT / "docs/rigs/lane.toml"))


@pytest.mark.parametrize("kind", ["treadmill", "speed_sweep", "release"])
def test_nobody_is_told_to_set_a_belt_that_the_machine_sets(kind):
    asked = {"treadmill": {"speeds_m_s": [4.0]}, "release": {"speeds_m_s": [5.0]}}
    asked["speed_sweep"] = {"from_m_s": 4.8, "to_m_s": 4.0}
    for rig, sets in (("lane", True), ("treadmill", False)):
        table = {"name": "x", "rig": f"docs/rigs/{rig}.toml", "protocol": [{"kind": kind, **asked[kind]}]}
        (run,) = plan_campaign(table | {"controller": [{"method": "lqr"}]}, ROOT).conditions
        assert ("set the belt to" in run.instruction) is sets
        assert any("belt to" in words for _, words in run.cues) is (sets and kind == "speed_sweep")


@pytest.mark.parametrize("shares", [(1.0,), (1.0, 2.0, 1.0), (1.0, math.nan, 1.0)])
def test_shares_that_are_none_of_the_kicks_are_refused(shares):
    with pytest.raises(InputError, match="kicks want a share of the amplitude from 0 to 1"):
        Excitation("kicks", 1.0, 12.0, periods=3, shares=shares)
    with pytest.raises(InputError, match="of 1 sweep"):
        Excitation("sweep", 1.0, 12.0, shares=(1.0,))


def test_a_kick_whose_first_row_is_off_by_rounding_keeps_its_window(made):
    response = read_recording(made.runs[0].folder)
    before = len(kicked_windows(response))
    on = np.abs(response.T_played) > 0.0
    row = int(np.flatnonzero(~on[:-1] & on[1:])[1])  # the last before the second kick
    free = response.free.copy()
    free[row] = False
    assert len(kicked_windows(replace(response, free=free))) == before


def test_a_recording_without_a_kick_has_no_window_of_one(made):
    response = read_recording(Path(made.runs[0].folder))
    assert kicked_windows(replace(response, T_played=np.zeros_like(response.t))) == []
