"""`riderless paper`: a table that LaTeX takes, figures that print, numbers beside them."""

import csv
import json

import pytest

from riderless.experiments.reports.paper.folder import write_paper
from riderless.experiments.reports.paper.tables import tex_text
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import riderless  # noqa: F401

NAMES = {
    *("report.tex", "conditions.csv", "windows.csv", "sources.bib", "eigenvalues-one-column.pdf"),
    *("eigenvalues-one-column.csv", "eigenvalues-two-column.pdf", "eigenvalues-two-column.csv"),
}


def spread(mean, half):
    return {"n": 2, "mean": mean, "half": half}


@pytest.fixture
def report(tmp_path):
    """Numbers of a report with two conditions, the faster one first and with one window."""
    rows = [
        {"label": "ours_2 & 5 m/s", "n": 1, "v_mean": 5.0, "re": spread(-1.25, None), "im": spread(5.5, None)},
        {"label": "ours 4 m/s", "n": 2, "v_mean": 4.0, "re": spread(-0.5, 0.125), "im": spread(3.0, 0.25)},
    ]
    for row in rows:
        row |= {"like": [-0.75, 3.5], "frozen": [-1.0, 4.0]}
    where = {"t_start": 1.0, "t_end": 3.0, "v_mean": 4.0}
    window = {"label": "=2+3", "bicycle": "ours", "window": where, "re": -0.5, "re_std": 0.1, "im": 3.0, "im_std": 0.2}
    window |= {"prediction": {"like": [-0.75, 3.5], "frozen": [-1.0, 4.0]}, "estimator": "single_mode"}
    document = {"title": "100 % ours", "summary": {"Our own recordings": {"pooled": rows}}, "windows": [window]}
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(document | {"provenance": {}}))
    return folder


def test_a_folder_for_a_paper(riderless, report, tmp_path):  # noqa: F811
    code, out, _ = riderless("paper", report, "-o", tmp_path / "paper")
    assert code == 0
    assert {path.name for path in (tmp_path / "paper").iterdir()} == NAMES
    assert all(name in out for name in NAMES)
    code, _, err = riderless("paper", report, "-o", tmp_path / "paper")
    assert code == 2
    assert "--force" in err
    assert riderless("paper", report, "-o", tmp_path / "paper", "--force")[0] == 0


def test_the_table_by_speed_with_intervals_where_there_are_any(report, tmp_path):
    write_paper(report, tmp_path / "paper")
    tex = (tmp_path / "paper/report.tex").read_text()
    slow = r"ours 4 m/s & 2 & 4.00 & $-0.50 \pm 0.12$ & $3.00 \pm 0.25$ & $-0.75 \pm 3.50\,\mathrm{i}$"
    fast = r"ours\_2 \& 5 m/s & 1 & 5.00 & $-1.25$ & $5.50$ &"
    assert tex.index(slow) < tex.index(fast)
    assert r"\caption{100 \% ours" in tex
    assert tex.count("{") == tex.count("}")
    assert [tex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def test_the_numbers_beside_it(report, tmp_path):
    write_paper(report, tmp_path / "paper")
    rows = list(csv.DictReader((tmp_path / "paper/eigenvalues-one-column.csv").open()))
    assert [float(row["re_1_s"]) for row in rows] == [-0.5, -1.25]
    assert [float(row["im_half_95_rad_s"]) for row in rows[:1]] == [0.25]
    windows = list(csv.DictReader((tmp_path / "paper/windows.csv").open()))
    assert float(windows[0]["like_im_rad_s"]) == 3.5
    assert not windows[0]["recording"].startswith("="), "a spreadsheet would compute it"


@pytest.mark.parametrize(("name", "inches"), [("one-column", 3.5), ("two-column", 7.2)])
def test_a_figure_has_its_width_and_holds_its_fonts(report, tmp_path, name, inches):
    import pypdfium2

    write_paper(report, tmp_path / "paper")
    path = tmp_path / f"paper/eigenvalues-{name}.pdf"
    page = pypdfium2.PdfDocument(path)[0]
    assert page.get_width() == pytest.approx(72.0 * inches, abs=1.0)
    assert "measured" in page.get_textpage().get_text_range()
    data = path.read_bytes()
    assert b"/FontFile2" in data
    assert b"/Type3" not in data


def test_a_figure_survives_printing_in_grey(report, tmp_path):
    """Every colour that is drawn is a grey."""
    import numpy as np
    import pypdfium2

    write_paper(report, tmp_path / "paper")
    drawn = pypdfium2.PdfDocument(tmp_path / "paper/eigenvalues-one-column.pdf")[0].render(scale=2).to_numpy()
    assert drawn.min() < 60
    assert np.ptp(drawn[..., :3].astype(int), axis=-1).max() < 40


def test_curves_of_theory_are_drawn_and_stand_beside(report, tmp_path):
    """Each in the legend; where there is no eigenvalue (null) there is no row."""
    import pypdfium2

    document = json.loads((report / "report.json").read_text())
    v = [3.5, 4.0, 4.5, 5.0]
    curves = [
        {"bicycle": "ours", "label": "open loop", "v": v, "re": [-0.1, -0.6, -0.9, -1.2], "im": [2.5, 3.0, 4.0, 5.4]},
        {"bicycle": "ours", "label": "capsize", "v": v, "re": [None, -1.0, -0.8, -0.5], "im": [None, 0.0, 0.0, 0.0]},
    ]
    (report / "report.json").write_text(json.dumps(document | {"curves": curves}))
    write_paper(report, tmp_path / "paper")
    rows = list(csv.DictReader((tmp_path / "paper/curves.csv").open()))
    assert [(row["curve"], float(row["v_m_s"]), float(row["re_1_s"])) for row in rows] == [
        *(("open loop", *pair) for pair in zip(v, curves[0]["re"], strict=True)),
        *(("capsize", *pair) for pair in zip(v[1:], curves[1]["re"][1:], strict=True)),
    ]
    page = pypdfium2.PdfDocument(tmp_path / "paper/eigenvalues-one-column.pdf")[0]
    words = " ".join(page.get_textpage().get_text_range().split())
    assert words.count("theory: open loop") == words.count("theory: capsize") == 1
    assert page.get_width() == pytest.approx(72.0 * 3.5, abs=1.0)


def test_a_report_without_windows_has_no_table(report, tmp_path):
    document = json.loads((report / "report.json").read_text())
    (report / "report.json").write_text(json.dumps(document | {"summary": {}, "windows": []}))
    with pytest.raises(InputError, match="compares no window with theory"):
        write_paper(report, tmp_path / "paper")
    assert not (tmp_path / "paper").exists()


def test_texts_of_others_obey_nothing():
    assert tex_text(r"\input{x}_%&$#^~") == (r"\textbackslash{}input\{x\}\_\%\&\$\#\textasciicircum{}\textasciitilde{}")
