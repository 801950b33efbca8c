"""Smallest detectable size of each error.

Errors are simulated at that size, for their effect is not in proportion to it.
"""

from collections.abc import Callable

import numpy as np

from riderless.experiments.analysis.power.expected_power import ExpectedCampaigns, smallest_rejected
from riderless.experiments.dynamics import PhysicalRange
from riderless.models.array_types import Array

SIZE_ROUNDS = 6  # times, at most, that the errors are tried at the sizes found
SIZE_SETTLED = 0.1  # of a size, by which it may still move
JUST_POSSIBLE = 1.0 - 1e-9  # of the largest size that a machine can have, so that rounding does not go beyond
FIRST_AT_MOST = 3.0  # usual sizes, at which an error is tried first


def sizes_seen(
    small: ExpectedCampaigns, tried_at: Callable[[Array], ExpectedCampaigns], usual: Array, largest: Array
) -> tuple[Array, Array, ExpectedCampaigns]:
    """Search the smallest sizes of the errors that the campaigns see, infinite where none is seen.

    Parameters
    ----------
    small : sequence of sequences of ExpectedCondition
        What small errors do.
    tried_at : callable
        Gives the campaigns with the errors tried at sizes (p,) [SI].
    usual : (p,)
        Sizes [SI] of usual errors.
    largest : (p,)
        Sizes [SI] beyond which no machine has them: what is not seen there is not seen.

    Returns
    -------
    seen : (p,)
        SI.
    tried : (p,)
        Sizes at which they were tried last.
    campaigns : sequence of sequences of ExpectedCondition
        With what they do then.
    """
    seen, tried = settled_sizes(
        smallest_rejected(small),
        lambda sizes, errors: smallest_rejected(tried_at(sizes), sizes, errors),
        usual,
        largest,
    )
    return seen, tried, tried_at(tried)


def largest_size(nominal: float, possible: PhysicalRange) -> float:
    """Size of an error, SI, to the side on which a machine can have more of it."""
    return JUST_POSSIBLE * max(nominal - possible.least, possible.most - nominal)


def settled_sizes(
    seen: Array, seen_at: Callable[[Array, list[int]], Array], usual: Array, largest: Array
) -> tuple[Array, Array]:
    """Try errors at the sizes at which they were seen until they are seen at the sizes at which they were tried.

    Parameters
    ----------
    seen : (p,)
        Sizes at which small errors would be seen, SI; infinite ones are not tried.
    seen_at : callable
        Takes sizes (p,) and the numbers of the errors wanted; gives the sizes (p,) that would be seen if what those
        errors do were in proportion to what they do at these sizes.
    usual : (p,)
        Sizes of usual errors, SI: the first size tried is no more than some of these.
    largest : (p,)
        Sizes beyond which no machine has them.

    Returns
    -------
    seen : (p,)
        SI.
    tried : (p,)
        Sizes at which they were tried last.
    """
    moving = np.isfinite(seen)
    tried = np.minimum(np.where(moving, np.minimum(seen, FIRST_AT_MOST * usual), usual), largest)
    too_small, enough = np.zeros(len(seen)), np.full(len(seen), np.inf)
    for _ in range(SIZE_ROUNDS):
        seen = np.where(moving, seen_at(tried, np.flatnonzero(moving).tolist()), seen)
        seen = np.where((tried == largest) & (seen > largest), np.inf, seen)
        too_small = np.where(moving & (seen > tried), tried, too_small)
        enough = np.where(moving & (seen <= tried), tried, enough)
        moving &= np.isfinite(np.minimum(seen, enough)) & (np.abs(np.log(seen / tried)) > SIZE_SETTLED)
        if not moving.any():
            break
        believed = (too_small < seen) & (seen < enough)
        with np.errstate(invalid="ignore"):
            middle = np.sqrt(too_small * enough)
        tried = np.where(moving, np.minimum(np.where(believed, seen, middle), largest), tried)
    return seen, tried
