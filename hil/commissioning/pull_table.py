"""Table of a pull test, written by hand.

Command against what a spring balance at the handlebar shows.
"""

import csv
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from riderless.hil.commissioning.sensor_calibration import EARTH_GRAVITY
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.text_file import csv_rows, read_text_file, why_unreadable

LEAST_PULL_ROWS = 8  # of a table, on the way up
_ARM = re.compile(r"arm\s*=\s*([\d.]+)\s*mm", re.IGNORECASE)


class PullTable(NamedTuple):
    """Readings of one direction of turning, as sizes; the commands rise, and may fall again."""

    name: str
    command: Array  # N m, (n,)
    overcoming: Array  # N m at the steer, (n,): the drive against balance and friction
    yielding: Array  # N m at the steer, (n,): a person against drive and friction
    side: int = 1  # sign of the commands as they were written: +1 to the right

    @property
    def rising(self) -> int:
        """Rows on the way up; the others are on the way down."""
        return int(np.argmax(self.command)) + 1


def read_pull_table(path: Path) -> PullTable:
    """Read a table: command [N m] and two readings of the balance [kg] a row, turning one way.

    The commands grow from row to row; after the greatest they may fall again, which tells hysteresis. The arm stands in
    a column ``arm_in_mm`` or in a line above the header, as ``arm = 315mm``. Which of the two readings was the drive's
    push and which the person's is told by their size.

    Raises
    ------
    InputError
        One sentence, for what is no such table.
    """
    try:
        lines = read_text_file(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"no pull test can be read at {path} ({why_unreadable(error)}): give a table of text"
        ) from None
    head = next((i for i, line in enumerate(lines) if line.lower().startswith("command")), None)
    if head is None:
        raise InputError(f"the pull test {path} wants a line of column names that begins with 'command', found none")
    names = [name.strip() for name in lines[head].split(",")]
    try:
        rows = [row for row in csv_rows(csv.reader(lines[head + 1 :])) if any(cell.strip() for cell in row)]
    except ValueError as error:
        raise InputError(f"the pull test {path} cannot be read ({why_unreadable(error)}): correct that row") from None
    balance = [i for i, name in enumerate(names) if name.lower().startswith("kg")]
    if len(balance) != 2 or len(rows) < LEAST_PULL_ROWS:
        raise InputError(
            f"the pull test {path} wants two columns of kg and {LEAST_PULL_ROWS} rows or more, found {len(balance)} "
            f"and {len(rows)}: write one table a direction, the drive's push and the person's beside one another"
        )
    numbers = np.array([[_number(path, row, i) for i in (0, *balance)] for row in rows])
    command = numbers[:, 0]
    if command.min() < 0.0 < command.max():
        raise InputError(
            f"the pull test {path} wants commands of one sign, found {command.min():g} to {command.max():g} N m: write "
            "one table a direction"
        )
    _require_up_and_down(path, np.abs(command))
    arm = _arm(path, lines[:head], names, rows)
    overcoming, yielding = sorted(EARTH_GRAVITY * arm * np.abs(numbers[:, 1:].T), key=np.sum)
    return PullTable(path.name, np.abs(command), overcoming, yielding, -1 if command.min() < 0.0 else 1)


def _require_up_and_down(path: Path, command: Array) -> None:
    """Refuse commands that do not grow, or that do not fall once they have begun to; raises InputError."""
    steps, top = np.diff(command), int(np.argmax(command))
    if not (np.all(steps[:top] > 0.0) and np.all(steps[top:] < 0.0)):
        raise InputError(
            f"the commands of the pull test {path} must grow from row to row, and fall after the greatest if it was "
            "pulled on the way down too: sort the table"
        )
    if top + 1 < LEAST_PULL_ROWS:
        raise InputError(
            f"the pull test {path} wants {LEAST_PULL_ROWS} rows or more on the way up, found {top + 1}: pull more often"
        )


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
    arms_given = [match.group(1) for match in map(_ARM.search, above) if match]
    if "arm_in_mm" in names:
        i = names.index("arm_in_mm")
        arms_given += [row[i] for row in rows if len(row) > i and row[i].strip()]
    try:
        arms = {1e-3 * float(arm) for arm in arms_given}
    except ValueError:
        arms = set()
    if len(arms) != 1 or not 0.01 <= min(arms) <= 2.0:
        raise InputError(
            f"the pull test {path} wants the balance's arm about the steer axis, 10 to 2000 mm, once, found "
            f"{', '.join(arms_given) or 'none'}: write 'arm = 315mm' above the column names, or a column arm_in_mm"
        )
    return min(arms)
