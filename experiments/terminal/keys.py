"""Single keys of the terminal, without waiting for Enter; none where there is no terminal."""

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENTER, LEFT, RIGHT = "enter", "left", "right"  # names of keys whose characters differ between terminals
_NAMES = {"\r": ENTER, "\n": ENTER, "\x1b[D": LEFT, "\x1bOD": LEFT, "\x1b[C": RIGHT, "\x1bOC": RIGHT}
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)  # an arrow is three characters, and one key


def at_terminal() -> bool:
    """Is standard input a terminal? It may be closed, or a file."""
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


@contextmanager
def keys(early: bool = False) -> Iterator[Callable[[], str]]:
    """Yield a function that gives the characters typed since its last call; the terminal is restored afterwards.

    With ``early`` what was typed before counts too. Ctrl-C and Ctrl-Z keep their meaning.
    """
    if not at_terminal():
        yield lambda: ""
        return
    fd = sys.stdin.fileno()
    kept = termios.tcgetattr(fd)

    def pressed() -> str:
        readable, _, _ = select.select([fd], [], [], 0.0)
        return os.read(fd, 64).decode(errors="replace") if readable else ""

    try:
        tty.setcbreak(fd, termios.TCSADRAIN if early else termios.TCSAFLUSH)
        yield pressed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, kept)


def split_keys(typed: str) -> list[str]:
    """Split characters into keys: ENTER, LEFT, RIGHT, or what else was typed."""
    return [_NAMES.get(key, key) for key in _KEY.findall(typed)]
