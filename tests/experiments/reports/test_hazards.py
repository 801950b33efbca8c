"""Hazards: every guard has a proof that exists, and the sheet to be signed shows it all."""

import ast
import json
from dataclasses import replace

import pypdfium2
import pytest
from pypdfium2 import raw as pdfium

from riderless.experiments.reports.hazards import MEASURES, SEVERITIES, checks_by_hand, hazards_of, proof_in_words
from riderless.experiments.reports.hazards_pdf import write_hazards_sheet
from riderless.hil.loop.limits import Limit
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import ROOT

RIG = Rig(catalogue.load_bicycle("Benchmark"))
ROWS = [(hazard, row) for hazard in hazards_of(RIG) for row in hazard.rows]


def words(text):
    return "".join(text.split())


@pytest.mark.parametrize(("hazard", "row"), ROWS, ids=[row.number for _, row in ROWS])
def test_a_guard_has_a_proof_that_exists(hazard, row):
    assert hazard.severity in SEVERITIES
    assert row.measure in MEASURES
    for proof in row.proof:
        file, _, name = proof.partition("::")
        functions = {n.name for n in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(n, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"
    if row.measure != "information":
        assert row.proof, f"{row.number} promises a guard without a test"
    assert row.proof or row.by_hand


def test_limits_of_the_rig_stand_in_the_words():
    weak = replace(RIG, limits=replace(RIG.limits, torque=Limit(3.21, "N m", "a child's bicycle")), watchdog=0.0375)
    text = " ".join(row.guard for hazard in hazards_of(weak) for row in hazard.rows)
    assert "at most 3.21 N m" in text
    assert "37.5 ms" in text
    assert "{" not in text
    assert "3.21" not in " ".join(row.guard for _, row in ROWS)


def texts_on(sheet):
    return sheet.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT])


def test_the_sheet_shows_every_row_whole_and_inside_the_paper(tmp_path):
    hazards = hazards_of(RIG)
    write_hazards_sheet(tmp_path / "hazards.pdf", hazards, replace(RIG, name="Fahrrad Ærø Ω"), "2026-11-22")
    with pypdfium2.PdfDocument(tmp_path / "hazards.pdf") as document:
        sheets = [
            (sheet.get_textpage().get_text_range(), sheet.get_size(), [text.get_bounds() for text in texts_on(sheet)])
            for sheet in document
        ]
    text = words("".join(said for said, _, _ in sheets))
    for hazard in hazards:
        assert words(hazard.harm) in text
        for row in hazard.rows:
            for part in (row.cause, row.guard, row.left, *map(proof_in_words, row.proof)):
                assert words(part.replace("`", "")) in text, f"{row.number}: {part}"
    for _, what in checks_by_hand(hazards):
        assert words(what.replace("`", "")) in text
    for limit in vars(RIG.limits).values():
        assert words(limit.reason) in text
    assert words("Fahrrad Ærø Ω") in text
    assert words("2026-11-22") in text
    for _, (width, height), places in sheets:
        assert places
        for left, bottom, right, top in places:
            assert 0 < left < right < width
            assert 0 < bottom < top < height


def test_the_command_writes_a_sheet_of_a_rig_and_says_where(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, out, _ = riderless("hazards", "-o", "sheet.pdf")
    assert code == 0
    assert "sheet.pdf" in out
    assert (tmp_path / "sheet.pdf").read_bytes().startswith(b"%PDF")
    code, out, _ = riderless("hazards", "--json")
    assert json.loads(out)["hazards"][0]["rows"][0]["number"] == "1.1"


def test_on_the_screen_no_line_is_longer_than_it_needs_to_be(riderless):  # noqa: F811
    code, out, _ = riderless("hazards")
    assert code == 0
    for _, row in ROWS:
        assert words(row.guard) in words(out)
        assert words(row.left) in words(out)
    assert max(map(len, out.splitlines())) < 300


@pytest.mark.parametrize("name", ["sheet.txt", "sheet", "missing/sheet.pdf"])
def test_a_sheet_that_cannot_be_written_is_told_in_a_sentence(riderless, tmp_path, monkeypatch, name):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, _, err = riderless("hazards", "-o", name)
    assert code == 2
    assert "sheet of hazards" in err
    assert list(tmp_path.iterdir()) == []
