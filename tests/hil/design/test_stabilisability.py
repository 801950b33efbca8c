"""Where steer torque loses a mode: printed values, and the controllability matrix as second route."""

import numpy as np
import pytest
from scipy.optimize import brentq

from riderless.hil.design.stabilisability import require_stabilisable, stabilisable, uncontrollable_speeds
from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix


def determinant(bicycle, v):
    """Of the controllability matrix at speeds ``v``, its columns scaled so that it is of order one."""
    A, b = system_matrix(bicycle, v), input_matrix(bicycle)[:, T_DELTA]
    columns = np.stack([np.linalg.matrix_power(A, i) @ b for i in range(4)], axis=-1)
    return np.linalg.det(columns / np.linalg.norm(columns, axis=-2, keepdims=True))


@pytest.mark.parametrize(
    ("name", "lower", "upper"),
    # shared/EXPERIMENTS.md, "Control facts"
    [("Benchmark", 0.025, 1.411), ("Silver", 0.042, 2.417), ("Balanceassistv1", 0.014, 2.432)],
)
def test_printed_speeds(name, lower, upper):
    slow, fast = uncontrollable_speeds(load_bicycle(name))
    assert slow.v == pytest.approx(lower, abs=0.0005)
    assert fast.v == pytest.approx(upper, abs=0.0005)
    assert not slow.stable
    assert fast.stable
    assert -3.95 <= fast.eigenvalue <= -3.05  # printed: -3.1 to -3.9 1/s


@pytest.mark.parametrize("name", bicycle_names())
def test_where_the_controllability_matrix_is_singular(name):
    bicycle = load_bicycle(name)
    found = uncontrollable_speeds(bicycle)
    grid = np.linspace(1e-4, 8.0, 8001)
    values = determinant(bicycle, grid)
    change = np.flatnonzero(np.diff(np.sign(values)))
    roots = [brentq(lambda v: determinant(bicycle, v), grid[i], grid[i + 1], xtol=1e-15) for i in change]
    np.testing.assert_allclose([mode.v for mode in found], roots, rtol=1e-8)


@pytest.mark.parametrize("name", bicycle_names())
def test_the_stuck_eigenvalue_is_one_and_is_out_of_reach(name):
    bicycle = load_bicycle(name)
    b = input_matrix(bicycle)[:, [T_DELTA]]
    for mode in uncontrollable_speeds(bicycle):
        A = system_matrix(bicycle, mode.v)
        hautus = np.hstack([A - mode.eigenvalue * np.eye(4), b])
        singular = np.linalg.svd(hautus, compute_uv=False)
        assert singular[-1] < 1e-12 * singular[0]


def test_stabilisable_is_not_controllable():
    bicycle = load_bicycle("Benchmark")
    slow, fast = uncontrollable_speeds(bicycle)
    assert not stabilisable(bicycle, slow.v)
    assert not stabilisable(bicycle, 0.025)
    assert stabilisable(bicycle, fast.v)
    assert stabilisable(bicycle, 0.0)
    assert stabilisable(bicycle, 0.1)


def test_refusal_names_bicycle_speed_and_mode():
    with pytest.raises(InputError, match=r"Silver at 0\.042 m/s.*0\.0420 m/s.*\+3\.709 1/s.*leave this speed out"):
        require_stabilisable(load_bicycle("Silver"), 0.042)
