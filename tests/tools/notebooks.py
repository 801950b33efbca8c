"""`python -m tests.tools.notebooks`: make the notebooks of the lessons from their pages, without any output.

A command becomes a line with ``!``, a file of the page a cell that writes it. What a page shows as output is left out:
the notebook makes its own.
"""

import json
import re
from pathlib import Path

from tests.paths import DOCS
from tests.tools.lessons import FENCE, blocks

LESSONS = (
    "1-first-report",
    "2-a-kick-by-hand",
    "3-your-own-bicycle",
    "5-somebody-elses-log",
    "6-a-controller",
    "9-cascade-and-h-infinity",
)
FOLDER = DOCS / "notebooks"


def notebook(text: str) -> str:
    """Make a notebook (nbformat 4.5) of the text of a lesson."""
    cells: list[dict] = []
    at = 0
    for fence, block in zip(FENCE.finditer(text), blocks(text), strict=True):
        _append(cells, "markdown", text[at : fence.start()])
        at = fence.end()
        if block.file:
            _append(cells, "code", f"%%writefile {block.file}\n{block.body}")
        elif block.kind == "bash":
            _append(cells, "code", "\n".join(_in_a_cell(line) for line in block.body.splitlines()))
        elif block.kind == "python":
            _append(cells, "code", block.body)
        elif block.kind != "text":
            _append(cells, "markdown", fence[0])
    _append(cells, "markdown", text[at:])
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _in_a_cell(line: str) -> str:
    """Command line as a cell has it; a change of folder must last."""
    return f"%{line}" if line.startswith("cd ") else f"!{line}"


def _append(cells: list[dict], kind: str, text: str) -> None:
    """Append a cell, but for an empty one; links to pages lead up from the folder of the notebooks."""
    text = text.strip("\n")
    if not text.strip():
        return
    if kind == "markdown":
        text = re.sub(r"\]\((\d[\w-]*\.md)", r"](../lessons/\1", text)
    cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": text.splitlines(keepends=True)}
    cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))


def made() -> dict[Path, str]:
    """Notebooks by their paths."""
    return {
        FOLDER / f"{name}.ipynb": notebook((DOCS / f"lessons/{name}.md").read_text(encoding="utf-8"))
        for name in LESSONS
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(path)
