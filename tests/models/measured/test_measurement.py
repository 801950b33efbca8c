"""From readings to 25 parameters: exact labs, others' figures for real ones, two routes to the deviations."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.measured.measurement import measure, reading_covariance, weave_slope
from riderless.models.measured.readings import readings_of
from riderless.models.measured.reduction import complex_step_jacobian, plan_of, reduce_readings
from riderless.models.parameter_table import PARAMETERS
from tests.models.measured.labs import lab, reference, with_units

NAMES = list(PARAMETERS)


@pytest.fixture(scope="module", params=("A", "C"))
def case(request):
    return request.param


def parameters_of(readings, values):
    """Parameters (26,) of other values of the same readings."""
    symbols = list(readings.readings)
    found = reduce_readings(dict(zip(symbols, values, strict=True)), plan_of(symbols)).parameters
    return np.array([found[name] for name in NAMES])


def test_readings_without_noise_give_the_truth(case):
    measured, expected = measure(lab(case)), reference()["cases"][case]
    for name, value in expected["truth"].items():
        assert getattr(measured.bicycle, name) == pytest.approx(value, rel=1e-9), name
        assert getattr(measured.weighted, name) == pytest.approx(value, rel=1e-9), name
        if expected["std"][name]:
            assert measured.bicycle.std[name] == pytest.approx(expected["std"][name], rel=1e-6), name
    assert not measured.doubts
    band = measured.weave_at(5.0)
    assert (band.mode.real, band.mode.imag) == pytest.approx(expected["weave_5"]["weave"], rel=1e-9)
    assert (band.re_std, band.im_std) == pytest.approx(expected["weave_5"]["std_full"], rel=1e-6)


def test_deviations_agree_with_difference_quotients(case):
    readings = readings_of(lab(case))
    x = np.array([reading.mean for reading in readings.readings.values()])
    exact = complex_step_jacobian(lambda values: parameters_of(readings, values), x)
    for i, value in enumerate(x):
        step = np.zeros(len(x))
        step[i] = 1e-6 * max(abs(value), 0.1)
        quotient = (parameters_of(readings, x + step) - parameters_of(readings, x - step)) / (2.0 * step[i])
        assert exact[:, i] == pytest.approx(quotient, rel=1e-5, abs=1e-6 * np.abs(exact).max()), list(
            readings.readings
        )[i]


def test_deviations_and_correlations_agree_with_drawn_labs():
    readings = readings_of(
        {
            "readings": lab("A"),
            "tools": {"scale": {"readings": ["m"], "std_g": 30}, "table": {"readings": ["a"], "std_mm": 2}},
        }
    )
    bicycle = measure(readings).bicycle
    x = np.array([reading.mean for reading in readings.readings.values()])
    rng = np.random.default_rng(3)
    draws = rng.multivariate_normal(x, reading_covariance(readings), size=4000, method="eigh")
    found = np.array([parameters_of(readings, values) for values in draws])
    known = [name for name in NAMES if name in bicycle.std]
    columns = [NAMES.index(name) for name in known]
    assert found[:, columns].std(axis=0) == pytest.approx([bicycle.std[name] for name in known], rel=0.05)
    std = np.array([bicycle.std[name] for name in known])
    drawn = np.corrcoef(found[:, columns].T)
    assert np.abs(drawn - bicycle.covariance(known) / np.outer(std, std)).max() < 0.07


def test_a_tools_own_error_does_not_average_and_correlates_its_readings():
    apart = measure({"readings": lab("A")}).bicycle
    shared = measure({"readings": lab("A"), "tools": {"scale": {"readings": ["m"], "std_g": 30}}}).bicycle
    assert shared.std["mB"] == pytest.approx(np.hypot(apart.std["mB"], 0.030), rel=1e-12)
    assert shared.correlations["mR"]["mB"] == pytest.approx(0.03**2 / (0.03**2 + 0.02**2), rel=1e-12)
    assert not apart.correlations.get("mR", {}).get("mB")
    repeated = lab("A", mB=[10.0] * 100)
    many = measure({"readings": repeated, "tools": {"scale": {"readings": ["mB"], "std_g": 30}}}).bicycle
    assert many.std["mB"] == pytest.approx(0.030, rel=1e-12)


def test_the_larger_of_stated_and_scattered_error_counts():
    scattered = measure(lab("A", mB=[[9.9, 0.001], [10.1, 0.001]])).bicycle
    assert scattered.std["mB"] == pytest.approx(0.1, rel=1e-9)
    stated = measure(lab("A", mB=[[9.9999, 0.02], [10.0001, 0.02]])).bicycle
    assert stated.std["mB"] == pytest.approx(0.02 / np.sqrt(2.0), rel=1e-9)


def test_common_causes_correlate_moments():
    bicycle = measure(lab("A")).bicycle
    assert bicycle.correlations["IRxx"]["IFxx"] > 0.8
    strong = sum(abs(bicycle.correlations.get(a, {}).get(b, 0.0)) > 0.5 for a, b in combinations(NAMES, 2))
    assert 15 < strong < 45


def test_real_bicycles_meet_the_least_squares_of_another_program(shared):
    folder = shared / "data/measured_bicycles"
    if not folder.is_dir():
        pytest.skip("readings of real bicycles are not here")
    given = json.loads((folder / "given.json").read_text(encoding="utf-8"))["bicycles"]
    for name, facts in reference()["facts"].items():
        measured = measure(with_units(given[name]["readings"]))
        for key, value in facts["value"].items():
            assert getattr(measured.bicycle, key) == pytest.approx(value, rel=1e-9), (name, key)
            assert getattr(measured.weighted, key) == pytest.approx(facts["weighted"][key], rel=1e-9), (name, key)
        if name == "Rigid":
            continue
        assert dict(measured.bicycle.std) == pytest.approx(
            {key: std for key, std in facts["std"].items() if std}, rel=1e-6
        )
        band = measured.weave_at(5.0)
        assert (band.re_std, band.im_std) == pytest.approx(facts["weave_5"]["std_full"], rel=1e-6)
        assert [doubt.symbols for doubt in measured.doubts] == ([("aB1", "aB2", "aB3")] if name == "Browser" else [])


def test_the_doubtful_readings_of_a_real_bicycle_are_named(shared):
    path = shared / "data/measured_bicycles/given.json"
    if not path.is_file():
        pytest.skip("readings of real bicycles are not here")
    given = json.loads(path.read_text(encoding="utf-8"))["bicycles"]["Rigid"]["readings"]
    measured = measure(with_units(given))
    named = {doubt.symbols[0]: doubt.sentence for doubt in measured.doubts if len(doubt.symbols) == 1}
    assert "torsional swing 1 of the rear frame" in named["TtB1"]
    assert "3.081 s where 3.423 s was read" in named["TtB1"]
    assert "exceeds the largest principal one" in named["TtB1"]
    assert "TtS1" in named
    assert {"dF", "h1"} <= set(named)
    repaired = measure(with_units(given), without=["TtB1"])
    assert repaired.bicycle.note == "without TtB1"
    assert (repaired.bicycle.IBxx, repaired.bicycle.IBxz, repaired.bicycle.IBzz) == pytest.approx(
        (2.54, 0.529, 1.83), rel=5e-3
    )


@pytest.mark.parametrize("name", sorted(reference()["facts"]))
def test_the_catalogue_has_the_correlations_of_its_published_sets(name):
    bicycle, facts = load_bicycle(name), reference()["facts"][name]["published_weave_5"]
    slope = weave_slope(bicycle, 5.0)
    parts = np.array([slope.real, slope.imag])
    covariance = parts @ bicycle.covariance(NAMES) @ parts.T
    off = 0.01 if name == "Rigid" else 1e-6  # its published deviation of c is 44 % too large
    assert np.sqrt(np.diag(covariance)) == pytest.approx(facts["std_full"], rel=off)
    apart = parts @ replace(bicycle, correlations={}).covariance(NAMES) @ parts.T
    assert np.sqrt(np.diag(apart)) == pytest.approx(facts["std_if_parameters_were_independent"], rel=off)
