"""Every command and every line of Python in the lessons runs, and prints what the page shows."""

import pytest

from tests.paths import DOCS
from tests.tools.lessons import agrees, blocks, walk

LESSONS = sorted((DOCS / "lessons").glob("[0-9]*.md"))
PAGES = [
    *LESSONS,
    DOCS / "howto/pandas.md",
    DOCS / "howto/figures.md",
    DOCS / "howto/python-control.md",
    DOCS / "howto/other-bicycles.md",
    DOCS / "howto/fault-codes.md",
]
RIDES = [path for path in LESSONS if path.name[0] == "4"]  # in real time
MOST_WORDS = 900  # of a lesson, without its code


def test_there_are_nine_lessons():
    assert [path.name[0] for path in LESSONS] == list("123456789")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.realtime] * (path in RIDES), id=path.stem) for path in PAGES],
)
def test_a_page_runs_and_prints_what_it_shows(path):
    ran = 0
    for block, shown, printed in walk(path.read_text(encoding="utf-8")):
        ran += 1
        if shown is not None:
            what = f"{path.name} shows\n{shown.body}\nafter\n{block.body}\nand it is\n{printed}"
            assert agrees(shown.body, printed), what
    assert ran >= (1 if path.stem in ("fault-codes", "figures") else 2)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_short_and_ends_with_what_was_made(path):
    text = path.read_text(encoding="utf-8")
    words = text
    for block in reversed(list(blocks(text))):
        words = words[: block.start] + words[block.end :]
    assert len(words.split()) <= MOST_WORDS
    assert "## What you made" in text


def test_another_output_is_noticed():
    assert agrees("a ... c\n...\nlast\n", "a b c\nx\ny\nlast\n")
    assert agrees("...\n", "anything\nat all\n")
    assert not agrees("a 1.2 c\n", "a 1.3 c\n")
    assert not agrees("a\n...\n", "b\na\n")
    text = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    assert [(shown.body, out) for _, shown, out in walk(text)] == [("2\n", "1\n")]


def test_a_refused_command_and_an_unknown_program_are_seen():
    refused = "```bash\nriderless eig Slver --speeds 5\n```\n"
    assert [out.startswith("riderless: ") for *_, out in walk(refused)] == [True]
    with pytest.raises(ValueError, match="a page runs cd"):
        list(walk("```bash\nmake coffee\n```\n"))
