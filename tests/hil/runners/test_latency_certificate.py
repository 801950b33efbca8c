"""The result of a latency test: its statistics, its rule, its memory."""

import dataclasses
import json
import platform
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from riderless.firmware_interface.errors import DeviceError
from riderless.hil.runners.latency_certificate import (
    CARE,
    FIT,
    TOO_SHORT,
    UNFIT,
    LatencyResult,
    Lateness,
    WakeUps,
    judge_wake_ups,
    keep_latency_result,
    recent_latency_result,
)
from riderless.hil.runners.session import run_realtime
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of

GOOD = WakeUps(n=4000, p50=2e-5, p99=1e-4, p999=1e-3, worst=2e-3, missed=0)


def result(**changes):
    """A passed test of this computer, made now."""
    whole = LatencyResult(
        utc=datetime.now(UTC).isoformat(),
        host=platform.node(),
        kernel=platform.release(),
        rate=200.0,
        fifo=0,
        cpu=None,
        load=True,
        settings=("timer slack is 1 ns",),
        ours=GOOD,
        floor=None,
        floor_note="no floor",
        compute_p50=3e-6,
        compute_p99=None,
        verdict=FIT,
        sentence="fit",
    )
    return dataclasses.replace(whole, **changes)


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Where results are kept, for the time of a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "riderless" / "latency.json"


# ---- statistics ------------------------------------------------------------------------------------------


def test_a_histogram_of_whole_microseconds_gives_percentiles_between_them():
    one_each = Lateness.of(1e-6 * (np.arange(100) + 0.5), bins=200)
    assert one_each.n == 100
    assert one_each.percentile(50) == pytest.approx(50e-6, abs=1e-12)
    assert one_each.percentile(99) == pytest.approx(99e-6, abs=1e-12)
    assert one_each.percentile(100) == pytest.approx(99.5e-6, abs=1e-12)  # never beyond the latest
    assert one_each.worst == pytest.approx(99.5e-6, abs=1e-12)


def test_what_lies_beyond_the_histogram_counts_as_the_latest():
    late = Lateness.of(np.array([1e-6, 2e-6, 0.3, 0.4]), bins=10)
    assert late.counts.sum() == 4
    assert late.counts[-1] == 2
    assert late.percentile(99) == 0.4
    assert late.later_than(5e-6) == 2


def test_exactly_half_a_period_is_missed_and_less_is_not():
    late = Lateness.of(np.array([0.0, 2.4994e-3, 2.5001e-3, 4e-3]), bins=5001)
    assert WakeUps.of(late, period=5e-3).missed == 2
    assert late.later_than(2.5e-3) == 2


def test_slices_add_up_to_the_whole():
    seconds = np.random.default_rng(4).exponential(40e-6, 3000)
    whole = Lateness.of(seconds, 101)
    parts = Lateness.of(seconds[:1000], 101) + Lateness.of(seconds[1000:], 101)
    assert np.array_equal(parts.counts, whole.counts)
    assert parts.worst == whole.worst
    assert whole.percentile(50) == pytest.approx(np.median(seconds), abs=1e-6)


def test_of_nothing_there_is_no_percentile():
    nothing = Lateness.of(np.zeros(0), 10)
    assert nothing.n == 0
    assert np.isnan(nothing.percentile(50))
    assert np.isnan(WakeUps.of(nothing, 0.005).missed_share)


# ---- rule ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "changes", "expected"),
    [
        (200.0, {}, FIT),
        (200.0, {"p999": 1.25e-3}, FIT),  # a quarter of 5 ms
        (200.0, {"p999": 1.26e-3}, CARE),
        (200.0, {"p999": 4e-3, "missed": 40}, CARE),  # one in a hundred of 4000
        (200.0, {"p999": 4e-3, "missed": 41}, UNFIT),
        (200.0, {"worst": 15.0e-3}, FIT),  # three periods
        (200.0, {"worst": 15.1e-3}, UNFIT),
        (1000.0, {}, CARE),  # 1 ms is more than a quarter of 1 ms
        (1000.0, {"worst": 3.1e-3}, UNFIT),
        (200.0, {"n": 1999}, TOO_SHORT),
        (200.0, {"n": 0}, TOO_SHORT),
    ],
)
def test_the_rule_at_its_borders(rate, changes, expected):
    judged, sentence = judge_wake_ups(dataclasses.replace(GOOD, **changes), rate)
    assert judged == expected
    assert sentence.startswith(expected)
    assert f"{rate:g} Hz" in sentence


def test_a_verdict_says_what_was_found_and_what_was_wanted():
    _, sentence = judge_wake_ups(dataclasses.replace(GOOD, p999=2e-3, worst=7e-3, missed=20), 200.0)
    for part in ("2.00 ms", "0.50 %", "7.00 ms", "1.25 ms"):
        assert part in sentence


def test_only_a_good_test_under_load_is_passed():
    assert result().passed
    assert result(verdict=CARE).passed
    assert not result(verdict=UNFIT).passed
    assert not result(verdict=TOO_SHORT).passed
    assert not result(load=False).passed


# ---- memory ----------------------------------------------------------------------------------------------


def test_a_result_survives_json():
    whole = result(floor=GOOD, cpu=1)
    assert LatencyResult.from_dict(json.loads(json.dumps(whole.as_dict()))) == whole


@pytest.mark.parametrize("spoil", [lambda d: d.pop("ours"), lambda d: d.update(ours=3), lambda d: d.update(what=1)])
def test_something_else_is_not_a_result(spoil):
    given = result().as_dict()
    spoil(given)
    with pytest.raises(InputError, match="not the result of a latency test"):
        LatencyResult.from_dict(given)


def test_a_test_is_remembered_for_its_rate_and_priority(state):
    assert recent_latency_result(200.0, 0) is None
    kept = result()
    assert keep_latency_result(kept) == state
    keep_latency_result(result(rate=500.0, fifo=80))
    assert recent_latency_result(200.0, 0) == kept
    assert recent_latency_result(500.0, 80) is not None
    assert recent_latency_result(500.0, 0) is None
    assert recent_latency_result(400.0, 80) is None


@pytest.mark.parametrize("changes", [{"host": "another"}, {"kernel": "1.0"}, {"load": False}, {"verdict": UNFIT}])
def test_what_does_not_vouch_for_this_computer_is_not_given(state, changes):
    keep_latency_result(result(**changes))
    assert recent_latency_result(200.0, 0) is None


def test_a_newer_failure_replaces_an_older_success(state):
    keep_latency_result(result())
    keep_latency_result(result(verdict=UNFIT))
    assert recent_latency_result(200.0, 0) is None


@pytest.mark.parametrize(("age_days", "given"), [(-0.1, False), (0.1, True), (6.9, True), (7.1, False), (400.0, False)])
def test_a_test_ages(state, age_days, given):
    keep_latency_result(result(utc=(datetime.now(UTC) - timedelta(days=age_days)).isoformat()))
    assert (recent_latency_result(200.0, 0, max_age_days=7.0) is not None) is given


@pytest.mark.parametrize("text", ["", "{", "[]", "17", '{"a": 1}', "\udcff", "null"])
def test_a_corrupt_memory_is_no_memory_and_mends_itself(state, text):
    state.parent.mkdir(parents=True)
    state.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert recent_latency_result(200.0, 0) is None
    keep_latency_result(result())
    assert recent_latency_result(200.0, 0) is not None


@pytest.mark.parametrize("change", [{"utc": "yesterday"}, {"utc": None}, {"utc": "2026-01-01T00:00:00"}, {"ours": {}}])
def test_a_corrupt_entry_is_no_entry(state, change):
    keep_latency_result(result())
    kept = json.loads(state.read_text())
    state.write_text(json.dumps({key: {**entry, **change} for key, entry in kept.items()}))
    assert recent_latency_result(200.0, 0) is None


def test_a_folder_that_cannot_be_written_is_told(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    with pytest.raises(InputError, match="cannot be kept in /proc/nowhere"):
        keep_latency_result(result())


def test_a_rig_that_wants_a_test_is_refused_without_one_before_a_port_is_opened(tmp_path, monkeypatch):
    """It waited for ever, disarmed, and said nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rig = rig_of(latency_days=7.0)
    with pytest.raises(InputError, match=r"within 7 days at 200 Hz, found none: run `riderless latency RIG` under"):
        run_realtime(tmp_path / "run", rig, gains(rig), "/dev/no-such-port", 1.0)
    with pytest.raises(InputError, match=r"with priority 20: run `riderless latency RIG --fifo 20`"):
        run_realtime(tmp_path / "run", rig, gains(rig), "/dev/no-such-port", 1.0, fifo=20)
    assert not (tmp_path / "run").exists()
    with pytest.raises(DeviceError, match="no-such-port"):
        run_realtime(tmp_path / "run", rig_of(latency_days=0.0), gains(rig), "/dev/no-such-port", 1.0)
