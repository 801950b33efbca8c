"""Supervisor's states on the device's clock: from all rows, and from the few that tell of each stretch."""

import numpy as np
import pytest

from riderless.experiments.recordings.states import state_spans, telling_rows
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import TICK

RATE, LATE = 100.0, 7.0  # 1/s; s of the host's clock beyond the device's


def rows_of(*spans, silent=()):
    """Rows of states that last so many rows each; from and to the rows in ``silent`` no sample came."""
    states = np.repeat([int(state) for state, _ in spans], [n for _, n in spans])
    ticks = np.zeros(len(states), TICK)
    k = np.arange(len(states))
    ticks["state"], ticks["t"], ticks["t_host"], ticks["valid"] = states, k / RATE, k / RATE + LATE, 1
    for first, last in silent:
        ticks["valid"][first:last], ticks["t"][first:last] = 0, np.nan
    return ticks


def test_states_begin_and_end_where_their_rows_do():
    ticks = rows_of((State.CHECK, 50), (State.ARMED, 30), (State.RUNNING, 120), silent=[(40, 60), (190, 200)])
    spans = state_spans(ticks)
    assert [(s.state, s.t_start, s.t_end) for s in spans[:2]] == [
        (State.CHECK, 0.0, pytest.approx(0.50)),  # amid the silence: the host's clock tells
        (State.ARMED, pytest.approx(0.50), pytest.approx(0.80)),
    ]
    assert (spans[2].state, spans[2].t_end) == (State.RUNNING, pytest.approx(1.89))  # no sample came after that
    assert state_spans(rows_of((State.CHECK, 9), silent=[(0, 9)])) == ()


@pytest.mark.parametrize("seed", range(20))
def test_stretches_tell_what_the_whole_tells(seed):
    rng = np.random.default_rng(seed)
    states = rng.choice(list(State), 8)
    lengths = rng.integers(1, 60, 8)
    total = int(lengths.sum())
    silent = [(int(a), int(a + rng.integers(1, 50))) for a in rng.integers(0, total, 4)]
    ticks = rows_of(*zip(states, lengths, strict=True), silent=silent)
    cuts = np.sort(rng.choice(np.arange(1, total), 5, replace=False))
    kept = [telling_rows(part) for part in np.split(ticks, cuts)]
    assert sum(map(len, kept)) < total
    assert state_spans(np.concatenate(kept)) == state_spans(ticks)
