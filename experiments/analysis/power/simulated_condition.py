"""Condition of a campaign from its rehearsal.

Its windows may have errors of any size in their machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.comparison.compare import compare
from riderless.experiments.analysis.estimators import estimate_alike
from riderless.experiments.analysis.power.changed_window import FORESEEN_ERRORS, KickedWindow, WindowErrors, moved_by
from riderless.experiments.analysis.power.expected_power import ExpectedCondition, LargeErrors
from riderless.experiments.analysis.power.power import like_for_like_slopes
from riderless.experiments.datatypes import Comparison
from riderless.models.array_types import Array


@dataclass(frozen=True)
class RehearsedCondition:
    """Windows of a rehearsal, ready for errors of any size."""

    label: str
    windows: Sequence[WindowErrors]
    by_parameter: Array  # as `ExpectedCondition` has it
    runs: int

    @classmethod
    def of(cls, label: str, comparisons: Sequence[Comparison], runs: int) -> "RehearsedCondition":
        """Prepare the windows of one rehearsal; the condition has so many runs.

        Parameters
        ----------
        label : str
        comparisons : sequence of Comparison
            With fits that have an influence.
        runs : int
        """
        theory = comparisons[0].segment.theory
        by_parameter = np.mean([like_for_like_slopes([c], list(theory.uncertain)) for c in comparisons], axis=0)
        windows = [WindowErrors.of(c) for c in comparisons]
        return cls(label, windows, by_parameter @ theory.spread, runs)

    def expected(self, sizes: Array, small: bool = False) -> ExpectedCondition:
        """Condition as these windows have it, with all its runs.

        Parameters
        ----------
        sizes : (p,)
            At which the errors of `FORESEEN_ERRORS` are tried [SI].
        small : bool
            What they do is taken to be in proportion to them, which takes less time to find.
        """
        covariances = np.array([window.comparison.prediction.difference_covariance for window in self.windows])
        if small:
            slopes = np.array([window.slopes(FORESEEN_ERRORS, sizes.tolist()) for window in self.windows])
            return ExpectedCondition(self.label, covariances, slopes, self.by_parameter).repeated(self.runs)
        effects = [window.effects(FORESEEN_ERRORS, sizes.tolist()) for window in self.windows]
        slopes, *large = (np.array([[effect[i] for effect in own] for own in effects]) for i in range(3))
        return ExpectedCondition(
            self.label, covariances, slopes.swapaxes(1, 2), self.by_parameter, LargeErrors(sizes, *large)
        ).repeated(self.runs)


# Bicycle drawn from its standard deviations: a rehearsal's windows as that bicycle would have given them.
#
# No bicycle is as its data sheet says. What theory then cannot explain weighs in every estimate, as an error of the
# machine does: rehearsed with the bicycle that theory knows, a campaign would see smaller errors than it will.


def given_by(drawn: Mapping[str, float], windows: Sequence[Comparison]) -> Sequence[Comparison]:
    """Windows as the drawn bicycle would have given them; those that it would not have given are left out.

    Parameters
    ----------
    drawn : mapping
        Of `riderless.experiments.theory.uncertainty_bands.draw_machine`.
    windows : sequence of Comparison
        Of a rehearsal.
    """
    made = (_given_by(drawn, c) for c in windows)
    return [c for c in made if c is not None] if drawn else list(windows)


def _given_by(drawn: Mapping[str, float], c: Comparison) -> Comparison | None:
    change = KickedWindow.of(c.segment).change_to(drawn)
    if change is None or not np.isfinite(change).all():
        return None
    moved = moved_by(c.segment, change)
    fit = estimate_alike(moved.t, moved.phi_dot, c.fit)
    compared = compare(moved, fit) if fit.ok else None
    return compared if compared is not None and compared.comparable else None
