"""Covariances of coloured noise against dense linear algebra, and the block bootstrap against both."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from scipy.stats import t as student

from riderless.experiments.analysis.estimators import bootstrap, estimate
from riderless.experiments.analysis.estimators.coloured_noise import (
    arma_grid,
    noise_covariance,
    prior_probabilities,
    propagated_covariance,
    welch_satterthwaite,
    whitened_products,
)
from riderless.experiments.datatypes import Fit
from tests.experiments.synthetic import damped


def autoregressive(rng, n, std, lag_1):
    return std * np.sqrt(1 - lag_1**2) * lfilter([1.0], [1.0, -lag_1], rng.normal(size=n + 300))[300:]


def arma_covariance(rho, theta, n):
    """(n, n) for innovations of variance 1, from its impulse response: another route than the package's."""
    impulse = np.zeros(5000)
    impulse[0] = 1.0
    psi = lfilter([1.0, -theta], [1.0, -rho], impulse)
    return toeplitz([psi[: len(psi) - k] @ psi[k:] for k in range(n)])


@pytest.mark.parametrize(("rho", "theta"), [(0.0, 0.0), (0.44, 0.0), (0.9, 0.6), (0.97, 0.0)])
def test_likelihood_and_covariance_of_an_arma_noise(rho, theta):
    rng, pairs = np.random.default_rng(0), np.array([(rho, theta)])
    X, dense = rng.normal(size=(60, 3)), arma_covariance(rho, theta, 60)
    grams, logs = whitened_products(pairs, X)
    assert grams[0] == pytest.approx(X.T @ np.linalg.solve(dense, X), rel=1e-9)
    assert logs[0] == pytest.approx(np.linalg.slogdet(dense)[1], abs=1e-9)
    assert propagated_covariance(X.T, pairs, np.ones(1)) == pytest.approx(X.T @ dense @ X, rel=1e-9)


def test_the_grid_holds_white_noise_once_and_gives_each_kind_a_third():
    pairs = arma_grid(200)
    assert np.sum(pairs[:, 0] == 0.0) == 1
    assert np.all((pairs >= 0.0) & (pairs < 1.0))
    assert prior_probabilities(pairs)[0] == pytest.approx(1 / 3)
    assert prior_probabilities(pairs).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("lag_1", [0.0, 0.44, 0.8])
def test_variance_of_a_mean_under_autoregressive_noise(lag_1):
    """(1 + r) / (1 - r) / n, the textbook's, within a fifth on average over 30 records."""
    n, rng = 600, np.random.default_rng(1)
    mean, one = np.full((1, n), 1.0 / n), np.ones((n, 1))
    found, blocks = [], []
    for _ in range(30):
        y = autoregressive(rng, n, 1.0, lag_1)
        found.append(noise_covariance(mean, y - y.mean(), one).covariance[0, 0])
        blocks.append(bootstrap.bootstrap_covariance(mean, y - y.mean(), 1)[0, 0])
    expected = (1 + lag_1) / (1 - lag_1) / n
    assert 0.9 < np.mean(found) / expected < 1.4
    assert 0.7 < np.mean(blocks) / expected < 1.1  # a block ends where the next begins: some colour is lost


@pytest.mark.parametrize("lag_1", [0.0, 0.7])
def test_block_bootstrap_of_a_fit_against_the_analytic_covariance(lag_1):
    """answer S answer' with the true S; 4000 rows, so that the residual tells the noise well."""
    n, rng = 4000, np.random.default_rng(2)
    t = 0.001 * np.arange(n)
    y = damped(t, -1.0, 6.0, 0.02) + autoregressive(rng, n, 0.01, lag_1)
    fit = estimate(t, y)
    exact = 0.01**2 * fit.influence @ toeplitz(lag_1 ** np.arange(n)) @ fit.influence.T
    blocks = bootstrap.bootstrapped(fit, y)
    assert np.diag(blocks.covariance) == pytest.approx(np.diag(exact), rel=0.25)
    assert np.diag(fit.covariance) == pytest.approx(np.diag(exact), rel=0.25)
    if lag_1:  # a block of one row has forgotten the colour
        white = np.mean((y - fit.curve) ** 2) * fit.influence @ fit.influence.T
        assert np.all(np.diag(blocks.covariance) > 2.5 * np.diag(white))


def test_the_bootstrap_by_refitting_agrees_with_the_one_through_the_sensitivity():
    t, rng = np.arange(0.0, 2.4, 0.01), np.random.default_rng(3)
    y = damped(t, -1.5, 6.0, 0.02) + autoregressive(rng, len(t), 0.005, 0.44)
    fit = estimate(t, y, "era")

    again = [estimate(t, fit.curve + noise, "era") for noise in bootstrap.resampled_residuals(y - fit.curve, 5, 150)]
    found = np.array([(one.re, one.im) for one in again])
    slow = np.var(found[np.isfinite(found).all(axis=1)], axis=0, ddof=1)
    quick = bootstrap.bootstrap_covariance(fit.influence, y - fit.curve, 5)
    assert slow == pytest.approx(np.diag(quick), rel=0.4)


def test_the_draws_belong_to_the_residual_alone():
    residual = autoregressive(np.random.default_rng(4), 200, 1.0, 0.5)
    assert np.array_equal(bootstrap.resampled_residuals(residual, 5), bootstrap.resampled_residuals(residual.copy(), 5))
    assert not np.array_equal(
        bootstrap.resampled_residuals(residual, 5), bootstrap.resampled_residuals(residual[::-1].copy(), 5)
    )


def test_blocks_grow_with_the_colour_and_with_the_record():
    rng = np.random.default_rng(5)
    lengths = [bootstrap.block_length(autoregressive(rng, n, 1.0, r)) for n in (200, 2000) for r in (0.0, 0.5, 0.9)]
    assert lengths[1] < lengths[2] < lengths[5]
    assert lengths[1] < lengths[4]
    # (sqrt(6) 0.5 / 0.75)^(2/3) 200^(1/3) = 8.1
    assert 5 <= lengths[1] <= 11


def test_degrees_of_freedom_of_a_sum():
    """Two equal variances with 10 each have 20; one that is nothing does not count (Welch)."""
    assert welch_satterthwaite([(2.0, 10.0), (2.0, 10.0)]) == pytest.approx(20.0)
    assert welch_satterthwaite([(1.0, 7.0), (0.0, 2.0)]) == pytest.approx(7.0)
    assert welch_satterthwaite([]) == np.inf


def test_intervals_are_students():
    def fit(dof):
        return Fit("x", -1.0, 5.0, np.diag([0.04, 0.09]), 1.0, 0.0, True, "", dof=dof)

    (re_lo, re_hi), (im_lo, im_hi) = fit(3.0).interval()
    assert (re_lo, re_hi) == pytest.approx((-1.0 - 3.182446 * 0.2, -1.0 + 3.182446 * 0.2), abs=1e-6)  # tables
    assert (im_lo, im_hi) == pytest.approx((5.0 - 3.182446 * 0.3, 5.0 + 3.182446 * 0.3), abs=1e-6)
    assert fit(np.inf).interval(0.95)[0][1] == pytest.approx(-1.0 + 1.959964 * 0.2, abs=1e-6)
    assert fit(7.5).interval(0.8)[1][0] == pytest.approx(5.0 - 0.3 * student.ppf(0.9, 7.5), abs=1e-9)
