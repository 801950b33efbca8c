"""Tables of named columns, for any format."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.recordings.quality.checked import MIN_RECORDING_ROWS
from riderless.models.array_types import Array
from riderless.models.errors import InputError, did_you_mean

LONGEST_TEXT = 60  # characters of a wrong value in a sentence
MOST_TABLE_COLUMNS = 10_000
MATLAB_CELLS = "cell "  # and how many
_MATLAB_LINES = {
    "timetable": "writetimetable({0}, '{0}.csv')",
    "table": "writetable({0}, '{0}.csv')",
    "datetime": "{0} = seconds({0} - {0}(1)), and save it again",
    "duration": "{0} = seconds({0}), and save it again",
    "timeseries": "t = {0}.Time; x = {0}.Data; save('{0}.mat', 't', 'x')",
    "string": "{0} = cellstr({0}), and save it again",
}
WORDS_FOR_MISSING = (  # in small letters
    "na", "n/a", "#n/a", "#na", "<na>", "null", "nil", "none", "nan", "-nan", "nan(ind)", "-nan(ind)", "1.#qnan",
    "-1.#qnan", "1.#snan", "1.#ind", "-1.#ind", "1.#inf", "-1.#inf", "nat", "missing", "-", "--", "---", ".", "?",
)  # fmt: skip
_COLUMN_OF_MATRIX = re.compile(r"\[\d+\]$")
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:([,.' \u00a0\u2019])\d{3}(?=\1|[.,]))(?:\1\d{3})*[.,]\d+")
_DATE_OR_TIME = re.compile(r"(\d{4}[-/]\d\d[-/]\d\d|\d\d\.\d\d\.\d{4})(\D|$)|\d\d:\d\d:")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns as the file has them: numbers (n,) with nan where a value is missing, texts, or date-times.

    Files that hold more than one table give all columns, of any length. A name may be shortened to its last
    part where that is unique: ``phi_dot`` for ``log.imu.phi_dot``.
    """

    path: Path
    columns: Mapping[str, np.ndarray]
    meta: Mapping[str, str] = field(default_factory=dict)  # texts that the file carries beside its columns
    first_line: int = 1  # of the first row, where rows are lines of a text
    unread: tuple[str, ...] = ()  # columns that the file has beside those that were wanted of it
    remarks: tuple[str, ...] = ()  # on how it was read
    objects: Mapping[str, str] = field(default_factory=dict)  # what only MATLAB can read: class by name
    topics: Mapping[str, str] = field(default_factory=dict)  # of columns "topic field", each with times of their own

    @property
    def source(self) -> str:
        """Name of the file."""
        return self.path.name

    def with_rows(self) -> "Table":
        """Itself; raises InputError where even its longest column is too short to be a recording."""
        if self.objects and not self.columns and not self.unread:
            raise InputError(_matlab_remedy(*next(iter(self.objects.items())), self.source))
        rows = max((len(values) for values in self.columns.values()), default=MIN_RECORDING_ROWS if self.unread else 0)
        if rows < MIN_RECORDING_ROWS:
            raise InputError(f"wanted at least {MIN_RECORDING_ROWS} rows in {self.path}, found {rows}; record it again")
        return self

    def has(self, name: str) -> bool:
        """Is there such a column?"""
        return bool(self.find(name))

    def raw(self, name: str) -> np.ndarray:
        """Column (n,) as the file has it.

        Raises
        ------
        InputError
            There is none of that name, or several of that last part.
        """
        return self.columns[self.whole_name(name)]

    def whole_name(self, name: str) -> str:
        """Name of a column as the file has it. Raises as `raw` does."""
        matches = self.find(name)
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise InputError(
                f"wanted one column {name!r} in {self.source}, found {', '.join(matches)}; give the whole name"
            )
        for object_name, kind in self.objects.items():
            if dotted_name(name).startswith((object_name, f"{object_name}.")) or not self.columns:
                raise InputError(_matlab_remedy(object_name, kind, self.source))
        known = [*self.columns, *self.unread]
        listed = ", ".join(known[:20]) + (" ..." if len(known) > 20 else "")
        hint = did_you_mean(name, known, "give one of those", n=3)
        raise InputError(f"wanted a column {name!r} in {self.source}, found {listed or 'no columns'}; {hint}")

    def told(self, name: str) -> NDArray[np.bool_]:
        """Rows (n,) in which a column has a value. Raises as `raw` does."""
        values = self.raw(name)
        if values.dtype.kind == "f":
            return np.isfinite(values)
        if values.dtype.kind != "O":
            return np.ones(len(values), bool)
        return np.array([not is_missing(value) for value in values], bool)

    def numbers(self, name: str) -> Array:
        """Column (n,) of numbers; a missing one is nan. Raises as `raw` does, and where there is text."""
        values = self.raw(name)
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        if values.dtype.kind == "M":
            raise InputError(
                f"wanted numbers in column {name} of {self.source}, found date-times; they serve as time only"
            )
        out = np.empty(len(values))
        for row, text in enumerate(values):
            out[row] = self._number(name, row, text)
        return out

    def _number(self, name: str, row: int, text: Any) -> float:
        if is_missing(text):
            return np.nan
        try:
            return float(text)
        except (ValueError, TypeError, OverflowError):
            raise InputError(
                f"wanted numbers, found '{str(text)[:LONGEST_TEXT]}' in column {name}, line {row + self.first_line} of "
                f"{self.path}; {_remedy(str(text).strip(), first=row == 0)}"
            ) from None

    def find(self, name: str) -> list[str]:
        """Whole names of the columns that a name, or its last part, may mean."""
        if name in self.columns:
            return [name]
        dotted = _dotted_topic if self.topics else dotted_name
        wanted = dotted(name)
        whole = [known for known in self.columns if dotted(known) == wanted]
        tails = [known for known in self.columns if dotted(known).endswith("." + wanted)]
        long = [known for known in tails if len(self.columns[known]) >= MIN_RECORDING_ROWS]
        return whole or long or tails


def _matlab_remedy(name: str, kind: str, source: str) -> str:
    """Say what a variable is that only MATLAB can read, and what to type there."""
    if kind.startswith(MATLAB_CELLS):
        return (
            f"{name} in {source} holds {kind.removeprefix(MATLAB_CELLS)} cells, of which one is wanted; choose it in "
            f"MATLAB: one = {name}{{1}}; save('one.mat', 'one')"
        )
    line = _MATLAB_LINES.get(kind, "s = struct({0}); save('{0}.mat', 's')").format(name)
    return f"{name} in {source} is a MATLAB {kind}, which only MATLAB can read; type there: {line}"


def is_missing(value: Any) -> bool:
    """Is this nothing, or a word for a missing value?"""
    return value is None or str(value).strip().lower() in ("", *WORDS_FOR_MISSING)


def _remedy(text: str, first: bool) -> str:
    """Tell what to do about a text where a number was wanted, in the ``first`` row or another one."""
    if groups := _THOUSANDS.fullmatch(text):
        return f'groups of thousands are read with thousands = "{groups[1]}" under [text] of a mapping'
    if _DECIMAL_COMMA.fullmatch(text):
        return 'decimal commas are read with decimal = "," under [text] of a mapping'
    if _DATE_OR_TIME.match(text):
        return 'date-times are read with unit = "date-time" under [time] of a mapping'
    if not any(letter.isalnum() for letter in text):
        return f'if it means a missing value, say missing = ["{text}"] under [text] of a mapping'
    if first:
        return "a line of units is passed over with skip = 1 under [text] of a mapping"
    return f'correct that line, or say missing = ["{text[:LONGEST_TEXT]}"] under [text] of a mapping if it means none'


def require_columns_few(n: int, path: Path) -> None:
    """Refuse a file with more columns than any recording has; raises InputError."""
    if n > MOST_TABLE_COLUMNS:
        raise InputError(
            f"wanted a recording of at most {MOST_TABLE_COLUMNS} columns, found {n} in {path}; are its "
            "rows its columns?"
        )


def is_wanted(name: str, wanted: Collection[str]) -> bool:
    """Is a column, or a matrix of columns, among those wanted by their names or last parts? All are where none is."""
    dotted = dotted_name(name)
    known = {dotted_name(word) for word in wanted}
    known |= {_COLUMN_OF_MATRIX.sub("", word) for word in known}
    return not wanted or any(dotted == word or dotted.endswith("." + word) for word in known)


def dotted_name(name: str) -> str:
    """Convert a path inside a file (``/log/imu/phi_dot``) to MATLAB's notation: ``log.imu.phi_dot``."""
    return name.strip("/ ").replace("/", ".")


def _dotted_topic(name: str) -> str:
    """Convert a topic and its field, between which there is a blank, as `dotted_name` does."""
    return dotted_name(name).replace(" ", ".")


def unfold_columns(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Split an array into columns: one if it is a row or a column, ``name[1]``, ``name[2]``, ... if it is a matrix.

    The longer axis counts the rows, for MATLAB's files of version 7.3 have them the other way round.
    """
    values = np.asarray(values)
    if values.dtype.names:
        parts = [unfold_columns(f"{name}.{part}", values[part]) for part in values.dtype.names]
        return {key: column for part in parts for key, column in part.items()}
    if values.dtype.kind not in "biufMUSO" or values.ndim > 2:
        return {}
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.ndim < 2 or 1 in values.shape:
        return {name: values.reshape(-1)}
    by_column = values if values.shape[0] < values.shape[1] else values.T
    return {f"{name}[{i}]": column for i, column in enumerate(by_column, start=1)}
