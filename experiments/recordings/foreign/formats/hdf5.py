"""HDF5 files by h5py.

Also MAT files of version 7.3.
"""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.recordings.foreign.formats.apart import import_extra, read_apart
from riderless.experiments.recordings.foreign.table import (
    MATLAB_CELLS,
    Table,
    dotted_name,
    is_wanted,
    require_columns_few,
    unfold_columns,
)
from riderless.hil.memory import require_memory
from riderless.models.errors import InputError

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HELD = 2  # as it was read, and on its way here
MATLAB_REFERENCES = "#"  # groups that MATLAB keeps for itself: #refs#, #subsystem#


def fits(head: bytes, suffix: str) -> bool:
    """By the signature, at the beginning or behind a user block of 512, 1024, ... bytes."""
    return any(head[at : at + 8] == HDF5_SIGNATURE for at in (0, 512, 1024, 2048))


# what h5py raises where a file is not what it should be
HDF5_DAMAGE = (OSError, RuntimeError, ValueError, KeyError, TypeError, IndexError, NotImplementedError)


def read(path: Path, wanted: Collection[str] = (), **_: object) -> Table:
    """Datasets of one or two dimensions, those ``wanted`` or all, as columns by their path; texts beside are kept.

    Raises
    ------
    InputError
        h5py is not installed, or the file is damaged, lies partly in other files, or takes too much memory.
    """
    h5py = import_extra("h5py", path)
    columns, meta, unread, objects = read_apart(path, lambda: _content(h5py, path, wanted))
    return Table(path, columns, meta, unread=unread, objects=objects)


def _content(
    h5py: Any, path: Path, wanted: Collection[str]
) -> tuple[dict[str, np.ndarray], dict[str, str], tuple[str, ...], dict[str, str]]:
    """Columns, texts, names of the datasets left out, and classes of what only MATLAB reads, of a file."""
    objects: dict[str, str] = {}
    unread: list[str] = []
    columns: dict[str, np.ndarray] = {}
    meta: dict[str, str] = {}
    held = 0

    def collect(name: str, item: Any) -> None:
        nonlocal held
        for key, value in item.attrs.items():
            if isinstance(value, str):
                meta[f"{dotted_name(name)}.{key}"] = value
        if name.startswith(MATLAB_REFERENCES) or not isinstance(item, h5py.Dataset) or item.size is None:
            return
        kind = _matlab_class(item)
        if "MATLAB_object_decode" in item.attrs or kind == "cell":
            objects[dotted_name(name)] = f"{MATLAB_CELLS}{item.size}" if kind == "cell" else kind
            return
        texts = bool(h5py.check_string_dtype(item.dtype)) and item.ndim > 0
        if not texts and not (item.dtype.kind in "biufSV" and 0 < item.ndim < 3 and "MATLAB_empty" not in item.attrs):
            return
        parts = [f"{name}.{part}" for part in item.dtype.names or ()]
        if not any(is_wanted(one, wanted) for one in [name, *parts]):
            unread.append(name)
            return
        _require_here(item, name, path)
        held += _HELD * item.size * max(item.dtype.itemsize, 8)
        largest = math.prod(item.chunks) * item.dtype.itemsize if item.chunks else 0  # each is unpacked as a whole
        require_memory(held + largest, path)
        if texts:
            columns[name] = np.array(item.asstr()[...], dtype=object).reshape(-1)
        else:
            columns.update(unfold_columns(name, item[...]))
        require_columns_few(len(columns), path)

    try:
        with h5py.File(path, "r") as file:
            meta.update({key: value for key, value in file.attrs.items() if isinstance(value, str)})
            file.visititems(collect)
    except InputError:
        raise
    except HDF5_DAMAGE as error:
        raise InputError(
            f"wanted an HDF5 file, found one that cannot be read: {path} ({error}); copy or save it again"
        ) from error
    return columns, meta, tuple(unread), objects


def _matlab_class(item: Any) -> str:
    """Class that MATLAB gave to a dataset; "" where another program wrote it."""
    kind = item.attrs.get("MATLAB_class", b"")
    return kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)


def _require_here(item: Any, name: str, path: Path) -> None:
    """Refuse a dataset whose values lie in other files: a recording reads no file but its own."""
    others = [part.file_name for part in item.virtual_sources() if part.file_name != "."] if item.is_virtual else []
    others += [part[0] for part in item.external or ()]
    if others:
        raise InputError(
            f"wanted a recording in one file, found that the values of {name} in {path} lie in another one "
            f"({others[0]}); save them in this file"
        )
