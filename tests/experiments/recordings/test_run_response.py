"""A run read in stretches gives the response, and the analysis, of the run read as a whole."""

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import _run_of
from riderless.experiments.reports.analyze import analyze
from riderless.hil.logs import log
from riderless.hil.logs.log import read_run
from riderless.hil.logs.stored_rows import StoredRows
from tests.tools.long_log import write_long_log

ROUNDING = 1e-9  # of sums in another order


@pytest.fixture(scope="module", params=[200.0, pytest.param(1000.0, marks=pytest.mark.slow)])
def folder(request, tmp_path_factory):
    return write_long_log(tmp_path_factory.mktemp("log") / "run", 40.0, request.param)


def stretched(folder, monkeypatch, rows):
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    monkeypatch.setattr(run_response, "STRETCH_ROWS", rows)
    told = []
    run = read_run(folder, everything=False, stored=True)
    response = response_of_run(run, lambda done, total: told.append((done, total)))
    return response, told


def known(response):
    """Names of its signals; a run without an excitation has played no torque."""
    names = [name for name in (*run_response.SIGNALS, "free") if getattr(response, name) is not None]
    assert set(run_response.SIGNALS) - set(names) == {"T_played"}
    return names


def test_one_stretch_gives_the_same_bits(folder, monkeypatch):
    whole = response_of_run(read_run(folder))
    response, _ = stretched(folder, monkeypatch, 10**6)
    for name in known(whole):
        assert getattr(response, name).tobytes() == getattr(whole, name).tobytes(), name


def test_a_report_reads_the_rows_of_a_long_log_once(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(log, "LONG_LOG_BYTES", 0)
    _run_of.cache_clear()
    read, whole = [], StoredRows._records

    def counted(self, first, last):
        read.append(last - first)
        return whole(self, first, last)

    monkeypatch.setattr(StoredRows, "_records", counted)
    analyze(folder).write_report(tmp_path / "report")
    _run_of.cache_clear()
    n = len(read_run(folder).ticks)
    assert n <= sum(read) < 1.1 * n  # and single rows, such as the last


@pytest.mark.parametrize("parts", [3, 5])
def test_several_stretches_join_without_a_seam(folder, monkeypatch, parts):
    run = read_run(folder)
    whole = response_of_run(run)
    response, told = stretched(folder, monkeypatch, 2 * len(run.ticks) // parts)
    assert known(response) == known(whole)
    for name in known(whole):
        found, wanted = getattr(response, name), getattr(whole, name)
        assert found.shape == wanted.shape, name
        assert np.abs(found.astype(float) - wanted.astype(float)).max() < ROUNDING, name
    assert (response.markers, response.remarks) == (whole.markers, whole.remarks)
    assert response.states == whole.states
    assert [span.state.name for span in whole.states][-2:] == ["RAMPDOWN", "DISARMED"]
    assert told[-1] == (len(run.ticks), len(run.ticks))
    assert len(told) in (parts, parts + 1)
    one, other = analyze_responses([whole]), analyze_responses([response])
    assert len(one.comparisons) == len(other.comparisons) >= 4
    for a, b in zip(one.comparisons, other.comparisons, strict=True):
        assert (a.window.start, a.window.stop, a.window.rule) == (b.window.start, b.window.stop, b.window.rule)
        assert abs(a.fit.eigenvalue - b.fit.eigenvalue) < 1e-7
        # the noise of the instruments is a mean over stretches
        assert (b.z_re, b.z_im) == pytest.approx((a.z_re, a.z_im), rel=1e-2)


def test_a_run_that_was_silent_across_a_seam_is_bridged_as_a_whole_one_is(folder, monkeypatch):
    run = read_run(folder)
    n = len(run.ticks)
    ticks = run.ticks.copy()
    ticks["valid"][n // 2 - n // 8 : n // 2 + n // 8] = 0  # ten seconds, in the middle of which the seam lies
    whole = response_of_run(log.Run(run.folder, run.header, ticks, run.markers, {}, run.stop, True, ""))
    cut = run.folder.parent / "silent"
    if not cut.exists():
        log.Run(run.folder, run.header, ticks, run.markers, {}, run.stop, True, "").save(cut)
    response, _ = stretched(cut, monkeypatch, n - 1)
    assert np.array_equal(response.free, whole.free)
    assert np.abs(response.phi_dot - whole.phi_dot).max() < ROUNDING
    assert response.remarks == whole.remarks
    assert "no samples" in response.remarks[0]
