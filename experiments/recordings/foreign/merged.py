"""Tables merged of sensors with rates of their own: a row tells what was measured at its time, the rest is missing."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from experiments.recordings.foreign.table import Table
from models.array_types import Array

_WITHIN = 1.5  # of the usual time from value to value of a sensor: beyond it one was missed


def fill_between(at: Array, values: Array, slowest: float) -> Array:
    """Draw straight lines between the values of a sensor that tells one in some rows only.

    Where values are missing for longer than from one to the next as a rule, they stay missing.

    Parameters
    ----------
    at, values : (n,)
        Times [s] of the rows, and what the sensor told in them, nan for nothing.
    slowest : float
        Longest usual time [s] from value to value that is bridged.
    """
    known = np.isfinite(values) & np.isfinite(at)
    told, silent = np.flatnonzero(known), np.flatnonzero(~known)
    if len(told) < 2 or not len(silent):
        return values
    steps = np.diff(at[told])
    if np.median(steps) > slowest:
        return values
    after = np.searchsorted(told, silent)
    silent, after = (rows[(after > 0) & (after < len(told))] for rows in (silent, after))
    silent = silent[steps[after - 1] <= own_step_limit(at[told])]
    filled = values.copy()
    filled[silent] = np.interp(at[silent], at[told], values[told])
    return filled


def own_step_limit(at: Array) -> float:
    """Longest time [s] from value to value, told at the times ``at`` (n,), in which none was missed."""
    return _WITHIN * float(np.median(np.diff(at)))


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
        told = table.told(name)
        if np.add.reduceat(told.astype(np.intp), starts).max() > 1:
            return table
        rows = np.minimum.reduceat(np.where(told, np.arange(len(told)), len(told)), starts)
        columns[name] = table.raw(name)[np.where(rows < len(told), rows, starts)]
    return replace(table, columns={**table.columns, **columns})
