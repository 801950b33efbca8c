"""Forces along the road against numbers of another program, which shares nothing with this one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.models.coordinates import DELTA, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.linear.road_forces import (
    acceleration,
    drag,
    effective_mass,
    rolling,
    slope,
    wheel_loads,
)
from riderless.models.parameters import Bicycle
from tests.models.road import front_brake, road_system_matrix
from tests.paths import REFERENCE

GIVEN = json.loads((REFERENCE / "road_forces.json").read_text())["bicycles"]
CASES = [(name, case) for name, given in GIVEN.items() for case in given["cases"]]


def bicycle_of(name):
    return Bicycle(name=name, **GIVEN[name]["parameters"])


def terms_of(bicycle, case):
    """Sum of the terms of a case's acceleration and loads."""
    loads, kind = case["loads"], case["case"]
    terms = acceleration(bicycle, case["v_dot"])
    if "front_force_N" in loads:
        terms += front_brake(bicycle, -loads["front_force_N"])
    if "drag_N" in loads:
        against = kind.removeprefix("drag_") if kind.startswith("drag_") else "heading"
        terms += drag(bicycle, loads["drag_N"], loads["x"], loads["z"], against)
    if "moment_rear_Nm" in loads:
        terms += rolling(
            bicycle, loads["moment_rear_Nm"], loads["moment_front_Nm"], 0.0 if kind == "rolling_leaned" else 1.0
        )
    if "tow_N" in loads:
        terms += drag(bicycle, -loads["tow_N"], loads["x"], loads["z"], "road")
    return terms + slope(bicycle, loads.get("gravity_backward_m_s2", 0.0))


def ids(cases):
    return [f"{name} {case['case']} {case['v_dot']}" for name, case in cases]


@pytest.mark.parametrize(("name", "case"), CASES, ids=ids(CASES))
def test_matrices_and_eigenvalues(name, case):
    b = bicycle_of(name)
    terms = terms_of(b, case)
    for found, wanted in ((terms.K, case["K"]), (terms.P, case["P"]), (terms.C, case["C_over_v"])):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    for v, wanted in case["eigenvalues"].items():
        A = road_system_matrix(replace(b, g=case["g_normal"]), float(v), terms)
        n = len(wanted)
        expected = np.array([complex(*value) for value in wanted])
        found = np.linalg.eigvals(A[:n, :n])
        distance = np.abs(found[:, None] - expected) / np.maximum(1.0, np.abs(expected))
        assert max(distance.min(axis=0).max(), distance.min(axis=1).max()) < 1e-9


@pytest.mark.parametrize(("name", "case"), CASES[::3], ids=ids(CASES[::3]))
def test_histories(name, case):
    b, a = replace(bicycle_of(name), g=case["g_normal"]), case["v_dot"]
    terms = terms_of(b, case)
    t = 0.2 * np.arange(len(case["steer"]))
    found = solve_ivp(
        lambda t, x: road_system_matrix(b, 5.0 + a * t, terms) @ x,
        (0.0, t[-1]),
        [0.0, 0.0, 0.1, 0.0, 0.0],
        "DOP853",
        t,
        rtol=1e-10,
        atol=1e-12,
    ).y
    np.testing.assert_allclose(found[PHI_DOT], case["lean_rate"], atol=1e-8)
    np.testing.assert_allclose(found[DELTA], case["steer"], atol=1e-8)


@pytest.mark.parametrize("name", GIVEN)
def test_mass_and_wheel_loads(name):
    b, given = bicycle_of(name), GIVEN[name]
    assert effective_mass(b) == pytest.approx(given["mass_effective"], rel=1e-10)
    rear, front = wheel_loads(b)
    assert front / (rear + front) == pytest.approx(given["load_share_front"], rel=1e-10)
    assert wheel_loads(b, a=-1.0)[1] > front  # braking loads the front wheel


def test_terms_are_in_proportion():
    b = bicycle_of("Silver")
    np.testing.assert_allclose((-0.3 * acceleration(b, 1.0)).K, acceleration(b, -0.3).K, rtol=1e-14)


def test_a_direction_has_a_name_and_a_bicycle_moves():
    b = bicycle_of("Silver")
    with pytest.raises(InputError, match="sideways"):
        drag(b, 1.0, 0.3, -0.9, "sideways")
    with pytest.raises(InputError, match="moves"):
        road_system_matrix(b, 0.0, acceleration(b, -0.2))
