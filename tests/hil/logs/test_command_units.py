"""Unit of the command in exports, their panels and the time line: N m, rad/s or rad, as the drive obeyed."""

import json

import numpy as np
import pytest

import riderless as rl
from experiments.recordings.run_response import response_of_run
from experiments.reports.timeline.figure import timeline_figure
from experiments.reports.timeline.recorded import timeline_of
from hil.logs.companions.panels import panels_of
from hil.logs.export import column_meanings, export_run
from models.linear.prescribed_steer import InnerLoop

SILVER = rl.load_bicycle("Silver")
COMMANDS = {"T_req", "T_cmd", "T_est"}
DRIVES = {
    "torque": (None, "N m", "N m"),
    "rate": (InnerLoop(kind="rate", bandwidth=100.0), "rad/s", "deg/s"),
    "angle": (InnerLoop(kind="angle", bandwidth=80.0, damping=1.0), "rad", "deg"),
}


@pytest.fixture(params=DRIVES)
def flown(request):
    """Short run under each kind of drive, the unit of its log and that of its figure."""
    drive, unit, shown = DRIVES[request.param]
    gains = rl.design(SILVER, "lqr", (4.0, 5.0), drive=drive)
    return request.param, rl.simulate(SILVER, gains, speed=4.5, duration=1.0), unit, shown


def test_exports_and_figures_say_what_the_drive_obeyed(flown, tmp_path):
    kind, run, unit, shown = flown
    meanings = column_meanings(run)
    assert {meanings[name].unit for name in COMMANDS} == {unit}
    assert meanings["T_meas"].unit == "N m"
    assert all(("torque" in meanings[name].meaning) == (kind == "torque") for name in COMMANDS)
    export_run(run, "csv", tmp_path / "run.csv")
    told = json.loads((tmp_path / "run.header.json").read_text(encoding="utf-8"))["columns"]
    assert told["T_cmd"]["unit"] == unit
    for panel in panels_of(run.ticks.dtype.names, kind):
        assert len({meanings[name].unit for name in panel.columns}) == 1, panel
    response = response_of_run(run)
    assert response.command_unit == unit
    figure = timeline_figure(timeline_of(response))
    assert shown in {ax.get_ylabel() for ax in figure.axes}
    assert ("N m" in {ax.get_ylabel() for ax in figure.axes}) == (kind == "torque")
    lines = [line.get_ydata() for ax in figure.axes if ax.get_ylabel() == shown for line in ax.lines]
    largest = max(np.nanmax(np.abs(np.asarray(y, float))) for y in lines if len(y))
    if kind == "rate":
        assert largest == pytest.approx(np.degrees(np.abs(response.T_delta).max()), rel=0.05)
