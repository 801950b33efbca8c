"""Moore's constants of a bicycle: against numbers printed and computed elsewhere, and back to the bicycle."""

import json

import pytest

from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.errors import InputError
from riderless.models.moore import MOORE_CONSTANTS, bicycle_from_moore, moore_constants
from riderless.models.parameters import PARAMETERS, Bicycle
from tests.paths import REFERENCE

# of the benchmark bicycle, printed in the documentation of DynamicistToolKit 0.7 (dtk.bicycle.benchmark_to_moore)
PRINTED = {
    "d1": 0.9534570696121849,
    "d2": 0.2676445084476887,
    "d3": 0.03207142672761929,
    "g": 9.81,
    "ic11": 7.178169776497895,
    "ic22": 11.0,
    "ic31": 3.8225535938357873,
    "ic33": 4.821830223502103,
    "id11": 0.0603,
    "id22": 0.12,
    "ie11": 0.05841337700152972,
    "ie22": 0.06,
    "ie31": 0.009119225261946298,
    "ie33": 0.007586622998470264,
    "if11": 0.1405,
    "if22": 0.28,
    "l1": 0.4707271515135145,
    "l2": -0.47792881146460797,
    "l3": -0.00597083392418685,
    "l4": -0.3699518200282974,
    "mc": 85.0,
    "md": 2.0,
    "me": 4.0,
    "mf": 3.0,
    "rf": 0.35,
    "rr": 0.3,
}


def test_constants_of_the_benchmark_are_the_printed_ones():
    assert moore_constants(load_bicycle("Benchmark")) == pytest.approx(PRINTED, rel=1e-14, abs=1e-15)


def test_constants_of_the_reference():
    reference = json.loads((REFERENCE / "nonlinear_reference.json").read_text())["bicycles"]
    for name, entry in reference.items():
        found = moore_constants(Bicycle(name=name, **entry["benchmark_parameters"]))
        assert tuple(found) == MOORE_CONSTANTS
        for key, value in found.items():
            assert value == pytest.approx(entry["moore_parameters"][key], rel=1e-13, abs=1e-14), key
        back = bicycle_from_moore(entry["moore_parameters"], name)
        for key, value in entry["benchmark_parameters"].items():
            assert getattr(back, key) == pytest.approx(value, rel=1e-12, abs=1e-14), key


@pytest.mark.parametrize("name", bicycle_names())
def test_constants_lead_back(name):
    bicycle = load_bicycle(name)
    back = bicycle_from_moore(moore_constants(bicycle), name)
    for key in PARAMETERS:
        assert getattr(back, key) == pytest.approx(getattr(bicycle, key), rel=1e-12, abs=1e-14), key


def test_constants_of_no_bicycle_are_refused():
    moore = moore_constants(load_bicycle("Benchmark"))
    with pytest.raises(InputError, match="found no d2, l4"):
        bicycle_from_moore({k: v for k, v in moore.items() if k not in ("d2", "l4")}, "x")
    with pytest.raises(InputError, match="finite numbers, found d1 = 'long'"):
        bicycle_from_moore({**moore, "d1": "long"}, "x")
    for wrong in ({"rr": 9.0}, {"d1": 0.0, "d2": 0.01, "d3": 0.0}):
        with pytest.raises(InputError, match="cannot stand on one ground"):
            bicycle_from_moore({**moore, **wrong}, "x")
