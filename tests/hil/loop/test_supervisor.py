"""The supervisor alone, fed by hand: every state, every cause, every limit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    SAMPLE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.observer import ESTIMATE
from riderless.hil.loop.states import SENTENCES, Cause, Demand, State, Verdict
from riderless.hil.loop.supervisor import NEWS, new_supervisor, supervise

DT = 0.005
WATCHDOG = 0.025


class Bench:
    """A supervisor with a drive that behaves, unless told otherwise."""

    def __init__(self):
        self.s = new_supervisor(WATCHDOG, 2.0 * DT)
        self.limits = Limits()
        self.record = self.limits.as_record()
        self.sample = np.zeros(1, SAMPLE)[0]
        self.estimate = np.zeros(1, ESTIMATE)[0]
        self.sample["bus_meas"] = 24.0
        self.estimate["v"] = 5.0
        self.news = np.zeros(1, NEWS)[0]
        for name in ("attended", "recording", "tested"):
            self.news[name] = 1
        self.silence = 0.0
        self.since_command = 0.0
        self.watchdog_works = True
        self.status = 0  # of the drive; the supervisor learns it from fresh samples only

    def tick(self, demand=Demand.RUN, T_req=0.0, fresh=True, clean=True, acknowledged=False, dt=DT):
        if fresh:
            self.sample["status"] = self.status
        self.silence = 0.0 if fresh else self.silence + dt
        told = {"dt": dt, "silence": self.silence, "T_req": T_req, "demand": int(demand)}
        told |= {"acknowledged": acknowledged, "fresh": fresh, "clean": clean}
        for name, value in told.items():
            self.news[name] = value
        supervise(self.s, self.record, self.news, self.sample, self.estimate)
        self._drive(dt)
        return State(int(self.s["state"]))

    def _drive(self, dt):
        """The node's rules: enable, watchdog (latched), clear."""
        self.since_command = 0.0 if self.s["send"] else self.since_command + dt
        status = self.status
        if self.s["send"]:
            if self.s["flags"] & COMMAND_ENABLE and not status & STATUS_WATCHDOG:
                status |= STATUS_ENABLED
            if not self.s["flags"] & COMMAND_ENABLE:
                status &= ~STATUS_ENABLED
                if self.s["flags"] & COMMAND_CLEAR:
                    status &= ~STATUS_WATCHDOG
        elif self.watchdog_works and self.since_command > WATCHDOG and status & STATUS_ENABLED:
            status = (status & ~STATUS_ENABLED) | STATUS_WATCHDOG
        self.status = status

    def until(self, state, ticks=3000, **kwargs):
        for _ in range(ticks):
            if self.tick(**kwargs) is state:
                return self
        pytest.fail(f"never reached {state}, is {State(int(self.s['state']))}")

    def cause(self):
        return Cause(int(self.s["cause"]))


@pytest.fixture
def bench():
    return Bench()


@pytest.fixture
def running(bench):
    return bench.until(State.RUNNING)


def test_each_cause_has_a_sentence():
    assert set(SENTENCES) == set(Cause)


def test_starts_disarmed_and_stays_so_without_a_demand(bench):
    for _ in range(1000):
        assert bench.tick(demand=Demand.OFF, T_req=3.0) is State.DISARMED
        assert bench.s["T_cmd"] == 0.0
        assert not bench.s["flags"] & COMMAND_ENABLE


def test_what_comes_in_the_way_at_the_last_tick_of_the_check_is_in_the_way(bench):
    while bench.s["good"] < bench.limits.check.value:
        assert bench.tick() is State.CHECK
    assert bench.tick(clean=False) is State.CHECK
    assert not bench.s["flags"] & COMMAND_ENABLE, "a frame was broken at that very tick"
    for _ in range(round(bench.limits.check.value / DT) - 1):
        assert bench.tick() is State.CHECK
        assert not bench.s["flags"] & COMMAND_ENABLE


def test_a_button_pressed_at_the_last_tick_of_the_check_waits(bench):
    while bench.s["good"] < bench.limits.check.value:
        bench.tick()
    bench.status |= STATUS_STOP_BUTTON
    for _ in range(3):
        assert bench.tick() is State.CHECK, "as at every tick before"


def test_arming_takes_a_second_of_clean_stream_and_a_proven_watchdog(bench):
    states, withheld = [], 0
    while len(states) < 1000 and (not states or states[-1] is not State.RUNNING):
        states.append(bench.tick(T_req=1.0))
        withheld += not bench.s["send"]
        if states[-1] is not State.RUNNING:
            assert bench.s["T_cmd"] == 0.0
    assert [s for i, s in enumerate(states) if i == 0 or s is not states[i - 1]] == [
        State.CHECK,
        State.ARMED,
        State.RUNNING,
    ]
    assert states.count(State.CHECK) * DT > 1.0 + WATCHDOG
    assert withheld * DT >= WATCHDOG


def test_demand_arm_never_makes_torque(bench):
    bench.until(State.ARMED, demand=Demand.ARM)
    for _ in range(500):
        assert bench.tick(demand=Demand.ARM, T_req=5.0) is State.ARMED
        assert bench.s["T_cmd"] == 0.0


def test_a_watchdog_that_does_not_work_is_found_out(bench):
    bench.watchdog_works = False
    bench.until(State.FAULT)
    assert bench.cause() is Cause.CHECK_WATCHDOG


def test_a_drive_that_does_not_switch_on_is_found_out(bench):
    for _ in range(1000):
        state = bench.tick()
        bench.status = 0
        if state is State.FAULT:
            break
    assert bench.cause() is Cause.CHECK_ENABLE


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda b: b.tick(clean=False), Cause.CHECK_STREAM),
        (lambda b: b.estimate.__setitem__("phi", 0.2), Cause.CHECK_UPRIGHT),
        (lambda b: b.estimate.__setitem__("delta", -0.3), Cause.CHECK_UPRIGHT),
        (lambda b: b.estimate.__setitem__("v", 0.0), Cause.SPEED_WINDOW),
        (lambda b: b.sample.__setitem__("bus_meas", 10.0), Cause.BUS_VOLTAGE),
        (lambda b: setattr(b, "status", STATUS_STOP_BUTTON), Cause.STOP_BUTTON),
        (lambda b: b.sample.__setitem__("faults", FAULT_DRIVE), Cause.DEVICE_FAULT),
    ],
)
def test_what_keeps_it_from_arming(bench, spoil, cause):
    bench.tick()
    for _ in range(3000):
        spoil(bench)
        if bench.tick() is State.DISARMED:
            break
    assert bench.cause() is cause


@pytest.mark.parametrize(
    ("record", "field", "value", "cause"),
    [
        ("estimate", "phi", 0.6, Cause.LEAN_LIMIT),
        ("estimate", "phi", -0.6, Cause.LEAN_LIMIT),
        ("estimate", "delta", 0.8, Cause.STEER_LIMIT),
        ("estimate", "delta", -0.8, Cause.STEER_LIMIT),
        ("estimate", "phi", math.nan, Cause.NOT_A_NUMBER),
        ("estimate", "delta_dot", math.inf, Cause.NOT_A_NUMBER),
        ("sample", "faults", FAULT_DRIVE, Cause.DEVICE_FAULT),
        ("drive", "status", STATUS_WATCHDOG, Cause.DRIVE_WATCHDOG),
        ("drive", "status", STATUS_FOREIGN, Cause.FOREIGN_COMMANDS),
        ("drive", "status", STATUS_FOREIGN | STATUS_WATCHDOG, Cause.DRIVE_WATCHDOG),  # which struck first
        ("drive", "status", STATUS_ENABLED | STATUS_STOP_BUTTON, Cause.STOP_BUTTON),
    ],
)
def test_hard_faults_zero_and_disable_in_the_same_tick(running, record, field, value, cause):
    running.tick(T_req=2.0)
    if record == "drive":
        running.status = value
    else:
        getattr(running, record)[field] = value
    assert running.tick(T_req=2.0) is State.FAULT
    assert running.s["T_cmd"] == 0.0
    assert not running.s["flags"] & COMMAND_ENABLE
    assert running.s["send"] == 1
    assert running.cause() is cause


@pytest.mark.parametrize("T_req", [math.nan, math.inf, -math.inf])
def test_a_wish_that_is_not_a_number_never_leaves(running, T_req):
    assert running.tick(T_req=T_req) is State.FAULT
    assert running.s["T_cmd"] == 0.0
    assert running.cause() is Cause.NOT_A_NUMBER


def test_silence_is_withheld_then_a_fault(running):
    running.tick(T_req=1.0)
    silent = 0.0
    while silent < 5.0 and running.tick(T_req=1.0, fresh=False) is State.RUNNING:
        silent += DT
        assert running.s["send"] == 0, "an old sample must not feed the drive's watchdog"
        assert Verdict(int(running.s["verdict"])) & Verdict.NO_FRESH_SAMPLE
    assert silent <= running.limits.stale.value + 1e-9
    assert running.cause() is Cause.STALE_SAMPLE
    assert running.s["send"] == 1
    assert running.s["T_cmd"] == 0.0


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda b: b.estimate.__setitem__("v", 11.0), Cause.SPEED_WINDOW),
        (lambda b: b.estimate.__setitem__("v", 0.1), Cause.SPEED_WINDOW),
        (lambda b: b.sample.__setitem__("bus_meas", 19.0), Cause.BUS_VOLTAGE),
    ],
)
def test_soft_faults_ramp_linearly_to_zero_then_latch(running, spoil, cause):
    for _ in range(20):
        running.tick(T_req=4.0)
    spoil(running)
    torques = []
    while len(torques) < 1000 and running.tick(T_req=4.0) is State.RAMPDOWN:
        torques.append(float(running.s["T_cmd"]))
    steps = np.diff([4.0, *torques])
    np.testing.assert_allclose(steps[1:], -4.0 * DT / running.limits.ramp.value, atol=1e-12)
    assert abs(len(torques) * DT - running.limits.ramp.value) <= DT + 1e-9
    assert State(int(running.s["state"])) is State.FAULT
    assert running.cause() is cause


def test_saturation_for_too_long_ends_the_run(running):
    n = 0
    while n < 1000 and running.tick(T_req=20.0) is State.RUNNING:
        n += 1
    assert running.cause() is Cause.SATURATED
    assert abs(n * DT - running.limits.saturated.value) <= 2 * DT


def test_operator_stop_ramps_to_disarmed_and_off_is_obeyed_at_once(running):
    running.tick(T_req=2.0)
    assert running.tick(demand=Demand.STOP, T_req=2.0) is State.RAMPDOWN
    assert running.tick(demand=Demand.OFF, T_req=2.0) is State.DISARMED
    assert running.s["T_cmd"] == 0.0
    again = Bench().until(State.RUNNING)
    again.until(State.DISARMED, demand=Demand.STOP)
    assert again.cause() is Cause.OPERATOR_STOP


@pytest.mark.parametrize("state", [State.CHECK, State.ARMED, State.RUNNING])
def test_off_is_obeyed_from_every_state_in_one_tick(bench, state):
    bench.until(state, demand=Demand.ARM if state is State.ARMED else Demand.RUN)
    assert bench.tick(demand=Demand.OFF, T_req=3.0) is State.DISARMED
    assert bench.s["T_cmd"] == 0.0
    assert not bench.s["flags"] & COMMAND_ENABLE


def test_a_fault_is_latched_with_its_first_cause_until_acknowledged(running):
    running.estimate["phi"] = 1.0
    running.tick()
    running.sample["faults"] = FAULT_DRIVE
    for demand in Demand:
        assert running.tick(demand=demand) is State.FAULT
        assert running.cause() is Cause.LEAN_LIMIT
    assert running.tick(demand=Demand.RUN, acknowledged=True) is State.FAULT
    assert running.tick(demand=Demand.OFF, acknowledged=True) is State.DISARMED
    assert running.cause() is Cause.NONE


SENSIBLE = st.floats(-1.0, 1.0) | st.sampled_from([math.nan, math.inf, -math.inf])


@given(
    news=st.lists(
        st.tuples(
            st.sampled_from(list(Demand)),
            st.floats(-50, 50) | st.sampled_from([math.nan, math.inf]),
            st.booleans(),
            st.booleans(),
            SENSIBLE,
            SENSIBLE,
            st.sampled_from([0, STATUS_ENABLED, STATUS_WATCHDOG, STATUS_STOP_BUTTON]),
        ),
        max_size=60,
    ),
    armed=st.booleans(),
)
def test_whatever_comes_the_torque_keeps_its_promises(news, armed):
    bench = Bench()
    if armed:
        bench.until(State.RUNNING)
    last = 0.0
    for demand, T_req, fresh, clean, phi, delta, status in news:
        bench.estimate["phi"], bench.estimate["delta"] = phi, delta
        bench.status = status
        state = bench.tick(demand, T_req, fresh, clean)
        T = float(bench.s["T_cmd"])
        assert math.isfinite(T)
        assert abs(T) <= bench.limits.torque.value
        if state is State.RUNNING:
            assert abs(T - last) <= bench.limits.torque_rate.value * DT + 1e-9
        elif state is not State.RAMPDOWN:
            assert T == 0.0
        if state in (State.DISARMED, State.FAULT):
            assert not bench.s["flags"] & COMMAND_ENABLE
        last = T


def test_a_release_takes_the_torque_away_and_nothing_else(running):
    step = 500.0 * DT
    for _ in range(10):
        running.tick(T_req=6.0)
    assert (running.s["T_cmd"], running.s["verdict"]) == (6.0, Verdict.NONE)
    running.news["released"] = 1
    torques = []
    for _ in range(200):  # twice as long as a wish beyond the limit may last
        assert running.tick(T_req=20.0) is State.RUNNING
        assert running.s["send"]
        assert running.s["flags"] == COMMAND_ENABLE
        assert running.s["verdict"] & Verdict.RELEASED
        assert not running.s["verdict"] & Verdict.TORQUE_LIMIT
        torques.append(float(running.s["T_cmd"]))
    assert torques[:3] == [6.0 - step, 6.0 - 2 * step, 0.0], "no faster than the torque may change"
    assert set(torques[2:]) == {0.0}
    running.news["released"] = 0
    running.tick(T_req=1.0)
    assert (running.s["T_cmd"], running.s["verdict"]) == (1.0, Verdict.NONE)


def test_limits_hold_while_it_is_released(running):
    running.news["released"] = 1
    running.tick(T_req=1.0)
    running.estimate["phi"] = 0.53
    assert running.tick(T_req=1.0) is State.FAULT
    assert running.cause() is Cause.LEAN_LIMIT
    assert not running.s["verdict"] & Verdict.RELEASED


def test_a_wish_that_is_not_a_number_counts_while_it_is_released(running):
    running.news["released"] = 1
    assert running.tick(T_req=math.nan) is State.FAULT
