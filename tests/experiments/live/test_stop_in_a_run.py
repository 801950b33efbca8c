"""STOP clicked on a page while the loop runs in real time against an emulated machine in its own process."""

import os
import threading
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from experiments.emulation.spawn import start_twin
from experiments.live.launch import LiveServerProcess
from hil.live import layout
from hil.live.feed import open_feed
from hil.logs.log import read_run
from hil.loop.states import Cause, Demand, State
from hil.runners.realtime import STOPPED_ON_PAGE
from hil.runners.replay import replay
from hil.runners.session import run_realtime
from tests.experiments.live.test_server import HELLO
from tests.hil.machine import gains, rig_of, scenario

FIFO = 20  # where this machine gives it


def read_on(page):
    """Read what a page is sent until it is closed."""
    with suppress(ConnectionClosed):
        for _ in page:
            pass


@pytest.mark.realtime
def test_a_click_ramps_down_is_named_in_the_log_and_replays(tmp_path):
    rig, feed, began = rig_of(), open_feed(), []
    assert feed is not None
    with LiveServerProcess(port=0) as server:
        server.tell(HELLO)
        server.read_run(layout.areas_of(os.getpid()))
        with connect(f"ws://127.0.0.1:{server.port}/ws", max_size=None) as page:
            threading.Thread(target=read_on, args=(page,), daemon=True).start()

            def watch(row):
                if int(row["state"]) == State.RUNNING and not began:
                    began.append(float(row["t_host"]))
                    threading.Timer(0.7, page.send, ['{"type":"stop"}']).start()

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
