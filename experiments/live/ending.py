"""End of a command that serves until somebody ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from riderless.hil.runners.operator import heeding


@contextmanager
def heed_ending() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C or SIGTERM has come; until then they end nothing."""
    came: list[str] = []
    with heeding(came.append):
        yield lambda: bool(came)
