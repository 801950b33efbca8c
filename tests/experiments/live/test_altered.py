"""Bicycles whose parameters a page alters."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.live.altered import AlteredBicycle
from riderless.experiments.live.hello import bicycle_fields
from riderless.models.catalogue import bicycle_names, load_bicycle
from riderless.models.errors import InputError

BENCHMARK = AlteredBicycle(load_bicycle("Benchmark"))


def test_a_slider_tells_the_value_that_the_bicycle_has():
    tilted = BENCHMARK.with_parameter("lam", 20.0).with_parameter("zB", 1.0)
    sliders = {slider.name: slider for slider in tilted.sliders()}
    assert (sliders["lam"].value, sliders["lam"].usual, sliders["lam"].unit) == (
        pytest.approx(20.0),
        pytest.approx(18.0),
        "deg",
    )
    assert tilted.bicycle.lam == pytest.approx(np.radians(20.0))
    assert tilted.bicycle.zB == -1.0
    assert tilted.with_parameter("lam", None).with_parameter("zB", None) == BENCHMARK


def test_what_hangs_on_a_parameter_goes_along():
    b, altered = BENCHMARK.bicycle, BENCHMARK.with_parameter("mB", 42.5).with_parameter("w", 1.12).bicycle
    assert (altered.IBxx, altered.IBxz) == pytest.approx((b.IBxx / 2.0, b.IBxz / 2.0))
    assert altered.xH == pytest.approx(b.xH + 0.1)
    small = BENCHMARK.with_parameter("rF", 0.28)
    assert small.bicycle.IFyy == pytest.approx(0.64 * b.IFyy)
    heavy = small.with_parameter("IFyy", 0.2).bicycle
    assert (heavy.IFyy, heavy.IFxx) == pytest.approx((0.2, 0.2 * b.IFxx / b.IFyy))


@pytest.mark.parametrize("name", bicycle_names())
def test_each_slider_ends_at_a_bicycle_or_at_a_sentence(name):
    bicycle = AlteredBicycle(load_bicycle(name))
    for slider in bicycle.sliders():
        assert slider.least < slider.usual < slider.most
        steps = (slider.usual - slider.least) / slider.step
        assert steps == pytest.approx(round(steps))
        for shown in (slider.least, slider.most):
            with suppress(InputError):
                altered = bicycle.with_parameter(slider.name, shown)
                assert bicycle_fields(altered.bicycle, None)["theory"].uncontrolled


@pytest.mark.parametrize(
    ("name", "shown", "sentence"),
    [("c", -0.02, "c = -0.02 m, plausible are 0.01 to 0.4 m"), ("mB", -1.0, "mB = -1 kg must not be negative")],
)
def test_what_no_bicycle_has_is_refused(name, shown, sentence):
    with pytest.raises(InputError, match=sentence):
        BENCHMARK.with_parameter(name, shown)


def test_an_unusual_bicycle_may_stay_as_unusual_as_it_is():
    odd = AlteredBicycle(replace(BENCHMARK.bicycle, c=0.005))
    assert odd.with_parameter("w", 1.1).bicycle.c == 0.005
