"""Covariance by a block bootstrap of the residual, which asks for no model of the noise's colour.

Blocks of the residual, begun anywhere, are strung together into as many new noises as wished (moving
blocks; Kuensch 1989). Within a block the noise keeps its colour; where blocks meet it is lost, which is
why the blocks must be longer than the correlation.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from experiments.analysis.estimators.coloured_noise import lag_1
from experiments.datatypes import Array, Fit

DRAWS = 400  # standard deviations to 3.5 %


def block_length(residual: Array) -> int:
    """Rows in a block: (sqrt(6) r / (1 - r^2))^(2/3) n^(1/3), r the lag-1 autocorrelation.

    For first-order autoregressive noise this length makes squared bias plus variance of the bootstrap's variance of
    a mean smallest (the rule of Carlstein 1986 with the smaller variance of moving blocks). At most a quarter
    of the rows.
    """
    n, r = len(residual), float(np.clip(lag_1(residual), 0.0, 0.98))
    return int(
        np.clip(np.ceil((np.sqrt(6.0) * r / (1.0 - r * r)) ** (2.0 / 3.0) * n ** (1.0 / 3.0)), 1, max(n // 4, 1))
    )


def noises(residual: Array, freedom: int, draws: int = DRAWS) -> Array:
    """New noises (draws, n) made of blocks of a residual; the same ones whenever the residual is the same."""
    n, length = len(residual), block_length(residual)
    # the residual seeds its own draws: no clock, no order of windows enters the answer
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(residual).tobytes()))
    starts = rng.integers(0, n - length + 1, (draws, -(-n // length)))
    index = (starts[..., None] + np.arange(length)).reshape(draws, -1)[:, :n]
    alike = float(np.clip(lag_1(residual), 0.0, 0.98))
    # an unknown takes as much of the variance as one correlation time, (1 + r) / (1 - r) rows, holds
    kept = max(1.0 - freedom * (1.0 + alike) / (1.0 - alike) / n, 0.5)
    return np.asarray((residual - residual.mean())[index] / np.sqrt(kept))


def covariance(answer: Array, residual: Array, freedom: int, draws: int = DRAWS) -> Array:
    """Covariance (p, p) of what answers the samples linearly, ``answer`` (p, n) being d theta / d y."""
    moved = answer @ noises(residual, freedom, draws).T
    return np.asarray(moved @ moved.T / draws)


def refitted(fit: Callable[[Array], Array], curve: Array, residual: Array, freedom: int, draws: int = 100) -> Array:
    """Covariance (p, p) of any estimator, linear or not: ``fit`` (n,) -> (p,) is run on curve + new noise.

    Draws that it could not fit (not finite) are left out.
    """
    found = np.array([fit(curve + noise) for noise in noises(residual, freedom, draws)])
    found = found[np.isfinite(found).all(axis=1)]
    return np.atleast_2d(np.cov(found.T))


def bootstrapped(fit: Fit, y: Array, freedom: int = 5) -> Fit:
    """The same fit of the signal y (n,) with its covariance from blocks of its residual."""
    if not fit.ok:
        return fit
    return replace(fit, covariance=covariance(fit.sensitivity, y - fit.curve, freedom))
