"""The keeper of a run: what it writes, and the moments it marks."""

from collections import deque
from types import SimpleNamespace

import numpy as np

from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.runners.log_sink import Keeper

TAPE = np.arange(3, dtype=np.uint8)


class Sink:
    """Keeps what a log would be given."""

    def __init__(self):
        self.rows, self.tapes, self.markers = [], [], []

    def write(self, rows, tape):
        self.rows.append(rows.copy())
        self.tapes.append(tape)

    def marker(self, t, kind, text=""):
        self.markers.append((t, kind, text))


def batch(*states, first=0, late=()):
    """Rows 0.5 s apart that begin with the tick ``first``, woken 2 ms after they were due."""
    rows = np.zeros(len(states), TICK)
    rows["state"] = states
    rows["k"] = first + np.arange(len(states))
    rows["t_host"] = 10.0 + 0.5 * rows["k"]
    rows["t_due"] = rows["t_host"] - 2e-3
    rows["late"][list(late)] = 1
    return rows


def test_rows_and_tape_are_handed_on_as_they_are():
    sink, rows = Sink(), batch(State.DISARMED, State.DISARMED)
    Keeper(sink)(rows, TAPE)
    assert (sink.rows[0] == rows).all()
    assert sink.tapes[0] is TAPE
    assert sink.markers == []


def test_every_change_of_state_is_marked_within_batches_and_between_them():
    sink = Sink()
    keep = Keeper(sink)
    keep(batch(State.DISARMED, State.CHECK, State.CHECK, State.ARMED), TAPE)
    keep(batch(State.ARMED, State.ARMED, first=4), TAPE)
    keep(batch(State.RUNNING, State.FAULT, first=6), TAPE)
    assert sink.markers == [
        (10.5, "state", "CHECK"),
        (11.5, "state", "ARMED"),
        (13.0, "state", "RUNNING"),
        (13.5, "state", "FAULT"),
    ]


def test_marks_of_others_are_written_once_and_in_their_order():
    sink, marks = Sink(), deque([(1.0, "kick", "left"), (2.0, "note", "")])
    keep = Keeper(sink, marks=marks)
    keep(batch(State.DISARMED), TAPE)
    keep(batch(State.DISARMED, first=1), TAPE)
    assert sink.markers == [(1.0, "kick", "left"), (2.0, "note", "")]
    assert not marks


def test_the_first_late_tick_is_told_and_only_that():
    sink = Sink()
    keep = Keeper(sink)
    keep(batch(State.DISARMED), TAPE)
    assert keep.late == ""
    keep(batch(State.DISARMED, State.DISARMED, first=1, late=(1,)), TAPE)
    told = keep.late
    assert told.startswith("tick 2 in state DISARMED woke 2.0 ms after it was due")
    keep(batch(State.DISARMED, first=3, late=(0,)), TAPE)
    assert keep.late == told
    assert sink.markers == [(11.0, "late", told)]


def test_what_a_batch_marks_stands_in_the_order_of_time():
    sink = Sink()
    keep = Keeper(sink, marks=deque([(10.7, "kick", "left"), (10.2, "note", "")]))
    keep(batch(State.DISARMED, State.CHECK, State.CHECK, State.ARMED, late=(2,)), TAPE)
    assert [(t, kind) for t, kind, _ in sink.markers] == [
        (10.2, "note"),
        (10.5, "state"),
        (10.7, "kick"),
        (11.0, "late"),
        (11.5, "state"),
    ]


def test_a_tick_that_came_long_after_its_time_is_told_with_it():
    rows = batch(State.RUNNING, late=(0,))
    rows["t_due"] = rows["t_host"] - 5.0
    keep = Keeper(Sink())
    keep(rows, TAPE)
    assert "woke 5000.0 ms after it was due" in keep.late


def test_a_fall_is_marked_once_and_what_the_model_no_longer_covers_whenever_it_changes():
    sink, plant = Sink(), SimpleNamespace(fall="", status="")
    keep = Keeper(sink, plant)
    keep(batch(State.DISARMED), TAPE)
    assert (keep.fall, sink.markers) == ("", [])
    plant.status = "a wheel has lifted"
    keep(batch(State.DISARMED, State.DISARMED, first=1), TAPE)
    keep(batch(State.DISARMED, first=3), TAPE)
    plant.fall, plant.status = "lean beyond 60 deg", ""
    keep(batch(State.DISARMED, first=4), TAPE)
    plant.fall, plant.status = "another", "a wheel has lifted"
    keep(batch(State.DISARMED, first=5), TAPE)
    assert keep.fall == "lean beyond 60 deg"
    assert sink.markers == [
        (11.0, "model", "a wheel has lifted"),
        (12.0, "fall", "lean beyond 60 deg"),
        (12.5, "model", "a wheel has lifted"),
    ]
