"""Examples of the gallery: many, short, each with a picture; the quick ones run here, all of them with the site."""

import runpy

import matplotlib
import pytest

from tests.paths import DOCS

matplotlib.use("agg")
import matplotlib.pyplot as plt

EXAMPLES = sorted((DOCS / "gallery").glob("[0-9]*.py"))
QUICK = ("01", "02", "03", "08", "10", "18")  # a second each


def test_there_are_enough():
    assert len(EXAMPLES) >= 15


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[pytest.mark.slow] * (p.name[:2] not in QUICK), id=p.stem) for p in EXAMPLES]
)
def test_an_example_draws(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(path), run_name="__main__")
        drawn = [axis for number in plt.get_fignums() for axis in plt.figure(number).axes]
        assert (tmp_path / "moving.gif").exists() or any(axis.lines or axis.collections for axis in drawn)
    finally:
        plt.close("all")
