"""Array types, even times, spans of rows."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
ComplexArray: TypeAlias = NDArray[np.complex128]
RowSpans: TypeAlias = list[tuple[int, int]]  # first row, one past the last
_ROWS_AT_ONCE = 65_536


def true_spans(mask: NDArray[np.bool_]) -> RowSpans:
    """Unbroken stretches where a mask (n,) is true, in their order; takes two bytes a row of memory, however long."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def is_even(t: Array) -> bool:
    """Do times (n,) increase by the same step, so that none is half a step from where an even grid has it?"""
    if len(t) < 2 or not t[-1] > t[0]:
        return False
    dt = (t[-1] - t[0]) / (len(t) - 1)
    return bool(np.abs(t - (t[0] + dt * np.arange(len(t)))).max() < 0.5 * dt and np.all(np.diff(t) > 0.0))


def row_parts(n: int, first: int = 0) -> Iterator[slice]:
    """Rows first to n in parts: what is made of hours of a recording at once takes hundreds of megabytes."""
    return (slice(begin, min(begin + _ROWS_AT_ONCE, n)) for begin in range(first, n, _ROWS_AT_ONCE))
