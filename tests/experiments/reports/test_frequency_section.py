"""Frequency responses in the report, in the terminal, and drawn by a real browser."""

import json
import re

import numpy as np
import pytest

from riderless.experiments.analysis.frequency_response.response import frequency_response
from riderless.experiments.reports.html import ReportInput, write_report
from riderless.experiments.reports.page.frequency_section import FrequencySection
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.commands.test_cli import call
from tests.experiments.reports.browser import looked_at

BENCHMARK = catalogue.load_bicycle("Benchmark")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Folders of a run with a true drive, and of one with a weak drive."""
    folder, rig = tmp_path_factory.mktemp("runs"), Rig(BENCHMARK)
    gains = design(BENCHMARK, "lqr", (4.5, 5.0, 5.5), rig.timing)
    played = Excitation("multisine", 1.0, 24.0, 0.25, 5.0, delay=1.5, periods=3)
    scenario = Scenario(speed=((0.0, 5.0),), release_after=0.5)
    for name, gain in (("true", 1.0), ("weak", 0.9)):
        emulation = Emulation(drive=SteerDrive(gain=gain))
        run_lockstep(folder / name, rig, gains, scenario, 28.0, f"<{name}> drive", None, emulation, Task(played))
    return folder


@pytest.fixture(scope="module")
def page(runs, tmp_path_factory):
    found = [frequency_response(read_run(runs / name)) for name in ("true", "weak")]
    why = ["the run short played for 3.0 s, wanted at least 20 s"]
    report = ReportInput("Played", frequency=found, no_frequency=why, provenance={"commit": "0123abc"})
    return write_report(tmp_path_factory.mktemp("page"), report)


def test_the_first_line_answers_and_no_window_is_missed(page):
    html = page.read_text(encoding="utf-8")
    first = re.search(r"<strong>(.*?)</strong>\s*<span>(.*?)</span>", html, re.DOTALL)
    assert first[1] == "The frequency response of Benchmark does not agree with theory (1 of 2 runs do)."
    assert first[2].startswith("Loop chi-square ")
    assert "No window" not in html


def test_the_section_has_each_run_and_the_reasons(page):
    html = page.read_text(encoding="utf-8")
    assert "&lt;weak&gt; drive" in html
    assert "<weak>" not in html
    assert html.count("<svg") == 4
    assert len(re.findall(r"response agrees with theory</b>: chi-square", html)) == 2
    assert len(re.findall(r'class="off">The (loop|plant)&#39;s response does not agree with theory</b>', html)) == 2
    assert "The run short played for 3.0 s, wanted at least 20 s." in html
    row = re.search(r"<td class=\"text\">weak</td><td class=\"text\">plant</td>.*?</tr>", html, re.DOTALL)[0]
    assert re.search(r"<td>0\.(90|89)\d\d ± 0\.00\d\d</td>", row)


def test_the_numbers_are_the_lines(page, runs):
    numbers = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))["frequency_responses"]
    assert [one["source"] for one in numbers] == ["true", "weak"]
    found = frequency_response(read_run(runs / "weak"))
    assert numbers[1]["responses"][0]["gain"] == pytest.approx(np.abs(found.named("loop", "phi_dot").measured))
    assert numbers[0]["goodness"]["loop"]["agrees"]
    assert not numbers[1]["goodness"]["loop"]["agrees"]


def test_figures_lie_beside_the_page(page):
    names = {f"{run}-{of}.{kind}" for run in ("true", "weak") for of in ("loop", "plant") for kind in ("svg", "pdf")}
    assert {path.name for path in (page.parent / "figures").iterdir()} == names
    assert "coherence" in (page.parent / "figures" / "weak-plant.svg").read_text(encoding="utf-8")


def test_without_a_played_torque_the_section_is_absent(tmp_path):
    assert "Frequency responses" not in write_report(tmp_path, ReportInput("None")).read_text(encoding="utf-8")


def test_minus_signs_are_true_ones_before_numbers_only():
    said = FrequencySection.said("the chi-square of -3.0 ± 1 %, p < 1e-12, and -2 deg")
    assert said == "The chi-square of −3.0 ± 1 %, p < 1e-12, and −2 deg"


def test_analyze_of_one_run_shows_it(runs, tmp_path, capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "analyze", runs / "weak", "-o", tmp_path / "report")
    assert code == 0
    said = " ".join(out.split())
    assert "the frequency response of Benchmark does not agree with theory loop chi-square" in said
    assert "no window could be compared" not in said
    html = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"<strong>(.*?)</strong>", html)[1].startswith(
        "The frequency response of Benchmark does not agree"
    )
    code, out, _ = call(capsys, monkeypatch, "analyze", runs / "true", "--json")
    assert json.loads(out)["frequency_responses"][0]["goodness"]["loop"]["agrees"]


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1280, "light")])
def test_a_browser_draws_the_section(page, width, scheme):
    found, picture = looked_at(page, width, scheme, height=2600)
    assert found["first"].startswith("The frequency response of Benchmark")
    assert found["width"] <= width
    assert len(found["figures"]) == 4
    for left, right, height in found["figures"]:
        assert 0 <= left < right <= width
        assert right - left > 300
        assert height > 400
    page_colour, ink = (sum(map(int, re.findall(r"\d+", found[name])[:3])) for name in ("page", "ink"))
    assert (page_colour < ink) == (scheme == "dark")
    assert (picture[:5, :5].mean() < 60) == (scheme == "dark")
    for light, dark in ((0x0B64AD, 0x6CB4F8), (0xC14F0B, 0xFF9A5E), (0x0E7C61, 0x52D0A6)):
        colour = dark if scheme == "dark" else light
        drawn = np.abs(picture - [colour >> 16, colour >> 8 & 255, colour & 255]).sum(axis=2) < 12
        assert drawn.sum() > 30, f"curves of #{colour:06x}"
