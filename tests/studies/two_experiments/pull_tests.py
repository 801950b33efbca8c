"""Drive gain and break-away torque from pulls at the bars against a spring balance, written down by hand."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t, theilslopes

from riderless.hil.commissioning.pull_table import read_pull_table
from riderless.models.array_types import Array
from riderless.models.errors import InputError

LINEAR_FROM = 1.0  # N m commanded, beyond the break-away
MOVES = 0.05  # N m at the bars, by which the drive has moved
MOST_SPREAD = 0.3  # of a slope, by its own 95 % interval: a column that jumps (digits left out) is no line


@dataclass(frozen=True)
class PullTests:
    """Drive gain [N m per N m commanded] over the columns, and the command that first moves the bars [N m]."""

    slopes: tuple[float, ...]
    left_out: int  # columns that are no line
    break_away: tuple[float, ...]

    @property
    def gain(self) -> tuple[float, float, float]:
        """Mean gain over the columns, and its 95 % interval from their scatter (Student's t)."""
        mean, n = float(np.mean(self.slopes)), len(self.slopes)
        half = float(t.ppf(0.975, n - 1) * np.std(self.slopes, ddof=1) / np.sqrt(n))
        return mean, mean - half, mean + half


def read_pull_tests(folder: Path) -> PullTests:
    """Read every table of a folder, see `riderless.hil.commissioning.pull_table.read_pull_table`.

    A slope is the median of the slopes of all pairs of rows (Theil and Sen), which misprints do not move.

    Raises
    ------
    InputError
        There is no table.
    """
    slopes, break_away, left_out = [], [], 0
    for path in sorted(one for one in folder.glob("torque*") if one.is_file()):
        table = read_pull_table(path)
        for torque in (table.overcoming, table.yielding):
            slope = _slope(table.command, torque)
            break_away.append(float(table.command[np.argmax(torque > MOVES)]))
            if slope is None:
                left_out += 1
            else:
                slopes.append(slope)
    if not slopes:
        raise InputError(f"wanted tables of command against spring balance in {folder}, found none")
    return PullTests(tuple(slopes), left_out, tuple(break_away))


def _slope(command: Array, torque: Array) -> float | None:
    """Slope beyond the break-away; None where the column is no line."""
    rows = command >= LINEAR_FROM
    slope, _, low, high = theilslopes(torque[rows], command[rows])
    return float(slope) if high - low < MOST_SPREAD * slope else None
