"""Types of the arrays that the rooms hand one another, and their rows in spans and parts."""

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


def row_parts(n: int, first: int = 0) -> Iterator[slice]:
    """Rows first to n in parts: what is made of hours of a recording at once takes hundreds of megabytes."""
    return (slice(begin, min(begin + _ROWS_AT_ONCE, n)) for begin in range(first, n, _ROWS_AT_ONCE))
