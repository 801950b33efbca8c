"""Power of a verdict.

The smallest deviation of a quantity that the joint test would have detected. A small deviation d of one quantity moves
the k conditions' eigenvalues by slopes d, and makes chi-square noncentral: lambda = d^2 slopes' S^-1 slopes. What is
seen with a given power is where the noncentral distribution has that much beyond the value at which the model is
rejected. A larger one does not go on in proportion: the start of a window explains more of it, lean rate and steer
weigh otherwise, and what is left unexplained counts as noise. So deviations are put into the windows, and the share of
rejections is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, chndtrinc

from riderless.experiments.analysis.identification.initial_state import explained_lean_rate
from riderless.experiments.analysis.power.changed_window import SIDES, WindowErrors
from riderless.experiments.analysis.power.detectable_size import largest_size, settled_sizes
from riderless.experiments.analysis.windows.grouping import by_condition, comparable_windows
from riderless.experiments.datatypes import Comparison
from riderless.experiments.dynamics import plain_name, shown_unit, unit_of
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.tables import plain_number

POWER = 0.9
POWER_QUANTITIES = ("drive_gain", "more_delay", "fork_inertia", "steer_damping", "speed_scale")  # a lab cares about
NOISES_DRAWN, NOISES_SEED = 1000, 5
NEARLY_ALL = 0.9  # of what a small deviation is told by: beyond the conditions that tell it, none is estimated again
_SLOPE_STEP = 0.1  # of a quantity's usual deviation, for difference quotients


@dataclass(frozen=True)
class Detectable:
    """Smallest deviation of a quantity (SI) that would have been seen; infinite where no deviation would."""

    name: str
    deviation: float

    @property
    def phrase(self) -> str:
        """Say it in words, "drive gain 3 %"."""
        name, (scale, unit) = plain_name(self.name), shown_unit(unit_of(self.name))
        return f"{name} {plain_number(scale * self.deviation, 2)} {unit}"


def noncentrality(dof: int, significance: float, power: float = POWER) -> float:
    """Noncentrality with which a chi-square of ``dof`` degrees of freedom is rejected with the given power."""
    return float(chndtrinc(chdtri(dof, significance), dof, 1.0 - power))


def detectable(covariance: Array, slopes: Array, significance: float) -> Array:
    """Smallest deviation (p,) of each quantity that is seen with the power `POWER`.

    Parameters
    ----------
    covariance : (2 k, 2 k)
        Of the conditions' residuals, both parts.
    slopes : (2 k, p)
        Change of these by one SI unit of each quantity.
    significance : float
        Probability below which the model is rejected.
    """
    information = np.einsum("ij,ij->j", slopes, np.linalg.solve(covariance, slopes))
    size = noncentrality(len(covariance), significance)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(size / information))


def like_for_like_slopes(group: Sequence[Comparison], names: Sequence[str]) -> Array:
    """Change (2 k, p) of what is measured minus predicted, by SI unit of each quantity: re, im of each condition.

    Taken on the first window of each condition: the model's motion is explained again from its own start, and the
    estimator's influence makes of the change of the lean rate that of the eigenvalue.

    Parameters
    ----------
    group : sequence of Comparison
    names : sequence of str
    """
    return np.vstack([_slopes_of_window(own[0], names) for own in by_condition(group).values()])


def _slopes_of_window(c: Comparison, names: Sequence[str]) -> Array:
    """Slopes (2, p) of one window."""
    theory = c.segment.theory
    slopes = np.zeros((2, len(names)))
    if not c.fit.influence.size:
        return slopes
    here = explained_lean_rate(c.segment, theory.dynamics())
    for i, name in enumerate(names):
        step = _SLOPE_STEP * theory.usual(name)
        try:
            dynamics = theory.dynamics({name: theory.nominal(name) + step})
        except InputError:
            continue
        slopes[:, i] = c.fit.influence @ (explained_lean_rate(c.segment, dynamics) - here) / step
    return slopes


def power_table(group: Sequence[Comparison], covariance: Array, significance: float) -> tuple[Detectable, ...]:
    """Smallest deviations that a campaign would have seen, of the quantities a lab cares about.

    A small deviation moves the eigenvalues in proportion; from there each is tried at the size at which it would be
    seen, to either side, as `riderless.experiments.analysis.power.changed_window` does, until it is seen at that
    size.

    Parameters
    ----------
    group : sequence of Comparison
        Windows of all conditions.
    covariance : (2 k, 2 k)
        Of their residuals.
    significance : float
    """
    group = comparable_windows(group)
    tried = _TriedDeviations(group, covariance, significance)
    small, theory = detectable(covariance, tried.slopes, significance), group[0].segment.theory
    largest = np.array([largest_size(theory.nominal(name), theory.range(name)) for name in POWER_QUANTITIES])
    usual = np.array([theory.usual(name) for name in POWER_QUANTITIES])
    seen, _ = settled_sizes(small, tried.sizes_seen, usual, largest)
    return tuple(Detectable(name, float(size)) for name, size in zip(POWER_QUANTITIES, seen, strict=True))


class _TriedDeviations:
    """Deviations of the quantities put into the first window of each condition, which is then estimated again.

    Parameters
    ----------
    group : sequence of Comparison
    covariance : (2 k, 2 k)
        Of the conditions' residuals.
    significance : float
    """

    def __init__(self, group: Sequence[Comparison], covariance: Array, significance: float) -> None:
        self._windows = [(own[0], len(own)) for own in by_condition(group).values()]
        self._covariance, self._rejected_from = covariance, float(chdtri(len(covariance), significance))
        drawn = np.random.default_rng(NOISES_SEED).standard_normal((NOISES_DRAWN, len(covariance)))
        self._noise = drawn @ np.linalg.cholesky(covariance).T
        self.slopes = like_for_like_slopes(group, POWER_QUANTITIES)
        self._errors: dict[int, WindowErrors] = {}

    def sizes_seen(self, tried: Array, wanted: Sequence[int]) -> Array:
        """Sizes (p,) seen, to the side where less is seen, if effects are in proportion to those at the sizes tried.

        Parameters
        ----------
        tried : (p,)
            SI.
        wanted : sequence of int
            Numbers of the quantities; the others are nan.
        """
        sizes = np.full(len(tried), np.nan)
        for i in wanted:
            sides = zip(*self._effect(i, float(tried[i])), strict=True)
            sizes[i] = tried[i] * max(self._times_seen(moved, covariance) for moved, covariance in sides)
        return sizes

    def _times_seen(self, moved: Array, covariance: Array) -> float:
        """Times a change (2 k,) must be made to be seen with the power `POWER`, by a test with some covariance.

        The noise is what it is without the deviation: what theory then leaves unexplained is taken for noise by the
        test, but does not move the eigenvalues at random.
        """
        precise = np.linalg.solve(covariance, np.vstack([moved, self._noise]).T).T
        square, mixed = float(moved @ precise[0]), self._noise @ precise[0]
        if square <= 0.0:
            return float("inf")
        remaining = np.einsum("na,na->n", self._noise, precise[1:]) - self._rejected_from
        enough = (np.sqrt(np.maximum(mixed**2 - square * remaining, 0.0)) - mixed) / square
        return float(np.quantile(enough, POWER))

    def _effect(self, i: int, size: float) -> tuple[Array, Array]:
        """Change (2, 2 k) by a deviation to either side, and the covariances (2, 2 k, 2 k) that are left with it."""
        moved = np.outer(SIDES, size * self.slopes[:, i])
        covariances = np.array([self._covariance] * len(SIDES))
        for j in self._telling(i):
            c, windows = self._windows[j]
            if j not in self._errors:
                self._errors[j] = WindowErrors.of(c)
            (effect,) = self._errors[j].effects([POWER_QUANTITIES[i]], [size])
            parts = np.arange(2 * j, 2 * j + 2)
            moved[:, parts] = effect.moved
            grown = np.diagonal(effect.covariances - c.prediction.difference_covariance, axis1=1, axis2=2)
            covariances[:, parts, parts] += np.maximum(grown, 0.0) / windows
        return moved, covariances

    def _telling(self, i: int) -> list[int]:
        """Conditions that tell nearly all of a small deviation; the others are taken to be moved in proportion."""
        variances = np.diag(self._covariance).reshape(-1, 2)
        information = np.sum(self.slopes[:, i].reshape(-1, 2) ** 2 / variances, axis=1)
        order = np.argsort(-information, kind="stable")
        enough = int(np.searchsorted(np.cumsum(information[order]), NEARLY_ALL * information.sum())) + 1
        return [int(j) for j in order[:enough] if self._windows[j][0].fit.influence.size and information[j] > 0.0]


def power_sentence(table: Sequence[Detectable]) -> str:
    """Sentence on how large a deviation would have been seen."""
    seen = [row.phrase for row in table if np.isfinite(row.deviation)]
    if not seen:
        return ""
    return f"smallest deviations detectable with {100 * POWER:.0f} % power: {', '.join(seen)}"
