"""Options of the commands: one name, one meaning; earlier spellings are taken, and shown nowhere."""

from collections import defaultdict
from typing import get_args, get_type_hints

import pytest
import typer

from riderless.experiments.cli import COMMANDS, app
from riderless.experiments.commands._old_spellings import OLD_SPELLINGS

PARSER = typer.main.get_command(app)
USAGE_ERROR = typer.BadParameter.__base__
LISTS = {"envelope", "simulate"}  # commands that take several values where others take one
FILES_OF_LAWS = {"--controller"}  # the file itself, where a log or a campaign names the controller
OTHER_NAMES = {  # names that nobody gives to what has one
    "--output": "--out",
    "--outfile": "--out",
    "--overwrite": "--force",
    "--processes": "--jobs",
    "--workers": "--jobs",
    "--time": "--duration",
    "--bike": "--bicycle",
    "--length": "--duration",
    "--random-seed": "--seed",
    "--figure": "--plot",
    "--velocity": "--speed",
    "--quiet": "--json",
}


def options():
    """Options of all commands by their longest name: the command, and the option."""
    found = defaultdict(list)
    for name in COMMANDS:
        for parameter in PARSER.commands[name].params:
            if parameter.param_type_name == "option":
                found[max(parameter.opts, key=len)].append((name, parameter))
    return found


def kinds(name, option):
    """Types of value that an option takes, of those that its command's function names."""
    hint = get_type_hints(COMMANDS[name])[option.name]
    return frozenset(get_args(hint) or (hint,)) - {type(None)}


SHARED = {flag: several for flag, several in options().items() if len(several) > 1}


@pytest.mark.parametrize("flag", SHARED)
def test_an_option_of_several_commands_is_spelt_and_explained_alike(flag):
    several = SHARED[flag]
    assert len({(*option.opts, *option.secondary_opts) for _, option in several}) == 1
    assert len({option.help.split()[0].strip(",.:;") for _, option in several}) == 1, [o.help for _, o in several]
    if flag not in FILES_OF_LAWS:
        assert len({kinds(name, option) for name, option in several if name not in LISTS}) <= 1


def test_what_has_a_name_has_no_other():
    assert set(OTHER_NAMES) & set(options()) == set()
    assert set(OTHER_NAMES.values()) <= set(options())


@pytest.mark.parametrize(
    ("name", "old"), [(name, old) for name, spellings in OLD_SPELLINGS.items() for old in spellings]
)
def test_an_earlier_spelling_is_taken_and_not_shown(name, old):
    new, command = OLD_SPELLINGS[name][old], PARSER.commands[name]
    option = next(option for option in command.params if new in option.opts)
    value = [] if option.is_flag else ["3"]
    arguments = ["Silver"] if name in ("certify", "design", "envelope", "margins", "plan", "play", "calibrate") else []
    given = [command.make_context(name, [*arguments, flag, *value]) for flag in (old, new)]
    assert given[0].params == given[1].params
    assert given[0].get_parameter_source(option.name) == given[1].get_parameter_source(option.name)
    assert f"  {old} " not in given[0].get_help()
    if not option.multiple and not option.is_flag:
        with pytest.raises(USAGE_ERROR, match="is given 2 times"):
            command.make_context(name, [*arguments, old, *value, new, *value])
