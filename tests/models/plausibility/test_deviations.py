"""Standard deviations of a bicycle file: too large ones are refused with the unit they look like."""

import re

import pytest

from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError, UnusualBicycle
from riderless.models.parameters import Bicycle
from tests.models.plausibility.bicycle_mistakes import values_of

BENCHMARK = values_of(load_bicycle("Benchmark"))


def text_of(deviations, top=""):
    """Text of the Benchmark's file with standard deviations."""
    rows = "\n".join(f"{name} = {value!r}" for name, value in BENCHMARK.items())
    return f'name = "Mine"\n{top}\n[parameters]\n{rows}\n[std]\n{deviations}\n'


@pytest.mark.parametrize(
    ("deviations", "says"),
    [
        ("w = 2", "of w, 2 m, is more than a third of 1.02 m and looks like millimetres: write w_mm = 2 in [std]"),
        ("lam = 0.2", "of lam, 0.2 rad, is more than a third of 0.401 rad and looks like degrees: write lam_deg = 0.2"),
        ("mB = 50", "of mB, 50 kg, is more than a third of 85 kg and looks like grams: write mB_g = 50"),
        ("IRyy = 6", "looks like kg cm^2: write IRyy_kg_cm2 = 6"),
        ("IBxz = 2", "of IBxz, 2 kg m^2, is more than a third of 5.075 kg m^2 and"),
        ("w = 2\nzB = 9", "write w_mm = 2 in [std]; the standard deviation of zB, 9 m,"),
    ],
)
def test_a_deviation_in_another_unit_is_refused(deviations, says):
    with pytest.raises(InputError, match=re.escape(says)):
        Bicycle.from_toml(text_of(deviations))


@pytest.mark.parametrize("deviations", ["w_mm = 2", "c = 0.03", "lam_deg = 2", "IBxz = 1.5", "IHxz = 0.006", "mB = 20"])
def test_a_deviation_that_somebody_may_have_measured_is_taken(deviations, recwarn):
    assert Bicycle.from_toml(text_of(deviations)).std
    assert not recwarn


def test_trust_takes_it_with_a_warning():
    with pytest.warns(UnusualBicycle, match=r"is unusual: the standard deviation of mB, 50 kg, .*trusted: a guess"):
        Bicycle.from_toml(text_of("mB = 50", top='trust = "a guess"'))


def test_what_a_log_recorded_is_not_judged():
    assert Bicycle(name="old", **BENCHMARK, std={"w": 2.0}).std["w"] == 2.0
