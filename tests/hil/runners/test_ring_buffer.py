"""The ring and the tape between loop and log: order, wrap, loss, and a log that fails."""

import threading

import numpy as np

from riderless.hil.loop.wire_tape import new_wire, read_tape, tape_length, write_tape
from riderless.hil.runners import ring_buffer
from riderless.hil.runners.ring_buffer import (
    _DRAIN,
    MOST_WAITING_ROWS,
    RING_HEAD,
    RING_ROWS,
    RING_TAIL,
    TAPE_BYTES,
    TAPE_HEAD,
    TAPE_TAIL,
    Recorder,
)


def loop_writes(recorder, k, n_wire):
    """What the loop does for one tick."""
    head, tape_head = int(recorder.flow[RING_HEAD]), int(recorder.flow[TAPE_HEAD])
    recorder.ring[head % RING_ROWS]["k"] = k
    recorder.ring[head % RING_ROWS]["n_wire"] = n_wire
    recorder.tape[np.arange(tape_head, tape_head + n_wire) % TAPE_BYTES] = k % 251
    recorder.flow[TAPE_HEAD] += n_wire
    recorder.flow[RING_HEAD] += 1


def test_rows_and_their_bytes_come_out_in_order_around_the_end_of_both_rings():
    kept = []
    recorder = Recorder(lambda rows, tape: kept.append((rows.copy(), tape.copy())))
    recorder.flow[[RING_HEAD, RING_TAIL]] = RING_ROWS - 2
    recorder.flow[[TAPE_HEAD, TAPE_TAIL]] = TAPE_BYTES - 5
    for k in range(4):
        loop_writes(recorder, k, 3 + k)
    recorder.drain()
    recorder.drain()
    ((rows, tape),) = kept
    assert rows["k"].tolist() == [0, 1, 2, 3]
    assert tape.tolist() == [0] * 3 + [1] * 4 + [2] * 5 + [3] * 6
    assert recorder.newest()["k"] == 3


def test_a_log_that_fails_stops_keeping_up_and_loses_nothing_silently():
    def full(rows, tape):
        raise OSError(28, "No space left on device")

    recorder = Recorder(full)
    recorder.start()
    assert recorder.newest() is None
    assert recorder.keeps_up
    for k in range(7):
        loop_writes(recorder, k, 10)
    recorder.finish()
    assert not recorder.keeps_up
    assert isinstance(recorder.failure, OSError)
    assert recorder.dropped == 7


def test_a_log_that_lags_is_not_keeping_up():
    free = threading.Event()
    recorder = Recorder(lambda rows, tape: free.wait(300.0))
    recorder.start()
    assert recorder.keeps_up
    recorder.flow[RING_HEAD] = 1023
    assert recorder.keeps_up
    recorder.flow[RING_HEAD] = 1024  # 5 s at 200 Hz
    assert not recorder.keeps_up
    free.set()
    recorder.finish()
    assert recorder.dropped == 0


def test_what_has_been_handed_over_is_neither_waiting_nor_given_twice():
    kept = []
    recorder = Recorder(lambda rows, tape: kept.append(tape.tolist()))
    for k in range(2):
        loop_writes(recorder, k, 3)
        recorder.drain()
    assert kept == [[0] * 3, [1] * 3]
    recorder.flow[[RING_HEAD, RING_TAIL]] = 10 * MOST_WAITING_ROWS  # a long run
    recorder.flow[[TAPE_HEAD, TAPE_TAIL]] = 10 * TAPE_BYTES
    recorder.start()
    assert recorder.keeps_up
    recorder.flow[TAPE_HEAD] += TAPE_BYTES // 2 - 1
    assert recorder.keeps_up
    recorder.flow[TAPE_HEAD] += 1
    assert not recorder.keeps_up
    recorder.finish()


def test_a_recorder_that_does_not_run_or_has_failed_keeps_nothing():
    recorder = Recorder(lambda rows, tape: None)
    assert not recorder.keeps_up
    recorder.start()
    assert recorder.keeps_up
    recorder.failure = OSError(5, "Input/output error")
    assert not recorder.keeps_up
    recorder.finish()


def test_a_hanging_log_holds_no_process_back():
    free = threading.Event()
    recorder = Recorder(lambda rows, tape: free.wait(300.0))
    recorder.start()
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "recorder"] == [True]
    free.set()
    recorder.finish()


def test_between_two_visits_the_fastest_loop_makes_fewer_rows_than_a_hanging_log_has():
    fastest = 20_000.0  # Hz, the most that a rig file may ask for
    assert fastest * _DRAIN < MOST_WAITING_ROWS
    assert Recorder(lambda rows, tape: None).flow.size == ring_buffer.FLOWS == 5


def test_rows_reach_the_log_while_the_loop_runs():
    arrived = threading.Event()
    recorder = Recorder(lambda rows, tape: arrived.set())
    recorder.start()
    loop_writes(recorder, 0, 1)
    assert arrived.wait(60.0)
    recorder.finish()


def test_a_tape_gives_back_every_tick_and_says_where_it_is_cut():
    rng, wire, tape, end, said = np.random.default_rng(0), new_wire(2), np.zeros(3000, np.uint8), 0, []
    for _ in range(20):
        for port in range(2):
            wire.n_rx[port], wire.n_tx[port] = rng.integers(0, 60), rng.integers(0, 16)
            wire.rx[port] = rng.integers(0, 256, wire.rx.shape[1])
            wire.tx[port] = rng.integers(0, 256, wire.tx.shape[1])
        said.append([(wire.rx[p, : wire.n_rx[p]].tolist(), wire.tx[p, : wire.n_tx[p]].tolist()) for p in range(2)])
        length = tape_length(wire)
        start, end = end, write_tape(wire, tape, end)
        assert end - start == length
    heard, place = new_wire(2), 0
    for tick in said:
        place = read_tape(heard, tape[:end], place)
        for port, (rx, tx) in enumerate(tick):
            assert heard.rx[port, : heard.n_rx[port]].tolist() == rx
            assert heard.tx[port, : heard.n_tx[port]].tolist() == tx
    assert place == end
    assert read_tape(heard, tape[: end - 1], start) == -1
    assert read_tape(heard, tape[:end], end) == -1
