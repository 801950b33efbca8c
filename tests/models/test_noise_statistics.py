"""Statistics of noise against noise of a known size, and against numpy's own."""

import numpy as np
import pytest

from riderless.models.noise_statistics import (
    STDS_95,
    robust_deviation,
    uneven_noise_variance,
    weighted_median,
    white_noise_variance,
)


def test_the_normal_law_reaches_as_far_as_tables_say():
    assert pytest.approx(1.959964, abs=5e-5) == STDS_95  # any table of the normal law


def test_deviation_is_that_of_the_noise_and_not_of_the_outliers():
    off = np.random.default_rng(0).standard_normal((20_000, 2)) * [1.0, 0.2]
    off[:200] += 50.0
    assert robust_deviation(off) == pytest.approx([1.0, 0.2], rel=0.03)


def test_white_noise_is_told_from_a_smooth_motion():
    t = np.arange(0.0, 100.0, 0.005)
    y = np.sin(6.0 * t) + 0.01 * np.random.default_rng(1).standard_normal(len(t))
    y[3000:3100] = np.nan
    assert np.sqrt(white_noise_variance(y)) == pytest.approx(0.01, rel=0.03)
    assert np.isnan(white_noise_variance(np.full(100, np.nan)))  # and without a warning, which would be an error here


def test_white_noise_is_told_from_a_smooth_motion_that_is_read_unevenly():
    t = np.cumsum(np.tile([0.015, 0.015, 0.015, 0.015, 0.02], 2000))  # 3.2 samples at a time, the newest read
    y = np.sin(6.0 * t) + 0.002 * np.random.default_rng(1).standard_normal(len(t))
    assert np.sqrt(white_noise_variance(y)) > 0.003  # most of it motion
    t[500:510] = t[500]
    y[3000:3100] = np.nan
    assert np.sqrt(uneven_noise_variance(y, t)) == pytest.approx(0.002, rel=0.05)
    assert np.isnan(uneven_noise_variance(np.full(100, np.nan), t[:100]))
    even = 0.005 * np.arange(len(y))
    assert uneven_noise_variance(y, even) == pytest.approx(white_noise_variance(y))


def test_weighted_median_is_numpys():
    rng = np.random.default_rng(2)
    for n in rng.integers(1, 40, 200):
        values, weights = rng.integers(0, 9, n) / 3.0, rng.integers(1, 5, n) / 4.0  # with ties
        assert weighted_median(values, weights) == np.quantile(values, 0.5, weights=weights, method="inverted_cdf")
