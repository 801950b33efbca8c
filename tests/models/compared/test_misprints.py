"""The misprints of docs/howto/check-your-equations.md: what is printed fails, what is right holds."""

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.constrained.examples.solar_array import solar_array
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA
from riderless.models.linear.mode_shapes import mode_shapes
from riderless.models.linear.modes import named_modes
from riderless.models.moore import moore_constants
from riderless.models.nonlinear.simulation import initial_state

BENCHMARK = load_bicycle("Benchmark")


def test_weave_at_two_metres_a_second():
    assert round(float(named_modes(BENCHMARK, [2.0]).weave[0, 0].real), 3) == 2.682


def test_pairs_at_rest_have_both_signs():
    values = np.sort(named_modes(BENCHMARK, [0.0]).all[0].real)
    assert values == pytest.approx([-5.531, -3.132, 3.132, 5.531], abs=5e-4)


@pytest.mark.parametrize(("roll", "steer"), [(0.0, 0.0), (0.3, 0.2), (-0.5, 0.6)])
def test_moores_height_of_the_front_contact(roll, steer):
    """Moore (2012), (14), with two signs other than printed."""
    q, _ = initial_state(BENCHMARK, roll, steer)
    m = moore_constants(BENCHMARK)
    s4, c4, s5, c5 = np.sin(q[Q_PHI]), np.cos(q[Q_PHI]), np.sin(q[Q_THETA]), np.cos(q[Q_THETA])
    s7, c7 = np.sin(q[Q_DELTA]), np.cos(q[Q_DELTA])
    across = s4 * s7 - s5 * c4 * c7
    size = np.hypot(c4 * c5, across)
    last = across * (m["d3"] + m["rf"] * across / size)
    rest = m["d2"] * c4 * c5 - m["d1"] * s5 * c4 + m["rf"] * (c4 * c5) ** 2 / size
    assert abs(rest - m["rr"] * c4 + last) < 1e-14
    assert abs(rest + m["rr"] * c4 - last) > 0.3


def test_steer_over_lean_of_the_weave_at_three_metres_a_second():
    weave = mode_shapes(BENCHMARK, 3.0)[0]
    assert weave.steer_over_lean == pytest.approx(1.357, abs=5e-4)
    assert np.degrees(weave.lean_lead) == pytest.approx(50.0, abs=0.5)


def test_matrix_of_squared_rates_is_antisymmetric():
    A, B, _ = solar_array().equations(np.array([0.4, -0.7]), np.zeros((2, 2)))
    np.testing.assert_allclose(A, A.T)
    np.testing.assert_allclose(B, -B.T)
    assert B[1, 0] / A[1, 0] == pytest.approx(-np.tan(0.4 + 0.7))
