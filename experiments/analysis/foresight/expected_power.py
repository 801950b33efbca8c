"""Power before an experiment: the smallest error that a planned campaign would reject, and what hides a smaller one.

A campaign of known windows is drawn again and again, each time with noise of its own and a bicycle drawn from the
standard deviations, and judged as `conditions.py` judges it. An error moves the windows of a condition, each by its own
slope: what they have in common is seen, what they have not looks like an effect between runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from experiments.analysis.verdict.between_runs import block_diagonal, pool_draws
from models.array_types import Array

FORESEEN_POWER = 0.8  # share of the repetitions that reject the model
FORESEEN_LEVEL = 0.05  # p below which they do
CAMPAIGNS_DRAWN = 80  # from each rehearsal of a campaign, every second with the error to the other side
DRAW_SEED = 14
FIRST_SIZES = 1.0, 5.0  # standard deviations between which most sizes lie
BISECTIONS_OF_SIZE = 5
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
        Change of that in each window per SI unit of each error.
    by_parameter : (2, q)
        Change of that per standard deviation of each uncertain parameter.
    """

    label: str
    covariances: Array
    slopes: Array
    by_parameter: Array

    def repeated(self, times: int) -> "ExpectedCondition":
        """Condition with so many times the windows."""
        return replace(
            self, covariances=np.tile(self.covariances, (times, 1, 1)), slopes=np.tile(self.slopes, (times, 1, 1))
        )

    @property
    def mean_covariance(self) -> Array:
        """Covariance (2, 2) of the mean of the windows, with nothing between them."""
        return np.asarray(np.linalg.inv(np.linalg.inv(self.covariances).sum(axis=0)))

    @property
    def mean_slopes(self) -> Array:
        """Slopes (2, p) of that mean."""
        return np.asarray(
            np.einsum("ab,nbc,ncp->ap", self.mean_covariance, np.linalg.inv(self.covariances), self.slopes)
        )


ExpectedCampaigns = Sequence[Sequence[ExpectedCondition]]  # the conditions, in each rehearsal of a campaign


def smallest_rejected(campaigns: ExpectedCampaigns) -> Array:
    """Smallest size (p,) of each error, SI, that `FORESEEN_POWER` of the repetitions reject; infinite where none is."""
    drawn = [_Drawn.of(conditions) for conditions in campaigns]
    found = [_size_with_power(drawn, i, size) for i, size in enumerate(one_deviation(campaigns))]
    return np.array(found, float)


def _size_with_power(draws: "Sequence[_Drawn]", error: int, unit: float) -> float:
    """Size of one error from that of one standard deviation: in the logarithm, by bisection."""

    def power(size: float) -> float:
        return float(np.mean([drawn.power(error, size) for drawn in draws]))

    if not np.isfinite(unit):
        return float("inf")
    low, high = FIRST_SIZES[0] * unit, FIRST_SIZES[1] * unit
    while power(high) < FORESEEN_POWER:
        low, high = high, 2.0 * high
        if high > LARGEST_SIZE * unit:
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

    Parameters
    ----------
    campaigns : sequence of sequences of ExpectedCondition
    stds : (q,), optional
        Deviations of the parameters, in shares of those known.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.mean([_information(one, stds) for one in campaigns], axis=0) ** -0.5)


def _information(conditions: Sequence[ExpectedCondition], stds: Array | None) -> Array:
    """Square (p,) of the standard deviations by which one unit of each error moves the means."""
    slopes = np.vstack([one.mean_slopes for one in conditions])
    by_parameter = np.vstack([one.by_parameter for one in conditions])
    noise = block_diagonal(np.array([[one.mean_covariance for one in conditions]]))[0]
    moved = by_parameter if stds is None else by_parameter * stds
    return np.asarray(np.einsum("ij,ij->j", slopes, np.linalg.solve(noise + moved @ moved.T, slopes)))


@dataclass(frozen=True)
class _Drawn:
    """D campaigns drawn without an error, ready for one."""

    conditions: Sequence[ExpectedCondition]
    noise: Sequence[Array]  # (D, n, 2) in the windows of each condition
    moved: Array  # (D, 2 k), of all windows of a condition, by the bicycle that was drawn
    of_parameters: Array  # (2 k, 2 k)

    @classmethod
    def of(cls, conditions: Sequence[ExpectedCondition]) -> "_Drawn":
        rng = np.random.default_rng(DRAW_SEED)
        roots = [np.linalg.cholesky(one.covariances) for one in conditions]
        by_parameter = np.vstack([one.by_parameter for one in conditions])
        noise = [
            np.einsum("nab,dnb->dna", root, rng.standard_normal((CAMPAIGNS_DRAWN, len(root), 2))) for root in roots
        ]
        moved = rng.standard_normal((CAMPAIGNS_DRAWN, by_parameter.shape[1])) @ by_parameter.T
        return cls(conditions, noise, moved, by_parameter @ by_parameter.T)

    def power(self, error: int, size: float) -> float:
        """Share of the campaigns that are rejected with an error of some size."""
        side = size * (-1.0) ** np.arange(CAMPAIGNS_DRAWN)[:, None, None]
        values = [y + side * one.slopes[..., error] for y, one in zip(self.noise, self.conditions, strict=True)]
        (weights, means), _, spreads, _ = pool_draws(values, [one.covariances for one in self.conditions])
        means = means.reshape(CAMPAIGNS_DRAWN, len(spreads), -1) + self.moved[:, None]
        inverse = np.linalg.inv(block_diagonal(spreads) + self.of_parameters)
        misfits = np.einsum("gda,gda->gd", means.swapaxes(0, 1) @ inverse, means.swapaxes(0, 1))
        p = np.einsum("dg,gd->d", weights, chdtrc(means.shape[-1], misfits))
        return float(np.mean(p < FORESEEN_LEVEL))
