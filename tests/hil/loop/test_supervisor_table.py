"""The supervisor does what its table in the docs says: every event at every stage."""

import math
import sys

import numpy as np
import pytest

from riderless.firmware_interface.messages import (
    FAULT_DRIVE,
    FAULT_GUARD_LEAN,
    SAMPLE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.states import Cause, Demand, Symptom
from riderless.hil.loop.supervisor import NEWS, new_supervisor, supervise
from riderless.hil.loop.transitions import Stage
from tests.paths import DOCS

sys.path.insert(0, str(DOCS))
from site_builder.supervisor import transitions_table

DT = 0.005
LIMITS = Limits()


def page_table():
    """{event: {stage: what stands in its cell}} as the page has it."""
    lines = transitions_table().strip().splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(head[2:], row[2:], strict=True)) for row in rows}


TABLE = page_table()


class Machine:
    """A supervisor at a stage where nothing is the matter."""

    def __init__(self, stage):
        self.s, self.limits = new_supervisor(0.025, 2.0 * DT), LIMITS.as_record()
        self.news, self.sample, self.e = (np.zeros(1, d)[0] for d in (NEWS, SAMPLE, ESTIMATE))
        for name in ("fresh", "clean", "attended", "recording", "tested"):
            self.news[name] = 1
        self.news["dt"], self.sample["bus_meas"], self.e["v"] = DT, 24.0, 5.0
        on = stage in (Stage.WITHHOLD, Stage.ARMED, Stage.RUNNING, Stage.RAMPDOWN)
        self.sample["status"] = STATUS_ENABLED if on else STATUS_WATCHDOG if stage is Stage.CLEAR else 0
        self.news["demand"] = Demand.ARM if stage is Stage.ARMED else Demand.RUN
        self.s["stage"], self.s["released"] = stage, 0
        self.s["T_cmd"] = self.s["T_ramp"] = 2.0 if stage in (Stage.RUNNING, Stage.RAMPDOWN) else 0.0
        self.news["T_req"] = 2.0
        if stage is Stage.RAMPDOWN:
            self.s["cause"] = Cause.SPEED_WINDOW
        if stage is Stage.FAULT:
            self.s["cause"] = Cause.LEAN_LIMIT

    def tick(self):
        supervise(self.s, self.limits, self.news, self.sample, self.e)
        return Stage(int(self.s["stage"]))


def told(**news):
    return lambda m: [m.news.__setitem__(name, value) for name, value in news.items()]


def shown(**estimate):
    return lambda m: [m.e.__setitem__(name, value) for name, value in estimate.items()]


def felt(**sample):
    return lambda m: [m.sample.__setitem__(name, value) for name, value in sample.items()]


def been(**supervisor):
    return lambda m: [m.s.__setitem__(name, value) for name, value in supervisor.items()]


def both(*changes):
    return lambda m: [change(m) for change in changes]


def symptom(which):
    return told(symptoms=int(which))


# The least that makes each event be, and the cause it must leave where it leads somewhere.
EVENTS = {
    "off": (told(demand=Demand.OFF), Cause.OPERATOR_OFF),
    "acknowledged": (told(demand=Demand.OFF, acknowledged=1), None),
    "stream broken": (told(clean=0), Cause.CHECK_STREAM),
    "not a number": (told(T_req=math.nan), Cause.NOT_A_NUMBER),
    "stale sample": (told(fresh=0, silence=0.0501), Cause.STALE_SAMPLE),
    "stop button": (lambda m: felt(status=m.sample["status"] | STATUS_STOP_BUTTON)(m), Cause.STOP_BUTTON),
    "node's guard": (felt(faults=FAULT_GUARD_LEAN), Cause.NODE_GUARD),
    "device fault": (felt(faults=FAULT_DRIVE), Cause.DEVICE_FAULT),
    "foreign commands": (told(strange=1), Cause.FOREIGN_COMMANDS),
    "watchdog tripped": (lambda m: felt(status=m.sample["status"] | STATUS_WATCHDOG)(m), Cause.DRIVE_WATCHDOG),
    "lean limit": (shown(phi=-0.521), Cause.LEAN_LIMIT),
    "steer limit": (shown(delta=0.791), Cause.STEER_LIMIT),
    "sensor stuck": (symptom(Symptom.SENSOR_STUCK), Cause.SENSOR_STUCK),
    "sensor out of range": (symptom(Symptom.SENSOR_RANGE), Cause.SENSOR_RANGE),
    "sensor jumped": (symptom(Symptom.SENSOR_JUMP), Cause.SENSOR_JUMP),
    "sensors disagree": (symptom(Symptom.SENSORS_DISAGREE), Cause.SENSORS_DISAGREE),
    "drive disobeys": (symptom(Symptom.DRIVE_DISOBEYS), Cause.DRIVE_DISOBEYS),
    "clock stepped": (symptom(Symptom.CLOCK_STEP), Cause.CLOCK_STEP),
    "device restarted": (symptom(Symptom.DEVICE_RESTARTED), Cause.DEVICE_RESTARTED),
    "drive went off": (lambda m: felt(status=int(m.sample["status"]) & ~STATUS_ENABLED)(m), Cause.DRIVE_OFF),
    "off the belt": (symptom(Symptom.OFF_BELT), Cause.OFF_BELT),
    "stop": (told(demand=Demand.STOP), Cause.OPERATOR_STOP),
    "samples seldom": (symptom(Symptom.RATE_LOW), Cause.RATE_LOW),
    "link noisy": (symptom(Symptom.LINK_NOISY), Cause.LINK_NOISY),
    "samples too often": (symptom(Symptom.RATE_HIGH), Cause.RATE_HIGH),
    "place lost": (symptom(Symptom.PLACE_LOST), Cause.PLACE_LOST),
    "belt edge": (symptom(Symptom.BELT_EDGE), Cause.BELT_EDGE),
    "speed drive failed": (symptom(Symptom.SPEED_DRIVE), Cause.SPEED_DRIVE),
    "speed window": (shown(v=0.299), Cause.SPEED_WINDOW),
    "bus voltage": (felt(bus_meas=30.01), Cause.BUS_VOLTAGE),
    "saturated": (been(at_limit=0.501), Cause.SATURATED),
    "ticks late": (been(lateness=20.2), Cause.TICKS_LATE),
    "unattended": (told(attended=0), Cause.UNATTENDED),
    "log fails": (told(recording=0), Cause.RECORDER),
    "not upright": (shown(phi=0.091), Cause.CHECK_UPRIGHT),
    "gyro at rest": (symptom(Symptom.REST_RATE), Cause.CHECK_GYRO),
    "gravity at rest": (symptom(Symptom.REST_FORCE), Cause.CHECK_GRAVITY),
    "sensor not upright": (symptom(Symptom.REST_TILT), Cause.CHECK_MOUNTING),
    "speed of other gains": (told(other_gains=1), Cause.CHECK_GAINS),
    "arm": (both(been(released=1), told(demand=Demand.ARM)), None),
    "disarm": (told(demand=Demand.ARM), Cause.OPERATOR_STOP),
    "untested": (told(tested=0), Cause.CHECK_LATENCY),
    "nothing in the way": (been(good=1.0), None),
    "something in the way": (been(since=9.9951, obstacle=int(Cause.BUS_VOLTAGE)), Cause.BUS_VOLTAGE),
    "switched on": (lambda m: felt(status=m.sample["status"] | STATUS_ENABLED)(m), None),
    "not switched on": (
        lambda m: both(been(since=0.2451), felt(status=int(m.sample["status"]) & ~STATUS_ENABLED))(m),
        Cause.CHECK_ENABLE,
    ),
    "tripped as it should": (felt(status=STATUS_WATCHDOG), None),
    "not tripped": (been(since=0.0951), Cause.CHECK_WATCHDOG),
    "cleared": (felt(status=0), None),
    "cleared, not upright": (both(felt(status=0), shown(delta=-0.171)), Cause.CHECK_UPRIGHT),
    "not cleared": (been(since=0.2451), Cause.CHECK_ENABLE),
    "go": (told(demand=Demand.RUN), None),
    "stopped": (been(since=0.1951, cause=int(Cause.OPERATOR_STOP)), Cause.OPERATOR_STOP),
    "ramped down": (been(since=0.1951), Cause.SPEED_WINDOW),
}
# What makes an event be at a stage makes an earlier one be there too; the page then means the earlier one.
EARLIER = {
    ("acknowledged", stage): "off" for stage in Stage
} | {
    ("stale sample", Stage.STREAM): "stream broken",
    ("not switched on", Stage.RUNNING): "drive went off",
    ("not switched on", Stage.RAMPDOWN): "drive went off",
    ("not switched on", Stage.WITHHOLD): "not tripped",
    ("not switched on", Stage.CLEAR): "not cleared",
    ("tripped as it should", Stage.ENABLE): "watchdog tripped",
    ("tripped as it should", Stage.ARMED): "watchdog tripped",
    ("tripped as it should", Stage.RUNNING): "watchdog tripped",
    ("tripped as it should", Stage.RAMPDOWN): "watchdog tripped",
    ("cleared", Stage.RUNNING): "drive went off",
    ("cleared", Stage.RAMPDOWN): "drive went off",
    ("cleared, not upright", Stage.RUNNING): "drive went off",
    ("cleared, not upright", Stage.RAMPDOWN): "drive went off",
    ("cleared, not upright", Stage.STREAM): "not upright",
    ("cleared, not upright", Stage.ARMED): "not upright",
    ("not cleared", Stage.ENABLE): "not switched on",
    ("not cleared", Stage.WITHHOLD): "not tripped",
    ("not cleared", Stage.RAMPDOWN): "ramped down",
    ("arm", Stage.RUNNING): "disarm",
    ("something in the way", Stage.ENABLE): "not switched on",
    ("something in the way", Stage.WITHHOLD): "not tripped",
    ("something in the way", Stage.CLEAR): "not cleared",
    ("something in the way", Stage.RAMPDOWN): "ramped down",
    ("stopped", Stage.WITHHOLD): "not tripped",
    ("ramped down", Stage.WITHHOLD): "not tripped",
}  # fmt: skip


def test_every_event_of_the_page_is_tried():
    assert set(EVENTS) == set(TABLE)


@pytest.mark.parametrize("stage", Stage, ids=lambda s: s.name)
def test_nothing_the_matter_moves_nothing(stage):
    machine = Machine(stage)
    assert machine.tick() is stage


@pytest.mark.parametrize("stage", Stage, ids=lambda s: s.name)
@pytest.mark.parametrize("event", TABLE)
def test_as_the_page_says(event, stage):
    machine = Machine(stage)
    happen, _ = EVENTS[event]
    happen(machine)
    before = Cause(int(machine.s["cause"]))
    after = machine.tick()
    meant = EARLIER.get((event, stage), event)
    if event == "acknowledged" and stage is Stage.FAULT:
        meant = event
    cell = TABLE[meant][stage.name]
    cause = Cause(int(machine.s["cause"]))
    if cell in ("", "waits"):
        assert after is stage
        if stage is Stage.STREAM:
            assert (machine.s["good"] == 0.0) == (cell == "waits")
        if cell == "waits":
            assert Cause(int(machine.s["obstacle"])) is EVENTS[meant][1]
    else:
        assert after is Stage[cell]
        expected = EVENTS[meant][1] if before is Cause.NONE or stage is Stage.FAULT else before
        assert cause is (expected or Cause.NONE)
        assert machine.s["since"] == 0.0
    if after not in (Stage.RUNNING, Stage.RAMPDOWN):
        assert machine.s["T_cmd"] == 0.0


# Each limit from just inside, where nothing happens, to just outside; the page cannot say that.
EDGES = [
    ("e", "phi", 0.5199, 0.5201, Stage.FAULT),
    ("e", "phi", -0.5199, -0.5201, Stage.FAULT),
    ("e", "delta", 0.7899, 0.7901, Stage.FAULT),
    ("e", "delta", -0.7899, -0.7901, Stage.FAULT),
    ("e", "v", 0.3, 0.2999, Stage.RAMPDOWN),
    ("e", "v", 10.0, 10.0001, Stage.RAMPDOWN),
    ("sample", "bus_meas", 20.0, 19.999, Stage.RAMPDOWN),
    ("sample", "bus_meas", 30.0, 30.001, Stage.RAMPDOWN),
    ("news", "silence", 0.05, 0.0501, Stage.FAULT),
    ("s", "at_limit", 0.5, 0.5001, Stage.RAMPDOWN),
    ("s", "lateness", 20.1, 20.1001, Stage.RAMPDOWN),  # a tick lets 0.1 of it pass
]


@pytest.mark.parametrize(("record", "field", "inside", "outside", "stage"), EDGES)
def test_the_edge_of_a_limit_is_still_inside(record, field, inside, outside, stage):
    for value, expected in ((inside, Stage.RUNNING), (outside, stage)):
        machine = Machine(Stage.RUNNING)
        machine.news["fresh"] = record != "news"
        getattr(machine, record)[field] = value
        assert machine.tick() is expected


@pytest.mark.parametrize(
    ("stage", "field", "short", "enough"),
    [
        (Stage.STREAM, "good", 0.9999, 1.0),
        (Stage.STREAM, "since", 9.994, 9.9951),
        (Stage.ENABLE, "since", 0.244, 0.2451),
        (Stage.WITHHOLD, "since", 0.094, 0.0951),
        (Stage.CLEAR, "since", 0.244, 0.2451),
        (Stage.RAMPDOWN, "since", 0.194, 0.1951),
    ],
)
def test_times_run_out_when_they_should_and_no_sooner(stage, field, short, enough):
    for value, moves in ((short, False), (enough, True)):
        machine = Machine(stage)
        machine.s[field] = value
        assert (machine.tick() is not stage) == moves


@pytest.mark.parametrize("field", ["phi", "delta", "phi_dot", "delta_dot", "v"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_estimate_may_be_anything_but_a_number(field, value):
    machine = Machine(Stage.RUNNING)
    machine.e[field] = value
    assert machine.tick() is Stage.FAULT
    assert Cause(int(machine.s["cause"])) is Cause.NOT_A_NUMBER


def test_arming_needs_a_demand_that_was_lowered_after_a_failed_check():
    machine = Machine(Stage.STREAM)
    machine.news["tested"] = 0
    assert machine.tick() is Stage.DISARMED
    machine.news["tested"] = 1
    for _ in range(10):
        assert machine.tick() is Stage.DISARMED, "a cut-off that re-engages by itself is none"
    machine.news["demand"] = Demand.OFF
    machine.tick()
    machine.news["demand"] = Demand.RUN
    assert machine.tick() is Stage.STREAM
    assert Cause(int(machine.s["cause"])) is Cause.NONE


@pytest.mark.parametrize("dt", [math.nan, -1.0, 0.0])
def test_a_clock_that_stands_still_gives_no_time(dt):
    machine = Machine(Stage.RUNNING)
    machine.news["dt"], machine.news["T_req"] = dt, 5.0
    machine.tick()
    assert machine.s["T_cmd"] == 2.0
    assert machine.s["since"] == 0.0


def test_a_long_gap_lets_the_torque_jump_no_further_than_the_watchdogs_time():
    machine = Machine(Stage.RUNNING)
    machine.limits["command_change"] = 40.0
    machine.news["dt"], machine.news["T_req"] = 3.0, 7.0
    machine.tick()
    assert machine.s["T_cmd"] == pytest.approx(2.0 + 40.0 * 0.025)


def test_late_ticks_pile_up_and_drain():
    machine = Machine(Stage.RUNNING)
    machine.news["late"] = 1
    n = 0
    while n < 100 and machine.tick() is Stage.RUNNING:
        n += 1
    assert n == 22, "each adds one and a tick drains a tenth: above 20 with the 23rd"
    calm = Machine(Stage.RUNNING)
    calm.s["lateness"] = 10.0
    for _ in range(50):
        calm.tick()
    assert calm.s["lateness"] == pytest.approx(5.0)
    for _ in range(60):
        calm.tick()
    assert calm.s["lateness"] == 0.0
