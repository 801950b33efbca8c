"""The real-time loop on pipes and sockets: what it reads and when it stops reading, what it sends, how it ends."""

import os
import socket
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.errors import DeviceError
from riderless.hil.loop.states import Demand, State
from riderless.hil.loop.tick import FAREWELL_FRAMES
from riderless.hil.loop.wire_tape import new_wire, read_tape
from riderless.hil.runners import libc, realtime, session
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.realtime import (
    BEAT_AT,
    FAILED_PORT,
    PORT_ERROR,
    _keep_for_rehearsal,
    _send,
    _take,
    await_sample,
    require_loop,
    run_loop,
    warm_up_loop,
)
from riderless.hil.runners.ring_buffer import RING_HEAD
from tests.hil.loop.scripted import Scripted

NO_SAMPLE, SAMPLE = bytes(6), bytes([1, 0, 0, 0, 0, 0])  # as `scripted.receive` hears them
BADF, PIPE = 9, 32  # errno


class Ports:
    """Two pipes: what the computer reads, and the ends that a device writes to."""

    def __init__(self, stack):
        pipes = [os.pipe() for _ in range(2)]
        self.readers, self.writers = [r for r, _ in pipes], [w for _, w in pipes]
        for fd in self.readers + self.writers:
            stack.callback(self.close, fd)
        for fd in self.readers:
            os.set_blocking(fd, False)
        self.ports, self.wire = libc.poll_set(self.readers), new_wire(2)
        self.links = Scripted().loop.links
        self.flow, self.scratch, self.count = (
            np.zeros(BEAT_AT + 1, np.int64),
            np.zeros(1, libc.TIMESPEC),
            np.zeros(1, np.int32),
        )

    def close(self, fd):
        if fd in self.readers + self.writers:
            os.close(fd)
            for fds in (self.readers, self.writers):
                if fd in fds:
                    fds.remove(fd)

    def take(self, lead=0):
        return _take(self.ports, self.wire, self.links, lead, self.flow, self.count)

    def wait(self, seconds=0.0, lead=0):
        until = libc.now(self.scratch) + round(seconds * 1e9)
        return await_sample(self.ports, self.wire, self.links, lead, until, self.scratch, self.flow, self.count)

    def taken(self, port):
        return self.wire.rx[port, : self.wire.n_rx[port]].tolist()


@pytest.fixture
def at():
    with ExitStack() as stack:
        yield Ports(stack)


# reading


@pytest.mark.parametrize("lead", [0, 1])
def test_samples_count_on_the_port_that_beats_time(at, lead):
    other = 1 - lead
    assert at.take(lead) == 0
    os.write(at.writers[lead], NO_SAMPLE)
    os.write(at.writers[other], SAMPLE)
    assert at.take(lead) == 0
    os.write(at.writers[lead], SAMPLE)
    assert at.take(lead) == 1
    assert at.taken(lead) == [*NO_SAMPLE, *SAMPLE]
    assert at.taken(other) == [*SAMPLE]
    assert at.take(lead) == 0, "the sample before is not another one"


def test_a_full_buffer_is_not_read_into(at):
    at.wire.n_rx[0] = RX_SIZE
    os.write(at.writers[0], SAMPLE)
    os.write(at.writers[1], bytes([1]))
    assert at.take() == 0
    assert at.wire.n_rx.tolist() == [RX_SIZE, 1]
    at.wire.n_rx[0] = RX_SIZE - 6
    os.write(at.writers[0], bytes([3]))
    assert at.take() == 1
    assert at.wire.n_rx[0] == RX_SIZE
    assert at.wire.rx[0, -6:].tolist() == [*SAMPLE]


def test_a_port_that_is_gone_is_noted_and_left_out_from_then_on(at):
    at.close(at.writers[1])
    at.ports["revents"][1] = libc.HUNG_UP
    assert not at.take()
    assert (at.flow[PORT_ERROR], at.flow[FAILED_PORT]) == (1, 1)
    assert at.ports["fd"].tolist() == [at.readers[0], -1 - at.readers[1]]
    at.flow[PORT_ERROR] = 0
    at.take()
    assert at.flow[PORT_ERROR] == 0


def test_a_port_that_fails_is_noted_with_the_systems_reason(at):
    at.ports["fd"][0] = 9999
    assert not at.take()
    assert (at.flow[PORT_ERROR], at.flow[FAILED_PORT]) == (BADF, 0)


def test_a_hang_up_that_was_none_is_no_error(at):
    at.ports["revents"][0] = libc.HUNG_UP
    assert not at.take()
    assert at.flow[PORT_ERROR] == 0
    assert at.ports["fd"][0] == at.readers[0]


def test_a_device_that_goes_is_noticed_when_the_system_says_so(at):
    at.close(at.writers[0])
    assert not at.take()
    assert at.flow[PORT_ERROR] == 0
    assert not at.wait(0.0)
    assert (at.flow[PORT_ERROR], at.flow[FAILED_PORT]) == (1, 0)


def test_it_waits_for_the_sample_and_reads_no_further(at):
    os.write(at.writers[0], SAMPLE)
    assert at.wait(5.0)
    assert at.taken(0) == [*SAMPLE]


def test_time_that_is_up_is_not_waited_for(at):
    os.write(at.writers[1], bytes([1]))
    assert not at.wait(0.0)
    assert at.wire.n_rx.tolist() == [0, 1]


def test_a_full_lead_waits_for_its_time_and_beats_none(at):
    at.wire.n_rx[0] = RX_SIZE
    os.write(at.writers[0], bytes([1]))
    due = libc.now(at.scratch) + 20_000_000
    assert not at.wait(0.02)
    assert libc.now(at.scratch) >= due
    assert at.wire.n_rx[0] == RX_SIZE


# sending


def test_each_port_is_sent_its_bytes_and_what_it_does_not_take_is_counted():
    s = Scripted()
    pairs = [os.pipe() for _ in range(2)]
    for read, _ in pairs:
        os.set_blocking(read, False)
    ports = libc.poll_set([w for _, w in pairs])
    s.wire.n_tx[:] = 0, 3
    s.wire.tx[1, :3] = 4, 5, 6
    _send(ports, s.wire, s.loop.counters)
    assert os.read(pairs[1][0], 100) == bytes([4, 5, 6])
    assert s.loop.counters["write_short"] == 0
    os.close(pairs[1][1])
    ports["fd"][1] = 9999
    s.wire.n_tx[:] = 2, 3
    _send(ports, s.wire, s.loop.counters)
    assert s.loop.counters["write_short"] == 1
    assert len(os.read(pairs[0][0], 100)) == 2
    s.wire.n_tx[:] = 1, 0  # what has nothing to say cannot fail to
    _send(ports, s.wire, s.loop.counters)
    assert s.loop.counters["write_short"] == 1
    assert len(os.read(pairs[0][0], 100)) == 1
    s.wire.n_tx[:] = 0, 3
    _send(ports, s.wire, s.loop.counters)
    assert s.loop.counters["write_short"] == 2
    for fd in (pairs[0][0], pairs[0][1], pairs[1][0]):
        os.close(fd)


def test_the_rehearsal_has_the_bytes_that_came_and_only_those():
    wire, spare = new_wire(2), new_wire(2)
    wire.rx[:] = 5
    wire.n_rx[:] = 2, 3
    wire.n_tx[:] = 4
    _keep_for_rehearsal(wire, spare)
    assert spare.n_rx.tolist() == [2, 3]
    assert spare.rx[:, :4].tolist() == [[5, 5, 0, 0], [5, 5, 5, 0]]
    assert spare.n_tx.tolist() == [0, 0]


# the whole loop


class Script:
    """An operator that lowers its demand, and ends the run when the loop has shown that lower one so often.

    Each look is answered with a sample.
    """

    def __init__(self, looks, devices):
        self.demand, self.looks, self.devices, self.presses = Demand.RUN, looks, devices, 0

    @contextmanager
    def heeding_signals(self):
        yield

    def watch(self, row):
        self.looks -= int(row["demand"]) == Demand.ARM
        self.demand = Demand.ARM
        for device in self.devices:
            device.send(bytes([1, 0, 0, 0, 0, 0]))

    def finished(self, t):
        return self.looks <= 0


@pytest.fixture(scope="module", params=["device", "host"])
def ran(request):
    """A run on two sockets: loop, recorder, kept batches, bytes that the drive heard."""
    s, pairs, kept, seen = Scripted(), [socket.socketpair() for _ in range(2)], [], []
    for ours, _ in pairs:
        ours.setblocking(False)
    operator = Script(4, [device for _, device in pairs])
    recorder = run_loop(
        [ours.fileno() for ours, _ in pairs],
        s.loop,
        200.0,
        operator,
        lambda rows, tape: kept.append((rows.copy(), tape.copy())),
        seen.append,
        request.param,
    )
    heard = [device.recv(1 << 20, socket.MSG_DONTWAIT) if port else b"" for port, (_, device) in enumerate(pairs)]
    for pair in pairs:
        for end in pair:
            end.close()
    return s, recorder, kept, seen, heard


def test_every_tick_is_a_row_and_every_row_has_its_bytes(ran):
    s, recorder, kept, seen, _ = ran
    rows = np.concatenate([rows for rows, _ in kept])
    assert rows["k"].tolist() == list(range(1, len(rows) + 1)), "rehearsals leave no trace"
    assert s.loop.pulse["k"] == len(rows)
    assert (recorder.dropped, recorder.failure) == (0, None)
    assert len(seen) >= 4
    for part, tape in kept:
        assert part["n_wire"].sum() == len(tape)
        wire, place = new_wire(2), 0
        for row in part:
            start, place = place, read_tape(wire, tape, place)
            assert place - start == row["n_wire"]
            assert wire.n_tx.tolist() == [0, 7]
    assert (rows["recording"] == 1).sum() > 0
    assert (rows["attended"] == 1).all()
    assert rows["demand"][0] == Demand.RUN, "it is told before the first tick"
    assert Demand.ARM in rows["demand"], "and after each look"
    assert (np.diff(rows["demand"].astype(int)) <= 0).all()
    assert (np.diff(rows["t_host"]) > 0.0).all()
    assert (rows["compute"] > 0.0).all()


def test_samples_that_came_are_in_the_log(ran):
    s, _, kept, _, _ = ran
    rows = np.concatenate([rows for rows, _ in kept])
    assert rows["frames_ok"][-1] > 0
    lead, other = (int(n) for n in s.loop.links["receiver"]["frames_ok"])
    assert lead > 0
    assert abs(lead - other) <= 1, "the last look's samples may still be under way on one of the two"


def test_the_last_five_commands_take_the_torque_away(ran):
    s, _, kept, _, heard = ran
    last = int(kept[-1][0]["command_seq"][-1])
    assert s.loop.pulse["seq"] == last + 5, "as docs/safety.md says"
    assert len(heard[1]) == 7 * (last + 5)
    told = s.told()
    assert (told["torque_mNm"], told["flags"], told["seq"]) == (0, 0, last + 5)
    assert s.loop.orders["demand"] == Demand.OFF


def test_a_late_beat_is_counted_where_it_is_late(ran):
    _, _, kept, _, _ = ran
    rows = np.concatenate([rows for rows, _ in kept])
    assert rows["ticks_late"][-1] == rows["late"].sum()


def test_what_watches_may_fail_and_the_torque_is_taken_away_all_the_same():
    s, pairs = Scripted(), [socket.socketpair() for _ in range(2)]
    for ours, _ in pairs:
        ours.setblocking(False)

    def fail(row):
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="screen is gone"):
        run_loop([p[0].fileno() for p in pairs], s.loop, 200.0, Script(9, []), lambda *a: None, fail)
    told = s.told()
    assert told["flags"] == told["torque_mNm"] == 0
    assert told["said"] > 5
    for pair in pairs:
        for end in pair:
            end.close()


class Dying:
    """A loop that ticks so often under control, then fails; the compiled one has no place known to do so."""

    def __init__(self, scripted, ticks, failure):
        self.scripted, self.ticks, self.failure = scripted, ticks, failure

    def __call__(self, ports, lead, device_clock, period, loop, wire, scouts, ghost, spare, ring, tape, flow, *rest):
        for k in range(self.ticks):
            ring[k] = self.scripted.tick()
            ring[k]["n_wire"] = 0
            _send(ports, self.scripted.wire, loop.counters)
            flow[RING_HEAD] = k + 1
        raise self.failure


@pytest.fixture
def wired():
    """Loop under control, what its drive hears, and the descriptors of its ports."""
    s, pairs = Scripted().running(), [socket.socketpair() for _ in range(2)]
    for ours, _ in pairs:
        ours.setblocking(False)
    yield s, pairs[1][1], [ours.fileno() for ours, _ in pairs]
    for pair in pairs:
        for end in pair:
            end.close()


def test_a_loop_that_fails_is_a_fault_and_the_torque_is_taken_away_all_the_same(wired, monkeypatch):
    s, drive, fds = wired
    monkeypatch.setattr(realtime, "_loop", Dying(s, 3, ZeroDivisionError("division by zero")))
    operator, kept = Operator(9.0), []
    recorder = run_loop(fds, s.loop, 200.0, operator, lambda rows, tape: kept.append(rows.copy()))
    assert len(drive.recv(1 << 20, socket.MSG_DONTWAIT)) == 7 * (3 + FAREWELL_FRAMES)
    assert s.told()["flags"] == s.told()["torque_mNm"] == 0
    assert np.concatenate(kept)["state"].tolist() == [State.RUNNING] * 3, "what it recorded is kept"
    outcome = session._outcome(operator, recorder, ["/dev/x", "/dev/y"])
    assert outcome.reason == "fault"
    assert outcome.cause.startswith("the real-time loop failed (ZeroDivisionError: division by zero)")
    with pytest.raises(DeviceError, match=r"failed \(ZeroDivisionError: division by zero\)"):
        require_loop(recorder)


def test_a_loop_that_cannot_begin_is_a_fault_that_says_why(wired):
    s, drive, fds = wired
    recorder = run_loop(fds, s.loop, 200.0, Operator(9.0), lambda *rows: None, fifo=120)
    assert len(drive.recv(1 << 20, socket.MSG_DONTWAIT)) == 7 * FAREWELL_FRAMES
    outcome = session._outcome(Operator(9.0), recorder, ["/dev/x", "/dev/y"])
    assert outcome.reason == "fault"
    assert "the real-time priority must be 1 to 99, or 0 for none, found 120" in outcome.cause


@pytest.mark.parametrize("name", ["recorder", "tick"])
def test_a_thread_that_cannot_start_is_told_as_it_is(wired, monkeypatch, name):
    s, _, fds = wired
    begin = threading.Thread.start

    def start(self):
        if self.name == name:
            raise RuntimeError("can't start new thread")  # as CPython says it
        begin(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_loop(fds, s.loop, 200.0, Operator(9.0), lambda *rows: None)
    assert s.loop.orders["demand"] == Demand.OFF
    assert "recorder" not in {thread.name for thread in threading.enumerate()}


def test_a_loop_that_ends_as_it_should_has_not_failed(ran):
    assert ran[1].loop_failure is None
    require_loop(ran[1])


def test_warming_up_ticks_nothing_and_leaves_nothing_open():
    s, opened = Scripted(), os.listdir("/proc/self/fd")
    warm_up_loop(s.loop)
    assert s.loop.pulse["k"] == 0
    assert len(os.listdir("/proc/self/fd")) == len(opened)
