"""Samples that are missing or no good in short gaps under control, and how late commands are that wait for the next.

The drive holds its command until a usable sample comes: over a gap of k periods that is k - 1 periods too old at its
end, and (k - 1) / 2 on average. To first order in the periods such a hold is a delay.
"""

import numpy as np

from riderless.hil.loop.states import State
from riderless.models.array_types import Array

BRIDGED_PERIODS = 4.5  # periods; weave turns by less than a tenth of a radian over as many at 200 Hz


def bridged_samples(ticks: np.ndarray, rate: float) -> Array:
    """Count in rows of a run the samples missing, those due, and the periods that commands waited for them; (3,).

    Counts of several stretches may be added.

    Parameters
    ----------
    ticks : (n,) array
        Rows; those without a usable sample of their own are left out.
    rate : float
        Of the loop [Hz].
    """
    usable = ticks["valid"] == 1
    periods = rate * np.diff(ticks["t"][usable])
    under_control = (ticks["state"][usable][1:] == State.RUNNING) & (periods <= BRIDGED_PERIODS)
    due = np.maximum(np.rint(periods[under_control]), 1.0)
    return np.array([np.sum(due - 1.0), np.sum(due), np.sum(0.5 * due * (due - 1.0))])


def mean_hold(counts: Array, rate: float) -> float:
    """Time by which a run's commands are older than they would be without gaps [s], from its `bridged_samples`."""
    _, due, waited = counts
    return float(waited / max(due, 1.0) / rate)
