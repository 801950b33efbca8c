"""Degrees of freedom that give 95 % intervals their nominal coverage (`noise_coverage.py` holds the larger study)."""

import numpy as np
import pytest

from tests.experiments.analysis.noise_coverage import NOISES, arma, coverage, hidden

ROWS, RECORDS = 100, 400
BINOMIAL = 3.0 * np.sqrt(0.95 * 0.05 / RECORDS)  # three standard deviations of a share of so many records


@pytest.mark.parametrize("name", ["white", "lag-1 of 0.44, as measured", "drawn from the grid"])
def test_n_minus_m_degrees_of_freedom_hold_the_truth_as_often_as_stated(name):
    """And those from the disagreement of the noise models, few as they are, hold it too often."""
    (residual, disagreement, _), dof = coverage(NOISES[name], ROWS, RECORDS)
    assert residual == pytest.approx(0.95, abs=BINOMIAL)
    assert np.mean(disagreement) > max(0.97, np.mean(residual))
    assert dof[0] == ROWS - 5  # d, w and the three linear parameters
    assert dof[1] < 15


def test_a_slow_noise_under_white_noise_is_the_limit_of_either():
    """The residual shows little of it: n - m holds too little, and no choice is right for this noise and the others."""
    (residual, disagreement, _), _ = coverage(hidden, 200, RECORDS)
    assert 0.80 < np.mean(residual) < 0.95 - BINOMIAL
    assert np.mean(disagreement) > np.mean(residual)


def test_the_noise_of_the_study_has_the_autocorrelation_it_is_named_after():
    e = arma(np.random.default_rng(1), 100_000, 0.44)
    assert e[1:] @ e[:-1] / (e @ e) == pytest.approx(0.44, abs=0.01)
    rng = np.random.default_rng(1)
    assert np.mean([hidden(rng, 200) ** 2 for _ in range(500)]) == pytest.approx(1.25, rel=0.03)
