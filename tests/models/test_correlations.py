"""Correlations of a bicycle's parameters: read, written, carried along, refused."""

import pickle  # noqa: S403
from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

PAIRS = {"IRxx": {"IFxx": 0.9999996}, "w": {"lam": -0.3, "c": 0.12345678901234567}}


@pytest.fixture
def measured() -> Bicycle:
    base = replace(load_bicycle("Browser"), correlations={})
    return replace(base, correlations=PAIRS)


def test_a_file_keeps_every_digit(measured):
    again = Bicycle.from_toml(measured.to_toml())
    assert again == measured
    assert again.correlations["w"]["c"] == 0.12345678901234567
    assert pickle.loads(pickle.dumps(measured)) == measured  # noqa: S301
    assert Bicycle(**measured.as_dict()) == measured


def test_the_covariance_has_deviations_and_correlations(measured):
    names = ("w", "lam", "zB", "c")
    std = np.array([measured.std[name] for name in names])
    r = np.eye(4)
    r[0, 1] = r[1, 0] = -0.3
    r[0, 3] = r[3, 0] = 0.12345678901234567
    assert measured.covariance(names) == pytest.approx(r * np.outer(std, std), rel=1e-15)


def test_without_the_table_parameters_are_independent():
    bicycle = replace(load_bicycle("Browser"), correlations={})
    assert "correlations" not in bicycle.as_dict()
    assert "correlations" not in bicycle.to_toml()
    names = tuple(bicycle.std)
    assert bicycle.covariance(names) == pytest.approx(np.diag([s * s for s in bicycle.std.values()]), rel=1e-15)


def test_a_parameter_that_loses_its_deviation_loses_its_correlations(measured):
    certain = replace(measured, std={name: std for name, std in measured.std.items() if name != "w"})
    assert "w" not in certain.correlations
    assert certain.correlations["IRxx"]["IFxx"] == 0.9999996


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ({"w": {"c": 1.1}}, "must be in -1 to 1"),
        ({"w": {"c": "much"}}, "must be in -1 to 1"),
        ({"w": 0.1}, "must be a table"),
        ({"w": {"lamb": 0.1}}, "did you mean 'lam'"),
        ({"w": {"c": 0.1}, "c": {"w": 0.1}}, "given twice"),
        ({"w": {"w": 0.5}}, "must be 1"),
        ({"w": {"c": 0.99, "lam": 0.99}, "c": {"lam": -0.99}}, "all their digits"),
    ],
)
def test_refuses_what_no_quantities_have(measured, pairs, words):
    with pytest.raises(InputError, match=words):
        replace(measured, correlations=pairs)


def test_a_file_whose_correlated_parameter_has_no_deviation_is_refused(measured):
    text = measured.to_toml().replace("\nIFxx = 0.00035969731805\n", "\n")
    with pytest.raises(InputError, match="IFxx, which has no standard deviation"):
        Bicycle.from_toml(text)
