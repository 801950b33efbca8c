"""A run as plain tables, for tools that do not read the log itself."""

import csv
import dataclasses
from collections.abc import Iterable
from pathlib import Path

from hil.log import Run
from models.errors import InputError


def export_csv(run: Run, path: str | Path) -> tuple[Path, Path]:
    """Write the ticks to `path` and the markers beside it, to `<stem>.markers.csv`.

    The first line names the columns, the rest are numbers in SI units (docs/log-format.md), written so
    that they read back as the same numbers.

    Returns
    -------
    tuple of Path
        The two files.

    Raises
    ------
    InputError
        A file cannot be written.
    """
    path = Path(path)
    beside = path.with_suffix(".markers.csv")
    try:
        _write(path, run.ticks.dtype.names or (), run.ticks.tolist())
        _write(beside, ("t", "kind", "text"), map(dataclasses.astuple, run.markers))
    except OSError as error:
        raise InputError(
            f"cannot write {error.filename or path}: {error.strerror}; name a file in a writable folder"
        ) from None
    return path, beside


def _write(path: Path, names: Iterable[str], rows: Iterable[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
