"""A drive that reports another torque than it is told: theory goes by its report, and says so."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import REPORT_COLUMNS, expected_torque, response_of_run
from riderless.experiments.recordings.runs import run_of
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.steer_drive import SteerDrive

LEFT = 0.77


def ridden(tmp_path, gain):
    """Emulated runs of a drive that makes ``gain`` of what it is told and reports what it is told."""
    found, emulation = [], Emulation(drive=SteerDrive(gain=gain))
    for c in treadmill_conditions(4):
        if c.bicycle.name == "Benchmark" and c.method != "off" and any(f" {v} m/s" in c.label for v in ("3.8", "3.0")):
            folder = tmp_path / c.label.replace(" ", "-").replace("/", "-")
            run_lockstep(folder, c.rig, c.schedule, c.scenario, c.duration, c.label, None, emulation)
            found.append(run_of(folder))
    return found


def reporting(run, factor):
    """The run with a drive that reports what it makes."""
    ticks = np.array(run.ticks[:])
    ticks["T_meas"] *= factor
    return replace(run, ticks=ticks)


@pytest.fixture(scope="module")
def weak(tmp_path_factory):
    return ridden(tmp_path_factory.mktemp("weak"), LEFT)


def test_expected_torque_agrees_with_a_solver():
    rng = np.random.default_rng(1)
    command, dt, delay, lag = rng.standard_normal(40), 0.005, 0.0075, 0.006
    times = dt * np.arange(len(command))

    def told(t):
        i = int(np.floor((t - delay) / dt + 1e-9))
        return command[i] if 0 <= i < len(command) else 0.0

    solved = solve_ivp(
        lambda t, x: (told(t) - x) / lag, (0.0, times[-1]), [0.0], t_eval=times, max_step=2e-5, rtol=1e-6
    ).y[0]
    assert expected_torque(command, dt, delay, lag) == pytest.approx(solved, abs=5e-3)


def test_the_report_of_a_weak_drive_is_what_theory_goes_by(weak):
    """Before: rejected, whatever the log said of the torque."""
    told = [response_of_run(reporting(run, LEFT)) for run in weak]
    for response in told:
        assert response.theory.nominal("drive_gain") == pytest.approx(LEFT, abs=0.003)
        assert any("T_meas: the drive reports 0.7" in remark for remark in response.remarks)
    (verdict,) = analyze_responses(told).verdicts
    assert verdict.explained
    assert "with 0.77 of the torque told, as the drive reports" in verdict.sentence
    (silent,) = analyze_responses([response_of_run(run) for run in weak]).verdicts
    assert not silent.explained
    assert silent.causes[0].name == "drive_gain"
    assert silent.drive_gain == 1.0


def test_a_report_of_the_torque_told_changes_nothing(weak):
    for run in weak:
        response = response_of_run(run)
        assert response.theory.nominal("drive_gain") == 1.0
        assert not any("T_meas" in remark for remark in response.remarks)


def test_a_long_run_says_the_same(weak, monkeypatch):
    whole = response_of_run(reporting(weak[0], LEFT))
    stored = replace(weak[0], ticks=_ScaledRows(np.array(weak[0].ticks[:])))
    monkeypatch.setattr(run_response, "STRETCH_ROWS", len(weak[0].ticks) // 3)
    monkeypatch.setattr(run_response, "StoredRows", _ScaledRows)
    found = response_of_run(stored)
    assert found.theory.nominal("drive_gain") == pytest.approx(whole.theory.nominal("drive_gain"), abs=0.002)


class _ScaledRows:
    """Stored rows whose reports are scaled as they are read."""

    def __init__(self, rows):
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def stretches(self, columns, rows):
        assert set(REPORT_COLUMNS) <= set(columns)
        for i in range(0, len(self._rows), rows):
            scaled = self._rows[i : i + rows].copy()
            scaled["T_meas"] *= LEFT
            yield scaled
