"""A path from the command line: checked, ridden in simulated time, its error found from the log, drawn."""

import json
from math import degrees

import numpy as np
import pytest

from experiments.datatypes import Response
from experiments.reports.timeline.figure import timeline_figure
from experiments.reports.timeline.recorded import Timeline
from experiments.reports.timeline.ridden_path import ridden_path
from hil.logs.log import read_run
from hil.loop.states import State
from hil.runners.replay import replay
from models import load_bicycle
from models.nonlinear.steady_turns import steady_turn_from_speed_and_radius
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
