"""Examples of the documentation: short, through the door alone, and they run."""

import re
import runpy

import pytest

from tests.paths import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) == 5


def test_examples_use_the_door_alone():
    for path in EXAMPLES:
        modules = set(re.findall(r"^(?:from|import) (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert "riderless" in modules, path
        assert modules <= {"riderless", "numpy", "pathlib"}, path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
