"""Heading, place and contact forces of the linear bicycle, each by a second route."""

import numpy as np
import pytest
from scipy.linalg import expm

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.path import (
    GROUND_STATES,
    PSI,
    Y_P,
    extended_matrix,
    farthest_contact,
    front_wheel_place,
    heading_rate,
    lateral_forces,
)
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix


def dalembert(b, v, x, x_dot):
    """Sideways forces by summing m a and the rate of spin and body momentum over the four bodies.

    Every body is a list entry with its own roll, yaw and sideways acceleration; no totals are formed.
    """
    s, c = np.sin(b.lam), np.cos(b.lam)
    phi_dot, delta_dot, phi_ddot, delta_ddot = x_dot
    psi_dot = c * (v * x[DELTA] + b.c * delta_dot) / b.w
    psi_ddot = c * (v * delta_dot + b.c * delta_ddot) / b.w
    bodies = [
        (b.mR, 0.0, -b.rR, 0.0, b.IRxx, b.IRyy / b.rR if b.rR else 0.0, 0),
        (b.mB, b.xB, b.zB, b.IBxz, b.IBzz, 0.0, 0),
        (b.mH, b.xH, b.zH, b.IHxz, b.IHzz, 0.0, 1),
        (b.mF, b.w, -b.rF, 0.0, b.IFxx, b.IFyy / b.rF if b.rF else 0.0, 1),
    ]
    sideways, yaw = 0.0, 0.0
    for m, x_i, z_i, Ixz, Izz, spin, steered in bodies:
        roll_ddot = phi_ddot + steered * s * delta_ddot
        yaw_ddot = psi_ddot + steered * c * delta_ddot
        ahead = steered * ((x_i - b.w - b.c) * c - z_i * s)
        a_y = v * psi_dot + x_i * psi_ddot - z_i * phi_ddot + ahead * delta_ddot
        sideways += m * a_y
        yaw += x_i * m * a_y + Izz * yaw_ddot + Ixz * roll_ddot - v * spin * (phi_dot + steered * s * delta_dot)
    return sideways - yaw / b.w, yaw / b.w


@pytest.fixture
def motions():
    """Arbitrary states and torques."""
    rng = np.random.default_rng(7)
    return [(rng.uniform(0.5, 9.0), 0.1 * rng.standard_normal(4), rng.standard_normal(2)) for _ in range(5)]


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_forces_balance_the_four_bodies(name, motions):
    b = catalogue.load_bicycle(name)
    for v, x, torque in motions:
        x_dot = system_matrix(b, v) @ x + input_matrix(b) @ torque
        forces = lateral_forces(b, v, x, x_dot)
        np.testing.assert_allclose(forces, dalembert(b, v, x, x_dot), rtol=1e-11, atol=1e-11)


def test_forces_of_many_states_at_once(motions):
    b = catalogue.load_bicycle("Silver")
    v = np.array([speed for speed, _, _ in motions])
    x = np.array([state for _, state, _ in motions])
    x_dot = x[:, ::-1].copy()
    rear, front = lateral_forces(b, v, x, x_dot)
    for i in range(len(v)):
        assert (rear[i], front[i]) == pytest.approx(lateral_forces(b, v[i], x[i], x_dot[i]), rel=1e-13)


@pytest.mark.parametrize("name", catalogue.bicycle_names())
def test_steady_turn_carries_the_centripetal_force(name):
    """Statics of a turn held by hand: m v^2 / R together, shared like weight but for the spin."""
    b = catalogue.load_bicycle(name)
    v, delta = 5.0, 0.02
    _, _, K0, K2 = canonical_matrices(b)
    K = b.g * K0 + v**2 * K2
    x = np.array([-K[0, 1] * delta / K[0, 0], delta, 0.0, 0.0])  # the lean that needs no lean torque
    T_delta = K[1] @ x[:2]
    x_dot = system_matrix(b, v) @ x + input_matrix(b)[:, T_DELTA] * T_delta
    np.testing.assert_allclose(x_dot, 0.0, atol=1e-11)

    masses, places = np.array([b.mR, b.mB, b.mH, b.mF]), np.array([0.0, b.xB, b.xH, b.w])
    radius = b.w / (delta * np.cos(b.lam))
    rear, front = lateral_forces(b, v, x, x_dot)
    total = masses.sum() * v**2 / radius
    assert rear + front == pytest.approx(total, rel=1e-12)
    assert front * b.w == pytest.approx(masses @ places * v**2 / radius, rel=1e-12)
    assert rear + front > 0.0  # steering right, the ground pushes right


def test_leaning_force_closes_the_moment_about_the_track():
    """Roll about the line of contact: in a steady turn weight, wheels' spin and m v^2 / R balance in lean."""
    b = catalogue.load_bicycle("Benchmark")
    v, delta = 6.0, 0.01
    masses = np.array([b.mR, b.mB, b.mH, b.mF])
    heights = -np.array([-b.rR, b.zB, b.zH, -b.rF])
    turn = v * delta * np.cos(b.lam) / b.w
    spin = b.IRyy / b.rR + b.IFyy / b.rF
    _, _, K0, K2 = canonical_matrices(b)
    trail_side = b.g * K0[0, 1] * delta  # weight moved sideways by steering
    expected = -((masses @ heights) * v * turn + v * spin * turn + trail_side) / (-b.g * masses @ heights)
    K = b.g * K0 + v**2 * K2
    assert -K[0, 1] * delta / K[0, 0] == pytest.approx(expected, rel=1e-12)


def test_heading_follows_the_front_wheel():
    """The front contact must move along the front wheel, whatever the state."""
    b = catalogue.load_bicycle("Browser")
    rng = np.random.default_rng(3)
    for _ in range(5):
        v, psi, x = rng.uniform(0.0, 8.0), rng.normal(), 0.1 * rng.standard_normal(4)
        y_Q_rate = v * psi + b.w * heading_rate(b, v, x) - b.c * np.cos(b.lam) * x[DELTA_DOT]
        assert y_Q_rate == pytest.approx(v * (psi + np.cos(b.lam) * x[DELTA]), abs=1e-14)


def test_extended_matrix_integrates_to_the_path_of_the_rear_contact():
    """Exponential of the six states against the lean and steer alone, with the path summed after them."""
    b, v, t_end, n = catalogue.load_bicycle("Benchmark"), 4.6, 2.0, 4000
    x0 = np.array([0.0, 0.01, 0.1, 0.0])
    end = expm(extended_matrix(b, v) * t_end) @ np.array([*x0, 0.0, 0.0])

    t = np.linspace(0.0, t_end, n + 1)
    step = expm(system_matrix(b, v) * t[1])
    x = np.empty((n + 1, 4))
    x[0] = x0
    for i in range(n):
        x[i + 1] = step @ x[i]
    rate = heading_rate(b, v, x)
    psi = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2.0) * t[1]])
    y = np.trapezoid(v * psi, t)
    np.testing.assert_allclose(end[:4], x[-1], rtol=1e-9)
    assert end[PSI] == pytest.approx(psi[-1], rel=1e-5)
    assert end[Y_P] == pytest.approx(y, rel=1e-5)


def test_extended_matrix_leaves_lean_and_steer_alone():
    b = catalogue.load_bicycle("Pista")
    A = extended_matrix(b, 3.0)
    assert GROUND_STATES == ("phi", "delta", "phi_dot", "delta_dot", "psi", "y_P")
    assert np.array_equal(A[:4, :4], system_matrix(b, 3.0))
    assert not A[:4, 4:].any()
    assert A[PSI, PHI] == 0.0
    assert A[PSI, PHI_DOT] == 0.0


def test_wheels_across_the_lane():
    b = catalogue.load_bicycle("Silver")
    turned = np.radians([0.0, 30.0, -30.0, 90.0])  # half a wheelbase, and all of it
    np.testing.assert_allclose(front_wheel_place(b, 0.1, turned), 0.1 + b.w * np.array([0.0, 0.5, -0.5, 1.0]))
    np.testing.assert_allclose(farthest_contact(b, [0.1, 0.1, -0.9], turned[:3]), [0.1, 0.1 + b.w / 2, 0.9 + b.w / 2])


@pytest.mark.parametrize("x", [0.0, [0.0, 0.0], np.zeros((4, 5))])
def test_the_heading_rate_wants_whole_states(x):
    with pytest.raises(
        InputError, match=r"wanted states \(\.\.\., 4\): phi, delta, phi_dot, delta_dot; found the shape"
    ):
        heading_rate(catalogue.load_bicycle("Silver"), 4.0, x)
