"""Covariance of estimates under coloured noise.

The residual of the fit is the only witness of that noise. The noise is taken for white noise plus a slower one,
first-order autoregressive (together an ARMA(1, 1)): gyro, and road, hand, drift or what is left of other motion. How
slow and how strong the second is cannot be known well from one window, and a plain autocovariance of the residual errs
on the small side, because the fit took the slow part for motion. So every noise model on a grid is weighed by its
restricted likelihood (REML; Patterson and Thompson 1971), which knows what the fit took, and the covariance is the mean
over the models.

The degrees of freedom are those of the residual, n rows less the m parameters fitted. That the models disagree is in
the mean covariance already, as the most pessimistic ones enter it with their weight, and counts no second time. With
the few degrees of freedom that the disagreement gives (Satterthwaite) 95 % intervals hold the truth in 96 to 100 % of
1000 records, with n - m in 95 to 97 %: for white noise, for noise as coloured as in measured lean rates and more, and
for noises drawn from the grid (`tests/experiments/analysis/noise_coverage.py`). A slow noise hidden under a white one,
with a correlation time of a tenth of the window and a quarter of the power, is the limit of n - m: 87 to 91 %.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.fft import next_fast_len

from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array

CORRELATION_TIMES, AMPLITUDE_RATIOS = 12, 6  # of the grid: correlation times, and how far slow noise stands above white
LONGEST_CORRELATION = (
    0.25  # of the window; slower noise is an offset or a drift, which the window cannot tell from motion
)


@dataclass(frozen=True)
class NoiseCovariance:
    """Covariance of p estimates from the noise, with its degrees of freedom."""

    covariance: Array  # (p, p)
    dof: float


class NoisePosterior(NamedTuple):
    """Noise models of `arma_grid` in the light of a residual."""

    weights: Array  # (G,) posterior probabilities
    variances: Array  # (G,) innovation variance of each model
    dof: float  # degrees of freedom of the residual


def lag_1(residual: Array) -> float:
    """Autocorrelation of neighbouring samples; 0 without any residual."""
    power = float(residual @ residual)
    return float(residual[1:] @ residual[:-1]) / power if power > 0.0 else 0.0


@lru_cache(maxsize=64)
def arma_grid(n: int) -> Array:
    """Grid of noise models: coefficients (rho, theta), (G, 2), of (1 - rho L) e = (1 - theta L) white; white first.

    Correlation times from half a sample to a quarter of the n rows, evenly in their logarithm; and for each the
    amplitude of slow noise over that of fast noise, (1 - theta) / (1 - rho), likewise from white to purely slow.
    """
    pairs = [(0.0, 0.0)]
    for time in np.geomspace(0.5, max(LONGEST_CORRELATION * n, 1.0), CORRELATION_TIMES):
        rho = float(np.exp(-1.0 / time))
        for ratio in np.geomspace(1.0, 1.0 / (1.0 - rho), AMPLITUDE_RATIOS)[1:]:
            pairs.append((rho, max(1.0 - ratio * (1.0 - rho), 0.0)))
    return np.array(pairs)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def inner_product(a, b):
    """Inner product of two vectors, summed in whatever order is fast."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def whitened_products(models, X):
    """Products X' S^-1 X (G, k, k) and log det S (G,) of each noise of the grid, for the columns of X (n, k).

    One-step predictions of an ARMA(1, 1) (Brockwell and Davis 1991, section 5.3).
    """
    n, k = X.shape
    grams, logs = np.empty((len(models), k, k)), np.zeros(len(models))
    innovations = np.empty((k, n))  # each row minus its prediction, over its standard deviation
    row = np.empty(k)
    for g in range(len(models)):
        rho, theta = models[g]
        r, settled = (1.0 - 2.0 * rho * theta + theta * theta) / (1.0 - rho * rho), False
        scale, log = 1.0 / np.sqrt(r), np.log(r)
        for j in range(k):
            row[j] = X[0, j]
        for i in range(n):
            logs[g] += log
            for j in range(k):
                innovations[j, i] = row[j] * scale
            if i + 1 == n:
                break
            carried = theta * scale * scale
            for j in range(k):
                row[j] = X[i + 1, j] - rho * X[i, j] + carried * row[j]
            if not settled:  # the variance of a prediction converges within a few rows
                before, r = r, 1.0 + theta * theta - theta * carried
                scale, log, settled = 1.0 / np.sqrt(r), np.log(r), r == before
        for a in range(k):
            for b in range(a + 1):
                grams[g, a, b] = grams[g, b, a] = inner_product(innovations[a], innovations[b])
    return grams, logs


def noise_covariance(influence: Array, residual: Array, jacobian: Array, extra_parameters: int = 0) -> NoiseCovariance:
    """Covariance of estimates that are linear in the samples, under the noise that left a residual.

    Parameters
    ----------
    influence : (p, n) or (k, p, n)
        Derivative of the p estimates by each sample; of k sets of estimates at once, with a covariance (k, p, p).
    residual : (n,)
        Measured minus fitted.
    jacobian : (n, m)
        Columns that span the part of the noise that the fit took for signal.
    extra_parameters : int
        Parameters fitted beyond those columns.
    """
    if float(np.sqrt(np.mean(residual**2))) == 0.0:
        return NoiseCovariance(np.zeros((*influence.shape[:-1], influence.shape[-2])), float("inf"))
    posterior = noise_posterior(residual, jacobian, extra_parameters)
    covariance = propagated_covariance(influence, arma_grid(len(residual)), posterior.weights * posterior.variances)
    return NoiseCovariance(covariance, posterior.dof)


def noise_posterior(residual: Array, jacobian: Array, extra_parameters: int = 0) -> NoisePosterior:
    """Weigh the noise models of the grid by their restricted likelihood; arguments as of `noise_covariance`.

    Each model's innovation variance is its generalised sum of squares over the degrees of freedom, n - m less the
    extra parameters.
    """
    n = len(residual)
    q = np.linalg.qr(jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300))[0]
    size = float(np.sqrt(np.mean(residual**2)))
    models = arma_grid(n)
    grams, logs = whitened_products(models, np.column_stack([q, residual / size]))
    m = q.shape[1]
    fitted, rest = slice(m), m  # columns of the Jacobian, and that of the residual
    information, cross = grams[:, fitted, fitted], grams[:, fitted, rest]
    squares = grams[:, rest, rest] - np.einsum(
        "gm,gm->g", cross, np.linalg.solve(information, cross[..., None])[..., 0]
    )
    dof = max(n - m - extra_parameters, 1)
    likelihood = -0.5 * (dof * np.log(np.maximum(squares, 1e-300)) + logs + np.linalg.slogdet(information)[1])
    weights = np.exp(likelihood - likelihood.max()) * prior_probabilities(models)
    weights /= weights.sum()
    return NoisePosterior(weights, squares / dof * size**2, float(dof))


def prior_probabilities(models: Array) -> Array:
    """Prior probability of each noise of the grid (G,): a third each for white, autoregressive, and both together."""
    white, slow = models[:, 0] == 0.0, (models[:, 0] > 0.0) & (models[:, 1] == 0.0)
    both = ~white & ~slow
    return np.asarray(white / white.sum() + slow / slow.sum() + both / both.sum()) / 3.0


def propagated_covariance(influence: Array, models: Array, variances: Array) -> Array:
    """Covariance (..., p, p) of estimates under the sum of a grid's noises, of innovations with ``variances`` (G,)."""
    n = influence.shape[-1]
    size = next_fast_len(2 * n, real=True)
    spectrum = np.fft.rfft(influence, size)
    products = np.fft.irfft(spectrum[..., :, None, :] * spectrum[..., None, :, :].conj(), size)
    products = products[..., :n] + products[..., :n].swapaxes(-2, -3)  # both signs of a lag
    products[..., 0] *= 0.5
    return np.asarray(products @ autocovariance(models, variances, n))


@njit(cache=True, nogil=True)
def autocovariance(models, variances, n):
    """Autocovariance of the sum of the grid's noises with innovations of such variances, at lags 0 to n - 1; (n,)."""
    total = np.zeros(n)
    for g in range(len(models)):
        rho, theta = models[g]
        total[0] += variances[g] * (1.0 - 2.0 * rho * theta + theta * theta) / (1.0 - rho * rho)
        term = variances[g] * (1.0 - rho * theta) * (rho - theta) / (1.0 - rho * rho)
        for i in range(1, n):
            total[i] += term
            term *= rho
    return total


def coloured_covariance(influence: Array, residual: Array, parameters: int) -> Array:
    """Covariance (p, p) of estimates that are linear in the samples, where only the number of parameters is known.

    With white residuals it is the textbook covariance; with the lag-1 autocorrelation of 0.4 and more seen in
    measured lean rates the textbook one is several times too small.
    """
    jacobian = np.column_stack([np.ones(len(residual)), influence.T])
    return noise_covariance(influence, residual, jacobian, max(parameters - jacobian.shape[1], 0)).covariance


def welch_satterthwaite(parts: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of independent variances, each with its own (Welch 1947, Satterthwaite 1946)."""
    pairs = [(variance, dof) for variance, dof in parts if variance > 0.0]
    total = sum(variance for variance, _ in pairs)
    return total**2 / sum(variance**2 / dof for variance, dof in pairs) if pairs else float("inf")
