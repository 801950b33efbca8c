"""Finished runs on the page in a real Chromium: as a whole, and one laid over the other."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.replay.player import Player
from riderless.hil.design.methods import design
from riderless.hil.logs.log import Marker
from riderless.hil.runners.simulated_run import simulate
from riderless.models import load_bicycle
from riderless.models.plant.plant import Kick
from tests.browser import a_browser
from tests.experiments.live.page.looking import a_page, await_that

KICKS = (1.0, 1.6)  # s after the release, of two runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    """Two runs that differ in nothing but the time of their kick."""
    bicycle, folder = load_bicycle("Benchmark"), tmp_path_factory.mktemp("runs")
    gains = design(bicycle, "lqr", [5.0])
    for kick in KICKS:
        run = simulate(bicycle, gains, speed=5.0, duration=4.0, kicks=[Kick(kick, impulse=15.0)], noise=0.1)
        lean_rate = np.abs(run.ticks["phi_dot_est"])
        begin = float(run.ticks["t_host"][np.argmax(lean_rate > 0.05)])
        replace(run, markers=(*run.markers, Marker(begin, "kick", "a push"))).save(folder / str(kick))
    return [folder / str(kick) for kick in KICKS]


def peaks(page) -> list[float]:
    """Time of the greatest lean of each run, as drawn [s]."""
    t, *leans = page.evaluate("riderless.drawn()[0]")
    return [t[int(np.argmax([-9.0 if y is None else y for y in lean]))] for lean in leans]


def test_two_runs_are_laid_over_each_other(runs):
    player, over = Player(*runs), threading.Event()
    with LiveServerProcess(port=0) as server, a_browser() as browser:
        playing = threading.Thread(target=player.serve, args=(server, over.is_set))
        playing.start()
        try:
            with a_page(browser, server.address) as page:
                legend = page.inner_text("#overlay")
                assert all(str(run) in legend for run in runs)
                page.click('#spans >> text="all"')  # of the run, also what was not played yet
                await_that(lambda: page.evaluate("riderless.drawn()[0].length") == 3)
                await_that(lambda: page.evaluate("riderless.drawn()[0][0].at(-1)") > player.end - 0.1)
                assert np.diff(peaks(page)) == pytest.approx(np.diff(KICKS), abs=0.1)
                page.click('#overlay >> text="first kick"')
                await_that(lambda: abs(np.diff(peaks(page))[0]) < 0.1)
                page.click('#overlay >> text="first row"')
                await_that(lambda: abs(np.diff(peaks(page))[0]) > 0.5)
        finally:
            over.set()
            playing.join()
