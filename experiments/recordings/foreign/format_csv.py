"""Recordings as text: comma, semicolon or tab between the values, one line of names above them."""

import csv
import re
from pathlib import Path

import numpy as np

from experiments.recordings.foreign.table import Table
from models.errors import InputError

CSV_DELIMITERS = ",;\t"


def fits(head: bytes, suffix: str) -> bool:
    """Anything that reads as text."""
    return b"\0" not in head and (head[:-4].isascii() or _decodes(head[:-4]))


def read(path: Path, delimiter: str = "", decimal: str = ".", header_line: int = 1, skip: int = 0) -> Table:
    """Columns of a text file.

    Parameters
    ----------
    path
    delimiter
        Between values; by default whichever of comma, semicolon and tab the line of names has most.
    decimal
        "." or ",".
    header_line
        Number of the line of names, from 1.
    skip
        Lines between the names and the first row (units, for example).

    Raises
    ------
    InputError
        Not readable, no header, or rows of another length than it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"wanted a readable CSV file, found {path}: {error}; check the path") from error
    lines = text.splitlines()
    if not text.strip() or len(lines) < header_line or not lines[header_line - 1].strip():
        found = "an empty file" if not text.strip() else f"no header in line {header_line}"
        raise InputError(f"wanted a CSV file with a line of column names, found {found}: {path}; add the header")
    header, first = lines[header_line - 1], header_line + skip
    delimiter = delimiter or max(CSV_DELIMITERS, key=header.count)
    names = [name.strip().strip('"') for name in header.split(delimiter)]
    body = lines[first:]
    while body and not body[-1].strip():
        body.pop()
    if not body:
        return Table(path, {name: np.empty(0) for name in names}, first_line=first + 1)
    if decimal == ",":
        body = [line.replace(",", ".") for line in body] if delimiter != "," else body
    columns = _numbers(body, names, delimiter)
    if columns is None:
        columns = _texts(path, body, names, delimiter, first + 1)
    return Table(path, columns, first_line=first + 1)


def _numbers(body: list[str], names: list[str], delimiter: str) -> dict[str, np.ndarray] | None:
    """Columns when all values are numbers or empty, else None."""
    try:
        table = np.loadtxt(body, delimiter=delimiter, ndmin=2, comments=None)
    except ValueError:
        mark = re.escape(delimiter)
        empty = re.compile(rf"(?<={mark})[ ]*(?={mark}|$)|^[ ]*(?={mark})")
        try:
            table = np.loadtxt([empty.sub("nan", line) for line in body], delimiter=delimiter, ndmin=2, comments=None)
        except ValueError:
            return None
    return dict(zip(names, table.T, strict=True)) if table.shape[1] == len(names) else None


def _texts(path: Path, body: list[str], names: list[str], delimiter: str, line: int) -> dict[str, np.ndarray]:
    """Columns, each of numbers where all of it is, else of texts; rows of another length are refused."""
    rows = list(csv.reader(body, delimiter=delimiter))
    for number, row in enumerate(rows, start=line):
        if len(row) != len(names):
            raise InputError(
                f"wanted {len(names)} values in every row, found {len(row)} in line {number} of {path}; "
                "if the recording was cut short there, delete that line"
            )
    columns: dict[str, np.ndarray] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = np.array([float(value) if value.strip() else np.nan for value in values])
        except ValueError:
            columns[name] = np.array(values, dtype=object)
    return columns


def _decodes(head: bytes) -> bool:
    for end in range(4):  # the head may end within a character
        try:
            head[: len(head) - end].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return True
    return False
