"""The map from device time to host time, on streams whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.hil.loop.clock_offset import CLOCK_JUMP, OFFSET_WINDOW, TIMEBASE, follow_clock

DT = 0.005


def followed(t, t_host):
    """Offset and age after each sample."""
    tb, out = np.zeros(1, TIMEBASE)[0], []
    for a, b in zip(t, t_host, strict=True):
        follow_clock(tb, float(a), float(b))
        out.append((float(tb["offset"]), float(tb["age"])))
    return np.array(out), tb


@pytest.mark.parametrize("skew", [-1e-4, -5e-5, 0.0, 5e-5, 1e-4])
@pytest.mark.parametrize("delay", ["exponential", "usb", "outliers"])
def test_offset_stays_within_its_bound_of_the_truth(skew, delay):
    rng = np.random.default_rng(1)
    t = DT * np.arange(12_000)  # a minute
    late = {
        "exponential": rng.exponential(0.5e-3, t.size),
        "usb": np.ceil(t / 0.016) * 0.016 - t,  # handed over at multiples of 16 ms
        "outliers": np.where(rng.random(t.size) < 0.01, 0.05, 0.0) + rng.exponential(1e-4, t.size),
    }[delay]
    truth = 1234.5 + skew * t
    offset, age = followed(t, t + truth + late)[0].T
    error = (offset - truth)[400:]
    # every window holds a sample within 0.1 ms of the fastest; the clocks part for two windows at most
    parted = 2 * (OFFSET_WINDOW + DT) * skew
    assert error.min() >= late.min() - max(parted, 0.0) - 1e-9
    assert error.max() <= late.min() + 1e-4 + max(-parted, 0.0) + 1e-9
    np.testing.assert_allclose(age[400:], late[400:] - error, atol=1e-9)


def test_a_clock_that_jumps_is_followed_at_once_and_counted():
    t = DT * np.arange(1000)
    host = t + 10.0
    restarted = np.where(t < 2.5, t, t - 2.5)
    result, tb = followed(restarted, host)
    np.testing.assert_allclose(result[:500, 0], 10.0, atol=1e-9)
    np.testing.assert_allclose(result[500:, 0], 12.5, atol=1e-9)
    assert tb["steps"] == 1


def test_every_jump_is_counted_forward_and_back():
    """A device whose clock is 5 s ahead of itself, and then where it was."""
    result, tb = followed([0.0, 5.1, 0.2], [7.0, 7.1, 7.2])
    np.testing.assert_allclose(result, [(7.0, 0.0), (2.0, 0.0), (7.0, 0.0)], atol=1e-9)
    assert tb["steps"] == 2


def test_a_clock_that_loses_time_is_followed():
    t = DT * np.arange(4000)
    host = 1.01 * t  # an emulator on a busy computer
    result, tb = followed(t, host)
    assert tb["steps"] == 0
    assert result[:, 1].max() <= 0.01 * 2 * (OFFSET_WINDOW + DT) + 1e-9


@given(st.lists(st.floats(0, 0.15) | st.sampled_from([math.nan, math.inf, -math.inf]), min_size=2, max_size=60))
def test_the_offset_is_never_above_what_was_seen_and_nothing_poisons_it(late):
    t = DT * np.arange(len(late))
    tb, least = np.zeros(1, TIMEBASE)[0], math.inf  # shorter than a window: the minimum of all
    for a, d in zip(t, late, strict=True):
        follow_clock(tb, float(a), float(a) + 7.0 + d)
        if math.isfinite(d):
            least = min(least, 7.0 + d)
            assert tb["offset"] == least
            assert 0.0 <= tb["age"] <= CLOCK_JUMP
        assert math.isfinite(tb["offset"])
    assert tb["steps"] == 0


def test_the_fastest_of_two_windows_by_hand():
    """Seen 5.0, 4.9, 5.05 and 5.1 s apart, at 0, 0.1, 0.2 and 0.4 s: a window begins with the sample at its end."""
    result, tb = followed([0.0, 0.1, 0.2, 0.4, 0.5], [5.0, 5.0, 5.25, 5.5, 5.62])
    np.testing.assert_allclose(result, [(5.0, 0.0), (4.9, 0.0), (4.9, 0.15), (5.05, 0.05), (5.05, 0.07)], atol=1e-9)
    assert tb["steps"] == 0


def test_a_fifth_of_a_second_is_delay_and_more_is_another_clock():
    result, tb = followed([0.0, 0.0], [0.0, 0.2])
    assert result[-1].tolist() == [0.0, 0.2]
    assert tb["steps"] == 0
    result, tb = followed([0.0, 0.0, 0.1], [0.0, 0.21, 0.33])
    np.testing.assert_allclose(result[1:], [(0.21, 0.0), (0.21, 0.02)], atol=1e-9)
    assert tb["steps"] == 1
