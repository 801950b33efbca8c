"""A campaign from Python: one call for what the command does, silent or shown, stopped and gone on with."""

import io
import json
import shutil
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

from riderless.experiments.campaigns import run as runners
from riderless.experiments.campaigns.display import CampaignDisplay
from riderless.experiments.campaigns.file import plan_campaign, read_campaign
from riderless.experiments.campaigns.folder import CAMPAIGN_FILE, read_campaign_record
from riderless.experiments.campaigns.run import Attempt, run_conditions_in_lockstep
from riderless.experiments.campaigns.session import open_campaign, rehearse_campaign, run_campaign
from riderless.experiments.terminal.campaign_display import TerminalDisplay
from riderless.hil.logs.log import RUN_FILE
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.models.errors import InputError
from tests.experiments.campaigns.test_run import Twin
from tests.experiments.commands.test_cli import call
from tests.paths import ROOT

BEGUN_BEFORE = Path(__file__).parent / "begun_before"  # written by the version before the rooms were furnished
TEXT = """
name = "two speeds"
bicycles = ["Benchmark"]
[[controller]]
method = "off"
[[protocol]]
kind = "treadmill"
speeds_m_s = [5.0, 5.2]
kicks = 1
spacing_s = 1.5
"""
SETTINGS = tomllib.loads(TEXT)
WIRED = TEXT.replace('bicycles = ["Benchmark"]', 'rig = "rig.toml"')


class Witness(CampaignDisplay):
    """Remembers what it was told, and stops after so many runs."""

    def __init__(self, stop_after=99):
        self.said, self.rehearsed, self.seen, self.stop_after = [], [], [], stop_after

    def say(self, text):
        self.said.append(text)

    def rehearsing(self):
        from contextlib import nullcontext

        return nullcontext(self.rehearsed.append)

    def made(self, attempt):
        self.seen.append(attempt)

    def watch(self, condition, row):
        if len(self.seen) >= self.stop_after:
            raise KeyboardInterrupt


class Impatient(Witness):
    """Stops when the runs are made and their analysis begins."""

    def analyze(self, responses):
        raise KeyboardInterrupt


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path


@pytest.mark.usefixtures("_unreported")
def test_settings_are_run_and_gone_on_with(tmp_path):
    first = run_campaign(SETTINGS, tmp_path, display=Witness(stop_after=1))
    assert first.interrupted
    assert first.folder == tmp_path / "two-speeds"
    assert repr(first) == f"<CampaignResult 'two speeds': stopped, 1 of 2 runs good, in {first.folder}>"
    kept = {run.name: (run.folder / RUN_FILE).read_bytes() for run in first.runs if run.outcome.reason == "success"}
    witness = Witness()
    second = run_campaign(SETTINGS, tmp_path, resume=True, display=witness)
    assert not second.interrupted
    assert second.missing == []
    assert second.folder == first.folder
    assert witness.said == [f"going on in {first.folder}: 1 of 2 runs are there; --new begins anew"]
    assert [one.condition.name for one in witness.rehearsed] == [c.name for c in first.missing]
    good = {run.name: run.folder for run in second.runs if run.outcome.reason == "success"}
    assert kept == {name: (good[name] / RUN_FILE).read_bytes() for name in kept}
    assert second.findings.page == second.folder / "report.html"
    assert second.as_json()["runs"] == read_campaign_record(second.folder)["runs"]
    assert all("\n" not in repr(o) and len(repr(o)) < 200 for o in (second.findings, second.campaign))


def test_a_stop_while_it_analyses_keeps_the_runs(tmp_path):
    first = run_campaign(SETTINGS, tmp_path, display=Impatient())
    assert first.interrupted
    assert first.missing == []
    second = run_campaign(SETTINGS, tmp_path, resume=True)
    assert not second.interrupted
    assert [run.folder for run in second.runs] == [run.folder for run in first.runs]
    assert second.findings.page.is_file()


@pytest.mark.usefixtures("_unreported")
def test_the_function_finds_what_the_command_finds(tmp_path, file, capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "campaign", file, "--lockstep", "--json", "--out", tmp_path / "command")
    assert code == 0
    from riderless.hil.logs.json_values import plain

    result = run_campaign(file, tmp_path / "python")
    mine = json.dumps(plain(result.as_json())).replace(str(tmp_path / "python"), str(tmp_path / "command"))
    assert json.loads(mine) == json.loads(out)


def test_what_describes_a_campaign(tmp_path, file):
    assert len(open_campaign(seed=3).conditions) == 14
    assert open_campaign(seed=3).stem == "campaign-seed3"
    assert open_campaign().usual
    of_file, of_settings = open_campaign(file, lockstep=True), open_campaign(SETTINGS)
    assert (of_file.stem, of_file.lockstep, of_file.usual) == ("two", True, False)
    assert [c.name for c in of_settings.conditions] == [c.name for c in of_file.conditions]
    assert open_campaign(of_file) == of_file
    on_a_rig = open_campaign(ROOT / "docs/rigs/node.toml")
    assert on_a_rig.usual
    assert on_a_rig.conditions[0].machine is not None
    with pytest.raises(InputError, match=r"has its own seed and model: write them into .*two.toml"):
        open_campaign(file, seed=2)
    with pytest.raises(InputError, match=r"campaign settings: .*protocol"):
        plan_campaign({"name": "empty"})


def test_a_condition_that_is_refused_stops_all(tmp_path):
    fast = {**SETTINGS, "protocol": [{**SETTINGS["protocol"][0], "speeds_m_s": [50.0]}]}
    (refused,) = rehearse_campaign(open_campaign(fast))
    assert "is refused" in refused.refusal
    assert "is refused" in repr(refused)
    with pytest.raises(InputError, match="is refused"):
        run_campaign(fast, tmp_path)
    assert not list(tmp_path.iterdir())


def test_ports_want_a_wired_rig_and_real_time(tmp_path, file):
    for lockstep in (True, False):
        with pytest.raises(InputError, match="/dev/x want a campaign with a wired rig"):
            run_campaign(file, tmp_path, lockstep, ports=["/dev/x"])


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("abort", STOPPED_ON_PAGE),
        Outcome("abort", "stopped by SIGINT"),
        Outcome("fault", "it fell", late_stop=STOPPED_ON_PAGE),
    ],
)
def test_a_stop_on_the_live_page_stops_an_emulated_campaign_as_ctrl_c_does(tmp_path, monkeypatch, outcome):
    def attempt(condition, ports, out, watch, fifo, feed=None):
        return Attempt(condition, out / "none", outcome)

    monkeypatch.setattr(runners, "_attempt", attempt)
    monkeypatch.setattr(runners, "_twin", lambda condition, fifo: Twin())
    monkeypatch.setattr(runners, "warm_up", lambda rig, schedule: None)
    result = run_campaign({**SETTINGS, "time": "real"}, tmp_path, False)
    assert [run.outcome for run in result.runs] == [outcome]
    assert result.interrupted
    assert repr(result).startswith("<CampaignResult 'two speeds': stopped, 0 of 2 runs good")


@pytest.fixture
def wired(tmp_path, monkeypatch):
    """A campaign file of a wired rig, with runs that are not made."""
    (tmp_path / "rig.toml").write_text((ROOT / "docs/rigs/node.toml").read_text())
    path = tmp_path / "wired.toml"
    path.write_text(WIRED)

    def run(condition, ports, out, watch, fifo, operator, about=None, feed=None):
        assert ports == ["/dev/x"]
        return Attempt(condition, out / "none", Outcome("fault", "nothing was run"))

    monkeypatch.setattr(runners, "_run", run)
    return path


def test_without_a_person_no_real_bicycle_is_run(tmp_path, wired):
    result = run_campaign(wired, tmp_path / "runs", False, ports=["/dev/x"])
    assert result.runs == ()
    assert len(result.missing) == 2


@pytest.fixture
def shown(monkeypatch):
    """What the terminal shows."""
    text = io.StringIO()
    monkeypatch.setattr(
        "riderless.experiments.terminal.campaign_display.progress_screen", Console(file=text, width=200)
    )
    return text


def test_a_person_at_the_terminal_is_shown_and_asked(tmp_path, wired, shown):
    lines = iter(["", "n", "q"])
    display = TerminalDisplay(lambda pressed, operator: None, lambda: next(lines))
    result = run_campaign(wired, tmp_path / "runs", False, ports=["/dev/x"], display=display)
    text = shown.getvalue()
    assert [run.outcome.reason for run in result.runs] == ["fault"]
    assert "Set the belt to" in text
    assert "it ended otherwise (fault: nothing was run); once more?" in text
    assert not result.interrupted
    assert len(result.missing) == 2


@pytest.mark.usefixtures("_unreported")
def test_a_terminal_shows_a_campaign_in_lockstep(tmp_path, file, shown):
    display = TerminalDisplay(lambda pressed, operator: None)
    result = run_campaign(file, tmp_path, display=display)
    assert result.missing == []
    assert "1 of 1" in shown.getvalue()
    assert "analysis" in shown.getvalue()
    bars = [line for line in shown.getvalue().splitlines() if "━" in line]
    assert not [line for line in bars if "campaign" in line and "analysis" in line], "each on a line of its own"


@pytest.fixture
def begun_before(tmp_path):
    """Campaign file and folder begun by an older version, with the run that its record tells of."""
    shutil.copy(BEGUN_BEFORE / "old.toml", tmp_path / "old.toml")
    folder = tmp_path / "runs" / "old"
    folder.mkdir(parents=True)
    shutil.copy(BEGUN_BEFORE / CAMPAIGN_FILE, folder / CAMPAIGN_FILE)
    list(run_conditions_in_lockstep(read_campaign(tmp_path / "old.toml").conditions[:1], folder, lambda *_: None))
    return tmp_path / "old.toml"


@pytest.mark.usefixtures("_unreported")
def test_a_campaign_that_an_older_version_began_goes_on(begun_before):
    folder = begun_before.parent / "runs" / "old"
    old, whole = read_campaign_record(folder), read_campaign(begun_before)
    assert old["digest"].items() <= whole.digest.items()  # since then the bicycles are in it
    assert old["planned"] == [c.name for c in whole.conditions]
    (run,) = old["runs"]
    log = folder / Path(run["run"]).name / RUN_FILE
    kept = log.read_bytes()
    result = run_campaign(begun_before, begun_before.parent / "runs", resume=True)
    assert result.folder == folder
    assert [r.name for r in result.runs] == old["planned"]
    assert log.read_bytes() == kept
    new = read_campaign_record(folder)
    assert new.keys() == old.keys()
    rewritten = ("runs", "rehearsals", "digest")
    assert {k: new[k] for k in new if k not in rewritten} == {k: old[k] for k in old if k not in rewritten}
    first = new["runs"][0]
    assert (first["condition"], first["reason"], first["cause"]) == (
        run["condition"],
        run["reason"],
        run["cause"],
    )


@pytest.mark.parametrize(
    ("delay", "code", "who"),
    [(0.034, 3, "1 ended by this computer, which was too busy (34 ms late)"), (0.0, 1, "1 ended by the machine")],
)
def test_an_answer_says_which_runs_are_missing_and_who_ended_them(tmp_path, monkeypatch, capsys, delay, code, who):
    def attempt(condition, ports, out, watch, fifo, feed=None):
        if "5.2" in condition.name:
            return Attempt(condition, out / "none", Outcome("fault", "commands came too late", delay=delay))
        return next(iter(run_conditions_in_lockstep([condition], out, watch)))

    monkeypatch.setattr(runners, "_attempt", attempt)
    monkeypatch.setattr(runners, "_twin", lambda condition, fifo: Twin())
    monkeypatch.setattr(runners, "warm_up", lambda rig, schedule: None)
    monkeypatch.setattr("riderless.experiments.campaigns.findings.report_on", report_without_lost_logs)
    path = tmp_path / "two.toml"
    path.write_text(TEXT.replace("kicks = 1", "kicks = 3").replace("1.5", "3.2"))
    found, out, _ = call(capsys, monkeypatch, "campaign", path, "--out", tmp_path / "runs", "--json")
    document = json.loads(out)
    report = json.loads((Path(document["folder"]) / "report.json").read_text())
    assert found == code
    assert document["missing"] == ["treadmill Benchmark off 5.2 m/s"]
    assert [run["ended_by"] for run in document["runs"]] == ["plan", *["computer" if delay else "machine"] * 3]
    assert f"1 of 2 runs missing: {who}" in report["answer"]["headline"]


def report_without_lost_logs(folder, title, analysis, runs, **more):
    """Write the report as ever, of the runs that were made."""
    from riderless.experiments.reports.gather import report_on

    return report_on(folder, title, analysis, [run for run in runs if run.exists()], **more)
