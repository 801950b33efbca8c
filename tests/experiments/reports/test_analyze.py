"""Analysis from Python: what is in memory and what is on disk give the same, as text, JSON, frame and report."""

import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from riderless.experiments import analyze, read_recording
from riderless.experiments.reports.text import Sentence, TextTable, plain_text
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.hil.logs.json_values import plain
from riderless.hil.logs.log import read_run
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with one kick."""
    rig = rig_of()
    folder = tmp_path_factory.mktemp("runs") / "kicked"
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=(1.0,)), 5.0)
    return folder


@pytest.fixture(scope="module")
def result(folder):
    """Its analysis from the disk."""
    return analyze(folder)


def document(result):
    """Numbers as JSON has them."""
    return json.dumps(plain(result.as_json()), sort_keys=True)


def test_a_run_in_memory_gives_what_its_folder_gives(folder, result):
    assert len(result.comparisons) == 1
    assert document(analyze(read_run(folder))) == document(result)
    assert document(analyze([read_recording(folder)])) == document(result)
    assert document(analyze(str(folder.parent))) == document(result)


def test_several_sources_keep_their_order(folder, result):
    told = []
    response = read_recording(folder)
    both = analyze([response, folder], on_progress=lambda *said: told.append(said))
    assert told == [(1, 2, "kicked"), (2, 2, "kicked")]
    assert [c.window for c in both.comparisons] == 2 * [result.comparisons[0].window]
    assert both.title == "Analysis of kicked, kicked"


def test_the_table_says_what_was_found(result):
    text = result.table()
    assert "Windows: eigenvalues 1/s" in text
    assert "Conditions: eigenvalues 1/s, mean over windows" in text
    assert text.splitlines()[0] == result.verdicts[0].sentence  # the answer comes first, and once
    assert text.count(result.verdicts[0].sentence) == 1
    assert f"taken alone, {result.summary.agreeing} of 1 windows lie within 3 standard deviations" in text


def test_an_own_window_and_notes(folder, tmp_path):
    part = analyze(folder, window=(2.5, 4.5))
    assert part.comparisons[0].window.rule == "given by a person"
    notes = tmp_path / "notes.txt"
    start = analyze(folder).comparisons[0].window.t_start + 0.1
    notes.write_text(f'veto {start:.2f} "hand touched"\n')
    for source in (folder, read_run(folder)):
        vetoed = analyze(source, notes=notes)
        assert vetoed.comparisons == ()
        assert any("hand touched" in part.reason for part in vetoed.rejected)
    assert "no window could be compared" in vetoed.table()


def test_notes_beside_a_run_are_obeyed_and_memory_has_none(folder, result, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    (copy / "run.mcap").write_bytes((folder / "run.mcap").read_bytes())
    (copy / "windows.txt").write_text(f'veto {result.comparisons[0].window.t_start + 0.1:.2f} "weak"\n')
    assert len(analyze(copy).comparisons) == 0
    assert len(analyze(read_run(copy)).comparisons) == 1
    assert [len(r.notes) for r in analyze([read_run(copy), copy]).responses] == [0, 1]


def test_a_report_from_memory(folder, tmp_path):
    page = analyze(read_run(folder)).write_report(tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    assert "kicked" in page.read_text(encoding="utf-8")
    assert (tmp_path / "report" / "report.json").exists()


def test_short_in_a_console_and_a_table_in_a_notebook(result):
    assert repr(result) == (
        f"<AnalysisResult: 1 windows of 1 recordings, {result.summary.agreeing} alone within 3 standard deviations, "
        f"{len(result.rejected)} parts rejected>"
    )
    assert result._repr_html_().count("<tr>") == 2
    assert "<script" not in TextTable("<script>", ["<"], [["&"]]).as_html()


def test_one_row_of_a_frame_for_each_window(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"a data frame needs pandas, .* python -m pip install pandas"):
        result.to_frame()

    class Pandas:
        DataFrame = list

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    assert [row["source"] for row in result.to_frame()] == ["kicked"]


def test_published_eigenvalues_alone():
    table = Path(__file__).parents[3] / "experiments" / "recordings" / "data" / "kooijman2008_figure7.csv"
    result = analyze(table)
    assert result.responses == ()
    assert result.as_json()["published"]["n"] == 26
    assert result.table().startswith("kooijman2008_figure7.csv: 26 measured weave eigenvalues")


def test_plain_text_aligns_its_columns():
    table = TextTable("two", ["name", "value"], [["a", "1.50"], ["longer", "12"]], "said below")
    assert plain_text([table, Sentence("end")]).splitlines() == [
        "two",
        "",
        "name    value",
        "-------------",
        "a        1.50",
        "longer     12",
        "",
        "said below",
        "end",
    ]


@pytest.fixture(scope="module")
def ridden(tmp_path_factory):
    """Make a run of some gains, at a speed."""
    folder = tmp_path_factory.mktemp("rides")

    def ride(name, speed=5.0, bicycle=None, **options):
        rig = rig_of() if bicycle is None else replace(rig_of(), bicycle=bicycle)
        run_lockstep(folder / name, rig, gains(rig, "poles", **options), scenario(v=speed), 5.0, "ride")
        return folder / name

    return ride


def test_runs_of_other_gains_are_another_condition(ridden):
    """They were pooled to an eigenvalue that no run had, with a wide interval, and one condition for the verdict."""
    found = analyze([ridden("gentle", zeta=0.2), ridden("again", zeta=0.2, speed=5.05), ridden("firm", zeta=0.4)])
    assert [pool.label for pool in found.summary.pooled] == ["ride", "ride (2)"]
    assert [pool.n for pool in found.summary.pooled] == [2, 1]


def test_bicycles_of_one_name_and_other_parameters_are_two(ridden):
    whole = rig_of().bicycle
    found = analyze([ridden("loaded", zeta=0.2), ridden("light", bicycle=replace(whole, mB=0.8 * whole.mB), zeta=0.2)])
    assert {verdict.bicycle for verdict in found.verdicts} == {whole.name, f"{whole.name} (2)"}


def test_logs_of_one_label_at_other_speeds_are_other_conditions(folder):
    response = replace(read_recording(folder), label="theirs")
    faster = replace(response, source="faster", v=response.v + 1.0)
    found = analyze([response, faster])
    assert [r.label for r in found.responses] == ["theirs", "theirs"]
    assert len({c.condition for c in found.comparisons}) == 2


def test_results_come_back_from_other_processes(folder):
    """Whoever analyses a hundred logs in several processes gets each result whole, and asks it there."""
    recording = read_recording(folder)
    alone, fed_back = open_loop(recording.bicycle), lean_feedback(recording.bicycle, 2.0, 6.5)
    recordings = [recording, *(replace(recording, theory=theory) for theory in (alone, fed_back))]
    here = [analyze(each) for each in recordings]
    assert all(result.verdicts for result in here), "what theory said is kept, and left behind"
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        there = list(processes.map(analyze, recordings))
    assert [result.table() for result in there] == [result.table() for result in here]
    assert [result.answer for result in there] == [result.answer for result in here]
    assert [str(result.verdicts) for result in there] == [str(result.verdicts) for result in here]


def test_a_copy_of_a_recording_is_refused(folder, tmp_path):
    copytree(folder, tmp_path / "backup")
    with pytest.raises(
        InputError, match=r"backup holds the same recording as .*kicked, and its windows would count twice"
    ):
        analyze([folder, tmp_path / "backup"])


@pytest.mark.parametrize("given", [None, 5, b"run", {"t": [0.0]}])
def test_what_is_no_recording_is_refused(given):
    with pytest.raises(
        InputError, match=f"wants runs, responses or paths of recordings, found a {type(given).__name__}"
    ):
        analyze(given)


def test_a_table_in_memory_is_no_list_of_paths():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="found a DataFrame: save a table to a file"):
        analyze(pandas.DataFrame({"t": [0.0], "phi_dot": [0.1]}))


def test_remarks_are_those_of_the_recordings(folder):
    response = replace(read_recording(folder), remarks=("the clock stood still",))
    found = analyze([response])
    assert found.remarks == [(response.source, "the clock stood still")]
    assert found.as_json()["remarks"] == [{"source": response.source, "remark": "the clock stood still"}]


def test_runs_that_lie_deeper_than_others_are_not_left_out_without_a_word(folder, result, tmp_path):
    campaign = tmp_path / "campaign-seed1"
    for place in (tmp_path / "kicked", campaign / "first", campaign / "second"):
        copytree(folder, place)
    found = analyze(tmp_path)
    ((source, said),) = set(found.remarks) - set(result.remarks)
    assert (source, len(found.responses)) == ("kicked", 1)
    assert said == f"runs a folder deeper in {tmp_path} are left out, 2 in all: to analyse them, give {campaign}"
    assert not any("left out" in text for _, text in analyze([tmp_path / "kicked"]).remarks)
