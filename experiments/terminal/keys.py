"""Single keys of the terminal, without waiting for Enter; none where there is no terminal."""

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Yield a function that gives the keys pressed since its last call; the terminal is restored afterwards.

    Ctrl-C and Ctrl-Z keep their meaning.
    """
    if not sys.stdin.isatty():
        yield lambda: ""
        return
    fd = sys.stdin.fileno()
    kept = termios.tcgetattr(fd)

    def pressed() -> str:
        readable, _, _ = select.select([fd], [], [], 0.0)
        return os.read(fd, 64).decode(errors="replace") if readable else ""

    try:
        tty.setcbreak(fd)
        yield pressed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, kept)
