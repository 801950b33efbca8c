"""No real machine is armed while nobody is at a terminal, unless somebody said so; then the log says it too."""

import os
import pty
import subprocess
import sys
import tty
from contextlib import contextmanager
from pathlib import Path

import pytest

from riderless.experiments.campaigns.session import run_campaign
from riderless.experiments.commands._options import require_attended
from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.terminal.campaign_display import UnattendedDisplay
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from tests.experiments.campaigns.test_session import WIRED
from tests.experiments.commands.test_cli import riderless  # noqa: F401
from tests.paths import DOCS

CLI = [sys.executable, "-m", "riderless.experiments.cli"]
RIG = DOCS / "rigs/node.toml"


@contextmanager
def port():
    """A pseudo-terminal that stands for a bicycle's port; gives its path, and what was said to it."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)

    def heard():
        try:
            return os.read(master, 4096)
        except BlockingIOError:
            return b""

    yield os.ttyname(slave), heard
    os.close(master)
    os.close(slave)


def without_terminal(how, command, **options):
    """A process of ours whose standard input is closed or a pipe."""
    if how == "closed":
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    given = {"pipe": {"input": "\n\n\n"}, "closed": {}}[how]
    return subprocess.run(command, capture_output=True, text=True, timeout=240.0, **given, **options)


def campaign_file(folder):
    (folder / "rig.toml").write_text(RIG.read_text())
    (folder / "wired.toml").write_text(WIRED)
    return folder / "wired.toml"


COMMANDS = {
    "run": lambda folder: ["run", "--bicycle", "Benchmark"],
    "run --yes": lambda folder: ["run", "--bicycle", "Benchmark", "--yes"],
    "check": lambda folder: ["check"],
    "calibrate": lambda folder: ["calibrate", str(RIG), "--only", "drive", "--yes"],
    "campaign": lambda folder: ["campaign", str(campaign_file(folder))],
}


def refused_for_want_of_a_person(code, out, err):
    assert code == 2, out + err
    (line,) = [line for line in err.splitlines() if line.startswith("riderless: ")]
    assert "wanted a person at a terminal before a real machine is armed, found none" in line
    assert "say --yes-arm-unattended" in line
    assert "Traceback" not in err
    assert not Path("runs").exists()


@pytest.mark.parametrize("how", ["closed", "pipe"])
def test_nobody_at_a_terminal_is_refused_before_the_port_is_touched(tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    with port() as (path, heard):
        done = without_terminal(how, [*CLI, *COMMANDS["run"](tmp_path), "--port", path])
        assert heard() == b"", "nothing was said to the machine"
    refused_for_want_of_a_person(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_arms_asks_for_a_person(riderless, tmp_path, monkeypatch, name):  # noqa: F811
    """Here nobody is at a terminal either."""
    monkeypatch.chdir(tmp_path)
    with port() as (path, heard):
        refused_for_want_of_a_person(*riderless(*COMMANDS[name](tmp_path), "--port", path))
        assert heard() == b"", "nothing was said to the machine"


def test_a_campaign_without_its_port_is_refused_before_anything_is_made_or_asked(riderless, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, _, err = riderless("campaign", campaign_file(tmp_path), "--port", "/dev/nowhere", "-o", "runs")
    assert code == 2
    assert "riderless: no port /dev/nowhere; " in err
    assert not (tmp_path / "runs").exists()


def test_a_virtual_bicycle_and_a_port_that_is_none_need_nobody(tmp_path):
    assert not require_attended([], agreed=False)
    assert not require_attended([str(tmp_path / "nothing")], agreed=False), "its own refusal is the better one"


@pytest.mark.realtime
def test_who_says_so_is_obeyed_and_the_log_tells(riderless, tmp_path):  # noqa: F811
    rig = Rig(catalogue.load_bicycle("Benchmark"))
    options = ["--duration", "1", "--yes-arm-unattended", "--fifo", "20", "-o", str(tmp_path / "runs")]
    with start_twin(rig, Scenario(speed=((0.0, 5.0),)), fifo=20) as twin:
        done = without_terminal("closed", [*CLI, "run", "--port", twin.path, *options])
    assert "arming unattended: nobody is at a terminal" in done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    run = read_run(folder)
    assert run.header.unattended
    assert State.RUNNING in run.ticks["state"]
    assert "armed with nobody at a terminal" in riderless("info", str(folder))[1]


@pytest.mark.realtime
def test_an_emulated_run_needs_nobody_even_with_closed_input(tmp_path):
    done = without_terminal("closed", [*CLI, "run", "--emulated", "--duration", "1", "-o", str(tmp_path / "runs")])
    assert done.returncode in (0, 1), done.stdout + done.stderr  # a busy machine may spoil the run itself
    assert "Traceback" not in done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert not read_run(folder).header.unattended


def test_an_unattended_campaign_tries_each_condition_once_and_says_so(tmp_path, monkeypatch):
    from riderless.experiments.campaigns import run as runners
    from riderless.experiments.campaigns.run import Attempt
    from riderless.hil.runners.operator import Outcome

    told = []

    def run(condition, ports, out, watch, fifo, operator, about=None, feed=None):
        told.append(about)
        return Attempt(condition, out / "none", Outcome("fault", "nothing was run"))

    monkeypatch.setattr(runners, "_run", run)
    display = UnattendedDisplay(lambda pressed, operator: None)
    result = run_campaign(campaign_file(tmp_path), tmp_path / "runs", False, ports=["/dev/x"], display=display)
    assert told == [{"unattended": True}] * 2
    assert len(result.missing) == 2
