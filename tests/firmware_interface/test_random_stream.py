"""The twins' generator of random numbers: published words, and the normal distribution."""

import numpy as np
from scipy.stats import kstest

from riderless.firmware_interface.random_stream import draw_normal, draw_uniform

STREAM = np.dtype([("word", "u8")])


def test_stream_gives_the_published_words():
    """splitmix64 from seed 1234567: the first words of its widely printed test sequence."""
    s = np.zeros(1, STREAM)
    s["word"] = 1234567
    for word in (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431):
        assert draw_uniform(s[0]) == (word >> 11) * 2.0**-53


def test_normal_numbers_are_normal_and_uncorrelated():
    s = np.zeros(1, STREAM)[0]
    x = np.array([draw_normal(s) for _ in range(20_000)])
    assert kstest(x, "norm").pvalue > 0.01
    for lag in (1, 2):
        assert abs(np.mean(x[lag:] * x[:-lag])) < 4 / np.sqrt(len(x))
