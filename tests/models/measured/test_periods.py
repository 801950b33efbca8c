"""Periods: the truth of simulated swings within their deviations, and recordings that are refused."""

import json

import numpy as np
import pytest

from riderless.models.errors import InputError
from riderless.models.measured.periods import example_swing, joined, period, stopwatch_period


def drawn(seed, kind):
    """A swing with its true period."""
    rng = np.random.default_rng(seed)
    T = rng.uniform(0.4, 2.5)
    return T, example_swing(T, rng.uniform(3.0, 14.0), kind, rng.uniform(0.001, 0.008), seed)


@pytest.mark.parametrize("kind", ["compound", "torsion"])
def test_deviations_say_how_far_periods_are_off(kind):
    found = [(T, period(log, kind)) for T, log in (drawn(seed, kind) for seed in range(30))]
    z = np.array([(one.T - T) / one.std for T, one in found])
    assert 0.4 < np.sqrt(np.mean(z**2)) < 1.2
    assert (np.abs(z) < 2.0).mean() > 0.9
    assert max(one.std / one.T for _, one in found) < 1e-4


def test_a_large_swing_is_corrected_where_a_sine_is_milliseconds_off():
    found = period(example_swing(1.6, 13.0))
    assert found.uncorrected - 1.6 > 2e-3
    assert abs(found.T - 1.6) < 1e-4
    assert np.degrees(found.start) == pytest.approx(13.0, abs=0.2)
    assert found.damping == pytest.approx(0.004, rel=0.05)


def test_given_recordings_are_met_within_two_deviations(shared):
    folder = shared / "data/measured_bicycles/periods"
    if not folder.is_dir():
        pytest.skip("recordings of swings are not here")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    for name, facts in expected["files"].items():
        found = period(folder / f"{name}.csv", facts["kind"])
        assert abs(found.T - facts["small_amplitude_undamped_period_s"]) < 2.0 * found.std, name


def test_the_time_stamps_count_and_not_the_samples():
    log = example_swing(1.5, 8.0)
    kept = np.random.default_rng(2).random(len(log["t"])) > 0.4
    found = period({name: values[kept] for name, values in log.items()})
    assert abs(found.T - 1.5) < 3.0 * found.std


def test_a_gyro_in_degrees_is_read_by_its_name_and_refused_without():
    log = example_swing(1.5, 8.0)
    degrees = {"t": log["t"], **{f"{name}_deg_s": np.degrees(log[name]) for name in ("gx", "gy", "gz")}}
    assert pytest.approx(period(log).T, rel=1e-12) == period(degrees).T
    with pytest.raises(InputError, match="in deg/s"):
        period({"t": log["t"], **{name: np.degrees(log[name]) for name in ("gx", "gy", "gz")}})


def test_trials_that_scatter_count_by_their_scatter():
    T = (1.5135, 1.5161, 1.5094)
    found = joined([period(example_swing(one, 5.0, seed=i)) for i, one in enumerate(T)])
    assert pytest.approx(np.mean(T), abs=1e-4) == found.T
    assert found.std == pytest.approx(np.std(T, ddof=1) / np.sqrt(3.0), rel=0.02)


def test_beating_is_refused():
    one, other = example_swing(1.50, 6.0, "torsion", 0.001), example_swing(1.62, 4.0, "torsion", 0.001)
    n = min(len(one["t"]), len(other["t"]))
    t = one["t"][:n]
    both = {"t": t, "gx": one["gx"][:n] + np.interp(t, other["t"], other["gx"])}
    with pytest.raises(InputError, match="beat"):
        period(both, "torsion")


def test_two_motions_far_apart_are_refused():
    log = example_swing(1.5, 6.0, "torsion", 0.001)
    t = log["t"]
    with pytest.raises(InputError, match=r"another motion, of 0\.399 s"):
        period({"t": t, "gx": np.sin(2.0 * np.pi * t / 1.5) * 0.4 + 0.2 * np.sin(2.0 * np.pi * t / 0.4)}, "torsion")


def test_too_few_swings_are_refused():
    log = example_swing(1.5, 8.0)
    few = log["t"] < 6.0
    with pytest.raises(InputError, match="too few"):
        period({name: values[few] for name, values in log.items()})


def test_stopwatch_of_the_textbook():
    entry = {"swings": 50, "total_s": [80.1, 80.21, 80.06], "hand_std_s": 0.1, "start_deg": 8, "end_deg": 3}
    found = stopwatch_period(entry)
    assert pytest.approx(1.601612, abs=1e-6) == found.T
    assert found.std == pytest.approx(0.001633, abs=1e-6)
    quick = stopwatch_period({**entry, "hand_std_s": 0.01})
    assert quick.std == pytest.approx(0.000897, abs=1e-6)
    crossings = stopwatch_period({"crossings_s": [0.1 + 1.6 * i for i in range(20)]}, "torsion")
    assert pytest.approx(1.6, rel=1e-12) == crossings.T
    assert crossings.std == pytest.approx(0.1 * np.sqrt(12.0 / (20 * 399)), rel=1e-12)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ({"x": [1.0]}, "no column t"),
        ({"t": np.arange(100.0), "ax": np.zeros(100)}, "no gyro"),
        ({"t": np.zeros(100), "gx": np.zeros(100)}, "do not rise"),
        ({"t": np.arange(10.0), "gx": np.zeros(10)}, "10 samples"),
        ({"t": np.arange(100.0), "gx_rpm": np.zeros(100)}, "rad/s"),
    ],
)
def test_refuses_what_is_no_recording(log, words):
    with pytest.raises(InputError, match=words):
        period(log)
