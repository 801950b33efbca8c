"""Candidate causes of a misfit.

Each tells what was moved, how far, and what that leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from riderless.experiments.dynamics import Theory, unit_of
from riderless.models.errors import InputError
from riderless.models.plausibility.traits import Values, odd_traits

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


# Values that a quantity can have on a real machine, and where the best value lies outside of them.
#
# A machine's quantities have ranges of their own (`riderless.experiments.dynamics`); a parameter of the bicycle may be
# moved as far as the bicycle can exist (`riderless.models.parameters`) and no trait of it leaves what is plausible
# (`riderless.models.plausibility.traits`).


INSIDE = 0.99  # of the way to the edge of what can be: a little beside a value must be possible too
BISECTIONS = 30  # of the way to a value that cannot be: its edge is then known to 1e-9 of that way


def impossible(theory: Theory, name: str, value: float) -> str:
    """Reason for which a quantity cannot have a value (SI); empty if it can."""
    unit = f" {unit_of(name)}" if unit_of(name) else ""
    allowed = theory.range(name)
    if not allowed.allows(value):
        return f"possible are {allowed.least:.3g} to {allowed.most:.3g}{unit}: {allowed.why}"
    try:
        moved = theory.variant({name: value})[0].bicycle
    except InputError:
        return f"no bicycle with this and its other parameters can be, found {name} = {value:.4g}{unit}"
    return _implausible(theory, moved.as_dict())


def implausible(theory: Theory, name: str, value: float) -> str:
    """Reason for which a parameter beside the bicycle's others is not plausible; empty if it is.

    Whether there can be such a bicycle depends more on the others, as in the triangle inequality, and is not asked.
    """
    return _implausible(theory, {**theory.bicycle.as_dict(), name: value})


def _implausible(theory: Theory, values: Values) -> str:
    known = {trait.words for trait in odd_traits(theory.bicycle.as_dict())}  # an odd bicycle may stay as odd as it is
    odd = [trait for trait in odd_traits(values) if trait.words not in known]
    return odd[0].phrase(values) if odd else ""


def nearest_possible(
    theory: Theory, name: str, value: float, forbidding: Callable[[Theory, str, float], str] = impossible
) -> float:
    """Value [SI] nearest to the one given that a quantity can have, on the way to it from its nominal value.

    Parameters
    ----------
    theory : Theory
    name : str
    value : float
    forbidding : callable
        Says why a quantity cannot have a value; empty if it can.
    """
    if not forbidding(theory, name, value):
        return value
    nominal = theory.nominal(name)
    allowed, forbidden = 0.0, 1.0  # shares of the way
    for _ in range(BISECTIONS):
        middle = 0.5 * (allowed + forbidden)
        if forbidding(theory, name, nominal + middle * (value - nominal)):
            forbidden = middle
        else:
            allowed = middle
    return nominal + INSIDE * allowed * (value - nominal)
