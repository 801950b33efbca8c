"""The stated covariance of measured minus like for like is that of many draws of a loop's own noise."""

from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.analysis.comparison.noise_covariance import driven_covariance
from riderless.experiments.analysis.comparison.prediction import predict
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.datatypes import Response, Segment
from riderless.experiments.theories import open_loop
from riderless.experiments.theory.kalman import RowNoise
from riderless.experiments.theory.process_noise import impulse_responses
from riderless.experiments.theory.run_theory import theory_with
from riderless.hil.design.methods import design
from riderless.hil.logs.header import new_header
from riderless.hil.rig.rig import Rig
from riderless.models import catalogue
from riderless.models.coordinates import DELTA
from tests.experiments.simulated import recording

STDS = np.array([0.003, 0.003, 0.0005, 0.03])  # gyro, gyro, steer, accelerometer
BEFORE, ROWS = 400, 360  # samples of noise before the window, and within it


def pull_covariance(pairs):
    """Mean of d d' in units of each draw's stated covariance, (2, 2); the identity where that is right."""
    whitened = [np.linalg.solve(np.linalg.cholesky(p.difference_covariance), d) for d, p in pairs]
    return np.mean([np.outer(one, one) for one in whitened], axis=0)


def compared(response):
    window = make_window(response, BEFORE, BEFORE + ROWS)
    fit = estimate(response.t[window.rows], response.phi_dot[window.rows])
    found = predict(Segment(response, window), fit)
    return np.array([fit.re - found.like.real, fit.im - found.like.imag]), found


@pytest.mark.parametrize(
    ("method", "v", "noise"),
    [
        ("lqr", 4.0, 0.3),
        ("poles", 5.0, 3.0),
        pytest.param("lqr", 4.0, 3.0, marks=pytest.mark.slow),
        pytest.param("poles", 5.0, 0.3, marks=pytest.mark.slow),
    ],
)
def test_noise_of_a_loop_is_followed_exactly(method, v, noise):
    bicycle = catalogue.load_bicycle("Benchmark")
    rig = Rig(bicycle)
    options = {"weights": {"T_delta": 0.03}} if method == "lqr" else {"zeta": 0.2}
    schedule = design(bicycle, method, (v - 0.25, v, v + 0.25), rig.timing, **options)
    header = new_header(rig, schedule, rig.calibrated(), runner="lockstep", simulated=True)
    theory = replace(theory_with(header, bicycle, noise * STDS, 0.0), linear=True)  # as the draws are
    dynamics = theory.dynamics()
    F, N, lean, steer = dynamics.matrix(v), dynamics.noise(v), dynamics.reading["phi_dot"], dynamics.reading["delta"]
    start = dynamics.embed(v) @ [0.01, -0.02, 0.4, 0.3]
    rng, n, pairs = np.random.default_rng(5), BEFORE + ROWS, []
    for _ in range(120):
        x, phi_dot, delta = np.zeros(len(F)), np.empty(n), np.empty(n)
        draws = rng.standard_normal((n, N.shape[1]))
        for k in range(n):
            x = x + start if k == BEFORE else x
            phi_dot[k], delta[k] = dynamics.output @ x + lean @ draws[k], x[DELTA] + steer @ draws[k]
            x = F @ x + N @ draws[k]
        t = rig.dt * np.arange(n)
        pairs.append(compared(Response("draw", "riderless", t, phi_dot, np.full(n, v), delta=delta, theory=theory)))
    # the mean of 120 squares scatters by 0.13
    np.testing.assert_allclose(pull_covariance(pairs), np.eye(2), atol=0.4)
    assert np.trace(pull_covariance(pairs)) == pytest.approx(2.0, abs=0.45)


def test_noise_of_the_readings_of_a_free_bicycle_cancels_in_part():
    pairs = []
    theory = replace(open_loop(catalogue.load_bicycle("Silver")), linear=True)
    clean, _ = recording(np.full(BEFORE + ROWS, 5.0), (0.0, 0.0, 0.02, -0.01))
    rng = np.random.default_rng(6)
    for _ in range(120):
        noisy = clean.phi_dot + 0.0003 * rng.standard_normal(len(clean.t))
        pairs.append(compared(Response("draw", "riderless", clean.t, noisy, clean.v, theory=theory)))
    assert np.trace(pull_covariance(pairs)) == pytest.approx(2.0, abs=0.45)


def test_noise_that_drives_a_loop_moves_estimates_as_each_impulse_response_says():
    """Covariance by one pass back in time, and by the sum over the responses to each noise and each early state."""
    rng = np.random.default_rng(1)
    m, e, c, n, p = 6, 3, 2, 120, 2
    F = rng.standard_normal((m, m))
    F *= 0.95 / np.abs(np.linalg.eigvals(F)).max()
    loop = RowNoise(F, rng.standard_normal((c, m)), rng.standard_normal((m, e)), rng.standard_normal((c, e)))
    before = rng.standard_normal((m, 4))
    one, other = rng.standard_normal((2, p, n))
    responses, left = impulse_responses(loop, before, n)
    changes = [one @ left[:, 0] + other @ left[:, 1]]
    for j in range(n):
        later = responses[: n - j]
        changes.append(one[:, j:] @ later[:, 0] + other[:, j:] @ later[:, 1])
    expected = sum(change @ change.T for change in changes)
    assert driven_covariance(loop, before, (one, other)) == pytest.approx(expected, rel=1e-9)
