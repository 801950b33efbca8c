"""The drive: what becomes of a command on its way to the steer axis."""

import numpy as np
import pytest
from scipy.integrate import quad

from riderless.models.errors import InputError
from riderless.models.plant import steer_drive
from riderless.models.plant.steer_drive import DRIVE_SETTINGS, DRIVE_STATE, MAX_WAITING, SteerDrive


def make(**fields):
    """Records of parameters and state of one drive."""
    p, s = np.zeros(1, DRIVE_SETTINGS), np.zeros(1, DRIVE_STATE)
    for name in DRIVE_SETTINGS.names:
        p[name] = getattr(SteerDrive(**fields), name)
    return p[0], s[0]


def follow(p, s, t, T_cmd, enabled=True):
    """The torque followed just after a command at `t`."""
    steer_drive.latch(p, s, t, T_cmd, enabled)
    steer_drive.obey(p, s, t)
    return s["target"]


def test_lag_is_first_order():
    p, s = make(lag=0.004)
    follow(p, s, 0.0, 2.0)
    assert s["T"] == 0.0
    assert steer_drive.torque_after(p, s, 0.004) == pytest.approx(2.0 * 0.6321205588285577, rel=1e-15)  # 1 - 1/e


def test_without_lag_the_torque_is_there_at_once():
    p, s = make(lag=0.0)
    follow(p, s, 0.0, 2.0)
    assert s["T"] == 2.0
    assert steer_drive.torque_nodes(p, s, 1e-3) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("lag", [1e-9, 1e-4, 1e-3, 2.01e-3, 0.005, 0.3, 1e4])
def test_nodes_carry_the_integrals_of_the_exponential(lag):
    """What a Runge-Kutta step makes of them, against numerical integration of the exponential."""
    p, s = make(lag=lag)
    s["T"], h = -1.5, 1e-3
    follow(p, s, 0.0, 2.0)
    T0, T1, T2 = steer_drive.torque_nodes(p, s, h)
    made = ((T0 + 4 * T1 + T2) / 6 * h, (T0 + 2 * T1) / 6 * h**2, (T0 + T1) / 12 * h**3)
    for n, (value, factorial) in enumerate(zip(made, (1, 1, 2), strict=True)):

        def transient(t, n=n, factorial=factorial):
            return (h - t) ** n / factorial * -3.5 * np.exp(-t / lag)

        end = min(h, 40 * lag)
        exact = quad(transient, 0, end, epsabs=0, epsrel=1e-12)[0] + 2.0 * h ** (n + 1) / (1, 2, 6)[n]
        assert value == pytest.approx(exact, rel=1e-11)


def test_an_offset_is_made_and_not_reported_while_the_drive_is_on():
    p, s = make(lag=0.0, offset=0.3, dead_band=0.1)
    follow(p, s, 0.0, 2.0)
    assert s["T"] == 2.0, "as it reports"
    assert steer_drive.torque_nodes(p, s, 1e-3) == pytest.approx((2.2, 2.2, 2.2))
    follow(p, s, 0.1, 0.0)
    assert steer_drive.torque_nodes(p, s, 1e-3) == pytest.approx((0.2, 0.2, 0.2))
    follow(p, s, 0.2, 2.0, enabled=False)
    assert steer_drive.torque_nodes(p, s, 1e-3) == (0.0, 0.0, 0.0)
    p, s = make(lag=0.004, offset=0.3)
    follow(p, s, 0.0, 2.0)
    assert steer_drive.torque_nodes(p, s, 1e-9)[0] == pytest.approx(0.3, abs=1e-5), "at once: no part of the lag"


def test_saturation_limits_the_command():
    p, s = make(torque_max=3.0)
    assert follow(p, s, 0.0, 10.0) == 3.0
    assert follow(p, s, 0.0, -10.0) == -3.0


@pytest.mark.parametrize("T_cmd", [np.nan, np.inf, -np.inf])
def test_a_command_that_is_not_finite_asks_for_nothing(T_cmd):
    p, s = make()
    follow(p, s, 0.0, 2.0)
    assert follow(p, s, 0.1, T_cmd) == 0.0


def test_delay_keeps_the_order_and_the_instants():
    p, s = make(delay=0.0123)
    for k in range(20):
        steer_drive.latch(p, s, 0.001 * k, 0.1 * k, True)
    for k in range(1, 20):  # the first asks for 0, which is no news
        due = 0.001 * k + 0.0123
        assert steer_drive.next_command_due(s) == pytest.approx(due, abs=1e-15)
        steer_drive.obey(p, s, due - 1e-6)
        assert s["target"] == 0.1 * (k - 1)
        steer_drive.obey(p, s, due)
        assert s["target"] == 0.1 * k
    assert steer_drive.next_command_due(s) == np.inf


def test_the_ring_goes_round_many_times():
    p, s = make(delay=0.1)
    for k in range(5 * MAX_WAITING):
        assert follow(p, s, 0.001 * k, 1.0 + k % 3) == (1.0 + (k - 100) % 3 if k >= 100 else 0.0)


def test_a_full_ring_keeps_the_newest_command():
    p, s = make(delay=0.1)
    for k in range(MAX_WAITING + 5):
        steer_drive.latch(p, s, 1e-6 * k, 1e-3 * k, True)
    assert s["waiting"] == MAX_WAITING
    steer_drive.obey(p, s, 1.0)
    assert s["target"] == 1e-3 * (MAX_WAITING + 4)


def test_disabling_is_immediate_and_forgets_what_was_on_its_way():
    p, s = make(delay=0.02)
    follow(p, s, 0.0, 1.0)
    follow(p, s, 0.02, 2.0)
    assert s["target"] == 1.0
    assert follow(p, s, 0.03, 2.0, enabled=False) == 0.0
    steer_drive.obey(p, s, 1.0)
    assert s["target"] == 0.0


def test_dry_friction_opposes_motion_and_holds_up_to_its_torque():
    p, _ = make(coulomb=0.2, viscous=0.5)
    assert steer_drive.slip_side(p, 1e-9, 0.0) == 1.0
    assert steer_drive.slip_side(p, -1e-9, 0.0) == -1.0
    assert steer_drive.slip_side(p, 0.0, 0.2) == 0.0
    assert steer_drive.slip_side(p, 0.0, -0.2) == 0.0
    assert steer_drive.slip_side(p, 0.0, 0.21) == -1.0  # it would take more to the right than friction has
    assert steer_drive.slip_side(p, 0.0, -0.21) == 1.0
    assert steer_drive.friction(p, 2.0, 1.0) == pytest.approx(-1.2)
    assert steer_drive.friction(p, -2.0, -1.0) == pytest.approx(1.2)


@pytest.mark.parametrize("name", ["lag", "delay", "torque_max", "viscous", "coulomb", "backlash", "rotor"])
@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_drive_refuses_what_no_drive_has(name, value):
    with pytest.raises(InputError, match=f"{name} of the drive"):
        SteerDrive(**{name: value})


def test_drive_refuses_a_delay_in_milliseconds_and_a_gain_that_is_no_number():
    with pytest.raises(InputError, match="in seconds"):
        SteerDrive(delay=5.0)
    with pytest.raises(InputError, match="gain"):
        SteerDrive(gain=np.nan)


@pytest.mark.parametrize(("T", "arrives"), [(0.03, 0.0), (-0.05, 0.0), (0.2, 0.15), (-1.0, -0.95)])
def test_a_dead_band_is_left_out_of_every_torque(T, arrives):
    p, _ = make(dead_band=0.05)
    assert steer_drive.passed_on(p, 0.7, T) == pytest.approx(arrives)


def test_hysteresis_lags_behind_on_the_way_up_and_down():
    """By hand: up to 1, where 0.9 arrives; nothing moves until the torque has come back by twice the size."""
    p, _ = make(hysteresis=0.1)
    passed, seen = 0.0, []
    for T in (0.05, 0.5, 1.0, 0.9, 0.81, 0.6, -1.0, -0.85):
        passed = steer_drive.passed_on(p, passed, T)
        seen.append(passed)
    assert seen == pytest.approx([0.0, 0.4, 0.9, 0.9, 0.9, 0.7, -0.9, -0.9])


def test_a_drive_at_rest_forgets_from_where_it_came():
    p, s = make(hysteresis=0.1, lag=0.0)
    follow(p, s, 0.0, 1.0)
    steer_drive.carry_on(p, s, 1e-3, False)
    assert s["passed"] == pytest.approx(0.9)
    assert steer_drive.torque_nodes(p, s, 1e-3) == pytest.approx((0.9, 0.9, 0.9))
    steer_drive.carry_on(p, s, 1e-3, True)
    assert s["passed"] == 0.0
