"""A browser that hangs is left for another."""

import os
import signal
from pathlib import Path

import pytest

from tests.browser import seen_by_a_browser

PATIENCE = 2000  # ms
PAGE = "data:text/html,<title>seen</title>"


def tell_its_browser(told: signal.Signals) -> None:
    """Send a signal to every process below this one whose program is a Chromium."""
    below = {os.getpid()}
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            name, numbers = (process / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except FileNotFoundError:
            continue
        if int(numbers.split()[1]) in below:
            below.add(int(process.name))
            if "chrom" in name:
                os.kill(int(process.name), told)


@pytest.mark.parametrize("hanging", [0, 1, 2])
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
