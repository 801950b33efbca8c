"""Random effect between runs, of unknown size.

A grid of its variances, weighed by the scatter within each condition. Windows of one condition may scatter by more than
their own noise: another push, another place on the belt. How much more a campaign of a few windows cannot say, and one
estimate of it is no truth: taken for one, it makes true campaigns look too good where nothing is between the runs, and
rejects too many where something is. So every size of a grid is weighed by the restricted likelihood (REML) of the
scatter within the conditions, which no wrong model enters, and whatever follows is the mean over the grid. Its prior is
half normal, with `USUAL_EFFECT` times the windows' noise: of two windows that lie 135 and 8 deviations off, no effect
between them may excuse both.

Another push or another place changes the motion, and by it both parts of the eigenvalue: an effect is in both parts or
in neither. A grid with one part alone affected would have three sorts of effect for one of none, and be too mild.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.random_effects import MIN_VARIANCE
from riderless.models.array_types import Array

EFFECT_RATIOS = np.geomspace(0.1, 1e4, 16)  # variances of an effect, over the windows' usual variance
ADDED_SCATTER = 4.0  # times the scatter of what was measured, from which on that of the residuals is the model's
NOTHING_BETWEEN = 0.5  # least prior probability that no effect is there, in neither part
# the prior's standard deviation: pushes that were published scatter by three to five times the error of one fit
USUAL_EFFECT = 5.0  # times the noise of the windows


@dataclass(frozen=True)
class PooledGrid:
    """Means of k conditions under each of G sizes of the effect between runs.

    Attributes
    ----------
    weights : (G,)
        Probability of each size in the light of the scatter.
    variances : (G, 2)
        Sizes: variances of real and imaginary part [1/s^2].
    means : (G, k, 2)
        Weighted means of the conditions, real and imaginary part [1/s].
    covariances : (G, k, 2, 2)
        Of these means.
    shares : sequence of (G, n, 2, 2)
        For each condition, what each of its n windows adds to its mean.
    """

    weights: Array
    variances: Array
    means: Array
    covariances: Array
    shares: Sequence[Array]

    @property
    def likeliest(self) -> int:
        """Size that is likeliest."""
        return int(np.argmax(self.weights))

    def means_of(self, values: Sequence[Array]) -> Array:
        """Means (G, k, 2, ...) of other values (n, 2, ...) of each condition's windows, weighted alike."""
        return np.stack(
            [np.einsum("gnab,nb...->ga...", share, y) for share, y in zip(self.shares, values, strict=True)], axis=1
        )


def pool_windows(values: Sequence[Array], covariances: Sequence[Array]) -> PooledGrid:
    """Pool the windows of each condition, under every size of the effect between runs.

    Parameters
    ----------
    values : sequence of (n, 2)
        Of each condition's windows, real and imaginary part [1/s].
    covariances : sequence of (n, 2, 2)
        Of these values, from noise.
    """
    pooling = Pooling.of(covariances)
    draws = pooling.draws([y[None] for y in values])
    return PooledGrid(draws.weights[0], pooling.variances, draws.means[0], pooling.covariances, pooling.shares)


def pool_residuals(residuals: Sequence[Array], measured: Sequence[Array], covariances: Sequence[Array]) -> PooledGrid:
    """Pool measured minus predicted, under sizes of the effect that what was measured bears out.

    An effect between runs moves what is measured. Where residuals scatter far more than that, the predictions do: those
    of a wrong model, which would widen its own interval.

    Parameters
    ----------
    residuals, measured : sequence of (n, 2)
        Of each condition's windows, real and imaginary part [1/s].
    covariances : sequence of (n, 2, 2)
        Of the residuals, from noise.
    """
    free = sum(2 * (len(y) - 1) for y in residuals)
    if _scatter(residuals, covariances) <= ADDED_SCATTER * (_scatter(measured, covariances) + free):
        return pool_windows(residuals, covariances)
    borne_out = pool_windows(measured, covariances)
    return replace(borne_out, means=borne_out.means_of(residuals))


def _scatter(values: Sequence[Array], covariances: Sequence[Array]) -> float:
    """Sum of squares of values (n, 2) about the means of their conditions, in units of their covariances."""
    about = np.concatenate([y - y.mean(axis=0) for y in values])
    noise = np.concatenate(list(covariances)) + MIN_VARIANCE * np.eye(2)
    return float(np.einsum("na,na->", about, np.linalg.solve(noise, about[..., None])[..., 0]))


class PooledDraws(NamedTuple):
    """D draws of the same windows, pooled: weights (D, G) of the sizes of the effect, and means (D, G, k, 2)."""

    weights: Array
    means: Array


@dataclass(frozen=True)
class Pooling:
    """Pooling of k conditions under G sizes of the effect between runs: what no value of their windows changes.

    Attributes
    ----------
    variances, covariances, shares
        As `PooledGrid` has them.
    prior : (G,)
        Probability of each size.
    precisions : sequence of (G, n, 2, 2)
        For each condition, of its n windows.
    information : (G, k, 2, 2)
        Of the means: the inverse of their covariances.
    log_determinants : (G,)
        Part of each size's log likelihood [-].
    """

    variances: Array
    prior: Array
    precisions: Sequence[Array]
    information: Array
    covariances: Array
    shares: Sequence[Array]
    log_determinants: Array

    @classmethod
    def of(cls, covariances: Sequence[Array]) -> "Pooling":
        """Prepare for windows with covariances (n, 2, 2) from noise, one array for each condition."""
        noise = [covariance + MIN_VARIANCE * np.eye(2) for covariance in covariances]
        usual = np.median(np.einsum("naa->na", np.concatenate(noise)), axis=0)
        variances, prior = _grid(usual, repeated=any(len(group) > 1 for group in noise))
        added = np.einsum("ga,ab->gab", variances, np.eye(2))[:, None]
        totals = [matrix + added for matrix in noise]
        precisions = [np.linalg.inv(total) for total in totals]
        information = np.stack([precision.sum(axis=1) for precision in precisions], axis=1)
        spreads = np.linalg.inv(information)
        determinants = np.linalg.slogdet(spreads)[1].sum(axis=1)
        determinants -= sum(np.linalg.slogdet(total)[1].sum(axis=1) for total in totals)
        shares = [spreads[:, i, None] @ precision for i, precision in enumerate(precisions)]
        return cls(variances, prior, precisions, information, spreads, shares, 0.5 * determinants)

    def draws(self, values: Sequence[Array]) -> PooledDraws:
        """Pool D draws (D, n, 2) of each condition's windows."""
        log_likelihood, means = self.log_determinants, []
        for i, (y, precision, share) in enumerate(zip(values, self.precisions, self.shares, strict=True)):
            mean = np.einsum("gnab,dnb->dga", share, y, optimize=True)
            about = y - y.mean(axis=1, keepdims=True)  # so that the difference of two squares loses no digits
            centre = mean - y.mean(axis=1)[:, None]
            products = np.einsum("dna,dnb->dnab", about, about).reshape(len(y), -1)
            squares = products @ precision.reshape(len(precision), -1).T
            explained = np.einsum("dga,gab,dgb->dg", centre, self.information[:, i], centre, optimize=True)
            log_likelihood = log_likelihood - 0.5 * (squares - explained)
            means.append(mean)
        weights = self.prior * np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        return PooledDraws(weights, np.stack(means, 2))


def block_diagonal(blocks: Array) -> Array:
    """Covariances (G, 2 k, 2 k) of k independent conditions from theirs (G, k, 2, 2)."""
    G, k = blocks.shape[:2]
    whole = np.zeros((G, k, 2, k, 2))
    whole[:, np.arange(k), :, np.arange(k)] = blocks.swapaxes(0, 1)
    return whole.reshape(G, 2 * k, 2 * k)


def _grid(usual: Array, repeated: bool) -> tuple[Array, Array]:
    """Sizes (G, 2) of the effect and their prior probabilities (G,); without repeats there is nothing to weigh."""
    if not repeated:
        return np.zeros((1, 2)), np.ones(1)
    re, im = np.meshgrid(EFFECT_RATIOS * usual[0], EFFECT_RATIOS * usual[1], indexing="ij")
    sizes = np.vstack([np.zeros(2), np.column_stack([re.ravel(), im.ravel()])])
    prior = (1.0 - NOTHING_BETWEEN) / re.size * np.exp(-0.5 * (sizes[1:] / usual).sum(axis=1) / USUAL_EFFECT**2)
    return sizes, np.append(1.0 - prior.sum(), prior)
