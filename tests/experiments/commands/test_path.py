"""A path from the command line: checked, ridden in simulated time, its error found from the log, drawn."""

import json
from math import degrees
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.experiments.datatypes import Response
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import Timeline
from riderless.experiments.reports.timeline.ridden_path import ridden_path
from riderless.hil.guidance.route import Route
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.runners.replay import replay
from riderless.models import load_bicycle
from riderless.models.nonlinear.steady_turns import steady_turn_from_speed_and_radius
from tests.experiments.commands.test_cli import call
from tests.paths import DOCS

PATHS = DOCS / "path_files"


@pytest.fixture
def riderless(capsys, monkeypatch):
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


def test_a_path_is_checked_by_its_command(riderless, tmp_path):
    code, printed, _ = riderless("path", PATHS / "circle.toml", "Silver", "--json")
    told = json.loads(printed)
    turn = steady_turn_from_speed_and_radius(load_bicycle("Silver"), 4.0, 12.0)
    assert code == 0
    assert degrees(told["lean"]["asked"]) == pytest.approx(degrees(abs(turn.phi)), rel=0.05)
    assert told["length"] == pytest.approx(2.0 * np.pi * 12.0 + 8.0)
    assert "sideways" not in told
    code, printed, _ = riderless("path", PATHS / "lane-change.toml", "Silver")
    assert code == 0
    assert "It may be ridden" in printed


def test_a_path_is_ridden_and_its_error_is_in_the_log(riderless, tmp_path):
    out = tmp_path / "run"
    code, printed, _ = riderless("simulate", "Silver", "--belt", 3, "--path", PATHS / "lane-change.toml", "-o", out)
    assert code == 0, printed
    run = read_run(out)
    assert run.header.controller == "lane"
    assert run.header.route.speed == 5.0
    assert replay(run).identical
    ridden = ridden_path(run)
    rows = run.ticks[run.ticks["state"] == State.RUNNING]
    # by hand: on a lane change hardly turned, the path's y at the bicycle's x
    table = run.header.route.table()
    by_hand = rows["y_est"] - np.interp(rows["x_est"] - rows["x_est"][0], table[:, 1], table[:, 2])
    assert ridden.lateral == pytest.approx(by_hand, abs=0.01)
    assert np.ptp(by_hand) > 0.01
    assert ridden.rms < 0.06
    assert rows["y_est"][-100:].mean() == pytest.approx(0.5, abs=0.08)
    code, printed, _ = riderless("plot", out, "-o", tmp_path / "run.png")
    assert code == 0, printed
    assert (tmp_path / "run.png").stat().st_size > 20_000


def test_the_picture_shows_the_path_asked_and_ridden(tmp_path, riderless):
    out = tmp_path / "run"
    assert riderless("simulate", "Silver", "--path", PATHS / "lane-change.toml", "-o", out, "--duration", 3)[0] == 0
    ridden = ridden_path(read_run(out))
    t = ridden.t
    response = Response("ride", "riderless", t, 0.01 * np.sin(t), np.full(t.shape, 5.0))
    figure = timeline_figure(Timeline(response, (), (), ridden), "a ride")
    chart = figure.axes[-1]
    asked, rode = (line.get_xydata() for line in chart.lines[:2])
    assert rode[:, 1] == pytest.approx(ridden.y)
    assert asked[:, 1].max() == pytest.approx(0.5, abs=0.05)
    assert "lane change" in chart.get_title(loc="left")
    assert chart.yaxis_inverted()
    (beside,) = [ax for ax in figure.axes if any(text.get_text() == "off path" for text in ax.texts)]
    assert np.nanmax(beside.lines[0].get_ydata()) == pytest.approx(ridden.lateral.max(), abs=0.01)


def test_a_path_that_comes_back_past_its_beginning_is_ridden_from_its_beginning():
    """A bend of half a turn: x grows to 30 m and falls to -40 m. Rows on the path itself are nowhere off it."""
    s = np.arange(-12.0, 95.4, 0.2)  # from 4 m before control begins, 8 m before the path itself
    turn, radius = np.clip((s - 22.0) / 8.0, 0.0, np.pi), 8.0
    x = 8.0 + np.minimum(s, 22.0) + radius * np.sin(turn) - np.maximum(s - 22.0 - 8.0 * np.pi, 0.0)
    y = radius * (1.0 - np.cos(turn))
    kappa = np.where((turn > 0.0) & (turn < np.pi), 1.0 / radius, 0.0)
    route = Route("there and back", 4.0, np.column_stack([s, x, y, turn, kappa, *np.zeros((5, len(s)))]).tolist())
    ticks = np.zeros(400, [("t", "f8"), ("state", "i8"), ("x_est", "f8"), ("y_est", "f8"), ("psi_est", "f8")])
    ridden = -8.0 + 0.2 * np.arange(400)
    ticks["t"], ticks["state"] = 0.05 * np.arange(400), State.RUNNING
    for name, column in (("x_est", x), ("y_est", y), ("psi_est", turn)):
        ticks[name] = np.interp(ridden, s, column)
    found = ridden_path(SimpleNamespace(header=SimpleNamespace(route=route), ticks=ticks))
    assert np.abs(found.lateral).max() < 0.02
