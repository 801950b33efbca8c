"""Pooled eigenvalues of each condition.

Measured minus like for like, and how probable a misfit like theirs is. Their covariance has three parts: the noise of
the windows, an effect between runs of unknown size (`between_runs.py`), and the uncertain parameters in the prediction,
which all conditions share (`uncertain_parameters.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, chdtri, logsumexp

from riderless.experiments.analysis.verdict.between_runs import PooledGrid, block_diagonal, pool_residuals
from riderless.experiments.analysis.verdict.uncertain_parameters import ParameterPosterior, ParameterSearch
from riderless.experiments.analysis.windows.grouping import (
    by_condition,
    comparable_windows,
    speed_range,
)
from riderless.experiments.datatypes import Comparison
from riderless.models.array_types import Array

GAUSS_NEWTON_STEPS = 6
PARAMETER_SEARCHES = 4  # at most: from the motion's parameters and from the nominal ones, each gone on with once
GOOD_ENOUGH = 0.1  # p from which no better place is searched
SEARCH_SETTLED = 0.05  # standard deviations of the parameters, all together: a shorter step ends the search
BROKEN_PROMISE = 2.0  # of the misfit at the parameters found, beyond what the linear model says is left there
SMALLEST_P = 1e-250  # below it chi-square is that of the likeliest sizes of the effect between runs


@dataclass(frozen=True)
class ConditionMeans:
    """Pooled eigenvalues of the windows of one condition: measured minus like for like."""

    label: str
    v: float  # m/s
    n: int
    residual: complex
    std: complex  # standard deviations of both parts, the effect between runs and the parameters included
    width: float = 0.0  # m/s, from the slowest window to the fastest


@dataclass(frozen=True)
class CampaignFit:
    """Pooled conditions of a campaign and the probability of their misfit."""

    conditions: tuple[ConditionMeans, ...]
    between: complex  # 1/s, standard deviation between runs, both parts: the likeliest
    chi2: float  # chi-square of that p
    p: float  # probability of a larger misfit if the model is right
    parameters: ParameterPosterior | None = None  # after the campaign; None where none is uncertain


def fit_campaign(group: Sequence[Comparison]) -> CampaignFit:
    """Pool the windows of each condition and ask whether any bicycle that the model allows for explains them.

    Parameters
    ----------
    group : sequence of Comparison
        Windows of one bicycle.
    """
    named = by_condition(comparable_windows(group))
    if not named:
        return CampaignFit((), 0j, 0.0, 1.0)
    parted = list(named.values())
    pooled = pool_residuals(
        [np.array([_parts(c.residual) for c in some]) for some in parted],
        [np.array([_parts(c.fit.eigenvalue) for c in some]) for some in parted],
        [np.array([c.prediction.difference_covariance for c in some]) for some in parted],
    )
    g = pooled.likeliest
    together, counts = [c for some in parted for c in some], [len(some) for some in parted]
    explained = _explain(together, counts, pooled)
    std = np.sqrt(np.diag(block_diagonal(pooled.covariances[g : g + 1])[0] + explained.of_parameters))
    conditions = tuple(
        ConditionMeans(
            label,
            float(np.mean([c.window.v_mean for c in some])),
            len(some),
            complex(*pooled.means[g, i]),
            complex(*std[2 * i : 2 * i + 2]),
            speed_range(some),
        )
        for i, (label, some) in enumerate(named.items())
    )
    chi2, p = _chi_square(explained.misfits, explained.weights, 2 * len(named))
    return CampaignFit(conditions, complex(*np.sqrt(pooled.variances[g])), chi2, p, explained.parameters)


@dataclass(frozen=True)
class _Explained:
    """Misfits (G,) that are left, the weights of the sizes of the effect between runs, and the parameters after."""

    misfits: Array
    weights: Array
    of_parameters: Array  # (2 k, 2 k), covariance of the means by the parameters
    parameters: ParameterPosterior | None = None
    z: Array | None = None  # (q,) where that is, in standard deviations of the parameters

    @property
    def p(self) -> float:
        """Probability of a larger misfit."""
        return _chi_square(self.misfits, self.weights, len(self.of_parameters))[1]


def _explain(group: Sequence[Comparison], counts: Sequence[int], pooled: PooledGrid) -> _Explained:
    """Search the uncertain parameters that explain the windows best, ``counts`` of each condition in turn.

    The search begins where the motion itself would have the bicycle. Where a misfit is left, it goes on in the
    directions that are felt where it ended, and begins again from the nominal parameters.
    """
    G, k = pooled.means.shape[:2]
    if not group[0].segment.theory.uncertain:
        misfits = _misfits(pooled.means.reshape(G, 2 * k), block_diagonal(pooled.covariances))
        return _Explained(misfits, pooled.weights, np.zeros((2 * k, 2 * k)))
    search = ParameterSearch(group)
    explained: list[_Explained] = []
    for attempt in range(PARAMETER_SEARCHES):
        begin = explained[-1].z if attempt % 2 else np.zeros(len(search.names)) if attempt else search.motion_start()
        assert begin is not None
        explained.append(_searched(search, group, counts, begin))
        if explained[-1].p > GOOD_ENOUGH:
            break
    return max(explained, key=lambda candidate: candidate.p)


def _searched(search: ParameterSearch, group: Sequence[Comparison], counts: Sequence[int], z: Array) -> _Explained:
    """Gauss-Newton steps from z (q,), in the directions that are felt there."""
    ends = np.cumsum(counts)[:-1]
    measured = np.array([_parts(c.fit.eigenvalue) for c in group])
    like, covariances = search.predictions(z)
    left = measured - like
    pooled = pool_residuals(np.split(left, ends), np.split(measured, ends), np.split(covariances, ends))
    D = search.directions(z, _whitening(pooled, counts))
    J = search.jacobian(z, D)
    for _ in range(GAUSS_NEWTON_STEPS):
        root = _whitening(pooled, counts)
        A = root @ J @ D.T
        best = search.best(z, np.eye(len(z)) + A.T @ A, A.T @ (root @ left.ravel()) - z)
        if np.linalg.norm(best - z) < SEARCH_SETTLED:
            break
        z, like, covariances = search.step(z, best)
        left, J = measured - like, search.jacobian(z, D)
        pooled = pool_residuals(np.split(left, ends), np.split(measured, ends), np.split(covariances, ends))
    A = _whitening(pooled, counts) @ J
    parameters = search.posterior(z, D, np.asarray(np.linalg.inv(A.T @ A + np.eye(D.shape[1])), float))
    # the linear model about the best place, as the nominal parameters see it
    G, k = pooled.means.shape[:2]
    offset, slopes = (left.ravel() + J @ (D.T @ z)).reshape(-1, 2), J.reshape(len(left), 2, -1)
    means = pooled.means_of(np.split(offset, ends)).reshape(G, 2 * k)
    moves = pooled.means_of(np.split(slopes, ends)).reshape(G, 2 * k, -1)
    misfits = _misfits(means, block_diagonal(pooled.covariances) + moves @ moves.swapaxes(1, 2))
    g = pooled.likeliest
    # where the search has not settled, the linear model promises what the parameters found do not keep
    kept = _misfits(pooled.means[g : g + 1].reshape(1, 2 * k), block_diagonal(pooled.covariances[g : g + 1]))[0] + z @ z
    if kept > misfits[g] + BROKEN_PROMISE:
        misfits = misfits + kept - misfits[g]
    return _Explained(misfits, pooled.weights, moves[g] @ moves[g].T, parameters, z)


def _whitening(pooled: PooledGrid, counts: Sequence[int]) -> Array:
    """Matrix (2 k, 2 N) from all windows to the conditions' means in units of their noise, under the likeliest size."""
    g = pooled.likeliest
    noise = block_diagonal(pooled.covariances[g : g + 1])[0]
    return np.asarray(np.linalg.solve(np.linalg.cholesky(noise), _averaging(pooled, counts)))


def _averaging(pooled: PooledGrid, counts: Sequence[int]) -> Array:
    """Matrix (2 k, 2 N) from the windows of all conditions, one after the other, to their means, likewise."""
    g, first = pooled.likeliest, 0
    averaging = np.zeros((2 * len(counts), 2 * sum(counts)))
    for i, (share, n) in enumerate(zip(pooled.shares, counts, strict=True)):
        averaging[2 * i : 2 * i + 2, 2 * first : 2 * (first + n)] = share[g].transpose(1, 0, 2).reshape(2, 2 * n)
        first += n
    return averaging


def _misfits(means: Array, covariances: Array) -> Array:
    """Squares (G,) of means (G, m) in units of their covariances (G, m, m)."""
    return np.asarray(np.einsum("ga,ga->g", means, np.linalg.solve(covariances, means[..., None])[..., 0]))


def _chi_square(misfits: Array, weights: Array, dof: int) -> tuple[float, float]:
    """Chi-square and p of misfits (G,) under sizes of the effect between runs of probabilities ``weights`` (G,)."""
    p = min(float(weights @ chdtrc(dof, misfits)), 1.0)
    if p > SMALLEST_P:
        return float(chdtri(dof, p)), p
    with np.errstate(divide="ignore"):
        chi2 = -2.0 * float(logsumexp(np.log(weights) - 0.5 * misfits))
    return chi2, float(chdtrc(dof, chi2))


def _parts(value: complex) -> tuple[float, float]:
    """Real and imaginary part."""
    return value.real, value.imag
