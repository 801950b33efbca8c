"""Text files, read whole within a limit.

Never more than such a file can have, whatever lies under its name.
"""

import csv
import errno
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

Row = TypeVar("Row")

MOST_TEXT = 8_000_000  # bytes; the largest controller file has some hundred thousand
_WHY = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "there is no such file",
    errno.EISDIR: "it is a folder",
    errno.EACCES: "you may not read it",
    errno.EPERM: "you may not read it",
}


def read_text_file(path: str | Path, most: int = MOST_TEXT) -> str:
    """Read a text in UTF-8, with or without a byte order mark, its lines ended by one character.

    A device without an end, or a name that leads to one, would otherwise take all memory before anybody is told.

    Raises
    ------
    OSError
        It cannot be read, or has more than ``most`` bytes.
    UnicodeDecodeError
        It is no UTF-8.
    """
    return read_bytes_file(path, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def csv_rows(reader: Iterable[Row]) -> list[Row]:
    """All rows of a reader of `csv`. Raises ValueError where they are no table; `why_unreadable` says why."""
    try:
        return list(reader)
    except csv.Error as error:
        raise ValueError(f"it is no table: {error}") from None


def read_bytes_file(path: str | Path, most: int = MOST_TEXT) -> bytes:
    """Read the bytes of a text, for a hash of it. Raises OSError as `read_text_file` does."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most / 1e6:g} MB, which no such file has")
    return data


def why_unreadable(error: Exception) -> str:
    """Say in a clause why `read_text_file` could not read: what the system says has numbers and repeats the path."""
    if isinstance(error, UnicodeDecodeError):
        return "it is no text in UTF-8"
    if isinstance(error, OSError):
        return _WHY.get(error.errno or 0) or error.strerror or str(error)
    return str(error)
