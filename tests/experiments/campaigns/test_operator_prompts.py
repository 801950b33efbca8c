"""A campaign beside a real bicycle: what the person is asked, and that it is obeyed."""

import io
from contextlib import contextmanager

import numpy as np
import pytest
from rich.console import Console

from riderless.experiments.analysis.comparison.condition_means import FittedWindow
from riderless.experiments.campaigns import run as campaign
from riderless.experiments.campaigns.display import operator_prompt
from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.folder import read_runs
from riderless.experiments.campaigns.run import run_on_bicycle
from riderless.experiments.datatypes import Fit, Window
from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.terminal.operator import heed
from riderless.experiments.terminal.progress import board_of
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from tests.experiments.commands.test_run_keys import terminal
from tests.paths import ROOT

TEXT = """
name = "beside"
rig = "rig.toml"
[[controller]]
method = "off"
[[protocol]]
kind = "treadmill"
speeds_m_s = [4.8, 5.0, 5.2]
kicks = 1
spacing_s = 1.0
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "rig.toml").write_text((ROOT / "docs/rigs/node.toml").read_text())
    path = tmp_path / "beside.toml"
    path.write_text(TEXT)
    return path


@contextmanager
def no_keys():
    yield lambda: ""


@pytest.mark.parametrize(
    ("answers", "outcomes", "folders"),
    [
        (["go", "go", "go"], ["success"] * 3, [0, 1, 2]),
        (["skip", "go", "go"], ["success"] * 2, [1, 2]),
        (["go", "stop"], ["success"], [0]),
        (["go", "go", "skip", "go"], ["fault", "success", "success"], [0, 0, 2]),
        (["go"], ["stopped"], [0]),
    ],
)
def test_each_condition_waits_for_a_person(tmp_path, file, monkeypatch, answers, outcomes, folders):
    conditions, left, ran, asked = read_campaign(file).conditions, list(outcomes), [], []
    if outcomes[0] == "fault":
        answers, left = ["go", "go", "skip", "go"], ["fault", "success", "success"]

    def run(condition, ports, out, watch, fifo, operator, about=None, feed=None):
        ran.append(condition.name)
        reason = left.pop(0)
        cause = "stopped by SIGINT" if reason == "stopped" else "because"
        return campaign.Attempt(condition, out, Outcome("abort" if reason == "stopped" else reason, cause))

    def ask(condition, last):
        asked.append((condition.name, last.reason if last else ""))
        return answers[len(asked) - 1]

    monkeypatch.setattr(campaign, "_run", run)
    attempts = run_on_bicycle(conditions, tmp_path, lambda *_: None, ["nowhere"], ask, no_keys, heed)
    assert len(list(attempts)) == len(outcomes)
    if outcomes[0] == "fault":
        assert asked[1] == (conditions[0].name, "fault"), "a run that failed is asked for again"
    else:
        assert ran == [conditions[i].name for i in folders]


@pytest.mark.parametrize(
    ("cause", "unattended", "runs", "asked_for"),
    [
        (STOPPED_ON_PAGE, False, [0, 0, 1, 2], ["", STOPPED_ON_PAGE, "", ""]),
        ("stopped by a key", False, [0, 0, 1, 2], ["", "stopped by a key", "", ""]),
        ("stopped by SIGINT", False, [0], [""]),
        (STOPPED_ON_PAGE, True, [0], [""]),
    ],
)
def test_who_stops_a_run_is_asked_what_to_do_and_where_nobody_is_the_campaign_ends(
    tmp_path, file, monkeypatch, cause, unattended, runs, asked_for
):
    conditions, ran, asked = read_campaign(file).conditions, [], []

    def run(condition, ports, out, watch, fifo, operator, about=None, feed=None):
        ran.append(condition)
        return campaign.Attempt(condition, out, Outcome("success", "") if ran[1:] else Outcome("abort", cause))

    def ask(condition, last):
        asked.append(last.cause if last else "")
        return "go"

    monkeypatch.setattr(campaign, "_run", run)
    how = {"unattended": unattended}
    attempts = list(run_on_bicycle(conditions, tmp_path, lambda *_: None, ["nowhere"], ask, no_keys, heed, **how))
    assert [conditions.index(one.condition) for one in attempts] == runs
    assert asked == asked_for


def board(conditions):
    return board_of(Console(file=io.StringIO(), width=110, height=40), conditions, (), person=True)


def test_the_person_is_told_what_to_prepare_and_what_the_keys_do(file):
    said, lines = [], iter(["what?", "", " N ", "q"])
    condition = read_campaign(file).conditions[0]
    with board([condition]) as live:
        ask = operator_prompt(said.append, lambda: next(lines), live.aside)
        assert ask(condition, None) == "go"
        assert ask(condition, None) == "skip"
        assert ask(condition, Outcome("fault", "the lean angle passed its limit")) == "stop"
    text = "\n".join(said)
    assert f"Set the belt to {condition.v:g} m/s and hold the bicycle upright." in text
    assert "found 'what?': Enter arms, n skips it, q stops" in text
    assert "the lean angle passed its limit" in text


def test_without_anybody_there_the_campaign_stops(file):
    def nobody():
        raise EOFError

    condition = read_campaign(file).conditions[0]
    with board([condition]) as live:
        assert operator_prompt(lambda text: None, nobody, live.aside)(condition, None) == "stop"


def test_the_board_counts_and_tells_cues(file):
    conditions = read_campaign(file).conditions
    live = board(conditions)
    row = np.zeros(1, TICK)[0]
    row["state"], row["t_host"] = State.RUNNING, 100.0
    live.watch(conditions[0], row)
    row["t_host"] = 100.0 + conditions[0].cues[0][0] - 0.5
    live.watch(conditions[0], row)
    console = Console(file=io.StringIO(), width=110)
    console.print(live._picture())
    shown = console.file.getvalue()
    assert "push it to the right, then press k" in shown
    assert shown.count("0 of 1") == 3
    assert "RUNNING" in shown
    assert shown.count("waiting") == 2


def test_the_board_parts_windows_of_one_label_by_their_speeds(file):
    (condition, *_), fits = read_campaign(file).conditions, []
    for v, re in ((4.5, -1.0), (4.5, -1.2), (5.5, -2.0)):
        window = Window("run", 0, 100, 0.0, 2.0, v, v, v, "made")
        fits.append(FittedWindow(condition.label, window, Fit("made", re, 4.0, 0.01 * np.eye(2), 1.0, 0.0, True, "")))
    live = board([condition])
    live._so_far._found = fits
    console = Console(file=io.StringIO(), width=110)
    console.print(live.table())
    shown = console.file.getvalue()
    assert "-1.10±4.00i" in shown
    assert f"{condition.label} at 5.50 m/s" in shown
    assert shown.count("0 of 1") == 1


@pytest.mark.realtime
def test_the_same_condition_on_ports(tmp_path, file):
    """One condition against a twin behind a port that the campaign takes for a bicycle, with a person's k."""
    (condition,) = read_campaign(file).conditions[:1]
    scenario, pressed = Scenario(speed=((0.0, condition.v),), kicks=condition.scenario.kicks), []

    @contextmanager
    def keys():
        yield lambda: "k" if len(pressed) == 1 else ""

    def watch(c, row):
        if int(row["state"]) == State.RUNNING:
            pressed.append(1)
        else:
            pressed.clear()

    with start_twin(condition.rig, scenario) as twin:
        # a busy machine may spoil an attempt, which is then made again
        *_, attempt = run_on_bicycle(
            [condition], tmp_path / "runs", watch, twin.paths, lambda c, last: "go", keys, heed
        )
    assert attempt.outcome.reason == "success", attempt.outcome.cause
    run = read_run(attempt.folder)
    assert run.header.condition["name"] == condition.name
    assert not run.header.scenario, "nobody knows what a real bicycle meets"
    assert [m.kind for m in run.markers].count("kick") == 1
    assert read_runs(tmp_path / "runs")[-1].name == condition.name


@pytest.mark.slow
@pytest.mark.realtime
def test_a_person_at_a_terminal_goes_through_a_campaign(file, tmp_path):
    rig, folder = Rig(catalogue.load_bicycle("Benchmark")), tmp_path / "runs" / "beside"
    with start_twin(rig, Scenario(speed=((0.0, 5.0),))) as twin:
        text = (tmp_path / "rig.toml").read_text()
        (tmp_path / "rig.toml").write_text(text.replace("/dev/serial/by-id/usb-riderless_node", twin.path))
        with terminal("campaign", str(file), "-o", str(tmp_path / "runs")) as screen:
            screen.see("Enter arms, n skips it, q stops the campaign")
            screen.press("n\n")
            screen.see("Set the belt to")
            screen.press("\n")
            for _ in range(4):
                screen.see("Set the belt to")
                if "success" in {run.outcome.reason for run in read_runs(folder)}:
                    break
                screen.press("\n")  # a busy machine has spoilt it: once more
            screen.press("q\n")
            screen.see("report:")
            assert screen.process.wait(20.0) == 1, "not every run was made"
    second = read_campaign(file).conditions[1].name
    assert {run.name for run in read_runs(folder)} == {second}
    assert [run.outcome.reason for run in read_runs(folder)].count("success") == 1
