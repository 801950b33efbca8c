"""Compiled functions of `firmware_interface` and `hil` as plain Python, so that a mutant need not be compiled.

`uncompile` must be called before they are imported. Records and arrays are then handed to a function as compiled code
sees them: fields are attributes, and a whole number read from them is wider than its place, as numba's are, so that
``tape[1] << 8`` is not cut to a byte, and a division by zero is an error. Functions called by address (the drivers) and
those of the C library work as well. What `models` compiles stays compiled.
"""

import ctypes
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numba
import numba.extending
import numpy as np

from riderless.firmware_interface import kernels

ROOMS = ("riderless.firmware_interface", "riderless.hil", "tests")


class Record:
    """A record of numpy whose fields are attributes."""

    __slots__ = ("record",)

    def __init__(self, record: np.void) -> None:
        object.__setattr__(self, "record", record)

    def __getattr__(self, name: str) -> Any:
        return read(self.record[name])

    def __setattr__(self, name: str, value: Any) -> None:
        store(self.record, name, value)

    __getitem__ = __getattr__
    __setitem__ = __setattr__


class Array:
    """An array of records, or of numbers narrower than numba computes with."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)

    def __getitem__(self, place: Any) -> Any:
        return read(self.array[place])

    def __setitem__(self, place: Any, value: Any) -> None:
        store(self.array, place, value)

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, *args: Any, **how: Any) -> np.ndarray:
        return self.array


def read(value: Any) -> Any:
    """A value as compiled code has it."""
    if isinstance(value, np.void):
        return Record(value)
    if isinstance(value, np.ndarray):
        narrow = value.dtype.names or (value.dtype.kind in "iu" and value.dtype.itemsize < 8)
        return Array(value) if narrow else value
    return value.item() if isinstance(value, np.integer | np.float64) else value


def store(target: Any, place: Any, value: Any) -> None:
    """Store a value as compiled code does: whole numbers lose what does not fit."""
    value = value.record if isinstance(value, Record) else value
    try:
        target[place] = value
    except OverflowError:
        kind = (target[place] if isinstance(place, str) else target).dtype
        target[place] = np.array(int(value) & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(kind)


def opened(value: Any) -> Any:
    """An argument as compiled code has it; tuples of records and arrays too."""
    if isinstance(value, np.void | np.ndarray):
        return read(value)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(opened, value))
    return value


def _njit(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator instead of ``numba.njit``."""

    def plain(function: Any = None, **how: Any) -> Any:
        if function is None:
            return functools.partial(plain, **how)
        if not function.__module__.startswith(ROOMS):
            return compiled(function, **how)

        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return function(*map(opened, args))

        call.py_func = function  # type: ignore[attr-defined]
        return call

    return plain


_at: list[Callable[..., Any]] = []  # functions by address


def _cfunc(*_: Any, **__: Any) -> Callable[[Callable[..., Any]], Any]:
    """The decorator instead of ``cfunc``: an address is a place in a list."""

    def keep(function: Callable[..., Any]) -> Any:
        _at.append(function)
        return SimpleNamespace(address=len(_at))

    return keep


def _call(address: int, *args: Any) -> Any:
    return _at[address - 1](*args)


def _laid_over(data: Any, start: int, layout: Any) -> Any:
    """Bytes seen as a record."""
    layout = getattr(layout, "dtype", layout)
    return Record(np.asarray(data)[start : start + layout.itemsize].view(layout)[0])


_INTRINSICS: dict[str, Callable[..., Any]] = {
    "_heard": _call,
    "_said": _call,
    **dict.fromkeys(("_stepped", "_tracked", "_told", "_held"), _call),  # laws, place and pace
    "_load_int32": lambda address: ctypes.get_errno(),
    "_laid_over": _laid_over,
}
_libc = ctypes.CDLL(None, use_errno=True)


def _external(name: str, signature: Any) -> Callable[..., int]:
    """A function of the C library; all arguments are whole numbers."""
    function = _libc[name]
    function.restype = ctypes.c_long if name in ("read", "write") else ctypes.c_int
    return lambda *args: function(*map(ctypes.c_long, args))


def uncompile() -> None:
    """Exchange numba's decorators, before a module takes them."""
    njit, intrinsic = numba.njit, numba.extending.intrinsic
    numba.njit = _njit(njit)
    kernels.njit = _njit(kernels.njit)
    kernels.cfunc = _cfunc  # type: ignore[assignment]
    numba.carray = lambda data, n: data if isinstance(data, np.ndarray | Array) else [data]
    numba.extending.intrinsic = lambda function: _INTRINSICS.get(function.__name__) or intrinsic(function)
    numba.types.ExternalFunction = _external
    np.seterr(invalid="ignore", over="ignore")  # of which compiled code does not warn
