"""Whole numbers that options take: each has a greatest one, however many digits are typed."""

import typer

from riderless.experiments.cli import app
from tests.experiments.commands.test_cli import riderless  # noqa: F401

OPTIONS = [
    (name, option.opts[0], option.type)
    for name, command in typer.main.get_command(app).commands.items()
    for option in command.params
    if option.type.name.startswith("int")  # whatever classes typer makes of them
]


def test_every_whole_number_has_a_greatest():
    assert len(OPTIONS) > 10
    assert [f"{command} {flag}" for command, flag, kind in OPTIONS if getattr(kind, "max", None) is None] == []


def test_a_number_without_end_is_refused_before_the_work(riderless):  # noqa: F811
    code, _, err = riderless("faults", "--count", "1000000000000")
    assert code == 2
    assert "1000000000000 is not in the range" in err
