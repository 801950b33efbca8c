"""Parquet files by pyarrow."""

from pathlib import Path

import numpy as np

from experiments.recordings.foreign.extras import import_extra
from experiments.recordings.foreign.table import Table
from models.errors import InputError

PARQUET_SIGNATURE = b"PAR1"


def fits(head: bytes, suffix: str) -> bool:
    """By the signature."""
    return head.startswith(PARQUET_SIGNATURE)


def read(path: Path, **_: object) -> Table:
    """Columns of a Parquet file; nulls are nan, fields of structs are named ``struct.field``.

    Raises
    ------
    InputError
        pyarrow is not installed, or the file is damaged.
    """
    pyarrow = import_extra("pyarrow", path)
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (OSError, pyarrow.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise InputError(
            f"wanted a Parquet file, found one that cannot be read: {path} ({first}); copy or save it again"
        ) from error
    while any(pyarrow.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    columns = {name: _array(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    meta = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items() if _plain(value)}
    return Table(path, columns, meta)


def _array(column: object) -> np.ndarray:
    values = column.to_numpy()  # type: ignore[attr-defined]
    if values.dtype.kind == "O":  # integers or flags with nulls, or texts
        present = next((value for value in values if value is not None), None)
        if present is None or isinstance(present, bool | int | float | np.bool_):
            return np.array([np.nan if value is None else float(value) for value in values])
    return values


def _plain(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
