"""What the page of commands says is so."""

import re

from experiments.cli import COMMANDS
from tests.paths import ROOT

AT_A_GLANCE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")


def source_of(command):
    return (ROOT / f"experiments/commands/{command}.py").read_text(encoding="utf-8")


def test_which_commands_have_json():
    without = {name for name in COMMANDS if '"--json"' not in source_of(name)}
    sentence = re.search(r"all but (.+?) have `--json`", AT_A_GLANCE)
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == without


def test_every_command_is_in_the_table():
    named = set(re.findall(r"`riderless (\w+)", AT_A_GLANCE))
    assert set(COMMANDS) <= named


def test_the_examples_of_rigs_ask_for_no_latency_test_but_the_measured_one():
    days = {
        path.stem: float(re.search(r"latency_test_days = (\d+)", path.read_text(encoding="utf-8"))[1])
        for path in (ROOT / "docs/rigs").glob("*.toml")
    }
    assert days.pop("measured") == 7.0
    assert set(days.values()) == {0.0}
