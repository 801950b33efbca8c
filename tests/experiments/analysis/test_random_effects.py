"""Repeats as one number: the effect between them, and intervals that hold."""

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.compare import PooledCondition
from riderless.experiments.analysis.comparison.random_effects import between_run_variance, pooled_means
from riderless.experiments.analysis.verdict.candidate import CandidateCause
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit


def test_scatter_between_runs_is_the_moment_estimate():
    """One condition of equal variances: the sample variance less that of the noise."""
    y = np.array([1.0, 2.0, 4.0, 5.5])
    assert between_run_variance([y], [np.full(4, 0.5)]) == pytest.approx(np.var(y, ddof=1) - 0.5)
    assert between_run_variance([y], [np.full(4, 50.0)]) == 0.0
    assert between_run_variance([np.array([1.0])], [np.array([0.1])]) == 0.0


def test_scatter_between_runs_is_recovered_over_conditions():
    rng = np.random.default_rng(5)
    variances = [rng.uniform(0.01, 0.3, 3) for _ in range(400)]
    values = [rng.normal() + rng.normal(0, np.sqrt(var + 0.2)) for var in variances]
    assert between_run_variance(values, variances) == pytest.approx(0.2, rel=0.1)


@pytest.mark.parametrize("n", [2, 4, 12])
@pytest.mark.parametrize("between", [0.0, 0.04, 0.4])
def test_the_interval_of_a_pooled_mean_holds_the_truth(n, between):
    """Repeats of unequal precision and an effect between them, over 250 campaigns of six conditions."""
    rng, held, halves = np.random.default_rng(n), [], []
    for _ in range(250):
        variances = [rng.uniform(0.01, 0.09, n) for _ in range(6)]
        values = [rng.normal(0.0, np.sqrt(var + between)) for var in variances]
        found = pooled_means(list(zip(values, variances, strict=True)))
        held += [abs(one.mean) < one.half_width for one in found]
        halves += [one.half_width for one in found]
    assert 0.93 < np.mean(held) < 0.99  # the high side where there is no effect: it is never taken to be negative
    assert np.median(halves) == pytest.approx(1.96 * np.sqrt((0.05 + between) / n), rel=0.3)  # no wider than it must be


def test_repeats_that_differ_by_far_more_than_they_say():
    """Own errors of 0.01, values one apart: the interval is Student's from the scatter alone."""
    (one,) = pooled_means([(np.array([1.0, 2.0, 3.0]), np.full(3, 1e-4))])
    assert (one.mean, one.scatter) == (pytest.approx(2.0), 1.0)
    assert one.half_width == pytest.approx(4.3027 / np.sqrt(3), rel=1e-3)  # t for two degrees of freedom, any table
    assert one.birge_ratio == pytest.approx(100.0)


def test_a_single_window_takes_the_effect_that_others_show():
    """Two repeats elsewhere, far apart: their variance is 2, and one degree of freedom tells of it."""
    _, one, none = pooled_means(
        [(np.array([0.0, 2.0]), np.full(2, 1e-6)), (np.array([5.0]), np.full(1, 1e-6)), (np.zeros(0), np.zeros(0))]
    )
    assert one.half_width == pytest.approx(12.706 * np.sqrt(2.0), rel=1e-3)
    assert np.isnan(one.birge_ratio)
    assert none.n == 0
    assert np.isnan(none.half_width)


def test_one_window_alone_has_its_own_interval():
    assert pooled_means([(np.array([2.0]), np.array([0.09]))])[0].half_width == pytest.approx(1.96 * 0.3, rel=1e-3)


def test_documents_keep_the_names_that_old_readers_know():
    one = pooled_means([(np.array([2.0]), np.array([0.09]))])[0]
    assert list(one.as_json()) == ["n", "mean", "half", "scatter", "ratio"]
    condition = PooledCondition("Silver", 1, 1, 5.0, one, one, one, one, 1j, 1j)
    names = ["label", "n", "agreeing", "v_mean", "re", "im", "left_re", "left_im", "like", "frozen", "width"]
    assert list(condition.as_json()) == names
    cause = CandidateCause("drive_gain", 1.0, 0.9, -2.0, False, 9.0, 1.0)
    document = GoodnessOfFit("Silver", 30.0, 2, 1e-6, 0j, (), (cause,)).as_json()
    assert {"explains", "left"} < set(document["causes"][0])
