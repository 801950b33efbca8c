"""Step of a difference quotient, to the other side where no machine can be on the first."""

from collections.abc import Callable
from typing import TypeVar

from riderless.models.errors import InputError

_Found = TypeVar("_Found")


def either_side(move: Callable[[float], _Found], step: float) -> tuple[_Found, float] | None:
    """Result of moving by a step, or by minus the step where that is refused, and the step made; None where both are.

    Parameters
    ----------
    move : callable
        Takes a step; raises InputError where nothing can be.
    step : float
    """
    for one in (step, -step):
        try:
            return move(one), one
        except InputError:
            continue
    return None
