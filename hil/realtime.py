"""The compiled runner: the tick on a file descriptor, in real time, clear of the interpreter lock.

One thread runs `_loop` (wait, read, tick, write, record) without ever meeting the interpreter. The
main thread empties a ring of rows into the log and tells the operator's demand through an array.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numba import njit

from hil import libc
from hil.operator import Operator
from hil.record import TICK
from hil.states import Demand
from hil.tick import FAREWELL, RX_SIZE, TX_SIZE, Loop, farewell, tick

RING_ROWS = 8192
_HEAD, _TAIL, _QUIT, _ENDED, _DROPPED, _LINK_ERROR, _FLOWS = range(7)
_DRAIN = 0.05  # s between two visits of the recorder
_PR_SET_TIMERSLACK = 29


@njit(cache=True, nogil=True)
def _holds_frame_end(rx, start, stop):
    """A delimiter among the new bytes. Runs inside the tick."""
    for i in range(start, stop):  # noqa: SIM110 (compiled code, no generators)
        if rx[i] == 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _await_frame(fd, rx, until, scratch, flow):
    """Read until a frame has ended or time is up; bytes read. Runs inside the tick."""
    n = 0
    while n < rx.size and libc.wait_readable(fd, until, scratch):
        got = libc.read(fd, rx, n)
        if got <= 0:
            if got != -libc.EAGAIN and got != -libc.EINTR:
                flow[_LINK_ERROR] = max(1, -got)
                libc.sleep_until(until, scratch)  # a dead link reads as ready for ever
            return n
        n += got
        if _holds_frame_end(rx, n - got, n):
            return n
    return n


@njit(cache=True, nogil=True)
def _loop(fd, device_clock, period, loop, ring, flow, scratch, rx, tx):
    """Wait, read, tick, write, record, until told to quit. Times in ns."""
    due = libc.now(scratch) + period
    while not flow[_QUIT]:
        if device_clock:
            n = _await_frame(fd, rx, due + period // 2, scratch, flow)
        else:
            libc.sleep_until(due, scratch)
            n = max(0, libc.read(fd, rx, 0))
        woken = libc.now(scratch)
        head = flow[_HEAD]
        row = ring[head % ring.size]
        m = tick(loop, rx, n, woken * 1e-9, due * 1e-9, row, tx)
        ready = libc.now(scratch)
        row.compute = (ready - woken) * 1e-9
        if m > 0 and libc.write(fd, tx, m) != m:
            loop.counters.write_short += 1
        if head - flow[_TAIL] < ring.size - 1:
            flow[_HEAD] = head + 1
        else:
            flow[_DROPPED] += 1
        if device_clock and n > 0:
            due = woken + period
        else:
            due += period
            if due < woken:  # too late for this one: leave it out, keep the beat
                due += (woken - due) // period * period + period
    for _ in range(FAREWELL):
        libc.write(fd, tx, farewell(loop, tx))
        libc.sleep_until(libc.now(scratch) + period, scratch)
    flow[_ENDED] = 1


@contextmanager
def privileges(fifo: int = 0) -> Iterator[list[str]]:
    """Timer slack, real-time priority and locked memory where permitted, given back at the end.

    Yields
    ------
    list of str
        A sentence per setting: what is in force, or why it is not and what to do about it.
    """
    said = []
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0:
        said.append("timer slack is 1 ns")
    else:
        said.append("timer slack stays at the system's 50 us: prctl was refused")
    scheduled = False
    if fifo:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(fifo))
            scheduled = True
            said.append(f"real-time priority FIFO {fifo}")
        except (PermissionError, OSError):
            said.append("normal priority: SCHED_FIFO was refused; add 'USER - rtprio 90' to /etc/security/limits.conf")
        if library.mlockall(3) == 0:
            said.append("memory is locked")
        else:
            said.append("memory is not locked: add 'USER - memlock unlimited' to /etc/security/limits.conf")
    try:
        yield said
    finally:
        if scheduled:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        if fifo:
            library.munlockall()


class Recorder:
    """The rows of a running loop, and the demand given to it. One writer thread, one reader."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.ring = np.zeros(RING_ROWS, TICK)
        self.flow = np.zeros(_FLOWS, np.int64)

    def new_rows(self) -> np.ndarray:
        """Copy out and free what has been recorded since the last call."""
        head, tail = int(self.flow[_HEAD]), int(self.flow[_TAIL])
        rows = self.ring[np.arange(tail, head) % RING_ROWS].copy()
        self.flow[_TAIL] = head
        return rows

    @property
    def dropped(self) -> int:
        """Rows lost because nobody emptied the ring in time."""
        return int(self.flow[_DROPPED])

    @property
    def link_error(self) -> int:
        """Last error number of the port, 0 when there was none."""
        return int(self.flow[_LINK_ERROR])


def run(
    fd: int,
    loop: Loop,
    rate: float,
    operator: Operator,
    record: Callable[[np.ndarray], None],
    clock: str = "device",
    fifo: int = 0,
) -> Recorder:
    """Run the tick in real time until the operator has finished.

    Whatever ends it (an exception here or in ``record``, a signal, the operator), the loop's last
    acts are zero-torque, drive-off commands.

    Parameters
    ----------
    fd : int
        Open, non-blocking file descriptor of the port.
    rate : float
        Ticks per second [Hz].
    record : callable
        Given each batch of TICK rows; may be slow, never delays the loop.
    clock : {"device", "host"}
        Who beats time.
    """
    recorder = Recorder(loop)
    scratch, flow = np.zeros(1, libc.SCRATCH), recorder.flow
    buffers = np.zeros(RX_SIZE, np.uint8), np.zeros(TX_SIZE, np.uint8)
    period = round(1e9 / rate)
    wake = threading.Event()

    def body() -> None:
        with privileges(fifo):
            _loop(fd, clock == "device", period, loop, recorder.ring, flow, scratch, *buffers)

    thread = threading.Thread(target=body, name="tick", daemon=True)
    loop.operator[0] = operator.demand
    try:
        with operator.heeding_signals():
            thread.start()
            while thread.is_alive():
                wake.wait(_DRAIN)
                rows = recorder.new_rows()
                if len(rows) == 0:
                    continue
                operator.watch(rows[-1])
                loop.operator[0] = operator.demand
                record(rows)
                if operator.finished(float(rows[-1]["t_host"])):
                    break
    finally:
        loop.operator[0] = Demand.OFF
        flow[_QUIT] = 1
        thread.join(timeout=2.0)
    record(recorder.new_rows())
    return recorder


def warm_up(loop: Loop) -> None:
    """Compile (or load) everything the loop runs, on a pipe that nobody writes to."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(reader, False)
        flow = np.zeros(_FLOWS, np.int64)
        flow[_QUIT] = 1
        rx, tx = np.zeros(RX_SIZE, np.uint8), np.zeros(TX_SIZE, np.uint8)
        _loop(reader, True, 1, loop, np.zeros(8, TICK), flow, np.zeros(1, libc.SCRATCH), rx, tx)
    finally:
        os.close(reader)
        os.close(writer)
