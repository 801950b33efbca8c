"""The zero-order hold against three other routes, and the order of the Runge-Kutta step."""

import json

import numpy as np
import pytest
from scipy.signal import cont2discrete

from riderless.models.errors import InputError
from riderless.models.linear.zero_order_hold import zoh
from tests.paths import REFERENCE


def test_zoh_agrees_with_the_reference():
    speeds = json.loads((REFERENCE / "control_reference.json").read_text())["bicycles"]["Benchmark"]
    for row in speeds.values():
        for dt, discrete in row["discrete"].items():
            Ad, Bd = zoh(row["A"], np.reshape(row["b"], (4, 1)), float(dt))
            np.testing.assert_allclose(Ad, discrete["Ad"], rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(Bd[:, 0], discrete["Bd"], rtol=1e-12, atol=1e-15)


def test_zoh_agrees_with_scipy_and_python_control():
    import control

    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(5, 5)), rng.normal(size=(5, 2))
    Ad, Bd = zoh(A, B, 0.03)
    ours = np.hstack([Ad, Bd])
    system = control.c2d(control.ss(A, B, np.eye(5), np.zeros((5, 2))), 0.03, "zoh")
    np.testing.assert_allclose(ours, np.hstack([system.A, system.B]), rtol=0, atol=1e-12)
    reference = cont2discrete((A, B, np.eye(5), np.zeros((5, 2))), 0.03)
    np.testing.assert_allclose(ours, np.hstack(reference[:2]), rtol=0, atol=1e-12)


def test_zoh_of_a_double_integrator_by_hand():
    Ad, Bd = zoh([[0, 1], [0, 0]], [[0], [1]], 0.2)  # integers are welcome
    np.testing.assert_allclose(Ad, [[1.0, 0.2], [0.0, 1.0]], rtol=0, atol=1e-16)
    np.testing.assert_allclose(Bd, [[0.02], [0.2]], rtol=0, atol=1e-16)


@pytest.mark.parametrize("dt", [0.0, -0.005, np.nan, np.inf])
def test_zoh_refuses_a_period_that_is_none(dt):
    with pytest.raises(InputError, match="positive number of seconds"):
        zoh(np.eye(2), np.ones((2, 1)), dt)


@pytest.mark.parametrize("B", [np.ones(2), np.ones((3, 1))])
def test_zoh_refuses_matrices_that_do_not_fit(B):
    with pytest.raises(InputError, match=r"A \(n, n\) and B \(n, m\)"):
        zoh(np.eye(2), B, 0.01)
