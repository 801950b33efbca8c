"""The page in a real Chromium while the loop rides in real time: what is pressed reaches it, nothing else does."""

import os
import signal

import numpy as np
import pytest

from riderless.hil.live.feed import open_feed
from riderless.hil.loop.states import Demand, State
from riderless.hil.runners.operator import NOBODY_THERE
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.hil.runners.replay import replay
from tests.browser import a_browser
from tests.experiments.live.page.looking import a_page
from tests.experiments.live.page.riding import NOTE_PRESSES, a_ride, pressed_at

pytestmark = pytest.mark.realtime
BUSY = 0.5  # s that are let pass on a computer that does other things: `tests.tools.bench_page` has the figure


@pytest.fixture(scope="module")
def browser():
    with a_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def feed():
    made = open_feed()
    assert made is not None
    return made


def test_a_click_ramps_down(browser, feed, tmp_path):
    with a_ride(tmp_path / "run", feed) as ride, a_page(browser, ride.server.address) as page:
        page.evaluate(NOTE_PRESSES)
        ride.start()
        ride.await_control()
        page.click("#stop")
        run = ride.run()
        (pressed,) = pressed_at(page)
    assert (ride.outcome.reason, ride.outcome.cause) == ("abort", STOPPED_ON_PAGE)
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    assert set(ramp["demand"]) == {Demand.STOP}
    assert 0.0 < ramp["t_host"][0] - pressed < BUSY
    assert replay(run).identical


def test_the_space_bar_stops_and_the_second_press_switches_off(browser, feed, tmp_path):
    with a_ride(tmp_path / "run", feed) as ride, a_page(browser, ride.server.address) as page:
        ride.start()
        ride.await_control()
        page.keyboard.press("Space")
        page.keyboard.press("Space")
        run = ride.run()
    said = [mark.text for mark in run.markers if mark.kind == "operator"]
    assert said == ["STOP on the live page, ramps down", "STOP on the live page, again: off at once"]
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    assert set(ramp["demand"]) <= {Demand.STOP, Demand.OFF}
    after = run.ticks[run.ticks["k"] > ramp["k"][-1]]
    assert set(after["T_cmd"]) == {0.0}
    assert set(after["state"]) <= {State.DISARMED, State.FAULT}


@pytest.mark.slow
def test_a_present_operator_whose_page_is_gone_ramps_down(browser, feed, tmp_path):
    with a_ride(tmp_path / "run", feed, present=True) as ride:
        with a_page(browser, ride.server.address):
            ride.start()
            ride.await_control()
        run = ride.run()
    assert (ride.outcome.reason, ride.outcome.cause) == ("abort", NOBODY_THERE)
    gone = feed.presses[1] * 1e-9
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    assert 1.0 <= ramp["t_host"][0] - gone < 1.0 + BUSY


@pytest.mark.slow
def test_pages_come_and_go_and_the_server_dies_and_the_ride_goes_on(browser, feed, tmp_path, monkeypatch):
    with a_ride(tmp_path / "run", feed, 12.0) as ride:
        with a_page(browser, ride.server.address) as one, a_page(browser, ride.server.address) as two:
            ride.start()
            ride.await_control()
            one.reload()
            one.wait_for_selector('body[data-news="yes"]')
            os.kill(ride.server.pid, signal.SIGKILL)
            for page in (one, two):
                page.wait_for_selector("text=not live since")
            port, token = ride.server.port, ride.server.token
            monkeypatch.setattr("riderless.experiments.live.launch.new_token", lambda: token)
            ride.server.close()
            ride.server = ride.new_server(port)
            for page in (one, two):
                page.wait_for_selector('body[data-news="yes"]')
        run = ride.run()
    assert ride.outcome.reason == "success", ride.outcome
    assert (np.diff(run.ticks["k"].astype(np.int64)) == 1).all(), "nothing is lost"
