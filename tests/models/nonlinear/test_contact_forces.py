"""Contact forces against momentum of four bodies, the linear bicycle and statics; and when a wheel lets go."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, PHI, Q_DELTA, Q_PHI, Q_PSI, Q_THETA, Q_THETA_R
from riderless.models.linear import path
from riderless.models.linear.whipple import system_matrix
from riderless.models.nonlinear.contact_forces import (
    FRONT_LIFTS,
    FRONT_SLIPS,
    OUTSIDE,
    REAR_LIFTS,
    REAR_SLIPS,
    describe_status,
    grip,
)
from riderless.models.nonlinear.equations import accelerations, contact_forces, status
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.nonlinear.simulation import initial_state, simulate_nonlinear
from tests.models.nonlinear import four_bodies
from tests.models.nonlinear.test_equations import random_states

NO_TORQUE = np.zeros(3)
GOOD = np.array([0.0, 0.0, 500.0, 0.0, 0.0, 300.0])


def forces(bicycle, q, u, T=NO_TORQUE):
    p, u_dot, out = pack_bicycle(bicycle), np.empty(8), np.empty(6)
    T = np.asarray(T, float)
    accelerations(p, q, u, T, u_dot)
    contact_forces(p, q, u, T, u_dot, out)
    return out, u_dot


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "TwoMassSkateTheory"])
@pytest.mark.parametrize("T", [(0.0, 0.0, 0.0), (4.0, -9.0, 2.0)])
def test_forces_balance_the_momentum_of_four_bodies(name, T):
    """Six equations of the whole bicycle and one of the front wheel's spin, by differences."""
    bicycle = catalogue.load_bicycle(name)
    for q, u in random_states(bicycle, 10):
        found, u_dot = forces(bicycle, q, u, T)
        change = four_bodies.along(
            lambda t: four_bodies.momentum(bicycle, q + t * u + 0.5 * t * t * u_dot, u + t * u_dot),  # noqa: B023
            1e-4,
        )
        parts, contact, _ = four_bodies.bodies(bicycle, q, u)
        yaw, axle = four_bodies.turn(2, q[Q_PSI]), None
        axle = (
            yaw @ four_bodies.turn(0, q[Q_PHI]) @ four_bodies.turn(1, q[Q_THETA]) @ four_bodies.turn(2, q[Q_DELTA])
        )[:, 1]
        heading = np.cross(axle, [0.0, 0.0, 1.0])
        heading /= np.linalg.norm(heading)
        rear = yaw @ (found[:3] * [1.0, 1.0, -1.0])
        front = found[3] * heading + found[4] * np.cross([0.0, 0.0, 1.0], heading) - [0.0, 0.0, found[5]]

        weights = [np.array([0.0, 0.0, part.m * bicycle.g]) for part in parts]
        force = rear + front + sum(weights)
        moment = np.cross([q[0], q[1], 0.0], rear) + np.cross(contact, front) + T[0] * yaw[:, 0]
        moment = moment + sum(np.cross(part.r, weight) for part, weight in zip(parts, weights, strict=True))
        tolerance = 1e-6 * max(1.0, np.abs(found).max())
        np.testing.assert_allclose(change[:3], force, rtol=0, atol=tolerance)
        np.testing.assert_allclose(change[3:6], moment, rtol=0, atol=10.0 * tolerance)
        assert abs(change[6] - bicycle.rF * found[3]) <= tolerance


def test_standing_the_weight_rests_on_the_wheels(benchmark_bicycle):
    """Moments about the contacts: front share x_T / w."""
    b = benchmark_bicycle
    found, _ = forces(b, *initial_state(b))
    weight = (b.mR + b.mB + b.mH + b.mF) * b.g
    front = (b.mB * b.xB + b.mH * b.xH + b.mF * b.w) / b.w * b.g
    np.testing.assert_allclose(found, [0.0, 0.0, weight - front, 0.0, 0.0, front], rtol=0, atol=1e-10)


def test_near_upright_the_lateral_forces_are_the_linear_ones(benchmark_bicycle):
    b, v, small = benchmark_bicycle, 5.0, 1e-6
    for x in np.eye(4):
        expected = path.lateral_forces(b, v, x, system_matrix(b, v) @ x)
        found, _ = forces(b, *initial_state(b, *(small * x[[PHI, DELTA, 2, 3]]), v))
        # The ground's y and the front wheel's right differ by a second-order part of the (small) drag.
        np.testing.assert_allclose(found[[1, 4]] / small, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_driving_pushes_at_the_rear_and_lightens_the_front(benchmark_bicycle):
    b = benchmark_bicycle
    rest, _ = forces(b, *initial_state(b, v=4.0))
    found, u_dot = forces(b, *initial_state(b, v=4.0), (0.0, -30.0, 0.0))
    assert u_dot[Q_THETA_R] < 0.0
    assert found[0] > 0.0 > found[3]  # the front wheel is dragged round
    assert found[5] < rest[5]


def test_braking_hard_lifts_the_rear_and_driving_hard_the_front(benchmark_bicycle):
    p = pack_bicycle(benchmark_bicycle)
    q, u = initial_state(benchmark_bicycle, v=8.0)
    assert status(p, q, u, NO_TORQUE, np.inf) == 0
    assert status(p, q, u, np.array([0.0, -200.0, 0.0]), np.inf) == FRONT_LIFTS
    # The benchmark's mass lies high and far back: only a brake far beyond any rubber lifts its rear.
    assert status(p, q, u, np.array([0.0, 400.0, 0.0]), np.inf) == REAR_LIFTS


def test_friction_is_asked_for(benchmark_bicycle):
    p = pack_bicycle(benchmark_bicycle)
    q, u = initial_state(benchmark_bicycle, v=8.0)
    T = np.array([0.0, -60.0, 0.0])
    found, _ = forces(benchmark_bicycle, q, u, T)
    needed = np.hypot(found[0], found[1]) / found[2]
    assert status(p, q, u, T, 1.001 * needed) == 0
    assert status(p, q, u, T, 0.999 * needed) == REAR_SLIPS
    ride = simulate_nonlinear(benchmark_bicycle, q, u, 0.01, 0.001, T, 0.999 * needed)
    assert (ride.status & REAR_SLIPS).all()


@pytest.mark.parametrize(
    ("n", "value", "expected"),
    [
        (2, -1.0, REAR_LIFTS),
        (5, 0.0, FRONT_LIFTS),
        (1, 401.0, REAR_SLIPS),
        (3, -241.0, FRONT_SLIPS),
        (2, np.nan, REAR_LIFTS),
        (4, np.nan, FRONT_SLIPS),
        (0, 399.0, 0),
    ],
)
def test_grip_names_the_wheel(n, value, expected):
    found = GOOD.copy()
    found[n] = value
    assert grip(found, 0.8) == expected


def test_several_things_at_once_are_all_told():
    words = describe_status(grip(np.array([0.0, 0.0, -5.0, 300.0, 0.0, 300.0]), 0.8))
    assert "rear wheel is about to lift" in words
    assert "front wheel needs more friction" in words
    assert describe_status(0) == ""


@pytest.mark.parametrize("fault", ["roll", "steer", "pitch", "speed", "nan"])
def test_outside_the_domain_is_told(benchmark_bicycle, fault):
    p = pack_bicycle(benchmark_bicycle)
    q, u = initial_state(benchmark_bicycle, roll=0.1, v=4.0)
    match fault:
        case "roll":
            q[Q_PHI] = 2.0
        case "steer":
            q[Q_DELTA] = 1.6
        case "pitch":
            q[Q_THETA] += 1e-6
        case "speed":
            u[Q_THETA_R] = -np.inf
        case "nan":
            u[Q_DELTA] = np.nan
    assert status(p, q, u, NO_TORQUE, np.inf) == OUTSIDE


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")
