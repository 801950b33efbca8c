"""Gusts are found from the windows, counted in the errors, and hide neither a wrong model nor still air."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import binom

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.comparison.compare import windows_by_bicycle
from riderless.experiments.analysis.comparison.innovation_filter import TORQUE_TIMES, Stretch
from riderless.experiments.analysis.comparison.process_noise import likeliest, noise_json, noise_sentence
from riderless.experiments.analysis.verdict.goodness_of_fit import why_not_in_wind
from riderless.experiments.datatypes import ProcessNoise
from riderless.experiments.reports.answer import answer_of
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.process_noise import impulse_responses, torque_rows
from riderless.hil.runners.emulation import Emulation
from riderless.models import catalogue
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.plant.environment import Surroundings
from riderless.models.plant.steer_drive import SteerDrive
from tests.experiments.analysis.verdict.test_goodness_of_fit import judged, lockstep
from tests.studies.verdict_calibration.judge import ask_verdict
from tests.studies.verdict_calibration.page import binomial_bounds
from tests.studies.verdict_calibration.simulate import campaign_responses
from tests.studies.verdict_calibration.strata import study_campaigns

SPEEDS = ("5.0", "3.0", "7.0")
WIND_HEIGHT = 0.8  # m, where the emulated gusts act


@pytest.fixture(scope="module")
def windy(tmp_path_factory):
    return lockstep(tmp_path_factory.mktemp("windy"), Emulation("linear", Surroundings(gusts=1.0)), SPEEDS)


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    return lockstep(tmp_path_factory.mktemp("still"), Emulation("linear"), SPEEDS)


def test_motion_under_torques_agrees_with_another_route():
    """Torques that fade from their first value, by a library's solver on the canonical equations."""
    bicycle, v, dt, time, n = catalogue.load_bicycle("Silver"), 5.0, 0.01, 0.5, 100
    A, B = system_matrix(bicycle, v), input_matrix(bicycle)
    noise = ProcessNoise(np.array([[4.0, 0.0], [0.0, 0.25]]), time)
    _, shown = impulse_responses(*torque_rows(open_loop(bicycle).dynamics(), noise, v, dt), n)
    for i, torques in enumerate(([2.0, 0.0], [0.0, 0.5])):
        column = int(np.argmax(np.abs(noise.root[i])))
        found = solve_ivp(
            lambda t, x, T=np.array(torques): A @ x + B @ T * np.exp(-t / time),
            (0.0, dt * n),
            np.zeros(4),
            t_eval=dt * np.arange(n),
            rtol=1e-9,
            atol=1e-12,
        )
        for row, state in enumerate((2, 1)):  # lean rate, steer
            size = np.abs(found.y[state]).max()
            # a torque held over each row of 10 ms is late by half of it
            assert np.abs(shown[:, row, column] * np.sign(noise.root[i, column]) - found.y[state]).max() < 0.03 * size


def test_gusts_are_found_and_counted(windy):
    """Before, 95 % intervals held half of the truths in such gusts."""
    (found,) = noise_json(windy.responses)
    # a force of 1 N over 1 s; quick motion tells variance over memory, and not the two apart
    assert 0.5 * WIND_HEIGHT < found["lean_torque_std"] / found["time"] ** 0.5 < 2.0 * WIND_HEIGHT
    z = np.array([(c.z_re, c.z_im) for c in windy.comparisons])
    assert len(z) >= 8
    least = binom.ppf(0.005, z.size, 0.95)
    assert np.sum(np.abs(z) < 1.96) >= least
    own = [(c.fit.interval(), c.prediction.like) for c in windy.comparisons]
    held = [low <= part <= high for ends, s in own for (low, high), part in zip(ends, (s.real, s.imag), strict=True)]
    assert sum(held) >= least
    assert judged(windy).p > 0.01


def test_the_answer_says_how_strong_the_wind_was(windy):
    answer = answer_of(windy.verdicts, windy.responses, windy.comparisons)
    (said,) = [one for one in answer.details if one.startswith("wind, belt or road: a side force of about ")]
    assert said.endswith("; all errors count it")
    assert windy.as_json()["process_noise"][0]["sentence"] == said


def test_a_torque_on_the_steer_alone_is_no_side_force():
    noise = ProcessNoise(np.diag([1e-8, 0.04**2]), 0.25)
    said = noise_sentence(catalogue.load_bicycle("Silver"), noise)
    assert (
        said == "wind, belt or road: a torque of 0.04 N m rms on the steer of Silver, over 0.25 s; all errors count it"
    )


def test_still_air_stays_still(still):
    assert noise_json(still.responses) == []
    assert all(r.process_noise is None for r in still.responses)


@pytest.mark.parametrize(("torque", "believed"), [(2e-4, False), (0.05, True)])
def test_torques_that_move_no_eigenvalue_are_still_air(torque, believed):
    """Before, ten minutes at 1 kHz showed a torque of 8e-5 N m, and every window was compared again for it."""
    rng, r, felt = np.random.default_rng(7), 40, (2.0 / torque) ** 2  # twice the readings' noise, whatever its size
    unit = np.stack([felt * np.eye(r), 1e-3 * felt * np.eye(r), np.zeros((r, r))])
    size = np.sqrt(1.0 + torque**2 * felt)
    stretches = [
        Stretch(size * rng.standard_normal((r, 1)), np.stack([unit] * len(TORQUE_TIMES)), np.zeros((1, 1)))
        for _ in range(20)
    ]
    found = likeliest(stretches)
    assert (found is not None) == believed
    if found is not None:
        assert found.lean_torque == pytest.approx(torque, rel=0.2)


def test_a_weak_drive_in_gusts_does_not_excuse_itself_as_wind(tmp_path):
    found = judged(lockstep(tmp_path, Emulation("linear", Surroundings(gusts=1.0), SteerDrive(gain=0.9)), SPEEDS))
    assert found.p < 0.01
    assert found.causes[0].name == "drive_gain"
    assert found.causes[0].moved == pytest.approx(0.9, abs=0.04)


def test_a_drawn_bicycle_far_from_the_nominal_one_is_not_taken_for_wind():
    """Its weave is 28 % faster than theory's; to first order about that, wind of 0.75 N m explained it."""
    found = analyze_responses(campaign_responses(study_campaigns(380, 4000)[379]), estimator="single_mode")
    (group,) = windows_by_bicycle(found.comparisons).values()
    assert len(group) == 9
    assert max(noise.lean_torque if (noise := c.segment.response.process_noise) else 0.0 for c in group) < 0.01
    assert why_not_in_wind(group) == ""


@pytest.mark.slow
@pytest.mark.parametrize("stratum", ["gusts 1 N", "gusts 4 N"])
def test_true_campaigns_in_gusts_are_rejected_as_often_as_p_says(stratum):
    """Before, 4 of 12 fell below 0.05 at 1 N and 4 of 8 at 4 N, one at 4e-39."""
    plan = study_campaigns(12, 43, (stratum,), ("Rigid", "Pista", "Fisher", "Balanceassistv1"))
    p = np.array([one.p for one in map(ask_verdict, plan) if np.isfinite(one.p)])
    assert len(p) >= 10
    for level in (0.05, 0.01):
        assert np.sum(p < level) <= binomial_bounds(len(p), level)[1]
