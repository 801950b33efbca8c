"""`riderless calibrate RIG --pull-test TABLE`: read, told with intervals, written to the rig where it is wanted."""

import json

import pytest
from typer.testing import CliRunner

from riderless.experiments.cli import app
from riderless.hil.rig.file import read_rig
from tests.paths import DOCS

RIG = (DOCS / "rigs" / "measured.toml").read_text(encoding="utf-8")


@pytest.fixture
def files(tmp_path):
    rig, table = tmp_path / "rig.toml", tmp_path / "pull.csv"
    rig.write_text(RIG)
    rows = []
    for k in range(1, 30):  # gain 1.3, dead band 0.1 N m, friction 0.2 N m; 0.3 m from the axis
        pushed = 1.3 * max(0.0, 0.1 * k - 0.1)
        rows.append(f"{0.1 * k:.1f},{max(0.0, pushed - 0.2) / 2.943:.4f},{(pushed + 0.2) / 2.943:.4f}")
    table.write_text("arm = 300mm\ncommand,kg_push,kg_pull\n" + "\n".join(rows) + "\n")
    return rig, table


def test_it_tells_each_quantity_with_its_interval(files):
    rig, table = files
    told = CliRunner().invoke(app, ["calibrate", str(rig), "--pull-test", str(table)])
    assert told.exit_code == 0, told.output
    assert "gain" in told.output
    assert "1.30" in told.output
    assert max(len(line) for line in told.output.splitlines()) <= 80
    found = json.loads(CliRunner().invoke(app, ["calibrate", str(rig), "--pull-test", str(table), "--json"]).output)
    values = {name: quantity["value"] for name, quantity in found["pull_test"].items()}
    assert values["gain"] == pytest.approx(1.3, abs=0.01)
    assert values["friction"] == pytest.approx(0.2, abs=0.01)
    assert values["dead_band"] == pytest.approx(0.1, abs=0.01)
    assert rig.read_text() == RIG


def test_it_writes_gain_and_losses_where_it_is_wanted(files):
    rig, table = files
    command = ["calibrate", str(rig), "--pull-test", str(table)]
    told = CliRunner().invoke(app, [*command, "--dry-run"])
    assert "[drive] gain: not stated -> 1.3" in told.output
    assert "Nothing is written to the rig." in told.output
    assert rig.read_text() == RIG
    told = CliRunner().invoke(app, [*command, "--yes"])
    assert told.exit_code == 0, told.output
    losses = read_rig(rig).losses
    assert losses.gain == pytest.approx(1.3, abs=0.01)
    assert losses.dead_band == pytest.approx(0.1, abs=0.01)
    assert losses.friction == pytest.approx(0.2, abs=0.01)
    assert (losses.offset, losses.hysteresis) == (0.0, 0.0), "one table on the way up tells neither"
    assert [old.read_text() for old in rig.parent.glob("rig-*.toml")] == [RIG]
    again = json.loads(CliRunner().invoke(app, [*command, "--yes", "--json"]).output)
    assert (again["changes"], again["written"]) == ([], False)


def test_options_of_a_measurement_are_refused_beside_it(files):
    rig, table = files
    told = CliRunner().invoke(app, ["calibrate", str(rig), "--pull-test", str(table), "--emulated"])
    assert told.exit_code != 0
    assert "--emulated would be ignored" in str(told.exception) + told.output
