"""LQR against an independent reference, its own optimality, and what it refuses."""

import json
from math import pi, radians

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from riderless.hil.design.lqr import LQR, Weights, dlqr_gain
from riderless.hil.design.methods import LoopTiming, design
from riderless.hil.design.sampled_plant import sampled_model
from riderless.hil.design.stabilisability import uncontrollable_speeds
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from tests.paths import REFERENCE

UNIT = Weights(1.0, 1.0, 1.0, 1.0, 1.0)  # Q = I, R = 1


@pytest.fixture(scope="module")
def reference():
    return json.loads((REFERENCE / "control_reference.json").read_text())["bicycles"]


def test_discrete_gains(reference):
    for name, speeds in reference.items():
        for v, wanted in speeds.items():
            for dt, discrete in wanted["discrete"].items():
                loop = LoopTiming(rate=1.0 / float(dt), delay=0, drive_lag=0.0)
                K, _ = LQR(UNIT).gains(load_bicycle(name), float(v), sampled_model(load_bicycle(name), float(v), loop))
                np.testing.assert_allclose(K[:4], discrete["K"], rtol=1e-9)
                np.testing.assert_array_equal(K[4:], 0.0)


@pytest.mark.parametrize("v", [1.0, 4.0, 8.0])
def test_no_nearby_gain_costs_less(v):
    """Second route: the cost z'Pz, by a Lyapunov equation, has its minimum at the gains."""
    model = sampled_model(load_bicycle("Silver"), v, LoopTiming())
    weights = Weights()
    Q = np.zeros((6, 6))
    Q[:4, :4] = weights.Q
    K = dlqr_gain(model.F, model.G, Q, weights.R)

    def cost(gains):
        closed = model.F - np.outer(model.G, gains)
        return np.trace(solve_discrete_lyapunov(closed.T, Q + weights.R * np.outer(gains, gains)))

    best = cost(K)
    for i in range(6):
        for factor in (0.98, 1.02):
            other = K.copy()
            other[i] *= factor
            assert cost(other) > best


def test_default_weights_are_brysons_rule():
    # issue 2 and shared/EXPERIMENTS.md: 2 deg, 5 deg, 2 pi deg/s, 100 pi deg/s, 0.5 N m
    degrees = {
        "phi_deg": 2.0,
        "delta_deg": 5.0,
        "phi_dot_deg": 2.0 * pi,
        "delta_dot_deg": 100.0 * pi,
        "T_delta": 0.5,
    }
    assert Weights.parse(degrees) == Weights()
    assert Weights().Q[0, 0] == pytest.approx(1.0 / radians(2.0) ** 2, rel=1e-15)
    assert Weights().R == 4.0


def test_weights_in_si_and_degrees_and_through_design():
    a = design(load_bicycle("Benchmark"), "lqr", [4.0], weights={"phi_deg": 3.0})
    b = design(load_bicycle("Benchmark"), "lqr", [4.0], weights=Weights(phi=radians(3.0)))
    np.testing.assert_array_equal(a.K, b.K)
    assert a.options["weights"]["phi"] == radians(3.0)
    assert np.any(a.K != design(load_bicycle("Benchmark"), "lqr", [4.0]).K)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"lean": 2.0}, "phi\\[_deg\\].*found 'lean'"),
        ({"T_delta_deg": 2.0}, "found 'T_delta_deg'"),
        ({"phi_deg": 0.0}, "above 0"),
        ({"phi": -1.0}, "above 0"),
        ({"phi": float("nan")}, "above 0"),
        ({"phi_deg": "wide"}, "found 'wide'"),
        ({"phi_deg": 2.0, "phi": 0.03}, "phi is given twice, as phi and phi_deg"),
        ({1: 2.0}, "found 1"),
    ],
)
def test_refuses_weights(given, says):
    with pytest.raises(InputError, match=says):
        Weights.parse(given)


def test_numbers_of_numpy_are_weights_and_true_is_none():
    a = design(load_bicycle("Benchmark"), "lqr", [4.0], weights=Weights(phi=np.float32(0.25), T_delta=np.int64(1)))
    b = design(load_bicycle("Benchmark"), "lqr", [4.0], weights=Weights(phi=0.25, T_delta=1.0))
    np.testing.assert_array_equal(a.K, b.K)
    assert a.options == b.options
    with pytest.raises(InputError, match=r"the weight T_delta must be a number above 0.*found True"):
        Weights(T_delta=True)


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Balanceassistv1"])
def test_upper_stuck_speed_works_and_leaves_the_stuck_mode(name):
    stuck = uncontrollable_speeds(load_bicycle(name))[1]
    schedule = design(load_bicycle(name), "lqr", [stuck.v])
    assert np.min(np.abs(schedule.closed_loop[0] - stuck.eigenvalue)) < 1e-6
    assert np.max(np.abs(schedule.K)) < 150.0


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Balanceassistv1"])
def test_lower_stuck_speed_is_refused(method, name):
    stuck = uncontrollable_speeds(load_bicycle(name))[0]
    with pytest.raises(InputError, match="no steer torque can balance"):
        design(load_bicycle(name), method, [stuck.v, 1.0])
