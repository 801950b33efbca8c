"""STOP clicked on a page while the loop runs in real time against an emulated machine in its own process."""

import json
import os
import threading
import time
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.live.launch import LiveServerProcess
from riderless.hil.live import layout
from riderless.hil.live.feed import open_feed
from riderless.hil.logs.log import read_run
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.runners.realtime import STOPPED_ON_PAGE
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import run_realtime
from tests.experiments.live.shared_memory import socket_address
from tests.experiments.live.test_server import HELLO
from tests.hil.machine import gains, rig_of, scenario

FIFO = 20  # where this machine gives it


def read_on(page):
    """Read what a page is sent until it is closed."""
    with suppress(ConnectionClosed):
        for _ in page:
            pass


def press_until_heard(address, patience=3.0):
    """Press STOP as the browser's page does: say it again, on a new connection where the old one was cut, until heard.

    The server drops a page that is too slow, and beside a loop of high priority the reader above can be that.
    """
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with suppress(ConnectionClosed, TimeoutError, OSError), connect(address, max_size=None) as page:
            page.send('{"type":"stop","press":"the only one"}')
            while time.monotonic() < until:
                if json.loads(page.recv(timeout=0.3))["type"] == "heard":
                    return


@pytest.mark.realtime
def test_a_click_ramps_down_is_named_in_the_log_and_replays(tmp_path):
    rig, feed, began = rig_of(), open_feed(), []
    assert feed is not None
    with LiveServerProcess(port=0) as server:
        server.tell(HELLO)
        server.read_run(layout.areas_of(os.getpid()))
        address = socket_address(server.address)
        with connect(address, max_size=None) as page:
            threading.Thread(target=read_on, args=(page,), daemon=True).start()

            def watch(row):
                if int(row["state"]) == State.RUNNING and not began:
                    began.append(float(row["t_host"]))
                    threading.Timer(0.7, press_until_heard, [address]).start()

            with start_twin(rig, scenario(kicks=()), fifo=FIFO) as twin:
                folder = tmp_path / "run"
                outcome = run_realtime(folder, rig, gains(rig), twin.paths, 8.0, fifo=FIFO, feed=feed, watch=watch)
    run = read_run(folder)
    assert (outcome.reason, outcome.cause) == ("abort", STOPPED_ON_PAGE)
    assert [mark.text for mark in run.markers if mark.kind == "operator"] == ["STOP on the live page, ramps down"]
    assert set(run.ticks["state"]) >= {State.RUNNING, State.RAMPDOWN}
    ramp = run.ticks[run.ticks["state"] == State.RAMPDOWN]
    assert set(ramp["demand"]) == {Demand.STOP}
    assert set(ramp["cause"]) == {Cause.OPERATOR_STOP}
    assert replay(run).identical
    assert feed.presses[layout.STOP_PRESSES] == 0, "it does not hold for the next run"
