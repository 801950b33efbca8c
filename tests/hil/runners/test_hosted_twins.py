"""Simulated time with a twin in Python: its ride is that of the compiled twin."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.twins.vesc import VescTwin
from riderless.hil.logs.log import read_run
from riderless.hil.rig.file import read_rig
from riderless.hil.runners import emulation
from riderless.hil.runners.simulated_run import run_lockstep
from tests.hil.machine import gains, scenario
from tests.paths import DOCS


def ride(folder):
    rig = replace(read_rig(DOCS / "rigs/vectornav-vesc.toml"), latency_days=0.0)
    outcome = run_lockstep(folder, rig, gains(rig), scenario(), 3.0)
    return outcome, read_run(folder)


def host_the_vesc(monkeypatch):
    compiled = emulation.has_quick_twin
    monkeypatch.setattr(emulation, "has_quick_twin", lambda kind: kind != "vesc" and compiled(kind))


def test_a_drive_rides_as_its_compiled_twin_does(tmp_path, monkeypatch):
    _, compiled = ride(tmp_path / "compiled")
    host_the_vesc(monkeypatch)
    outcome, hosted = ride(tmp_path / "hosted")
    assert outcome.reason == "success"
    for name in ("phi_dot_meas", "delta_meas", "T_cmd", "T_meas"):
        expected = compiled.ticks[name]
        assert np.ptp(expected[np.isfinite(expected)]) > 0.01, f"{name} moves"
        np.testing.assert_allclose(hosted.ticks[name], expected, rtol=0.0, atol=1e-9, err_msg=name)


def test_a_twin_that_stops_is_named(tmp_path, monkeypatch):
    host_the_vesc(monkeypatch)
    monkeypatch.setattr(VescTwin, "instant", lambda twin, t, readings: 1 / 0 if t > 4.0 else b"")
    with pytest.raises(DeviceError, match="the twin of vesc stops: ZeroDivisionError"):
        ride(tmp_path / "stopped")
