"""Causes stay within what a machine can be, and no search for them takes an analysis away."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.identification.output_error import AveragedWindow
from riderless.experiments.analysis.verdict import goodness_of_fit
from riderless.experiments.analysis.verdict.candidate import CandidateCause, impossible, nearest_possible
from riderless.experiments.analysis.verdict.causes import rank_causes
from riderless.experiments.analysis.verdict.conditions import CampaignFit, ConditionMeans
from riderless.experiments.analysis.verdict.wording import what_would_explain
from riderless.experiments.datatypes import Segment
from riderless.experiments.theories import lean_feedback, open_loop
from riderless.experiments.theory.free_response import simulate_free_response
from riderless.hil.runners import simulated_run
from riderless.models import catalogue
from riderless.models.errors import InputError
from tests.experiments.analysis.verdict.test_goodness_of_fit import lockstep
from tests.experiments.simulated import recording

BENCHMARK = catalogue.load_bicycle("Benchmark")
SILVER = catalogue.load_bicycle("Silver")


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("steer_damping", -0.97, "friction takes energy"),
        ("steer_inertia", -0.001, "no inertia is negative"),
        ("more_delay", -0.031, "before it is given"),
        ("drive_gain", -1.0, "the way it is told"),
        ("speed_scale", 3.0, "wrong unit"),
        ("IFxx", 0.13, "can be"),  # below half of IFyy = 0.28 kg m^2
        ("IHxz", -0.05, "can be"),  # IHxx IHzz - IHxz^2 below 0
        ("w", 5.0, "plausible are 0.27 to 2.3 m"),
    ],
)
def test_what_no_machine_can_be_is_impossible(name, value, reason):
    theory = open_loop(BENCHMARK)
    assert reason in impossible(theory, name, value)
    nearest = nearest_possible(theory, name, value)
    assert not impossible(theory, name, nearest)
    nominal = theory.nominal(name)
    assert (nearest - nominal) * (value - nominal) >= 0.0
    assert impossible(theory, name, nearest + 0.02 * (value - nominal))


def test_a_drive_may_be_early_by_the_delay_that_is_known():
    theory = lean_feedback(SILVER, 2.0, 6.5)
    assert impossible(theory, "more_delay", -0.004)
    assert not impossible(type(theory)(theory.name, SILVER, theory.build, known_delay=0.005), "more_delay", -0.004)


def damped(steer_damping, seed=0):
    """Segments of Silver with damping (or, which cannot be, driving) of its steer, seen by a theory that has none."""
    theory = open_loop(SILVER).move({"steer_damping": steer_damping})
    segments = []
    for k, v in enumerate((4.6, 5.2, 5.8)):
        moved = simulate_free_response(theory, v, duration=2.0)
        noisy = moved.phi_dot + 0.003 * np.random.default_rng([seed, k]).standard_normal(len(moved.t))
        response, window = recording(moved.v, bicycle="Silver", source=f"run-{v}")
        segments.append(AveragedWindow.of(Segment(replace(response, phi_dot=noisy, delta=moved.delta), window)))
    return segments


def test_friction_that_drives_is_outside_what_is_possible():
    ranked = {cause.name: cause for cause in rank_causes(damped(-0.05))}
    cause = ranked["steer_damping"]
    assert cause.best < -0.03
    assert cause.moved == pytest.approx(0.0, abs=1e-6)
    assert cause.chi2_explained == pytest.approx(0.0, abs=1e-3)
    assert "friction takes energy" in cause.outside
    theory = open_loop(SILVER)
    assert not any(impossible(theory, one.name, one.moved) for one in ranked.values())


def test_friction_that_is_there_is_found():
    cause = next(c for c in rank_causes(damped(0.05)) if c.name == "steer_damping")
    assert cause.moved == pytest.approx(0.05, rel=0.2)
    assert cause.outside == ""


def test_what_cannot_be_is_said_to_be_outside():
    drive = CandidateCause("drive_gain", 1.0, 0.9, -2.0, False, 100.0, 12.0)
    outside = CandidateCause(
        "steer_damping", 0.0, 0.0, 0.0, False, 0.0, float("nan"), -0.97, "friction takes energy", 150.0, "N m s/rad"
    )
    said = what_would_explain([drive, outside], 200.0, 8)
    assert said.startswith("; with drive gain at 0.9 instead of 1")
    assert "steer damping would have to be -0.97 N m s/rad, outside what is possible (friction takes energy)" in said
    assert "no single quantity would; steer damping" in what_would_explain([outside], 200.0, 8)


def test_a_cause_that_leaves_the_data_unexplained_says_so():
    cause = CandidateCause("fork_inertia", 1.0, 1.4, 8.0, False, 1000.0, 222.0)
    assert "which still leaves the data unexplained (p = " in what_would_explain([cause], 2000.0, 12)
    well = CandidateCause("fork_inertia", 1.0, 1.4, 8.0, False, 1000.0, 11.0)
    assert "unexplained" not in what_would_explain([well], 2000.0, 12)


MEANS = ConditionMeans("Benchmark lqr 5.0 m/s", 5.0, 3, 0.1 + 0.1j, 0.01 + 0.01j)


@pytest.mark.parametrize("error", [InputError("no such bicycle"), np.linalg.LinAlgError("singular"), IndexError("7")])
def test_nothing_in_the_verdict_takes_the_analysis_away(monkeypatch, error):
    def fails(*_):
        raise error

    monkeypatch.setattr(goodness_of_fit, "find_causes", fails)
    monkeypatch.setattr(goodness_of_fit, "fit_campaign", lambda group: CampaignFit((MEANS, MEANS), 0j, 100.0, 1e-9))
    found = goodness_of_fit.bicycle_verdict("Benchmark", [])
    assert not found.explained
    assert f"the search for causes could not be made: {error}" in found.sentence
    monkeypatch.setattr(goodness_of_fit, "fit_campaign", fails)
    found = goodness_of_fit.bicycle_verdict("Benchmark", [])
    assert found.dof == 0
    assert f"the joint test could not be made: {error}" in found.untold


def test_a_lighter_fork_is_searched_for_though_its_wheel_cannot_be(tmp_path, monkeypatch):
    """IFyy fits best above twice IFxx, which no wheel can have: `analyze` ended there with exit code 2."""
    original = simulated_run.emulated_plant

    def plant(rig, scenario, emulation):
        return original(replace(rig, bicycle=replace(rig.bicycle, IHzz=0.5 * rig.bicycle.IHzz)), scenario, emulation)

    monkeypatch.setattr(simulated_run, "emulated_plant", plant)
    analysis = lockstep(tmp_path, speeds=("3.8", "5.6"))
    verdict = analysis.verdicts[0]
    assert not verdict.explained
    assert verdict.untold == ""
    assert verdict.causes
    theory = analysis.responses[0].theory
    linear = [cause for cause in verdict.causes if cause.name in theory.causes]
    assert linear
    assert not any(impossible(theory, cause.name, cause.moved) for cause in linear)
