"""End of a command that serves until somebody ends it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def heed_ending() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C or SIGTERM has come; until then they end nothing."""
    ended = False

    def heed(*_: object) -> None:
        nonlocal ended
        ended = True

    kept = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield lambda: ended
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
