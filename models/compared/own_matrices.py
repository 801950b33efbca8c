"""Matrices M, C1, K0, K2 of a user.

They come from a table of four lines or from Python; their digits tell how exactly they are stated.
"""

import csv
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.bicycle_file import shortened
from riderless.models.compared.slips import MATRICES
from riderless.models.errors import InputError
from riderless.models.linear.whipple import CanonicalMatrices
from riderless.models.text_file import csv_rows, read_text_file, why_unreadable

EXACT = 1e-9  # relative; of numbers that are not written but computed
WANTED = (
    "four lines as 'M,80.8,2.32,2.32,0.298': M, C1, K0 or K2 (without gravity, at 1 m/s), then the entries phi phi, "
    "phi delta, delta phi, delta delta"
)


def matrices_in_file(path: str | Path) -> tuple[Array, Array]:
    """Read a table of `WANTED`.

    Returns
    -------
    matrices : (4, 2, 2) array
    tolerance : (4, 2, 2) array
        Half a unit of the last digit written behind a point; what is written without a point is exact.

    Raises
    ------
    InputError
    """
    try:
        text = read_text_file(path)
        rows = csv_rows(csv.reader(text.splitlines(), delimiter=";" if ";" in text else ","))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the matrices {path}: {why_unreadable(error)}; give {WANTED}") from None
    entries: dict[str, list[Decimal]] = {}
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (number == 1 and cells[0] not in MATRICES):
            continue  # a heading, or a remark
        if cells[0] not in MATRICES or cells[0] in entries or len(cells) != 5:
            raise InputError(f"{path}, line {number}: wanted {WANTED}, found {shortened(','.join(cells))}; correct it")
        entries[cells[0]] = [_number(path, number, cell) for cell in cells[1:]]
    if missing := [name for name in MATRICES if name not in entries]:
        raise InputError(f"{path} has no {', '.join(missing)}: give {WANTED}")
    matrices = np.array([[float(x) for x in entries[name]] for name in MATRICES]).reshape(4, 2, 2)
    digits = np.array([[_half_a_unit(x) for x in entries[name]] for name in MATRICES]).reshape(4, 2, 2)
    return matrices, np.maximum(digits, EXACT * np.abs(matrices))


def matrices_given(given: Any) -> tuple[Array, Array]:
    """Take `CanonicalMatrices`, four matrices in their order, or a mapping of them by name, as `matrices_in_file`.

    Raises
    ------
    InputError
    """
    four = [given.get(name) for name in MATRICES] if isinstance(given, Mapping) else given
    try:
        matrices = np.array(four, dtype=float)
    except (TypeError, ValueError):
        matrices = np.empty(0)
    if matrices.shape != (4, 2, 2) or not np.isfinite(matrices).all():
        raise InputError(
            f"wanted the matrices {', '.join(MATRICES)}, 2 by 2 and finite, found {shortened(given)}; correct them"
        )
    return matrices, EXACT * np.abs(matrices)


def matrices_text(matrices: CanonicalMatrices) -> str:
    """Table of `WANTED` in full precision."""
    lines = ["matrix,phi phi,phi delta,delta phi,delta delta"]
    lines += [f"{name},{','.join(map(repr, matrix.ravel().tolist()))}" for name, matrix in matrices._asdict().items()]
    return "\n".join(lines) + "\n"


def _number(path: str | Path, line: int, cell: str) -> Decimal:
    try:
        number = Decimal(cell)
    except InvalidOperation:
        number = Decimal("nan")
    if not (number.is_finite() and abs(number) < Decimal("1e30")):
        raise InputError(f"{path}, line {line}: wanted a number, found {shortened(cell)}; correct it")
    return number


def _half_a_unit(number: Decimal) -> float:
    exponent = number.as_tuple().exponent
    return 0.5 * 10.0**exponent if isinstance(exponent, int) and exponent < 0 else 0.0
