"""Intervals of single windows in large motions and at changing speed, on the emulated nonlinear bicycle."""

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.run import condition_response
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.analysis_text import window_table
from riderless.hil.runners.simulated_run import run_lockstep
from tests.studies.interval_coverage_motions import (
    KICK_SIZES,
    MOTION_LOOPS,
    RAMPS,
    MotionSetting,
    ask_motions,
    motion_condition,
)

SEED = 2027  # not one of those that the page's tables have


def analysed(folder, setting, kicks=2):
    c = motion_condition(setting, kicks, SEED)
    run_lockstep(folder, c.rig, c.schedule, c.scenario, c.duration, c.label, None, c.emulation)
    return analyze_responses([read_recording(folder)])


def test_a_large_motion_goes_through_the_nonlinear_bicycle_and_says_so(tmp_path):
    found = analysed(tmp_path / "run", MotionSetting("Pista", "lqr", 5.0, 0.85))
    assert len(found.comparisons) == 2
    for c, row in zip(found.comparisons, found.as_json()["windows"], strict=True):
        assert c.agrees
        assert c.prediction.nonlinear
        assert 0.5 < c.prediction.lean_rate < 1.3
        assert f"through the nonlinear bicycle, lean rate {c.prediction.lean_rate:.2g} rad/s" in c.prediction.status
        assert row["like_model"] == "nonlinear"
        assert row["prediction_status"] == c.prediction.status
    assert "through the nonlinear bicycle: 2 of 2 windows" in window_table(found.comparisons).caption


@pytest.mark.slow
def test_a_machine_emulated_by_linear_equations_stays_linear(tmp_path):
    found = analysed(tmp_path / "run", MotionSetting("Pista", "lqr", 5.0, 0.85, model="linear"))
    assert not any(c.prediction.nonlinear for c in found.comparisons)
    assert all(c.agrees for c in found.comparisons)


@pytest.mark.slow
def test_a_ramp_says_what_a_fit_should_find(tmp_path):
    found = analysed(tmp_path / "run", MotionSetting("Rigid", "lqr", 4.5, 0.35, ramp=-0.2))
    told = [c for c in found.comparisons if "because the speed changes by -0." in c.prediction.status]
    assert told
    for c in told:
        assert c.prediction.bias == c.prediction.like - c.prediction.frozen
        assert c.corrected == pytest.approx(c.fit.eigenvalue - c.prediction.bias)
    assert "a fit should not find the frozen" in window_table(found.comparisons).caption


@pytest.mark.slow
def test_a_bias_moves_the_steer_on_a_ramp_and_no_prediction():
    """A biased accelerometer shifts the steer by as much as the speed says: four runs were -2.6 deviations off."""
    z = []
    for seed in (1, 2, 3, 4):  # others than those of the page
        condition = motion_condition(MotionSetting("Rigid", "lqr", 4.5, 0.35, ramp=0.1), 4, seed)
        z += [c.z_re for c in analyze_responses([condition_response(condition)]).comparisons if c.window.t_start > 8.0]
    assert len(z) == 8
    assert np.all(np.abs(z) < 2.0)
    assert np.sqrt(np.mean(np.square(z))) < 1.4


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "ramps"), [(KICK_SIZES, (0.0,)), ((0.35,), RAMPS)], ids=["kicks", "ramps"])
def test_intervals_hold_in_large_motions_and_on_ramps(sizes, ramps):
    answers = [
        a
        for i, loop in enumerate(MOTION_LOOPS)
        for size in sizes
        for ramp in ramps
        for a in ask_motions((MotionSetting(*loop, size, ramp), 3, SEED + i))
    ]
    assert len(answers) > 60
    for held in ([a.like for a in answers], [a.corrected for a in answers]):
        assert np.all(np.mean(held, axis=0) >= 0.90)
