"""A real browser looks at a written page, or prints it, for the tests of reports."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from tests.browser import overhear, seen_by_a_browser

PATIENCE = 60_000  # ms, of a test on a busy computer
PROBE = """() => {
  const boxes = [...document.querySelectorAll("figure svg")].map(e => e.getBoundingClientRect());
  return {
    width: document.documentElement.scrollWidth,
    page: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    first: document.querySelector("main strong")?.textContent,
    figures: boxes.map(b => [b.left, b.right, b.height]),
    words: [...document.querySelectorAll(".symbols dd")].map(e => e.getBoundingClientRect().width),
    recordings: [...document.querySelectorAll(".recordings svg")].map(e => e.getBoundingClientRect().width),
  };
}"""


def opened(browser: Any, page: Path, **about: Any) -> tuple[Any, list[str], list[str]]:
    """Open a written page; beside it what is overheard of it."""
    sheet = browser.new_page(**about)
    sheet.set_default_timeout(PATIENCE)
    said, outside = overhear(sheet, lambda url: url.startswith(("file:", "data:")))
    sheet.goto(page.as_uri())
    return sheet, said, outside


def looked_at(page: Path, width: int, scheme: str, height: int = 2400) -> tuple[dict, np.ndarray]:
    """What the browser measured of a page, and its picture (height, width, 3), 0 to 255.

    Fails when the page says anything on the browser's console, or asks for anything outside.
    """

    def look(browser: Any) -> tuple[dict, bytes, list[str], list[str]]:
        sheet, *heard = opened(browser, page, viewport={"width": width, "height": height}, color_scheme=scheme)
        return sheet.evaluate(PROBE), sheet.screenshot(), *heard

    found, shot, said, outside = seen_by_a_browser(look)
    assert said == []
    assert outside == []
    picture = imread(io.BytesIO(shot))
    assert picture.shape[:2] == (height, width)
    return found, (picture[..., :3] * 255).astype(int)


Box = tuple[float, float, float, float]  # pt: left, bottom, right, top, from the lower left corner of the sheet


def printed(page: Path) -> list[tuple[tuple[float, float], list[tuple[str, Box]]]]:
    """Size [pt] of every sheet that the browser prints of a page, and the characters on it, each with its box.

    The test is skipped without a reader of PDF.
    """
    reader = pytest.importorskip("pypdfium2")
    paper = seen_by_a_browser(lambda browser: opened(browser, page)[0].pdf(prefer_css_page_size=True))
    with reader.PdfDocument(paper) as document:
        return [(sheet.get_size(), _characters(sheet.get_textpage())) for sheet in document]


def _characters(text) -> list[tuple[str, Box]]:
    said = text.get_text_range()
    assert len(said) == text.count_chars()
    return [(character, text.get_charbox(i)) for i, character in enumerate(said) if not character.isspace()]


def words_of(found: list[tuple[str, Box]]) -> str:
    """Everything said on a sheet, without the spaces."""
    return "".join(character for character, _ in found)
