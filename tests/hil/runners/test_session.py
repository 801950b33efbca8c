"""A real-time run around its loop: what is agreed on with the devices, done before and after, and said of the end."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.link import ROLE_DRIVE
from riderless.hil.live import layout
from riderless.hil.live.feed import LiveFeed
from riderless.hil.logs.append_only import LogLostError
from riderless.hil.logs.log import RUN_FILE, read_run
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.rig.file import read_rig
from riderless.hil.rig.rig import RigPort
from riderless.hil.rig.task import Task
from riderless.hil.runners import prepared_run, realtime, session
from riderless.hil.runners.latency_certificate import find_latency_test
from riderless.hil.runners.operator import Operator
from riderless.hil.runners.ring_buffer import Recorder
from riderless.models.errors import InputError
from tests.hil.machine import gains, rig_of
from tests.hil.runners.test_operator import shown
from tests.paths import ROOT

APART = (RigPort("/dev/imu", baud=500_000, carries=("sensors",)), RigPort("/dev/drive", carries=("drive",)))
SENSORS = Introduction("sensors", 200, gyro_lsb=2e-3, accel_lsb=3e-3, steer_counts_per_turn=4096.0)
DRIVE = Introduction("drive", torque_limit=9.0, watchdog=0.02)


# agreement


def test_scales_come_from_the_sensors_and_a_shorter_watchdog_from_the_drive():
    rig, calibration = session.agree_with_devices(rig_of(ports=APART, watchdog=0.03), [SENSORS, DRIVE])
    assert (calibration.gyro_lsb, calibration.accel_lsb, calibration.steer_counts_per_turn) == (2e-3, 3e-3, 4096.0)
    assert rig.watchdog == 0.02


def test_what_a_device_does_not_know_the_rig_does():
    rig = rig_of(ports=APART, watchdog=0.02, calibration={"gyro_lsb": 5e-4})
    agreed, calibration = session.agree_with_devices(rig, [Introduction("sensors", 200), Introduction("drive")])
    assert agreed == rig
    assert calibration == rig.calibrated()
    assert calibration.gyro_lsb == 5e-4


@pytest.mark.parametrize("place", [0, 1])
def test_any_device_of_another_rate_is_refused_and_one_that_answers_when_asked_has_none(place):
    said = [Introduction("a", 200), Introduction("b", 200)]
    session.agree_with_devices(rig_of(ports=APART), said)
    said[place] = Introduction("slow", 100)
    with pytest.raises(InputError, match="'slow' samples at 100 Hz but the rig runs at 200 Hz"):
        session.agree_with_devices(rig_of(ports=APART), said)


def test_a_drive_weaker_than_the_limit_is_refused_and_one_just_as_strong_is_not():
    strongest = rig_of().limits.torque.value
    for limit in (strongest, strongest + 1.0, None):
        session.agree_with_devices(rig_of(ports=APART), [SENSORS, Introduction("drive", torque_limit=limit)])
    with pytest.raises(InputError, match=r"allows 7 N m but the drive makes no more than 6.5 N m"):
        session.agree_with_devices(rig_of(ports=APART), [SENSORS, Introduction("drive", torque_limit=6.5)])
    weak = Introduction("sensors", 200, torque_limit=0.1)
    session.agree_with_devices(rig_of(ports=APART), [weak, DRIVE])  # of what is no drive it says nothing


def test_every_device_is_told_the_rate_the_watchdog_and_its_settings(monkeypatch):
    told = []

    def driver_of(name):
        def introduce(port, wants):
            told.append((port, wants.rate, wants.watchdog, wants.settings))
            return Introduction(f"{name} on {port}")

        return SimpleNamespace(introduce=introduce, settled=lambda given: {**given, "settled": 1.0})

    rig = rig_of(ports=APART, rate=100.0, watchdog=0.05)
    monkeypatch.setattr(session, "device", driver_of)
    assert [said.name for said in session.introduce_devices(rig, ["A", "B"])] == ["node on A", "node on B"]
    assert told == [(port, 100.0, 0.05, {"settled": 1.0}) for port in "AB"]


def test_ports_are_opened_in_order_at_their_speed_and_closed_whatever_happens(monkeypatch):
    events = []

    @contextmanager
    def opened(path, baud, device, over_udp):
        events.append(("open", path, baud, device, over_udp))
        yield SimpleNamespace(fd=10 + len(events))
        events.append(("close", path))

    monkeypatch.setattr(session, "open_line", opened)
    monkeypatch.setattr(session, "introduce_devices", lambda rig, ports: [SENSORS, DRIVE])
    rig = rig_of(ports=APART)
    with session.open_devices(rig, ["/dev/x", "/dev/y"]) as (fds, devices, agreed, calibration):
        assert fds == [11, 12]
        assert devices == [SENSORS, DRIVE]
        assert (agreed.watchdog, calibration.gyro_lsb) == (0.02, 2e-3)
        assert events == [
            ("open", "/dev/x", 500_000, APART[0].device, False),
            ("open", "/dev/y", APART[1].baud, APART[1].device, False),
        ]
    assert events[2:] == [("close", "/dev/y"), ("close", "/dev/x")]
    with pytest.raises(InputError, match="give one for each"), session.open_devices(rig, ["/dev/x"]):
        pass


# the latency test


def test_a_rig_that_asks_for_no_latency_test_needs_none():
    assert find_latency_test(rig_of(latency_days=0.0), 0) is None


def test_a_latency_test_is_looked_for_at_this_rate_and_priority(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "riderless.hil.runners.latency_certificate.recent_latency_result", lambda *a: asked.append(a) or "found"
    )
    assert find_latency_test(rig_of(latency_days=7.0), 40) == "found"
    assert asked == [(200.0, 40, 7.0)]


@pytest.mark.parametrize(
    ("fifo", "words"),
    [(0, "at 200 Hz, found none: run `riderless latency RIG` under"), (40, "with priority 40: run .* --fifo 40`")],
)
def test_where_there_is_none_it_is_said_what_to_run(monkeypatch, fifo, words):
    monkeypatch.setattr("riderless.hil.runners.latency_certificate.recent_latency_result", lambda *a: None)
    with pytest.raises(InputError, match=words):
        find_latency_test(rig_of(latency_days=7.0), fifo)


# the end


def recorder_with(**flow):
    recorder = Recorder(lambda rows, tape: None, realtime.BEAT_AT + 1)
    for name, value in flow.items():
        recorder.flow[getattr(realtime, name)] = value
    return recorder


FAULT = ((State.RUNNING, 1.0), (State.FAULT, 2.0, Cause.STALE_SAMPLE))


def test_a_lost_port_is_named_beside_the_fault_it_made():
    operator = shown(Operator(9.0), *FAULT)
    outcome = session._outcome(operator, recorder_with(PORT_ERROR=5, FAILED_PORT=1), ["/dev/x", "/dev/y"])
    assert outcome.reason == "fault"
    assert outcome.cause.startswith(operator.outcome().cause)
    assert outcome.cause.endswith("; the port /dev/y was lost (Input/output error): plug it in again")


def test_a_run_that_was_no_fault_is_told_as_it_was_although_a_port_went():
    operator = shown(Operator(1.0), (State.RUNNING, 1.0))
    assert session._outcome(operator, recorder_with(PORT_ERROR=5), ["/dev/x"]) == operator.outcome()
    operator = shown(Operator(9.0), *FAULT)
    assert session._outcome(operator, recorder_with(), ["/dev/x"]) == operator.outcome()


def test_a_log_that_failed_is_the_cause_of_the_end():
    recorder = recorder_with(PORT_ERROR=5)
    recorder.failure = OSError(28, "No space left on device")
    outcome = session._outcome(shown(Operator(1.0), (State.RUNNING, 1.0)), recorder, ["/dev/x"])
    assert outcome.reason == "fault"
    assert "could not be written" in outcome.cause
    assert "No space left" in outcome.cause


def test_room_is_wanted_where_the_disk_was_full_and_not_where_the_log_was_lost():
    assert session._without_log(OSError(28, "No space left")).cause.endswith("; make room and run again")
    assert session._without_log(LogLostError("it is gone; run again")).cause.endswith(": it is gone; run again")


def test_late_ticks_and_lost_rows_are_remarked_and_nothing_else():
    loop = SimpleNamespace(counters={"ticks_late": 3, "ticks_skipped": 2})
    quiet, late = SimpleNamespace(late=""), SimpleNamespace(late="tick 7 was late")
    assert list(session._remarks(quiet, loop, recorder_with())) == []
    assert list(session._remarks(late, loop, recorder_with())) == [
        "3 late ticks and 2 beats left out; the first: tick 7 was late"
    ]
    loop.counters = {"ticks_late": 1, "ticks_skipped": 1}
    assert next(session._remarks(late, loop, recorder_with())).startswith("1 late tick and 1 beat left out;")
    (remark,) = session._remarks(quiet, loop, recorder_with(DROPPED_ROWS=4))
    assert remark.startswith("4 rows")


# the whole


class Around:
    """`run_realtime` around a loop that only writes two rows."""

    def __init__(self, monkeypatch):
        self.events, self.recorder, self.fails = [], recorder_with(), None
        self.harm = lambda: None  # what befalls the log meanwhile
        self.given = SimpleNamespace()

        @contextmanager
        def devices(rig, paths):
            self.events.append(("opened", tuple(paths)))
            said = [DRIVE if port.role & ROLE_DRIVE else SENSORS for port in rig.ports]
            yield list(range(11, 11 + len(said))), said, *session.agree_with_devices(rig, said)
            self.events.append("closed")

        def loop(fds, state, rate, operator, keep, *rest):
            self.given = SimpleNamespace(fds=fds, state=state, rate=rate, operator=operator, rest=rest)
            rows = np.zeros(2, TICK)
            rows["state"], rows["t_host"] = (State.ARMED, State.RUNNING), (5.0, 5.1)
            operator.watch(rows[1])
            operator.mark("kick")
            keep(rows, np.zeros(3, np.uint8))
            self.harm()
            if self.fails:
                monkeypatch.setattr(session.RunWriter, "close", failing_once)
            return self.recorder

        close = session.RunWriter.close

        def failing_once(writer, *how):
            monkeypatch.setattr(session.RunWriter, "close", close)
            raise self.fails

        monkeypatch.setattr(session, "open_devices", devices)
        monkeypatch.setattr(session, "warm_up", lambda rig, schedule: self.events.append("warm"))
        monkeypatch.setattr(session.realtime, "run_loop", loop)
        original = prepared_run.require_armable
        monkeypatch.setattr(
            prepared_run,
            "require_armable",
            lambda rig, schedule: (self.events.append(("armable", rig.watchdog)), original(rig, schedule)),
        )


@pytest.fixture
def around(monkeypatch):
    return Around(monkeypatch)


def test_everything_slow_is_done_before_a_port_is_opened(around, tmp_path):
    rig = rig_of(ports=APART, watchdog=0.03)
    outcome = session.run_realtime(tmp_path / "run", rig, gains(rig), ["/dev/x", "/dev/y"], 0.0)
    assert around.events == [
        ("armable", 0.03),
        "warm",
        ("opened", ("/dev/x", "/dev/y")),
        "closed",
    ]
    assert (outcome.reason, outcome.remarks) == ("success", ())
    run = read_run(tmp_path / "run")
    assert run.complete
    assert (run.stop.reason, run.stop.cause) == (outcome.reason, outcome.cause)
    assert (run.header.label, run.header.runner, run.header.ports) == ("run", "realtime", ("/dev/x", "/dev/y"))
    assert run.header.devices == (SENSORS, DRIVE)
    assert run.header.rig.watchdog == 0.02
    assert run.header.calibration.gyro_lsb == 2e-3
    assert run.header.content["latency"] is None
    assert run.header.content["timing"]
    assert not {"route", "asked_speeds"} & run.header.content.keys(), "what was not asked for is not told"
    assert [(mark.kind, mark.t) for mark in run.markers if mark.kind == "kick"] == [("kick", 5.1)]
    assert len(run.ticks) == 2
    given = around.given
    assert (given.fds, given.rate, given.operator.duration) == ([11, 12], 200.0, 0.0)
    assert given.state.pulse["expiry_ms"] == 20
    assert given.rest == (None, "device", 0, None, None)


def test_what_the_caller_wants_is_what_is_run(around, tmp_path, monkeypatch):
    rig, seen = rig_of(clock="host"), []
    operator = Operator(3.0)
    around.recorder = recorder_with(DROPPED_ROWS=2)

    @contextmanager
    def one(rig, paths):
        yield [11], [Introduction("node", 200)], *session.agree_with_devices(rig, [Introduction("node", 200)])

    monkeypatch.setattr(session, "open_devices", one)
    certificate = SimpleNamespace(as_dict=lambda: {"rate": 200.0})
    monkeypatch.setattr(prepared_run, "find_latency_test", lambda rig, fifo: certificate)
    outcome = session.run_realtime(
        tmp_path / "run",
        rig,
        gains(rig),
        "/dev/x",
        9.0,
        "words",
        {"condition": {"name": "first"}},
        seen.append,
        0,
        None,
        operator,
        task=Task(Excitation("push", 1.0, 0.1)),
    )
    header = read_run(tmp_path / "run").header
    assert (header.label, header.ports, dict(header.condition)) == ("words", ("/dev/x",), {"name": "first"})
    assert header.content["latency"] == {"rate": 200.0}
    assert header.excitation == Excitation("push", 1.0, 0.1)
    assert around.given.operator is operator
    assert around.given.rest == (seen.append, "host", 0, None, None)
    assert around.given.state.excitation.size == 20
    assert outcome.remarks == ("2 rows were made and could not be kept: the log has gaps",)
    assert read_run(tmp_path / "run").stop.dropped == 2


def test_gains_that_do_not_fit_are_refused_unless_that_is_wanted(around, tmp_path):
    rig, other = rig_of(), gains(rig_of("Benchmark"))
    with pytest.raises(InputError, match="Benchmark"):
        session.run_realtime(tmp_path / "run", rig, other, "/dev/x", 1.0)
    assert around.events == []


def test_a_disk_that_fails_at_the_end_is_told_once(around, tmp_path):
    rig = rig_of(ports=APART)
    around.fails = OSError(5, "Input/output error")
    with pytest.raises(OSError, match="Input/output"):
        session.run_realtime(tmp_path / "a", rig, gains(rig), ["/dev/x", "/dev/y"], 0.0)


def test_a_disk_that_failed_before_is_the_outcome_and_no_exception(around, tmp_path):
    rig = rig_of(ports=APART)
    around.fails = around.recorder.failure = OSError(28, "No space left on device")
    outcome = session.run_realtime(tmp_path / "b", rig, gains(rig), ["/dev/x", "/dev/y"], 0.0)
    assert outcome.reason == "fault"
    assert "No space left" in outcome.cause


def test_a_log_deleted_after_the_last_row_is_the_outcome_unless_it_had_failed_before(around, tmp_path):
    rig = rig_of(ports=APART)

    def run(folder):
        around.harm = (folder / RUN_FILE).unlink
        return session.run_realtime(folder, rig, gains(rig), ["/dev/x", "/dev/y"], 0.0)

    outcome = run(tmp_path / "a")
    assert outcome.reason == "fault"
    assert "was deleted while it was written" in outcome.cause
    around.recorder.failure = OSError(28, "No space left on device")
    outcome = run(tmp_path / "b")
    assert "No space left" in outcome.cause
    assert "was deleted" not in outcome.cause


def test_a_log_moved_in_the_run_is_told_with_its_place(around, tmp_path):
    rig, there = rig_of(ports=APART), tmp_path / "there"
    around.recorder = recorder_with(DROPPED_ROWS=2)
    around.harm = lambda: (tmp_path / "here").rename(there)
    outcome = session.run_realtime(tmp_path / "here", rig, gains(rig), ["/dev/x", "/dev/y"], 0.0)
    assert outcome.folder == there
    assert outcome.remarks[0].startswith("2 rows"), "and what else there is to say"
    assert outcome.remarks[1].endswith(f"it lies in {there}")
    assert read_run(there).complete


@pytest.mark.parametrize("present", [True, False])
def test_a_page_vouches_for_a_person_for_a_second_where_the_rig_asks_for_one(around, tmp_path, present):
    rig, feed = rig_of(ports=APART, present=present), LiveFeed()
    session.run_realtime(tmp_path / "run", rig, gains(rig), ["/dev/x", "/dev/y"], 9.0, feed=feed)
    operator, row = around.given.operator, np.zeros(1, TICK)[0]
    feed.presses[layout.HERE_AT], row["state"] = 5_000_000_000, State.RUNNING  # ns
    told = []
    for row["t_host"] in (5.999, 6.0):
        operator.watch(row)
        told.append(operator.demand)
    assert told == [Demand.RUN, Demand.STOP if present else Demand.RUN]


def test_speeds_that_a_treadmill_is_asked_for_are_in_the_header(around, tmp_path):
    rig = read_rig(ROOT / "docs" / "rigs" / "treadmill.toml")
    lane, asked = gains(rig, "lane", (4.0, 4.5, 5.0)), ((0.0, 4.0), (3.0, 4.5))
    paths = ["/dev/x", "/dev/y", "/dev/z"]
    session.run_realtime(tmp_path / "run", rig, lane, paths, 1.0, task=Task(asked_speeds=asked))
    assert read_run(tmp_path / "run").header.asked_speeds == asked
