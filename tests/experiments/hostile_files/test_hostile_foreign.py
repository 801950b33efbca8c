"""Others' files made to hurt, read through a mapping or as what `riderless export` wrote."""

import json

import pytest

from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.experiments.hostile_files.foreign_files import FAMILIES, hostile_exports
from tests.experiments.hostile_files.outcome import ended_well
from tests.experiments.recordings.foreign_log import in_their_units, signals

TOLD = {
    "latin-1.csv": "wanted a column 'belt'",
    "latin-1-later.csv": "found 1 in line 602",
    "quote-never-closed.csv": "in every row",
    "endless-line.csv": "at most 1000000 characters",
    "all-nan.csv": "600 of 600",
    "million-columns.parquet": "at most 10000 columns",
    "bomb.mat": "within 300 MB of memory",
    "bomb-of-nothing-known.mat": "within 300 MB of memory",
    "cells-without-end.mat": "within 300 MB of memory",
    "chunk-bomb.h5": "within 300 MB of memory",
    "fill-value.h5": "17.6 TB",
    "fill-values.h5": "within 300 MB of memory",
    "wide-texts.h5": "within 300 MB of memory",
    "external-values.h5": "lie in another one (/etc/passwd)",
    "virtual.h5": "lie in another one (../elsewhere.h5)",
    "zeros.parquet": "within 300 MB of memory",
    "one-text-a-million-times.parquet": "wanted numbers, found 'xxx",
    "export-list.csv": "wanted the header of the run",
    "export-deep.csv": "wanted the header of the run",
    "export-header-is-a-list.csv": "no header",
    "export-markers-of-texts.csv": "markers with t, kind and text",
    "export-text.csv": "wanted numbers, found 'fast",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(riderless, here, command):  # noqa: F811
    """Give each file to a command: none may end but well; what was expected of some is said."""
    files = sorted(path for path in here.iterdir() if path.suffix in (".csv", ".mat", ".h5", ".parquet"))
    for file in files:
        if file.name.endswith(".markers.csv"):
            continue
        before = file.stat().st_size
        said = ended_well(*riderless(*command.replace("FILE", file.name).split()), f"{command} of {file.name}")
        if file.name in TOLD and "-m" in command.split():
            assert TOLD[file.name] in said, f"{file.name}: {said}"
        assert file.stat().st_size == before
    return files


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_files_are_read_or_refused_in_a_sentence(riderless, here, family):  # noqa: F811
    FAMILIES[family](here, in_their_units(signals()))
    (here / "mapping.toml").write_text(MAPPING)
    assert len(refused(riderless, here, "analyze FILE -m mapping.toml")) >= 13
    refused(riderless, here, "plot FILE -o out.png") if family == "csv" else None


def test_tables_of_ours_with_another_header(riderless, here, run_folder):  # noqa: F811
    assert riderless("export", run_folder, "-o", here / "good.csv")[0] == 0
    hostile_exports(here, here / "good.csv", json.loads((here / "good.header.json").read_text()))
    (here / "good.csv").unlink()
    (here / "good.markers.csv").unlink()
    refused(riderless, here, "analyze FILE")
