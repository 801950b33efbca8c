"""Emulated drive that follows a rate or an angle: its lag, its limits, and that it does not follow where it cannot."""

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.hil.runners.emulation import Emulation
from riderless.models.catalogue import load_bicycle
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop, driven_steer
from riderless.models.plant.plant import SteerDrive, Surroundings
from tests.models.plant.riding import DT, free, ride

REST = (0.0, 0.0, 0.0, 0.0)
LOOPS = (
    InnerLoop(kind="rate", bandwidth=50.0),
    InnerLoop(kind="rate", bandwidth=50.0, damping=0.8),
    InnerLoop(kind="angle", bandwidth=50.0, damping=1.0),
)


def drive(loop, **limits):
    return SteerDrive(**({"lag": 0.0, "torque_max": 1e3, "inner_loop": loop} | limits))


@pytest.fixture(scope="module")
def silver():
    return load_bicycle("Silver")


@pytest.mark.parametrize("loop", LOOPS, ids=str)
@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_the_machine_moves_as_the_linear_model_with_a_stiff_drive(silver, loop, model):
    """Small motion, against the matrix exponential of `driven_steer`."""
    x0, u = np.array([2e-4, -1e-4, 1e-3, 2e-3]), 3e-3
    plant = free(silver, 4.0, x0=tuple(x0), drive=drive(loop), model=model)
    found = ride(plant, 40, T=u)
    A, b = driven_steer(Variant(silver), 4.0, loop)
    n = len(b)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = A, b
    step, state = expm(whole * DT), np.r_[x0, np.zeros(n - 4), u]
    expected = [state]
    for _ in range(40):
        expected.append(step @ expected[-1])
    scale = np.abs(np.array(expected)[:, :4]).max(axis=0)
    np.testing.assert_allclose(found / scale, np.array(expected)[:, :4] / scale, rtol=0, atol=0.03)


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
@pytest.mark.parametrize("name", ["Benchmark", "DelftSbW2024"])
def test_it_follows_within_its_lag(name, model):
    loop = InnerLoop(kind="rate", bandwidth=100.0, damping=1.0)
    x = ride(free(load_bicycle(name), 3.0, x0=REST, drive=drive(loop), model=model), 40, T=0.2)
    assert x[2, DELTA_DOT] < 0.15  # 10 ms after the command: 1 - 2/e of it
    np.testing.assert_allclose(x[20:, DELTA_DOT], 0.2, rtol=0.05)
    angle = InnerLoop(kind="angle", bandwidth=100.0, damping=1.0)
    x = ride(free(load_bicycle(name), 3.0, x0=REST, drive=drive(angle), model=model), 40, T=0.05)
    np.testing.assert_allclose(x[20:, DELTA], 0.05, rtol=0.05)


def test_a_rate_command_meets_its_limits(silver):
    loop = InnerLoop(kind="rate", bandwidth=200.0, damping=1.0)
    plant = free(silver, 3.0, x0=REST, drive=drive(loop, rate_max=1.0))
    assert np.abs(ride(plant, 60, T=5.0)[:, DELTA_DOT]).max() == pytest.approx(1.0, rel=0.02)
    limited = drive(loop, acceleration_max=4.0)
    rate = ride(free(silver, 3.0, x0=REST, drive=limited), 40, T=0.8)[:, DELTA_DOT]
    np.testing.assert_allclose(np.diff(rate[5:35]) / DT, 4.0, rtol=0.05)
    assert rate[-1] < 0.81


def test_an_angle_command_is_reached_by_a_trapezoid_without_overshoot(silver):
    """0.3 rad at 2 rad/s^2 and 0.5 rad/s at most: 0.25 s up, 0.35 s along, 0.25 s down."""
    loop = InnerLoop(kind="angle", bandwidth=200.0, damping=1.0)
    limited = drive(loop, rate_max=0.5, acceleration_max=2.0)
    plant = free(silver, 0.5, x0=REST, drive=limited, surroundings=Surroundings(training_wheels=0.1))
    x = ride(plant, 180, T=0.3)
    t = DT * np.arange(181) - loop.lag
    expected = np.interp(t, [0.25, 0.6], [0.5, 0.5], 0.0, 0.0)
    assert np.abs(x[:, DELTA_DOT]).max() == pytest.approx(0.5, abs=0.02)
    np.testing.assert_allclose(x[(t > 0.3) & (t < 0.55), DELTA_DOT], expected[(t > 0.3) & (t < 0.55)], atol=0.02)
    assert x[int(0.4 / DT), DELTA] == pytest.approx(0.5 * 0.25**2 * 2.0 + 0.5 * (0.4 - 0.25 - loop.lag), abs=0.004)
    assert x[:, DELTA].max() < 0.303
    assert x[-1, DELTA] == pytest.approx(0.3, abs=0.003)


@pytest.mark.parametrize("loop", LOOPS, ids=str)
@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_where_it_takes_more_torque_than_there_is_the_steer_does_not_follow(silver, loop, model):
    """A hand of 3 N m on the bars against a drive of 1 N m, of 10 N m."""

    def gone(torque_max):
        hand = Surroundings(steer_stops=0.02)  # the bars lie against a stop
        plant = free(silver, 3.0, x0=REST, drive=drive(loop, torque_max=torque_max), model=model, surroundings=hand)
        return ride(plant, 30, T=0.4), plant.T

    x, T = gone(1.0)
    assert np.abs(x[:, DELTA]).max() < 0.04  # the stop holds it, not 0.4
    assert abs(T) <= 1.0 + 1e-12
    stiffer, _ = gone(100.0)
    assert np.abs(stiffer[:, DELTA]).max() > np.abs(x[:, DELTA]).max()


def test_a_pi_that_met_its_limit_comes_back_at_once(silver):
    """Its integral stood still: the torque turns round with the command, without winding down first."""
    loop = InnerLoop(kind="rate", bandwidth=50.0, damping=1.0)
    stop = Surroundings(steer_stops=0.02, training_wheels=0.1)
    plant = free(silver, 3.0, x0=REST, drive=drive(loop, torque_max=2.0), surroundings=stop)
    ride(plant, 200, T=1.0)
    assert pytest.approx(2.0) == plant.T
    ride(plant, 20, T=-1.0)
    assert plant.T < 0.0


def test_off_it_makes_no_torque_and_on_again_it_starts_from_where_the_steer_is(silver):
    plant = free(silver, 4.0, x0=(0.0, 0.1, 0.0, 0.0), drive=drive(LOOPS[2], delay=0.02), catch=False)
    ride(plant, 2, T=0.5, enabled=False)
    assert plant.T == 0.0
    ride(plant, 3, T=0.1, enabled=True)  # what was said before it was switched on is forgotten
    assert abs(plant.T) < 6.0  # not that of a step to 0 or to 0.5
    held = free(silver, 4.0, x0=REST, drive=drive(LOOPS[1]))
    held.s["held"] = 1
    ride(held, 100, T=2.0)
    assert held.T == 0.0
    assert held.s["servo"]["integral"][0] == 0.0


def test_commands_that_are_no_numbers(silver):
    rate = free(silver, 4.0, x0=(0.0, 0.0, 0.0, 0.3), drive=drive(LOOPS[0]))
    assert abs(ride(rate, 30, T=np.nan)[-1, DELTA_DOT]) < 0.05  # no rate is asked for
    angle = free(silver, 4.0, x0=REST, drive=drive(LOOPS[2]))
    ride(angle, 30, T=0.1)
    assert ride(angle, 10, T=np.inf)[-1, DELTA] == pytest.approx(0.1, abs=0.02)  # the last good one holds


def test_the_delay_is_that_of_a_command(silver):
    x = ride(free(silver, 4.0, x0=REST, drive=drive(LOOPS[0], delay=0.025)), 10, T=1.0)
    assert not x[:6, DELTA_DOT].any()
    assert x[6, DELTA_DOT] > 0.1


def test_a_torque_drive_knows_nothing_of_all_this(silver):
    plant = free(silver, 4.0, drive=SteerDrive())
    ride(plant, 20, T=1.0)
    assert plant.p["servo"]["kind"][0] == 0
    assert plant.s["servo"]["on"][0] == 0


def test_a_steer_drive_that_holds_the_bars_leaves_the_lean_alone(silver):
    """Held at zero by a stiff drive, the bicycle falls as the inverted pendulum with the steer fixed."""
    loop = InnerLoop(kind="angle", bandwidth=200.0, damping=1.0)
    x = ride(free(silver, 4.0, x0=(0.01, 0, 0, 0), drive=drive(loop)), 100)
    M, _, K = Variant(silver).matrices(0.0)
    np.testing.assert_allclose(x[:, PHI], 0.01 * np.cosh(np.sqrt(-K[0, 0] / M[0, 0]) * DT * np.arange(101)), rtol=0.01)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rate_max": 0.0}, "rate_max of the drive must be positive, found 0.0 rad/s"),
        ({"acceleration_max": np.nan}, "acceleration_max of the drive must be positive"),
        ({"backlash": 0.01}, "behind a torque drive only, found 0.01 rad behind one of kind angle"),
        ({"lag": 0.05}, "below 2 damping / bandwidth = 0.04 s"),
    ],
)
def test_what_cannot_be_emulated_is_refused(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        drive(LOOPS[2], **wrong)


def test_a_loop_that_commands_torque_does_not_get_such_a_drive():
    with pytest.raises(
        InputError, match="what the drive obeys is the rig's, found an emulated drive that obeys a steer angle"
    ):
        Emulation(drive=drive(LOOPS[2]))
