"""Unit of the command in exports, their panels and the time line: N m, rad/s or rad, as the drive obeyed."""

import json

import numpy as np
import pytest
from scipy.io import loadmat

import riderless as rl
from riderless.experiments.campaigns.data_package import PackageTerms, write_data_package
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import timeline_of
from riderless.hil.design.control_systems import control_systems
from riderless.hil.logs.companions.panels import panels_of
from riderless.hil.logs.export import column_meanings, export_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.scenario import Scenario

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
    return request.param, rl.simulate(SILVER, gains, speed=4.5, duration=1.0, model="linear"), unit, shown


def test_matlab_data_package_and_control_systems_say_what_the_drive_obeyed(flown, tmp_path):
    kind, run, unit, _ = flown
    export_run(run, "mat", tmp_path / "run.mat")
    held = loadmat(tmp_path / "run.mat", squeeze_me=True, simplify_cells=True)
    assert {held["units"][name] for name in COMMANDS} == {unit}
    assert ("torque" in held["meanings"]["T_cmd"]) == (kind == "torque")
    drive = DRIVES[kind][0]
    rig, gains = Rig(SILVER, drive=drive), rl.design(SILVER, "lqr", (4.0, 5.0), drive=drive)
    folder = tmp_path / "runs" / "one"
    run_lockstep(folder, rig, gains, Scenario(speed=((0.0, 4.5),)), 0.5)
    write_data_package(tmp_path / "runs", tmp_path / "package", PackageTerms("CC0-1.0", "one run"))
    document = json.loads((tmp_path / "package" / "datapackage.json").read_text(encoding="utf-8"))
    (ticks,) = (one for one in document["resources"] if one["name"].endswith(".ticks"))
    fields = {field["name"]: field for field in ticks["schema"]["fields"]}
    assert {fields[name]["unit"] for name in COMMANDS} == {unit}
    assert ("torque" in fields["T_cmd"]["description"]) == (kind == "torque")
    systems = control_systems(rig, gains, 4.5)
    name = {"torque": "T_delta_cmd", "rate": "delta_dot_cmd", "angle": "delta_cmd"}[kind]
    assert systems.plant.input_labels == systems.controller.output_labels == systems.loop_gain.input_labels == [name]


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
