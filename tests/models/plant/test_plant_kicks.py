"""The hand that pushes the emulated machine, against momentum, energy and an adaptive solver."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from riderless.models import catalogue
from riderless.models.coordinates import PHI, PHI_DOT
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.plant.plant import Kick, SteerDrive
from tests.models.plant.riding import DT, free, ride


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def lateral_rows(b, front, x, z):
    """Lateral displacement of a point, spin about x and about z, per (y_P, psi, phi, delta)."""
    s, c = np.sin(b.lam), np.cos(b.lam)
    steer = (c * (x - b.w - b.c) - s * z, s, c) if front else (0.0, 0.0, 0.0)
    return np.array([[1.0, x, -z, steer[0]], [0.0, 0.0, 1.0, steer[1]], [0.0, 1.0, 0.0, steer[2]]])


def velocity_after_blow(b, impulse, x, z):
    """Jumps of (y_P, psi, phi, delta) rates of four rigid bodies on two knife edges, none eliminated."""
    bodies = (
        (False, 0.0, -b.rR, b.mR, b.IRxx, 0.0, b.IRxx),
        (False, b.xB, b.zB, b.mB, b.IBxx, b.IBxz, b.IBzz),
        (True, b.xH, b.zH, b.mH, b.IHxx, b.IHxz, b.IHzz),
        (True, b.w, -b.rF, b.mF, b.IFxx, 0.0, b.IFxx),
    )
    system, right = np.zeros((6, 6)), np.zeros(6)
    for front, x_b, z_b, m, I_xx, I_xz, I_zz in bodies:
        J = lateral_rows(b, front, x_b, z_b)
        system[:4, :4] += J.T @ np.array([[m, 0, 0], [0, I_xx, I_xz], [0, I_xz, I_zz]]) @ J
    contacts = np.array([lateral_rows(b, False, 0.0, 0.0)[0], lateral_rows(b, True, b.w, 0.0)[0]])
    system[4:, :4], system[:4, 4:] = contacts, contacts.T
    right[:4] = impulse * lateral_rows(b, False, x, z)[0]
    return np.linalg.solve(system, right)[:4]


@pytest.mark.parametrize("name", ["Benchmark", "Silver"])
@pytest.mark.parametrize(("x", "z"), [(0.3, -0.8), (0.0, -0.9), (-0.2, -0.4), (0.8, 0.0)])
def test_a_blow_changes_the_momentum_of_four_rigid_bodies(name, x, z):
    bicycle = catalogue.load_bicycle(name)
    duration = 1e-6
    plant = free(bicycle, x0=(0, 0, 0, 0), kicks=(Kick(0.0, 2.5, duration, x, z),))
    plant.advance(0.0, True, duration)
    _, psi_dot, phi_dot, delta_dot = velocity_after_blow(bicycle, 2.5, x, z)
    np.testing.assert_allclose(plant.state[2:], [phi_dot, delta_dot], rtol=1e-4, atol=1e-6)
    assert plant.read()["psi_dot"] == pytest.approx(psi_dot, rel=1e-4, abs=1e-6)


def test_a_push_to_the_right_leans_it_right(benchmark_bicycle):
    x = ride(free(benchmark_bicycle, x0=(0, 0, 0, 0), kicks=(Kick(0.0, 2.0),)), 20)
    assert x[-1, PHI] > 0.0
    assert x[16, PHI_DOT] > 0.0


def test_a_kick_is_a_half_sine_of_the_given_impulse(benchmark_bicycle):
    kick = Kick(0.0321, -4.0, 0.08, 0.3, -0.8)
    b = benchmark_bicycle
    yaw = b.c * np.cos(b.lam) / b.w
    A, B = system_matrix(b, 4.0), input_matrix(b)

    def slope(t, x):
        force = -4.0 * np.pi / 0.16 * np.sin(np.pi * (t - 0.0321) / 0.08)
        return A @ x + B @ (0.8 * force, yaw * 0.3 * force)

    x = ride(free(b, 4.0, x0=(0, 0, 0, 0), kicks=(kick,)), 40)
    pushed = solve_ivp(slope, (0.0321, 0.1121), np.zeros(4), rtol=1e-11, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(x[6], 0.0, atol=0)
    np.testing.assert_allclose(x[-1], expm(A * (40 * DT - 0.1121)) @ pushed, rtol=0, atol=1e-9)


def test_the_hand_does_the_work_the_bicycle_gains(benchmark_bicycle):
    """At rest nothing else does work: the hand's force times the way of its point."""
    b, kick = benchmark_bicycle, Kick(0.0, 6.0, 0.2, 0.6, -0.7)
    M, _, K0, _ = canonical_matrices(b)
    plant = free(b, 0.0, x0=(0.02, 0.1, -0.1, 0.3), kicks=(kick,), drive=SteerDrive(lag=0.0))

    def energy():
        q, q_dot = plant.state[:2], plant.state[2:]
        return 0.5 * q_dot @ M @ q_dot + 0.5 * b.g * q @ K0 @ q

    def place():
        return plant.y_P + kick.x * plant.psi - kick.z * plant.state[PHI]

    before, work, h = energy(), 0.0, 1e-4
    for k in range(2000):
        way = -place()
        plant.advance(0.0, True, h)
        way += place()
        work += way * kick.impulse * np.pi / 0.4 * np.sin(np.pi * (k + 0.5) * h / 0.2)
    assert abs(work) > 0.02
    assert energy() - before == pytest.approx(work, rel=1e-6)


def test_many_kicks_come_in_turn(benchmark_bicycle):
    """Of a linear machine: the sum of the responses to each alone."""
    kicks = tuple(Kick(0.1 * k, 0.5 * (-1) ** k) for k in range(6))
    nothing = (0, 0, 0, 0)
    together = ride(free(benchmark_bicycle, x0=nothing, kicks=kicks), 150)
    alone = sum(ride(free(benchmark_bicycle, x0=nothing, kicks=(kick,)), 150) for kick in kicks)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
