"""A campaign that is stopped, killed or interrupted goes on: what is measured stays, what is missing is made."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from riderless.experiments.campaigns import folder as campaign_folder
from riderless.experiments.campaigns.file import read_campaign
from riderless.experiments.campaigns.findings import FREQUENCY_FILE
from riderless.experiments.campaigns.folder import (
    CAMPAIGN_FILE,
    FinishedRun,
    choose_folder,
    missing_conditions,
    read_runs,
    require_same_campaign,
    write_campaign_record,
)
from riderless.experiments.campaigns.starter import write_starter
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.log import RUN_FILE as LOG
from riderless.hil.logs.log import RunWriter, read_run
from riderless.hil.runners.operator import Outcome
from riderless.models.errors import InputError
from tests.experiments.commands.test_cli import call

TEXT = """
name = "to be stopped"
bicycles = ["Benchmark"]
time = "lockstep"
[[controller]]
method = "off"
[[protocol]]
kind = "sine_sweep"
speeds_m_s = [5.0]
repeats = 6
duration_s = 80.0
amplitude_Nm = 0.1
"""
RUNS = 6
SHORT = """
name = "in real time"
bicycles = ["Benchmark"]
[[controller]]
method = "off"
[[protocol]]
kind = "treadmill"
speeds_m_s = [5.0, 5.2, 5.4]
kicks = 1
spacing_s = 1.5
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(TEXT)
    return path


def start(file, *options):
    command = [
        sys.executable,
        "-m",
        "riderless.experiments.cli",
        "campaign",
        str(file),
        "-o",
        str(file.parent / "runs"),
        *options,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def wait_for(count, folder, process):
    """Until ``count`` runs have been begun."""
    end = time.monotonic() + 300.0
    while len(list(folder.glob(f"*/{LOG}"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the campaign never came so far"
        time.sleep(0.002)


def logs(folder):
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"*/{LOG}")}


def finish(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, " ".join(err.split())


def unwrapped(text):
    """Without white space: a console breaks a line, or a path, wherever it ends."""
    return "".join(text.split())


@pytest.mark.usefixtures("_unreported")
def test_killed_interrupted_and_finished(file, capsys, monkeypatch):
    folder = file.parent / "runs" / "long"
    first = start(file)
    wait_for(3, folder, first)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    begun = read_runs(folder)
    whole = read_campaign(file)
    good = [run for run in begun if run.outcome.reason == "success"]
    assert 2 <= len(good) < RUNS
    assert [run.name for run in good] == [c.name for c in whole.conditions][: len(good)]
    before = logs(folder)
    assert json.loads((folder / CAMPAIGN_FILE).read_text())["planned"] == [c.name for c in whole.conditions]

    second = start(file)  # it sees by itself that there is something to go on with
    wait_for(len(before) + 2, folder, second)
    os.kill(second.pid, signal.SIGINT)
    code, _, err = finish(second)
    assert code == 130, err
    assert f"goingonin{folder}:{len(good)}of{RUNS}runsarethere" in unwrapped(err)
    assert "togoon:riderlesscampaign" in unwrapped(err)
    assert not (folder / FREQUENCY_FILE).exists()
    between = logs(folder)
    assert before.items() <= between.items(), "what was measured is kept, byte for byte"
    stopped = [run for run in read_runs(folder) if run.outcome.reason == "abort"]
    causes = [run.outcome.cause for run in stopped]  # before a run listens to signals, Python does
    assert all("SIGINT" in cause or cause.startswith("KeyboardInterrupt") for cause in causes), causes

    code, out, err = call(capsys, monkeypatch, "campaign", file, "-o", file.parent / "runs", "--resume", "--json")
    assert code == 0, err
    assert between.items() <= logs(folder).items()
    document = json.loads(out)
    runs = document["runs"]
    assert [r["condition"] for r in runs if r["reason"] == "success"] == [c.name for c in whole.conditions]
    spoilt = [r for r in runs if r["reason"] != "success"]
    assert len(runs) == RUNS + len(spoilt)
    assert {r["reason"] for r in spoilt} <= {"killed", "abort"}
    assert len(json.loads((folder / FREQUENCY_FILE).read_text())) == RUNS
    assert json.loads((folder / CAMPAIGN_FILE).read_text())["runs"] == runs


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory):
    """A folder with three runs of the file, made once for all tests."""
    from riderless.experiments.campaigns.run import run_conditions_in_lockstep

    file = tmp_path_factory.mktemp("three") / "long.toml"
    file.write_text(TEXT)
    made = run_conditions_in_lockstep(read_campaign(file).conditions[:3], file.parent, lambda *_: None)
    return file.parent, [(a.condition.name, a.folder.name, a.outcome) for a in made]


@pytest.fixture
def begun(file, three_runs):
    """A folder with three runs of the file, of which the second was cut off as by a kill."""
    folder, (made, done) = file.parent / "runs" / "long", three_runs
    shutil.copytree(made, folder, ignore=shutil.ignore_patterns("*.toml"))
    runs = [FinishedRun(name, folder / run, outcome) for name, run, outcome in done]
    write_campaign_record(folder, read_campaign(file), runs)
    log = runs[1].folder / LOG
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    return folder


def test_a_run_that_was_cut_off_is_made_again_in_its_place(file, begun):
    whole = read_campaign(file)
    runs = read_runs(begun)
    assert [run.outcome.reason for run in runs] == ["success", "killed", "success"]
    assert runs[1].name == whole.conditions[1].name
    assert "no stop record" in runs[1].outcome.cause
    left = missing_conditions(whole, runs)
    assert [c.name for c in left] == [whole.conditions[i].name for i in (1, *range(3, RUNS))]
    assert choose_folder(file.parent / "runs", "long", whole, False) == begun
    assert choose_folder(begun, "long", whole, True) == begun


def test_what_is_written_beside_a_log_later_changes_no_order(file, begun):
    """A file of windows or an export in the first run's folder moved that run to the end of the campaign."""
    names = [c.name for c in read_campaign(file).conditions][:3]
    record = begun / CAMPAIGN_FILE
    for beside in (None, "windows.txt"):
        if beside:
            run = read_runs(begun)[0].folder
            (run / beside).write_text("")
            os.utime(run, (2e9, 2e9))
        assert [run.name for run in read_runs(begun)] == names
    os.utime(begun / read_runs(begun)[0].folder.name / LOG, (2e9, 2e9))  # copied, for instance
    assert [run.name for run in read_runs(begun)] == names, "campaign.json has the order"
    record.unlink()
    assert [run.name for run in read_runs(begun)] == [names[2], names[1], names[0]], "by the last row of each"


def test_without_a_record_runs_in_real_time_have_the_order_of_their_headers(tmp_path):
    for name, utc in (("b", "2026-01-01T10:00:00.000+00:00"), ("a", "2026-01-01T10:00:01.000+00:00")):
        RunWriter(tmp_path / name, RunHeader({"label": name, "provenance": {"utc": utc}})).close("success", "")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / LOG).write_bytes(b"")
    for name, t in (("cut", 1e9), ("a", 1.1e9), ("b", 1.2e9)):
        os.utime(tmp_path / name / LOG, (t, t))
    assert [run.folder.name for run in read_runs(tmp_path)] == ["b", "a", "cut"]
    made = [FinishedRun("", tmp_path / name, Outcome("killed", "")) for name in ("cut", "b")]
    (tmp_path / CAMPAIGN_FILE).write_text(
        json.dumps({"format": campaign_folder.CAMPAIGN_FORMAT, "runs": [campaign_folder.run_as_json(r) for r in made]})
    )
    assert [run.folder.name for run in read_runs(tmp_path)] == ["cut", "b", "a"]


def test_a_run_without_a_header_is_kept_and_told(begun):
    (begun / "odd").mkdir()
    (begun / "odd" / LOG).write_bytes(b"")
    odd = next(run for run in read_runs(begun) if run.folder.name == "odd")
    assert (odd.name, odd.outcome.reason) == ("", "killed")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("80.0", "81.0", "long.toml changed since the campaign in .* was begun: put it back"),
        ('"lockstep"', '"real"', "long.toml changed"),
    ],
)
def test_a_file_that_changed_is_refused(file, begun, old, new, words):
    file.write_text(TEXT.replace(old, new))
    whole = read_campaign(file)
    for resume in (False, True):
        with pytest.raises(InputError, match=words):
            choose_folder(file.parent / "runs", "long", whole, resume)


def test_a_comment_may_change(file, begun):
    file.write_text(TEXT.replace("= 80.0", "  =  80.0  # long"))
    assert choose_folder(file.parent / "runs", "long", read_campaign(file), False) == begun


def test_other_time_is_refused(file, begun):
    from dataclasses import replace

    with pytest.raises(InputError, match="was begun in simulated time"):
        choose_folder(file.parent / "runs", "long", replace(read_campaign(file), lockstep=False), True)


def test_a_finished_campaign_is_begun_anew_unless_told_otherwise(file, begun, monkeypatch):
    whole = read_campaign(file)
    done = [FinishedRun(c.name, begun, Outcome("success", "")) for c in whole.conditions]
    monkeypatch.setattr(campaign_folder, "read_runs", lambda folder: done)
    assert choose_folder(file.parent / "runs", "long", whole, False) == begun.parent / "long-2"
    assert choose_folder(file.parent / "runs", "long", whole, True) == begun
    with pytest.raises(InputError, match="holds a campaign already"):
        choose_folder(begun, "long", whole, False)


def test_how_to_go_on_says_all_that_the_campaign_is(tmp_path, capsys, monkeypatch):
    """Seed, model and simulated time make another campaign, refused: the command told has them."""

    def interrupted(conditions, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr("riderless.experiments.campaigns.run.run_conditions_in_lockstep", interrupted)
    given = ["--seed", 7, "--model", "nonlinear", "--lockstep", "--out", tmp_path / "runs of mine"]
    code, _, err = call(capsys, monkeypatch, "campaign", *given)
    assert code == 130
    words = shlex.split(" ".join(err.split()).partition("to go on: ")[2])
    assert words[:2] == ["riderless", "campaign"]
    code, _, err = call(capsys, monkeypatch, *words[1:])
    assert code == 130, err
    assert "14 of 14 runs to make" in err
    code, _, err = call(capsys, monkeypatch, *(w for w in words[1:] if w not in ("--seed", "7")))
    assert code == 2
    assert "seed changed since" in err


def test_two_cannot_work_in_one_folder(begun):
    with campaign_folder.lock_folder(begun), pytest.raises(InputError, match="another riderless is at work"):  # noqa: SIM117
        with campaign_folder.lock_folder(begun):
            pass
    with campaign_folder.lock_folder(begun):
        pass


def test_campaign_json_is_whole_or_the_old_one(file, begun, monkeypatch):
    old = (begun / CAMPAIGN_FILE).read_text()

    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(campaign_folder.os, "replace", fails)
    with suppress(OSError):
        write_campaign_record(begun, read_campaign(file), [])
    assert (begun / CAMPAIGN_FILE).read_text() == old


@pytest.mark.slow
@pytest.mark.realtime
def test_a_campaign_in_real_time_is_killed_and_goes_on(tmp_path):
    path = tmp_path / "long.toml"
    path.write_text(SHORT)
    folder = tmp_path / "runs" / "long"
    first = start(path)
    wait_for(1, folder, first)
    while "success" not in {run.outcome.reason for run in read_runs(folder)}:  # a busy machine may spoil some
        time.sleep(0.5)
    wait_for(len(read_runs(folder)) + 1, folder, first)
    time.sleep(1.5)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert [run.outcome.reason for run in read_runs(folder)][-2:] == ["success", "killed"]
    code, out, err = finish(start(path, "--json"))
    assert code == 0, err
    reasons = [run["reason"] for run in json.loads(out)["runs"]]
    assert reasons.count("success") == 3
    assert reasons.count("killed") == 1
    assert read_run(folder / json.loads(out)["runs"][0]["run"].rsplit("/", 1)[-1]).header.runner == "realtime"


@pytest.fixture
def starter(tmp_path):
    """Folder of `riderless init`, in which its campaign was begun; the campaign's folder."""
    lab = tmp_path / "lab"
    write_starter(lab)
    campaign = read_campaign(lab / "campaign.toml")
    begun = choose_folder(lab / "runs", "campaign", campaign, False)
    begun.mkdir(parents=True)
    write_campaign_record(begun, campaign, [])
    return begun


def test_an_edited_bicycle_of_the_rig_is_refused(starter):
    """Half of the runs would have been of one bicycle and half of another, under one name and one verdict."""
    bicycle = starter.parents[1] / "bicycle.toml"
    bicycle.write_text(re.sub(r"^mB = .*$", "mB = 60.0", bicycle.read_text(), flags=re.MULTILINE))
    with pytest.raises(InputError, match=r"the bicycle my bicycle changed since the campaign in .* was begun"):
        require_same_campaign(starter, read_campaign(starter.parents[1] / "campaign.toml"))


def test_the_way_to_the_files_may_be_another(starter, monkeypatch):
    monkeypatch.chdir(starter.parents[1])
    require_same_campaign(starter, read_campaign(Path("campaign.toml")))
    monkeypatch.chdir(starter.parents[2])
    require_same_campaign(starter, read_campaign(Path("lab/campaign.toml")))


def test_a_record_that_was_begun_before_is_gone_on_with(starter):
    """It named files by the path by which they were reached, and no bicycles."""
    record = json.loads((starter / CAMPAIGN_FILE).read_text())
    digest = {f"lab/{name}" if name == "rig.toml" else name: value for name, value in record["digest"].items()}
    record["digest"] = {name: value for name, value in digest.items() if not name.startswith("the bicycle")}
    assert len(record["digest"]) == len(digest) - 1
    (starter / CAMPAIGN_FILE).write_text(json.dumps(record))
    require_same_campaign(starter, read_campaign(starter.parents[1] / "campaign.toml"))
