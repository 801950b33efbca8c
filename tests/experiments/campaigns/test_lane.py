"""Campaign on a belt with edges: today's gains leave it, those with place keep to it and are measured."""

from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.campaigns.file import plan_campaign, read_campaign
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import timeline_of
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.models.errors import InputError
from tests.paths import ROOT

FILE = ROOT / "docs" / "campaigns" / "lane.toml"


def settings(method, **more):
    return {
        "name": "belt",
        "bicycles": ["Silver"],
        "time": "lockstep",
        "belt": {"width_m": 1.2},
        "controller": [{"method": method}],
        "protocol": [{"kind": "treadmill", "speeds_m_s": [4.0], "lean_rate_rad_s": 0.2}],
        **more,
    }


@pytest.mark.parametrize("method", ["lqr", "poles"])
def test_gains_without_place_are_refused_for_they_leave_the_belt(method):
    (condition,) = plan_campaign(settings(method)).conditions
    refusal = dry_run(condition).refusal
    assert "a wheel left the belt" in refusal
    assert "after the release" in refusal


def test_without_edges_they_ride_as_ever():
    (condition,) = plan_campaign(settings("lqr", belt={"width_m": 20.0})).conditions
    assert dry_run(condition).refusal == ""
    plain = settings("lqr")
    del plain["belt"]
    (condition,) = plan_campaign(plain).conditions
    assert dry_run(condition).refusal == ""


@pytest.mark.parametrize("width", [0.0, -1.0, 100.0])
def test_a_belt_of_no_width_is_refused(width):
    with pytest.raises(InputError, match="width_m"):
        plan_campaign(settings("lane", belt={"width_m": width}))


@pytest.fixture(scope="module")
def result(tmp_path_factory, without_report):
    with without_report():
        return run_campaign(read_campaign(FILE), tmp_path_factory.mktemp("lane"))


def test_it_keeps_to_the_belt_and_theory_explains_the_windows(result):
    assert result.missing == []
    runs = [read_run(path.parent) for path in Path(result.folder).glob(f"*/{RUN_FILE}")]
    assert len(runs) == 4
    for run in runs:
        assert run.stop.reason == "success"
        lane = response_of_run(run).lane
        assert 0.05 < lane.farthest < lane.half_belt == 0.6
    found = result.findings.as_json()
    assert len(found["windows"]) == 16  # every kick
    assert all(abs(window["z_re"]) < 3.0 and abs(window["z_im"]) < 3.0 for window in found["windows"])
    assert len(found["verdicts"]) == 2
    assert all(verdict["p"] > 0.01 for verdict in found["verdicts"])


def test_the_path_is_drawn_between_the_edges(result):
    run = read_run(next(Path(result.folder).glob(f"*/{RUN_FILE}")).parent)
    axes = timeline_figure(timeline_of(response_of_run(run))).axes
    (belt,) = [ax for ax in axes if ax.get_ylabel() == "m"]
    heights = sorted(y for c in belt.collections for path in c.get_paths() for y in path.vertices[:, 1])
    assert np.isclose(heights, -0.6).any()
    assert np.isclose(heights, 0.6).any()
