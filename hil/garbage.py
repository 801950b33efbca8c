"""Garbage collector, held back during bulk work.

Imports and compilation make many objects and leave little garbage.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_seldom(after: int = 0) -> Iterator[None]:
    """Let the collector look only after so many new objects, never at 0; to whoever called, all is as it was."""
    before = gc.get_threshold()
    gc.set_threshold(after, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
