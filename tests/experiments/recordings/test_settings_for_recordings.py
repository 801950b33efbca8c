"""TOML files where a recording is wanted: told by what they are, and never as a recording with a faulty line."""

from dataclasses import replace

import pytest

from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.analyze import analyze
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.experiments.commands.odd_inputs.litter import MAPPING
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv
from tests.paths import DOCS

BICYCLE = catalogue.load_bicycle("Silver").to_toml()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ((DOCS / "rigs/node.toml").read_text(encoding="utf-8"), "a rig"),
        ((DOCS / "campaigns/treadmill.toml").read_text(encoding="utf-8"), "a campaign"),
        (BICYCLE, "a bicycle"),
        ('format = "riderless gain schedule 1"\n\n[loop]\n', "gains"),
        ('format = "riderless mapping 1"\n', "a mapping"),
        ("x = 1\n\ny = 2\n", "settings in TOML"),
        ("[[", "something else"),
    ],
)
def test_a_file_of_settings_is_no_recording(tmp_path, text, found):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_recording(path)
    said = str(refused.value)
    assert said.startswith(f"wanted a recording, found {found} in {path}: give a run folder, or a file of a recording")
    assert "delete" not in said


def test_a_file_that_is_not_there_is_told_as_missing(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml: there is no such file; check the path"):
        read_recording(tmp_path / "none.toml")


def test_a_program_may_give_the_bicycle_itself(tmp_path):
    write_csv(tmp_path / "log.csv", in_their_units(signals()))
    (tmp_path / "map.toml").write_text(MAPPING)
    own = replace(catalogue.load_bicycle("Silver"), name="mine")
    found = analyze(tmp_path / "log.csv", mapping=tmp_path / "map.toml", bicycle=own)
    assert [response.bicycle for response in found.analysis.responses] == [own]
    with pytest.raises(InputError, match="wanted a mapping to use the bicycle mine with"):
        analyze(tmp_path / "log.csv", bicycle=own)
