"""Large motions of a window: against the emulated nonlinear bicycle, the linear theory, and friction by hand."""

import numpy as np
import pytest

from riderless.experiments.theories import fixed, lean_feedback, open_loop
from riderless.experiments.theory.free_response import free_response
from riderless.experiments.theory.machine_steps import Nonlinearities
from riderless.experiments.theory.nonlinear_response import nonlinear_response
from riderless.models import catalogue
from riderless.models.coordinates import DELTA, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive
from tests.experiments.simulated import sampled_lean_feedback

DT = 0.005  # s
START = np.array([0.01, -0.02, 1.0, 0.1])
QUIET = Instruments(gyro_noise=0.0, accel_noise=0.0, wheel_noise=0.0)


def ridden(bicycle, v, x0, n, drive=SteerDrive(), model="nonlinear"):
    """Roll gyro, steer and yaw gyro (n,) of the emulated bicycle without torque."""
    floor = Scenario(speed=v, surface="floor", held=False, catch=False, x0=tuple(x0))
    plant = Plant(bicycle, floor, drive, QUIET, model)
    rows = []
    for _ in range(n):
        read = plant.read()
        rows.append((read["phi_dot"], plant.state[DELTA], read["psi_dot"]))
        plant.advance(0.0, True, DT)
    return np.array(rows).T


@pytest.mark.parametrize(("name", "v"), [("Benchmark", 5.2), ("Pista", 5.0), ("Rigid", 6.0)])
def test_a_large_motion_is_the_emulated_nonlinear_bicycle_s(name, v):
    bicycle = catalogue.load_bicycle(name)
    dynamics = open_loop(bicycle).dynamics()
    gyro, steer, yaw = ridden(bicycle, ((0.0, v),), START, 400)
    found = nonlinear_response(dynamics, np.full(400, v), DT, START)
    np.testing.assert_allclose(found.phi_dot[:, 0], gyro, atol=2e-4)
    np.testing.assert_allclose(found.delta[:, 0], steer, atol=2e-4)
    np.testing.assert_allclose(found.psi_dot[:, 0], yaw, atol=4e-4)
    linear = free_response(dynamics, np.full(400, v), DT) @ START
    assert np.abs(linear[:, PHI_DOT] - gyro).max() > 20 * np.abs(found.phi_dot[:, 0] - gyro).max()


def test_a_slowing_bicycle_s_too():
    bicycle = catalogue.load_bicycle("Silver")
    v = 6.0 - 0.2 * DT * np.arange(400)
    gyro, steer, _ = ridden(bicycle, ((0.0, 6.0), (10.0, 4.0)), 0.7 * START, 400)
    found = nonlinear_response(open_loop(bicycle).dynamics(), v, DT, 0.7 * START)
    np.testing.assert_allclose(found.phi_dot[:, 0], gyro, atol=5e-4)
    np.testing.assert_allclose(found.delta[:, 0], steer, atol=5e-4)


def test_a_small_motion_is_the_linear_theory_s_whatever_was_moved():
    theory = lean_feedback(catalogue.load_bicycle("DelftSbW2024"), 2.0, 6.5).move(
        {"steer_stiffness": 2.0, "steer_damping": 0.3, "speed_scale": 1.02, "more_delay": 0.01, "fork_inertia": 1.2}
    )
    dynamics, v = theory.dynamics(), np.linspace(4.0, 3.8, 300)
    expected = free_response(dynamics, v, DT) @ (1e-5 * START)
    found = nonlinear_response(dynamics, v, DT, 1e-5 * START)
    np.testing.assert_allclose(found.phi_dot[:, 0], expected[:, PHI_DOT], atol=2e-9)
    steady = np.full(300, 4.0)
    expected = free_response(dynamics, steady, DT) @ (1e-5 * START)
    np.testing.assert_allclose(
        nonlinear_response(dynamics, steady, DT, 1e-5 * START).phi_dot[:, 0], expected[:, PHI_DOT], atol=1e-12
    )


def test_a_pitched_sensor_reads_a_small_motion_as_the_linear_theory_s_does():
    theory = lean_feedback(catalogue.load_bicycle("DelftSbW2024"), 2.0, 6.5)
    dynamics, v = theory.dynamics({"imu_pitch": 0.05}), np.full(300, 4.0)
    states = free_response(dynamics, v, DT) @ (1e-5 * START)
    found = nonlinear_response(dynamics, v, DT, 1e-5 * START)
    read = states @ dynamics.lean_rate_read(4.0)
    assert np.abs(read - states[:, PHI_DOT]).max() > 0.01 * np.abs(read).max()
    np.testing.assert_allclose(found.phi_dot[:, 0], read, atol=1e-12)


def test_dry_friction_is_the_emulated_drive_s():
    bicycle = catalogue.load_bicycle("Benchmark")
    gyro, steer, _ = ridden(bicycle, ((0.0, 5.2),), 0.4 * START, 400, SteerDrive(coulomb=0.1))
    dynamics, v = open_loop(bicycle).dynamics(), np.full(400, 5.2)
    rubbing = nonlinear_response(dynamics, v, DT, 0.4 * START, nonlinearities=Nonlinearities(coulomb=0.1))
    free = nonlinear_response(dynamics, v, DT, 0.4 * START)
    error, effect = np.abs(rubbing.delta[:, 0] - steer).max(), np.abs(free.delta[:, 0] - steer).max()
    assert effect > 0.01
    assert error < 0.05 * effect
    assert np.abs(rubbing.phi_dot[:, 0] - gyro).max() < 0.05 * np.abs(free.phi_dot[:, 0] - gyro).max()


def test_a_bicycle_that_falls_over_is_nan_from_there_on():
    found = nonlinear_response(
        open_loop(catalogue.load_bicycle("Benchmark")).dynamics(), np.full(600, 2.0), DT, 3.0 * START
    )
    upright = np.isfinite(found.phi_dot[:, 0])
    assert upright[:20].all()
    assert not upright[-1]
    assert not np.any(np.diff(upright.astype(int)) > 0)


def test_dynamics_without_mechanics_are_refused():
    bicycle = catalogue.load_bicycle("Silver")
    theory = fixed(bicycle, sampled_lean_feedback(bicycle))
    with pytest.raises(InputError, match="wanted the mechanics of 'whole sampled loop, lean'"):
        nonlinear_response(theory.dynamics(), np.full(10, 4.0), DT, START)
