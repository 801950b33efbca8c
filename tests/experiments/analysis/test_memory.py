"""Memory that the search for windows takes beside the signals of a recording of hours, in arrays as long as these."""

import mmap
import re
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.analysis.analyze import analyze_responses
from riderless.experiments.analysis.comparison.process_noise import driven_share, estimate_process_noise
from riderless.experiments.analysis.estimators.uncertainty import fit_window
from riderless.experiments.analysis.verdict.nonlinear_causes import RiddenWindows
from riderless.experiments.analysis.verdict.uncertain_parameters import ParameterSearch, linear_predictions
from riderless.experiments.analysis.windows.cut import make_window
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.analysis.windows.kicks import KickRules, find_kicks
from riderless.experiments.analysis.windows.refuse import rejected_not_free
from riderless.experiments.analysis.windows.steer_stops import find_steer_stops
from riderless.experiments.datatypes import Comparison, Marker, Prediction, ProcessNoise, Segment
from riderless.experiments.recordings import run_response
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import release_markers
from riderless.experiments.reports.page.window_pictures import window_picture
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import Timeline
from riderless.hil.logs import log
from riderless.hil.logs.log import read_run
from tests.experiments.pushed import pushed
from tests.experiments.simulated import with_response
from tests.tools.long_log import write_long_log

TIMES = 600  # so often the pushes of one recording: nearly three hours at 200 Hz
FIXED = 8e6  # bytes that no length changes


@pytest.fixture(scope="module")
def long():
    """Response of a bicycle pushed again and again, its steer as its lean rate, and free but for its seams."""
    response, _ = pushed(5.0, 0.003)
    rate, free = np.tile(response.phi_dot, TIMES), np.ones(len(response.t) * TIMES, bool)
    free[:: len(response.t)] = False
    t = response.t[0] + response.dt * np.arange(len(rate))
    return replace(response, kind="riderless", t=t, phi_dot=rate, v=np.full(len(t), 5.0), delta=0.3 * rate, free=free)


def arrays_taken(long, work):
    """Arrays (n,) of floats that some work takes at most."""
    work()  # what it imports and keeps
    tracemalloc.start()
    try:
        work()
        return (tracemalloc.get_traced_memory()[1] - FIXED) / long.t.nbytes
    finally:
        tracemalloc.stop()


def test_the_search_for_kicks_takes_three_arrays(long):
    assert len(find_kicks(long, KickRules())) > TIMES
    assert arrays_taken(long, lambda: find_kicks(long, KickRules())) < 3.0  # it took 4.8


def test_the_search_for_steer_stops_takes_two(long):
    assert arrays_taken(long, lambda: find_steer_stops([long])) < 2.0  # it took 2.6


@pytest.mark.parametrize("work", [rejected_not_free, lambda r: release_markers(r.t, r.free)])
def test_edges_of_the_free_parts_take_none(long, work):
    assert len(work(long)) == TIMES
    assert arrays_taken(long, lambda: work(long)) < 1.0  # they took 1.5 and 2.5


def test_pictures_of_windows_take_none(long):
    window = make_window(long, 1000, 1600)
    fit, predicted = fit_window(Segment(long, window), "single_mode"), Prediction("weave", -1 + 5j, -1 + 5j, (1.0, 1.0))
    compared = Comparison(Segment(long, window), fit, predicted, 0.0, 0.0)
    assert arrays_taken(long, lambda: window_picture(1, long, compared)) < 0.2  # it took 0.5


def test_a_picture_over_time_takes_none(long):
    timeline = Timeline(replace(long, phi=long.delta), (), ())
    assert arrays_taken(long, lambda: timeline_figure(timeline)) < 1.0  # it took 1.5


def test_signals_that_are_forgotten_count_no_longer_and_are_read_again(long):
    def mapped_megabytes():
        return int(re.search(r"RssFile:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024

    with tempfile.TemporaryFile() as file:
        file.write(np.arange(4e6).tobytes())
        file.flush()
        y = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        before, total = mapped_megabytes(), y.sum()
        assert mapped_megabytes() - before > 25.0
        replace(long, phi=y).release_memory()
        assert mapped_megabytes() - before < 5.0
        assert y.sum() == total


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Windows of a run of two minutes, read as those of hours are: its signals are mapped from files."""
    folder = write_long_log(tmp_path_factory.mktemp("long") / "run", 120.0, 200.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "LONG_LOG_BYTES", 0)
        patch.setattr(run_response, "STRETCH_ROWS", 8000)
        response = response_of_run(read_run(folder, everything=False, stored=True))
    noise = ProcessNoise(0.01 * np.eye(2), 1.0)
    group = [with_response(c, process_noise=noise) for c in analyze_responses([response]).comparisons]
    assert len(group) > 10
    return response, group


def signals_in_memory():
    """Bytes of the signals of long recordings, which lie in files without a name, that count as memory used."""
    sizes = re.findall(r"\(deleted\)\nSize:.*\n(?:.*\n)*?Rss:\s+(\d+) kB", Path("/proc/self/smaps").read_text())
    return 1024 * sum(map(int, sizes))


@pytest.mark.parametrize(
    "work",
    [
        lambda group: find_windows(group[0].segment.response),
        lambda group: find_windows(replace(group[0].segment.response, markers=(Marker(0.0, "release"),))),
        lambda group: linear_predictions(group, {}),
        lambda group: (search := ParameterSearch(group)).predictions(np.zeros(len(search.names))),
        estimate_process_noise,
        driven_share,
        RiddenWindows,
    ],
    ids=["windows", "releases", "linear", "predictions", "process noise", "share", "ridden"],
)
def test_work_over_all_of_a_recording_keeps_no_signals_in_memory(long_run, work):
    response, group = long_run
    response.release_memory()
    before = signals_in_memory()
    assert np.isfinite(response.phi_dot).all()
    assert signals_in_memory() - before > response.phi_dot.nbytes // 2
    response.release_memory()
    work(group)
    assert signals_in_memory() == before
