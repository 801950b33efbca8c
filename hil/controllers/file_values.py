"""Values of a controller's file, checked.

Keys are known, numbers are numbers, speeds are a range.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_real, shortened
from riderless.models.errors import InputError, did_you_mean

_SPEED_STEP = 0.5  # m/s between two speeds at which a law is looked at


def require_known_keys(given: Iterable[Any], known: Collection[str], where: str) -> None:
    """Refuse a key that nobody reads, as what it says would be ignored; ``where`` begins the sentence.

    Raises
    ------
    InputError
    """
    for key in given:
        if key not in known:
            advice = did_you_mean(str(key), known, "take it out")
            raise InputError(f"{where} has the keys {', '.join(known)}, found {shortened(key)}: {advice}")


def numbers_of(given: Any, what: str) -> Array:
    """Array of a number, or of lists of numbers of one length; text, true and false are none.

    Raises
    ------
    InputError
        The sentence begins with ``what``.
    """
    for value in _flat(given):
        if not is_real(value):
            raise InputError(f"{what} wants numbers, found {shortened(value)}: write it without quotes, as 1.5")
    try:
        return np.array(given, dtype=float)
    except ValueError:
        raise InputError(f"{what} wants lists of one length, found others: correct its file") from None


def require_speed_range(speeds: Sequence[float]) -> None:
    """Refuse what is not the slowest and the fastest speed [m/s] of a law; raises InputError."""
    if len(speeds) != 2 or not 0.0 <= speeds[0] < speeds[1] < np.inf:
        raise InputError(f"speeds are the slowest and the fastest in m/s, such as [4.0, 7.0], found {list(speeds)}")


def speeds_between(slowest: float, fastest: float) -> Array:
    """Speeds at which a law is looked at (n,) [m/s], from the slowest to the fastest."""
    return np.linspace(slowest, fastest, max(2, round((fastest - slowest) / _SPEED_STEP) + 1))


def _flat(given: Any) -> Iterable[Any]:
    """All values of lists in lists."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (list, tuple)):
        yield given
        return
    for value in given:
        yield from _flat(value)
