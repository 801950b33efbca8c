"""Hundreds of mistakes of a person: each ends with one sentence and exit code 2, and leaves nothing behind."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from riderless.experiments import cli
from tests.experiments.commands.odd_inputs import machines, recordings, simulations, theory
from tests.experiments.commands.odd_inputs.litter import make_litter
from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401

TABLES = (theory, machines, simulations, recordings)
REFUSED = [(command, told) for table in TABLES for told, commands in table.REFUSED.items() for command in commands]
ACCEPTED = [command for table in TABLES for command in table.ACCEPTED]
LONGEST = 430  # characters of one sentence
WHAT_CAN_BE_IDENTIFIED = 720  # the list that `identify` gives where no quantity is named


@pytest.fixture(scope="module")
def litter(tmp_path_factory, run_folder):  # noqa: F811
    """A folder of odd files."""
    folder = tmp_path_factory.mktemp("litter")
    make_litter(folder, run_folder)
    return folder


@pytest.fixture(scope="module")
def before(litter):
    """Contents of that folder before the first case, and so before each: what one leaves is removed after it."""
    return contents(litter)


@pytest.fixture
def here(litter, before, monkeypatch):
    """That folder as the working folder; nothing in it is changed."""
    monkeypatch.chdir(litter)
    yield
    after = contents(litter)
    for left in sorted(set(after) - set(before), reverse=True):
        shutil.rmtree(left) if Path(left).is_dir() else Path(left).unlink()
    assert after == before


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Paths of all that lies in a folder; of files with their size and the time of their last change [ns]."""
    inside = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            at, is_folder = entry.stat(follow_symlinks=False), entry.is_dir(follow_symlinks=False)
            inside[entry.path] = (0, 0) if is_folder else (at.st_size, at.st_mtime_ns)
            if is_folder:
                inside |= contents(Path(entry.path))
    return inside


def sentence(err: str) -> str:
    """What was said to the person, without the usage that the command line's parser puts before it and progress."""
    ours = [line for line in err.splitlines() if line.startswith("riderless: ")]
    if ours:
        assert len(ours) == 1, err
        return ours[0]
    return " ".join(err.split()).partition("Error: ")[2]


@pytest.mark.parametrize(
    ("command", "told"), REFUSED, ids=[command.replace(theory.LONG, "LONG") for command, _ in REFUSED]
)
@pytest.mark.usefixtures("here")
def test_refused_in_one_sentence(riderless, command, told):  # noqa: F811
    code, out, err = riderless(*shlex.split(command))
    assert code == 2, out + err
    said = sentence(err).replace(theory.LONG, "LONG")
    assert told in said
    assert "Traceback" not in err
    assert len(said) <= (WHAT_CAN_BE_IDENTIFIED if "identify run --free ," in command else LONGEST)


@pytest.mark.parametrize("command", ACCEPTED)
@pytest.mark.usefixtures("here")
def test_rightly_accepted(riderless, command):  # noqa: F811
    code, out, err = riderless(*shlex.split(command))
    assert code == 0, err
    assert out.strip()


def test_the_tables_are_whole():
    """At least the 217 of the issue, of every command, each once."""
    commands = [command for command, _ in REFUSED] + ACCEPTED
    assert len(commands) == len(set(commands)) >= 217
    assert {shlex.split(command)[0] for command in commands} >= set(cli.COMMANDS)
