"""Pole placement against an independent reference, at the poles asked for, and near the stuck speeds."""

import json

import numpy as np
import pytest

from riderless.hil.design.methods import LoopTiming, design
from riderless.hil.design.poles import PolePlacement, place_beside, place_gain, predictor
from riderless.hil.design.sampled_plant import sampled_model
from riderless.hil.design.stabilisability import uncontrollable_speeds
from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix
from tests.paths import REFERENCE


def distance(found, wanted):
    """Farthest any wanted pole is from the nearest one found [1/s]."""
    return max(np.min(np.abs(found - pole)) for pole in wanted)


def test_reference_gains():
    reference = json.loads((REFERENCE / "control_reference.json").read_text())["bicycles"]
    for name, speeds in reference.items():
        for v, wanted in speeds.items():
            A, b = system_matrix(load_bicycle(name), float(v)), input_matrix(load_bicycle(name))[:, T_DELTA]
            K = place_gain(A, b, [complex(*s) for s in wanted["poles"]])
            np.testing.assert_allclose(K, wanted["K_place"], rtol=1e-9)


@pytest.mark.parametrize(
    "loop", [LoopTiming(), LoopTiming(1000.0, 1, 0.001), LoopTiming(50.0, 0, 0.0), LoopTiming(200.0, 1, 0.0)]
)
@pytest.mark.parametrize("v", [0.5, 2.0, 5.0, 9.0])
def test_poles_asked_for_are_the_poles_of_the_whole_loop(loop, v):
    zeta, omega, real = 0.4, 4.0, (-4.0, -12.0)
    schedule = design(load_bicycle("Benchmark"), "poles", [v], loop, zeta=zeta, omega=omega, real=real)
    weave = omega * complex(-zeta, np.sqrt(1.0 - zeta**2))
    rest = ([-1.0 / loop.drive_lag] if loop.drive_lag else []) + ([-np.inf] if loop.delay else [])
    found = schedule.closed_loop[0]
    assert distance(found, [weave, weave.conjugate(), *real]) < 1e-6
    assert len(found) == 4 + len(rest)
    np.testing.assert_allclose(found[4:].real, rest, rtol=1e-6)


def test_repeated_poles():
    schedule = design(load_bicycle("Silver"), "poles", [4.0], raw=[-3, -3, "-2+3j", "-2-3j"])
    assert distance(schedule.closed_loop[0], [-3.0, complex(-2, 3), complex(-2, -3)]) < 1e-3  # a double root: sqrt(eps)


def test_prediction_moves_as_the_bicycle_alone():
    model = sampled_model(load_bicycle("Silver"), 3.0, LoopTiming())
    Ad, g, P = predictor(model)
    np.testing.assert_allclose(P @ model.F, Ad @ P, atol=1e-12)
    np.testing.assert_allclose(P @ model.G, g, atol=1e-15)


@pytest.mark.parametrize("name", bicycle_names())
def test_the_default_balances_every_bicycle(name):
    schedule = design(load_bicycle(name), "poles", np.arange(1.0, 10.5, 1.0))
    assert np.all(schedule.stable)
    for margin in schedule.margins:
        assert margin.gain[0] < 0.75
        assert margin.gain[1] > 2.0
        assert margin.delay > 0.03


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_the_default_is_modest_and_robust(name):
    schedule = design(load_bicycle(name), "poles", np.arange(2.0, 8.5, 1.0))
    assert np.max(np.abs(schedule.K)) < 40.0  # N m/rad: 0.7 N m for a degree
    for margin in schedule.margins:
        assert margin.gain[0] < 0.67
        assert margin.gain[1] > 10.0
        assert np.rad2deg(margin.phase) > 40.0
        assert margin.delay > 0.08


def test_the_default_leaves_the_weave_frequency_and_the_fast_real_modes():
    found = design(load_bicycle("Benchmark"), "poles", [5.0]).closed_loop[0]
    # Meijaard et al. 2007, Table 2, v = 5 m/s
    omega = abs(complex(-0.77534188219585, 4.46486771378823))
    weave = found[found.imag > 0.0][0]
    assert abs(weave) == pytest.approx(omega, rel=1e-7)
    assert -weave.real / abs(weave) == pytest.approx(0.5, rel=1e-7)
    assert distance(found, [-14.07838969279822, -1.0]) < 1e-6  # capsize, -0.32, is asked to decay at 1 1/s


def test_requests_as_functions_of_speed():
    schedule = design(load_bicycle("Benchmark"), "poles", [2.0, 6.0], zeta=lambda v: 0.1 * v, omega=lambda v: v + 1.0)
    for v, found in zip((2.0, 6.0), schedule.closed_loop, strict=True):
        weave = found[found.imag > 0.0][0]
        assert abs(weave) == pytest.approx(v + 1.0, rel=1e-7)
        assert -weave.real / abs(weave) == pytest.approx(0.1 * v, rel=1e-6)
    assert schedule.options["zeta"] == "a function of speed"
    assert "'real'" not in schedule.to_toml()


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Balanceassistv1"])
def test_the_stuck_pole_is_kept_in_place_of_the_nearest_real_one(name):
    stuck = uncontrollable_speeds(load_bicycle(name))[1]
    for v in (stuck.v, stuck.v + 1e-9, stuck.v - 1e-4, stuck.v + 0.05):
        schedule = design(load_bicycle(name), "poles", [v], zeta=0.5, omega=3.0, real=(-5.0, -12.0))
        own = np.linalg.eigvals(system_matrix(load_bicycle(name), v))
        kept = own[np.argmin(np.abs(own - stuck.eigenvalue))].real
        weave = 3.0 * complex(-0.5, np.sqrt(0.75))
        assert distance(schedule.closed_loop[0], [kept, -12.0, weave, weave.conjugate()]) < 1e-6
        assert np.min(np.abs(schedule.closed_loop[0] + 5.0)) > 0.5
        assert "cannot move" in schedule.notes[0]
        assert "asked for -5.00" in schedule.notes[0]


def test_gains_are_continuous_over_the_stuck_speed():
    law, bicycle = PolePlacement(zeta=0.5, omega=3.0, real=(-2.0, -8.0)), load_bicycle("Silver")
    K = np.array(
        [law.gains(bicycle, v, sampled_model(bicycle, v, LoopTiming()))[0] for v in np.arange(1.8, 3.05, 0.01)]
    )
    assert np.max(np.abs(np.diff(K, axis=0))) < 1.0  # -32 N m/rad at most; without care they grow without bound
    assert np.max(np.abs(K)) < 40.0


def test_without_a_real_pole_nothing_can_give_way():
    raw = ["-2+3j", "-2-3j", "-4+1j", "-4-1j"]
    with pytest.raises(InputError, match=r"cannot move the pole at -3\.71 1/s.*real pole that can give way"):
        design(load_bicycle("Silver"), "poles", [2.417], raw=raw)
    assert design(load_bicycle("Silver"), "poles", [4.0], raw=raw).stable[0]


def test_place_beside_does_not_need_the_kept_mode():
    """An input that cannot reach the mode at -3 at all."""
    A, b = np.diag([-3.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0])
    K = place_beside(A, b, [-1.0, -2.0], kept=-3.0)
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(A - np.outer(b, K)).real), [-3.0, -2.0, -1.0], atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        place_gain(A, b, [-1.0, -2.0, -4.0])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"zeta": 0.0}, "above 0 and at most 1"),
        ({"zeta": 1.2}, "above 0 and at most 1"),
        ({"omega": -3.0}, "above 0 rad/s"),
        ({"omega": 900.0}, "cannot be told apart at 200 Hz"),
        ({"real": (-1.0,)}, "wants 2 poles, found 1"),
        ({"real": (-1.0, 2.0)}, "negative real part"),
        ({"real": ("-1+2j", "-1-2j")}, "two real poles"),
        ({"raw": (-1, -2, -3, "-4+1j")}, "conjugate pairs"),
        ({"raw": "-1"}, "wants 4 poles"),
        ({"raw": (-1, -2, -3, float("nan"))}, "negative real part"),
        ({"real": 3.0}, "wants 2 poles"),
        ({"zeta": "much"}, "'zeta' wants a number"),
        ({"raw": (-1, -2, -3, -4), "omega": 3.0}, "found both"),
        ({"raw": (-1, -2, -3, -4), "zeta": 0.2}, "found both"),
        ({"raw": (-np.inf, -2, -3, -4)}, "poles must be finite, found -inf"),
    ],
)
def test_refuses(options, says):
    with pytest.raises(InputError, match=says):
        design(load_bicycle("Benchmark"), "poles", [5.0], **options)


def test_request_is_a_set_of_conjugates():
    for name in bicycle_names():
        for v in np.arange(0.2, 8.0, 0.2):
            poles = PolePlacement().request(load_bicycle(name), v)
            np.testing.assert_array_equal(np.sort_complex(poles), np.sort_complex(poles.conj()))
