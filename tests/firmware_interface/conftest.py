"""Fixtures of this room."""

import os
import pty
import tty
from collections.abc import Iterator

import pytest


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """Master file descriptor and path of a raw pseudo-terminal."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)
