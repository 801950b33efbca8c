"""A real Chromium, opened and closed again; for the tests of reports and of the live page."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

TRIES = 3  # browsers in turn: once in some thousand starts on a busy computer one hangs

Seen = TypeVar("Seen")


@contextmanager
def a_browser() -> Iterator[Any]:
    """Open a real Chromium; the test is skipped where there is none, or nothing that could drive it."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def seen_by_a_browser(look: Callable[[Any], Seen]) -> Seen:
    """What ``look`` finds through a browser of its own, or through the next one where that one hangs."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
    for _ in range(TRIES - 1):
        try:
            with a_browser() as browser:
                return look(browser)
        except driver.TimeoutError as error:
            print(f"this browser hung: {error}")
    with a_browser() as browser:
        return look(browser)
