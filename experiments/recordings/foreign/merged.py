"""Merged tables of sensors with different rates.

A row has what was measured at its time, the rest is missing.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.recordings.foreign.table import Table
from riderless.models.array_types import Array
from riderless.models.errors import InputError

MISSED_BEYOND = 1.5  # of the usual time from reading to reading of a sensor: one was missed there


def draw_lines(t: Array, at: Array, values: Array, slowest: float) -> Array:
    """Draw straight lines between the readings of a sensor; nan where it missed one, and outside of them.

    Parameters
    ----------
    t : (n,)
        Times [s] at which the lines are wanted.
    at, values : (m,)
        Its times [s] and readings, nan for nothing.
    slowest : float
        Longest usual time [s] from reading to reading that lines are drawn over.
    """
    good = increasing_rows(at) & np.isfinite(values)
    at, values = at[good], values[good]
    if len(at) < 2 or (usual := usual_step(at)) > slowest:
        return np.full(len(t), np.nan)
    after = np.clip(np.searchsorted(at, t), 1, len(at) - 1)
    missed = np.diff(at)[after - 1] > MISSED_BEYOND * usual
    return np.where(missed, np.nan, np.interp(t, at, values, left=np.nan, right=np.nan))


def fill_between(at: Array, values: Array, slowest: float) -> Array:
    """Fill the rows in which a sensor told nothing, where it missed no reading; others stay missing.

    Parameters
    ----------
    at, values, slowest
        As of `draw_lines`, of all rows (n,).
    """
    silent = ~np.isfinite(values)
    if not silent.any():
        return values
    filled = values.copy()
    filled[silent] = draw_lines(at[silent], at, values, slowest)
    return filled


def increasing_rows(t: Array) -> NDArray[np.bool_]:
    """Rows (n,) whose time is known and later than all before."""
    known = np.isfinite(t)
    ahead = np.maximum.accumulate(np.where(known, t, -np.inf))
    return known & (t > np.concatenate([[-np.inf], ahead[:-1]]))


def usual_step(at: Array) -> float:
    """Time from reading to reading [s], as a rule, of those at the times ``at`` (n,)."""
    return float(np.median(np.diff(at)))


def stack_topics(table: Table, time: str, wanted: Collection[str]) -> Table:
    """Make one table of topics that have times of their own: a row for each message, with the columns of its topic.

    Parameters
    ----------
    table : Table
    time : str
        Field that tells the time of each topic, or its column of one of them.
    wanted : collection of str
        Columns that matter.

    Raises
    ------
    InputError
        A topic has no such field.
    """
    names = {table.whole_name(name) for name in wanted if name != time}
    own = table.find(time) or [table.whole_name(time)]
    field = own[0].removeprefix(f"{table.topics[own[0]]} ")
    topics = list(dict.fromkeys(table.topics[name] for name in names)) or [table.topics[own[0]]]
    for topic in topics:
        if f"{topic} {field}" not in table.columns:
            raise InputError(
                f"wanted {field} on every topic that is used of {table.source}, found none on {topic}; name another "
                "time under [time], such as log_time"
            )
    stamps = [table.columns[f"{topic} {field}"] for topic in topics]
    order = np.argsort(np.concatenate(stamps), kind="stable")
    ends = np.cumsum([len(stamp) for stamp in stamps])
    columns = {time: np.concatenate(stamps)[order]}
    for name in names:
        values, k = table.columns[name], topics.index(table.topics[name])
        texts = values.dtype.kind not in "biuf"
        whole = np.full(ends[-1], None, object) if texts else np.full(ends[-1], np.nan)
        whole[ends[k] - len(values) : ends[k]] = values
        columns[name] = whole[order]
    unread = tuple(name for name in table.columns if name not in columns)
    return replace(table, columns=columns, unread=(*table.unread, *unread))


def join_rows(table: Table, time: str, wanted: Collection[str]) -> Table:
    """Make one row of rows that have the same time and tell different columns.

    Where a wanted column has two values at a time the table stays as it is: its times are rounded, or wrong.

    Parameters
    ----------
    table : Table
    time : str
        Column of its times.
    wanted : collection of str
        Columns that matter.
    """
    times = table.raw(time)
    first = np.concatenate([[True], times[1:] != times[:-1]])
    if first.all():
        return table
    starts, columns = np.flatnonzero(first), {time: times[first]}
    for name in wanted:
        if name == time or not table.has(name) or len(table.raw(name)) != len(times):
            continue
        known = table.told(name)
        if np.add.reduceat(known.astype(np.intp), starts).max() > 1:
            return table
        rows = np.minimum.reduceat(np.where(known, np.arange(len(known)), len(known)), starts)
        columns[name] = table.raw(name)[np.where(rows < len(known), rows, starts)]
    return replace(table, columns={**table.columns, **columns})
