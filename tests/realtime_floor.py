"""A floor beside every real-time test: what this machine gave to anybody in the same seconds.

Tests marked ``realtime`` run after the others and one at a time (see the Makefile). Beside each, a small process beats
at 200 Hz and sends itself one byte over a pseudo-terminal per beat. A test that fails while those beats were
late too has shown nothing about the loop: it is tried again. One that fails while the floor was in order has failed.
"""

import contextlib
import multiprocessing
import os
import select
import time
import tty
from collections.abc import Iterator
from dataclasses import dataclass

PERIOD = 0.005  # s, of the rigs under test
LATE = 0.010  # s; a loop that waits longer for its machine loses samples at 200 Hz
FIFO = 20  # as the tests ask for, where it is permitted
PATIENCE = 1.0  # s, for a byte: longer than any beat that matters


@dataclass
class Floor:
    """Beats of the floor: how many, how many late, and the worst."""

    beats: int = 0
    late: int = 0
    worst: float = 0.0  # s

    @property
    def starved(self) -> bool:
        """The machine kept even this process waiting."""
        return self.late > 0

    def __str__(self) -> str:
        return f"{self.late} of {self.beats} beats of 5 ms late, the worst by {1e3 * self.worst:.0f} ms"


@contextlib.contextmanager
def measured_floor() -> Iterator[Floor]:
    """Measure the floor in a process of its own for as long as the context is open."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_beat_until_told, args=(theirs,), daemon=True)
    process.start()
    ours.recv()  # it beats
    floor = Floor()
    try:
        yield floor
    finally:
        ours.send("stop")
        floor.beats, floor.late, floor.worst = ours.recv()
        process.join()


def _beat_until_told(told) -> None:
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(FIFO))
    master, slave = os.openpty()
    tty.setraw(slave)
    beats, late, worst, due = 0, 0, 0.0, time.monotonic()
    told.send("beating")
    while not told.poll():
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
        os.write(master, b"x")
        if select.select([slave], [], [], PATIENCE)[0]:
            os.read(slave, 1)
        lateness = time.monotonic() - due
        beats, late, worst = beats + 1, late + (lateness > LATE), max(worst, lateness)
        due = max(due, time.monotonic() - PERIOD)
    told.send((beats, late, worst))
