"""Frozen and like-for-like predictions against published eigenvalues and independent simulations."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.analysis.identification.initial_state import estimate_initial_state
from riderless.experiments.datatypes import Fit, Segment
from riderless.experiments.theories import fixed, lean_feedback, open_loop
from riderless.experiments.theory.free_response import free_response
from riderless.experiments.theory.modes import kicked_mode, kicked_modes
from riderless.models import catalogue
from riderless.models.coordinates import PHI_DOT
from riderless.models.errors import InputError
from tests.experiments.simulated import DT, by_acceleration, coast, quadratic, recording, sampled_lean_feedback
from tests.paths import REFERENCE

# Meijaard et al. (2007), Table 2, as printed: v [m/s], Re and Im of weave [1/s]
TABLE_2 = [
    (4, 0.413_253_315_211_25, 3.079_108_186_032_06),
    (5, -0.775_341_882_195_85, 4.464_867_713_788_23),
    (6, -1.526_444_865_841_42, 5.876_730_605_987_09),
    (8, -2.693_486_835_810_97, 8.460_379_713_969_31),
]


@pytest.mark.parametrize(("v", "re", "im"), TABLE_2)
def test_frozen_is_table_2_of_meijaard_2007(v, re, im):
    response, window = recording(np.full(500, float(v)), bicycle="Benchmark")
    prediction = predict(Segment(response, window), estimate(response.t, response.phi_dot))
    assert prediction.mode == "weave"
    assert prediction.frozen.real == pytest.approx(re, abs=1e-10)
    assert prediction.frozen.imag == pytest.approx(im, abs=1e-10)


@pytest.mark.parametrize("v", [4.6, 5.0, 5.5, 6.0])
def test_frozen_is_the_linear_reference(v):
    rows = json.loads((REFERENCE / "linear_reference.json").read_text())["bicycles"]["Silver"]
    weave = max((complex(*s) for s in rows["eigenvalues"][f"{v:g}"]), key=lambda s: s.imag)
    assert kicked_mode(open_loop(catalogue.load_bicycle("Silver")).dynamics(), v) == pytest.approx(weave, rel=1e-10)


@pytest.mark.parametrize("v", [4.6, 5.0, 6.0])
@pytest.mark.parametrize("x0", [(0, 0, 0.6, 0), (0.02, -0.01, 0.3, -0.8), (0, 0, -0.5, 2.0)])
def test_without_noise_at_fixed_speed_like_is_what_the_estimator_gives(v, x0):
    response, window = recording(np.full(500, v), x0)
    fit = estimate(response.t, response.phi_dot)
    prediction = predict(Segment(response, window), fit)
    assert prediction.like.real == pytest.approx(fit.re, abs=2e-4)
    assert prediction.like.imag == pytest.approx(fit.im, abs=2e-4)


def test_like_for_like_cancels_the_bias_of_coasting():
    # Silver as in run 52 of Kooijman et al. (2008): from 5.4 m/s, slowing by 0.23 m/s^2
    response, window = recording(5.4 - 0.23 * DT * np.arange(520), (0.0, 0.0, 0.6, -0.5))
    fit = estimate(response.t, response.phi_dot)
    prediction = predict(Segment(response, window), fit)
    measured = complex(fit.re, fit.im)
    assert abs(measured - prediction.like) < 2e-3
    assert abs(measured - prediction.frozen) > 0.1


def test_the_unit_of_the_gyro_does_not_matter():
    response, window = recording(5.4 - 0.23 * DT * np.arange(400), noise=0.01)
    volts = replace(response, phi_dot=2.5 + 1.146 * response.phi_dot, phi_dot_unit="V")
    one = predict(Segment(response, window), estimate(response.t, response.phi_dot))
    other = predict(Segment(volts, window), estimate(volts.t, volts.phi_dot))
    assert other.like == pytest.approx(one.like, abs=1e-4)
    assert other.difference_std == pytest.approx(one.difference_std, rel=0.02)


def test_the_free_response_is_that_of_an_independent_integration():
    dynamics = open_loop(catalogue.load_bicycle("Silver")).dynamics()
    v = 6.0 - 0.3 * DT * np.arange(600)
    x0 = np.array([0.03, -0.02, 0.4, 1.0])
    expected = coast(quadratic(dynamics.matrix), v, DT, x0, by_acceleration(catalogue.load_bicycle("Silver")))
    np.testing.assert_allclose(free_response(dynamics, v, DT) @ x0, expected, atol=1e-5)


def test_a_sampled_loop_is_mapped_by_the_logarithm():
    # Two routes: with ever shorter samples the sampled loop becomes the continuous one.
    bicycle = catalogue.load_bicycle("DelftSbW2024")
    continuous = kicked_mode(lean_feedback(bicycle, 2.0, 6.5).dynamics(), 4.0)
    errors = [abs(kicked_mode(sampled_lean_feedback(bicycle, dt=dt), 4.0) - continuous) for dt in (1e-3, 1e-4)]
    assert errors[1] < 0.15 * errors[0]
    assert errors[1] < 0.02


def test_a_sampled_loop_recorded_slower_by_a_whole_factor():
    bicycle = catalogue.load_bicycle("DelftSbW2024")
    dynamics = sampled_lean_feedback(bicycle)
    v = np.full(301, 3.0)
    fast = free_response(dynamics, v, DT)
    np.testing.assert_allclose(free_response(dynamics, v[::3], 3 * DT), fast[::3], atol=1e-12)
    with pytest.raises(InputError, match="whole multiple of the loop's 5 ms, found 7 ms"):
        free_response(dynamics, v, 0.007)


def test_steer_into_the_lean_adds_the_published_torque():
    bicycle = catalogue.load_bicycle("DelftSbW2024")
    below, above = lean_feedback(bicycle, 2.0, 6.5).dynamics(), open_loop(bicycle).dynamics()
    added = below.matrix(4.0) - above.matrix(4.0)
    assert np.count_nonzero(added) == 2  # lean rate drives both accelerations, nothing else
    torque = 2.0 * (6.5 - 4.0)  # N m per rad/s
    # B at any speed: last column of linear_reference.json for DelftSbW2024
    assert added[2:, PHI_DOT] == pytest.approx(torque * np.array([-0.4544987608015547, 9.301876057894415]))
    np.testing.assert_array_equal(below.matrix(7.0), above.matrix(7.0))


def test_both_oscillations_of_the_delft_bicycle_are_followed():
    dynamics = lean_feedback(catalogue.load_bicycle("DelftSbW2024"), 2.0, 6.5).dynamics()
    speeds = np.linspace(1.0, 5.0, 41)
    followed = kicked_modes(dynamics, speeds)
    assert followed.shape == (41, 2)
    for column in followed.T:
        present = column[np.isfinite(column)]
        assert np.all(np.abs(np.diff(present)) < 1.5)
        assert np.all(np.diff(np.flatnonzero(np.isfinite(column))) == 1)  # no gaps
    poles = np.linalg.eigvals(dynamics.matrix(5.0))
    assert np.min(np.abs(poles[:, None] - followed[-1]), axis=0)[np.isfinite(followed[-1])] < 1e-9


def test_steer_angle_is_used_where_it_was_measured():
    bicycle = catalogue.load_bicycle("Silver")
    v = np.full(240, 5.0)
    x0 = np.array([0.02, 0.05, 0.4, -0.6])
    states = free_response(open_loop(bicycle).dynamics(), v, DT) @ x0
    response, window = recording(v, x0, noise=0.02)
    noisy = 0.001 * np.random.default_rng(5).standard_normal(len(v))
    with_steer = replace(response, delta=states[:, 1] + 0.01 + noisy)
    alone, both = (
        estimate_initial_state(Segment(r, window), open_loop(bicycle).dynamics()) for r in (response, with_steer)
    )
    assert np.linalg.norm(both.x - x0) < 0.5 * np.linalg.norm(alone.x - x0)


def test_what_was_published_of_each_kind():
    response, _ = recording(np.full(50, 5.0), kind="kooijman")
    assert replace(response, bicycle=None).own_theory.dynamics().matrix(5.0) == pytest.approx(
        open_loop(catalogue.load_bicycle("Silver")).dynamics().matrix(5.0)
    )
    delft = replace(response, kind="delft-sbw", bicycle=None).own_theory.dynamics()
    assert delft.name == "steer into the lean, 2 (6.5 - v)"
    own = sampled_lean_feedback(catalogue.load_bicycle("Silver"))
    assert replace(response, theory=fixed(response.bicycle, own)).own_theory.dynamics().matrix is own.matrix
    with pytest.raises(InputError, match="wanted a bicycle"):
        _ = replace(response, kind="riderless", bicycle=None).own_theory


def test_an_over_damped_model_says_so():
    # The benchmark below its double-root speed of 0.684 m/s has four real eigenvalues (Table 2).
    response, window = recording(np.full(200, 0.5), bicycle="Benchmark")
    wave = 0.5 * np.cos(5.0 * response.t)
    response = replace(response, phi_dot=wave)
    fit = Fit("single_mode", 0.0, 5.0, 1e-4 * np.eye(2), 1.0, 0.01, True, "")
    prediction = predict(Segment(response, window), fit)
    assert prediction.mode == "real"
    assert prediction.frozen.imag == 0.0
    assert "over-damped at 0.50 m/s" in prediction.status
    assert np.isnan(kicked_mode(open_loop(catalogue.load_bicycle("Benchmark")).dynamics(), 0.5))
