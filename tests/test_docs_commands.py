"""Every command line in the readme and the docs is one that the real argument parser takes."""

import re
import shlex

import pytest
import typer

from riderless.experiments.cli import COMMANDS, app
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


def complaint(words):
    """Complaint of the parser about a command line, empty if there is none."""
    if words[1].startswith("-"):
        return ""
    if words[1] not in COMMANDS:
        return "there is no such command"
    if len(words) == 2:  # only named
        return ""
    try:
        given = parsed(words)
    except USAGE_ERROR as error:
        return error.format_message()
    measured = words[1] == "calibrate" and not given["emulated"] and not given["pull_test"]
    wheel = measured and "wheel" in (given["only"] or "wheel")
    return "it wants --rollout-m" if wheel and not given["rollout_m"] else ""


def test_written_commands_are_taken_by_the_parser():
    assert len(WRITTEN) > 50
    complaints = [
        f"{page}: `{' '.join(words)}`: {reason}"
        for page, line in WRITTEN
        for words in variants(line)
        if (reason := complaint(words))
    ]
    assert complaints == []


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


def test_the_page_of_commands_has_them_all_and_says_which_have_json():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert set(COMMANDS) <= set(re.findall(r"`riderless (\w+)", page))
    without = {name for name, command in PARSER.commands.items() if all("--json" not in p.opts for p in command.params)}
    sentence = re.search(r"all but (.+?) have `--json`", page)
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == without


def test_the_examples_of_rigs_ask_for_no_latency_test_but_the_measured_one():
    days = {
        path.stem: float(re.search(r"latency_test_days = (\d+)", path.read_text(encoding="utf-8"))[1])
        for path in (DOCS / "rigs").glob("*.toml")
    }
    assert days.pop("measured") == 7.0
    assert set(days.values()) == {0.0}


def test_a_wrong_line_would_be_found():
    for line in ("riderless run --emulatd", "riderless design --method lqr", "riderless latency --rate fast"):
        with pytest.raises(USAGE_ERROR):
            parsed(line.split())
