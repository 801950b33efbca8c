"""Sizes seen: each error is tried at the size that a campaign would just see, for what it does is not in proportion."""

from collections.abc import Callable

import numpy as np

from experiments.analysis.foresight.expected_power import ExpectedCampaigns, smallest_rejected
from models.array_types import Array

SIZE_ROUNDS = 6  # times, at most, that the errors are tried at the sizes found
SIZE_SETTLED = 0.1  # of a size, by which it may still move
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
    seen = smallest_rejected(small)
    moving = np.isfinite(seen)
    tried = np.minimum(np.where(moving, np.minimum(seen, FIRST_AT_MOST * usual), usual), largest)
    too_small, enough = np.zeros(len(seen)), np.full(len(seen), np.inf)
    campaigns = tried_at(tried)
    for _ in range(SIZE_ROUNDS):
        seen = np.where(moving, smallest_rejected(campaigns, tried, np.flatnonzero(moving).tolist()), seen)
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
        campaigns = tried_at(tried)
    return seen, tried, campaigns
