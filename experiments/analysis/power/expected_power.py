"""Expected power of a planned campaign.

The smallest error that it would reject, and what hides a smaller one. A campaign of known windows is drawn again and
again, each time with noise of its own and a bicycle drawn from the standard deviations, and judged as `conditions.py`
judges it. An error moves the windows of a condition, each by its own slope: what they have in common is seen, what they
have not looks like an effect between runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from riderless.experiments.analysis.verdict.between_runs import Pooling, block_diagonal
from riderless.models.array_types import Array

FORESEEN_POWER = 0.8  # share of the repetitions that reject the model
FORESEEN_LEVEL = 0.05  # p below which they do
CAMPAIGNS_DRAWN = 80  # from each rehearsal of a campaign, every second with the error to the other side
DRAW_SEED = 14
FIRST_TRIED = 2.0  # standard deviations, where the search for a size begins
SEARCH_STEP = 1.5  # from one size to the next, until one is seen and one is not
BISECTIONS_OF_SIZE = 3
LARGEST_SIZE = 100.0  # sizes beyond so many times the one that the covariance alone gives are never seen
HIDDEN = 1.25  # times smaller that a size would be with all parameters known, from where on these hide the error
HIDING_SHARE = 0.7  # of what all parameters hide, in the logarithm, that those named account for
MOST_HIDING = 3  # parameters named


@dataclass(frozen=True)
class ExpectedCondition:
    """Windows that one condition of a campaign is expected to give, and what moves their eigenvalues.

    Attributes
    ----------
    label : str
    covariances : (n, 2, 2)
        Of measured minus like for like in each window, by noise [1/s^2].
    slopes : (n, 2, p)
        Change of that in each window per SI unit of each error, while that is small.
    by_parameter : (2, q)
        Change of that per standard deviation of each uncertain parameter; of correlated ones, of the independent
        combination nearest to each.
    errors : LargeErrors or None
        What errors of some sizes do, where that is not in proportion to them.
    """

    label: str
    covariances: Array
    slopes: Array
    by_parameter: Array
    errors: "LargeErrors | None" = None

    def repeated(self, times: int) -> "ExpectedCondition":
        """Condition with so many times the windows."""
        return replace(
            self,
            covariances=np.tile(self.covariances, (times, 1, 1)),
            slopes=np.tile(self.slopes, (times, 1, 1)),
            errors=self.errors and self.errors.repeated(times),
        )

    def with_error(self, error: int, side: int) -> tuple[Array, Array]:
        """Give what an error moves (n, 2) per SI unit, and the covariances (n, 2, 2) with it, to a side."""
        if self.errors is None:
            return (1 - 2 * side) * self.slopes[..., error], self.covariances
        moved = self.errors.moved[:, error, side] / self.errors.sizes[error]
        return moved, self.errors.covariances[:, error, side]

    @cached_property
    def means(self) -> "MeanEffects":
        """Effects of the errors on the mean of the windows, to either side."""
        sides = [[self.with_error(error, side) for error in range(self.slopes.shape[-1])] for side in (0, 1)]
        moved, covariances = (np.array([[effect[i] for effect in own] for own in sides]) for i in (0, 1))
        precisions = np.linalg.inv(covariances)
        covariance = np.linalg.inv(precisions.sum(axis=2))
        return MeanEffects(np.einsum("spab,spnbc,spnc->spa", covariance, precisions, moved), covariance)


class MeanEffects(NamedTuple):
    """Effects of errors on the mean of n windows with nothing between them, to more (first) and to less (second).

    Attributes
    ----------
    moved : (2, p, 2)
        Change of measured minus like for like per SI unit.
    covariances : (2, p, 2, 2)
        Of that, by noise [1/s^2].
    """

    moved: Array
    covariances: Array


@dataclass(frozen=True)
class LargeErrors:
    """Effects of errors of some sizes in n windows, to more (first) and to less (second).

    Attributes
    ----------
    sizes : (p,)
        SI. Errors of nearly these sizes move in proportion to them.
    moved : (n, p, 2, 2)
        Change of measured minus like for like, to either side [1/s].
    covariances : (n, p, 2, 2, 2)
        Of that, to either side, by noise [1/s^2].
    """

    sizes: Array
    moved: Array
    covariances: Array

    def repeated(self, times: int) -> "LargeErrors":
        """Effects in so many times the windows."""
        moved, covariances = (np.concatenate([values] * times) for values in (self.moved, self.covariances))
        return replace(self, moved=moved, covariances=covariances)


ExpectedCampaigns = Sequence[Sequence[ExpectedCondition]]  # the conditions, in each rehearsal of a campaign


def smallest_rejected(
    campaigns: ExpectedCampaigns, near: Array | None = None, errors: Sequence[int] | None = None
) -> Array:
    """Smallest size (p,) of each error, SI, that `FORESEEN_POWER` of the repetitions reject; infinite where none is.

    Parameters
    ----------
    campaigns : sequence of sequences of ExpectedCondition
    near : (p,), optional
        Sizes [SI] at which the search begins; at `FIRST_TRIED` without them, and where one is not finite.
    errors : sequence of int, optional
        Those asked for, by number, where the others (nan) are not wanted.
    """
    drawn = [_Drawn.of(conditions) for conditions in campaigns]
    units = one_deviation(campaigns)
    begin = FIRST_TRIED * units if near is None else np.where(np.isfinite(near), near, FIRST_TRIED * units)
    sizes = np.full(len(units), np.nan)
    for i in range(len(units)) if errors is None else errors:
        sizes[i] = _size_with_power(drawn, i, begin[i], LARGEST_SIZE * units[i])
    return sizes


def _size_with_power(draws: "Sequence[_Drawn]", error: int, begin: float, largest: float) -> float:
    """Size of one error, searched from some size up to the largest: in the logarithm, by bisection."""
    if not np.isfinite(largest):
        return float("inf")
    judges = [drawn.judge(error, side) for drawn in draws for side in (0, 1)]

    def power(size: float) -> float:
        return float(np.mean([judge.p_values(size) < FORESEEN_LEVEL for judge in judges]))

    if power(begin) >= FORESEEN_POWER:
        low, high = begin / SEARCH_STEP, begin
        while power(low) >= FORESEEN_POWER:
            low, high = low / SEARCH_STEP, low
    else:
        low, high = begin, SEARCH_STEP * begin
        while power(high) < FORESEEN_POWER:
            low, high = high, SEARCH_STEP * high
            if high > largest:
                return float("inf")
    for _ in range(BISECTIONS_OF_SIZE):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if power(middle) >= FORESEEN_POWER else (middle, high)
    return float(np.sqrt(low * high))


def shrinkage(campaigns: ExpectedCampaigns, stds: Array) -> Array:
    """Size of each error (p,) over the one that would be seen with other deviations, in shares (q,) of those known."""
    with np.errstate(invalid="ignore"):
        return one_deviation(campaigns) / one_deviation(campaigns, stds)


def hiding_parameters(campaigns: ExpectedCampaigns, error: int) -> list[int]:
    """Uncertain parameters that hide an error, by number: the one to know first, first; none where nothing is gained.

    Each is the one whose knowledge, beside that of those before it, would shrink the smallest size most.
    """
    q = campaigns[0][0].by_parameter.shape[1]
    with np.errstate(divide="ignore"):
        hidden = np.log(shrinkage(campaigns, np.zeros(q))[error])
    if not hidden > np.log(HIDDEN):
        return []
    named: list[int] = []
    stds = np.ones(q)
    while len(named) < min(MOST_HIDING, q):
        gains = [
            shrinkage(campaigns, np.where(np.arange(q) == i, 0.0, stds))[error] if i not in named else 0.0
            for i in range(q)
        ]
        named.append(int(np.argmax(gains)))
        stds[named[-1]] = 0.0
        if np.log(max(gains)) > HIDING_SHARE * hidden:
            break
    return named


def one_deviation(campaigns: ExpectedCampaigns, stds: Array | None = None) -> Array:
    """Size (p,) of each error that moves the means by one standard deviation, with nothing between the runs.

    The mean of rehearsals and sides: one that shows an error well must not stand for those that hardly do.

    Parameters
    ----------
    campaigns : sequence of sequences of ExpectedCondition
        An error that is not small is asked for as it is at the size at which it was tried.
    stds : (q,), optional
        Deviations of the parameters, in shares of those known.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(
            np.mean(np.concatenate([_information(campaign, stds) for campaign in campaigns]) ** -0.5, axis=0)
        )


def _information(conditions: Sequence[ExpectedCondition], stds: Array | None) -> Array:
    """Square (2, p) of the standard deviations by which one unit of each error moves the means, to either side."""
    moved = np.concatenate([condition.means.moved for condition in conditions], axis=-1)
    by_parameter = np.vstack([condition.by_parameter for condition in conditions])
    blocks = np.stack([condition.means.covariances for condition in conditions], axis=2)
    noise = block_diagonal(blocks.reshape(-1, len(conditions), 2, 2))
    hidden = by_parameter if stds is None else by_parameter * stds
    covariance = noise.reshape(*moved.shape, -1) + hidden @ hidden.T
    return np.asarray(np.einsum("spi,spi->sp", moved, np.linalg.solve(covariance, moved[..., None])[..., 0]))


@dataclass(frozen=True)
class _Drawn:
    """D campaigns drawn without an error, ready for one."""

    conditions: Sequence[ExpectedCondition]
    noise: Sequence[Array]  # (D, n, 2) in the windows of each condition, in standard deviations
    moved: Array  # (D, 2 k), of all windows of a condition, by the bicycle that was drawn
    of_parameters: Array  # (2 k, 2 k)

    @classmethod
    def of(cls, conditions: Sequence[ExpectedCondition]) -> "_Drawn":
        rng = np.random.default_rng(DRAW_SEED)
        by_parameter = np.vstack([condition.by_parameter for condition in conditions])
        noise = [rng.standard_normal((CAMPAIGNS_DRAWN, len(condition.covariances), 2)) for condition in conditions]
        moved = rng.standard_normal((CAMPAIGNS_DRAWN, by_parameter.shape[1])) @ by_parameter.T
        return cls(conditions, noise, moved, by_parameter @ by_parameter.T)

    def judge(self, error: int, side: int) -> "_Judge":
        """Make the joint test ready for an error of any size to one side."""
        moved, covariances = zip(*(condition.with_error(error, side) for condition in self.conditions), strict=True)
        pooling = Pooling.of(covariances)
        noise = [
            np.einsum("nab,dnb->dna", np.linalg.cholesky(covariance), z[side::2])
            for covariance, z in zip(covariances, self.noise, strict=True)
        ]
        precision = np.asarray(np.linalg.inv(block_diagonal(pooling.covariances) + self.of_parameters), float)
        return _Judge(pooling, noise, moved, self.moved[side::2, None], precision)


@dataclass(frozen=True)
class _Judge:
    """Joint test of D / 2 drawn campaigns, with an error to one side."""

    pooling: Pooling
    noise: Sequence[Array]  # (D / 2, n, 2) in the windows of each condition [1/s]
    moved: Sequence[Array]  # (n, 2) by the error, per SI unit
    by_bicycle: Array  # (D / 2, 1, 2 k), what the drawn bicycle moves
    precision: Array  # (G, 2 k, 2 k) of the means of the conditions, the parameters' share in it

    def p_values(self, size: float) -> Array:
        """Give p (D / 2,) of the campaigns with an error of a size [SI]."""
        values = [noise + size * moved for noise, moved in zip(self.noise, self.moved, strict=True)]
        weights, means = self.pooling.draws(values)
        means = (means.reshape(*means.shape[:2], -1) + self.by_bicycle).swapaxes(0, 1)
        misfits = np.einsum("gda,gda->gd", means @ self.precision, means)
        return np.asarray(np.einsum("dg,gd->d", weights, chdtrc(means.shape[-1], misfits)))
