"""Fit processes for the tests: one that takes its turn, and the end of one by a signal."""

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager


def fitter_in_turn() -> ProcessPoolExecutor:
    """Fitter that takes its turn: that of the page lets all others go first, and gets nothing of a busy computer."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


@contextmanager
def killed_fitter(patience: float = 20.0) -> Iterator[None]:
    """Let what stands inside start a fit process, then kill that as the kernel does when memory runs out."""
    before = {child.pid for child in multiprocessing.active_children()}
    yield
    end = time.monotonic() + patience
    while not (new := [child for child in multiprocessing.active_children() if child.pid not in before]):
        assert time.monotonic() < end, "no fit was asked for"
        time.sleep(0.01)
    for child in new:
        child.kill()
