"""The steer drive and the friction of the emulated machine, against exact solutions and energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI
from riderless.models.errors import InputError
from riderless.models.linear.whipple import canonical_matrices, input_matrix, system_matrix
from riderless.models.plant.plant import SteerDrive
from riderless.models.plant.records import ROTOR, ROTOR_DOT
from tests.models.plant.riding import DT, free, ride


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def test_saturation_and_gain(benchmark_bicycle):
    full = ride(free(benchmark_bicycle, drive=SteerDrive(torque_max=0.5)), 40, T=0.5)
    np.testing.assert_array_equal(ride(free(benchmark_bicycle, drive=SteerDrive(torque_max=0.5)), 40, T=90.0), full)
    plant = free(benchmark_bicycle, drive=SteerDrive(gain=0.5))
    np.testing.assert_allclose(ride(plant, 40, T=1.0), full, rtol=0, atol=1e-12)
    assert plant.read()["T"] == pytest.approx(1.0)  # it does not know its own gain


def test_a_disabled_drive_makes_no_torque(benchmark_bicycle):
    plant = free(benchmark_bicycle, catch=False)
    ride(plant, 20, T=1.0)
    assert pytest.approx(1.0, abs=1e-6) == plant.T
    ride(plant, 20, T=1.0, enabled=False)
    assert pytest.approx(0.0, abs=1e-6) == plant.T


def test_friction_holds_the_steer_up_to_its_torque(benchmark_bicycle):
    drive = SteerDrive(coulomb=0.2)
    stuck = ride(free(benchmark_bicycle, x0=(0, 0, 0, 0), drive=drive), 200, T=0.199)
    assert not stuck[:, [DELTA, DELTA_DOT]].any()
    assert np.abs(stuck).max() < 1e-15  # the torque ends in the frame: upright stays upright
    assert ride(free(benchmark_bicycle, x0=(0, 0, 0, 0), drive=drive), 20, T=0.3)[-1, DELTA_DOT] > 0.0


def test_a_stuck_steer_leaves_an_inverted_pendulum(benchmark_bicycle):
    """With delta held the lean equation alone remains: M_pp phi'' + g K0_pp phi = 0."""
    M, _, K0, _ = canonical_matrices(benchmark_bicycle)
    plant = free(benchmark_bicycle, x0=(0.01, 0, 0, 0), drive=SteerDrive(coulomb=50.0))
    x = ride(plant, 100)
    rate = np.sqrt(-benchmark_bicycle.g * K0[0, 0] / M[0, 0])
    assert not x[:, [DELTA, DELTA_DOT]].any()
    np.testing.assert_allclose(x[:, PHI], 0.01 * np.cosh(rate * DT * np.arange(101)), rtol=1e-9)


def test_sliding_to_rest_against_dry_friction(benchmark_bicycle):
    """The instant and place of coming to rest, against an adaptive solver that looks for it."""
    A, B = system_matrix(benchmark_bicycle, 5.0), input_matrix(benchmark_bicycle)[:, 1]
    A[:, DELTA_DOT] -= 0.3 * B

    def at_rest(t, x):
        return x[DELTA_DOT]

    at_rest.terminal = True
    x0, drive = (0.0, 0.0, 0.0, 0.8), SteerDrive(viscous=0.3, coulomb=2.0)
    stop = solve_ivp(lambda t, x: A @ x - 2.0 * B, (0, 1), x0, rtol=1e-11, atol=1e-13, events=at_rest, max_step=0.01)
    x = ride(free(benchmark_bicycle, x0=x0, drive=drive), 60)
    k = int(np.ceil(stop.t[-1] / DT))
    assert x[k - 1, DELTA_DOT] > 0.0
    assert not x[k:, DELTA_DOT].any()  # at rest, exactly, without chatter
    np.testing.assert_allclose(x[k:, DELTA], stop.y[DELTA, -1], rtol=0, atol=1e-7)


def test_friction_never_gives_energy(benchmark_bicycle):
    M, _, K0, _ = canonical_matrices(benchmark_bicycle)
    x = ride(free(benchmark_bicycle, 0.0, x0=(0.0, 0.3, 0.0, -2.0), drive=SteerDrive(coulomb=0.3)), 60)
    energy = [0.5 * row[2:] @ M @ row[2:] + 0.5 * benchmark_bicycle.g * row[:2] @ K0 @ row[:2] for row in x]
    assert np.all(np.diff(energy) <= 1e-12)
    assert energy[-1] < energy[0] - 0.05


# Backlash -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["linear", "nonlinear"])
def test_inside_the_play_the_bicycle_does_not_know_of_its_drive(benchmark_bicycle, model):
    """So the eigenvalues are those of the bicycle; the rotor turns by itself."""
    x0, T, rotor = (0.002, 0.0, 0.001, 0.001), 0.01, 0.02
    plain = free(benchmark_bicycle, x0=x0, model=model, drive=SteerDrive(lag=0.0))
    loose = free(benchmark_bicycle, x0=x0, model=model, drive=SteerDrive(lag=0.0, backlash=0.3, rotor=rotor))
    np.testing.assert_allclose(ride(loose, 40, T=T), ride(plain, 40), rtol=0, atol=1e-10)
    assert loose.s["x"][0, ROTOR] == pytest.approx(0.5 * T / rotor * 0.2**2, rel=1e-9)


def test_pressed_against_its_teeth_the_rotor_is_part_of_the_steer(benchmark_bicycle):
    """Six states: the four of the bicycle, the rotor and its rate, coupled by the teeth."""
    rotor, b = 0.05, benchmark_bicycle
    drive = SteerDrive(lag=0.0, backlash=0.02, rotor=rotor)
    plant = free(b, x0=(0, 0, 0, 0), drive=drive)
    mesh = plant.p[0]["mesh"]
    A, B = np.zeros((6, 6)), input_matrix(b)[:, 1]
    A[:4, :4] = system_matrix(b, 5.0)
    A[:4, [DELTA, DELTA_DOT]] -= np.outer(B, [mesh["stiffness"], mesh["damping"]])
    A[:4, 4:] = np.outer(B, [mesh["stiffness"], mesh["damping"]])
    A[4, 5] = 1.0
    A[5] = np.array([0, mesh["stiffness"], 0, mesh["damping"], -mesh["stiffness"], -mesh["damping"]]) / rotor

    def after(deviation):
        pressed = free(b, x0=(0, 0, 0, 0), drive=drive)
        pressed.s["x"][0, [0, 1, 2, 3, ROTOR, ROTOR_DOT]] = np.array([0, 0, 0, 0, 0.01006, 0]) + 1e-7 * deviation
        pressed.advance(3.0, True, DT)
        return pressed.s["x"][0, [0, 1, 2, 3, ROTOR, ROTOR_DOT]]

    pressed = after(np.zeros(6))
    found = np.transpose([(after(row) - pressed) / 1e-7 for row in np.eye(6)])
    np.testing.assert_allclose(found, expm(A * DT), rtol=0, atol=1e-3)  # of at most 70 1/s
    # and slowly it moves as with a heavier steer: M^-1 with the rotor's inertia added
    M, C1, K0, K2 = canonical_matrices(b)
    heavier = M + np.diag([0.0, rotor])
    rigid = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(heavier, b.g * K0 + 25 * K2), np.zeros((2, 2))]])
    rigid[2:, 2:] = -np.linalg.solve(heavier, 5.0 * C1)
    eigenvalues = np.linalg.eigvals(A)
    weave = next(value for value in np.linalg.eigvals(rigid) if value.imag > 0.0)
    assert np.abs(np.linalg.eigvals(system_matrix(b, 5.0)) - weave).min() > 0.02
    for value in np.linalg.eigvals(rigid):
        assert np.abs(eigenvalues - value).min() < 1e-3 * abs(value)


def test_torque_crosses_the_play_late(benchmark_bicycle):
    """The steer first moves when the rotor has gone through half the play: t = sqrt(rotor backlash / T)."""
    drive = SteerDrive(lag=0.0, backlash=0.02, rotor=0.01)
    plant, h = free(benchmark_bicycle, x0=(0, 0, 0, 0), drive=drive), 1e-4
    x = ride(plant, 400, T=1.0, dt=h)
    moved = h * int(np.argmax(x[:, DELTA] > 0.0))
    assert moved == pytest.approx(np.sqrt(0.01 * 0.02 / 1.0), abs=3 * h)


def test_play_leaves_a_torque_that_swings_less_effect(benchmark_bicycle):
    """Teeth take energy and give none: what the bicycle and the rotor hold is at most the drive's work."""
    b, h = benchmark_bicycle, 1e-4
    M, _, K0, _ = canonical_matrices(b)
    drive = SteerDrive(lag=0.0, backlash=0.05, rotor=0.01)
    plant, work = free(b, 0.0, x0=(0, 0, 0, 0), drive=drive), 0.0
    for k in range(5000):
        T, way = 2.0 * np.sign(np.sin(20 * k * h) or 1.0), -plant.s["x"][0, ROTOR]
        plant.advance(T, True, h)
        work += T * (way + plant.s["x"][0, ROTOR])
        q, q_dot = plant.state[:2], plant.state[2:]
        held = 0.5 * q_dot @ M @ q_dot + 0.5 * b.g * q @ K0 @ q + 0.005 * plant.s["x"][0, ROTOR_DOT] ** 2
        assert held <= work + 1e-6
    assert work > 0.05


def test_play_wants_a_rotor():
    with pytest.raises(InputError, match="gear ratio squared"):
        SteerDrive(backlash=0.01, rotor=0.0)
    assert SteerDrive(rotor=0.0).backlash == 0.0
