"""A recording over time: what happened when, no peak lost, legible without colours, ours and others' alike."""

import json
import re
from dataclasses import replace
from itertools import combinations
from shutil import copytree

import numpy as np
import pypdfium2
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.image import imread
from matplotlib.text import Text

from riderless.experiments.datatypes import LanePath, Rejected
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.timeline.figure import COLUMNS, timeline_figure
from riderless.experiments.reports.timeline.recorded import AGREES, DIFFERS, REJECTED, decimated, timeline_of
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.runners.simulated_run import run_lockstep
from tests.experiments.commands.test_cli import call
from tests.experiments.simulated import recording
from tests.hil.machine import gains, rig_of, scenario

KICKS = (1.0, 5.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with two kicks."""
    folder = tmp_path_factory.mktemp("runs") / "kicked"
    rig = rig_of()
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=KICKS), 9.0, "Silver poles 5.0 m/s")
    return folder


@pytest.fixture(scope="module")
def timeline(folder):
    result = analyze(folder)
    windows = list(enumerate(result.comparisons, start=1))
    return timeline_of(result.responses[0], windows, result.rejected)


def texts(figure):
    return {text.get_text() for text in figure.findobj(Text)}


def test_states_are_those_that_the_log_marks(folder, timeline):
    run = read_run(folder)
    marked = [(m.text, m.t - float(run.ticks["t_host"][0])) for m in run.markers if m.kind == "state"]
    first = timeline.response.states[0].t_start
    assert [s.state.name for s in timeline.response.states] == [name for name, _ in marked]
    assert [s.t_start - first for s in timeline.response.states] == pytest.approx(
        [t - marked[0][1] for _, t in marked], abs=0.01
    )
    assert all(
        a.t_end == b.t_start for a, b in zip(timeline.response.states, timeline.response.states[1:], strict=False)
    )


def test_kicks_and_windows_are_where_they_were(timeline):
    running = next(s for s in timeline.response.states if s.state is State.RUNNING)
    assert len(timeline.kicks) == len(KICKS)
    assert np.diff(timeline.kicks) == pytest.approx(np.diff(KICKS), abs=0.1)
    assert timeline.kicks[0] > running.t_start
    windows = [w for w in timeline.windows if w.verdict != REJECTED]
    assert [w.number for w in windows] == [1, 2]
    assert all(kick < w.t_start < kick + 0.5 for kick, w in zip(timeline.kicks, windows, strict=True))


def test_the_figure_names_everything_with_its_unit(timeline):
    shown = texts(timeline_figure(timeline, "kicked"))
    assert {
        "lean",
        "steer",
        "torque",
        "speed",
        "deg",
        "N m",
        "m/s",
        "t [s]",
        "RUNNING",
        "1 ✓",
        "2 ✓",
        "kicked",
    } <= shown
    far = replace(timeline, windows=tuple(replace(w, verdict=DIFFERS) for w in timeline.windows))
    assert "1 ✗" in texts(timeline_figure(far))


@pytest.mark.parametrize("compact", [True, False])
def test_no_words_lie_over_others(timeline, compact):
    t = timeline.response.t
    lane = LanePath(t, 0.3 * np.sin(t), 0.3 * np.cos(t), half_belt=1.2)
    on_a_belt = replace(timeline, response=replace(timeline.response, lane=lane))
    for one in (timeline, on_a_belt):
        figure = timeline_figure(one, "" if compact else "kicked", compact=compact)
        FigureCanvasAgg(figure).draw()
        said = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert ("edges" in texts(figure)) == (one is on_a_belt)
        boxes = [(text.get_text(), text.get_window_extent().padded(-1.5)) for text in said]  # but for the air around it
        assert [(a, b) for (a, left), (b, right) in combinations(boxes, 2) if left.overlaps(right)] == []


def test_lines_and_windows_differ_without_colour(timeline):
    windows = [replace(w, verdict=v) for w, v in zip(timeline.windows, (AGREES, DIFFERS, REJECTED), strict=False)]
    axes = timeline_figure(replace(timeline, windows=tuple(windows))).axes
    lean, steer = (line for line in axes[1].lines if len(line.get_xdata()) > 100)
    assert lean.get_linestyle() != steer.get_linestyle()
    boxes = [patch for patch in axes[0].patches if patch.get_y() < 1.0]
    assert len({(patch.get_hatch(), patch.get_linestyle()) for patch in boxes}) == 3


def test_an_hour_keeps_its_peaks_in_few_points():
    t = np.arange(720_000) / 200.0
    y = np.sin(t)
    y[123_456], y[400_000] = 9.0, -7.0
    y[500_000:600_000] = np.nan
    at, shown = decimated(t, y, COLUMNS)
    assert len(at) == len(shown) == 2 * COLUMNS
    assert (np.nanmax(shown), np.nanmin(shown)) == (9.0, -7.0)
    assert np.isnan(shown).sum() == pytest.approx(2 * COLUMNS / 7.2, abs=6)  # what is missing stays missing
    assert decimated(t[:100], y[:100], COLUMNS)[1] is not None
    assert len(decimated(t[:100], y[:100], COLUMNS)[0]) == 100


def test_a_log_without_lean_and_windows_is_shown_all_the_same():
    response, _ = recording(np.full(480, 5.4), noise=0.01, seed=1, source="foreign", label="")
    response = replace(response, phi=None, delta=None, T_delta=None)
    made = timeline_of(response, (), [Rejected("foreign", 0.5, 0.9, "too small"), Rejected("other", 0.0, 1.0, "")])
    assert [w.verdict for w in made.windows] == [REJECTED]
    shown = texts(timeline_figure(made))
    assert {"lean rate", "deg/s", "speed", "m/s"} <= shown
    assert not {"lean", "steer", "torque", "state"} & shown


def test_the_command_draws_a_run(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(capsys, monkeypatch, "plot", folder)
    assert code == 0
    assert out.splitlines()[-1] == "figure written to kicked.png"
    picture = imread(tmp_path / "kicked.png")
    assert len(np.unique((picture[..., :3] * 255).astype(int).reshape(-1, 3), axis=0)) > 50
    code, out, _ = call(capsys, monkeypatch, "plot", folder, "-o", "again.pdf", "--json")
    assert json.loads(out)["path"] == "again.pdf"
    assert len(json.loads(out)["windows"]) == 2
    assert (tmp_path / "again.pdf").read_bytes().startswith(b"%PDF")
    with pypdfium2.PdfDocument(tmp_path / "again.pdf") as document:
        assert re.search(r"kicked; .*riderless [\d.]+, commit [0-9a-f]{40}", document.get_metadata_value("Subject"))


def test_the_command_says_what_it_left_out(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in ("runs/kicked", "runs/campaign/first", "runs/campaign/second"):
        copytree(folder, place)
    code, out, err = call(capsys, monkeypatch, "plot", "runs")
    assert code == 0, err
    assert "kicked: runs a folder deeper in runs are left out, 2 in all" in out
    assert out.splitlines()[-1] == "figure written to kicked.png"
    _, out, _ = call(capsys, monkeypatch, "plot", "runs", "--json", "--force")
    assert [one["source"] for one in json.loads(out)["remarks"]] == ["kicked"]


def test_the_command_draws_somebody_elses_log(tmp_path, capsys, monkeypatch):
    response, _ = recording(np.full(800, 5.4), noise=0.01, seed=1, source="foreign", label="")
    rows = np.column_stack([response.t, np.degrees(response.phi_dot), response.v])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header="time,gyro,speed", comments="")
    (tmp_path / "mapping.toml").write_text(
        'bicycle = "Silver"\nlaw = "uncontrolled"\n[time]\ncolumn = "time"\nunit = "s"\n'
        '[phi_dot]\ncolumn = "gyro"\nunit = "deg/s"\n[v]\ncolumn = "speed"\nunit = "m/s"\n'
    )
    picture = tmp_path / "log.svg"
    code, _, err = call(
        capsys, monkeypatch, "plot", tmp_path / "log.csv", "--mapping", tmp_path / "mapping.toml", "-o", picture
    )
    assert code == 0, err
    assert "lean rate" in picture.read_text(encoding="utf-8")


def test_what_cannot_be_drawn_is_refused_in_one_sentence(folder, tmp_path, capsys, monkeypatch):
    copy = folder.parent / "again"
    copy.mkdir(exist_ok=True)
    (copy / "run.mcap").write_bytes((folder / "run.mcap").read_bytes())
    for arguments, words in (
        ((folder.parent,), "wanted one recording to plot, found 2"),
        ((folder, "-o", tmp_path / "picture.txt"), "a figure is written as .svg, .pdf, .png"),
        ((tmp_path / "nothing",), "nothing"),
    ):
        code, _, err = call(capsys, monkeypatch, "plot", *arguments)
        assert code == 2
        assert words in err
        assert err.count("\n") == 1


def test_the_name_of_a_fault_can_be_read_on_its_hatch(timeline):
    last = timeline.response.states[-1]
    states = (*timeline.response.states[:-1], replace(last, t_end=last.t_end + 3.0, state=State.FAULT))
    figure = timeline_figure(replace(timeline, response=replace(timeline.response, states=states)))
    (name,) = (text for text in figure.findobj(Text) if text.get_text() == "FAULT")
    assert min(name.get_bbox_patch().get_facecolor()[:3]) > 0.9
