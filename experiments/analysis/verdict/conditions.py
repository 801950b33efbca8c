"""Pooled eigenvalues of each condition, measured minus like for like, with the covariance that all of them share.

The covariance has two parts: that of the windows themselves, with a random effect between runs beside the noise of
each, and that of the uncertain parameters in the prediction, which all conditions share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.analysis.random_effects import MIN_VARIANCE, between_run_variance, weighted_mean
from experiments.datatypes import Comparison, Response
from experiments.theory.theory import theory_for
from experiments.theory.uncertainty_bands import eigenvalue_derivatives
from models.array_types import Array


@dataclass(frozen=True)
class ConditionMeans:
    """Pooled eigenvalues of the windows of one label: measured minus like for like."""

    label: str
    v: float  # m/s
    n: int
    residual: complex
    std: complex  # standard deviations of both parts, the effect between runs included


def pool_conditions(group: Sequence[tuple[Response, Comparison]]) -> tuple[tuple[ConditionMeans, ...], complex, float]:
    """Pool each condition's windows; also the standard deviation between runs [1/s], both parts, and chi-square."""
    usable = [(r, c) for r, c in group if np.isfinite([c.z_re, c.z_im]).all()]
    labels = list(dict.fromkeys(c.label for _, c in usable))
    if not labels:
        return (), 0j, 0.0
    by_label = [[(r, c) for r, c in usable if c.label == label] for label in labels]
    means, variances, spread = [], [], []
    for part, i in (("real", 0), ("imag", 1)):
        residuals = [np.array([getattr(_residual(c), part) for _, c in some]) for some in by_label]
        var = [np.array([c.prediction.difference_std[i] ** 2 for _, c in some]) for some in by_label]
        between = between_run_variance(residuals, var)
        found = [weighted_mean(y, np.maximum(v + between, MIN_VARIANCE)) for y, v in zip(residuals, var, strict=True)]
        means.append([mean for mean, _ in found])
        variances.append([std**2 for _, std in found])
        spread.append(between)
    residual = np.array(means).T.ravel()
    covariance = np.diag(np.array(variances).T.ravel()) + _of_parameters(by_label)
    std = np.sqrt(np.diag(covariance))
    conditions = [
        ConditionMeans(
            label,
            float(np.mean([c.window.v_mean for _, c in some])),
            len(some),
            complex(means[0][i], means[1][i]),
            complex(std[2 * i], std[2 * i + 1]),
        )
        for i, (label, some) in enumerate(zip(labels, by_label, strict=True))
    ]
    chi2 = float(residual @ np.linalg.solve(covariance, residual))
    return tuple(conditions), complex(*np.sqrt(spread)), chi2


def _of_parameters(by_label: Sequence[Sequence[tuple[Response, Comparison]]]) -> Array:
    """Covariance (2 k, 2 k) that uncertain parameters give the predictions of k conditions, all at once."""
    std = theory_for(by_label[0][0][0]).uncertain
    G = _slopes(by_label, list(std)) * np.array(list(std.values()))
    return G @ G.T


def _slopes(by_label: Sequence[Sequence[tuple[Response, Comparison]]], names: Sequence[str]) -> Array:
    """Change of the predicted eigenvalues of k conditions by p quantities, (2 k, p): re, im, re, im, ..."""
    rows: list[Array] = []
    for some in by_label:
        response, c = some[0]
        v = float(np.mean([one.window.v_mean for _, one in some]))
        change = eigenvalue_derivatives(theory_for(response), v, names, c.prediction.frozen)
        rows += [change.real, change.imag]
    return np.array(rows).reshape(2 * len(by_label), len(names))


def _residual(c: Comparison) -> complex:
    """Measured minus like for like [1/s]."""
    return c.fit.eigenvalue - c.prediction.like
