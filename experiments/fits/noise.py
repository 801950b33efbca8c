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
from numpy.typing import NDArray

Array = NDArray[np.float64]

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


@njit(cache=True, nogil=True)
def whitened(pairs, X):
    """Products X' S^-1 X (G, k, k) and log det S (G,) of each noise of the grid, for the columns of X (n, k).

    One-step predictions of an ARMA(1, 1) (Brockwell and Davis 1991, section 5.3).
    """
    n, k = X.shape
    grams, logs = np.zeros((len(pairs), k, k)), np.zeros(len(pairs))
    off = np.empty(k)
    for g in range(len(pairs)):
        rho, theta = pairs[g]
        r = (1.0 - 2.0 * rho * theta + theta * theta) / (1.0 - rho * rho)
        for j in range(k):
            off[j] = X[0, j]
        for i in range(n):
            logs[g] += np.log(r)
            for a in range(k):
                for b in range(a + 1):
                    grams[g, a, b] += off[a] * off[b] / r
            if i + 1 < n:
                for j in range(k):
                    off[j] = X[i + 1, j] - rho * X[i, j] + theta / r * off[j]
                r = 1.0 + theta * theta - theta * theta / r
        for a in range(k):
            for b in range(a):
                grams[g, b, a] = grams[g, a, b]
    return grams, logs


def noise_of(answer: Array, residual: Array, taken: Array, lost: int = 0) -> Noise:
    """Covariance of what answers the samples linearly, from the noise that left a residual.

    Parameters
    ----------
    answer : (p, n), d (answer) / d (sample).
    residual : (n,) what the fit left.
    taken : (n, m), columns that span what the fit took of the noise, as its Jacobian.
    lost : unknowns fitted beyond those columns.
    """
    n = len(residual)
    q = np.linalg.qr(taken / np.maximum(np.linalg.norm(taken, axis=0), 1e-300))[0]
    size = float(np.sqrt(np.mean(residual**2)))
    if size == 0.0:
        return Noise(np.zeros((len(answer), len(answer))), float("inf"))
    pairs = grid(n)
    grams, logs = whitened(pairs, np.column_stack([q, residual / size]))
    m = q.shape[1]
    inner, side = grams[:, :m, :m], grams[:, :m, m]
    left = grams[:, m, m] - np.einsum("gm,gm->g", side, np.linalg.solve(inner, side[..., None])[..., 0])
    free = max(n - m - lost, 1)
    likelihood = -0.5 * (free * np.log(np.maximum(left, 1e-300)) + logs + np.linalg.slogdet(inner)[1])
    weights = np.exp(likelihood - likelihood.max()) * chances(pairs)
    weights /= weights.sum()
    each = (left / free * size**2)[:, None, None] * answered_by(answer, pairs)
    covariance = np.einsum("g,gpq->pq", weights, each)
    return Noise(covariance, float(free))


def chances(pairs: Array) -> Array:
    """What each noise of the grid is given before (G,): a third each for white, autoregressive, and both together."""
    white, slow = pairs[:, 0] == 0.0, (pairs[:, 0] > 0.0) & (pairs[:, 1] == 0.0)
    both = ~white & ~slow
    return np.asarray(white / white.sum() + slow / slow.sum() + both / both.sum()) / 3.0


def answered_by(answer: Array, pairs: Array) -> Array:
    """Covariance (G, p, p) of the answer (p, n) when each noise of the grid has innovations of variance 1."""
    n = answer.shape[1]
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.fft.rfft(answer, size)
    products = np.fft.irfft(spectrum[:, None] * spectrum[None].conj(), size)[..., :n]
    products = products + products.swapaxes(0, 1)  # both signs of a lag
    products[..., 0] *= 0.5
    rho, theta = pairs[:, :1], pairs[:, 1:]
    none = (1.0 - 2.0 * rho * theta + theta**2) / (1.0 - rho**2)
    first = (1.0 - rho * theta) * (rho - theta) / (1.0 - rho**2)
    lags = np.hstack([none, first * rho ** np.arange(n - 1)])
    return np.asarray(np.einsum("gn,pqn->gpq", lags, products, optimize=True))


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
