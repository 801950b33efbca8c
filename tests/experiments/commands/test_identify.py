"""`riderless identify` as a newcomer calls it."""

import json
import sys

import numpy as np
import pytest

from riderless.experiments import cli
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.recordings.foreign_log import in_their_units, signals, write_csv
from tests.experiments.recordings.test_foreign_mapping import EXAMPLE


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    """One run of a bicycle whose drive makes nine tenths of what it is told."""
    condition = next(c for c in treadmill_conditions(7) if c.label == "Benchmark lqr 3.8 m/s")
    folder = tmp_path_factory.mktemp("weak") / "run"
    emulation = Emulation(drive=SteerDrive(gain=0.9))
    run_lockstep(
        folder, condition.rig, condition.schedule, condition.scenario, condition.duration, "weak", None, emulation
    )
    return folder


def called(monkeypatch, capsys, *words):
    """Exit code, output and errors of the command."""
    monkeypatch.setattr(sys, "argv", ["riderless", "identify", *map(str, words)])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    return code, *capsys.readouterr()


def test_a_weak_drive_is_measured(weak, monkeypatch, capsys):
    code, out, _ = called(monkeypatch, capsys, weak, "--free", "drive_gain", "--json")
    assert code == 0
    said = json.loads(out)
    gain = said["quantities"]["drive_gain"]
    assert said["ok"]
    assert said["windows"] == 3
    assert gain["value"] == pytest.approx(0.9, abs=4 * gain["std"])
    assert gain["std"] < 0.01
    assert said["cost"] < 0.2 * said["cost_before"]


def test_the_table_says_what_is_confounded(weak, monkeypatch, capsys):
    _, out, _ = called(monkeypatch, capsys, weak, "--free", "steer_stiffness,c", "--prior", "none")
    assert "Identified from 3 windows, Benchmark" in out
    assert "these data hardly tell c from steer_stiffness: correlation +0.98" in out  # at one speed, trail is a spring


def test_what_was_found_wrong_in_the_recordings_is_said(tmp_path, monkeypatch, capsys):
    theirs = {name: np.delete(values, slice(700, 705)) for name, values in in_their_units(signals()).items()}
    log = write_csv(tmp_path / "log.csv", theirs)
    (tmp_path / "log.toml").write_text(EXAMPLE)
    words = (log, "--mapping", tmp_path / "log.toml", "--free", "steer_damping")
    remark = "column time of log.csv: 5 rows are missing from 6.990 to 7.050 s, not free"
    _, out, _ = called(monkeypatch, capsys, *words)
    assert f"log.csv: {remark}" in out
    _, out, _ = called(monkeypatch, capsys, *words, "--json")
    assert {"source": "log.csv", "remark": remark} in json.loads(out)["remarks"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "wanted quantities to identify, as --free drive_gain"),
        (("--free", "trail"), "found 'trail'"),
        (("--free", "c,drive_gain,c"), "wanted each quantity once, found c 2 times: name it once"),
        (("--free", "IByy"), "these windows tell nothing of IByy (their motion does not depend on it): leave IByy out"),
        (("--free", "c", "--prior", "mine"), "wanted a prior among own, usual, none, found 'mine'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(weak, monkeypatch, capsys, words, sentence):
    code, _, err = called(monkeypatch, capsys, weak, *words)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
