"""Where no window could be compared, each candidate's reason is told, and what to do next."""

import re
from dataclasses import replace

import pytest

from riderless.experiments.analysis.verdict.next_steps import GONE_TOO_SOON, LAST_RESORT, REMEDIES
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.theories import open_loop
from riderless.hil.design.methods import design
from riderless.hil.runners.simulated_run import simulate
from riderless.models import catalogue
from riderless.models.plant.plant import Kick
from tests.experiments.synthetic import kicked
from tests.paths import ROOT

SILVER = catalogue.load_bicycle("Silver")


def said(result):
    return " ".join(result.table().split())


@pytest.fixture(scope="module")
def well_damped():
    """The default design: what it damps is over within a cycle."""
    kicks = [Kick(0.6 + 3.2 * i, (-1) ** i * 3.0) for i in range(3)]
    return analyze(
        simulate(SILVER, design(SILVER, "lqr", [3.0, 4.0, 5.0, 6.0]), speed=4.0, kicks=kicks, model="linear")
    )


def test_a_motion_damped_too_well_is_named_with_the_remedy(well_damped):
    text = said(well_damped)
    assert not well_damped.comparisons
    assert text.count("less than one") == 3
    assert "what to do next: Silver lqr 4 m/s: damped too well to measure" in text
    assert "riderless design Silver --for measuring" in text
    assert "kick harder" not in text


def test_the_report_says_the_same(well_damped, tmp_path):
    page = well_damped.write_report(tmp_path / "report").read_text(encoding="utf-8")
    assert "What to do next" in page
    assert "damped too well to measure" in page
    assert page.count("less than one") >= 3
    assert LAST_RESORT.split(":")[0] in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kicks": ()}, "kick it"),
        ({"kicks": (2.0, 3.2, 4.4), "d": -1.0}, "3.5 s between kicks"),
        ({"kicks": (2.0, 13.4)[1:]}, "let the run go on"),
    ],
)
def test_each_reason_has_its_remedy(change, words):
    recording = replace(kicked(**change), theory=open_loop(SILVER), bicycle=SILVER)
    result = analyze(recording)
    assert not result.comparisons
    assert words in said(result)
    assert result.rejected


def test_a_speed_that_nobody_reads_is_named():
    """It was told that the motion is too noisy, and to kick harder: theory knew a bicycle at rest."""
    rolling = kicked(kicks=(2.0, 8.0), d=-1.07, w=5.01)
    result = analyze(replace(rolling, v=0.0 * rolling.v, theory=open_loop(SILVER), bicycle=SILVER))
    assert not result.comparisons
    assert "what to do next: synthetic: v is 0 m/s in every row: if it rolled, record the speed" in said(result)
    assert "kick harder" not in said(result)


def test_what_could_be_measured_needs_no_advice():
    good = replace(kicked(kicks=(2.0, 8.0), d=-1.07, w=5.01), theory=open_loop(SILVER), bicycle=SILVER)
    result = analyze(good)
    assert result.comparisons
    assert "what to do next" not in said(result)
    assert result.analysis.as_json()["next_steps"] == []


def test_every_remedy_answers_words_that_are_said():
    written = " ".join(
        path.read_text(encoding="utf-8")
        for folder in ("experiments/analysis", "experiments/analysis/estimators")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "next_steps.py"
    )
    # sentences are broken over lines of code
    written = re.sub(r'"\s*f?"', "", written)
    for words in (*(words for words, _ in REMEDIES), *GONE_TOO_SOON):
        assert words in written, words


def test_a_bicycle_of_ones_own_is_typed_as_a_file(well_damped):
    """`riderless design my bicycle` is no command: a name with a blank, and of no bicycle of the catalogue."""
    own = replace(SILVER, name="my bicycle")
    kicks = [Kick(0.6 + 3.2 * i, (-1) ** i * 3.0) for i in range(3)]
    run = simulate(own, design(own, "lqr", [3.0, 4.0, 5.0, 6.0]), speed=4.0, kicks=kicks, model="linear")
    assert "(riderless design BICYCLE.toml --for measuring)" in said(analyze(run))
