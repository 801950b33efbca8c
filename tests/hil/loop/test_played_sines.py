"""A played signal is the same on every processor: its sines are the C library's, one at a time."""

import math

import numpy as np
import pytest

from hil.loop.excitation import Excitation

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
