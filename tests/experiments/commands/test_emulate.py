"""What `riderless emulate` prints to be typed works as typed, and runs the bicycle that is emulated."""

import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from riderless.experiments.commands._machines import held_machine
from riderless.experiments.commands.run import _kicked
from riderless.hil.logs.log import read_run
from riderless.hil.rig.rig import Rig
from riderless.hil.runners import emulation
from riderless.models import catalogue
from tests.paths import ROOT

CLI = [sys.executable, "-m", "riderless.experiments.cli"]


@contextmanager
def emulated(folder, *arguments):
    """Start `riderless emulate ARGUMENTS` in a folder; gives its first lines on standard output and error."""
    process = subprocess.Popen(
        [*CLI, "emulate", *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process.stdout.readline().strip(), process.stderr.readline().strip()
        assert process.poll() is None, "it serves until it is told to end"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30.0)


@pytest.fixture
def own_bicycle(tmp_path):
    """A bicycle's file in a folder with a space in its name."""
    (tmp_path / "my bicycles").mkdir()
    file = tmp_path / "my bicycles" / "lab.toml"
    file.write_text((ROOT / "models/bicycles/Silver.toml").read_text(encoding="utf-8").replace("Silver", "Lab", 1))
    return file


@pytest.mark.parametrize("name", ["Silver", "lab.toml"])
def test_the_command_to_type_names_the_bicycle_and_the_port(own_bicycle, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "40")  # a narrow terminal breaks no line that is to be copied
    with emulated(own_bicycle.parent, name, "--speed", "4", "--json") as (said, told):
        document = json.loads(said)
    command = told.split("connect with: ")[1]
    assert command == document["connect"]
    program, verb, *options = shlex.split(command)
    bicycle = "Silver" if name == "Silver" else str(own_bicycle)
    assert [program, verb, *options] == ["riderless", "run", "--bicycle", bicycle, "--port", document["path"]]
    assert catalogue.load_bicycle(bicycle).name == document["bike"]


class SeenError(Exception):
    """What an emulated machine would have met."""


@pytest.mark.parametrize(("model", "lean_rate"), [("linear", 0.35), ("nonlinear", 0.15)])
def test_kicks_are_as_hard_as_the_equations_of_motion_bear(monkeypatch, model, lean_rate):
    rig, made = Rig(catalogue.load_bicycle("Benchmark")), []

    def see(rig, scenario, emulation):
        made.extend(scenario.kicks)
        raise SeenError

    monkeypatch.setattr(emulation, "emulated_plant", see)
    with pytest.raises(SeenError), held_machine(rig, model, 5.0, np.array([1.0, 5.0]), 1, None):
        pass
    made += _kicked(rig, 5.0, 10.0, 1, model).kicks
    assert len(made) == 5
    # M_phi_phi of the benchmark: Meijaard et al. 2007, table 2; pushed 0.8 m above ground, by hands that vary by 15 %
    assert [abs(kick.impulse) for kick in made] == pytest.approx([lean_rate * 80.81722 / 0.8] * 5, rel=0.151)


@pytest.mark.realtime
def test_the_command_as_typed_in_another_folder_runs_that_very_bicycle(own_bicycle, tmp_path):
    with emulated(own_bicycle.parent, "lab.toml", "--speed", "5", "--kick-every", "0") as (path, told):
        program, *typed = shlex.split(told.split("connect with: ")[1])
        assert program == "riderless"
        assert path in typed
        done = subprocess.run(
            [*CLI, *typed, "--duration", "2", "--yes-arm-unattended"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240.0,
            stdin=subprocess.DEVNULL,
        )
    # a busy machine may spoil the run itself, with exit code 1; bad input or a device that is not there is 2
    assert done.returncode in (0, 1), done.stdout + done.stderr
    folder = re.search(r"run: (\S+)", done.stdout)[1]
    run = read_run(tmp_path / folder)
    assert run.header.bicycle.name == catalogue.load_bicycle(str(own_bicycle)).name == "Lab"
    assert (run.ticks["valid"] == 1).any(), "the emulated bicycle answered"
