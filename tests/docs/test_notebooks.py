"""Notebooks of the lessons: those that the pages make today, without output, with the lines that the pages run."""

import json

import pytest

from tests.paths import DOCS
from tests.tools.lessons import blocks
from tests.tools.notebooks import FOLDER, LESSONS, made


def cells(name, kind="code"):
    document = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == kind]


def test_there_are_six():
    assert len(list(FOLDER.glob("*.ipynb"))) == len(LESSONS) == 6


def test_each_is_what_its_lesson_makes_today():
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m tests.tools.notebooks"


@pytest.mark.parametrize("name", LESSONS)
def test_no_output_is_stored(name):
    document = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert all(not c["outputs"] and c["execution_count"] is None for c in document["cells"] if c["cell_type"] == "code")
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])


@pytest.mark.parametrize("name", LESSONS)
def test_the_cells_are_the_lines_that_the_lesson_runs(name):
    page = (DOCS / f"lessons/{name}.md").read_text(encoding="utf-8")
    run = [b for b in blocks(page) if b.file or b.kind in ("bash", "python")]
    for cell, block in zip(cells(name), run, strict=True):
        first, _, rest = cell.partition("\n")
        lines = rest if first.startswith("%%writefile ") else "\n".join(x.lstrip("!%") for x in cell.splitlines())
        assert lines == block.body.strip("\n")
