"""A played signal is the same on every processor: its sines are the C library's, one at a time."""

import math
import tracemalloc

import numpy as np
import pytest

from riderless.hil.loop.excitation import Excitation
from riderless.models.errors import InputError

BAND = {"amplitude": 0.5, "duration": 12.0, "f_low": 0.5, "f_high": 4.0}
RATE = 200.0
T = np.arange(2400) / RATE


def sweep(t: float) -> float:
    grow = math.log(8.0) / 12.0
    return math.sin(2 * math.pi * (0.5 * math.expm1(grow * t) / grow))


def kicks(t: float) -> float:
    number, since = divmod(t, 4.0)
    return (-1.0) ** number * math.sin(2 * math.pi * 4.0 * since) if since < 0.125 else 0.0


@pytest.mark.parametrize(
    ("played", "one"),
    [
        (Excitation(kind="sweep", **BAND), sweep),
        (Excitation(kind="push", **BAND), lambda t: math.sin(math.pi * t / 12.0)),
        (Excitation(kind="kicks", periods=3, **BAND), kicks),
    ],
    ids=["sweep", "push", "kicks"],
)
def test_no_bit_depends_on_the_processor(played, one):
    assert np.array_equal(played.samples(RATE), [0.5 * one(t) for t in T])


def test_nor_in_a_multisine():
    k = range(2, 17)  # harmonics of 4 s between 0.5 and 4 Hz
    terms = [[math.cos(2 * math.pi * (t * i) / 4.0 - math.pi * n * n / 15) for n, i in enumerate(k)] for t in T]
    summed = np.sum(terms, axis=1)
    played = Excitation(kind="multisine", periods=3, **BAND).samples(RATE)
    assert np.array_equal(played, 0.5 * (summed / np.abs(summed).max()))


@pytest.mark.parametrize("at_once", [1, 15 * 7, 15 * 2399])  # two rows at a time; a last part of six; of one
def test_nor_on_how_many_cosines_are_held_at_once(at_once, monkeypatch):
    played = Excitation(kind="multisine", periods=3, **BAND)
    whole = played.samples(RATE)
    monkeypatch.setattr("riderless.hil.loop.excitation.COSINES_AT_ONCE", at_once)
    assert np.array_equal(played.samples(RATE), whole)


def test_a_long_multisine_takes_little_memory():
    long = Excitation(kind="multisine", amplitude=0.5, duration=400.0, f_low=0.2, f_high=4.0, periods=2)
    long.samples(20.0)  # compiled now
    tracemalloc.start()
    long.samples(RATE)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 60e6  # bytes; its cosines at once are 975 MB


@pytest.mark.parametrize(
    "wrong",
    [
        {"delay": np.nan},
        {"duration": np.nan},
        {"amplitude": np.inf},
        {"f_high": np.inf},
        {"periods": 2.5},
        {"seed": -1},
        {"kind": "none", "releases": [(np.nan, 1.0)]},
        {"kind": "none", "releases": [(1.0, np.inf)]},
    ],
)
def test_what_is_no_number_is_refused_when_it_is_made(wrong):
    with pytest.raises(InputError, match="found"):
        Excitation(**({"kind": "multisine", "amplitude": 1.0, "duration": 10.0} | wrong))
