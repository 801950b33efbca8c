"""Latency floor measured beside a ride.

It tells how promptly this computer served any process in the same seconds. Two small processes do 200 times a second
what bicycle and loop do: one sends a byte over a pseudo-terminal, the other answers. They run without real-time
priority, as most programs do. Where their answers were late, a ride beside them that was late too has shown nothing
about the loop. Tests marked ``realtime`` are judged by it as well (`tests/conftest.py`).
"""

import contextlib
import os
import select
import time
import tty
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.reduction import DupFd
from typing import Any

from riderless.firmware_interface.child_processes import QUIET_SPAWN

_PERIOD = 0.005  # s, of the usual rigs
LATE = 0.010  # s; a loop that waits longer for its machine loses samples at 200 Hz
_OFTEN = 0.005  # of the beats
_START = 120.0  # s, for two processes to start, on any machine
_PATIENCE = 1.0  # s, for a byte: longer than any beat that matters


@dataclass
class Floor:
    """Beats of the floor: how many, how many late, and the worst."""

    beats: int = 0
    late: int = 0
    worst: float = 0.0  # s

    @property
    def starved(self) -> bool:
        """Did the computer keep even these processes waiting?"""
        return self.late > 0

    @property
    def kept_waiting(self) -> bool:
        """Did it do so again and again, and not once by chance?"""
        return self.late > _OFTEN * self.beats

    def __str__(self) -> str:
        return f"{self.late} of {self.beats} beats of 5 ms late, the worst by {1e3 * self.worst:.0f} ms"

    def beside(self, delays: Sequence[float]) -> str:
        """Say how late the ticks of a ride woke, from the ``delays`` of all [s], beside the floor."""
        late, worst = sum(delay > LATE for delay in delays), 1e3 * max(delays, default=0.0)
        return (
            f"more than {1e3 * LATE:g} ms late: {late} of {len(delays)} ticks, the worst by {worst:.0f} ms; "
            f"of the floor, two small processes in the same seconds, {self}"
        )


@contextlib.contextmanager
def measured_floor() -> Iterator[Floor]:
    """Measure the floor, in processes that live as long as this program, for as long as the context is open.

    Raises
    ------
    TimeoutError
        The computer did not start the two processes within two minutes.
    """
    control = _processes()
    control.send("beat")
    if not control.poll(_START):
        raise TimeoutError(f"the floor beside a ride did not begin to beat within {_START:g} s: end other programs")
    control.recv()
    floor = Floor()
    try:
        yield floor
    finally:
        control.send("stop")
        floor.beats, floor.late, floor.worst = control.recv()


@cache
def _processes() -> Connection:
    """Start the two processes, at rest until it is wanted; they end with this one."""
    ours, theirs = QUIET_SPAWN.Pipe()
    master, slave = os.openpty()
    tty.setraw(slave)
    answering = QUIET_SPAWN.Process(target=_answer, args=(os.ttyname(slave),), daemon=True)
    beating = QUIET_SPAWN.Process(target=_beat_on_demand, args=(theirs, DupFd(master)), daemon=True)
    for process in (answering, beating):
        process.start()
    return ours


def _beat_on_demand(control: Connection, line: Any) -> None:
    master = line.detach()
    os.write(master, b"x")
    os.read(master, 1)  # the other one is there
    while control.recv() == "beat":
        control.send("beating")
        control.send(_beat_until_word(control, master))


def _beat_until_word(control: Connection, master: int) -> tuple[int, int, float]:
    """Beat until a word comes; beats, late ones and the worst [s]."""
    while select.select([master], [], [], 0.0)[0]:
        os.read(master, 1)  # an answer that came too late for the test before
    beats, late, worst, due = 0, 0, 0.0, time.monotonic()
    while not control.poll():
        due += _PERIOD
        time.sleep(max(0.0, due - time.monotonic()))
        os.write(master, b"x")
        if select.select([master], [], [], _PATIENCE)[0]:
            os.read(master, 1)
        lateness = time.monotonic() - due
        beats, late, worst = beats + 1, late + (lateness > LATE), max(worst, lateness)
        due = max(due, time.monotonic() - _PERIOD)
    control.recv()
    return beats, late, worst


def _answer(path: str) -> None:
    line = os.open(path, os.O_RDWR | os.O_NOCTTY)
    while byte := os.read(line, 1):
        os.write(line, byte)
