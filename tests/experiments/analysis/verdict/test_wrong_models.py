"""Wrong models of few, clean windows: the scatter of their own predictions does not excuse them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from riderless.experiments.analysis.verdict.between_runs import pool_residuals, pool_windows
from riderless.experiments.analysis.verdict.goodness_of_fit import bicycle_verdict
from riderless.experiments.analysis.verdict.leftover import with_moved_prediction
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.theories import open_loop
from riderless.hil.design.methods import design
from riderless.hil.runners.simulated_run import simulate
from riderless.models.catalogue import load_bicycle
from riderless.models.plant.plant import Kick

KICKS = [Kick(t, impulse=3.0) for t in (0.6, 5.0, 10.0)]  # N s


def log(v):
    """Lean rate and speed of Silver left alone at ``v`` [m/s], kicked three times."""
    silver = load_bicycle("Silver")
    run = simulate(silver, design(silver, "off", [v]), speed=v, kicks=KICKS, duration=16.0, model="linear")
    whole = response_of_run(run)
    return replace(whole, phi=None, delta=None, psi_dot=None, T_delta=None, v_read=None)


@pytest.fixture(scope="module", params=[4.5, pytest.param(6.0, marks=pytest.mark.slow)])
def lean_rate(request):
    return log(request.param)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("Fisher", "Pista", "Yellowrev")]


@pytest.mark.parametrize("name", ["Rigid", "Benchmark", *SLOW])
def test_a_wrong_bicycle_is_rejected(lean_rate, name):
    """Rigid, Fisher, Pista and Yellowrev explained what they had no window of: p = 0.3, 0.97, 0.5 and 0.33."""
    wrong = load_bicycle(name)
    result = analyze(replace(lean_rate, bicycle=wrong, theory=open_loop(wrong)))
    assert len(result.comparisons) == 3
    assert result.verdicts[0].p < 0.01


def test_the_right_one_explains_them(lean_rate):
    silver = load_bicycle("Silver")
    assert analyze(replace(lean_rate, bicycle=silver, theory=open_loop(silver))).verdicts[0].p > 0.1


def test_an_effect_between_two_windows_excuses_neither():
    """135 and 8 deviations off, two windows of one condition were "explained" with p = 0.78."""
    covariances = [np.tile(np.eye(2), (2, 1, 1))]
    for values in ([[135.0, 20.0], [8.0, -3.0]], [[8.0, 100.0], [8.0, 8.0]]):
        pooled = pool_windows([np.array(values)], covariances)
        misfits = np.einsum("gka,gkab,gkb->g", pooled.means, np.linalg.inv(pooled.covariances), pooled.means)
        assert pooled.weights @ chi2.sf(misfits, 2) < 0.01


def test_windows_that_show_no_motion_that_repeats_bring_no_verdict(lean_rate):
    silver = load_bicycle("Silver")
    result = analyze(replace(lean_rate, bicycle=silver, theory=open_loop(silver)))
    moved = [with_moved_prediction(c, change) for c, change in zip(result.comparisons, (4.0, -4.0, 3.0j), strict=True)]
    verdict = bicycle_verdict("Silver", moved)
    assert verdict.explained is None
    assert "they show no motion that repeats" in verdict.sentence


def test_scatter_that_was_measured_counts_as_before():
    rng = np.random.default_rng(2)
    covariances = [np.tile(np.eye(2), (4, 1, 1))] * 2
    measured = [5.0 * rng.standard_normal((4, 2)) for _ in range(2)]  # five times the noise
    pooled, before = pool_residuals(measured, measured, covariances), pool_windows(measured, covariances)
    assert np.array_equal(pooled.weights, before.weights)
    assert np.array_equal(pooled.means, before.means)
    quiet = [0.1 * y for y in measured]
    assert pool_residuals(measured, quiet, covariances).variances[0].tolist() == [0.0, 0.0]
    assert pool_residuals(measured, quiet, covariances).likeliest == 0  # nothing is between runs that repeat themselves
