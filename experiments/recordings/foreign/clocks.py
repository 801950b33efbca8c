"""Clock repairs of recordings.

Counters that begin again, and stamps of a host that gets its rows in bursts.
"""

import numpy as np
from numpy.typing import NDArray

from riderless.models.array_types import Array
from riderless.models.errors import InputError

COUNTER_PERIODS = {  # s after which a clock begins again
    "2^16 us": 2.0**16 * 1e-6, "2^24 us": 2.0**24 * 1e-6, "2^32 us": 2.0**32 * 1e-6, "2^32 ns": 2.0**32 * 1e-9,
    "2^16 ms (65.536 s)": 2.0**16 * 1e-3, "2^24 ms": 2.0**24 * 1e-3, "2^32 ms": 2.0**32 * 1e-3,
    "one minute": 60.0, "one hour, as summer time does": 3600.0, "half a day": 43_200.0, "one day": 86_400.0,
    "one week": 604_800.0,
}  # fmt: skip
SUMMER_TIME = 3600.0  # s by which a local clock goes forward in spring
ROWS_LOST = 10  # at most where a counter begins again, for its period to be recognised
LEAST_PERIOD = 50  # steps; a row that came late goes back by fewer
RAN_ON = 3  # rows with earlier times: fewer came late by themselves
CLOSE, OFTEN = 0.3, 0.2  # of the step, and of the rows that follow so closely: they came in bursts
SILENCE = 2.5  # times the usual time from burst to burst: rows are missing there
ARRIVES_WITHIN = 2.0  # times from burst to burst, by which no row of an even sensor comes earlier or later
SHORT_BURSTS = 0.005  # of the recording: the rate is then known to a thousandth
RATE_OVER = 64  # rows
SECOND_COLUMN = (
    'if another column tells the rest of the time, name both, such as column = ["sec", "nanosec"] and unit = '
    '["s", "ns"]'
)


def undo_restarts(t: Array, where: str, period: float | None, local: bool) -> tuple[Array, tuple[str, ...]]:
    """Let times (n,) [s] go on where their clock begins again, and say so.

    Parameters
    ----------
    t : (n,)
        Times, nan where one is missing.
    where : str
        Begins the remark.
    period : float or None
        Of the clock [s]; None to look for a usual one, which has to fit to within a few rows.
    local : bool
        They are a local time, which summer time moves forward by an hour.
    """
    known = np.flatnonzero(np.isfinite(t))
    steps = np.diff(t[known])
    forward = steps[steps > 0.0]
    if not len(forward) or (not local and steps.min() >= 0.0):
        return t, ()
    usual = float(np.percentile(forward, 90.0))  # from burst to burst, where rows come in bursts
    back = np.flatnonzero(steps < 0.0)
    after = np.minimum(back[:, None] + np.arange(1, RAN_ON + 1), len(known) - 1)
    back = back[t[known[after]].max(axis=1) < t[known[back]]]  # a row that came late is followed by others in time
    if period:
        name, jump, rows = f"{period:g} s", period, back[steps[back] + period > 0.0]
    else:
        name, jump, rows = _usual_period(steps, back, usual)
    undone = np.zeros(len(steps))
    undone[rows] = jump
    sprung = np.flatnonzero(np.abs(steps - SUMMER_TIME - 0.5 * ROWS_LOST * usual) < 0.5 * ROWS_LOST * usual)
    if local and len(sprung):
        undone[sprung] = -SUMMER_TIME
        name, rows = ("summer time", sprung) if not len(rows) else (name, np.sort(np.append(rows, sprung)))
    if not len(rows):
        return t, ()
    mended = t.copy()
    mended[known[1:]] += np.cumsum(undone)
    first = known[rows[0] + 1]
    more = f", and {len(rows) - 1} times more" if len(rows) > 1 else ""
    summary = (
        f"{where}: in row {first + 1}, {mended[first] - t[known[0]]:.3f} s after the first, the clock goes "
        f"{'back' if steps[rows[0]] < 0 else 'forward'} by {abs(steps[rows[0]]):.3f} s{more}; it begins again after "
        f"{name}: undone"
    )
    return mended, (summary,)


def _usual_period(steps: Array, back: NDArray[np.intp], usual: float) -> tuple[str, float, NDArray[np.intp]]:
    """Name and length [s] of the usual period that explains most steps back, and the steps that it explains."""
    counter: tuple[str, float, NDArray[np.intp]] = ("", 0.0, back[:0])
    for name, period in COUNTER_PERIODS.items():
        after = steps[back] + period
        fits = back[(after > 0.0) & (after <= ROWS_LOST * usual)]
        if period >= LEAST_PERIOD * usual and len(fits) > len(counter[2]):
            counter = (name, period, fits)
    return counter


def even_bursts(t: Array, where: str, rate: float | None) -> tuple[Array, list[str]]:
    """Times (n,) [s] of an even sensor whose rows arrive several at a time; others stay as they are.

    Each part between two silences keeps its place; within it the rows follow each other at the sensor's rate.

    Parameters
    ----------
    t : (n,)
        Times of arrival, which do not decrease.
    where : str
        Begins the remark, and the error.
    rate : float or None
        Stated rate [Hz].

    Raises
    ------
    InputError
        The rate was not stated, and bursts so long tell it too badly.
    """
    steps, lag = np.diff(t), min(RATE_OVER, len(t) // 2)
    step = 1.0 / rate if rate else float(np.median(t[lag:] - t[:-lag])) / lag
    if np.mean(steps < CLOSE * step) < OFTEN or not (steps > step).any():
        return t, []
    beat = float(np.median(steps[steps > step]))
    starts = np.concatenate([[0], np.flatnonzero(steps > SILENCE * beat) + 1])
    lengths = np.diff(np.append(starts, len(t)))
    part = np.repeat(np.arange(len(starts)), lengths)
    rows = np.arange(len(t)) - (starts + 0.5 * (lengths - 1))[part]
    late = t - (np.add.reduceat(t, starts) / lengths)[part]
    if rate is None:
        step = float(rows @ late / (rows @ rows))
    late -= rows * step
    if np.max(np.maximum.reduceat(late, starts) - np.minimum.reduceat(late, starts)) > ARRIVES_WITHIN * beat:
        return t, []
    together = len(t) / (1 + np.count_nonzero(steps >= CLOSE * step))
    summary = f"{where}: rows come {together:.3g} at a time, every {together * step * 1e3:.3g} ms"
    if rate is None and beat > SHORT_BURSTS * (t[-1] - t[0]):
        first = int(np.argmax(steps < CLOSE * step)) + 2
        raise InputError(
            f"{summary}, first row {first} with the one above it, which does not tell their rate exactly (about "
            f"{1.0 / step:.3g} Hz); {SECOND_COLUMN}, else give the sensor's rate in Hz under [time], beside column"
        )
    return t - late, [f"{summary}: these are times of arrival, so they are taken as even at {1.0 / step:.5g} Hz"]
