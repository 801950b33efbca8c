"""Data package of a campaign: what the published schema asks of it, and what the tables hold."""

import csv
import hashlib
import json
import re
import shutil

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.data_package import LICENCES, PackageTerms, write_data_package
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.gather import report_on
from riderless.hil.logs.log import read_run
from riderless.hil.loop.tick_record import LOG_COLUMNS
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of, scenario

# of specs.frictionlessdata.io: data-package, data-resource, table-schema (version 1)
NAME = re.compile(r"[-a-z0-9._/]+")
FIELD_TYPES = {"string", "number", "integer", "boolean", "object", "array", "date", "time", "datetime", "year", "any"}
TERMS = PackageTerms("CC-BY-4.0", "Silver, kicked: 2 runs", ("Ada Lovelace <ada@example.org>", "Anon"))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """Two runs whose folders would have one name, and a report."""
    folder = tmp_path_factory.mktemp("campaign")
    rig = rig_of()
    for name, seed in (("Run A", 1), ("run a", 2)):
        run_lockstep(folder / name, rig, gains(rig, "poles", zeta=0.2), scenario(seed=seed), 4.0, "Silver 5.0 m/s")
    responses = [read_recording(folder / name) for name in ("Run A", "run a")]
    report_on(folder, "a campaign", analyze_responses(responses), [folder / "Run A", folder / "run a"])
    (folder / "campaign.json").write_text("{}")
    return folder


@pytest.fixture(scope="module")
def package(campaign, tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    write_data_package(campaign, folder, TERMS)
    return folder


def described(folder):
    return json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))


def test_it_is_what_the_schema_asks_for(package):
    found = described(package)
    assert NAME.fullmatch(found["name"])
    assert found["licenses"] == [
        {
            "name": "CC-BY-4.0",
            "title": "Creative Commons Attribution 4.0",
            "path": "https://creativecommons.org/licenses/by/4.0/",
        }
    ]
    assert found["contributors"] == [
        {"title": "Ada Lovelace", "role": "author", "email": "ada@example.org"},
        {"title": "Anon", "role": "author"},
    ]
    names = [resource["name"] for resource in found["resources"]]
    assert len(set(names)) == len(names) >= 10
    for resource in found["resources"]:
        assert NAME.fullmatch(resource["name"])
        assert not resource["path"].startswith("/")
        assert ".." not in resource["path"]
        content = (package / resource["path"]).read_bytes()
        assert resource["bytes"] == len(content)
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
    listed = {resource["path"] for resource in found["resources"]} | {"datapackage.json"}
    assert listed == {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}


def test_every_table_has_its_columns_with_type_and_unit(package):
    tables = [one for one in described(package)["resources"] if "schema" in one]
    assert {one["name"] for one in tables} >= {"run-a.ticks", "run-a-2.ticks", "run-a.markers", "conditions", "windows"}
    for one in tables:
        with (package / one["path"]).open(newline="", encoding="utf-8") as file:
            head, *rows = list(csv.reader(file))
        fields = one["schema"]["fields"]
        assert [field["name"] for field in fields] == head
        assert rows
        for field, column in zip(fields, zip(*rows, strict=True), strict=True):
            assert field["type"] in FIELD_TYPES
            if field["type"] in ("number", "integer"):
                assert "unit" in field, field
                kind = float if field["type"] == "number" else int
                assert all(value in one["schema"]["missingValues"] or kind(value) is not None for value in column)
    ticks = next(one for one in tables if one["name"] == "run-a.ticks")["schema"]
    assert {field["name"]: field["unit"] for field in ticks["fields"]} == {
        name: column.unit for name, column in LOG_COLUMNS.items()
    }


def test_it_says_what_made_the_runs_and_holds_their_numbers(campaign, package):
    runs = described(package)["runs"]
    assert [run["run"] for run in runs] == ["run-a", "run-a-2"]
    assert {(run["bicycle"], run["controller"], run["ended"]) for run in runs} == {("Silver", "poles", "success")}
    (sensors,) = runs[0]["sensors"]
    assert sensors["device"] == "node"
    assert {"phi_dot_meas", "delta_meas", "v_meas", "T_meas"} <= set(sensors["columns"]) <= set(LOG_COLUMNS)
    lean = np.genfromtxt(package / "run-a" / "ticks.csv", delimiter=",", names=True)["phi_est"]
    assert lean.tolist() == read_run(campaign / "Run A").ticks["phi_est"].tolist()


def test_what_is_refused(campaign, package, tmp_path):
    for licence in ("", "mine"):
        with pytest.raises(InputError, match=f"wants its licence, one of {', '.join(LICENCES)}, found '{licence}'"):
            PackageTerms(licence, "x")
    with pytest.raises(InputError, match="something else is there"):
        write_data_package(campaign, package, TERMS)
    write_data_package(campaign, package, TERMS, force=True)
    (tmp_path / "void").mkdir()
    with pytest.raises(InputError, match="no run"):
        write_data_package(tmp_path / "void", tmp_path / "out", TERMS)
    with pytest.raises(InputError, match="an author is a name"):
        write_data_package(campaign, tmp_path / "out", PackageTerms("CC0-1.0", "x", ("<no@name>",)))


@pytest.mark.slow
def test_frictionless_finds_it_valid_and_a_changed_byte_not(package, tmp_path):
    frictionless = pytest.importorskip("frictionless", reason="the package frictionless is not installed")
    report = frictionless.validate(str(package / "datapackage.json"))
    assert report.valid, report.to_summary()
    assert len(report.tasks) == len(described(package)["resources"])
    shutil.copytree(package, tmp_path / "changed")
    path = tmp_path / "changed" / "run-a" / "ticks.csv"
    path.write_bytes(path.read_bytes().replace(b"0.0,", b"x.0,", 1))
    assert not frictionless.validate(str(tmp_path / "changed" / "datapackage.json")).valid
