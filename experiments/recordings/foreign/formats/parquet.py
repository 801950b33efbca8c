"""Parquet files by pyarrow."""

from collections.abc import Collection, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.recordings.foreign.formats.apart import import_extra, read_apart
from riderless.experiments.recordings.foreign.table import Table, is_wanted, require_columns_few
from riderless.hil.memory import require_memory
from riderless.models.errors import InputError

_DEEPEST = 6  # structs within structs
_HELD = 2  # as it was read, and on its way here
PARQUET_SIGNATURE = b"PAR1"


def fits(head: bytes, suffix: str) -> bool:
    """By the signature."""
    return head.startswith(PARQUET_SIGNATURE)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Columns of a Parquet file, those ``wanted`` or all; nulls are nan, fields of structs are named ``struct.field``.

    Raises
    ------
    InputError
        pyarrow is not installed, or the file is damaged.
    """
    pyarrow = import_extra("pyarrow", path)
    from pyarrow import parquet

    columns, meta, unread = read_apart(path, lambda: _content(pyarrow, parquet, path, wanted))
    return Table(path, columns, meta, unread=unread)


def _content(
    pyarrow: Any, parquet: Any, path: Path, wanted: Collection[str]
) -> tuple[dict[str, np.ndarray], dict[str, str], tuple[str, ...]]:
    """Columns, texts, and names of the columns left out, of a file."""
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # which asks the system for what it needs and no more
    types = pyarrow.types
    try:
        stated = parquet.read_metadata(path)
        require_columns_few(stated.num_columns, path)
        paths = [stated.schema.column(i).path for i in range(stated.num_columns)]
        chosen = [is_wanted(name, wanted) for name in paths]
        require_memory(_HELD * _stated_size(stated, chosen), path)
        texts = [field.name for field in parquet.read_schema(path) if _is_text(types, field.type)]
        file = parquet.ParquetFile(path, read_dictionary=texts)  # a text that repeats: once
        table = file.read(list(compress(paths, chosen)), use_threads=False)
        for _ in range(_DEEPEST):
            table = table.flatten()
        flat = [name for name, field in enumerate(table.schema) if not types.is_nested(field.type)]
        table = table.select(flat)
        columns = {
            name: _array(pyarrow, column) for name, column in zip(table.column_names, table.columns, strict=True)
        }
    except pyarrow.ArrowMemoryError:
        raise MemoryError from None
    except InputError:
        raise
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        first = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"wanted a Parquet file, found one that cannot be read: {path} ({first}); copy or save it again"
        ) from error
    known = (table.schema.metadata or {}).items()
    unread = tuple(unread_path for unread_path, is_chosen in zip(paths, chosen, strict=True) if not is_chosen)
    return columns, {key.decode(): value.decode() for key, value in known if _plain(key) and _plain(value)}, unread


def _stated_size(stated: Any, chosen: Sequence[bool]) -> int:
    """Bytes of the chosen columns, by what the file states of each of its parts."""
    total = 0
    for group in map(stated.row_group, range(stated.num_row_groups)):
        for column in map(group.column, np.flatnonzero(chosen).tolist()):
            total += max(column.total_uncompressed_size, 8 * column.num_values)
    return total


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _array(pyarrow: Any, column: Any) -> np.ndarray:
    """Values of a column (n,); nulls among numbers are nan."""
    if pyarrow.types.is_dictionary(column.type):
        parts = [
            np.array([*part.dictionary.to_pylist(), None], object)[part.indices.fill_null(len(part.dictionary))]
            for part in column.chunks
        ]
        return np.concatenate(parts) if parts else np.zeros(0, object)
    if pyarrow.types.is_decimal(column.type):
        column = column.cast(pyarrow.float64())
    values: np.ndarray = column.to_numpy()
    if pyarrow.types.is_duration(column.type):  # in seconds, whatever unit the file has
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s"))
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
