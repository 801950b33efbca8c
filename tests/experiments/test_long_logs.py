"""Memory of the commands that read a log of 200 MB, beside that of the same commands on a small one."""

import json
import subprocess
import sys

import pytest

from tests.tools.long_log import write_long_log

MORE = 230.0  # MB that a log of 200 MB may take beyond a small one; it took 1 GB
MEASURED = (
    "import resource, subprocess, sys;"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE);"
    "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024);"
    "sys.stdout.flush(); sys.stdout.buffer.write(done.stdout)"
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    root = tmp_path_factory.mktemp("logs")
    long = write_long_log(root / "long", 900.0)
    assert (long / "run.mcap").stat().st_size > 190e6
    return write_long_log(root / "small", 20.0), long


def memory(command, *arguments):
    """Largest memory [MB] of a command, and the JSON it prints."""
    whole = [sys.executable, "-c", MEASURED, sys.executable, "-m", "experiments.cli", command, *map(str, arguments)]
    found = subprocess.run([*whole, "--json"], capture_output=True, text=True, check=True)
    first, _, printed = found.stdout.partition("\n")
    code, megabytes = first.split()
    assert code == "0", found.stderr
    return float(megabytes), json.loads(printed)


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
