"""Candidate causes of a misfit: what was moved, how far, and what that leaves."""

from collections.abc import Sequence
from dataclasses import dataclass

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


def indistinguishable(causes: Sequence[CandidateCause]) -> list[CandidateCause]:
    """Causes beside the first that leave as little of the eigenvalues' misfit as it does, but for chance."""
    return [cause for cause in causes[1:] if cause.chi2_left <= causes[0].chi2_left + LIKELIHOOD_BOUND]
