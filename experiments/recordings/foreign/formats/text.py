"""Recordings as text: comma, semicolon, tab or spaces between the values, one line of names above them.

Lines above the names that begin with ``#`` are left out.

What gzip packed is unpacked line by line while it is read, and never held whole.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from riderless.experiments.recordings.foreign.table import Table, require_columns_few
from riderless.hil.memory import bounded_memory, require_memory
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

GZIP_MAGIC = b"\x1f\x8b"
CSV_DELIMITERS = ",;\t"
SPACES = " "  # any number of them between two values
COMMENT = "#"
LONGEST_LINE = 1_000_000  # characters
MOST_UNPACKED = 2_000_000_000  # characters of a packed text: hours at 1 kHz, and no bomb
_IN_MAPPING = "under [text] of a mapping"
TEXT_BYTES = 150  # of memory that a value takes where not all are numbers


def fits(head: bytes, suffix: str) -> bool:
    """Anything that reads as text, or that gzip packed."""
    return head.startswith(GZIP_MAGIC) or (b"\0" not in head and (head[:-4].isascii() or _decodes(head[:-4])))


def read(
    path: Path,
    wanted: Collection[str] = (),
    delimiter: str = "",
    decimal: str = ".",
    header_line: int = 1,
    skip: int = 0,
    ragged: bool = False,
) -> Table:
    """Columns of a text file.

    Parameters
    ----------
    path
    wanted
        As other formats take it; lines are read whole.
    delimiter
        Between values; by default whichever of comma, semicolon and tab the line of names has most, or spaces where
        it has none of them and as many words as the first row has values.
    decimal
        "." or ",".
    header_line
        Number of the line of names, from 1, or the first after lines that begin with ``#``.
    skip
        Lines between the names and the first row (units, for example).
    ragged
        Rows may have more values than there are names, or fewer: what has no name is left out, what is missing is
        missing, and so is what is no number.

    Raises
    ------
    InputError
        Not readable, no header, rows of another length than it, or more than there is memory for.
    """
    header_line += _comments(path) if header_line == 1 else 0
    head = _lines(path, 0, header_line)
    if len(head) < header_line or not head[-1].strip():
        empty = not any(_stream(path, 0))
        found = "an empty file" if empty else f"no header in line {header_line}"
        remedy = "" if empty else f", or say its line with header_line {_IN_MAPPING}"
        raise InputError(
            f"wanted a CSV file with a line of column names, found {found}: {path}; add the header{remedy}"
        )
    header, first = head[-1], header_line + skip
    delimiter = delimiter or _delimiter(header, next(_stream(path, first), ""))
    names = _told_apart([name.strip().strip('"') for name in _split_line(header, delimiter)])
    require_columns_few(len(names), path)
    if not any(_stream(path, first)):
        return Table(path, {name: np.empty(0) for name in names}, first_line=first + 1)
    points = decimal == "," and delimiter != ","

    def body() -> Iterator[str]:
        for line in _stream(path, first):
            line = line.replace(",", ".") if points else line
            yield _as_long(line, len(names), delimiter) if ragged else line

    with bounded_memory(path):
        columns = _numbers(body, names, delimiter)
        if columns is None:
            columns = _texts(path, body(), names, delimiter, first + 1)
    return Table(path, columns, first_line=first + 1)


def _told_apart(names: list[str]) -> list[str]:
    """Number the columns of one name: which of them is meant is for the mapping to say."""
    many = {name for name in names if names.count(name) > 1}
    return [f"{name} ({names[: i + 1].count(name)})" if name in many else name for i, name in enumerate(names)]


def _split_line(line: str, delimiter: str) -> list[str]:
    """Split a line into its values; spaces count as one delimiter, however many."""
    return line.split() if delimiter == SPACES else line.split(delimiter)


def _delimiter(header: str, row: str) -> str:
    """Delimiter of a line of names and the first row below it."""
    if not any(mark in header for mark in CSV_DELIMITERS) and len(header.split()) == len(row.split()) > 1:
        return SPACES
    return max(CSV_DELIMITERS, key=header.count)


def _comments(path: Path) -> int:
    """Lines above the names that begin with ``#``; the last of them is the line of names where a number follows it."""
    for found, line in enumerate(_stream(path, 0)):
        if not line.startswith(COMMENT):
            numbers = re.match(r"\s*[-+.]?\d", line) is not None
            return max(found - 1, 0) if numbers else found
    return 0


def _lines(path: Path, first: int, n: int) -> list[str]:
    """Some lines of a file."""
    return list(islice(_stream(path, first), n))


def _stream(path: Path, first: int) -> Iterator[str]:
    """Lines of a file one by one, from number ``first`` (from 0) on, blank ones empty; the file is never held whole."""
    try:
        packed = _is_packed(path)
        with gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig") as file:
            number = read = 0
            while line := file.readline(LONGEST_LINE):
                read += len(line)
                if read > MOST_UNPACKED and packed:
                    raise InputError(
                        f"wanted at most {MOST_UNPACKED / 1e9:g} GB of text packed in {path}, found more; is it a log?"
                    )
                if len(line) == LONGEST_LINE:
                    raise InputError(
                        f"wanted lines of at most {LONGEST_LINE} characters in a CSV file, found a longer one, number "
                        f"{number + 1}, in {path}; is a quotation mark or a line's end missing?"
                    )
                if number >= first:
                    yield line.rstrip("\n") if line.strip() else ""
                number += 1
    except UnicodeDecodeError as error:
        raise InputError(
            f"wanted a readable CSV file, found {path}: {why_unreadable(error)}; save it as UTF-8, and check the path"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"wanted a readable CSV file, found {path}: {why_unreadable(error)}; check the path"
        ) from error


def _as_long(line: str, n: int, delimiter: str) -> str:
    """Cut or fill a row to ``n`` values; what is no number is missing."""
    values = [_number_or_nothing(value) for value in _split_line(line, delimiter)[:n]]
    return delimiter.join([*values, *["nan"] * (n - len(values))]) if line else line


def _number_or_nothing(text: str) -> str:
    try:
        return str(float(text))
    except ValueError:
        return "nan"


def _is_packed(path: Path) -> bool:
    """Did gzip pack this file?"""
    with path.open("rb") as file:
        return file.read(len(GZIP_MAGIC)) == GZIP_MAGIC


def _numbers(body: Callable[[], Iterator[str]], names: list[str], delimiter: str) -> dict[str, np.ndarray] | None:
    """Columns when all values are numbers or empty, else None."""
    try:
        table = np.loadtxt(body(), delimiter=None if delimiter == SPACES else delimiter, ndmin=2, comments=None)
    except InputError:
        raise
    except ValueError:
        if delimiter == SPACES:  # nothing can be missing between them
            return None
        mark = re.escape(delimiter)
        empty = re.compile(rf"(?<={mark})[ ]*(?={mark}|$)|^[ ]*(?={mark})")
        try:
            lines = (empty.sub("nan", line) for line in body())
            table = np.loadtxt(lines, delimiter=delimiter, ndmin=2, comments=None)
        except InputError:
            raise
        except ValueError:
            return None
    return dict(zip(names, table.T, strict=True)) if table.shape[1] == len(names) else None


def _texts(path: Path, body: Iterator[str], names: list[str], delimiter: str, line: int) -> dict[str, np.ndarray]:
    """Columns, each of numbers where all of it is, else of texts; rows of another length are refused."""
    rows: list[list[str]] = []
    blank = 0
    read = _rows(body, delimiter)
    try:
        for number, row in enumerate(read, start=line):
            if not row:  # the file may end in blank lines
                blank = blank or number
                continue
            if blank or len(row) != len(names):
                remedy = _length_remedy(row, len(names), blank, number, last=not any(read))
                raise InputError(
                    f"wanted {len(names)} values in every row, found {0 if blank else len(row)} in line "
                    f"{blank or number} of {path}; {remedy}"
                )
            rows.append(row)
            require_memory(TEXT_BYTES * len(names) * len(rows), path)
    except csv.Error as error:
        raise InputError(f"wanted a CSV file, found {error} in {path}: is a quotation mark never closed?") from None
    columns: dict[str, np.ndarray] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = np.array([float(value) if value.strip() else np.nan for value in values])
        except ValueError:
            columns[name] = np.array(values, dtype=object)
    return columns


def _length_remedy(row: list[str], wanted: int, blank: int, number: int, last: bool) -> str:
    """Tell what to do about a row of another length than the line of names.

    Parameters
    ----------
    row : list of str
        Its values.
    wanted : int
        Number of names.
    blank : int
        Number of an empty line before it; 0 for none.
    number : int
        Of its line.
    last : bool
        No line follows.
    """
    if blank:
        return "what follows an empty line belongs in a file of its own"
    if last:
        return "if the recording was cut short there, delete that line"
    if len(row) > wanted and not any(_is_number(value) for value in row):
        return f"if the names of the columns stand there, say header_line = {number} {_IN_MAPPING}"
    return f"correct it, or say ragged = true {_IN_MAPPING} if rows may be longer or shorter"


def _is_number(text: str) -> bool:
    return _number_or_nothing(text) != "nan"


def _rows(body: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Values of each line as texts."""
    return map(str.split, body) if delimiter == SPACES else csv.reader(body, delimiter=delimiter)


def _decodes(head: bytes) -> bool:
    for end in range(4):  # the head may end within a character
        try:
            head[: len(head) - end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return True
    return False
