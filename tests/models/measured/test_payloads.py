"""Payloads: others' figures, off again, deviations carried along, refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError, UnusualBicycle
from riderless.models.measured.measurement import measure
from riderless.models.measured.payloads import add_payload, payloads_of
from riderless.models.parameter_table import PARAMETERS
from riderless.models.parameters import Bicycle
from tests.models.measured.labs import lab
from tests.paths import REFERENCE

CASES = json.loads((REFERENCE / "payloads.json").read_text(encoding="utf-8"))["cases"]
BOX = {"on": "B", "shape": "box", "mass": 4.5, "size": [0.32, 0.2, 0.14], "com": [-0.06, -0.78]}


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_a_loaded_bicycle_is_that_of_another_program(case):
    std = load_bicycle("Browser").std  # measured moments break the triangle inequality by less than their deviations
    before = Bicycle("before", **case["before"], std=std)
    after = add_payload(before, case["loads"])
    for name, value in case["after"].items():
        assert getattr(after, name) == pytest.approx(value, rel=1e-12, abs=1e-12), name
    off = add_payload(after, case["loads"][::-1], remove=True)
    for name, value in case["before"].items():
        assert getattr(off, name) == pytest.approx(value, abs=1e-12), name


def test_deviations_and_correlations_are_carried_and_given_back():
    before = measure(lab("A")).bicycle
    load = {**BOX, "std": {"mass_g": 50, "x_mm": 5, "z_mm": 5}}
    after = add_payload(before, load)
    assert after.std["mB"] == pytest.approx(np.hypot(before.std["mB"], 0.05), rel=1e-12)
    off = add_payload(after, load, remove=True)
    assert off.note == before.note
    names = list(before.std)
    assert off.covariance(names) == pytest.approx(before.covariance(names), abs=1e-12)
    # measured with the box on: taking it off brings the box's own errors in
    bare = add_payload(replace(after, note=""), load, remove=True)
    assert bare.std["mB"] == pytest.approx(np.hypot(after.std["mB"], 0.05), rel=1e-12)


def test_carried_deviations_agree_with_draws():
    before = measure(lab("A")).bicycle
    names = list(PARAMETERS)
    rng = np.random.default_rng(1)
    mean = np.array([getattr(before, name) for name in names])
    draws = rng.multivariate_normal(mean, before.covariance(names), size=1500, method="eigh")
    wide = dict.fromkeys(names, 1.0)
    loaded = [
        add_payload(replace(before, **dict(zip(names, map(float, draw), strict=True)), std=wide), BOX) for draw in draws
    ]
    after = add_payload(before, BOX)
    for name in ("xB", "zB", "IBxx", "IBxz", "IBzz", "IByy"):
        assert np.std([getattr(one, name) for one in loaded]) == pytest.approx(after.std[name], rel=0.08), name


def test_a_body_beside_the_middle_is_warned_of():
    with pytest.warns(UnusualBicycle, match="not symmetric: y = 0.1 m"):
        add_payload(load_bicycle("Benchmark"), {**BOX, "y": 0.1})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"on": "saddle"}, "rear frame"),
        ({"shape": "sphere"}, "must be point, box"),
        ({"mass": 4500}, "looks like grams"),
        ({"mass": -1.0}, "must not be negative"),
        ({"com": [-0.06, 0.78]}, "below the ground"),
        ({"com": [-0.06]}, "must be x, z"),
        ({"size": [320, 200, 140]}, "looks like millimetres"),
        ({"colour": "red"}, "unknown key"),
        ({"on": "R"}, "spins about its axle"),
        ({"mass": None}, "must be a number"),
    ],
)
def test_refuses_what_no_body_is(change, words):
    with pytest.raises(InputError, match=words):
        payloads_of({**BOX, **change})


def test_what_is_heavier_than_the_frame_cannot_be_taken_off():
    with pytest.raises(InputError, match="never on it"):
        add_payload(load_bicycle("Browser"), {**BOX, "mass": 30.0}, remove=True)
