"""HDF5 files by h5py, and with them MAT files of version 7.3."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.recordings.foreign.extras import import_extra
from experiments.recordings.foreign.table import Table, dotted_name, unfold_columns
from models.errors import InputError

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_REFERENCES = "#"  # groups that MATLAB keeps for itself: #refs#, #subsystem#


def fits(head: bytes, suffix: str) -> bool:
    """By the signature, at the beginning or behind a user block of 512, 1024, ... bytes."""
    return any(head[at : at + 8] == HDF5_SIGNATURE for at in (0, 512, 1024, 2048))


def read(path: Path, **_: object) -> Table:
    """Datasets of one or two dimensions as columns, by their path; attributes that are texts are kept.

    Raises
    ------
    InputError
        h5py is not installed, or the file is damaged.
    """
    h5py = import_extra("h5py", path)
    columns: dict[str, np.ndarray] = {}
    meta: dict[str, str] = {}

    def collect(name: str, item: Any) -> None:
        for key, value in item.attrs.items():
            if isinstance(value, str):
                meta[f"{dotted_name(name)}.{key}"] = value
        if name.startswith(MATLAB_REFERENCES) or not isinstance(item, h5py.Dataset) or item.size is None:
            return
        if h5py.check_string_dtype(item.dtype) and item.ndim:
            columns[name] = np.array(item.asstr()[...], dtype=object).reshape(-1)
        elif item.dtype.kind in "biufSV" and 0 < item.ndim < 3 and "MATLAB_empty" not in item.attrs:
            columns.update(unfold_columns(name, item[...]))

    try:
        with h5py.File(path, "r") as file:
            meta.update({key: value for key, value in file.attrs.items() if isinstance(value, str)})
            file.visititems(collect)
    except OSError as error:
        raise InputError(
            f"wanted an HDF5 file, found one that cannot be read: {path} ({error}); copy or save it again"
        ) from error
    return Table(path, columns, meta)
