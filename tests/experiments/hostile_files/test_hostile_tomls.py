"""Rig, bicycle, gains, campaign and mapping files that nobody would write, through the commands that read them."""

import shutil

import pytest

from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.experiments.hostile_files.outcome import ended_well
from tests.experiments.hostile_files.tomls import KINDS, hostile_tomls
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv

# what no file may be read with, whichever its kind, and what the sentence says
TOLD = {
    "deep": "nested too deep",
    "deep-tables": "nested too deep",
    "5000-digits": "1000 characters",
    "hexadecimal": "1000 characters",
    "keys-in-keys": "16 parts",
    "tables": "more tables",
    "date": "not valid TOML|is not TOML|in TOML",
    "utf-16": "text|cannot be read|decode",
    "latin-1": "text|cannot be read|decode",
    "zero-bytes": "TOML",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", in_their_units(signals()))
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files_are_refused_in_a_sentence(riderless, here, kind):  # noqa: F811
    for name, content in hostile_tomls()[kind].items():
        file = here / "odd.toml"
        file.write_bytes(content)
        for command in KINDS[kind][2]:
            code, out, err = riderless(*command.replace("FILE", "odd.toml").split())
            said = ended_well(code, out, err, f"{command} of {kind} '{name}'")
            if name in TOLD:
                assert code == 2, f"{command} of {kind} '{name}'"
                assert any(words in said for words in TOLD[name].split("|")), said
                assert file.read_bytes() == content
            file.write_bytes(content)
            shutil.rmtree(here / "OUT", ignore_errors=True)
            (here / "log.csv.png").unlink(missing_ok=True)
        for left in here.glob("odd.toml.old*"):
            left.unlink()


def test_the_list_is_whole():
    assert sum(map(len, hostile_tomls().values())) >= 60
