"""MATLAB and Octave files up to version 7, by scipy; version 7.3 is HDF5 and read as that."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.recordings.foreign.table import Table, unfold_columns
from models.errors import InputError

DEEPEST_STRUCT = 6  # structs within structs


def fits(head: bytes, suffix: str) -> bool:
    """Version 5 to 7 by its first words; version 4 has none and goes by its name."""
    return head.startswith(b"MATLAB 5.0") or (suffix == ".mat" and b"\0" in head)


def read(path: Path, **_: object) -> Table:
    """Variables of a MAT file as columns; fields of simple structs by ``struct.field``, matrices by ``name[1]``.

    Raises
    ------
    InputError
        The file is damaged.
    """
    from scipy.io import loadmat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # opaque classes, which are left out
            content = loadmat(str(path), squeeze_me=True, struct_as_record=False, chars_as_strings=True)
    except Exception as error:
        raise InputError(
            f"wanted a MAT file, found one that cannot be read: {path} ({error}); save it again with -v7"
        ) from error
    columns: dict[str, np.ndarray] = {}
    meta: dict[str, str] = {}
    for name, value in content.items():
        if not name.startswith("__"):
            _collect(name, value, columns, meta)
    return Table(path, columns, meta)


def _collect(name: str, value: Any, columns: dict[str, np.ndarray], meta: dict[str, str], depth: int = 0) -> None:
    fields = getattr(value, "_fieldnames", None)
    if fields is not None and depth < DEEPEST_STRUCT:
        for part in fields:
            _collect(f"{name}.{part}", getattr(value, part), columns, meta, depth + 1)
    elif isinstance(value, str):
        meta[name] = value
    elif isinstance(value, np.ndarray | np.generic | float | int):
        columns.update(unfold_columns(name, np.atleast_1d(value)))
