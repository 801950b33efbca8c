"""The verdict of a campaign: accepts the truth, rejects what is wrong, and names the cause."""

from dataclasses import replace

import pytest
from scipy.stats import chi2

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.comparison.process_noise import noise_json
from riderless.experiments.analysis.verdict.candidate import indistinguishable
from riderless.experiments.analysis.verdict.goodness_of_fit import bicycle_verdict
from riderless.experiments.analysis.verdict.wording import p_text
from riderless.experiments.campaigns.protocols.treadmill import treadmill_conditions
from riderless.experiments.recordings.read import read_recording
from riderless.hil.runners import simulated_run
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.plant.steer_drive import SteerDrive


def lockstep(
    tmp_path, emulation=Emulation(), speeds=("3.8", "5.0", "7.0", "3.0", "7.6"), std=None, bicycle="Benchmark"
):
    """The emulated campaign's controlled runs of a bicycle, on a rig known as well as said."""
    made = []
    for c in treadmill_conditions(4):
        if c.bicycle.name == bicycle and c.method != "off" and any(f" {v} m/s" in c.label for v in speeds):
            folder = tmp_path / c.label.replace(" ", "-").replace("/", "-")
            rig = replace(c.rig, std=std or {})
            run_lockstep(folder, rig, c.schedule, c.scenario, c.duration, c.label, None, emulation)
            made.append(read_recording(folder))
    return analyze_responses(made)


def judged(analysis):
    return bicycle_verdict("Benchmark", analysis.comparisons)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return lockstep(tmp_path_factory.mktemp("true"), speeds=("3.8", "7.0"))


def test_the_truth_is_accepted(truth):
    found = judged(truth)
    assert found.explained
    assert found.dof == 4
    assert found.p == pytest.approx(chi2.sf(found.chi2, 4))
    assert found.sentence.startswith("the model of Benchmark explains ")
    assert found.causes == ()


def test_a_weak_drive_is_rejected_and_named(tmp_path):
    """And does not excuse itself as wind: what it is to second order is a fifth of a newton."""
    analysis = lockstep(tmp_path, Emulation(drive=SteerDrive(gain=0.9)), ("5.0", "3.0", "7.0"))
    assert all(one["lean_torque_std"] < 0.25 * 0.8 for one in noise_json(analysis.responses))  # N m, of 0.8 m
    found = judged(analysis)
    assert found.p < 1e-6
    best = found.causes[0]
    assert best.name == "drive_gain"
    assert best.moved == pytest.approx(0.9, abs=0.02)
    assert best.chi2_left < chi2.isf(0.001, found.dof)
    assert f"with drive gain at {best.moved:.4g} instead of 1" in found.sentence
    assert "coulomb_friction" not in [cause.name for cause in indistinguishable(found.causes)]


@pytest.mark.slow
def test_a_late_drive_is_rejected_and_named(tmp_path):
    found = judged(lockstep(tmp_path, Emulation(drive=SteerDrive(delay=0.020))))
    assert found.p < 1e-4
    assert found.causes[0].name == "more_delay"
    assert found.causes[0].moved == pytest.approx(0.020, abs=0.003)


@pytest.mark.slow
def test_a_heavier_fork_is_rejected_and_among_the_best(tmp_path, monkeypatch):
    original = simulated_run.emulated_plant

    def plant(rig, scenario, emulation):
        b = rig.bicycle
        heavy = {name: 1.1 * getattr(b, name) for name in ("IHxx", "IHxz", "IHyy", "IHzz")}
        return original(replace(rig, bicycle=replace(b, **heavy)), scenario, emulation)

    monkeypatch.setattr(simulated_run, "emulated_plant", plant)
    found = judged(lockstep(tmp_path))
    assert not found.explained
    fork = next(c for c in found.causes[:4] if c.name == "fork_inertia")
    assert fork.moved == pytest.approx(1.1, abs=0.03)
    assert fork.chi2_left < chi2.isf(0.001, found.dof)


@pytest.mark.parametrize(
    ("p", "wanted"),
    [(0.00996, "0.00996"), (0.0099999, "0.0099999"), (0.010004, "0.010004"), (0.011, "0.011"), (5e-60, "5e-60")],
)
def test_p_is_not_printed_as_its_own_threshold(p, wanted):
    """0.00996 was printed as 0.01, at which a model is not rejected."""
    assert p_text(p) == wanted
