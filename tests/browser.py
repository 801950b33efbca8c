"""A real Chromium, opened and closed again; for the tests of reports and of the live page."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

TRIES = 3  # browsers in turn: once in some thousand starts on a busy computer one hangs

Seen = TypeVar("Seen")


def playwright() -> Any:
    """Library that drives the browser; the test is skipped without."""
    return pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")


@contextmanager
def a_browser() -> Iterator[Any]:
    """Open a real Chromium; the test is skipped where there is none, or nothing that could drive it."""
    driver = playwright()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with driver.sync_playwright() as driving:
        browser = driving.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def seen_by_a_browser(look: Callable[[Any], Seen]) -> Seen:
    """What ``look`` finds through a browser of its own, or through the next one where that one hangs."""
    for left in reversed(range(TRIES)):
        try:
            with a_browser() as browser:
                return look(browser)
        except playwright().TimeoutError as error:
            if not left:
                raise
            print(f"this browser hung: {error}")
    raise AssertionError


def overhear(page: Any, is_own: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """What a page says on the console, and the addresses it asks for that are not its own; both grow as it goes on."""
    said: list[str] = []
    outside: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if is_own(request.url) else outside.append(request.url))
    return said, outside
