"""Runs of an earlier version are read and analysed as that version did, and named where they should be replayed.

The three logs in `old_runs` were written on 22 November 2026 by commit 70af800 (0.1.0), the last one before the run
header was typed; the numbers here are what that version's `info` and `analyze` printed for them, and what its
`played_torque` and `theory_of` returned. Their node spoke version 1 of its protocol.

lockstep_lqr     Silver at 5.5 m/s under lqr, two kicks, in simulated time
played_torque    Benchmark at 5 m/s under poles, a sweep of 0.5 N m, in simulated time
several_ports    Benchmark at 5 m/s under lqr, docs/rigs/vectornav-vesc.toml emulated on three serial ports
"""

import json
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from typer.testing import CliRunner

from riderless.experiments.cli import app, main
from riderless.experiments.recordings.runs import played_torque
from riderless.experiments.theory import run_theory
from riderless.experiments.theory.run_theory import theory_of
from riderless.hil.logs.log import RUN_FILE, read_run

OLD_RUNS = Path(__file__).parent / "old_runs"
COMMIT = "70af800dd4328716818934b73b3f66bdf358b8df"
EXPECTED = {  # bicycle, controller, label, runner, rows, ends of its schedule [m/s]
    "lockstep_lqr": ("Silver", "lqr", "Silver lqr 5.5 m/s", "lockstep", 950, (5.0, 6.0)),
    "played_torque": ("Benchmark", "poles", "Benchmark poles 5.0 m/s", "lockstep", 700, (4.5, 5.5)),
    "several_ports": ("Benchmark", "lqr", "several_ports", "realtime", 442, (4.5, 5.5)),
}
WEAVE = {  # eigenvalue of the whole sampled loop at 5 m/s, 1/s
    "lockstep_lqr": -5.37521039 + 5.77424228j,
    "played_torque": -2.30860557 + 3.84067439j,
    "several_ports": -3.37760733 + 5.28827848j,
}
PRINTED = 5e-9  # half the last digit of those


@pytest.fixture(scope="module", params=EXPECTED)
def old(request):
    return read_run(OLD_RUNS / request.param)


def test_header_and_rows_read_as_before(old):
    bicycle, controller, label, runner, rows, (slowest, fastest) = EXPECTED[old.folder.name]
    header = old.header
    assert (header.bicycle.name, header.controller, header.label, header.runner) == (bicycle, controller, label, runner)
    assert header.schema == 1
    assert header.commit == COMMIT
    assert header.rig.bicycle == header.bicycle
    assert (header.schedule.v[0], header.schedule.v[-1]) == (slowest, fastest)
    assert old.complete
    assert old.stop.cause == "the planned duration was reached"
    assert len(old.ticks) == old.stop.rows == rows
    assert [m.text for m in old.markers] == ["CHECK", "ARMED", "RUNNING", "RAMPDOWN", "DISARMED"]


def test_the_rig_is_that_of_the_run():
    rig = read_run(OLD_RUNS / "several_ports").header.rig
    assert [(port.device, port.carries) for port in rig.ports] == [
        ("vectornav", ("imu",)),
        ("vesc", ("drive", "steer")),
        ("node", ("wheel",)),
    ]
    assert (rig.name, rig.rate, rig.command_delay, rig.watchdog) == ("VectorNav and VESC", 200.0, 0.002, 0.05)
    assert rig.calibrated().gyro_lsb == 9.5367431640625e-07, "what the sensor said of itself"
    played = read_run(OLD_RUNS / "played_torque").header
    assert played.rig.std == {"drive_gain": 0.05}
    assert played.condition["name"] == "Benchmark poles 5.0 m/s run 1"
    assert (played.excitation.kind, played.excitation.amplitude, played.excitation.f_high) == ("sweep", 0.5, 4.0)


def test_the_header_is_kept_as_it_was_written(old):
    with (old.folder / RUN_FILE).open("rb") as file:
        (written,) = (m.metadata["json"] for m in make_reader(file).iter_metadata() if m.name == "header")
    assert json.dumps(old.header.to_json()) == written


def test_its_replay_names_the_commit_that_made_it(old, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["riderless", "replay", str(old.folder)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    *_, sentence = capsys.readouterr().err.splitlines()  # behind the progress
    assert "found one made with another version of the node's protocol: replay it with riderless 0.1.0" in sentence
    assert sentence.endswith(f", commit {COMMIT}")


def test_theory_and_the_torque_played_are_as_before(old):
    dynamics = theory_of(old.header, old.header.bicycle, old.ticks).dynamics()
    assert dynamics.name == f"whole sampled loop, {old.header.controller}"
    s = np.log(np.linalg.eigvals(dynamics.matrix(5.0)).astype(complex)) / dynamics.dt
    (weave,) = s[(s.imag > 2.0) & (s.imag < 20.0)]
    expected = WEAVE[old.folder.name]
    assert abs(weave.real - expected.real) < PRINTED
    assert abs(weave.imag - expected.imag) < PRINTED
    torque = played_torque(old, old.ticks[old.ticks["valid"] == 1])
    if old.folder.name == "played_torque":
        assert np.count_nonzero(torque) == 159
        assert torque.sum() == pytest.approx(15.365191227868571, rel=1e-14)
    else:
        assert not torque.any()


def test_analysis_finds_the_same_window_and_eigenvalue(monkeypatch):
    monkeypatch.setattr(run_theory, "MOUNTING_STD", {})  # in those days no sensor could be pitched
    done = CliRunner().invoke(app, ["analyze", str(OLD_RUNS / "lockstep_lqr"), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (window,) = found["windows"]
    assert (window["t_start"], window["t_end"]) == (1.825, 2.825)
    expected = {
        "re": -4.186565976284533,
        "im": 6.310717675570058,
        "re_std": 0.30387062917046964,
        "im_std": 1.0021960847125277,
        "like_re": -4.167014682527734,
        "like_im": 6.351834745711299,
        "r2": 0.9984433892665382,
    }
    assert {name: window[name] for name in expected} == pytest.approx(expected, rel=1e-6)
    assert [(part["t_start"], part["t_end"]) for part in found["rejected"]] == [
        (0.0, 1.585),
        (3.94, 4.03),
        (4.0, 4.745),
    ]
    (verdict,) = found["verdicts"]
    # the verdict of the day counted noise that also moved the start in full: a tenth may differ
    assert (verdict["dof"], verdict["chi2"]) == (2, pytest.approx(5.682360723167588, rel=0.1))
    monkeypatch.undo()
    allowed = json.loads(CliRunner().invoke(app, ["analyze", str(OLD_RUNS / "lockstep_lqr"), "--json"]).stdout)
    assert allowed["windows"] == found["windows"]
    assert allowed["verdicts"][0]["chi2"] < verdict["chi2"]  # what a pitch of 0.3 deg may explain
