"""The real-time loop in simulated time: when it wakes, what it answers, what it counts. The clock is a number here.

The loop's own source runs, uncompiled; what it calls (clock, waiting, tick, sending) notes the call and lets time pass.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from riderless.hil.live.layout import STOP_PRESSES
from riderless.hil.loop.states import Demand
from riderless.hil.loop.tick import FAREWELL_FRAMES
from riderless.hil.runners import realtime
from riderless.hil.runners.realtime import BEAT, BEAT_AT, QUIT
from riderless.hil.runners.ring_buffer import DROPPED_ROWS, RING_HEAD, RING_TAIL, TAPE_HEAD, TAPE_TAIL

TAKE_LEAVE = realtime._take_leave.py_func  # its source runs here, as that of the loop
START = 3_000_000_000  # ns
PERIOD = 5_000_001
HALF = 2_500_000
EARLY = 100_000
TAKING, TICKING, REHEARSING = 7_000, 200_000, 30_000  # ns that they last


class Ring:
    """Rows, and how many there are room for."""

    def __init__(self, size):
        self.size, self.rows = size, [SimpleNamespace(place=i, n_wire=None) for i in range(size)]

    def __getitem__(self, place):
        return self.rows[place]


class Beats:
    """A loop of which a test says when samples come; ``log`` holds what it did, ``ticks`` what each tick found."""

    def __init__(self, monkeypatch, device=True, period=PERIOD, ring=8, tape=1000):
        self.t, self.device, self.period, self.log, self.ticks = START, device, period, [], []
        self.orders = SimpleNamespace(beat=0, attended=None, late=None, demand=int(Demand.RUN))
        self.loop = SimpleNamespace(orders=self.orders, counters=SimpleNamespace(ticks_skipped=0))
        self.ghost, self.ring, self.tape, self.length = object(), Ring(ring), np.zeros(tape, np.uint8), 10
        self.wire, self.spare = SimpleNamespace(n_rx=np.zeros(2, int)), object()
        self.flow, self.presses = np.zeros(BEAT_AT + 1, np.int64), np.zeros(STOP_PRESSES + 1, np.int64)
        self.comes, self.before, self.oversleeps = [], {}, 0
        libc = SimpleNamespace(now=lambda scratch: self.t, sleep_until=self.sleep, wait_readable=self.wait)
        for name, fake in {
            "libc": libc,
            "tick": self.tick,
            "await_sample": self.await_sample,
            "_take": self.take,
            "_send": lambda ports, wire, counters: self.log.append("send"),
            "_keep_for_rehearsal": lambda wire, spare: self.log.append("keep" if spare is self.spare else "?"),
            "tape_length": lambda wire: self.length,
            "write_tape": lambda wire, tape, head: head + self.length,
            "farewell": lambda loop, wire: self.log.append("farewell"),
            "_take_leave": TAKE_LEAVE,
        }.items():
            monkeypatch.setattr(realtime, name, fake)

    def run(self, *comes, before=None):
        """As many ticks as there are samples in ``comes`` [ns; None: no sample, a pair: how late it wakes instead]."""
        self.comes, self.before = list(comes), before or {}
        realtime._loop.py_func(
            None,
            0,
            self.device,
            self.period,
            self.loop,
            self.wire,
            None,
            self.ghost,
            self.spare,
            self.ring,
            self.tape,
            self.flow,
            self.presses,
            None,
        )
        return self

    def sleep(self, until, scratch):
        self.log.append(("sleep", until))
        self.t = max(self.t, until + self.oversleeps)

    def wait(self, ports, until, scratch):
        self.log.append(("wait", until))
        at = self.comes[0]
        if isinstance(at, int) and at <= until:
            self.t = max(self.t, at)
            return True
        self.t = max(self.t, until)
        return False

    def await_sample(self, ports, wire, scouts, lead, until, scratch, flow, count):
        self.log.append(("await", until, wire.n_rx.tolist()))
        wire.n_rx[:] = 5
        at = self.comes[0]
        self.t = max(self.t, at if isinstance(at, int) else until + (at[0] if at else 0))
        return isinstance(at, int)

    def take(self, ports, wire, scouts, lead, flow, count):
        self.log.append(("take", wire.n_rx.tolist()))
        wire.n_rx[:] = 5
        late = self.comes[0]
        self.t += TAKING + (late[0] if isinstance(late, tuple) else 0)

    def tick(self, loop, wire, woken, due, row):
        if loop is self.ghost:
            assert wire is self.spare
            self.log.append(("rehearse", woken, due, row.place))
            self.t += REHEARSING
            return
        self.log.append(("tick", woken, due, row.place))
        self.ticks.append((self.orders.attended, self.orders.late, self.orders.demand))
        self.t += TICKING
        del self.comes[0]
        self.before.get(len(self.ticks), lambda: None)()
        self.flow[QUIT] = not self.comes


def s(ns):
    return pytest.approx(ns * 1e-9, rel=1e-15)


END = ["farewell", "send"]


def farewells(t, period=PERIOD):
    """The last frames, a period apart."""
    return [did for i in range(FAREWELL_FRAMES) for did in (*END, ("sleep", t + (i + 1) * period))]


def test_a_tick_answers_its_sample_and_the_next_is_due_a_period_later(monkeypatch):
    due = START + PERIOD
    first = due + 1000
    early = first + PERIOD - 200_000  # before the loop would rehearse
    beats = Beats(monkeypatch).run(first, early, None)
    third = early + PERIOD
    assert beats.log == [
        ("wait", due - EARLY),
        ("rehearse", s(due), s(due), 0),
        ("await", due + HALF, [0, 0]),
        ("tick", s(first), s(due), 0),
        "send",
        "keep",
        ("wait", first + PERIOD - EARLY),
        ("await", first + PERIOD + HALF, [0, 0]),
        ("tick", s(early), s(first + PERIOD), 1),
        "send",
        "keep",
        ("wait", third - EARLY),
        ("rehearse", s(third), s(third), 2),
        ("await", third + HALF, [0, 0]),
        ("tick", s(third + HALF), s(third), 2),
        "send",
        "keep",
        *farewells(third + HALF + TICKING),
    ]
    assert beats.loop.counters.ticks_skipped == 0
    assert [late for _, late, _ in beats.ticks] == [False] * 3
    assert [row.compute for row in beats.ring.rows[:3]] == [s(TICKING)] * 3


def test_by_the_hosts_clock_it_sleeps_to_each_beat_and_reads_then(monkeypatch):
    due = START + PERIOD
    beats = Beats(monkeypatch, device=False)
    beats.oversleeps = 1000
    beats.run(None, None)
    for beat in range(2):
        at = due + beat * PERIOD
        assert beats.log[7 * beat : 7 * beat + 7] == [
            ("sleep", at - EARLY),
            ("rehearse", s(at), s(at), beat),
            ("sleep", at),
            ("take", [0, 0]),
            ("tick", s(at + 1000), s(at), beat),
            "send",
            "keep",
        ]
    assert [row.compute for row in beats.ring.rows[:2]] == [s(TICKING)] * 2, "reading aside"


def test_of_a_short_period_it_rehearses_in_the_last_quarter(monkeypatch):
    beats = Beats(monkeypatch, period=200_000).run(None)
    assert beats.log[0] == ("wait", START + 200_000 - 50_000)


@pytest.mark.parametrize(
    ("over", "late", "skipped"),
    [
        (HALF, False, 0),
        (HALF + 1, True, 0),
        (HALF + 2, True, 1),
        (HALF + 1 + PERIOD, True, 1 + 1),
        (HALF + 2 * PERIOD, True, 2),
    ],
)
def test_a_beat_that_was_missed_is_counted_and_not_made_up_for(monkeypatch, over, late, skipped):
    due = START + PERIOD
    beats = Beats(monkeypatch).run((over,), None, None)
    assert beats.ticks[0][1] == late
    assert beats.loop.counters.ticks_skipped == skipped
    following = due + PERIOD + skipped * PERIOD
    assert beats.log[6] == ("wait", following - EARLY)
    assert following >= due + HALF + over


def test_two_stalls_are_added_up(monkeypatch):
    assert Beats(monkeypatch).run((HALF + 2,), (HALF + 2,)).loop.counters.ticks_skipped == 2


def test_who_has_not_looked_for_a_second_is_not_there(monkeypatch):
    quarter = 250_000_000
    beats = Beats(monkeypatch, device=False, period=quarter)
    at = [START + quarter * k for k in range(1, 13)]

    def look():
        beats.orders.beat = 7

    beats.run(*[None] * 12, before={6: look, 7: look})  # a look that is no new one does not count
    assert [attended for attended, _, _ in beats.ticks] == [True] * 4 + [False] * 2 + [True] * 4 + [False] * 2
    assert (beats.flow[BEAT], beats.flow[BEAT_AT]) == (7, at[6])


@pytest.mark.parametrize(
    ("demand", "presses", "wanted"),
    [
        (Demand.RUN, (0, 1, 2, 3), (Demand.RUN, Demand.STOP, Demand.OFF, Demand.OFF)),
        (Demand.OFF, (0, 1, 2, 3), (Demand.OFF,) * 4),
    ],
)
def test_stop_on_a_page_lowers_the_demand_and_never_raises_it(monkeypatch, demand, presses, wanted):
    found = []
    for pressed in presses:
        beats = Beats(monkeypatch)
        beats.orders.demand, beats.presses[STOP_PRESSES] = int(demand), pressed
        found.append(beats.run(None).ticks[0][2])
    assert tuple(found) == wanted


def test_a_full_ring_drops_rows_and_goes_on(monkeypatch):
    beats = Beats(monkeypatch, ring=4)
    beats.flow[[RING_HEAD, RING_TAIL, TAPE_HEAD, TAPE_TAIL]] = 5, 4, 0, 0
    beats.run(*[None] * 4)
    assert [row for what, *_, row in (d for d in beats.log if d[0] == "tick")] == [1, 2, 3, 3]
    assert (beats.flow[RING_HEAD], beats.flow[DROPPED_ROWS], beats.flow[TAPE_HEAD]) == (7, 2, 20)
    assert [row.n_wire for row in beats.ring.rows] == [None, 10, 10, None]


def test_a_tape_is_filled_to_its_last_byte_and_no_further(monkeypatch):
    beats = Beats(monkeypatch, tape=100)
    beats.length = 35
    beats.flow[[TAPE_HEAD, TAPE_TAIL]] = 95, 30
    beats.run(None, None)
    assert (beats.flow[RING_HEAD], beats.flow[DROPPED_ROWS], beats.flow[TAPE_HEAD]) == (1, 1, 130)
