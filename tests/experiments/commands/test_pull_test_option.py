"""`riderless calibrate RIG --pull-test TABLE`: read, told with intervals, nothing moved and nothing written."""

import json

import pytest
from typer.testing import CliRunner

from experiments.cli import app
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


def test_options_of_a_measurement_are_refused_beside_it(files):
    rig, table = files
    told = CliRunner().invoke(app, ["calibrate", str(rig), "--pull-test", str(table), "--emulated"])
    assert told.exit_code != 0
    assert "--emulated would be ignored" in str(told.exception) + told.output
