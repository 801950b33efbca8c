"""Recordings that others made, read as a Response. A kind is one file and one line below.

A CSV file is recognised by its header alone; its name is only a label.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from experiments.foreign import delft, kooijman
from experiments.nouns import Array, Response
from models.errors import InputError

KINDS: dict[str, tuple[tuple[str, ...], Callable[[str, dict[str, Array]], Response]]] = {
    kooijman.KIND: (kooijman.COLUMNS, kooijman.response),
    delft.KIND: (delft.COLUMNS, delft.response),
}
MIN_ROWS = 50  # less than half a second of any of them


def read(path: str | Path) -> Response:
    """Response recorded in a CSV file of a kind listed in ``KINDS``.

    Raises
    ------
    InputError
        The file is missing, empty, of no known kind, cut short, or holds something that is not a number.
    """
    path = Path(path)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"wanted a readable CSV file, found {path}: {error}; check the path") from error
    header, _, body = text.partition("\n")
    names = [name.strip() for name in header.split(",")]
    for columns, response in KINDS.values():
        if set(columns) <= set(names):
            return response(path.name, dict(zip(names, numbers(path, names, body).T, strict=True)))
    wanted = "; or ".join(f"{kind}: {', '.join(columns)}" for kind, (columns, _) in KINDS.items())
    found = f"the header '{header[:120]}'" if header.strip() else "an empty file" if not text else "no header"
    raise InputError(
        f"wanted a CSV file whose first line has the columns of one kind ({wanted}), found {found} in "
        f"{path}; add the header or convert the file"
    )


def numbers(path: Path, names: list[str], body: str) -> Array:
    """The rows under the header, (rows, columns); an empty first field (a command not yet given) is nan."""
    lines = [f"nan{line}" if line.startswith(",") else line for line in body.splitlines()]
    if len(lines) < MIN_ROWS:
        raise InputError(
            f"wanted at least {MIN_ROWS} rows under the header of {path}, found {len(lines)}; record it again"
        )
    try:
        table = np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except ValueError:
        raise InputError(first_bad_row(path, names, lines)) from None
    if table.shape[1] != len(names):
        raise InputError(first_bad_row(path, names, lines))
    return table


def first_bad_row(path: Path, names: list[str], lines: list[str]) -> str:
    """Sentence about the first row that cannot be read."""
    for number, line in enumerate(lines, start=2):
        fields = line.split(",")
        if len(fields) != len(names):
            return (
                f"wanted {len(names)} values in every row, found {len(fields)} in line {number} of {path}; "
                f"if the recording was cut short there, delete that line"
            )
        for name, value in zip(names, fields, strict=True):
            try:
                float(value)
            except ValueError:
                return (
                    f"wanted numbers, found '{value}' in column {name}, line {number} of {path}; "
                    f"correct or delete that line"
                )
    return f"wanted a table of numbers in {path}, found rows that cannot be read; export it again as plain CSV"
