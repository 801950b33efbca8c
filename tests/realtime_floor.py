"""A floor beside every real-time test: what this machine gave to anybody in the same seconds.

Tests marked ``realtime`` run after the others, two at a time (see the Makefile). Beside each, two small processes do
200 times a second what bicycle and loop do: one sends a byte over a pseudo-terminal, the other answers. They run as
most tests do, without real-time priority. A test that fails while those answers were late too has shown nothing about
the loop: it is tried again, and skipped in the end if that comes to nothing. One that fails while the floor was in
order has failed, and so has a second one of a process that would be skipped.
"""

import contextlib
import multiprocessing
import os
import select
import time
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from typing import Any

PERIOD = 0.005  # s, of the rigs under test
LATE = 0.010  # s; a loop that waits longer for its machine loses samples at 200 Hz
OFTEN = 0.005  # of the beats
START = 120.0  # s, for two processes to start, on any machine
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

    @property
    def kept_waiting(self) -> bool:
        """It did so again and again, and not once by chance."""
        return self.late > OFTEN * self.beats

    def __str__(self) -> str:
        return f"{self.late} of {self.beats} beats of 5 ms late, the worst by {1e3 * self.worst:.0f} ms"


@contextlib.contextmanager
def measured_floor() -> Iterator[Floor]:
    """Measure the floor, in processes that live as long as the tests, for as long as the context is open."""
    told = _processes()
    told.send("beat")
    if not told.poll(START):
        raise TimeoutError("the floor beside a real-time test did not begin to beat")
    told.recv()
    floor = Floor()
    try:
        yield floor
    finally:
        told.send("stop")
        floor.beats, floor.late, floor.worst = told.recv()


@cache
def _processes() -> Connection:
    """Start the two processes, at rest until told; they end with this one."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    master, slave = os.openpty()
    tty.setraw(slave)
    answering = spawn.Process(target=_answer, args=(os.ttyname(slave),), daemon=True)
    beating = spawn.Process(target=_beat_when_told, args=(theirs, DupFd(master)), daemon=True)
    for process in (answering, beating):
        process.start()
    return ours


def _beat_when_told(told: Connection, line: Any) -> None:
    master = line.detach()
    os.write(master, b"x")
    os.read(master, 1)  # the other one is there
    while told.recv() == "beat":
        told.send("beating")
        told.send(_beat_until_told(told, master))


def _beat_until_told(told: Connection, master: int) -> tuple[int, int, float]:
    """Beat until a word comes; beats, late ones and the worst [s]."""
    while select.select([master], [], [], 0.0)[0]:
        os.read(master, 1)  # an answer that came too late for the test before
    beats, late, worst, due = 0, 0, 0.0, time.monotonic()
    while not told.poll():
        due += PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
        os.write(master, b"x")
        if select.select([master], [], [], PATIENCE)[0]:
            os.read(master, 1)
        lateness = time.monotonic() - due
        beats, late, worst = beats + 1, late + (lateness > LATE), max(worst, lateness)
        due = max(due, time.monotonic() - PERIOD)
    told.recv()
    return beats, late, worst


def _answer(path: str) -> None:
    line = os.open(path, os.O_RDWR | os.O_NOCTTY)
    while byte := os.read(line, 1):
        os.write(line, byte)
