"""Translations there and back, and against what is printed in each convention."""

import json

import numpy as np
import pytest

from riderless.models import catalogue, conventions
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA
from riderless.models.nonlinear.equations import accelerations
from riderless.models.nonlinear.parameters import pack_bicycle
from tests.models.nonlinear.test_equations import accelerate, random_states
from tests.paths import REFERENCE


@pytest.fixture(scope="module")
def table():
    """Basu-Mandal et al. (2007), Table 1: coordinates, first and second derivatives."""
    rows = json.loads((REFERENCE / "nonlinear_benchmark.json").read_text())["rows"]
    assert tuple(row[0] for row in rows) == conventions.BASU_MANDAL_COORDINATES
    return np.array([row[1:] for row in rows]).T


def test_second_derivatives_of_basu_mandal_table_1(table):
    bicycle = catalogue.load_bicycle("Benchmark")
    coordinates, rates, expected = table
    q, u, _ = conventions.moore_from_basu_mandal(bicycle.lam, bicycle.rR, coordinates, rates, np.zeros(9))
    u_dot = np.empty(8)
    accelerations(pack_bicycle(bicycle), q, u, np.zeros(3), u_dot)
    again, rates_again, found = conventions.basu_mandal_from_moore(bicycle.lam, bicycle.rR, q, u, u_dot)
    np.testing.assert_allclose(again, coordinates, rtol=0, atol=1e-13)
    np.testing.assert_allclose(rates_again, rates, rtol=0, atol=1e-12)
    assert (np.abs(found - expected) <= 1e-11 * np.maximum(1.0, np.abs(expected))).all()


def motions(n=20):
    bicycle = catalogue.load_bicycle("Benchmark")
    states = list(random_states(bicycle, n, seed=8))
    q, u = (np.array(each) for each in zip(*states, strict=True))
    return bicycle, q, u, np.array([accelerate(bicycle, *state) for state in states])


def test_basu_mandal_motion_there_and_back():
    bicycle, *moore = motions()
    there = conventions.basu_mandal_from_moore(bicycle.lam, bicycle.rR, *moore)
    back = conventions.moore_from_basu_mandal(bicycle.lam, bicycle.rR, *there)
    for found, expected in zip(back, moore, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


def test_meijaard_motion_there_and_back():
    bicycle, *moore = motions()
    there = conventions.meijaard_from_moore_motion(bicycle.lam, *moore)
    pitch = conventions.MEIJAARD_COORDINATES.index("theta_B")
    np.testing.assert_array_equal(there[0][:, pitch], moore[0][:, Q_THETA] - bicycle.lam)
    np.testing.assert_array_equal(there[0][:, conventions.MEIJAARD_COORDINATES.index("phi")], moore[0][:, Q_PHI])
    np.testing.assert_array_equal(there[0][:, conventions.MEIJAARD_COORDINATES.index("delta")], moore[0][:, Q_DELTA])
    back = conventions.moore_from_meijaard_motion(bicycle.lam, *there)
    for found, expected in zip(back, moore, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_translating_does_not_touch_what_was_given():
    bicycle, *moore = motions(3)
    copies = [each.copy() for each in moore]
    conventions.meijaard_from_moore_motion(bicycle.lam, *moore)
    conventions.basu_mandal_from_moore(bicycle.lam, bicycle.rR, *moore)
    for found, expected in zip(moore, copies, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_basu_mandal_derivatives_are_derivatives():
    """Along a parabola in time, rates and accelerations are those of the translated coordinates."""
    bicycle, q, u, u_dot = motions(5)

    def after(t):
        return conventions.basu_mandal_from_moore(
            bicycle.lam, bicycle.rR, q + t * u + 0.5 * t * t * u_dot, u + t * u_dot, u_dot
        )

    h = 1e-5
    before, now, later = after(-h), after(0.0), after(h)
    for n in (0, 1):
        slope = (later[n] - before[n]) / (2.0 * h)
        np.testing.assert_allclose(slope, now[n + 1], rtol=0, atol=1e-6 * max(1.0, np.abs(now[n + 1]).max()))
