"""Misfit of a campaign's eigenvalues after each cause.

All causes are compared under one covariance.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.comparison.random_effects import MIN_VARIANCE, between_run_variance, weighted_mean
from riderless.experiments.analysis.power.power import like_for_like_slopes
from riderless.experiments.analysis.windows.grouping import by_condition, comparable_windows
from riderless.experiments.datatypes import Comparison
from riderless.models.array_types import Array


def some_windows(group: Sequence[Comparison], most: int) -> Sequence[Comparison]:
    """At most so many windows of each condition, evenly chosen."""
    chosen = []
    for own in by_condition(group).values():
        chosen += [own[round(i)] for i in np.linspace(0, len(own) - 1, min(len(own), most))]
    return chosen


def with_moved_prediction(c: Comparison, change: complex) -> Comparison:
    """Comparison with a like-for-like prediction that is moved [1/s], under the covariance that it had."""
    p = replace(c.prediction, like=c.prediction.like + change)
    residual = c.fit.eigenvalue - p.like
    re_std, im_std = p.difference_std
    return replace(c, prediction=p, z_re=residual.real / re_std, z_im=residual.imag / im_std)


class Leftover:
    """Chi-square of the pooled conditions of one bicycle's windows: their noise, and what its parameters may do.

    The covariance by the parameters is that of the nominal bicycle, computed once; a cause is judged by what is left
    beside it.
    """

    def __init__(self, group: Sequence[Comparison]) -> None:
        self._group = comparable_windows(group)
        theory = group[0].segment.theory
        slopes = like_for_like_slopes(self._group, list(theory.uncertain)) @ theory.spread
        self._of_parameters = slopes @ slopes.T

    @property
    def residual(self) -> Array:
        """Mean residuals (2 k,) of the k conditions, re and im of each [1/s]."""
        return self._pooled(self._group)[0]

    @property
    def covariance(self) -> Array:
        """Covariance (2 k, 2 k) of the k conditions as they were measured."""
        return self._pooled(self._group)[1]

    def chi2(self, comparisons: Sequence[Comparison]) -> float:
        """Chi-square that is left with other predictions of the same windows."""
        usable = [c for c in comparisons if c.comparable]
        if {c.condition for c in usable} != {c.condition for c in self._group}:
            return float("inf")  # whole conditions are lost with that prediction
        residual, covariance = self._pooled(usable)
        return float(residual @ np.linalg.solve(covariance, residual))

    def _pooled(self, comparisons: Sequence[Comparison]) -> tuple[Array, Array]:
        """Mean residuals (2 k,) of the conditions, re and im of each, and their covariance."""
        parted = [[c for c in comparisons if c.condition == name] for name in by_condition(self._group)]
        means, variances = np.zeros((len(parted), 2)), np.zeros((len(parted), 2))
        for part in range(2):
            residuals = [np.array([(c.residual.real, c.residual.imag)[part] for c in own]) for own in parted]
            noise = [np.array([c.prediction.difference_std[part] ** 2 for c in own]) for own in parted]
            between = between_run_variance(residuals, noise)
            for i, (y, var) in enumerate(zip(residuals, noise, strict=True)):
                mean, std = weighted_mean(y, np.maximum(var + between, MIN_VARIANCE))
                means[i, part], variances[i, part] = mean, std**2
        return means.ravel(), np.diag(variances.ravel()) + self._of_parameters
