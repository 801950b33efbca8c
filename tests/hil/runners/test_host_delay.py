"""Runs that the computer ended are told from those that the machine ended, by the times in their rows."""

import numpy as np
import pytest

from riderless.hil.loop.states import Cause
from riderless.hil.loop.tick_record import TICK
from riderless.hil.runners.operator import Outcome, host_delay

RATE = 200.0
AT, AGE, LOOP_LATE, CLOCK_LATE = 400, 0.001, 0.034, 0.041  # tick of the cause; s


def rows_of(cause: Cause, loop_late: float = 0.0, clock_late: float = 0.0) -> np.ndarray:
    """Three seconds of a run that ``cause`` ended: how late [s] its loop woke, and its device's clock fell behind."""
    rows = np.zeros(600, TICK)
    rows["t_due"] = rows["t_host"] = 100.0 + np.arange(len(rows)) / RATE
    rows["t"], rows["valid"] = rows["t_host"] - AGE, 1
    rows["t_host"][AT - 1] += loop_late
    rows["t"][AT + 10 :] -= clock_late
    rows["valid"][AT - 9 : AT + 10] = 0  # what no sample comes in
    rows["cause"][AT:] = cause
    return rows


@pytest.mark.parametrize(
    ("rows", "emulated", "delay"),
    [
        (rows_of(Cause.DRIVE_WATCHDOG, loop_late=LOOP_LATE), False, LOOP_LATE),
        (rows_of(Cause.STALE_SAMPLE, clock_late=CLOCK_LATE), True, CLOCK_LATE),
        (rows_of(Cause.STALE_SAMPLE, clock_late=CLOCK_LATE), False, 0.0),  # a real device was silent
        (rows_of(Cause.STALE_SAMPLE), True, 0.0),  # samples were lost, and the bicycle's clock went on
        (rows_of(Cause.STALE_SAMPLE, loop_late=0.5 / RATE), False, 0.0),  # as in every tick without a sample
        (rows_of(Cause.TICKS_LATE, loop_late=1.5 / RATE), False, 1.5 / RATE),
        (rows_of(Cause.LEAN_LIMIT, loop_late=LOOP_LATE), True, 0.0),
        (rows_of(Cause.NONE, loop_late=LOOP_LATE), True, 0.0),
        (rows_of(Cause.STALE_SAMPLE, loop_late=LOOP_LATE)[["cause", "t_host"]], True, 0.0),  # an old log
        (rows_of(Cause.STALE_SAMPLE)[:0], True, 0.0),
    ],
)
def test_the_computer_is_blamed_for_what_it_delayed_itself(rows, emulated, delay):
    assert host_delay(rows, RATE, emulated) == pytest.approx(delay, abs=1e-9)


def test_a_run_that_the_computer_ended_says_by_how_much_it_was_late_and_what_to_do():
    outcome = Outcome("fault", "too late").blaming(0.0342)
    assert outcome.ended_by == "computer"
    assert "34 ms" in outcome.cause
    assert "--fifo" in outcome.cause
    assert Outcome("fault", "it fell").blaming(0.0).ended_by == "machine"
