"""Logs of ours with right checksums and hostile contents, through every command that reads a log."""

import pytest

from tests.experiments.commands.test_cli import riderless, run_folder  # noqa: F401
from tests.experiments.hostile_files.log_contents import cut_logs, hostile_records, hostile_rows
from tests.experiments.hostile_files.log_headers import hostile_headers
from tests.experiments.hostile_files.log_parts import taken_apart
from tests.experiments.hostile_files.outcome import ended_well

FAMILIES = {"headers": hostile_headers, "rows": hostile_rows, "records": hostile_records, "cut": cut_logs}
EACH = 4  # of the logs about which nothing is told: the slow tests take the others
LEAST = {"headers": 80, "rows": 50, "records": 40, "cut": 30}  # logs of each family: 200, the issue asks for
COMMANDS = {
    "headers": ("info x --json", "info x", "analyze x", "replay x"),
    "rows": ("info x", "analyze x --json", "replay x", "export x -o out.csv"),
    "records": ("info x", "analyze x", "replay x", "export x --to mcap -o out.mcap"),
    "cut": ("info x", "analyze x"),
}
SOME = 12  # of each family go through the slow commands too
SLOW_COMMANDS = ("plot x -o out.png", "identify x --free drive_gain", "analyze x -o report")
# what the sentence about some of them says
TOLD: dict[str, dict[str, str]] = {
    "headers": {
        "excitation for ever": "ends within 86400 s",
        "schedule is a device": "is not TOML",
        "rig rate is negative": "rate from 1 to 20000 Hz",
        "scenario is a list": "'scenario' is an object",
        "devices with a text for a scale": "scale: input should be a valid number",
        "rig ports with a text for baud": "baud: input should be a valid integer",
        "header is deep": "without one",
        "schema ahead and provenance of numbers": "update riderless to read it",
    },
    "rows": {
        "rows: states unknown": "found 99",
        "rows: times jump by 1e12 s": "most of which is gaps",
        "rows: times within one sample": "usable samples over",
        "columns: no t": "the column t,",
        "columns: states are floats": "whole numbers in the column state",
    },
    "records": {
        "record: 2 million empty messages": "shorter than their kind",
        "chunk: a bomb of lz4": "of memory",
        "chunk: a bomb of zeros": "of memory",
        "chunk: a bomb of other messages": "of memory",
    },
    "cut": {},
}


@pytest.fixture(scope="module")
def good(run_folder):  # noqa: F811
    return taken_apart(run_folder)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    return tmp_path


def through(riderless, here, name, log, commands):  # noqa: F811
    """Give a log to commands: each ends well, or refuses it in a sentence; the sentences."""
    (here / "x/run.mcap").write_bytes(log)
    said = []
    for command in commands:
        code, out, err = riderless(*command.split())
        refusal = ended_well(code, out, err, f"{command} of '{name}'")
        said += [refusal] if refusal else []
        for left in here.glob("out.*"):
            left.unlink()
    assert (here / "x/run.mcap").read_bytes() == log
    return said


def commands_for(family, name, number):
    """All where a sentence is asked for; else one in turn: one reader serves them all."""
    commands = COMMANDS[family]
    if "bomb" in name:
        return commands[:2] if name in TOLD[family] else commands[:1]
    return commands if name in TOLD[family] else (commands[number // EACH % len(commands)],)


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_logs_are_read_or_refused_in_a_sentence(riderless, here, good, family):  # noqa: F811
    logs = FAMILIES[family](good)
    assert len(logs) >= LEAST[family]
    said = {
        name: through(riderless, here, name, log, commands_for(family, name, number))
        for number, (name, log) in enumerate(logs.items())
        if number % EACH == 1 or name in TOLD[family]
    }
    for name, words in TOLD[family].items():
        assert any(words in sentence for sentence in said[name]), said[name]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_commands_and_the_slow_ones_too(riderless, here, good, family):  # noqa: F811
    logs = list(FAMILIES[family](good).items())
    for name, log in logs:
        through(riderless, here, name, log, COMMANDS[family][:2] if "bomb" in name else COMMANDS[family])
    for name, log in logs[:: max(1, len(logs) // SOME)]:
        through(riderless, here, name, log, SLOW_COMMANDS)


def test_a_header_names_no_file_to_read(good, riderless, here):  # noqa: F811
    """The gains in a header are a text: a path there was opened, a device read without end."""
    secret = here / "secret.toml"
    secret.write_text("format = 'secret'\n")
    (here / "x/run.mcap").write_bytes(good.with_header(("schedule", str(secret))).log())
    code, _, err = riderless("analyze", "x")
    assert code == 2
    assert "'secret'" not in err


@pytest.mark.parametrize(("change", "code"), [("cause", 0), ("name", 2)])
def test_texts_of_thousands_of_characters_leave_room_for_the_picture(riderless, here, good, change, code):  # noqa: F811
    long = "long " * 1000
    log = good.with_stop(("cause", long)) if change == "cause" else good.with_header(("bicycle.name", long))
    (here / "x/run.mcap").write_bytes(log.log())
    ended, out, err = riderless("plot", "x", "-o", "out.svg")
    ended_well(ended, out, err, f"plot of a long {change}")
    assert ended == code, err
