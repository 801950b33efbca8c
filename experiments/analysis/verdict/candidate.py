"""Candidate causes of a misfit: what was moved, how far, and what that leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

USEFUL = 0.5  # share of chi-square that a cause may leave at most to be called one
LIKELIHOOD_BOUND = 6.63  # of chi-square, 99 % with one degree of freedom: within it two causes cannot be told apart


@dataclass(frozen=True)
class CandidateCause:
    """Quantity moved alone: by how much, and how much of the misfit it explains."""

    name: str
    nominal: float  # SI
    moved: float  # SI, to where
    deviations: float  # moved minus nominal, in its standard deviations
    measured: bool  # is that deviation a measured one, or only the usual?
    chi2_explained: float  # of the motion's chi-square
    chi2_left: float  # chi-square of the eigenvalues that would remain; nan where it was not tried
    best: float = float("nan")  # SI, where it would fit best if it could be anything
    outside: str = ""  # why it cannot be that, if it cannot; ``moved`` is then as near as it can be
    would_explain: float = 0.0  # of the motion's chi-square, if it could be anything
    unit: str = ""  # SI
    chi2_before: float = float("nan")  # chi-square of the eigenvalues with nothing moved, told as ``chi2_left`` is

    def useful(self, chi2: float) -> bool:
        """Tell whether it leaves at most half of the misfit; ``chi2`` is that of the verdict, where no other is known.

        The verdict's lets the runs differ by as much as they do; that of a cause lets them by what they then still do.
        """
        return self.chi2_left <= USEFUL * (self.chi2_before if self.chi2_before > chi2 else chi2)


class _Explaining(Protocol):
    @property
    def chi2_left(self) -> float: ...


_Cause = TypeVar("_Cause", bound=_Explaining)


def indistinguishable(causes: Sequence[_Cause]) -> list[_Cause]:
    """Causes, or pairs of them, beside the first that leave as little of the misfit as it does, but for chance."""
    return [cause for cause in causes[1:] if cause.chi2_left <= causes[0].chi2_left + LIKELIHOOD_BOUND]
