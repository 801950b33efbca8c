"""The example that each command's help shows is one that the command takes."""

import shlex

import pytest
from typer.main import get_command

from riderless.experiments.cli import COMMANDS, app
from riderless.experiments.commands._examples import EXAMPLES


def test_each_command_has_one():
    assert list(EXAMPLES) == list(COMMANDS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_options_and_arguments_are_taken(name):
    command = get_command(app).commands[name]
    with command.make_context(name, shlex.split(EXAMPLES[name])) as context:
        assert f"Example: riderless {name}" in context.get_help()
