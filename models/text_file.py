"""Texts that people keep, read whole: never more than such a file can have, whatever lies under its name."""

import errno
from pathlib import Path

MOST_TEXT = 8_000_000  # bytes; the largest controller file has some hundred thousand


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


def read_bytes_file(path: str | Path, most: int = MOST_TEXT) -> bytes:
    """Read the bytes of a text, for a hash of it. Raises OSError as `read_text_file` does."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most / 1e6:g} MB, which no such file has")
    return data
