"""A steer that follows a rate or an angle: what is expected of it, and when it is said to stray."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from riderless.firmware_interface.messages import COMMAND_KINDS, SAMPLE
from riderless.hil.loop.drives.following import FOLLOWING_TIME, LETTING_GO, follow_command, following_map, look_at_steer
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.observer import ESTIMATE, follow_drive
from riderless.hil.loop.plausibility import new_monitor
from riderless.models.linear.prescribed_steer import InnerLoop
from tests.hil.machine import rig_of

DT = 0.005  # s
LOOPS = (
    InnerLoop(kind="rate", bandwidth=40.0),
    InnerLoop(kind="rate", bandwidth=50.0, damping=1.0),
    InnerLoop(kind="rate", bandwidth=70.0, damping=0.5),
    InnerLoop(kind="angle", bandwidth=30.0, damping=2.0),
)


def observer_of(loop, delay):
    rig = rig_of(drive=loop, command_delay=delay)
    return rig.observer.as_record(rig.bicycle, DT, rig.drive_lag, rig.x_imu, rig.z_imu, delay, loop)


def lag(loop):
    """Right side of the drive's lag, from the table of models/linear/prescribed_steer.py, for z = (r, r')."""
    w, zeta = loop.bandwidth, loop.damping
    if zeta is None:
        return lambda z, u: [w * (u - z[0]), 0.0]
    return lambda z, u: [z[1], w**2 * (u - z[0]) - 2.0 * zeta * w * z[1]]


@pytest.mark.parametrize("delay", [None, 0.002])
@pytest.mark.parametrize("loop", LOOPS, ids=str)
def test_the_expected_steer_is_the_lag_of_the_drive_integrated(loop, delay):
    commands = np.random.default_rng(1).normal(size=40)
    observer, e, kind = observer_of(loop, delay), np.zeros(1, ESTIMATE)[0], COMMAND_KINDS.index(loop.kind)
    z, before, change = np.zeros(2), 0.0, lag(loop)
    for u in commands:
        follow_command(observer, e, u, kind, True)
        for command, h in ((before, delay or DT), (u, DT - (delay or DT))):
            if h > 0.0:
                z = solve_ivp(lambda t, z, c=command: change(z, c), (0.0, h), z, rtol=1e-10, atol=1e-12).y[:, -1]
        before = u
        assert e["T"] == pytest.approx(z[0], abs=1e-8)
        assert e["u_prev"] == u


def test_a_lag_of_first_order_remembers_no_rate():
    decay = following_map(InnerLoop(kind="rate", bandwidth=40.0), 0.01)
    assert decay == pytest.approx(np.array([[0.67032, 0.0], [0.0, 0.0]]), abs=1e-6)  # exp(-0.4)


@pytest.mark.parametrize("loop", LOOPS[1:4:2], ids=str)
def test_before_control_it_is_the_steer_in_a_persons_hands(loop):
    observer, e = observer_of(loop, None), np.zeros(1, ESTIMATE)[0]
    e["delta"], e["delta_dot"], e["T_dot"] = 0.1, -0.3, 5.0
    follow_command(observer, e, 0.05, COMMAND_KINDS.index(loop.kind), False)
    assert e["T"] == (-0.3 if loop.kind == "rate" else 0.1)
    assert (e["T_dot"], e["u_prev"]) == (0.0, 0.05)


def test_torque_drive_knows_nothing_of_it():
    rig = rig_of()
    record = rig.observer.as_record(rig.bicycle, DT, rig.drive_lag, rig.x_imu, rig.z_imu)
    assert not record["follow_old"].any()
    e = np.zeros(1, ESTIMATE)[0]
    follow_drive(record, e, 2.0)
    follow_drive(record, e, 2.0)
    assert e["T"] == pytest.approx(2.0 * (1.0 - np.exp(-DT / rig.drive_lag)))
    assert e["T_dot"] == 0.0


class Watched:
    """What is said of a steer that does this while the drive is expected to do that."""

    def __init__(self, kind, **limits):
        self.limits = Limits(**limits).as_record(kind)
        self.m, self.e, self.sample = new_monitor(), np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]

    def until_noticed(self, expected, steer, torque=0.0, running=True, longest=3.0):
        """Time [s] until it is noticed; None if it is not. ``expected`` and ``steer`` are functions of time."""
        for k in range(-round(LETTING_GO / DT) - 1, round(longest / DT)):  # a person may hold the bars at first
            self.e["T"], self.sample["delta_meas"], self.sample["T_meas"] = expected(k * DT), steer(k * DT), torque
            on = running and k >= -round(LETTING_GO / DT)
            if look_at_steer(self.limits, self.m, self.sample, self.e, on, DT, 1.0 - np.exp(-DT / 0.1)):
                return k * DT
        return None


@pytest.mark.parametrize("rate", [0.2, -1.0, 2.5])
def test_rate_that_is_followed_is_no_matter_however_long(rate):
    assert Watched("rate").until_noticed(lambda t: rate, lambda t: 0.3 + rate * t) is None


def test_rate_that_is_not_followed_is_noticed_when_the_angle_is_lost():
    limit = Limits().follow_error.value
    still = Watched("rate").until_noticed(lambda t: 2.0, lambda t: 0.1)
    expected = -FOLLOWING_TIME * np.log(1.0 - limit / (2.0 * FOLLOWING_TIME))  # 2 tau (1 - exp(-t / tau)) = limit
    assert still == pytest.approx(expected, abs=3 * DT)
    slow = limit / FOLLOWING_TIME  # rad/s, the least lasting error of the rate that is found
    assert Watched("rate").until_noticed(lambda t: 0.9 * slow, lambda t: 0.0) is None
    assert Watched("rate").until_noticed(lambda t: 1.2 * slow, lambda t: 0.0) is not None
    assert Watched("rate").until_noticed(lambda t: 0.0, lambda t: -1.2 * slow * t) is not None


def test_angle_that_has_lost_its_zero_is_noticed():
    limit = Limits().follow_error.value
    assert Watched("angle").until_noticed(lambda t: 0.2, lambda t: 0.2 + 0.9 * limit) is None
    assert Watched("angle").until_noticed(lambda t: 0.2, lambda t: 0.2 - 1.2 * limit) is not None
    assert Watched("angle").until_noticed(lambda t: 0.0, lambda t: 3.0 * limit, running=False) is None


@pytest.mark.parametrize("kind", ["rate", "angle"])
def test_steer_at_the_drives_greatest_torque_and_in_a_persons_hands_is_excused(kind):
    def wanted(t):
        return 2.0

    assert Watched(kind).until_noticed(wanted, lambda t: 0.0, torque=-6.95) is None
    assert Watched(kind).until_noticed(wanted, lambda t: 0.0, torque=6.5) is not None
    assert Watched(kind).until_noticed(wanted, lambda t: 0.0) > -DT, "not before it was let go"


@pytest.mark.parametrize("kind", ["rate", "angle"])
def test_torque_beyond_its_limit_is_noticed_and_at_its_limit_not(kind):
    limits = {"torque": Limit(3.0, "N m", "a test")}
    assert Watched(kind, **limits).until_noticed(lambda t: 0.0, lambda t: 0.0, torque=-3.0) is None
    assert Watched(kind, **limits).until_noticed(lambda t: 0.0, lambda t: 0.0, torque=-4.5) is not None


def test_a_zero_lost_at_the_release_is_told_0_74_s_later():
    """Hands off after 0.6 s; of twice the limit half is seen after 0.2 s ln 2."""
    w = Watched("angle")
    w.sample["delta_meas"] = 2.0 * Limits().follow_error.value
    noticed = (look_at_steer(w.limits, w.m, w.sample, w.e, True, DT, 0.05) for _ in range(400))
    assert DT * next(k for k, told in enumerate(noticed, 1) if told) == pytest.approx(0.74, abs=2 * DT)


def test_what_has_strayed_is_forgotten_in_a_persons_hands_and_dies_out_at_the_greatest_torque():
    w = Watched("angle")
    w.m["strayed"], w.m["steered_for"] = 0.1, LETTING_GO + 1.0
    w.sample["T_meas"] = -0.99 * w.limits["torque"]  # the share of it at which it is excused, to the last bit
    w.e["T"] = 3.0
    assert not look_at_steer(w.limits, w.m, w.sample, w.e, True, 0.1, 0.05)
    assert w.m["strayed"] == pytest.approx(0.1 * np.exp(-0.5), rel=1e-12)
    assert not look_at_steer(w.limits, w.m, w.sample, w.e, False, 0.1, 0.05)
    assert w.m["strayed"] == 0.0


def test_it_is_let_go_for_as_long_as_said_and_not_a_tick_longer():
    w = Watched("angle")
    w.e["T"] = 0.05
    w.m["steered_for"] = LETTING_GO - 0.25
    look_at_steer(w.limits, w.m, w.sample, w.e, True, 0.25, 0.05)
    assert (w.m["steered_for"], w.m["strayed"]) == (LETTING_GO, 0.0)
    look_at_steer(w.limits, w.m, w.sample, w.e, True, 0.25, 0.05)
    assert w.m["strayed"] == pytest.approx(0.05 * (1.0 - np.exp(-1.25)), rel=1e-12)


def test_just_at_its_limit_nothing_is_beyond_it():
    w = Watched("angle", torque=Limit(3.0, "N m", "a test"), torque_error=Limit(0.5, "N m", "a test"))
    limit = w.limits["follow_error"]
    w.m["steered_for"], w.m["strayed"], w.e["T"] = 2.0, limit, limit
    assert not look_at_steer(w.limits, w.m, w.sample, w.e, True, DT, 0.05)
    w.m["strayed"], w.m["torque_error"], w.sample["T_meas"] = 0.0, 0.5, 3.5
    assert not look_at_steer(w.limits, w.m, w.sample, w.e, True, DT, 0.05)
    assert w.m["torque_error"] == 0.5


def test_torque_beyond_its_limit_is_smoothed():
    w = Watched("rate", torque=Limit(3.0, "N m", "a test"))
    w.sample["T_meas"] = -3.4
    for expected in (0.1, 0.175, 0.23125):  # a quarter of what is left of 0.4 N m, three times
        look_at_steer(w.limits, w.m, w.sample, w.e, True, DT, 0.25)
        assert w.m["torque_error"] == pytest.approx(expected, rel=1e-9)
