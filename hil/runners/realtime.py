"""Real-time runner.

The compiled tick on file descriptors, clear of the interpreter lock. One thread runs `_loop` (wait, read, tick, write,
record) without ever meeting the interpreter. The recorder empties its ring into the log in a second thread; the
operator and the display live in the main one. None of them can delay the loop, and the loop notices when one of them is
gone.

Shortly before each beat the loop wakes a first time and rehearses: it ticks a ghost of itself on the last
beat's bytes, so that code and data are in the caches, the CPU is awake, and what counts is quick.

A tick answers a sample, and nothing else beats time: a scout, which hears what the loop will hear, says when a new
sample is whole. Delimiters, noise and the echo of our own commands on a half-duplex line only wait to be read.

A beat that is missed is left out, counted and never made up for: two commands in a hurry would both
rest on the same sample.
"""

import os
import threading
from collections.abc import Callable, Sequence

import numpy as np

from riderless.firmware_interface.devices.link import ROLE_IMU, hear
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.hil.live.feed import LiveFeed, no_presses
from riderless.hil.live.layout import STOP_PRESSES
from riderless.hil.loop.states import Demand
from riderless.hil.loop.tick import FAREWELL_FRAMES, LoopState, farewell, tick
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_wire, tape_length, write_tape
from riderless.hil.runners import libc
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.ring_buffer import (
    DROPPED_ROWS,
    FLOWS,
    RING_HEAD,
    RING_TAIL,
    TAPE_HEAD,
    TAPE_TAIL,
    Recorder,
    Rows,
)
from riderless.hil.runners.scheduling import privileges

QUIT, PORT_ERROR, FAILED_PORT, BEAT, BEAT_AT = range(FLOWS, FLOWS + 5)
_EARLY_ns = 100_000  # how long before the beat the loop rehearses; at most a quarter of a period
_SHARED = {
    "calibration",
    "observer",
    "limits",
    "law",
    "settings",
    "route",
    "references",
    "excitation",
    "freedom",
    "orders",
}  # parts of a LoopState that the tick only reads
_STOP, _OFF = int(Demand.STOP), int(Demand.OFF)
STOPPED_ON_PAGE = "stopped on the live page"
_LOOK = 0.02  # s between two looks of the operator
_ATTENDED_ns = 1_000_000_000  # a program that has not looked for so long has hung; a person stands beside it


@njit(cache=True, nogil=True)
def _take(ports, wire, scouts, lead, flow, count):
    """Read what waits on every port; the number of new samples on the port ``lead``. Runs inside the tick."""
    samples = 0
    for port in range(ports.size):
        n = wire.n_rx[port]
        if ports[port].fd < 0 or n == wire.rx.shape[1]:
            continue
        got = libc.bytes_waiting(ports[port].fd, count)
        if got == 0 and not ports[port].revents & libc.HUNG_UP:
            continue
        if got >= 0:
            got = libc.read_bytes(ports[port].fd, wire.rx[port], n)
        if got > 0:
            wire.n_rx[port] = n + got
            if port == lead:
                samples += hear(scouts[port], wire.rx[port, n:], got)
        elif got not in (-libc.EAGAIN, -libc.EINTR):
            flow[PORT_ERROR] = max(1, -got)
            flow[FAILED_PORT] = port
            ports[port].fd = -1 - ports[port].fd  # a dead link reads as ready for ever
    return samples


@njit(cache=True, nogil=True)
def await_sample(ports, wire, scouts, lead, until, scratch, flow, count):
    """Read until a new sample has come on the port that beats time; False when time is up first. Runs inside the tick.

    Parameters
    ----------
    ports : array of pollfd, as of `libc.poll_set`
    wire : Wire
        Takes the bytes.
    scouts : (P,) array of LINK_STATE
        Hears on the port that beats time what the loop's own link will hear in the tick.
    lead : int
        Port that beats time.
    until : int
        Host clock [ns].
    scratch, flow, count
        Room for the calls to the system, as in `_loop`.
    """
    while libc.wait_readable(ports, until, scratch):
        if wire.n_rx[lead] == wire.rx.shape[1]:  # so many bytes and no sample: whoever floods the line beats no time
            libc.sleep_until(until, scratch)
            return False
        if _take(ports, wire, scouts, lead, flow, count) > 0:
            return True
    return False


@njit(cache=True, nogil=True)
def _send(ports, wire, counters):
    """Write each port's bytes, whole or not at all as far as we are concerned. Runs inside the tick."""
    for port in range(ports.size):
        n = wire.n_tx[port]
        if n > 0 and libc.write_bytes(ports[port].fd, wire.tx[port], n) != n:
            counters.write_short += 1


@njit(cache=True, nogil=True)
def _take_leave(ports, period, loop, wire, scratch):
    """Send zero torque and drive off, as often as docs/safety.md says, ``period`` ns apart."""
    for _ in range(FAREWELL_FRAMES):
        farewell(loop, wire)
        _send(ports, wire, loop.counters)
        libc.sleep_until(libc.now(scratch) + period, scratch)


@njit(cache=True, nogil=True)
def _keep_for_rehearsal(wire, spare):
    """Copy what came in. Runs inside the tick."""
    for port in range(wire.n_rx.size):
        n = wire.n_rx[port]
        spare.n_rx[port] = n
        for i in range(n):
            spare.rx[port, i] = wire.rx[port, i]


@njit(cache=True, nogil=True)
def _loop(ports, lead, device_clock, period, loop, wire, scouts, ghost, spare, ring, tape, flow, presses, scratch):
    """Wait, read, tick, write, record, until told to quit. Times in ns."""
    orders, half, early = loop.orders, period // 2, min(_EARLY_ns, period // 4)
    count = np.zeros(1, np.int32)
    due = libc.now(scratch) + period
    flow[BEAT_AT] = due
    while not flow[QUIT]:
        if device_clock:
            waiting = libc.wait_readable(ports, due - early, scratch)  # a sample that comes early is not kept waiting
        else:
            libc.sleep_until(due - early, scratch)
            waiting = False
        if not waiting:
            tick(
                ghost, spare, due * 1e-9, due * 1e-9, ring[flow[RING_HEAD] % ring.size]
            )  # a row the real tick overwrites
        wire.n_rx[:] = 0
        wanted = due + half if device_clock else due
        sampled = False
        if device_clock:
            sampled = await_sample(ports, wire, scouts, lead, wanted, scratch, flow, count)
            began = woken = libc.now(scratch)
        else:
            libc.sleep_until(due, scratch)
            woken = libc.now(scratch)
            _take(ports, wire, scouts, lead, flow, count)
            began = libc.now(scratch)
        if orders.beat != flow[BEAT]:
            flow[BEAT] = orders.beat
            flow[BEAT_AT] = woken
        orders.attended = woken - flow[BEAT_AT] < _ATTENDED_ns
        orders.late = woken - wanted > half
        pressed = presses[STOP_PRESSES]  # on a page that looks on: the first ramps down, the second switches off
        if pressed > 0:
            orders.demand = min(orders.demand, _STOP if pressed == 1 else _OFF)
        head = flow[RING_HEAD]
        row = ring[head % ring.size]
        tick(loop, wire, woken * 1e-9, due * 1e-9, row)
        row.compute = (libc.now(scratch) - began) * 1e-9
        _send(ports, wire, loop.counters)
        length = tape_length(wire)
        if head - flow[RING_TAIL] < ring.size - 1 and length <= tape.size - (flow[TAPE_HEAD] - flow[TAPE_TAIL]):
            row.n_wire = length
            flow[TAPE_HEAD] = write_tape(wire, tape, flow[TAPE_HEAD])
            flow[RING_HEAD] = head + 1
        else:
            flow[DROPPED_ROWS] += 1
        _keep_for_rehearsal(wire, spare)
        if sampled:
            due = woken + period
        else:
            due += period
            if due < woken:
                skipped = (woken - due) // period + 1
                loop.counters.ticks_skipped += skipped
                due += skipped * period
    _take_leave(ports, period, loop, wire, scratch)


def _ghost(loop: LoopState) -> LoopState:
    """Copy a loop for rehearsals: the same settings and orders, a state of its own; its bytes go nowhere."""
    state = {name: getattr(loop, name).copy() for name in LoopState._fields if name not in _SHARED}
    return loop._replace(**state)


def run_loop(
    fds: Sequence[int],
    loop: LoopState,
    rate: float,
    operator: Operator,
    record: Callable[[Rows, np.ndarray], None],
    watch: Callable[[np.void], None] | None = None,
    clock: str = "device",
    fifo: int = 0,
    cpu: int | None = None,
    feed: LiveFeed | None = None,
) -> Recorder:
    """Run the tick in real time until the operator has finished.

    Whatever ends it (an exception here or in ``watch``, a signal, the operator), the loop's last acts are
    zero-torque, drive-off commands. An exception in the loop itself ends the run with the same commands, sent from
    here, and is kept in `Recorder.loop_failure`. One in ``record`` ramps the torque down and is kept in
    `Recorder.failure`.

    Parameters
    ----------
    fds : sequence of int
        Open, non-blocking file descriptors of the ports, in the order of ``loop.links``.
    loop : LoopState
        As `riderless.hil.runners.assembly.new_loop` makes it.
    rate : float
        Ticks per second [Hz].
    operator : Operator
        Who demands what when.
    record : callable
        Given each batch of TICK rows and its tape (see `riderless.hil.loop.wire_tape`), in a thread of its own.
    watch : callable
        Given the newest row now and then; may be slow.
    clock : {"device", "host"}
        Who beats time.
    fifo, cpu : int
        Real-time priority, 0 for none; the processor to stay on, None for any.
    feed : LiveFeed or None
        Memory by which others look on, and press STOP.
    """
    ports, period = libc.poll_set(fds), round(1e9 / rate)
    lead = int(np.flatnonzero(loop.links["role"] & ROLE_IMU)[0])
    wire, scratch = new_wire(len(fds)), np.zeros(1, libc.TIMESPEC)
    recorder = Recorder(record, BEAT_AT + 1, feed)
    presses = no_presses() if feed is None else feed.presses

    scouts, ghost, spare = loop.links.copy(), _ghost(loop), new_wire(len(fds))

    def body() -> None:
        try:
            with privileges(fifo, cpu):
                _loop(
                    ports,
                    lead,
                    clock == "device",
                    period,
                    loop,
                    wire,
                    scouts,
                    ghost,
                    spare,
                    recorder.ring,
                    recorder.tape,
                    recorder.flow,
                    presses,
                    scratch,
                )
        except Exception as failure:  # whatever it is, the torque must go and the caller be told
            recorder.loop_failure = failure

    thread = threading.Thread(target=body, name="tick", daemon=True)
    loop.orders["demand"] = operator.demand
    try:
        with operator.heeding_signals():
            recorder.start()
            thread.start()
            while thread.is_alive():
                thread.join(_LOOK)
                row = recorder.newest()
                loop.orders["beat"] += 1
                loop.orders["recording"] = recorder.keeps_up
                if row is None:
                    continue
                heed_presses(operator, int(presses[STOP_PRESSES]), float(row["t_host"]))
                operator.watch(row)
                loop.orders["demand"] = operator.demand
                if watch is not None:
                    watch(row)
                if operator.finished(float(row["t_host"])):
                    break
    finally:
        loop.orders["demand"] = Demand.OFF
        recorder.flow[QUIT] = 1
        if thread.ident is not None:  # else its start failed, and that is what the caller must hear of
            thread.join(timeout=2.0)
        if recorder.loop_failure is not None:  # its thread is dead: nobody else writes to the ports
            _take_leave(ports, period, loop, wire, scratch)
        recorder.finish()
    return recorder


def loop_failure_sentence(failure: Exception) -> str:
    """Say that the loop itself failed, as no run should end."""
    what = f"{type(failure).__name__}: {failure}"
    return f"the real-time loop failed ({what}) and the drive was switched off: run again, and report it with the log"


def require_loop(recorder: Recorder) -> None:
    """Refuse what a loop recorded that failed itself; raises DeviceError."""
    if recorder.loop_failure is not None:
        raise DeviceError(loop_failure_sentence(recorder.loop_failure)) from recorder.loop_failure


def heed_presses(operator: Operator, pressed: int, t: float) -> None:
    """Let the operator follow what the loop does when STOP is pressed on a page, as a key does; say so in the log.

    Parameters
    ----------
    operator : Operator
    pressed : int
        How often it was pressed in this run.
    t : float
        Of the newest row [s, host clock].
    """
    while operator.presses < pressed:
        operator.presses += 1
        again = "again: off at once" if operator.presses > 1 else "ramps down"
        operator.marks.append((t, "operator", f"STOP on the live page, {again}"))
        operator.interrupt(STOPPED_ON_PAGE)


def warm_up_loop(loop: LoopState) -> None:
    """Compile (or load) everything the loop runs, on pipes that nobody writes to."""
    pipes = [os.pipe() for _ in loop.links]
    try:
        readers = [reader for reader, _ in pipes]
        for reader in readers:
            os.set_blocking(reader, False)
        flow = np.zeros(BEAT_AT + 1, np.int64)
        flow[QUIT] = 1
        wire, scratch = new_wire(len(pipes)), np.zeros(1, libc.TIMESPEC)
        ring, tape, ghost, spare = np.zeros(8, TICK), np.zeros(8, np.uint8), _ghost(loop), new_wire(len(pipes))
        scouts, presses = loop.links.copy(), no_presses()
        ports = libc.poll_set(readers)
        _loop(ports, 0, True, 1, loop, wire, scouts, ghost, spare, ring, tape, flow, presses, scratch)
        _take_leave(ports, 1, loop, wire, scratch)  # as whoever stands in for a loop that failed
    finally:
        for pipe in pipes:
            for fd in pipe:
                os.close(fd)
