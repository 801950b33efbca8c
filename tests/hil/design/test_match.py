"""Match: another bicycle's eigenvalues or response, by matrices of continuous time and pencils, and the residual."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigvals

from riderless.hil.design.match import HIGHEST_MATCHED, LOWEST_MATCHED, POINTS, Match, match_residual, steer_zeros
from riderless.hil.design.methods import design
from riderless.hil.design.sampled_plant import LoopTiming, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix

SILVER, BENCHMARK, RIGID, PISTA = (load_bicycle(name) for name in ("Silver", "Benchmark", "Rigid", "Pista"))
AT_ONCE = LoopTiming(rate=1000.0, delay=0, drive_lag=0.0)
STABLE = {"Benchmark": (4.6, 5.5), "Rigid": (5.2, 5.5)}  # speeds at which these are stable by themselves


def off_eigenvalues(found, wanted):
    return max(np.abs(found - each).min() for each in wanted)


@pytest.mark.parametrize("timing", [LoopTiming(), AT_ONCE, LoopTiming(rate=100.0, delay=0.4)])
@pytest.mark.parametrize(("own", "like"), [(SILVER, BENCHMARK), (PISTA, RIGID), (RIGID, BENCHMARK)])
def test_the_closed_loop_has_the_other_bicycles_eigenvalues(own, like, timing):
    speeds = STABLE[like.name]
    made = design(own, "match", speeds, timing, like=like.name)
    for v, found in zip(speeds, made.closed_loop, strict=True):
        assert off_eigenvalues(found, np.linalg.eigvals(system_matrix(like, v))) < 1e-6


def continuous_response(bicycle, v, K):
    """From steer torque to lean rate, without sampling."""
    s = 2j * np.pi * np.geomspace(LOWEST_MATCHED, HIGHEST_MATCHED, POINTS)
    b = input_matrix(bicycle)[:, 1]
    A = system_matrix(bicycle, v) - np.outer(b, K)
    return np.array([np.linalg.solve(each * np.eye(4) - A, b)[2] for each in s])


def cost(own, like, v, K):
    """What is left of the logarithm, both parts alike, apart from a factor: what is minimised."""
    ratio = np.log(continuous_response(own, v, K) / continuous_response(like, v, np.zeros(4)))
    return float(np.sum((ratio.real - ratio.real.mean()) ** 2 + ratio.imag**2))


@pytest.mark.parametrize(("own", "like", "v"), [(SILVER, BENCHMARK, 5.0), (PISTA, RIGID, 5.2)])
def test_the_response_is_nearer_than_by_eigenvalues_and_no_gain_near_it_is_better(own, like, v):
    by = {
        what: design(own, "match", [v], AT_ONCE, like=like.name, what=what).K[0, :4]
        for what in ("eigenvalues", "response")
    }
    best = cost(own, like, v, by["response"])
    assert best < 0.8 * cost(own, like, v, by["eigenvalues"])
    rng = np.random.default_rng(4)
    slowest = np.linalg.eigvals(system_matrix(like, v)).real.max()

    def growth(K):
        return np.linalg.eigvals(system_matrix(own, v) - np.outer(input_matrix(own)[:, 1], K)).real.max()

    assert growth(by["response"]) < slowest + 0.02, "nothing is slower than in the other bicycle"
    near = [by["response"] * (1.0 + 0.02 * rng.normal(size=4)) for _ in range(200)]
    others = [cost(own, like, v, K) for K in near if growth(K) <= slowest]
    assert len(others) > 20
    assert min(others) > 0.8 * best, "the edge of the bound is met, but for a tenth of what is left"


def test_the_residual_is_that_of_the_matrices_of_continuous_time():
    v = 5.0
    made = design(SILVER, "match", [v], AT_ONCE, like="Benchmark", what="response")
    left = match_residual(SILVER, BENCHMARK, v, sampled_model(SILVER, v, AT_ONCE), made.K[0])
    ratio = np.log(continuous_response(SILVER, v, made.K[0, :4]) / continuous_response(BENCHMARK, v, np.zeros(4)))
    assert_allclose(left.decibel, 20.0 / np.log(10.0) * ratio.real.std(), rtol=0.03)
    assert_allclose(left.factor, np.exp(ratio.real.mean()), rtol=0.01)
    assert_allclose(left.degree, np.degrees(np.sqrt(np.mean(ratio.imag**2))), rtol=0.05, atol=0.2)
    assert left.decibel > 0.1, "the zeros differ, so something is left"
    assert f"{left.decibel:.2g} dB" in made.notes[0]


@pytest.mark.parametrize("bicycle", [SILVER, BENCHMARK, RIGID])
def test_the_zeros_are_those_of_the_pencil_and_no_gain_moves_them(bicycle):
    v, rng = 4.3, np.random.default_rng(5)
    for K in (np.zeros(4), rng.normal(size=4)):
        b = input_matrix(bicycle)[:, 1]
        A = system_matrix(bicycle, v) - np.outer(b, K)
        pencil = np.block([[A, b[:, None]], [np.array([[1.0, 0.0, 0.0, 0.0, 0.0]])]])
        found = eigvals(pencil, np.diag([1.0, 1.0, 1.0, 1.0, 0.0]))
        found = found[np.isfinite(found) & (np.abs(found) < 1e6)]
        assert_allclose(np.sort_complex(found), np.sort_complex(steer_zeros(bicycle, v)), rtol=1e-6)


@pytest.mark.parametrize("what", ["eigenvalues", "response"])
def test_a_bicycle_is_like_itself_without_gains(what):
    model = sampled_model(BENCHMARK, 5.0, LoopTiming())
    K, note = Match("Benchmark", what).gains(BENCHMARK, 5.0, model)
    assert np.abs(K).max() < 1e-5
    assert "response 1 times as strong" in note
    left = match_residual(BENCHMARK, BENCHMARK, 5.0, model, K)
    assert max(left.eigenvalue, abs(left.factor - 1.0), left.decibel, left.degree) < 1e-5


def test_its_file_is_read_back(tmp_path):
    made = design(SILVER, "match", [5.0], like="Benchmark")
    path = tmp_path / "gains.toml"
    path.write_text(made.to_toml(), encoding="utf-8")
    again = GainSchedule.from_toml(path)
    assert again.options == {"like": "Benchmark", "what": "eigenvalues"}
    assert again.notes == made.notes


def test_the_other_bicycle_may_be_given_itself():
    by_name, by_itself = (design(SILVER, "match", [5.0], like=like) for like in ("Benchmark", BENCHMARK))
    assert by_itself.K.tolist() == by_name.K.tolist()
    assert GainSchedule.from_toml(by_itself.to_toml()).options["like"] == BENCHMARK.as_dict()


@pytest.mark.parametrize(
    ("options", "speeds", "sentence"),
    [
        ({}, [5.0], "a match wants the bicycle"),
        ({"like": "Benchmark", "what": "soul"}, [5.0], "one of eigenvalues, response, found 'soul'"),
        ({"like": "Penny"}, [5.0], "Penny"),
        ({"like": "Benchmark"}, [3.0], "does not balance Silver at 3 m/s, where the closed loop has the eigenvalue"),
    ],
)
def test_what_cannot_be_matched_is_refused(options, speeds, sentence):
    with pytest.raises(InputError, match=sentence):
        design(SILVER, "match", speeds, **options)
