"""Memory of the commands that read a log of 200 MB, beside that of the same commands on a small one."""

import json
import sys

import pytest

from tests.process_usage import usage_of
from tests.tools.long_log import write_long_log

MORE = 230.0  # MB that a log of 200 MB may take beyond a small one; it took 1 GB


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    root = tmp_path_factory.mktemp("logs")
    long = write_long_log(root / "long", 900.0)
    assert (long / "run.mcap").stat().st_size > 190e6
    return write_long_log(root / "small", 20.0), long


def memory(command, *arguments):
    """Largest memory [MB] of a command, and the JSON it prints."""
    used = usage_of([sys.executable, "-m", "riderless.experiments.cli", command, *map(str, arguments), "--json"])
    assert used.code == 0
    return used.memory / 1e6, json.loads(used.said)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("analyze", ()),
        pytest.param("replay", (), marks=pytest.mark.slow),
        pytest.param("export", ("--to", "parquet", "--out"), marks=pytest.mark.slow),
        pytest.param("export", ("--to", "mcap", "--out"), marks=pytest.mark.slow),
        ("info", ()),
    ],
)
def test_a_log_of_200_mb_takes_little_more_memory_than_a_small_one(logs, tmp_path, command, options):
    small, long = logs
    files = iter((tmp_path / "small", tmp_path / "long"))
    (little, _), (much, said) = (
        memory(command, folder, *options, *([next(files)] if options else [])) for folder in (small, long)
    )
    assert much < little + MORE
    if command == "analyze":
        assert len(said["windows"]) > 100  # of 112 kicks
    if command == "replay":
        assert said["identical"]
    if command == "export":
        assert said["complete"]
        assert said["rows"] > 900_000
