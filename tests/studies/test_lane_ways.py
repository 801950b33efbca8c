"""Eigenvalues in a lane that is held back: windows are found, and theory is that of the gains without place."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.file import plan_campaign
from riderless.experiments.campaigns.rehearsal import dry_run
from riderless.experiments.campaigns.run import run_conditions_in_lockstep
from riderless.experiments.recordings.read import read_recording
from riderless.hil.design.sampled_plant import continuous, sampled_model
from riderless.models.errors import InputError
from tests.studies.lane_ways import LANE_WAYS, WayAnswer, WayWindow, ask_way, ways_markdown

HELD = "held back for 2 s after a push"


def planned(belt=2.0, method="lane", **more):
    protocol = {"kind": "release", "hold_back": "lane", "speeds_m_s": [5.5], "free_s": 2.0, "rest_s": 3.0, **more}
    return plan_campaign(
        {
            "name": "held back",
            "bicycles": ["Silver"],
            "seed": 11,
            "belt": {"width_m": belt},
            "controller": [{"method": method}],
            "protocol": [protocol],
        }
    ).conditions[0]


def test_its_windows_show_the_gains_without_place(tmp_path):
    condition = planned()
    assert dry_run(condition).refusal == ""
    (attempt,) = run_conditions_in_lockstep([condition], tmp_path, lambda *_: None)
    response = read_recording(attempt.folder)
    found = analyze_responses([response])
    assert len(found.comparisons) == 3
    assert all(abs(one.z_re) < 3.0 and abs(one.z_im) < 3.0 for one in found.comparisons)
    # by a second route: the design model with six of the eight gains, which knows no observer
    model = sampled_model(condition.bicycle, 5.5, condition.rig.timing)
    weave = max(continuous(model.closed_loop(condition.schedule.gains(5.5)[:6]), model.dt), key=lambda x: x.imag)
    for one in found.comparisons:
        assert complex(one.fit.re, one.fit.im) == pytest.approx(weave, abs=0.15 * abs(weave))
    assert "lane, held back" in response.theory.name
    assert 0.1 < response.lane.farthest < 0.6


@pytest.mark.slow
def test_how_far_it_goes_is_rehearsed_against_the_belt():
    refusal = dry_run(planned(0.6, push_Nm=3.0)).refusal
    assert "too near to the edge" in refusal or "left the belt" in refusal
    assert "take a wider belt" in refusal


def test_gains_without_a_lane_are_refused():
    with pytest.raises(InputError, match="take the method lane"):
        planned(method="lqr")


def test_the_table_counts_what_it_says():
    window = WayWindow((0.1, -0.2), (0.05, 0.1), (2.0, -1.0))
    one = WayAnswer(HELD, 1, "", 0.4, 6, (window, replace(window, z=(1.0, 1.0))), 0.03)
    table = ways_markdown([one, replace(one, seed=2, farthest=0.5, p=np.nan)])
    assert "| 0.50 m | 4 of 12 | +0.100, -0.200 | 0.050, 0.100 | +1.5, +0.0 | 1.6, 1.0 | 2 and 4 | 1 of 1 |" in table
    refused = WayAnswer(HELD, 3, "too near to the edge", np.nan, 0, (), np.nan)
    assert "| 0.40 m | 2 of 6 |" in ways_markdown([refused, one]), "what was not run is nowhere the farthest"


@pytest.mark.slow
@pytest.mark.parametrize("way", LANE_WAYS)
def test_each_way_is_right(way):
    answers = [ask_way((way, "Silver", seed)) for seed in (21, 22, 23)]
    z = np.array([window.z for answer in answers for window in answer.windows])
    assert len(z) >= 16
    assert np.all(np.sqrt((z**2).mean(axis=0)) < 1.6)
    assert (np.abs(z) < 3.0).all(axis=1).mean() > 0.9
