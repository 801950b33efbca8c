"""What runs beside the real-time loop: looks at its newest row, orders, presses on a page, the end. No thread runs."""

import os
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_SENSORS
from riderless.hil.live.layout import STOP_PRESSES
from riderless.hil.loop.states import Demand
from riderless.hil.loop.tick_record import TICK
from riderless.hil.runners import realtime
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.realtime import BEAT_AT, QUIT, STOPPED_ON_PAGE, heed_presses, run_loop, warm_up_loop
from tests.hil.loop.scripted import Scripted

FDS = [1001, 1002]


def row_at(t):
    row = np.zeros(1, TICK)[0]
    row["t_host"] = t
    return row


class Around:
    """A run whose loop's thread, recorder and operator do what a test says; ``log`` holds what became of them."""

    def __init__(self, monkeypatch, rows, keeps_up=(), alive=99, ends_at=None):
        self.scripted = Scripted(roles=(ROLE_DRIVE, ROLE_SENSORS))
        self.loop, self.log, self.looks, self.alive, self.ends_at = self.scripted.loop, [], [], alive, ends_at
        self.rows, self.takes = list(rows), list(keeps_up)
        self.loop.orders["demand"] = Demand.OFF
        self.operator = Operator(9.0)
        self.operator.watch = lambda row: self.look("operator", row)
        self.operator.finished = lambda t: t == self.ends_at
        self.operator.heeding_signals = self.heeding
        monkeypatch.setattr(realtime.threading, "Thread", self.thread)
        monkeypatch.setattr(realtime, "Recorder", self.recorder)
        monkeypatch.setattr(realtime, "privileges", self.privileges)
        monkeypatch.setattr(realtime, "_loop", self.compiled)
        monkeypatch.setattr(realtime, "heed_presses", self.heed)

    def run(self, **how):
        how = {"rate": 200.0, "watch": lambda row: self.look("watch", row)} | how
        return run_loop(FDS, self.loop, how.pop("rate"), self.operator, self.record, **how)

    def record(self, rows, tape):
        """Not called: there is no recorder."""

    @contextmanager
    def heeding(self):
        self.log.append("heed signals")
        yield
        self.log.append("signals as before")

    @contextmanager
    def privileges(self, fifo, cpu):
        self.log.append(("privileges", fifo, cpu))
        yield

    def thread(self, target, **how):
        assert how == {"name": "tick", "daemon": True}, "it must not keep a program that fails alive"

        def start():
            self.log.append(("start", int(self.loop.orders["demand"])))
            target()

        def join(timeout):
            self.alive -= 1
            self.log.append(("join", timeout))

        return SimpleNamespace(start=start, join=join, is_alive=lambda: self.alive > 0, ident=1)

    def recorder(self, record, flows, feed):
        assert record == self.record
        self.feed, around = feed, self

        class Given:
            ring, tape, flow = np.zeros(3, TICK), np.zeros(5, np.uint8), np.zeros(flows, np.int64)
            loop_failure = None
            keeps_up = property(lambda self: around.takes.pop(0) if around.takes else True)

            def start(self):
                around.log.append("record")

            def newest(self):
                return around.rows.pop(0) if around.rows else None

            def finish(self):
                around.log.append("recorded")

        self.given = Given()
        return self.given

    def compiled(self, *given):
        self.arguments = given

    def heed(self, operator, pressed, t):
        assert operator is self.operator
        self.looks.append(("heed", pressed, t))

    def look(self, who, row):
        orders = self.loop.orders
        self.looks.append((who, float(row["t_host"]), int(orders["beat"]), int(orders["recording"])))
        self.operator.demand = Demand.ARM


END = [("join", 2.0), "recorded"]


def test_each_look_beats_asks_the_recorder_and_shows_the_newest_row(monkeypatch):
    around = Around(monkeypatch, [None, row_at(5.0), row_at(6.0)], keeps_up=(True, True, False), ends_at=6.0)
    recorder = around.run(fifo=20, cpu=1)
    assert around.looks == [
        ("heed", 0, 5.0),
        ("operator", 5.0, 2, 1),
        ("watch", 5.0, 2, 1),
        ("heed", 0, 6.0),
        ("operator", 6.0, 3, 0),
        ("watch", 6.0, 3, 0),
    ]
    look = ("join", 0.02)
    begins = ["heed signals", "record", ("start", Demand.RUN), ("privileges", 20, 1)]
    assert around.log == [*begins, look, look, look, "signals as before", *END]
    assert recorder is around.given
    assert recorder.flow[QUIT] == 1
    assert around.loop.orders["demand"] == Demand.OFF


def test_what_the_operator_wants_is_ordered_after_each_look(monkeypatch):
    around, ordered = Around(monkeypatch, [row_at(1.0)], ends_at=1.0), []
    around.run(watch=lambda row: ordered.append(int(around.loop.orders["demand"])))
    assert ordered == [Demand.ARM]


def test_a_run_without_a_watcher_ends_with_its_thread(monkeypatch):
    around = Around(monkeypatch, [row_at(t) for t in range(5)], alive=2)
    around.run(watch=None)
    assert [look[:2] for look in around.looks] == [("heed", 0), ("operator", 0.0), ("heed", 0), ("operator", 1.0)]
    assert around.log[-2:] == END


def test_whatever_a_watcher_does_the_loop_is_told_to_quit(monkeypatch):
    around = Around(monkeypatch, [row_at(1.0)])

    def fail(row):
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="screen is gone"):
        around.run(watch=fail)
    assert around.log[-2:] == END
    assert around.given.flow[QUIT] == 1
    assert around.loop.orders["demand"] == Demand.OFF


@pytest.mark.parametrize(("clock", "device"), [("device", True), ("host", False)])
def test_the_loop_has_its_ports_its_period_and_a_ghost_with_a_state_of_its_own(monkeypatch, clock, device):
    around = Around(monkeypatch, [], alive=1)
    around.run(rate=3.0, clock=clock)
    names = "ports lead device_clock period loop wire scouts ghost spare ring tape flow presses scratch"
    given = SimpleNamespace(**dict(zip(names.split(), around.arguments, strict=True)))
    assert given.ports["fd"].tolist() == FDS
    assert (given.lead, given.device_clock, given.period) == (1, device, 333_333_333)
    assert given.loop is around.loop
    assert given.ghost.orders is around.loop.orders, "one demand for both"
    for part in ("supervisor", "estimate", "links", "pulse"):
        assert not np.shares_memory(getattr(given.ghost, part), getattr(around.loop, part)), part
    assert not np.shares_memory(given.scouts, around.loop.links)
    assert given.wire.rx.shape[0] == given.spare.rx.shape[0] == 2
    assert not np.shares_memory(given.wire.rx, given.spare.rx)
    assert given.flow.size > BEAT_AT
    assert given.ring is around.given.ring
    assert given.tape is around.given.tape
    assert given.presses.tolist() == [0], "nobody can press"


def test_presses_on_a_page_reach_loop_and_operator(monkeypatch):
    around = Around(monkeypatch, [row_at(4.0)], ends_at=4.0)
    feed = SimpleNamespace(presses=np.array([0] * STOP_PRESSES + [2], np.int64))
    around.run(feed=feed)
    assert around.feed is feed
    assert around.arguments[-2] is feed.presses
    assert around.looks[0] == ("heed", 2, 4.0)


def test_what_is_warmed_up_is_the_loop_itself_told_to_quit(monkeypatch):
    around, found = Around(monkeypatch, []), []

    def compiled(ports, *given):
        found.append((len(ports), [os.get_blocking(fd) for fd in ports["fd"].tolist()], given[-3][QUIT]))
        around.compiled(*given)

    monkeypatch.setattr(realtime, "_loop", compiled)
    warm_up_loop(around.loop)
    assert found == [(2, [False, False], 1)]
    assert around.arguments[3] is around.loop


def test_the_first_press_ramps_down_the_second_switches_off_and_each_counts_once():
    operator = Operator(9.0)
    heed_presses(operator, 0, 1.0)
    assert (operator.demand, operator.interrupted, list(operator.marks)) == (Demand.RUN, "", [])
    first = (2.0, "operator", "STOP on the live page, ramps down")
    for t in (2.0, 3.0):
        heed_presses(operator, 1, t)
        assert (operator.demand, operator.interrupted, operator.presses) == (Demand.STOP, STOPPED_ON_PAGE, 1)
        assert list(operator.marks) == [first]
    heed_presses(operator, 3, 4.0)
    again = (4.0, "operator", "STOP on the live page, again: off at once")
    assert (operator.demand, operator.presses, list(operator.marks)) == (Demand.OFF, 3, [first, again, again])
