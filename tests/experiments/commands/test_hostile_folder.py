"""Commands and all processes that they start run nothing of the current folder, whatever its files are called."""

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from shutil import copy

import pytest
from websockets.sync.client import connect

from tests.experiments.live.shared_memory import hear
from tests.paths import DOCS, ROOT

SCRIPT = [os.path.join(os.path.dirname(sys.executable), "riderless")]
MODULE = [sys.executable, "-m", "riderless"]
ROOMS = {"models", "firmware_interface", "hil", "experiments"}
LIBRARIES = {name for name in metadata.packages_distributions() if name.isidentifier()}
TRAPS = (sys.stdlib_module_names | LIBRARIES | ROOMS) - {"riderless"}  # that one is what `python -m riderless` names
RIDE = "--duration 1 --controller lqr --speed 5"
PAGE = "--port 0 --json"
COMMANDS = {
    "workers": (SCRIPT, f"simulate Silver {RIDE},4 --jobs 2 -o two"),
    "emulated machine on a stand": (SCRIPT, "monitor --emulated --duration 0.2"),
    "campaign": (MODULE, "campaign first_look.toml -o campaign"),
    "busy neighbours": (SCRIPT, "latency --duration 1"),
}
PAGES = {  # that serve until they are ended
    "page of a run": (MODULE, f"live run {PAGE} --foxglove 0", "fit"),
    "game": (SCRIPT, f"play Silver --no-browser {PAGE}", "rows"),
}


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run of two kicks."""
    from riderless.hil.runners.simulated_run import run_lockstep
    from riderless.models.plant.plant import Kick, Scenario
    from tests.hil.machine import gains, rig_of

    folder, rig = tmp_path_factory.mktemp("runs") / "run", rig_of()
    kicks = (Kick(1.0, 3.0), Kick(4.5, -3.0))
    run_lockstep(folder, rig, gains(rig, "poles"), Scenario(speed=((0.0, 5.0),), kicks=kicks), 8.0)
    return folder


@pytest.fixture
def trap(tmp_path, run_folder):
    """A folder with a recording and a module of every name that is imported; each that runs leaves a mark."""
    marks = tmp_path / "marks"
    marks.mkdir()
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()\n", encoding="utf-8")
    (folder / "run").symlink_to(run_folder)
    copy(DOCS / "campaigns" / "first_look.toml", folder)
    yield folder
    assert os.listdir(marks) == []


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run(command, folder):
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr  # 1: a verdict, as of the latency of a busy computer
    return done


SLOW = ("busy neighbours", "game")  # begun as other processes are


def each(cases):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in cases]


@pytest.mark.parametrize("name", each(COMMANDS))
def test_processes_of_a_command_run_nothing_of_the_folder(name, trap):
    start, words = COMMANDS[name]
    run([*start, *words.split()], trap)


@pytest.mark.parametrize("name", each(PAGES))
def test_processes_behind_a_page_run_nothing_of_the_folder(name, trap):
    start, words, shown = PAGES[name]
    command = [*start, *words.split()]
    with subprocess.Popen(command, cwd=trap, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            told = json.loads(process.stdout.readline())
            with connect(told["address"].replace("http", "ws").replace("/?", "/ws?"), max_size=None) as page:
                hear(page, shown, 120.0)
        finally:
            process.terminate()


@pytest.mark.slow  # as behind a page of its own
def test_a_page_beside_a_run_runs_nothing_of_the_folder(trap):
    words = "run --emulated --live --bicycle Silver --duration 20 --speed 5 -o ride"
    command = [*MODULE, *words.split()]
    with subprocess.Popen(command, cwd=trap, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if found := re.search(r"http://\S+", line):
                    break
            with connect(found[0].replace("http", "ws").replace("/?", "/ws?"), max_size=None) as page:
                hear(page, "rows", 120.0)
        finally:
            process.terminate()


def test_a_command_alone_runs_nothing_of_the_folder(trap):
    run([*SCRIPT, "analyze", "run"], trap)


SCRIPT_OF_ONES_OWN = """
import sys
import riderless as rl
bicycle = rl.load_bicycle("Silver")
gains = rl.design(bicycle, "poles", speeds=[4.0, 5.0], zeta=0.2)
run = rl.simulate(bicycle, gains, speed=4.5, kicks=[rl.Kick(0.6, impulse=4.0)], duration=8.0)
print(rl.analyze(run).table())
print([name for name in ("models", "hil", "experiments", "firmware_interface") if name in sys.modules])
"""


def test_a_folder_with_modules_of_our_rooms_names_changes_nothing(tmp_path, run_folder):
    """A student's own models.py neither breaks an import nor is taken for ours, and no module is loaded twice."""
    for name in ("models", "hil", "firmware_interface"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "__init__.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    (tmp_path / "own.py").write_text(SCRIPT_OF_ONES_OWN, encoding="utf-8")
    printed = run([sys.executable, "own.py"], tmp_path).stdout
    assert "Silver" in printed
    assert printed.splitlines()[-1] == "[]"
    assert "Silver" in run([*MODULE, "analyze", str(run_folder)], tmp_path).stdout
