"""A tick answers a sample, and nothing else on the line beats time; a played torque keeps the device's time."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest

from riderless.experiments.emulation.workstand import raise_priority, start_twin
from riderless.experiments.recordings.runs import played_torque
from riderless.firmware_interface.messages import COMMAND, RAW
from riderless.firmware_interface.node.protocol import encode_command, encode_sample
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.firmware_interface.twins.virtual_node import NodeConfig, spawn
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import RunRecorder, read_run
from riderless.hil.loop.excitation import Excitation, excitation_place
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.states import SENTENCES, Cause, State, Symptom
from riderless.hil.loop.tick import LOOP_PULSE
from riderless.hil.loop.wire_tape import new_wire
from riderless.hil.rig.task import Task
from riderless.hil.runners import libc, lockstep, realtime, session
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node, emulated_plant
from riderless.hil.runners.operator import Operator
from tests.hil.machine import gains, rig_of, scenario
from tests.hil.runners.dirty_line import ECHO, LEADING, dirty_line

FIFO = 20
SHORT = 3_000_000  # ns


def frame(encode, dtype, **fields):
    """Bytes of a frame of our node's protocol."""
    record, out = np.zeros(1, dtype)[0], np.zeros(300, np.uint8)
    for name, value in fields.items():
        record[name] = value
    return out[: encode(record, out)].tobytes()


class Listener:
    """The loop's wait at the end of a pipe."""

    def __init__(self):
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        rig = rig_of()
        self.scouts = new_loop(rig, gains(rig), rig.calibrated().as_record()).links.copy()
        self.ports, self.scratch = libc.poll_set([self.reader]), np.zeros(1, libc.TIMESPEC)
        self.wire, self.flow, self.count = new_wire(), np.zeros(realtime.BEAT_AT + 1, np.int64), np.zeros(1, np.int32)
        self.time_left = True

    def hears(self, said):
        """Does the wait end before its time when this comes in?"""
        os.write(self.writer, said)
        self.wire.n_rx[:] = 0
        until = libc.now(self.scratch) + SHORT
        came = realtime.await_sample(self.ports, self.wire, self.scouts, 0, until, self.scratch, self.flow, self.count)
        assert came or libc.now(self.scratch) >= until, "a wait that is in vain takes all of its time"
        return came

    def close(self):
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture
def listener():
    made = Listener()
    yield made
    made.close()


def test_only_a_new_sample_ends_the_wait(listener):
    first, second = (frame(encode_sample, RAW, seq=seq) for seq in (7, 8))
    assert listener.hears(first)
    assert not listener.hears(b"\0"), "delimiters in a row are idling"
    assert listener.wire.n_rx[0] == 1, "read, for the tick's own count"
    assert not listener.hears(first), "a sample that comes twice is no news"
    assert not listener.hears(frame(encode_command, COMMAND, seq=3)), "an echo of what we said"
    assert not listener.hears(second[:-2] + b"\x01\0"), "a broken frame"
    assert not listener.hears(b"\0" + second[:20])
    assert listener.hears(second[20:]), "the rest of it"


def test_a_flood_without_a_sample_beats_no_time(listener):
    assert not listener.hears(bytes(range(1, 256)) * 20)


def running_rows(faults=(), excitation=Excitation(), seed=1, duration=6.0, log=None):
    """Rows under control of a bicycle that is stable by itself, with no torque but the excitation's."""
    rig = rig_of("Benchmark")
    off = gains(rig, "off")
    loop = new_loop(rig, off, rig.calibrated().as_record(), task=Task(excitation))
    batches = []

    def record(rows, tape):
        batches.append(rows)
        if log is not None:
            log.write(rows, tape)

    plant = emulated_plant(rig, scenario(kicks=(), seed=seed))
    lockstep.run_in_lockstep(loop, plant, emulated_node(rig), Operator(duration), record, faults=faults)
    rows = np.concatenate(batches)
    return rows[(rows["state"] == State.RUNNING) & (rows["valid"] == 1)]


SINE = Excitation("sweep", 0.2, 5.0, 2.0, 2.0)  # one frequency, 2 Hz


@pytest.mark.parametrize("seed", [3, 4])
def test_lost_samples_do_not_shift_a_played_torque(seed):
    log = RunRecorder(new_header(rig_of("Benchmark"), gains(rig_of("Benchmark"), "off"), rig_of().calibrated(),
                                 runner="lockstep", simulated=True, task=Task(SINE)))  # fmt: skip
    rows = running_rows((Fault(Kind.DROP, start=2.5, chance=0.1, seed=seed),), SINE, seed, log=log)
    since = rows["t"] - rows["t"][0] - 0.005
    assert np.diff(rows["t"]).max() > 0.0099, "samples were lost"
    assert len(rows) < 1150
    expected = np.where((since > -1e-6) & (since < 4.9975), 0.2 * np.sin(2 * math.pi * 2.0 * since), 0.0)
    assert np.abs(rows["T_req"] - expected).max() < 1e-6
    run = log.run("success", "")
    assert np.abs(played_torque(run, rows) - expected).max() < 1e-6, "and the analysis knows what was played"


@pytest.mark.parametrize(("period", "places"), [(0.0025, [0, 0, 0, 1, 1, 2, 2]), (0.005, [0, 1, 2, 3]), (0.01, [1, 3])])
def test_places_go_by_the_devices_time(period, places):
    pulse = np.zeros(1, LOOP_PULSE)[0]
    pulse["dt"] = 0.005
    assert excitation_place(pulse, 100.0, False) == 0
    found = [int(excitation_place(pulse, 100.0 + (k + 1) * period, True)) for k in range(len(places))]
    assert all(abs(a - b) <= (period < 0.005) for a, b in zip(found, places, strict=True)), found
    assert found == sorted(found)
    on_hold = int(excitation_place(pulse, 100.0 + 50 * period, False))
    assert int(excitation_place(pulse, 100.0 + 51 * period, False)) == on_hold, "it stands still out of control"


@pytest.mark.realtime
@pytest.mark.parametrize("kind", [LEADING, ECHO])
def test_what_else_is_on_the_line_makes_no_ticks(tmp_path, kind):
    rig = rig_of()
    with start_twin(rig, scenario(kicks=()), fifo=FIFO) as twin, dirty_line(twin.path, kind) as path:
        outcome = session.run_realtime(tmp_path / "run", rig, gains(rig), path, 2.0, fifo=FIFO, task=Task(SINE))
    assert outcome.reason == "success", outcome.cause
    ticks = read_run(tmp_path / "run").ticks
    running = ticks[ticks["state"] == State.RUNNING]
    samples = len(np.unique(running["t"]))
    assert samples > 300
    assert len(running) < 1.05 * samples, "a tick a sample"
    played = running[(running["t"] > running["t"][0] + 0.006)]
    assert np.ptp(played["t_host"] - played["t"]) < 0.2, "device and host agree about time"


class HastyNode(NodeConfig):
    """Node that says 200 samples a second and takes 400."""

    def new_firmware(self):
        firmware = super().new_firmware()
        firmware["hello"]["rate_hz"] = 200
        return firmware


@pytest.mark.realtime
@pytest.mark.parametrize("clock", ["device", "host"])
def test_a_device_faster_than_it_says_is_never_armed(tmp_path, clock):
    soon = replace(Limits(), check_timeout=Limit(2.0, "s", "nobody waits here"))
    rig = rig_of(clock=clock, limits=soon)
    hasty = HastyNode(**{**vars(emulated_node(rig)), "rate_hz": 400})
    with raise_priority(spawn(emulated_plant, hasty, (rig, scenario(kicks=()))), FIFO) as twin:
        outcome = session.run_realtime(tmp_path / "run", rig, gains(rig), twin.path, 3.0, fifo=FIFO)
        assert twin.report.T == 0.0
    ticks = read_run(tmp_path / "run").ticks
    assert set(ticks["state"]) <= {State.DISARMED, State.CHECK}
    assert (ticks["symptoms"] & Symptom.RATE_HIGH > 0).mean() > 0.5
    assert outcome.reason == "fault"
    if clock == "device":  # by the computer's clock a busy line may show gaps as well, and they are told first
        assert outcome.cause == SENTENCES[Cause.RATE_HIGH]
