"""Pull test of a steer drive: the torque commanded against what a spring balance at the handlebar shows.

A drive's command is not its torque. Against the balance the drive stands still, and dry friction takes the side of
whoever does not move the other. Where the drive has to overcome it the balance has ``gain (T - dead_band) - friction``,
where a person overcomes drive and friction together ``gain (T - dead_band) + friction``, nothing below zero. So both
branches are hinges ``max(0, slope (T - onset))``; half the distance of their onsets is friction, their middle the dead
band, and what their slopes differ by is hysteresis that grows with the load.

Hinges are fitted by least absolute deviations, for such tables are written by hand: a misprint or a jump of the balance
costs its own row. Standard errors are the larger of two: scatter between the tables (turning left and right, another
arm), and a jackknife that leaves out blocks of `PULL_BLOCK` rows at once, for what sticks does so over some rows.
"""

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from hil.commissioning.sensor_calibration import EARTH_GRAVITY, Estimate
from models.array_types import Array
from models.errors import InputError
from models.text_file import read_text_file

PULL_QUANTITIES = {"gain": "", "dead_band": "N m", "friction": "N m", "break_away": "N m", "hysteresis": "N m"}
PULL_BLOCK = 4  # rows
LEAST_PULL_ROWS = 8  # of a table
_ONSETS, _REFINED = 121, 41  # onsets that are tried, and again around the best
_ARM = re.compile(r"arm\s*=\s*([\d.]+)\s*mm", re.IGNORECASE)


class PullTable(NamedTuple):
    """Readings of one direction of turning, as sizes."""

    name: str
    command: Array  # N m, (n,), rising
    overcoming: Array  # N m at the steer, (n,): the drive against balance and friction
    yielding: Array  # N m at the steer, (n,): a person against drive and friction


@dataclass(frozen=True)
class PullEstimate:
    """Properties of a drive from its pull test.

    Attributes
    ----------
    found : mapping of name to Estimate
        `PULL_QUANTITIES`: ``gain`` [N m made per N m commanded], ``dead_band`` [N m commanded that make none],
        ``friction`` [N m], ``break_away`` [N m commanded at which the balance first shows something] and ``hysteresis``
        [N m between the branches at the greatest command].
    freedom : int
        Degrees of freedom behind the errors.
    residual : float
        Median size of what is not explained [N m].
    """

    found: dict[str, Estimate]
    freedom: int
    residual: float

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a quantity."""
        value, error = self.found[name]
        reach = float(student.ppf(0.5 + 0.5 * level, self.freedom)) * error
        return value - reach, value + reach


class _Hinge(NamedTuple):
    slope: float
    onset: float  # N m commanded

    def at(self, command: Array) -> Array:
        return np.maximum(0.0, self.slope * (command - self.onset))


def read_pull_table(path: Path) -> PullTable:
    """Read a table: command [N m] and two readings of the balance [kg] a row, turning one way.

    The arm stands in a column ``arm_in_mm`` or in a line above the header, as ``arm = 315mm``. Which of the two
    readings was the drive's push and which the person's is told by their size.

    Raises
    ------
    InputError
        One sentence, for what is no such table.
    """
    try:
        lines = read_text_file(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"no pull test can be read at {path} ({error}): give a table of text") from None
    head = next((i for i, line in enumerate(lines) if line.lower().startswith("command")), None)
    if head is None:
        raise InputError(f"the pull test {path} wants a line of column names that begins with 'command', found none")
    names = [name.strip() for name in lines[head].split(",")]
    rows = [row for row in csv.reader(lines[head + 1 :]) if any(cell.strip() for cell in row)]
    balance = [i for i, name in enumerate(names) if name.lower().startswith("kg")]
    if len(balance) != 2 or len(rows) < LEAST_PULL_ROWS:
        raise InputError(
            f"the pull test {path} wants two columns of kg and {LEAST_PULL_ROWS} rows or more, found {len(balance)} "
            f"and {len(rows)}: write one table a direction, the drive's push and the person's beside one another"
        )
    numbers = np.array([[_number(path, row, i) for i in (0, *balance)] for row in rows])
    if not np.all(np.diff(np.abs(numbers[:, 0])) > 0.0):
        raise InputError(f"the commands of the pull test {path} must grow from row to row: sort the table")
    readings = sorted(EARTH_GRAVITY * _arm(path, lines[:head], names, rows) * np.abs(numbers[:, 1:].T), key=np.sum)
    return PullTable(path.name, np.abs(numbers[:, 0]), *readings)


def _number(path: Path, row: list[str], i: int) -> float:
    try:
        value = float(row[i])
    except (IndexError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"the pull test {path} wants a number in column {i + 1} of each row, found {','.join(row)!r}")
    return value


def _arm(path: Path, above: list[str], names: list[str], rows: list[list[str]]) -> float:
    """Arm of the balance [m]; raises InputError."""
    told = [found.group(1) for found in map(_ARM.search, above) if found]
    if "arm_in_mm" in names:
        i = names.index("arm_in_mm")
        told += [row[i] for row in rows if len(row) > i and row[i].strip()]
    try:
        arms = {1e-3 * float(arm) for arm in told}
    except ValueError:
        arms = set()
    if len(arms) != 1 or not 0.01 <= min(arms) <= 2.0:
        raise InputError(
            f"the pull test {path} wants the balance's arm about the steer axis, 10 to 2000 mm, once, found "
            f"{', '.join(told) or 'none'}: write 'arm = 315mm' above the column names, or a column arm_in_mm"
        )
    return min(arms)


def fit_pull_test(tables: Sequence[PullTable]) -> PullEstimate:
    """Fit gain, dead band, friction, break-away and hysteresis to one or more tables.

    Raises
    ------
    InputError
        When there is none, or a drive that hardly pushes.
    """
    if not tables:
        raise InputError("a pull test wants a table or more, found none")
    most = min(float(table.command[-1]) for table in tables)
    each = np.array([_quantities(table, most) for table in tables])
    spread = [_jackknife(table, most) for table in tables]
    n, within = len(tables), np.mean([variance for variance, _ in spread], axis=0) / len(tables)
    between = np.var(each, axis=0, ddof=1) / n if n > 1 else np.zeros(each.shape[1])
    error, value = np.sqrt(np.maximum(between, within)), each.mean(axis=0)
    found = {name: Estimate(float(v), float(e)) for name, v, e in zip(PULL_QUANTITIES, value, error, strict=True)}
    left = np.concatenate([np.abs(residual) for table in tables for residual in _residuals(table)])
    return PullEstimate(found, n - 1 if n > 1 else spread[0][1] - 1, float(np.median(left)))


def _branches(table: PullTable) -> tuple[_Hinge, _Hinge]:
    """Hinges of both branches; that of the person where the drive pushes too, for below the command makes nothing."""
    drive = _fit_hinge(table.command, table.overcoming, 0.0)
    beyond = table.command >= drive.onset
    return drive, _fit_hinge(table.command[beyond], table.yielding[beyond], -table.command[-1])


def _residuals(table: PullTable) -> tuple[Array, Array]:
    drive, person = _branches(table)
    beyond = table.command >= drive.onset
    return table.overcoming - drive.at(table.command), (table.yielding - person.at(table.command))[beyond]


def _quantities(table: PullTable, most: float) -> Array:
    """`PULL_QUANTITIES` of one table; hysteresis at the command ``most`` [N m]."""
    drive, person = _branches(table)
    gain = 0.5 * (drive.slope + person.slope)
    width = person.slope * (most - person.onset) - drive.slope * (most - drive.onset)
    middle, half = 0.5 * (drive.onset + person.onset), 0.5 * (drive.onset - person.onset)
    return np.array([gain, middle, gain * half, drive.onset, width])


def _jackknife(table: PullTable, most: float) -> tuple[Array, int]:
    """Variances of `_quantities` from leaving out blocks of rows, and how many blocks there are."""
    rows = np.arange(len(table.command))
    blocks = [rows[i : i + PULL_BLOCK] for i in range(0, len(rows), PULL_BLOCK)]
    kept = [np.delete(rows, block) for block in blocks]
    each = np.array([_quantities(PullTable(table.name, *(column[k] for column in table[1:])), most) for k in kept])
    n = len(blocks)
    return (n - 1) / n * np.sum((each - each.mean(axis=0)) ** 2, axis=0), n


def _fit_hinge(command: Array, torque: Array, least: float) -> _Hinge:
    """Hinge of least absolute deviations, its onset from ``least`` [N m] to four fifths of the commands."""
    low, high = least, command[0] + 0.8 * (command[-1] - command[0])
    best = _best_onset(command, torque, np.linspace(low, high, _ONSETS))
    step = (high - low) / (_ONSETS - 1)
    onset = _best_onset(command, torque, np.linspace(max(low, best - step), min(high, best + step), _REFINED))
    slope = _slope(command, torque, onset)
    if slope <= 0.0:
        raise InputError(
            f"the balance shows no torque that grows with the command up to {command[-1]:g} N m: pull further"
        )
    return _Hinge(slope, onset)


def _best_onset(command: Array, torque: Array, onsets: Array) -> float:
    def deviation(onset: float) -> float:
        return float(np.sum(np.abs(torque - _Hinge(_slope(command, torque, onset), onset).at(command))))

    return float(min(onsets, key=deviation))


def _slope(command: Array, torque: Array, onset: float) -> float:
    """Slope of least absolute deviations beyond an onset: the median of the quotients, weighted with their divisors."""
    reach = command - onset
    quotients, weights = torque[reach > 0.0] / reach[reach > 0.0], reach[reach > 0.0]
    order = np.argsort(quotients)
    passed = np.cumsum(weights[order])
    return float(quotients[order][np.searchsorted(passed, 0.5 * passed[-1])])
