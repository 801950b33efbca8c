"""Block bootstrap covariance of the residual.

It needs no model of the noise's colour. Blocks of the residual, begun anywhere, are strung together into as many new
noises as wished (moving blocks; Kuensch 1989). Within a block the noise keeps its colour; where blocks meet it is lost,
which is why the blocks must be longer than the correlation.
"""

import zlib
from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.comparison.noise_covariance import MODE_PARAMETERS
from riderless.experiments.analysis.estimators.coloured_noise import lag_1
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

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


def resampled_residuals(residual: Array, parameters: int, draws: int = DRAWS) -> Array:
    """New noises (draws, n) made of blocks of a residual; the same ones whenever the residual is the same."""
    n, length = len(residual), block_length(residual)
    # the residual seeds its own draws: no clock, no order of windows enters the result
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(residual).tobytes()))
    starts = rng.integers(0, n - length + 1, (draws, -(-n // length)))
    index = (starts[..., None] + np.arange(length)).reshape(draws, -1)[:, :n]
    correlation = float(np.clip(lag_1(residual), 0.0, 0.98))
    # a parameter takes as much of the variance as one correlation time, (1 + r) / (1 - r) rows, holds
    kept = max(1.0 - parameters * (1.0 + correlation) / (1.0 - correlation) / n, 0.5)
    return np.asarray((residual - residual.mean())[index] / np.sqrt(kept))


def bootstrap_covariance(influence: Array, residual: Array, parameters: int) -> Array:
    """Covariance (p, p) of estimates that are linear in the samples.

    Parameters
    ----------
    influence : (p, n)
        Derivative of the estimates by each sample.
    residual : (n,)
        Measured minus fitted.
    parameters : int
        Number of parameters fitted.
    """
    moved = influence @ resampled_residuals(residual, parameters).T
    return np.asarray(moved @ moved.T / DRAWS)


def bootstrapped(fit: Fit, y: Array) -> Fit:
    """Fit of the signal y (n,) with its covariance from blocks of its residual instead."""
    if not fit.ok:
        return fit
    return replace(fit, covariance=bootstrap_covariance(fit.influence, y - fit.curve, MODE_PARAMETERS))
