"""MATLAB and Octave files by scipy.

Up to version 7; version 7.3 is HDF5 and read as that.
"""

import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from riderless.experiments.recordings.foreign.formats.apart import read_apart
from riderless.experiments.recordings.foreign.table import MATLAB_CELLS, Table, require_columns_few, unfold_columns
from riderless.hil.memory import STEP, memory_for_reading, require_memory
from riderless.models.errors import InputError

_HEADER_BYTES, _COMPRESSED = 128, 15  # of the file; type of a compressed element
_READ_BYTES = 65_536
_HELD = 2  # as it was read, and on its way here
DEEPEST_STRUCT = 6  # structs within structs


def fits(head: bytes, suffix: str) -> bool:
    """Version 5 to 7 by its first words; version 4 has none and goes by its name."""
    return head.startswith(b"MATLAB 5.0") or (suffix == ".mat" and b"\0" in head)


def read(path: Path, **_: object) -> Table:
    """Variables of a MAT file as columns; fields of simple structs by ``struct.field``, matrices by ``name[1]``.

    Raises
    ------
    InputError
        The file is damaged, or takes too much memory.
    """
    from scipy.io import loadmat

    columns, meta, objects = read_apart(path, lambda: _content(loadmat, path))
    return Table(path, columns, meta, objects=objects)


def _content(
    loadmat: Callable[..., dict[str, Any]], path: Path
) -> tuple[dict[str, np.ndarray], dict[str, str], dict[str, str]]:
    """Columns, texts, and classes of what only MATLAB reads, of a file."""
    require_memory(_HELD * _unpacked_size(path), path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # opaque classes, which are left out
            content = loadmat(str(path), squeeze_me=True, struct_as_record=False, chars_as_strings=True)
    except MemoryError:
        raise
    except Exception as error:
        raise InputError(
            f"wanted a MAT file, found one that cannot be read: {path} ({error}); save it again with -v7"
        ) from error
    columns: dict[str, np.ndarray] = {}
    meta: dict[str, str] = {}
    objects: dict[str, str] = {}
    for name, value in content.items():
        if not name.startswith("__"):
            _collect(name, value, columns, meta, objects)
    require_columns_few(len(columns), path)
    return columns, meta, objects


def _unpacked_size(path: Path) -> int:
    """Bytes of all variables of a file of version 5 to 7; what is compressed is unpacked in small steps and counted.

    The count ends where it passes `memory_for_reading`; a file of version 4 is as long as it is.
    """
    total, remaining = 0, path.stat().st_size - _HEADER_BYTES
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
        if not head.startswith(b"MATLAB 5.0"):
            return remaining
        tag = struct.Struct("<II" if head[-2:] == b"IM" else ">II")
        while remaining >= tag.size and total <= memory_for_reading():
            kind, length = tag.unpack(file.read(tag.size))
            remaining -= tag.size
            place = file.tell()
            total += _count_zlib(file, min(length, remaining)) if kind == _COMPRESSED else min(length, remaining)
            file.seek(place + length)
            remaining -= length
    return total


def _count_zlib(file: BinaryIO, length: int) -> int:
    """Count what compressed bytes unpack to, as far as they do."""
    unpacker, total = zlib.decompressobj(), 0
    while length > 0 and total <= memory_for_reading() and not unpacker.eof:
        packed = file.read(min(length, _READ_BYTES))
        length -= _READ_BYTES
        try:
            while packed and total <= memory_for_reading():
                total += len(unpacker.decompress(packed, STEP))
                packed = unpacker.unconsumed_tail
        except zlib.error:
            return total  # damaged: the library says so
    return total


def _collect(
    name: str, value: Any, columns: dict[str, np.ndarray], meta: dict[str, str], objects: dict[str, str], depth: int = 0
) -> None:
    fields = getattr(value, "_fieldnames", None)
    if fields is not None and depth < DEEPEST_STRUCT:
        for part in fields:
            _collect(f"{name}.{part}", getattr(value, part), columns, meta, objects, depth + 1)
    elif isinstance(value, np.ndarray) and "s2" in (value.dtype.names or ()):  # scipy's view of an object of a class
        called, kind = (_word(value[part]) for part in ("s0", "s2"))
        objects[name if name != "None" else called] = kind
    elif (
        isinstance(value, np.ndarray)
        and value.dtype == object
        and not all(isinstance(text, str) for text in value.flat)
    ):
        objects[name] = f"{MATLAB_CELLS}{value.size}"
    elif isinstance(value, str):
        meta[name] = value
    elif isinstance(value, np.ndarray | np.generic | float | int):
        columns.update(unfold_columns(name, np.atleast_1d(value)))


def _word(value: Any) -> str:
    """First text in an array."""
    word = next(iter(np.asarray(value).flat), "")
    return word.decode("ascii", "replace") if isinstance(word, bytes) else str(word)
