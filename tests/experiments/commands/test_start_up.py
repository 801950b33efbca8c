"""Libraries that a command loads: none that it does not use. Each is run as a person runs it, under `-X importtime`."""

import os
import subprocess
import sys

import pytest

from riderless.hil.rig.file import read_rig
from tests.hil.machine import gains, rig_of, scenario
from tests.paths import DOCS

HEAVY = {"control", "h5py", "llvmlite", "matplotlib", "numba", "PIL", "pandas", "pyarrow", "scipy", "websockets"}
TABLES = {"markdown_it", "numpy", "pydantic", "pygments", "rich"}  # what nobody needs for whom plain text is printed
LOGS = {"google", "lz4", "mcap", "zstandard"}


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    from riderless.hil.runners.simulated_run import run_lockstep

    folder, rig = tmp_path_factory.mktemp("runs") / "run", rig_of()
    run_lockstep(folder, rig, gains(rig, speeds=(5.0,)), scenario(), 1.0)
    return folder


def loaded(*arguments):
    """Packages that `riderless ARGUMENTS` imports, and what it prints."""
    modules, done = loaded_modules(*arguments)
    assert done.returncode == 0, done.stderr
    return {module.split(".")[0] for module in modules}, done.stdout


def loaded_modules(*arguments):
    """Modules that `riderless ARGUMENTS` imports, and how it ended."""
    command = [sys.executable, "-X", "importtime", "-m", "riderless.experiments.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    told = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {line.rsplit("|", 1)[1].strip() for line in told}, done


@pytest.mark.parametrize("arguments", [("--help",), pytest.param(("--version",), marks=pytest.mark.slow)])
def test_help_and_version_load_no_library_but_that_of_the_command_line(arguments):
    packages, out = loaded(*arguments)
    assert "riderless" in out or "Usage" in out
    assert "typer" in packages
    assert not packages & (HEAVY | TABLES | LOGS)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("bikes",), marks=pytest.mark.slow),
        pytest.param(("eig", "Silver", "--speeds", "0:10:0.5"), marks=pytest.mark.slow),
        ("modes", "Silver", "--speed", "5"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_linear_model_needs_numpy_alone(arguments):
    packages, out = loaded(*arguments)
    assert "Silver" in out
    assert "numpy" in packages
    assert not packages & (HEAVY | LOGS)


@pytest.mark.timeout(600)  # a run of the emulated bicycle, which may have to be compiled
def test_info_loads_what_reads_a_log(run_folder):
    packages, out = loaded("info", run_folder)
    assert "Silver" in out
    assert "mcap" in packages
    assert not packages & HEAVY


def test_turns_without_a_figure_draw_nothing():
    assert "matplotlib" not in loaded("turns", "Silver", "--lean", "10", "--steer", "5")[0]


def test_design_loads_no_plotting_library(tmp_path):
    packages, _ = loaded("design", "Silver", "--speeds", "4:5:1", "-o", tmp_path / "gains.toml")
    assert "scipy" in packages
    assert not packages & {"control", "matplotlib"}


def test_a_run_with_a_file_of_gains_waits_for_no_design(tmp_path):
    """It goes as far as the rig's last doubt, a latency test that was never made, behind which the loop is loaded."""
    rig = (DOCS / "rigs" / "node.toml").read_text(encoding="utf-8")
    (tmp_path / "rig.toml").write_text(
        rig.replace("latency_test_days = 0 ", "latency_test_days = 7 "), encoding="utf-8"
    )
    machine = read_rig(tmp_path / "rig.toml")
    (tmp_path / "gains.toml").write_text(gains(machine).to_toml(), encoding="utf-8")
    line, other = os.openpty()
    modules, done = loaded_modules(
        *("run", tmp_path / "rig.toml", "--controller", tmp_path / "gains.toml", "--port", os.ttyname(other)),
        *("--yes", "--yes-arm-unattended"),
    )
    os.close(line)
    os.close(other)
    assert done.returncode == 2
    assert "riderless latency" in done.stderr
    assert "riderless.hil.runners.warmup" in modules
    assert not [
        name
        for name in modules
        if name.startswith(("riderless.hil.design.methods", "riderless.hil.design.compensators"))
    ]
    assert not [name for name in modules if name.startswith(("scipy.optimize", "riderless.experiments.campaigns"))]


def test_list_of_commands_is_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = loaded("--help")[1]
    assert "..." not in out.split("Begin:")[1]
    assert max(map(len, out.splitlines())) <= 80
    assert "List the bicycles of the catalogue with their speeds of stability and sources." in " ".join(out.split())
