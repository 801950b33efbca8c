"""`riderless simulate`: the same kind of run as the bicycle's, from either model, one or many."""

import json

import numpy as np
import pytest

from riderless.experiments.recordings.read import read_recording
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import State
from riderless.models import catalogue
from riderless.models.linear.whipple import system_matrix
from tests.experiments.commands.test_cli import call


@pytest.fixture
def riderless(capsys, monkeypatch):
    return lambda *arguments: call(capsys, monkeypatch, *arguments)


def free_rows(folder):
    """The rows of a run from the release on."""
    ticks = read_run(folder).ticks
    running = ticks[ticks["state"] == State.RUNNING]
    return running[running["t"] >= running["t"][0] + 0.6]


def lean_rates_of(bicycle, v, rows, x0_deg):
    """Lean rate of the linear bicycle at the times of rows, let go in x0 somewhat before the first."""
    from scipy.linalg import expm

    t = rows["t"] - rows["t"][0]
    A = system_matrix(catalogue.load_bicycle(bicycle), v)
    modes, vectors = np.linalg.eig(A)
    best = None
    for wait in np.arange(0.0, 0.21, 0.0025):
        start = np.linalg.solve(vectors, expm(A * wait) @ np.radians(x0_deg))
        y = (vectors @ (start[:, None] * np.exp(np.outer(modes, t)))).real[2]
        miss = np.std(rows["phi_dot_meas"] - y)
        best = miss if best is None else min(best, miss)
    return best


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_a_run_holds_the_free_motion_from_the_state_asked_for(riderless, tmp_path, model):
    out = tmp_path / "run"
    x0 = (-1.0, 0.5, 0.0, 3.0)
    text = ",".join(map(str, x0))
    code, printed, _ = riderless(
        "simulate", "Benchmark", "--model", model, "--speed", 5, "--x0", text, "--duration", 2, "-o", out, "--json"
    )
    assert code == 0
    assert json.loads(printed)["runs"] == [
        {"run": str(out), "reason": "success", "cause": "the planned duration was reached"}
    ]
    run = read_run(out)
    assert run.header.emulation["model"] == model
    assert run.header.controller == "off"
    rows = free_rows(out)
    assert np.ptp(rows["phi_dot_meas"]) > 0.05
    assert lean_rates_of("Benchmark", 5.0, rows, x0) < 0.006  # the gyro's noise is 0.003 rad/s
    assert read_recording(out).theory.name


def test_kicks_and_knocks_and_all_that_surrounds_are_recorded(riderless, tmp_path):
    out = tmp_path / "run"
    options = (
        "--speed 5.5 --duration 2 --controller lqr --knock 1.2,0.1 --kick 0.5,3 --wind 2 --gusts 1 --belt 30 "
        "--offset-mm 2 --training-wheels 30 --friction 0.05 --backlash 0.3 --seed 4"
    )
    code, _, _ = riderless("simulate", "Silver", *options.split(), "-o", out)
    assert code == 0
    header = read_run(out).header
    assert [push["t"] for push in header.scenario["kicks"]] == [0.5, 1.2]
    assert header.scenario["seed"] == 4
    around, drive = header.emulation["surroundings"], header.emulation["drive"]
    assert (around["wind"], around["gusts"], around["belt_width"], around["frame_offset"]) == (2.0, 1.0, 30.0, 0.002)
    assert around["training_wheels"] == pytest.approx(np.pi / 6)
    assert (drive["coulomb"], drive["backlash"]) == pytest.approx((0.05, np.radians(0.3)))
    assert np.abs(free_rows(out)["T_cmd"]).max() > 0.01


def test_on_the_floor_the_speed_falls(riderless, tmp_path):
    out = tmp_path / "run"
    options = "--speed 6 --floor --rolling 0.02 --drag-area 0.5 --controller lqr --duration 4"
    code, _, _ = riderless("simulate", "Benchmark", *options.split(), "-o", out)
    assert code == 0
    v = free_rows(out)["v_meas"]
    assert v[0] - v[-1] == pytest.approx(3.9 * 0.9 * (0.02 * 9.81 + 0.3 * 30 / 94), rel=0.2)


def test_one_seed_one_run(riderless, tmp_path):
    for name in "ab":
        riderless("simulate", "Benchmark", "--duration", 0.5, "--gusts", 2, "--kick", "0.1,2", "-o", tmp_path / name)
    a, b = ([p.read_bytes() for p in sorted((tmp_path / name).iterdir())] for name in "ab")
    assert a == b


def test_a_fall_is_a_fault_and_says_why(riderless, tmp_path):
    out = tmp_path / "run"
    code, printed, _ = riderless(
        "simulate", "Benchmark", "--belt", 0.3, "--x0", "2,0,0,0", "--duration", 8, "-o", out, "--json"
    )
    assert code == 1
    assert "a wheel left the belt" in json.loads(printed)["runs"][0]["cause"]
    assert "a wheel left the belt" in [m.text for m in read_run(out).markers]


def test_an_ensemble_makes_a_run_of_each_combination(riderless, tmp_path):
    options = "--speed 5,5.5 --seeds 2 --duration 0.3 --kick 0.1,2 --jobs 1 --json"
    code, printed, _ = riderless("simulate", "Benchmark,Silver", *options.split(), "-o", tmp_path / "many")
    assert code == 0
    folders = [run["run"] for run in json.loads(printed)["runs"]]
    assert len(set(folders)) == 8
    labels = [read_run(folder).header.label for folder in folders]
    assert labels[0] == "Benchmark off 5 m/s seed 1"
    assert labels[-1] == "Silver off 5.5 m/s seed 2"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Benchmark", "--x0", "1,2,3"), "--x0 wants 4 numbers"),
        (("Benchmark", "--x0", "80,0,0,0"), "start nearer upright"),
        (("Benchmark", "--kick", "1"), "--kick wants 2 numbers"),
        (("Benchmark", "--knock", "1,x"), "--knock wants 2 numbers"),
        (("Benchmark", "--model", "magic"), "there is linear, nonlinear"),
        (("Benchmark", "--duration", "-1"), "--duration must be above 0"),
        (("Benchmark", "--seeds", "0"), "is not in the range 1<=x<=10000"),
        (("Benchmark", "--seeds", "2", "--jobs", "0"), "jobs must be 1 or more"),
        (("Benchmark", "--floor", "--belt", "1"), "belongs to a treadmill"),
        (("Bencmark",), "Benchmark"),
        (("Benchmark", "--controller", "nothing.toml"), "nothing.toml"),
    ],
)
def test_nonsense_ends_in_one_sentence(riderless, tmp_path, arguments, words):
    code, _, err = riderless("simulate", *arguments, "-o", tmp_path / "run")
    assert code == 2
    assert words in err.splitlines()[-1]
