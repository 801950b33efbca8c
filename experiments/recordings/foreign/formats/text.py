"""Text recordings (CSV and the like).

Comma, semicolon, tab or spaces between the values, one line of names above them. Lines above the names that begin with
``#`` are left out. Text is UTF-8 or UTF-16, or, where its names are neither, that of Windows; a byte that is none of it
takes one value, not the file.

What gzip packed is unpacked line by line while it is read, and never held whole.
"""

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

import numpy as np

from riderless.experiments.recordings.foreign.table import (
    LONGEST_TEXT,
    WORDS_FOR_MISSING,
    Table,
    is_wanted,
    require_columns_few,
)
from riderless.hil.memory import bounded_memory, require_memory
from riderless.models.errors import InputError
from riderless.models.text_file import why_unreadable

GZIP_MAGIC = b"\x1f\x8b"
CSV_DELIMITERS = ",;\t"
SPACES = " "  # any number of them between two values
COMMENT = "#"
_HEAD_BYTES = 4096  # that show an encoding
LONGEST_LINE = 1_000_000  # characters
MOST_UNPACKED = 2_000_000_000  # characters of a packed text: hours at 1 kHz, and no bomb
_IN_MAPPING = "under [text] of a mapping"
TEXT_BYTES = 150  # of memory that a value takes where not all are numbers


MOST_DAMAGED = 20  # lines with bytes that are no text; more are another encoding
_BINARY, _ZEROS = 0.3, 0.01  # of the bytes beyond ASCII, and zero: no text of names and numbers has so many
_DAMAGE = re.compile(r"[\udc80-\udcff\0]")  # what `surrogateescape` makes of a byte that is no text, and zero
_ONE_THOUSAND = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_QUOTED = re.compile(r'"[^"]*"')


def fits(head: bytes, suffix: str) -> bool:
    """Anything that reads as text, or that gzip packed."""
    if head.startswith(GZIP_MAGIC) or _utf16(head):
        return True
    return head.count(0) <= _ZEROS * len(head) and sum(byte >= 0x80 for byte in head) <= _BINARY * len(head)


@dataclass
class _Writing:
    """Way a text file is written, and its damaged lines, by number, with column and text of the value."""

    path: Path
    encoding: str
    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = WORDS_FOR_MISSING
    damaged: dict[int, tuple[int, str]] = field(default_factory=dict)

    def plain(self, text: str) -> str:
        """Write the numbers of a text as Python does."""
        if self.thousands:
            text = re.sub(rf"(?<=\d){re.escape(self.thousands)}(?=\d{{3}}(?!\d))", "", text)
        return text.replace(",", ".") if self.decimal == "," else text

    def number(self, text: str) -> float:
        """Number that a value is, nan for a missing one. Raises ValueError where it is neither."""
        text = text.strip()
        return np.nan if not text or text.lower() in self.missing else float(self.plain(text))

    def undamaged(self, line: str, number: int) -> str:
        """Line whose damaged values are missing."""
        if not _DAMAGE.search(line):
            return line
        values = _split_line(line, self.delimiter)
        for i, value in enumerate(values):
            if _DAMAGE.search(value):
                self.damaged[number], values[i] = (i, value), "nan"
        return self.delimiter.join(values)


def read(
    path: Path,
    wanted: Collection[str] = (),
    delimiter: str = "",
    decimal: str = "",
    header_line: int = 1,
    skip: int = 0,
    ragged: bool = False,
    encoding: str = "",
    missing: Sequence[str | float] = (),
    thousands: str = "",
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
        "." or ","; by default a comma where the first row can mean nothing else.
    header_line
        Number of the line of names, from 1, or the first after lines that begin with ``#``.
    skip
        Lines between the names and the first row (units, for example).
    ragged
        Rows may have more values than there are names, or fewer: what has no name is left out, what is missing is
        missing, and so is what is no number.
    encoding
        By default UTF-16 where the file begins so, UTF-8, or cp1252 or Latin-1 where the names are no UTF-8.
    missing
        Words and numbers for a missing value, beside the usual words.
    thousands
        Stands between groups of three digits.

    Raises
    ------
    InputError
        Not readable, no header, rows of another length than it, or more than there is memory for.
    """
    remarks: list[str] = []
    writing = _Writing(path, _known_encoding(encoding, path) or _utf16(_head(path)) or "utf-8-sig")
    header_line += _comments(writing) if header_line == 1 else 0
    if not encoding and any(_DAMAGE.search(line) for line in _lines(writing, 0, header_line + skip)):
        writing.encoding = _single_byte_encoding(writing, header_line + skip)
        remarks = [f"{path.name} is no text in UTF-8: read as {writing.encoding}; encoding {_IN_MAPPING} names another"]
    head = _lines(writing, 0, header_line)
    if len(head) < header_line or not head[-1].strip():
        empty = not any(_stream(writing, 0))
        header_found = "an empty file" if empty else f"no header in line {header_line}"
        remedy = "" if empty else f", or say its line with header_line {_IN_MAPPING}"
        raise InputError(
            f"wanted a CSV file with a line of column names, found {header_found}: {path}; add the header{remedy}"
        )
    header, first = head[-1], header_line + skip
    row = next(_stream(writing, first), "")
    writing.delimiter = delimiter or _delimiter(header, row)
    writing.decimal, writing.thousands = decimal or ".", thousands
    if not decimal and writing.delimiter != "," and _has_decimal_commas(_split_line(row, writing.delimiter)):
        writing.decimal = ","
        remarks.append(f"the numbers of {path.name} are read with decimal commas; decimal {_IN_MAPPING} says otherwise")
    writing.missing = (*WORDS_FOR_MISSING, *(str(word).lower() for word in missing))
    names = _told_apart([name.strip().strip('"') for name in _names(header, writing.delimiter)])
    require_columns_few(len(names), path)
    if not any(_stream(writing, first)):
        return Table(path, {name: np.empty(0) for name in names}, first_line=first + 1)
    with bounded_memory(path):
        columns = _numbers(writing, first, names, ragged)
        if columns is None:
            columns = _texts(writing, first, names, ragged)
    for number in (number for number in missing if not isinstance(number, str)):
        for values in columns.values():
            if values.dtype.kind == "f":
                values[values == number] = np.nan
    return Table(path, columns, first_line=first + 1, remarks=(*remarks, *_damage(writing, names, wanted)))


def _damage(writing: _Writing, names: list[str], wanted: Collection[str]) -> list[str]:
    """Remarks on damaged values of the wanted columns; refused are more than damage makes."""
    remarks = []
    for line, (column, text) in writing.damaged.items():
        name = names[min(column, len(names) - 1)]
        if is_wanted(name, wanted):
            wrong = ord(_DAMAGE.findall(text)[0]) & 0xFF
            remarks.append(f"byte 0x{wrong:02X} in line {line}, column {name}, is no text: that value is missing")
    if len(remarks) > MOST_DAMAGED:
        raise InputError(
            f"wanted a readable CSV file, found {len(remarks)} lines in {writing.path} that are no text in "
            f"{writing.encoding.removesuffix('-sig')}, first {remarks[0].split(':')[0]}; say encoding, such as "
            f'"cp1252", {_IN_MAPPING}'
        )
    return remarks


def _head(path: Path) -> bytes:
    """Begin of a file, unpacked."""
    try:
        with gzip.open(path) if _is_packed(path) else path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"wanted a readable CSV file, found {path}: {why_unreadable(error)}; check the path"
        ) from error


def _utf16(head: bytes) -> str:
    """Name of the UTF-16 that a file begins in; "" for another encoding."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[0:_HEAD_BYTES:2], head[1:_HEAD_BYTES:2]
    for ascii_bytes, zeros, name in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if zeros and 0 not in ascii_bytes and zeros.count(0) > (1.0 - _BINARY) * len(zeros):
            return name
    return ""


def _known_encoding(encoding: str, path: Path) -> str:
    """Encoding that Python knows by this name, "" for none given."""
    try:
        return codecs.lookup(encoding).name if encoding else ""
    except LookupError:
        raise InputError(
            f'wanted an encoding such as "utf-8", "cp1252", "latin-1" or "utf-16" {_IN_MAPPING}, found '
            f"{encoding[:LONGEST_TEXT]!r} for {path}; correct it"
        ) from None


def _single_byte_encoding(writing: _Writing, n: int) -> str:
    """Encoding of a text of one byte a letter, by its first ``n`` lines: that of Windows, if it has all the bytes."""
    for name in ("cp1252", "latin-1"):
        if not any(_DAMAGE.search(line) for line in _lines(_Writing(writing.path, name), 0, n)):
            return name
    return "cp1252"


def _told_apart(names: list[str]) -> list[str]:
    """Number the columns of one name: which of them is meant is for the mapping to say."""
    many = {name for name in names if names.count(name) > 1}
    return [f"{name} ({names[: i + 1].count(name)})" if name in many else name for i, name in enumerate(names)]


def _names(header: str, delimiter: str) -> list[str]:
    """Split the line of names; a name in quotes may hold the delimiter."""
    return next(csv.reader([header], delimiter=delimiter)) if '"' in header else _split_line(header, delimiter)


def _split_line(line: str, delimiter: str) -> list[str]:
    """Split a line into its values; spaces count as one delimiter, however many."""
    return line.split() if delimiter == SPACES else line.split(delimiter)


def _delimiter(header: str, row: str) -> str:
    """Delimiter of a line of names and the first row below it; what is in quotes has none."""
    bare = _QUOTED.sub("", header)
    if not any(mark in bare for mark in CSV_DELIMITERS) and len(header.split()) == len(row.split()) > 1:
        return SPACES
    return max(CSV_DELIMITERS, key=bare.count)


def _has_decimal_commas(values: list[str]) -> bool:
    """Tell whether the commas in the values of a row are decimal ones, not those between thousands."""
    numbers = [value.strip() for value in values if _is_number(value.replace(",", "."))]
    commas = [number for number in numbers if "," in number]
    return not any("." in number for number in numbers) and not all(map(_ONE_THOUSAND.fullmatch, commas or ["1,000"]))


def _comments(writing: _Writing) -> int:
    """Lines above the names that begin with ``#``; the last of them is the line of names where a number follows it."""
    for comments, line in enumerate(_stream(writing, 0)):
        if not line.startswith(COMMENT):
            numbers = re.match(r"\s*[-+.]?\d", line) is not None
            return max(comments - 1, 0) if numbers else comments
    return 0


def _lines(writing: _Writing, first: int, n: int) -> list[str]:
    """Some lines of a file."""
    return list(islice(_stream(writing, first), n))


def _stream(writing: _Writing, first: int) -> Iterator[str]:
    """Lines of a file one by one, from number ``first`` (from 0) on, blank ones empty; the file is never held whole."""
    path = writing.path
    encoding, wrong = writing.encoding, "replace" if "16" in writing.encoding else "surrogateescape"
    try:
        packed = _is_packed(path)
        with (
            gzip.open(path, "rt", encoding=encoding, errors=wrong)
            if packed
            else path.open(encoding=encoding, errors=wrong) as file
        ):
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


def _numbers(writing: _Writing, first: int, names: list[str], ragged: bool) -> dict[str, np.ndarray] | None:
    """Columns when all values are numbers, or missing, else None."""
    delimiter, plain = writing.delimiter, writing.plain
    foreign = writing.decimal == "," or bool(writing.thousands)
    if foreign and delimiter in (writing.decimal, writing.thousands):
        return None  # the values are in quotes

    def body() -> Iterator[str]:
        lines = _stream(writing, first)
        return map(plain, lines) if foreign else lines

    mark = re.escape(delimiter)

    def filled() -> Iterator[str]:  # a third of the time that the search for words takes
        empty = re.compile(rf"(?<={mark})[ ]*(?={mark}|$)|^[ ]*(?={mark})")
        return (empty.sub("nan", line) for line in body())

    def mended() -> Iterator[str]:
        words = "|".join(map(re.escape, sorted(writing.missing, key=len, reverse=True)))
        nothing = re.compile(rf"(?:(?<={mark})|^) *(?:{words})? *(?={mark}|$)", re.IGNORECASE)
        if delimiter == SPACES:
            nothing = re.compile(rf"(?<!\S)(?:{words})(?!\S)", re.IGNORECASE)
        for number, line in enumerate(_stream(writing, first), start=first + 1):
            mended = nothing.sub("nan", plain(writing.undamaged(line, number))) if line else line
            yield _as_long(mended, len(names), delimiter) if ragged else mended

    ways = (body, mended) if delimiter == SPACES else (body, filled, mended)
    for lines in (mended,) if ragged else ways:
        try:
            table = np.loadtxt(lines(), delimiter=None if delimiter == SPACES else delimiter, ndmin=2, comments=None)
        except InputError:
            raise
        except ValueError:
            continue
        return dict(zip(names, table.T, strict=True)) if table.shape[1] == len(names) else None
    return None


def _texts(writing: _Writing, first: int, names: list[str], ragged: bool) -> dict[str, np.ndarray]:
    """Columns, each of numbers where all of it is, else of texts; rows of another length are refused."""
    path = writing.path
    rows: list[list[str]] = []
    blank = 0
    lines = map(writing.undamaged, _stream(writing, first), count(first + 1))
    read = _rows((_as_long(line, len(names), writing.delimiter) for line in lines) if ragged else lines, writing)
    try:
        for number, row in enumerate(read, start=first + 1):
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
            columns[name] = np.array([writing.number(value) for value in values])
        except ValueError:
            columns[name] = np.array([_as_written(value, writing) for value in values], dtype=object)
    return columns


def _as_written(value: str, writing: _Writing) -> str:
    """Value among texts: a number as Python writes it, anything else as it stands in the file."""
    if value.strip().lower() in set(writing.missing) - set(WORDS_FOR_MISSING):
        return ""
    plain = writing.plain(value)
    return plain if _is_number(plain) else value


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


def _rows(body: Iterator[str], writing: _Writing) -> Iterator[list[str]]:
    """Values of each line as texts."""
    return map(str.split, body) if writing.delimiter == SPACES else csv.reader(body, delimiter=writing.delimiter)
