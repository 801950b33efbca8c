"""Memory of the commands that read a long log, beside that of the same commands on a small one."""

import json
import sys

import pytest

from tests.process_usage import usage_of
from tests.tools.long_log import write_long_log

MORE = 1.15  # of its size that a long log may take beyond a small one; it took five times its size


@pytest.fixture(scope="module", params=[200.0, pytest.param(900.0, marks=pytest.mark.slow)])
def logs(request, tmp_path_factory):
    """A small log, and one of 44 or 200 MB."""
    root = tmp_path_factory.mktemp("logs")
    long = write_long_log(root / "long", request.param)
    assert (long / "run.mcap").stat().st_size > 210e3 * request.param
    return write_long_log(root / "small", 20.0), long, request.param


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
def test_a_long_log_takes_little_more_memory_than_a_small_one(logs, tmp_path, command, options):
    small, long, seconds = logs
    files = iter((tmp_path / "small", tmp_path / "long"))
    (little, _), (much, said) = (
        memory(command, folder, *options, *([next(files)] if options else [])) for folder in (small, long)
    )
    assert much < little + MORE * (long / "run.mcap").stat().st_size / 1e6
    if command == "analyze":
        assert len(said["windows"]) > seconds / 9.0  # most of the kicks, one every 8 s
    if command == "replay":
        assert said["identical"]
    if command == "export":
        assert said["complete"]
        assert said["rows"] > 1000 * seconds
