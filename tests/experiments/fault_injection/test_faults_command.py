"""Sets of faults and searches on the command line of `riderless faults`."""

import json

import pytest

from riderless.models.errors import InputError
from tests.experiments.fault_injection.test_fault_injection import command


def test_command_searches_and_plays_again():
    shown = command("--search", "20", "--jobs", "1")
    assert shown.exit_code == 0, shown.output
    assert "nothing unsafe was found" in shown.output
    again = next(line for line in shown.output.splitlines() if "riderless faults" in line).split()
    told = command(*again[2:])
    assert told.exit_code == 0, told.output
    assert "case of a search" in told.output
    assert json.loads(command("--search", "5", "--jobs", "1", "--json").stdout)["search"]["played"] == 5


def test_command_tells_a_pair():
    told = command("--together", "2", "--seed", "9", "--case", "3")
    assert told.exit_code == 0, told.output
    assert told.output.count("FAULT BEGINS") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--threats", "odd"),
        ("--duration", "70"),
        ("--case", "seven"),
        ("--case", "gabc"),
        ("--search", "9", "--count", "3"),
        ("--search", "0"),
        ("--search", "5", "--jobs", "0"),
        ("--real-time", "--together", "2"),
    ],
)
def test_command_refuses_nonsense(arguments):
    assert isinstance(command(*arguments).exception, InputError)
