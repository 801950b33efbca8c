"""Guard around the verdict: whatever happens in it, windows, fits and comparisons remain, and the reason is told."""

from collections.abc import Callable
from typing import TypeVar

_Found = TypeVar("_Found")


def attempt(what: str, compute: Callable[[], _Found], otherwise: _Found) -> tuple[_Found, str]:
    """Compute, or give ``otherwise`` and the reason in words.

    The one place where any error at all is caught: a verdict is the last step of an analysis that took minutes, and
    must not take it away. The reason becomes part of the answer.

    Parameters
    ----------
    what : str
        Subject of the sentence: "the search for causes".
    compute : callable
        Without arguments.
    otherwise
        Result where it fails.
    """
    try:
        return compute(), ""
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        return otherwise, f"{what} could not be made: {said}"
