"""Data of a recording's picture over time.

Signals, states of the supervisor, kicks, windows with their verdicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.windows.kicks import KickRules, find_kicks
from riderless.experiments.datatypes import Comparison, Rejected, Response, StateSpan
from riderless.experiments.reports.timeline.ridden_path import RiddenPath
from riderless.models.array_types import Array

AGREES, DIFFERS, REJECTED = "agrees", "differs", "rejected"


@dataclass(frozen=True)
class _WindowSpan:
    """Time [s] of a window, its number in the report and how it compares; rejected parts have no number."""

    t_start: float
    t_end: float
    number: int | None
    verdict: str  # AGREES, DIFFERS or REJECTED


@dataclass(frozen=True, eq=False)
class Timeline:
    """Everything that a picture of one recording over time shows."""

    response: Response
    kicks: tuple[float, ...]  # s
    windows: tuple[_WindowSpan, ...]
    ridden: RiddenPath | None = None  # where it was asked to ride a path


def timeline_of(
    response: Response, windows: Sequence[tuple[int, Comparison]] = (), rejected: Sequence[Rejected] = ()
) -> Timeline:
    """Gather what belongs to one recording.

    Parameters
    ----------
    response : Response
        The recording.
    windows : sequence of (int, Comparison)
        Windows of this and of other recordings, with their numbers.
    rejected : sequence of Rejected
        Parts of this and of other recordings.
    """
    spans = [
        _WindowSpan(c.window.t_start, c.window.t_end, number, AGREES if c.agrees else DIFFERS)
        for number, c in windows
        if c.key == response.key
    ]
    spans += [_WindowSpan(r.t_start, r.t_end, None, REJECTED) for r in rejected if r.source == response.source]
    return Timeline(response, kick_times(response), tuple(spans))


def kick_times(response: Response) -> tuple[float, ...]:
    """Times [s] of the kicks and releases that were marked, or of the kicks that the lean rate shows."""
    marked = tuple(marker.t for marker in response.markers if marker.kind in ("kick", "release"))
    if marked or len(response.t) < 10:
        return marked
    return tuple(float(response.t[kick.onset]) for kick in find_kicks(response, KickRules()))


def states_text(states: Sequence[StateSpan]) -> str:
    """States in words, each with the time at which it began."""
    return ", ".join(f"{span.state.name} {span.t_start:.1f} s" for span in states)


def decimated(t: Array, y: Array, columns: int) -> tuple[Array, Array]:
    """Lowest and highest value in each column of a picture, one after the other, so that no peak is lost.

    Parameters
    ----------
    t, y : array (n,)
        Times [s] and values, nan where missing.
    columns : int
        Of the picture; a signal with no more than two samples a column stays as it is.

    Returns
    -------
    t, y : array (2 columns,) or (n,)
    """
    if len(y) <= 2 * columns:
        return t, y
    at, low, high = min_max(t, y, columns)
    return np.repeat(at, 2), np.column_stack([low, high]).ravel()


def min_max(t: Array, y: Array, bins: int) -> tuple[Array, Array, Array]:
    """Find the lowest and highest value in each of at most ``bins`` equal runs of samples; nan counts for nothing.

    Returns
    -------
    t, low, high : arrays (m,)
        Time [s] of the first sample of each run, and its values.
    """
    edges = np.linspace(0, len(y), min(bins, len(y)) + 1).astype(int)[:-1]
    return t[edges], np.fmin.reduceat(y, edges), np.fmax.reduceat(y, edges)
