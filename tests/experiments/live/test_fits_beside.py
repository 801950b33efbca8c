"""Fits beside a machine: each run has its own, and what ends their process or a fit ends nothing else."""

import re
import threading
import time
from contextlib import contextmanager

import pytest
from websockets.sync.client import connect

from riderless.experiments.live.beside import LiveTeller
from riderless.experiments.live.fits import Fitter, ToldFits
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.schema import LiveFit
from riderless.hil.logs.log import read_run
from riderless.hil.runners.simulated_run import run_lockstep
from tests.experiments.live.fitters import fitter_in_turn, killed_fitter
from tests.experiments.live.shared_memory import areas, hear, make_rows, new_feed, socket_address
from tests.hil.machine import gains, rig_of, scenario

SLOW, QUICK = 4.5, 5.5  # m/s


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of a campaign, whose kicks are at the same times, by their speed."""
    rig, folders = rig_of(), {}
    for v in (SLOW, QUICK):
        folders[v] = tmp_path_factory.mktemp("campaign") / f"run-{v}"
        run_lockstep(folders[v], rig, gains(rig, "poles", zeta=0.2), scenario(v), 5.0)
    return folders


def begin(feed, folder):
    """Begin a run as a campaign does; its log is whole already."""
    feed.begin({"folder": str(folder), "rate": 200.0, "header": read_run(folder).header.to_json()})
    make_rows(feed, 1100)


@contextmanager
def told():
    """Feed of this process, a page that hears what is told of it, and the thread that tells."""
    feed, over = new_feed(), threading.Event()
    with LiveServerProcess(port=0) as server:
        telling = threading.Thread(target=LiveTeller(server, look=areas).serve, args=(over.is_set,))
        with connect(socket_address(server.address), max_size=None, max_queue=None) as page:
            try:
                yield feed, page, telling
            finally:
                over.set()
                telling.join()


def test_a_window_whose_end_more_rows_move_is_told_once():
    def fit(t):
        return LiveFit(t_start=t, speed=4.6, mode="weave", re=-1.0, im=4.0, u_re=0.1, u_im=0.1)

    told = ToldFits()
    assert [told.is_new(fit(t)) for t in (9.94, 9.96, 13.2, 13.6, 9.8)] == [True, False, True, False, False]


def test_fits_that_come_late_are_not_shown_as_those_of_the_next_run(runs, monkeypatch):
    monkeypatch.setattr("riderless.experiments.live.fits.new_fitter", fitter_in_turn)
    with told() as (feed, page, telling):
        begin(feed, runs[SLOW])
        telling.start()
        hear(page, "status")
        hear(page, "status")  # fits were asked for with the first; they take seconds
        begin(feed, runs[QUICK])
        while hear(page, "hello")["run"] != str(runs[QUICK]):
            pass
        assert hear(page, "fit", 90.0)["speed"] == pytest.approx(QUICK, abs=0.1)


def test_a_killed_fit_process_ends_fits_and_nothing_else(runs):
    with told() as (feed, page, telling):
        begin(feed, runs[SLOW])
        with killed_fitter():
            telling.start()
        while "no more fits" not in (text := hear(page, "event", 30.0)["text"]):
            pass
        assert "found that their process has died" in text
        begin(feed, runs[QUICK])  # and the next run is told as before, and asks for none
        while hear(page, "hello")["run"] != str(runs[QUICK]):
            pass
        assert hear(page, "status")["code"]
        assert telling.is_alive()


@pytest.mark.parametrize(("how", "found"), [({}, "has died"), ({"shape": "round"}, "TypeError: .*shape")])
def test_a_fitter_that_fails_says_so_once(runs, how, found):
    said = []
    with Fitter(said.append) as fitter:
        if how:
            fitter.ask(runs[SLOW], **how)  # a fit with an error that nobody foresaw
        else:
            with killed_fitter():
                fitter.ask(runs[SLOW])
        end = time.monotonic() + 60.0
        while fitter.found() is None and not said and time.monotonic() < end:
            time.sleep(0.02)
        assert (fitter.free, fitter.found()) == (False, None)
    (sentence,) = said
    assert re.search(f"no more fits: .*{found}", sentence)
