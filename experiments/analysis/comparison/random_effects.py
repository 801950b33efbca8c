"""Random-effects means of repeated windows.

Repeats of one condition give one number. Windows are known to differ by three to five times the error of a single fit:
another push, another place on the belt, another day. Such an effect between repeats is estimated over all conditions
together, as one condition has too few, and every interval of a mean has it in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from riderless.models.array_types import Array

MIN_VARIANCE = 1e-12  # 1/s^2, variance below which two fits are equal
CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True)
class PooledMean:
    """Mean over n repeats with its interval; in the unit of the values."""

    n: int
    mean: float
    half_width: float  # half the interval that holds the truth with probability `CONFIDENCE_LEVEL`
    scatter: float  # sample standard deviation; nan for one
    birge_ratio: float  # scatter about the mean over the repeats' own errors, 1 where those are right; nan for one

    def as_json(self) -> dict[str, Any]:
        """Document of the mean, under the names that readers of report.json know."""
        half, ratio = self.half_width, self.birge_ratio
        return {"n": self.n, "mean": self.mean, "half": half, "scatter": self.scatter, "ratio": ratio}


def pooled_means(
    groups: Sequence[tuple[Array, Array]], repeats: Sequence[tuple[Array, Array]] | None = None
) -> list[PooledMean]:
    """Pool each group's values (n,), of variances (n,), to a mean, under one random effect between repeats.

    Weights and interval are those of the random-effects model. As the effect is estimated, the interval is Student's
    with the degrees of freedom of all conditions together; without repeats anywhere there is nothing to estimate it.

    Parameters
    ----------
    groups : sequence of ((n,), (n,))
    repeats : sequence of ((n,), (n,)), optional
        What the effect is estimated from; the groups themselves when omitted.
    """
    repeats = groups if repeats is None else repeats
    between = between_run_variance([y for y, _ in repeats], [var for _, var in repeats])
    dof = sum(max(len(y) - 1, 0) for y, _ in repeats)
    tail = 0.5 + 0.5 * CONFIDENCE_LEVEL
    k = float(stdtrit(dof, tail) if dof else ndtri(tail))
    return [_pool(y, np.maximum(var, MIN_VARIANCE), between, k) for y, var in groups]


def _pool(values: Array, variances: Array, between: float, k: float) -> PooledMean:
    n, nan = len(values), float("nan")
    if n == 0:
        return PooledMean(0, nan, nan, nan, nan)
    mean, std = weighted_mean(values, variances + between)
    if n == 1:
        return PooledMean(1, mean, k * std, nan, nan)
    centre, _ = weighted_mean(values, variances)
    ratio = np.sqrt(np.sum((values - centre) ** 2 / variances) / (n - 1))
    return PooledMean(n, mean, k * std, float(np.std(values, ddof=1)), float(ratio))


def weighted_mean(values: Array, variances: Array) -> tuple[float, float]:
    """Mean of values (n,) weighted by the inverse of their variances, and its standard deviation."""
    weights = 1.0 / variances
    return float(weights @ values / weights.sum()), float(weights.sum() ** -0.5)


def between_run_variance(values: Sequence[Array], variances: Sequence[Array]) -> float:
    """Variance between repeats beyond their own variances, common to all conditions; zero or more.

    The moment estimate of DerSimonian and Laird (1986), over conditions of any number of repeats: only the
    scatter within a condition counts, so a wrong model does not widen its own interval.
    """
    q = dof = scale = 0.0
    for y, var in zip(values, variances, strict=True):
        if len(y) < 2:
            continue
        w = 1.0 / np.maximum(var, MIN_VARIANCE)
        q += float(np.sum(w * (y - np.sum(w * y) / np.sum(w)) ** 2))
        dof += len(y) - 1
        scale += float(np.sum(w) - np.sum(w**2) / np.sum(w))
    return max(0.0, (q - dof) / scale) if scale > 0 else 0.0
