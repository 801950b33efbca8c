"""Times of a recording; columns on an even grid."""

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.recordings.foreign.clocks import SECOND_COLUMN, even_bursts, undo_restarts
from riderless.experiments.recordings.foreign.merged import MISSED_BEYOND, fill_between, increasing_rows, usual_step
from riderless.experiments.recordings.foreign.table import is_missing
from riderless.experiments.recordings.quality.checked import MIN_RECORDING_ROWS, takes_too_long
from riderless.models.array_types import Array
from riderless.models.errors import InputError

DATES_FROM = 1e7  # s; a time beyond 115 days is a date, and the recording is timed from its first row
LONGEST_STEP, SHORTEST_STEP = 0.05, 2e-5  # s between samples: 20 Hz cannot show weave, 50 kHz is a unit gone wrong
EVEN_WITHIN = 1e-6  # of a step: times that are even already
UNEVEN_BEYOND = 0.02  # of a step: times further from even than this are interpolated
MOST_BACKWARDS = 0.1  # of the rows may have to go because their time does not increase
GAPS_TOLD = 5  # gaps by name
CLOCK_RAN_ON = 3  # rows in a row with earlier times that increase: fewer came late by themselves
MOST_GAPS = 10  # times the rows there are, beyond which a file is no one recording
RATE_TOLERANCE = 0.1  # of the step, by which times may differ from the stated rate
_DAY_FIRST = re.compile(r"^(\d\d)\.(\d\d)\.(\d{4})")
_NO_DATE = "1970-01-01T"
_TIME_OF_DAY = re.compile(r"\d\d:\d\d")
ROUNDED_WITHIN = 0.75  # of the last digit of the times, which a rounded even time cannot exceed by far


@dataclass(frozen=True)
class EvenGrid:
    """Even grid of times ``t`` (n,) [s], and the ``rows`` of the file, at the times ``at`` [s], that fill it."""

    t: Array
    rows: NDArray[np.intp] | None  # None: the rows as they are
    at: Array
    gap: NDArray[np.bool_]  # (n,) where too many rows in a row are missing
    length: int  # rows of the file
    remarks: tuple[str, ...] = ()
    timed: tuple[NDArray[np.intp], Array] | None = None  # rows and times of other sensors too; None: those above

    def even(self, values: Array, slowest: float = 0.0) -> Array:
        """Interpolate a column onto the grid, linearly; a missing value stays missing in the row it belongs to.

        Parameters
        ----------
        values : (length,)
            The column.
        slowest : float
            Longest time [s] from value to value of a sensor that tells one in some rows only; see `fill_between`.
        """
        if self.rows is None and not slowest:
            return values
        rows, at = self._timed_rows()
        filled = np.full(len(values), np.nan)
        filled[rows] = fill_between(at, values[rows], slowest)
        return filled if self.rows is None else np.interp(self.t, self.at, filled[self.rows])

    def nearest(self, values: np.ndarray, known: NDArray[np.bool_] | None = None) -> np.ndarray:
        """Put a column of codes or flags onto the grid: the value of the nearest row that tells one, else zero.

        Parameters
        ----------
        values, known : (length,)
            The column, and the rows in which its sensor told something; None for all.
        """
        if self.rows is None and (known is None or known.all()):
            return values
        rows, at = self._timed_rows()
        tells = np.ones(len(rows), bool) if known is None else known[rows]
        rows, at = rows[tells], at[tells]
        if len(rows) < 2:
            return np.zeros(len(self.t), values.dtype)
        right = np.clip(np.searchsorted(at, self.t), 1, len(at) - 1)
        near = right - (self.t - at[right - 1] < at[right] - self.t)
        out = values[rows][near]
        if not tells.all():
            out[np.abs(at[near] - self.t) > MISSED_BEYOND * usual_step(at)] = 0
        return out

    def _timed_rows(self) -> tuple[NDArray[np.intp], Array]:
        if self.timed is not None:
            return self.timed
        return (np.arange(self.length) if self.rows is None else self.rows), self.at


def grid_at_rate(n: int, rate: float) -> EvenGrid:
    """Rows at a known rate [Hz], from 0 s."""
    t = np.arange(n) / rate
    return EvenGrid(t, None, t, np.zeros(n, bool), n)


def times_in_seconds(
    values: np.ndarray, factor: float, where: str, reference: np.ndarray | None = None, period: float | None = None
) -> tuple[Array, tuple[str, ...]]:
    """Times (n,) [s] from numbers or date-times, and what is to be said of their origin.

    Parameters
    ----------
    values : (n,)
        Numbers, date-times, or date-times as texts.
    factor : float
        Unit of numbers [s].
    where : str
        Begins the sentence of an error.
    reference : (m,), optional
        Times of the recording, whose origin they have; their own by default.
    period : float, optional
        Of a clock that begins again, in the unit of the numbers.

    Raises
    ------
    InputError
        A text is no date-time, or only one of the two is of date-times.
    """
    reference = values if reference is None else reference
    if (values.dtype.kind in "MOU") != (reference.dtype.kind in "MOU"):
        raise InputError(f"{where}: wanted times as the recording has them, all numbers or all date-times, found both")
    if values.dtype.kind in "MOU":
        stamps = _as_stamps(values, where)
        reference = stamps if reference is values else _as_stamps(reference, where)
        if np.isnat(reference).all():
            raise InputError(f"{where}: wanted date-times, found none; name another column")
        first = reference[~np.isnat(reference)][0]
        t = (stamps - first) / np.timedelta64(1, "ns") * 1e-9
        begins = np.datetime_as_string(first, unit="ms").removeprefix(_NO_DATE)
        origin = f"{where} begins at {begins}: here that is 0 s"
        t, restarts = undo_restarts(t, where, period, local=True)
        return t, (origin, *restarts)
    t, known = values.astype(np.float64) * factor, reference[np.isfinite(reference)]
    zero = float(known[0]) * factor if len(known) else 0.0
    t, restarts = undo_restarts(t, where, period and period * factor, local=False)
    if abs(zero) < DATES_FROM:
        return t, restarts
    return t - zero, (f"{where} counts {zero:.3f} s at its first row: here that row is at 0 s", *restarts)


def _as_stamps(values: np.ndarray, where: str) -> NDArray[np.datetime64]:
    return values.astype("datetime64[ns]") if values.dtype.kind == "M" else _stamps(values, where)


def _stamps(values: np.ndarray, where: str) -> NDArray[np.datetime64]:
    """Date-times, or times of a day, with their offset from UTC taken off where they tell one; missing ones stay so."""
    out = np.empty(len(values), "datetime64[ns]")
    for row, value in enumerate(values):
        text = "NaT" if is_missing(value) else str(value).strip().strip('"')
        zone = re.search(r"(?:Z|([+-])(\d\d):?(\d\d))$", text) if ":" in text else None
        iso = (text[: zone.start()] if zone else text).replace(" ", "T", 1).replace(",", ".")
        iso = _DAY_FIRST.sub(r"\3-\2-\1", iso.replace("/", "-"))
        try:
            out[row] = np.datetime64(_NO_DATE + iso if _TIME_OF_DAY.match(iso) else iso)
        except ValueError:
            raise InputError(
                f"{where}: wanted date-times such as 2026-11-20T12:34:56.789 or numbers, found {text!r} "
                f"in row {row + 1}; correct it"
            ) from None
        if zone and zone[1]:
            minutes = int(zone[2]) * 60 + int(zone[3])
            out[row] -= np.timedelta64(minutes if zone[1] == "+" else -minutes, "m")
    return out


def grid_of_times(t: Array, where: str, rate: float | None = None, longest_step: float = LONGEST_STEP) -> EvenGrid:
    """Make an even grid for rows at the times ``t`` (n,) [s].

    Rows whose time is missing or does not increase are left out. Times that are even but for the rounding of
    their last digit are taken as even; others are interpolated, at ``rate`` [Hz] or the usual one.

    Parameters
    ----------
    t : (n,)
        Times [s].
    where : str
        Begins the sentence of an error.
    rate : float, optional
        Stated rate [Hz].
    longest_step : float
        Between rows [s]; a longer one is a unit gone wrong.

    Raises
    ------
    InputError
        Too many rows have to go, or the step between them is no sensible one; ``where`` begins the sentence.
    """
    bursts: list[str] = []
    if np.isfinite(t).all() and len(t) >= MIN_RECORDING_ROWS and np.all(np.diff(t) >= 0.0):
        even = _straight(t) if rate is None else None
        if even is not None:
            return EvenGrid(even, None, even, np.zeros(len(t), bool), len(t))
        t, bursts = even_bursts(t, where, rate)
    good = increasing_rows(t)
    remarks = bursts + _left_out(t, good, where)
    rows = np.flatnonzero(good)
    at = t[rows]
    step = _grid_step(at, where, rate, longest_step)
    count = round((at[-1] - at[0]) / step) + 1
    if count > MOST_GAPS * len(at):
        raise InputError(
            f"{where}: wanted a recording, found {len(at)} rows in {at[-1] - at[0]:.6g} s, most of which is gaps; "
            "cut the file into recordings"
        )
    wanted = at[0] + np.arange(count) * step
    missing = _missing(at, step)
    long = takes_too_long(missing, step)
    before = np.clip(np.searchsorted(at, wanted), 1, len(at) - 1) - 1
    gap = long[before] & (wanted > at[before]) & (wanted < at[before + 1])
    remarks += _told(at, step, missing, long, where)
    apart = _steps_back(t, good)
    if len(apart):
        gap[np.rint((t[apart] - at[0]) / step).astype(np.intp)] = True  # the motion jumps there, the times do not
        remarks.append(f"{where}: the clock steps back before {_listed_times(t[apart])}: no window reaches over that")
    return EvenGrid(wanted, rows, at, gap, len(t), tuple(remarks))


def _left_out(t: Array, good: NDArray[np.bool_], where: str) -> list[str]:
    """Remark about rows whose time does not increase, none where all do; too many are refused."""
    lost = int(np.count_nonzero(~good))
    if len(t) - lost < MIN_RECORDING_ROWS or lost > MOST_BACKWARDS * len(t):
        raise InputError(
            f"{where}: wanted times that increase, found {lost} of {len(t)} that do not; {_first_wrong(t)}"
        )
    if not lost:
        return []
    first = int(np.flatnonzero(~good)[0])
    beside = f"after {t[first - 1]:.3f} s" if first else "at the beginning"
    return [f"{where}: {lost} rows without a time or with one that does not increase, first {beside}, left out"]


def _first_wrong(t: Array) -> str:
    """Say which row (n,) has the first time that does not increase, by how much, and what mends that."""
    known = np.flatnonzero(np.isfinite(t))
    steps = np.diff(t[known])
    if len(known) < 2 or np.all(steps > 0.0):
        row = int(np.flatnonzero(~np.isfinite(t))[0]) if len(known) < len(t) else 0
        return f"row {row + 1} has none: leave column out under [time], and give the rate in Hz"
    wrong = int(np.flatnonzero(steps <= 0.0)[0])
    row, after = known[wrong + 1] + 1, t[known[wrong]] - t[known[0]]
    if steps[wrong] < 0.0:
        return (
            f"row {row}, {after:.3f} s after the first, is {-steps[wrong]:.6g} s before the row above it: if a counter "
            "begins again there, give its period as wraps under [time], in the column's unit; else cut the file there, "
            "or leave column out and give the rate in Hz"
        )
    stands = int(np.argmax(np.append(steps[wrong:], 1.0) > 0.0)) + 1
    return (
        f"{stands} rows from row {row - 1} on have the same: {SECOND_COLUMN}, else leave column out and give the rate "
        "in Hz"
    )


def _steps_back(t: Array, good: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Rows at which times (n,) go on increasing after the clock went back and ran on; a row that came late is none."""
    known = np.flatnonzero(np.isfinite(t))
    edges = np.flatnonzero(np.diff(good[known].astype(np.int8), prepend=1))  # rows left out begin, and end, in turn
    return np.array(
        [
            known[last]
            for first, last in zip(edges[::2], edges[1::2], strict=False)
            if last - first >= CLOCK_RAN_ON and np.all(np.diff(t[known[first:last]]) > 0.0)
        ],
        dtype=np.intp,
    )


def _listed_times(t: Array) -> str:
    """Write the first few times [s]."""
    return ", ".join(f"{time:.3f}" for time in t[:GAPS_TOLD]) + (" ... s" if len(t) > GAPS_TOLD else " s")


def _grid_step(at: Array, where: str, rate: float | None, longest_step: float) -> float:
    """Step of the grid [s]: that of the stated rate, else the usual one of the times ``at``, to their last digit."""
    usual = usual_step(at)
    step = 1.0 / rate if rate else usual
    if abs(step - usual) > RATE_TOLERANCE * step:
        raise InputError(
            f"{where}: wanted steps of {step:g} s, for the mapping says {rate:g} Hz, found {usual:g} s; "
            "correct one of them"
        )
    if not SHORTEST_STEP <= step <= longest_step:
        factor = "ms" if step > longest_step else "s"
        raise InputError(
            f"{where}: wanted steps between {SHORTEST_STEP:g} and {longest_step:g} s, found {step:g} s; "
            f"is its unit {factor}?"
        )
    return _fine(at, step) if rate is None else step


def grid_of_sensor(t: Array, known: NDArray[np.bool_], where: str, rate: float | None = None) -> EvenGrid:
    """Make an even grid for the rows in which one sensor told something, of a table merged of several.

    Parameters
    ----------
    t, known : (n,)
        Times [s] of all rows, and those of the sensor.
    where, rate
        As of `grid_of_times`, which says what is raised.
    """
    timed, own = np.flatnonzero(increasing_rows(t)), np.flatnonzero(known)
    grid = grid_of_times(t[own], where, rate)
    rows = own if grid.rows is None else own[grid.rows]
    return replace(grid, rows=rows, length=len(t), timed=(timed, t[timed]))


def _missing(at: Array, step: float) -> NDArray[np.intp]:
    """Rows (n - 1,) that are missing after each row, by the place of every row in a regular beat."""
    beats = at / step
    phase = float(np.angle(np.exp(2j * np.pi * beats).mean()) / (2 * np.pi))
    return np.maximum(np.diff(np.rint(beats - phase).astype(np.intp)) - 1, 0)


def _straight(at: Array) -> Array | None:
    """Even times instead of these, when only rounding keeps them from being even."""
    n = np.arange(len(at))
    slope, first = np.polyfit(n, at - at[0], 1)
    if not SHORTEST_STEP <= slope <= LONGEST_STEP:
        return None
    off = np.abs(at - at[0] - first - slope * n).max()
    if off < EVEN_WITHIN * slope:
        return at  # as they were written: 9.9 s stays 9.9 s
    digit = _digit(at)
    if off > max(UNEVEN_BEYOND * slope, ROUNDED_WITHIN * digit):
        return None
    if digit > UNEVEN_BEYOND * slope:  # the ends are rounded too
        return at[0] + first + slope * n
    return at[0] + n * (at[-1] - at[0]) / (len(at) - 1)


def _digit(at: Array) -> float:
    """Last decimal digit [s] that the times are written with."""
    for digits in range(1, 10):
        scaled = at * 10.0**digits
        if np.abs(scaled - np.rint(scaled)).max() < 1e-5 * max(1.0, np.abs(scaled).max() * 1e-9):
            return 10.0**-digits
    return 0.0


def _fine(at: Array, step: float) -> float:
    """Refine the usual step over more and more rows: jitter and gaps drop out of the median."""
    lag = 1
    while lag < len(at):
        spans = at[lag:] - at[:-lag]
        step = float(np.median(spans / np.maximum(np.rint(spans / step), 1.0)))
        lag *= 4
    return step


def _told(at: Array, step: float, missing: NDArray[np.intp], long: NDArray[np.bool_], where: str) -> list[str]:
    """Sentences about what the grid had to fill."""
    remarks = []
    for i in np.flatnonzero(missing):
        rows = "a row is" if missing[i] == 1 else f"{missing[i]} rows are"
        fate = "not free" if long[i] else "bridged"
        remarks.append(f"{where}: {rows} missing from {at[i]:.3f} to {at[i + 1]:.3f} s, {fate}")
    if len(remarks) > GAPS_TOLD:
        remarks = [*remarks[:GAPS_TOLD], f"{where}: {len(remarks) - GAPS_TOLD} more gaps like these"]
    usual = np.diff(at)[missing == 0]
    if len(usual) and np.abs(usual - step).max() > UNEVEN_BEYOND * step:
        remarks.append(
            f"{where}: steps from {usual.min() * 1e3:.4g} to {usual.max() * 1e3:.4g} ms, "
            f"brought to an even {step * 1e3:.4g} ms by straight lines between the rows"
        )
    return remarks
