"""A real browser looks at a page, for the tests of reports."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

LEAST = 500  # px, the narrowest window of a headless Chromium; a picture may be narrower
OFF = ("gpu", "quic", "background-networking", "component-update", "sync")
SCHEMES = {"light": 1, "dark": 0}  # Chromium's numbers for what a reader prefers
PROBE = """<script>
const boxes = [...document.querySelectorAll("figure svg")].map(e => e.getBoundingClientRect());
document.body.dataset.probe = JSON.stringify({
  width: document.documentElement.scrollWidth,
  page: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  first: document.querySelector("main strong")?.textContent,
  figures: boxes.map(b => [b.left, b.right, b.height]),
});
</script></body>"""


def browser(profile: Path, width: int, height: int, scheme: str) -> list[str]:
    """The command of a Chromium of that size for a reader who likes it light or dark; the test is skipped without."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    flags = ["--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr"]
    flags += [f"--disable-{feature}" for feature in OFF]
    flags += [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
    return [chromium, *flags, f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}"]


def looked_at(page: Path, tmp_path: Path, width: int, scheme: str, height: int = 2400) -> tuple[dict, np.ndarray]:
    """What the browser measured of a page, and its picture (height, width, 3), 0 to 255.

    Fails when the page says anything on the browser's console.
    """
    command = browser(tmp_path / "profile", width, height, scheme)
    probe = page.with_name(f"probe-{width}-{scheme}.html")
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
    shot = tmp_path / "page.png"
    drawn = subprocess.run(
        [*command, f"--screenshot={shot}", page.as_uri()], check=True, timeout=250, capture_output=True
    )
    dump = subprocess.run([*command, "--dump-dom", probe.as_uri()], check=True, timeout=250, capture_output=True)
    for said in (drawn.stderr, dump.stderr):
        assert b"CONSOLE" not in said, said
    found = json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', dump.stdout.decode())[1]))
    picture = imread(shot)
    assert picture.shape[:2] == (height, width)
    return found, (picture[..., :3] * 255).astype(int)


Box = tuple[float, float, float, float]  # pt: left, bottom, right, top, from the lower left corner of the sheet


def printed(page: Path, tmp_path: Path) -> list[tuple[tuple[float, float], list[tuple[str, Box]]]]:
    """Size [pt] of every sheet that the browser prints of a page, and the characters on it, each with its box.

    The test is skipped without a reader of PDF.
    """
    reader = pytest.importorskip("pypdfium2")
    out = tmp_path / "page.pdf"
    command = [*browser(tmp_path / "printer", 1280, 1000, "light"), "--no-pdf-header-footer", f"--print-to-pdf={out}"]
    subprocess.run([*command, page.as_uri()], check=True, timeout=90, capture_output=True)
    with reader.PdfDocument(out) as document:
        return [(sheet.get_size(), _characters(sheet.get_textpage())) for sheet in document]


def _characters(text) -> list[tuple[str, Box]]:
    said = text.get_text_range()
    assert len(said) == text.count_chars()
    return [(character, text.get_charbox(i)) for i, character in enumerate(said) if not character.isspace()]


def words_of(found: list[tuple[str, Box]]) -> str:
    """Everything said on a sheet, without the spaces."""
    return "".join(character for character, _ in found)
