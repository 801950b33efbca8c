"""Memory that the search for windows takes beside the signals of a recording of hours, in arrays as long as these."""

import mmap
import re
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.analysis.estimators.uncertainty import fit_window
from experiments.analysis.onsets.kicks import KickRules, find_kicks
from experiments.analysis.steer_parts.steer_stops import find_steer_stops
from experiments.analysis.windows.cut import make_window
from experiments.analysis.windows.refuse import rejected_not_free
from experiments.datatypes import Comparison, Prediction
from experiments.recordings.runs import release_markers
from experiments.reports.page.window_pictures import window_picture
from experiments.reports.timeline.figure import timeline_figure
from experiments.reports.timeline.recorded import Timeline
from tests.experiments.pushed import pushed

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
    fit, predicted = fit_window(long, window, "single_mode"), Prediction("weave", -1 + 5j, -1 + 5j, (1.0, 1.0))
    compared = Comparison(window, fit, predicted, 0.0, 0.0)
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
        replace(long, phi=y).forget()
        assert mapped_megabytes() - before < 5.0
        assert y.sum() == total
