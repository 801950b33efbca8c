"""Every command line in the readme and the docs is one that the real argument parser takes."""

import re
import shlex

import pytest
import typer

from experiments.cli import COMMANDS, app
from tests.paths import DOCS, ROOT

PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
STANDS_FOR = {"HZ": "200", "N": "1", "METRES": "20"}  # words in capitals that stand for a number
PARSER = typer.main.get_command(app)
USAGE_ERROR = typer.BadParameter.__base__  # of the parser that typer brings along


def written_commands(text):
    """Command lines between backquotes, and lines of code that begin with the program's name."""
    text = re.sub(r"<!--.*?-->", "", text)  # marks for programs
    yield from re.findall(r"`(riderless [^`\n]+)`", text)
    for line in re.findall(r"^(?:    )?(riderless [a-z].*|.*&& riderless .*)$", text, flags=re.MULTILINE):
        if line.split()[1] in COMMANDS:
            yield from (part for part in line.split("#")[0].split("&&") if part.strip().startswith("riderless"))


def variants(line):
    """The line without its optional [parts], and with them; of alternatives a|b the first."""
    for chosen in (re.sub(r"\[[^]]*\]", "", line), line.replace("[", "").replace("]", "")):
        words = [re.sub(r"\|.*", "", word) for word in shlex.split(chosen.replace("...", ""))]
        yield [STANDS_FOR.get(word, word) for word in words]


WRITTEN = sorted({(page.name, line.strip()) for page in PAGES for line in written_commands(page.read_text("utf-8"))})


def parsed(words):
    """Parameters of a command line by name; raises what the real parser raises."""
    command = PARSER.commands[words[1]]
    return command.make_context(words[1], words[2:]).params


def test_there_are_many():
    assert len(WRITTEN) > 50


@pytest.mark.parametrize(("page", "line"), WRITTEN)
def test_a_written_command_is_taken_by_the_parser(page, line):
    for words in variants(line):
        if words[1].startswith("-"):
            continue
        assert words[1] in COMMANDS, f"{page}: there is no command {words[1]}"
        if len(words) == 2:  # only named
            continue
        try:
            given = parsed(words)
        except USAGE_ERROR as error:
            pytest.fail(f"{page}: `{' '.join(words)}`: {error.format_message()}")
        measured = words[1] == "calibrate" and not given["emulated"] and not given["pull_test"]
        if measured and "wheel" in (given["only"] or "wheel"):
            assert given["rollout_m"], f"{page}: `{line}` wants --rollout-m"


@pytest.mark.parametrize("page", ["docs/commands.md", "docs/bicycle-to-run.md"])
def test_which_commands_take_emulated(page):
    able = {name for name, command in PARSER.commands.items() if any(p.name == "emulated" for p in command.params)}
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    sentence = re.search(
        r"With `--emulated` the commands ((?:`\w+`(?:, | and )?)+) work|((?:`\w+`(?:, | and )?)+) take `--emulated`",
        text,
    )
    assert sentence, f"{page} no longer says which commands take --emulated"
    assert set(re.findall(r"`(\w+)`", sentence[1] or sentence[2])) == able


def test_a_wrong_line_would_be_found():
    for line in ("riderless run --emulatd", "riderless design --method lqr", "riderless latency --rate fast"):
        with pytest.raises(USAGE_ERROR):
            parsed(line.split())
