"""A browser that hangs is left for another."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.browser import seen_by_a_browser

PATIENCE = 2000  # ms
PAGE = "data:text/html,<title>seen</title>"


def below(pid: int) -> Iterator[int]:
    """Processes that a process started, and those that they did."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # it ended meanwhile
            for child in map(int, children.read_text().split()):
                yield child
                yield from below(child)


def tell_its_browser(told: signal.Signals) -> None:
    """Send a signal to every process below this one whose program is a Chromium."""
    for process in list(below(os.getpid())):
        with suppress(OSError):
            if "chrom" in Path(f"/proc/{process}/comm").read_text():
                os.kill(process, told)


@pytest.mark.parametrize("hanging", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_page_is_seen_although_browsers_hang(hanging):
    opened = []

    def look(browser):
        opened.append(browser)
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        if len(opened) <= hanging:
            tell_its_browser(signal.SIGSTOP)
        try:
            page.goto(PAGE)
            return page.title()
        finally:
            tell_its_browser(signal.SIGCONT)  # else its end would be waited for

    assert seen_by_a_browser(look) == "seen"
    assert len(opened) == hanging + 1
