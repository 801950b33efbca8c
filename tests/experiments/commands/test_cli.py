"""The command line as a person meets it: stable names, JSON in full precision, one sentence when it goes wrong."""

import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from riderless.experiments import cli
from riderless.experiments.recordings.foreign import kooijman
from riderless.models import catalogue
from riderless.models.linear.whipple import canonical_matrices, system_matrix
from tests.experiments.recordings.foreign_log import write_csv
from tests.experiments.simulated import recording
from tests.hil.machine import gains, rig_of, scenario
from tests.paths import REFERENCE


def call(capsys, monkeypatch, *arguments):
    """Run `riderless ARGUMENTS` in this process: exit code, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["riderless", *map(str, arguments)])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def riderless(capsys, monkeypatch):
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A short lockstep run with one kick."""
    from riderless.hil.runners.simulated_run import run_lockstep

    folder = tmp_path_factory.mktemp("runs") / "run"
    rig = rig_of()
    run_lockstep(folder, rig, gains(rig, "poles", zeta=0.2), scenario(kicks=(1.0,)), 5.0, "Silver poles 5.0 m/s")
    return folder


COMMANDS = (
    "bikes",
    "eig",
    "modes",
    "turns",
    "design",
    "emulate",
    "run",
    "campaign",
    "simulate",
    "analyze",
    "info",
    "export",
    "cite",
    "convert",
    "package",
    "paper",
    "path",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(riderless, command):
    code, out, _ = riderless(command, "--help")
    assert code == 0
    assert "--json" in out


def test_help_does_not_load_the_heavy_libraries():
    heavy = ("control", "numba", "scipy", "matplotlib")
    script = (
        "import sys; from typer.testing import CliRunner; from riderless.experiments.cli import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_commands_are_built_once_in_a_process(riderless, monkeypatch):
    assert riderless("bikes", "--json")[0] == 0
    monkeypatch.setattr("riderless.experiments.cli.get_command", lambda app: pytest.fail("they were built anew"))
    assert riderless("bikes", "--json")[0] == 0


def test_bikes_lists_the_catalogue(riderless):
    code, out, _ = riderless("bikes", "--json")
    assert code == 0
    bikes = {b["name"]: b for b in json.loads(out)["bikes"]}
    assert set(bikes) == set(catalogue.bicycle_names())
    assert bikes["Benchmark"]["weave"] == pytest.approx(4.29238253634111, abs=1e-12)
    assert bikes["TwoMassSkateTheory"]["capsize"] is None


def test_eig_gives_matrices_critical_speeds_and_named_modes(riderless):
    code, out, _ = riderless("eig", "Benchmark", "--speeds", "0:10:0.5", "--json")
    assert code == 0
    data = json.loads(out)
    assert set(data) >= {"bike", "M", "C1", "K0", "K2", "critical_speeds", "rows"}
    assert np.array_equal(data["C1"], canonical_matrices(catalogue.load_bicycle("Benchmark")).C1)
    assert set(data["critical_speeds"]) >= {"weave", "capsize", "double_root"}
    assert [row["v"] for row in data["rows"]] == [i / 2 for i in range(21)]
    for row in data["rows"]:
        found = np.sort_complex([complex(*s) for s in row["eigenvalues"]])
        truth = np.sort_complex(np.linalg.eigvals(system_matrix(catalogue.load_bicycle("Benchmark"), row["v"])))
        np.testing.assert_allclose(found, truth, atol=1e-10)
        assert (row["weave"] is None) == (row["v"] < 0.684)
    five = data["rows"][10]
    # Meijaard et al. (2007), Table 2, v = 5 m/s
    assert five["weave"] == pytest.approx([-0.77534188219585, 4.46486771378823], abs=1e-12)


def test_design_writes_gains_that_run_reads(riderless, tmp_path):
    from riderless.hil.design.schedule import GainSchedule

    path = tmp_path / "gains.toml"
    code, out, _ = riderless(
        "design", "Silver", "--method", "lqr", "--speeds", "3:6:1", "--rate", "200", "-o", path, "--json"
    )
    assert code == 0
    data = json.loads(out)
    assert [row["v"] for row in data["rows"]] == [3, 4, 5, 6]
    schedule = GainSchedule.from_toml(path)
    assert np.array_equal([row["K"] for row in data["rows"]], schedule.K)
    for row in data["rows"]:
        assert all(re < 0 for re, _ in row["closed_loop"])


def test_info_and_export_of_a_run(riderless, run_folder, tmp_path):
    code, out, _ = riderless("info", run_folder, "--json")
    assert code == 0
    data = json.loads(out)
    assert data["complete"]
    assert data["stop"]["reason"] == "success"
    assert data["counters"]["samples_lost"] == 0
    code, out, _ = riderless("export", run_folder, "--to", "csv", "-o", tmp_path / "ticks.csv", "--json")
    assert code == 0
    lines = (tmp_path / "ticks.csv").read_text().splitlines()
    assert len(lines) == json.loads(out)["rows"] + 1 == data["ticks"] + 1
    assert lines[0].startswith("k,t_host")


def test_analyze_a_run_of_ours(riderless, run_folder, tmp_path):
    code, out, _ = riderless("analyze", run_folder, "--json", "-o", tmp_path / "report")
    assert code == 0
    data = json.loads(out)
    window = data["windows"][0]
    keys = "source t_start t_end v_mean v_start v_end re im re_std im_std predicted_re predicted_im r2 status"
    assert set(keys.split()) <= set(window)
    assert abs(window["z_re"]) < 3
    assert abs(window["z_im"]) < 3
    assert all(set(r) >= {"t_start", "t_end", "reason"} for r in data["rejected"])
    assert "<svg" in (tmp_path / "report" / "report.html").read_text()


def test_analyze_a_log_in_the_form_of_run_52(riderless, tmp_path):
    """Silver at 5 m/s, free from a push on, as Kooijman, Schwab and Meijaard (2008) recorded it: in volts."""
    reference = json.loads((REFERENCE / "linear_reference.json").read_text())["bicycles"]["Silver"]["eigenvalues"]["5"]
    response, _ = recording(np.full(1200, 5.0), noise=0.002)
    turned = response.v * response.t / kooijman.COASTING_WHEEL_RADIUS
    columns = {
        "t_s": response.t,
        "lean_rate_V": 2.5 + 0.02 * np.degrees(response.phi_dot),
        "speedometer_V": 0.15 * np.sin(0.5 * kooijman.CROSSINGS_PER_TURN * turned),
    }
    path = write_csv(tmp_path / "coasting.csv", columns)
    code, out, _ = riderless("analyze", path, "--window", "0.5:3.5", "--json")
    assert code == 0
    (window,) = json.loads(out)["windows"]
    assert [window["re"], window["im"]] == pytest.approx(max(reference, key=lambda s: s[1]), abs=0.03)


BAD_BIKE = """
name = "bad"
source = "made up"
[parameters]
w = -1.0
"""


@pytest.fixture
def litter(tmp_path):
    """A folder with everything that can be wrong with a file."""
    (tmp_path / "bad.toml").write_text(BAD_BIKE)
    (tmp_path / "torn.toml").write_text("name = [")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "truncated").mkdir()
    (tmp_path / "truncated" / "run.mcap").write_bytes(b"\x89MCAP0\r\n\x01\x02")
    (tmp_path / "void").mkdir()
    return tmp_path


BAD_INPUTS = {  # what a person may do wrong, and what the sentence must name
    "unknown bike": (lambda tmp: ["eig", "Silverr"], "Silver"),
    "unphysical bike": (lambda tmp: ["eig", tmp / "bad.toml"], "w"),
    "malformed toml": (lambda tmp: ["eig", tmp / "torn.toml"], "torn.toml"),
    "missing file": (lambda tmp: ["eig", tmp / "none.toml"], "none.toml"),
    "speeds reversed": (lambda tmp: ["eig", "Silver", "--speeds", "8:2:1"], "backwards"),
    "speeds of no number": (lambda tmp: ["eig", "Silver", "--speeds", "fast"], "A:B:STEP"),
    "speed step": (lambda tmp: ["eig", "Silver", "--speeds", "1:2:0"], "step"),
    "unknown method": (lambda tmp: ["design", "Silver", "--method", "magic"], "lqr"),
    "method option": (lambda tmp: ["design", "Silver", "--set", "colour=3"], "colour"),
    "uncontrollable": (lambda tmp: ["design", "Benchmark", "--speeds", "0.025,0.03"], "m/s"),
    "unwritable": (lambda tmp: ["design", "Silver", "--speeds", "5", "-o", tmp / "no" / "g.toml"], "g.toml"),
    "no port": (lambda tmp: ["run", "--port", tmp / "tty"], "port"),
    "no bicycle": (lambda tmp: ["run"], "--emulated"),
    "torn gains": (lambda tmp: ["run", "--emulated", "--controller", tmp / "torn.toml"], "torn.toml"),
    "torn rig": (lambda tmp: ["run", tmp / "torn.toml"], "torn.toml"),
    "empty log": (lambda tmp: ["analyze", tmp / "empty.csv"], "empty"),
    "wrong columns": (lambda tmp: ["analyze", tmp / "other.csv"], "column"),
    "truncated log": (lambda tmp: ["analyze", tmp / "truncated"], "run.mcap"),
    "folder of nothing": (lambda tmp: ["analyze", tmp / "void"], "void"),
    "no such log": (lambda tmp: ["info", tmp / "nowhere"], "nowhere"),
    "no such export": (lambda tmp: ["export", tmp / "void"], "run.mcap"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_one_sentence_and_code_two(riderless, litter, case):
    arguments, named = BAD_INPUTS[case]
    code, out, err = riderless(*arguments(litter))
    assert code == 2, err
    assert "Traceback" not in err + out
    lines = [line for line in err.splitlines() if line.startswith("riderless: ")]
    assert len(lines) == 1, err
    assert named in lines[0]
    assert len(lines[0]) > 30


def test_the_installed_script_ends_with_code_two_and_no_traceback():
    script = os.path.join(os.path.dirname(sys.executable), "riderless")
    done = subprocess.run([script, "eig", "Pegasus"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("riderless: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_plain_text(riderless, command):
    """Colons around a letter are not pictures: `:B:` once came out as one."""
    _, out, _ = riderless(command, "--help")
    assert all(ord(c) < 0x2600 for c in out)


def test_a_command_collects_garbage_seldom_and_leaves_its_caller_as_it_was(monkeypatch):
    before, within = gc.get_threshold(), []
    monkeypatch.setattr(cli, "_command_line", lambda: lambda: within.append(gc.get_threshold()[0]))
    cli.main()
    assert within == [50_000]
    assert gc.get_threshold() == before
