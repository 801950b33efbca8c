"""The one entry: its methods by name, the laws without an equation to solve, and what is refused."""

from dataclasses import fields

import numpy as np
import pytest

from riderless.hil.design.methods import METHODS, LoopTiming, design
from riderless.models.catalogue import load_bicycle
from riderless.models.errors import InputError


def test_steer_into_the_lean_is_the_delft_law():
    schedule = design(load_bicycle("DelftSbW2024"), "lean", [4.0, 5.0, 6.5, 7.0], allow_unstable=True)
    phi_dot, rest = 0.3, np.zeros(6)
    for v, K in zip(schedule.v, schedule.K, strict=True):
        z = rest.copy()
        z[2] = phi_dot
        assert -K @ z == pytest.approx(2.0 * max(6.5 - v, 0.0) * phi_dot)  # T_delta = k (v0 - v) phi_dot
        assert np.count_nonzero(K) <= 1
    assert "no torque from 6.5 m/s" in schedule.notes[2]


def test_an_unstable_law_is_refused_unless_wanted():
    with pytest.raises(
        InputError,
        match=r"lean does not balance Benchmark at 2 m/s.*1\.4\d+[+-]3\.7\d+j 1/s.*leave this speed out",
    ):
        design(load_bicycle("Benchmark"), "lean", [2.0, 5.0])
    schedule = design(load_bicycle("Benchmark"), "lean", [2.0, 5.0], allow_unstable=True)
    assert schedule.stable.tolist() == [False, True]
    assert design(load_bicycle("Benchmark"), "lean", [4.0, 5.0]).stable.all()


def test_off_is_off_and_may_fall():
    schedule = design(load_bicycle("Benchmark"), "off", [2.0, 5.0, 8.0])
    np.testing.assert_array_equal(schedule.K, 0.0)
    # between the weave speed 4.29 m/s and the capsize speed 6.02 m/s only (Meijaard et al. 2007, section 7)
    assert schedule.stable.tolist() == [False, True, False]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fills_the_schedule(method):
    options = {"like": "Silver"} if method == "match" else {}
    schedule = design(load_bicycle("Silver"), method, [4.5, 5.0], LoopTiming(100.0, 0, 0.0), **options)
    assert schedule.method == method
    place = 2 if method == "lane" else 0  # heading and place
    assert schedule.K.shape == (2, 6 + place)
    assert schedule.closed_loop.shape == (2, 4 + place)
    assert np.all(schedule.K[:, 4:6] == 0.0)
    assert len(schedule.margins) == len(schedule.notes) == 2


@pytest.mark.parametrize("method", ["lqr", "poles"])
@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
def test_interpolated_gains_balance_too(method, name):
    from riderless.hil.design.sampled_plant import sampled_model

    schedule = design(load_bicycle(name), method, np.arange(1.0, 8.5, 0.5))
    for v in np.arange(1.25, 8.0, 0.5):
        model = sampled_model(load_bicycle(name), v, LoopTiming())
        assert np.max(np.abs(model.closed_loop(schedule.gains(v)))) < 1.0


@pytest.mark.parametrize(
    ("method", "speeds", "options", "says"),
    [
        (
            "pid",
            [5.0],
            {},
            "lean, off, match, lane, or with states of its own lqg or yaw_rate, found 'pid'",
        ),
        ("lqr", [5.0], {"gain": 2.0}, "has the options weights, found 'gain'"),
        ("off", [5.0], {"gain": 2.0}, "has no options, found 'gain'"),
        ("lean", [5.0], {"k": np.nan}, "gain k"),
        ("lean", [5.0], {"v0": -1.0}, "speed v0"),
        ("lean", [5.0], {"k": "two"}, "cannot use the options"),
        ("lqr", [5.0], {"weights": 3.0}, "weights by name"),
        ("lqr", [], {}, "at least one"),
        ("lqr", [5.0, 4.0], {}, "4 m/s after 5 m/s"),
        ("lqr", [4.0, 4.0], {}, "4 m/s after 4 m/s"),
        ("lqr", [-1.0, 4.0], {}, "found -1 m/s"),
        ("lqr", [4.0, np.inf], {}, "found inf m/s"),
        ("lqr", [np.nan], {}, "found nan m/s"),
        ("lqr", 5.0, {}, "a list of speeds in m/s, found 5.0"),
        ("lqr", ["fast"], {}, "found \\['fast'\\]: give numbers"),
        (
            [4.0, 5.0],
            [5.0],
            {},
            "lean, off, match, lane, or with states of its own lqg or yaw_rate, found \\[4.0, 5.0\\]",
        ),
        ("lqr", [5.0], {"timing": 200.0}, "wants a LoopTiming, found 200.0"),
        (
            "lqg",
            [5.0],
            {},
            r"^lqg has states .*: call design_compensator\(bicycle, 'lqg', speeds\), or take one of lqr,",
        ),
    ],
)
def test_refuses(method, speeds, options, says):
    with pytest.raises(InputError, match=says):
        design(load_bicycle("Benchmark"), method, speeds, **options)


def test_method_and_speeds_have_defaults():
    schedule = design(load_bicycle("Silver"))
    assert schedule.method == "lqr"
    assert schedule.loop == LoopTiming()
    assert schedule.v.tolist() == [2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0]


def test_a_name_is_not_a_bicycle():
    with pytest.raises(InputError, match="wanted a Bicycle, found 'Silver': get one with load_bicycle"):
        design("Silver", "lqr", [5.0])


def test_every_option_is_in_the_docstring():
    for method in METHODS.values():
        for option in fields(method):
            assert f"``{option.name}``" in design.__doc__
