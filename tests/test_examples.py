"""Examples of the documentation: short, through the door alone, and they run."""

import ast
import runpy

import pytest

from tests.paths import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
MOST_LINES = 25


def test_there_are_examples():
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_uses_the_door(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    tree = ast.parse(text)
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= {"riderless", "numpy", "pathlib"}
    assert "riderless" in modules
    assert ast.get_docstring(tree)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
