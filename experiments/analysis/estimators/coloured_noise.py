"""What the residual of a fit says of the noise, and what that noise does to the answer.

The noise is taken for white noise plus a slower one, first-order autoregressive (together an ARMA(1, 1)): gyro,
and road, hand, drift or what is left of other motion. How slow and how strong the second is cannot be
known well from one window, and a plain autocovariance of the residual errs on the small side, because the
fit took the slow part for motion. So every combination on a grid is weighed by its restricted likelihood
(REML; Patterson and Thompson 1971), which knows what the fit took, and all of them have their say: the
covariance is the mean over the combinations, and how much they disagree makes its degrees of freedom.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from scipy.fft import next_fast_len

from experiments.dynamics import Array

TIMES, RATIOS = 12, 6  # of the grid: correlation times, and how far slow noise stands above white
LONGEST = 0.25  # of the window; slower noise is an offset or a drift, which the window cannot tell from motion


@dataclass(frozen=True)
class Noise:
    """Covariance of an answer from the noise, and how well it is known."""

    covariance: Array  # (p, p)
    dof: float  # effective degrees of freedom


def lag_1(residual: Array) -> float:
    """Autocorrelation of neighbouring samples; 0 without any residual."""
    power = float(residual @ residual)
    return float(residual[1:] @ residual[:-1]) / power if power > 0.0 else 0.0


@lru_cache(maxsize=64)
def grid(n: int) -> Array:
    """Autoregressive and moving-average coefficients (G, 2) of (1 - rho L) e = (1 - theta L) white; white first.

    Correlation times from half a sample to a quarter of the n rows, evenly in their logarithm; and for each the
    amplitude of slow noise over that of fast noise, (1 - theta) / (1 - rho), likewise from white to purely slow.
    """
    pairs = [(0.0, 0.0)]
    for time in np.geomspace(0.5, max(LONGEST * n, 1.0), TIMES):
        rho = float(np.exp(-1.0 / time))
        for ratio in np.geomspace(1.0, 1.0 / (1.0 - rho), RATIOS)[1:]:
            pairs.append((rho, max(1.0 - ratio * (1.0 - rho), 0.0)))
    return np.array(pairs)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(a, b):
    """Sum of products, in whatever order is fast."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def whitened(pairs, X):
    """Products X' S^-1 X (G, k, k) and log det S (G,) of each noise of the grid, for the columns of X (n, k).

    One-step predictions of an ARMA(1, 1) (Brockwell and Davis 1991, section 5.3).
    """
    n, k = X.shape
    grams, logs = np.empty((len(pairs), k, k)), np.zeros(len(pairs))
    off = np.empty((k, n))  # what each row is off its prediction, over its standard deviation
    row = np.empty(k)
    for g in range(len(pairs)):
        rho, theta = pairs[g]
        r, settled = (1.0 - 2.0 * rho * theta + theta * theta) / (1.0 - rho * rho), False
        scale, log = 1.0 / np.sqrt(r), np.log(r)
        for j in range(k):
            row[j] = X[0, j]
        for i in range(n):
            logs[g] += log
            for j in range(k):
                off[j, i] = row[j] * scale
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
                grams[g, a, b] = grams[g, b, a] = dot(off[a], off[b])
    return grams, logs


def noise_of(answer: Array, residual: Array, taken: Array, lost: int = 0) -> Noise:
    """Covariance of what answers the samples linearly, from the noise that left a residual.

    Parameters
    ----------
    answer : (p, n) d (answer) / d (sample), or several answers (k, p, n) with a covariance (k, p, p) each.
    residual : (n,) what the fit left.
    taken : (n, m), columns that span what the fit took of the noise, as its Jacobian.
    lost : unknowns fitted beyond those columns.
    """
    n = len(residual)
    q = np.linalg.qr(taken / np.maximum(np.linalg.norm(taken, axis=0), 1e-300))[0]
    size = float(np.sqrt(np.mean(residual**2)))
    if size == 0.0:
        return Noise(np.zeros((*answer.shape[:-1], answer.shape[-2])), float("inf"))
    pairs = grid(n)
    grams, logs = whitened(pairs, np.column_stack([q, residual / size]))
    m = q.shape[1]
    inner, side = grams[:, :m, :m], grams[:, :m, m]
    left = grams[:, m, m] - np.einsum("gm,gm->g", side, np.linalg.solve(inner, side[..., None])[..., 0])
    free = max(n - m - lost, 1)
    likelihood = -0.5 * (free * np.log(np.maximum(left, 1e-300)) + logs + np.linalg.slogdet(inner)[1])
    weights = np.exp(likelihood - likelihood.max()) * chances(pairs)
    weights /= weights.sum()
    covariance = answered_by(answer, pairs, weights * left / free * size**2)
    return Noise(covariance, float(free))


def chances(pairs: Array) -> Array:
    """What each noise of the grid is given before (G,): a third each for white, autoregressive, and both together."""
    white, slow = pairs[:, 0] == 0.0, (pairs[:, 0] > 0.0) & (pairs[:, 1] == 0.0)
    both = ~white & ~slow
    return np.asarray(white / white.sum() + slow / slow.sum() + both / both.sum()) / 3.0


def answered_by(answer: Array, pairs: Array, variances: Array) -> Array:
    """Covariance (..., p, p) of the answer (..., p, n) to all noises of a grid, of innovations with `variances`."""
    n = answer.shape[-1]
    size = next_fast_len(2 * n, real=True)
    spectrum = np.fft.rfft(answer, size)
    products = np.fft.irfft(spectrum[..., :, None, :] * spectrum[..., None, :, :].conj(), size)
    products = products[..., :n] + products[..., :n].swapaxes(-2, -3)  # both signs of a lag
    products[..., 0] *= 0.5
    return np.asarray(products @ autocovariance(pairs, variances, n))


@njit(cache=True, nogil=True)
def autocovariance(pairs, variances, n):
    """Of the sum of the grid's noises with innovations of such variances, at the lags 0 to n - 1; (n,)."""
    total = np.zeros(n)
    for g in range(len(pairs)):
        rho, theta = pairs[g]
        total[0] += variances[g] * (1.0 - 2.0 * rho * theta + theta * theta) / (1.0 - rho * rho)
        term = variances[g] * (1.0 - rho * theta) * (rho - theta) / (1.0 - rho * rho)
        for i in range(1, n):
            total[i] += term
            term *= rho
    return total


def coloured_covariance(answer: Array, residual: Array, freedom: int) -> Array:
    """Covariance (p, p) of what answers the samples linearly, where only the number of unknowns is known.

    With white residuals it is the textbook covariance; with the lag-1 autocorrelation of 0.4 and more seen in
    measured lean rates the textbook one is several times too small.
    """
    taken = np.column_stack([np.ones(len(residual)), answer.T])
    return noise_of(answer, residual, taken, max(freedom - taken.shape[1], 0)).covariance


def pooled(parts: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a sum of independent variances, each with its own (Welch 1947, Satterthwaite 1946)."""
    pairs = [(variance, dof) for variance, dof in parts if variance > 0.0]
    total = sum(variance for variance, _ in pairs)
    return total**2 / sum(variance**2 / dof for variance, dof in pairs) if pairs else float("inf")
