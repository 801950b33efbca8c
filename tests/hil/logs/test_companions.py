"""Files beside an export: they name columns that the other program really finds, in the form that it reads."""

import csv
import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from riderless.hil.logs.companions import matlab
from riderless.hil.logs.companions.panels import PANELS, panels_of
from riderless.hil.logs.export import COMPANIONS, export_run
from riderless.hil.logs.log import Marker, read_run
from riderless.hil.loop.tick_record import LOG_COLUMNS
from riderless.hil.runners.simulated_run import run_lockstep
from tests.hil.machine import gains, rig_of, scenario


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short ride with a kick that a person marked."""
    folder = tmp_path_factory.mktemp("runs") / "silver"
    rig = rig_of()
    run_lockstep(folder, rig, gains(rig), scenario(), 1.5, "a ride")
    log = read_run(folder)
    return replace(log, markers=(*log.markers, Marker(float(log.ticks["t_host"][300]), "kick")))


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """The files of each format, whose names are no easy ones."""
    folder = tmp_path_factory.mktemp("an export")
    return {to: export_run(run, to, folder / f"Jason's ride 1.{to}") for to in COMPANIONS}


def curves(layout):
    return [curve.get("name") for curve in layout.iter("curve")]


def fields_in_mcap(path):
    """Names of the fields of a tick, as any reader decodes them."""
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        _, channel, _, message = next(reader.iter_decoded_messages("/tick"))
    return channel.topic, {field.name for field in message.DESCRIPTOR.fields}


@pytest.mark.parametrize("to", ["csv", "mcap"])
def test_plotjuggler_finds_the_file_and_every_curve(exported, to):
    data, layout_file = exported[to][0], next(path for path in exported[to] if path.suffix == ".xml")
    layout = ET.parse(layout_file).getroot()
    assert layout.tag == "root"
    if to == "csv":
        with data.open(newline="") as file:
            names = set(next(csv.reader(file)))
    else:  # its parser of protobuf joins topic and field by a slash
        topic, fields = fields_in_mcap(data)
        names = {f"{topic}/{field}" for field in fields}
    assert len(curves(layout)) > 10
    assert set(curves(layout)) <= names
    (info,) = layout.findall("previouslyLoaded_Datafiles/fileInfo")
    assert (layout_file.parent / info.get("filename")).samefile(data)
    (plugin,) = info.findall("plugin")
    settings = plugin.find("parameters").attrib
    if to == "csv":
        assert plugin.get("ID") == "DataLoad CSV"
        assert settings["time_axis"] in names
    else:
        assert plugin.get("ID") == "DataLoad MCAP"
        assert settings["selected_topics"].split(";") == ["/tick"]


def test_plotjuggler_restores_one_area_a_panel(exported):
    """Its code makes ``count`` areas, gives them the ``sizes`` and then goes through the children."""
    for path in (path for files in exported.values() for path in files if path.suffix == ".xml"):
        (splitter,) = ET.parse(path).getroot().iter("DockSplitter")
        sizes = [float(size) for size in splitter.get("sizes").split(";")]
        assert splitter.get("orientation") in ("|", "-")
        assert int(splitter.get("count")) == len(splitter) == len(sizes) == len(PANELS)
        assert sum(sizes) == pytest.approx(1.0, abs=1e-5)
        assert all(area.tag == "DockArea" and area[0].tag == "plot" for area in splitter)


def leaves(layout):
    """Panels in a tree of a layout, each branch of which has a direction and two sides."""
    if isinstance(layout, str):
        return [layout]
    assert layout["direction"] in ("row", "column")
    assert 0.0 < layout["splitPercentage"] < 100.0
    return leaves(layout["first"]) + leaves(layout["second"])


def test_foxglove_finds_every_path(exported):
    data, layout_file = exported["mcap"][0], next(path for path in exported["mcap"] if path.suffix == ".json")
    layout = json.loads(layout_file.read_text())
    assert {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"} == set(layout)
    assert sorted(leaves(layout["layout"])) == sorted(layout["configById"])
    topic, fields = fields_in_mcap(data)
    for name, config in layout["configById"].items():
        assert name.split("!")[0] == "Plot"
        assert config["xAxisVal"] == "timestamp"
        for path in config["paths"]:
            assert path["value"].rsplit(".", 1)[0] == topic
            assert path["value"].rsplit(".", 1)[1] in fields
            assert path["timestampMethod"] in ("receiveTime", "headerStamp")
            assert path["enabled"] is True


def test_panels_hold_columns_of_the_log_and_an_old_run_has_fewer():
    assert {name for panel in PANELS for name in panel.columns} <= set(LOG_COLUMNS)
    assert [panel.title for panel in panels_of(["phi_est", "v_est"])] == ["lean", "forward speed"]
    for panel in PANELS:  # one unit a panel
        assert len({LOG_COLUMNS[name].unit for name in panel.columns}) == 1


def test_a_name_cannot_carry_a_command_into_the_function(run, tmp_path):
    path = tmp_path / "x');\nsystem('touch owned');\n%é.mat"
    text = matlab.matlab_function(run, path)
    assert len(text.splitlines()) == len(matlab.matlab_function(run, tmp_path / "x.mat").splitlines())
    assert matlab.matlab_place(path).stem.isidentifier()
    assert matlab.matlab_place(tmp_path / f"{'long' * 40}.mat").stem.isidentifier()
    assert len(matlab.matlab_place(tmp_path / f"{'long' * 40}.mat").stem) <= 63


CHECK = """\
warning('off', 'all');
warning('on', 'Octave:language-extension'); graphics_toolkit('gnuplot'); set(0, 'defaultfigurevisible', 'off');
h = {function}(); axes_of = findobj(h, 'type', 'axes', 'tag', '');
for i = 1:numel(axes_of)
  lines = findall(axes_of(i), 'type', 'line');
  for j = 1:numel(lines)
    y = get(lines(j), 'ydata');
    printf('ROW %s|%s|%d|%.17g|%.17g\\n', get(get(axes_of(i), 'title'), 'string'), ...
           get(get(axes_of(i), 'ylabel'), 'string'), numel(y), y(1), y(end));
  end
end
"""


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("octave") and shutil.which("gnuplot")), reason="no octave with gnuplot here")
def test_octave_draws_what_the_log_holds(run, exported):
    data, function = exported["mat"]
    said = subprocess.run(
        ["octave", "--no-gui", "--norc", "--quiet", "--eval", CHECK.format(function=function.stem)],
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    rows = [line.removeprefix("ROW ").split("|") for line in said.stdout.splitlines() if line.startswith("ROW")]
    assert rows, said.stderr
    assert function.name not in said.stderr, "something in it is Octave's own and no MATLAB"
    drawn = {(title, unit, *map(float, rest)) for title, unit, *rest in rows}
    wanted = {
        (p.title, LOG_COLUMNS[c].unit, len(run.ticks), float(run.ticks[c][0]), float(run.ticks[c][-1]))
        for p in PANELS
        for c in p.columns
    }
    assert wanted <= drawn
    dashed = [row for row in drawn if row[2] == 2]
    assert len({row[0] for row in dashed}) == len(PANELS), "the kick stands in every panel"
    assert np.all([len(row) == 5 for row in drawn])
