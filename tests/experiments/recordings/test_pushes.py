"""Pushes and the equations of motion: a motion that is over before the band-passed push is not blamed on its units."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.emulation.hand import hand_kick
from riderless.experiments.recordings.quality.kinematic_relations import band_pass_kernel, robust_factor, without_pushes
from riderless.experiments.recordings.quality.unit_checks import check_units
from riderless.experiments.recordings.runs import recorded_run
from riderless.hil.design.methods import design
from riderless.hil.logs.log import read_run
from riderless.hil.rig.file import read_rig
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models import catalogue
from riderless.models.plant.plant import Scenario
from tests.paths import ROOT

DEGREES, KMH = 180.0 / np.pi, 3.6
MISTAKES = [
    ("phi_dot", DEGREES, "phi_dot_meas is in degrees/s, not in radians/s"),
    ("phi_dot", -1.0, "the sign of phi_dot_meas is reversed"),
    ("phi", DEGREES, "phi_est is in degrees, not in radians"),
    ("delta", 1.0 / DEGREES, "delta_meas is in radians, not in degrees"),
    ("v", KMH, "v_meas is in km/h, not in m/s"),
    ("psi_dot", -1.0, "the sign of psi_dot_meas is reversed"),
]


@pytest.fixture(scope="module", params=[(0.06, 0.12), (0.1, 0.25)], ids=["short", "of persons"])
def stiff(request, tmp_path_factory):
    """Silver under an angle drive and its LQR, pushed three times by hand, for times of these lengths [s]."""
    bicycle = catalogue.load_bicycle("Silver")
    rig = replace(read_rig(ROOT / "docs/rigs/angle-drive.toml"), bicycle=bicycle)
    gains = design(bicycle, "lqr", (5.5, 6.0, 6.5), rig.timing, drive=rig.drive)
    rng = np.random.default_rng(1)
    kicks = tuple(
        hand_kick(bicycle, 0.6 + 3.2 * i, (-1) ** i, rng, lean_rate=0.25, lengths=request.param) for i in range(3)
    )
    folder = tmp_path_factory.mktemp("stiff") / "run"
    scenario = Scenario(speed=((0.0, 6.0),), kicks=kicks, release_after=0.5, seed=1)
    run_lockstep(folder, rig, gains, scenario, 10.7)
    return recorded_run(read_run(folder))


def test_nothing_is_said_against_a_bicycle_that_a_stiff_drive_damps_at_once(stiff):
    """Its derivative of lean rate was "0.11 times" what steer makes of it: several columns may have a wrong unit."""
    assert check_units(stiff) == []


@pytest.mark.parametrize(("quantity", "factor", "cause"), MISTAKES)
def test_its_mistakes_are_told_with_their_cause(stiff, quantity, factor, cause):
    (finding,) = check_units(stiff.put(quantity, stiff.signal(quantity) * factor))
    assert finding.clear
    assert finding.sentence.endswith(f"most likely {cause}")


def test_a_push_is_taken_out_and_what_it_hid_remains():
    """A push of 0.1 s into a motion that is over 0.3 s later, by convolution of the two with the band-pass."""
    dt, rng = 0.01, np.random.default_rng(2)
    t = np.arange(0.0, 30.0, dt)
    push, answer = np.zeros(len(t)), np.zeros(len(t))
    for i, begin in enumerate((5.0, 12.0, 21.0)):
        since = t - begin
        push += (-1) ** i * np.where((since > 0) & (since < 0.1), np.sin(np.pi * np.clip(since, 0, 0.1) / 0.1), 0.0)
        answer -= (-1) ** i * np.where(since > 0.03, np.exp(-8.0 * (since - 0.03)) * np.cos(6.0 * since), 0.0)
    kernel = band_pass_kernel(dt, 0)
    expected = np.convolve(answer + 1e-3 * rng.normal(size=len(t)), kernel, "same")
    measured = 0.7 * expected + np.convolve(2.0 * push, kernel, "same")
    rows = (t > 2.0) & (t < 28.0)
    seen = robust_factor(measured[rows], expected[rows])[0]
    assert abs(seen - 0.7) > 0.4
    y, x = without_pushes(measured, expected, rows, dt)
    factor, correlation = robust_factor(y[rows], x[rows])
    assert factor == pytest.approx(0.7, rel=0.25), "a wrong unit is told from 1.8 on"
    assert correlation > 0.97
    alone = 0.7 * expected + np.convolve(1e-3 * rng.normal(size=len(t)), kernel, "same")
    for kept, of in zip(without_pushes(alone, expected, rows, dt), (alone, expected), strict=True):
        assert np.std(kept - of) < 0.02 * np.std(of), "nobody pushed"
