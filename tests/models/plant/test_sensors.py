"""The instruments: noise, bias, latency, and the generator behind the noise."""

import numpy as np
import pytest
from scipy.stats import kstest

from riderless.models.errors import InputError
from riderless.models.plant import sensors
from riderless.models.plant.sensors import INSTRUMENTS, INSTRUMENTS_STATE, LATENCY_MAX, NOISE, READINGS, Instruments

SILENT = {"gyro_noise": 0.0, "accel_noise": 0.0, "wheel_noise": 0.0}


def take(instruments, truths, word=1):
    """What is read of a sequence of true readings."""
    p, s = np.zeros(1, INSTRUMENTS), np.zeros(1, INSTRUMENTS_STATE)
    instruments.pack(p[0])
    s["noise"]["word"] = word
    out = np.array([tuple(truth) for truth in truths], dtype=READINGS)
    for row in out:
        sensors.apply_instruments(p[0], s[0], 0.0, row)
    return out.view("f8").reshape(len(out), -1)


def test_generator_gives_the_published_words():
    """splitmix64 from seed 1234567: the first words of its widely printed test sequence."""
    s = np.zeros(1, NOISE)
    s["word"] = 1234567
    words = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431)
    for word in words:
        assert sensors.next_uniform(s[0]) == ((word >> 11) + 1) * 2.0**-53


def test_normal_numbers_are_normal_and_uncorrelated():
    s = np.zeros(1, NOISE)[0]
    x = np.array([sensors.next_normal(s) for _ in range(20_000)])
    assert kstest(x, "norm").pvalue > 0.01
    for lag in (1, 2, 8):  # the two of a pair, two pairs, two samples
        assert abs(np.mean(x[lag:] * x[:-lag])) < 4 / np.sqrt(len(x))


def test_noise_has_the_spread_asked_for_and_the_torque_none():
    asked = Instruments(gyro_noise=0.1, accel_noise=0.2, steer_noise=0.3, wheel_noise=0.4)
    x = take(asked, np.zeros((20_000, 9)))
    std = np.array([0.1] * 3 + [0.2] * 3 + [0.3, 0.4])
    np.testing.assert_allclose(x[:, :8].std(axis=0), std, rtol=4 / np.sqrt(2 * len(x)))
    assert np.all(np.abs(x[:, :8].mean(axis=0)) < 4 * std / np.sqrt(len(x)))
    assert np.all(np.abs(np.corrcoef(x[:, :8].T) - np.eye(8)) < 5 / np.sqrt(len(x)))
    assert not x[:, 8].any()


def test_one_seed_one_sequence():
    truths = np.ones((50, 9))
    np.testing.assert_array_equal(take(Instruments(), truths), take(Instruments(), truths))
    assert np.any(take(Instruments(), truths) != take(Instruments(), truths, word=2))


def test_biases_are_added_where_they_belong():
    biased = Instruments(**SILENT, gyro_bias=(1, 2, 3), accel_bias=(4, 5, 6), steer_bias=7)
    np.testing.assert_array_equal(take(biased, [range(10, 19)])[0], [11, 13, 15, 17, 19, 21, 23, 17, 18])


@pytest.mark.parametrize("latency", [0, 1, 5, LATENCY_MAX])
def test_readings_are_late_by_the_latency(latency):
    n = 3 * LATENCY_MAX
    x = take(Instruments(**SILENT, latency=latency), [[k + 0.1 * j for j in range(9)] for k in range(n)])
    late = np.maximum(np.arange(n) - latency, 0)
    np.testing.assert_array_equal(x, late[:, None] + 0.1 * np.arange(9))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"gyro_noise": -1.0}, "gyro_noise must be zero or more, found -1.0 rad/s"),
        ({"accel_noise": np.nan}, "accel_noise"),
        ({"wheel_noise": np.inf}, "wheel_noise"),
        ({"gyro_bias": (0.0, 0.0)}, "gyro_bias wants three finite numbers"),
        ({"accel_bias": (0.0, np.nan, 0.0)}, "accel_bias"),
        ({"steer_bias": np.inf}, "steer_bias wants one finite number"),
        ({"z_imu": np.nan}, "z_imu"),
        ({"latency": -1}, "latency"),
        ({"latency": 0.005}, "give samples, not seconds"),
        ({"latency": LATENCY_MAX + 1}, "latency"),
    ],
)
def test_instruments_refuse_nonsense(fields, words):
    with pytest.raises(InputError, match=words):
        Instruments(**fields)


@pytest.mark.parametrize(
    ("time", "frequency", "lag"), [(0.01, 0.0, 1), (0.1, 20.0, 5), (0.1, 20.0, 10)], ids=["rough", "half", "whole turn"]
)
def test_a_vibration_has_its_size_and_correlation(time, frequency, lag):
    p, s = np.zeros(1, sensors.INSTRUMENTS), np.zeros(1, sensors.INSTRUMENTS_STATE)
    shaking = Instruments(accel_noise=0.0, vibration=1.4, vibration_time=time, vibration_frequency=frequency)
    shaking.pack(p[0])
    row = np.zeros(1, sensors.READINGS)[0]
    felt = np.zeros((20000, 3))
    for k in range(len(felt)):
        row["a_x"] = row["a_y"] = row["a_z"] = 0.0
        sensors.apply_instruments(p[0], s[0], 0.005 * k, row)
        felt[k] = row["a_x"], row["a_y"], row["a_z"]
    felt = felt[200:]
    assert felt.std(axis=0) == pytest.approx(1.4, rel=0.1)
    correlation = (felt[lag:] * felt[:-lag]).mean(axis=0) / felt.var(axis=0)
    expected = np.exp(-0.005 * lag / time) * np.cos(2.0 * np.pi * frequency * 0.005 * lag)
    assert correlation == pytest.approx(expected, abs=0.06)
