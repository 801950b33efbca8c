"""The observer against a bicycle whose truth is known, and against its own algebra written out by hand."""

import numpy as np
import pytest

from riderless.firmware_interface.messages import SAMPLE
from riderless.hil.design.closed_loop import SampledLoop, instrument_map
from riderless.hil.design.loop_parts.state_layout import WHOLE_LOOP_STATES
from riderless.hil.design.methods import LoopTiming, design
from riderless.hil.loop.observer import ESTIMATE, Observer, follow_drive, observe
from riderless.models import catalogue
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.plant.plant import Instruments, Kick, Plant, Scenario, SteerDrive

DT = 0.005
X_IMU, Z_IMU = 0.3, -0.5
QUIET = {"gyro_noise": 0.0, "accel_noise": 0.0, "wheel_noise": 0.0, "x_imu": X_IMU, "z_imu": Z_IMU}


def observing(plant, bicycle, duration, held_for=0.0, observer=None, T=lambda t, x: 0.0):
    """Let the plant move and the observer look; arrays of truth (n, 4) and estimate (n, 4), last record."""
    o = (observer or Observer()).as_record(bicycle, DT, 0.005, X_IMU, Z_IMU)
    e, sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
    truth, estimate = [], []
    for k in range(round(duration / DT)):
        readings = plant.read()
        sample["t"] = k * DT
        sample["phi_dot_meas"], sample["psi_dot_meas"] = readings["phi_dot"], readings["psi_dot"]
        sample["a_y_meas"], sample["delta_meas"] = readings["a_y"], readings["delta"]
        sample["v_meas"] = readings["wheel_rate"] * bicycle.rR
        observe(o, e, sample, k * DT < held_for)
        truth.append(plant.state)
        estimate.append([e["phi"], e["delta"], e["phi_dot"], e["delta_dot"]])
        plant.advance(T(k * DT, plant.state), True, DT)
    return np.array(truth), np.array(estimate), e


@pytest.fixture
def silver():
    return catalogue.load_bicycle("Silver")


def test_a_kick_does_not_disturb_the_lean_estimate(silver):
    kicked = Scenario(speed=((0.0, 5.5),), kicks=(Kick(0.5, 4.0),), held=False)
    truth, estimate, _ = observing(Plant(silver, kicked, SteerDrive(), Instruments(**QUIET)), silver, 6.0)
    assert np.abs(truth[:, 0]).max() > 0.05
    assert np.abs(truth[:, 0] - estimate[:, 0]).max() < 0.03 * np.abs(truth[:, 0]).max()
    assert np.abs(truth[:, 2] - estimate[:, 2]).max() < 1e-3 * np.abs(truth[:, 2]).max() + 2e-4


def test_gyro_biases_are_found_and_lean_does_not_drift_over_ten_minutes(silver):
    biased = Instruments(gyro_bias=(0.05, 0.0, -0.04), x_imu=X_IMU, z_imu=Z_IMU)
    plant = Plant(silver, Scenario(speed=((0.0, 5.5),), seed=3), SteerDrive(), biased)
    truth, estimate, e = observing(plant, silver, 600.0, held_for=2.0)
    settled = slice(round(20 / DT), None)
    assert abs(float(e["gyro_bias"]) - 0.05) < 2e-3
    assert abs(float(e["yaw_bias"]) + 0.04) < 2e-3
    assert np.abs(truth[settled, 0] - estimate[settled, 0]).max() < 0.01


def test_a_wrong_start_dies_out_at_the_bandwidth_it_claims(silver):
    lean = Scenario(speed=((0.0, 5.5),), held=False, x0=(0.08, 0.0, 0.0, 0.0))
    truth, estimate, _ = observing(Plant(silver, lean, SteerDrive(), Instruments(**QUIET)), silver, 30.0)
    error = np.abs(truth[:, 0] - estimate[:, 0])
    assert error[0] == pytest.approx(0.08, abs=1e-6)
    # twice critical at 0.4 rad/s: (1 + wt) exp(-wt) is 4 % after 12.5 s, less than 1 % after 20 s
    assert error[round(12.5 / DT)] < 0.08 * 0.08
    assert error[round(25.0 / DT)] < 0.01 * 0.08


def test_a_steady_turn_reads_as_lean_not_as_drift(silver):
    """In a turn the accelerometer alone shows no lean at all; with the yaw rate taken off it does."""
    v, phi = 5.5, 0.1
    A, b = system_matrix(silver, v), input_matrix(silver)[:, 1]
    steer, torque = np.linalg.solve(np.column_stack([A[2:, 1], b[2:]]), -A[2:, 0] * phi)
    turning = Scenario(speed=((0.0, v),), held=False, x0=(phi, steer, 0.0, 0.0))
    plant = Plant(silver, turning, SteerDrive(lag=0.0), Instruments(**QUIET))
    K = design(silver, "lqr", [v], LoopTiming()).gains(v)[:4]
    target = np.array([phi, steer, 0.0, 0.0])
    truth, estimate, _ = observing(plant, silver, 40.0, T=lambda t, x: torque - K @ (x - target))
    assert truth[-1, 0] == pytest.approx(phi, abs=1e-3)
    assert estimate[-1, 0] == pytest.approx(phi, abs=2e-3)


def test_the_drive_is_followed_one_command_behind():
    o = Observer().as_record(catalogue.load_bicycle("Silver"), DT, 0.005, 0.0, 0.0)
    e = np.zeros(1, ESTIMATE)[0]
    T, u_prev = 0.0, 0.0
    for u in (1.0, 1.0, -2.0, 0.5):
        follow_drive(o, e, u)
        T = np.exp(-1.0) * T + (1 - np.exp(-1.0)) * u_prev
        u_prev = u
        assert e["T"] == pytest.approx(T, rel=1e-14)
        assert e["u_prev"] == u


def test_a_clock_that_jumps_does_not_break_the_estimate():
    silver = catalogue.load_bicycle("Silver")
    o = Observer().as_record(silver, DT, 0.005, 0.0, 0.0)
    e, sample = np.zeros(1, ESTIMATE)[0], np.zeros(1, SAMPLE)[0]
    for t in (0.0, 0.005, 4000.0, 4000.005, 1.0, 1.005):
        sample["t"] = t
        observe(o, e, sample, False)
        assert all(np.isfinite(e[name]) for name in ESTIMATE.names)


@pytest.mark.parametrize("setting", ["lean_bandwidth", "steer_bandwidth"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_settings_must_be_positive(setting, value):
    with pytest.raises(InputError, match=setting):
        Observer(**{setting: value})


def loop_of(bicycle, method, v, **options):
    return SampledLoop(
        bicycle,
        design(bicycle, method, [v], LoopTiming(), **options),
        observer=Observer(),
        dt=DT,
        drive_lag=0.005,
        x_imu=X_IMU,
        z_imu=Z_IMU,
    )


@pytest.mark.parametrize(("name", "method", "v"), [("Silver", "lqr", 5.0), ("Benchmark", "poles", 3.5)])
def test_whole_loop_map_equals_a_step_written_out_by_hand(name, method, v):
    """Second route: one tick of plant and observer in plain numpy, from the observer's equations."""
    bicycle = catalogue.load_bicycle(name)
    loop, K = loop_of(bicycle, method, v), design(bicycle, method, [v], LoopTiming()).K[0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=13)
    z, (phi, delta, phi_dot, delta_dot, bias, yaw_bias, psi_dot) = X[:6], X[6:]
    y = instrument_map(Variant(bicycle), v, x_imu=X_IMU, z_imu=Z_IMU) @ z
    s, w = Observer(), np.exp(-100.0 * DT)
    error = y[2] - (delta + DT * delta_dot)
    new_delta = delta + DT * delta_dot + (1 - w**2) * error
    new_delta_dot = delta_dot + (1 - w) ** 2 / DT * error
    p, r = y[0] - bias, y[1] - yaw_bias
    rolling = (v * new_delta + bicycle.c * new_delta_dot) * np.cos(bicycle.lam) / bicycle.w
    shown = (v * r + X_IMU * (r - psi_dot) / DT - Z_IMU * (p - phi_dot) / DT - y[3]) / bicycle.g
    predicted = phi + 0.5 * DT * (p + phi_dot)
    new_phi = predicted + 2 * s.lean_bandwidth * DT * (shown - predicted)
    new_bias = bias - s.lean_bandwidth**2 * DT * (shown - predicted)
    new_yaw_bias = yaw_bias + s.yaw_bandwidth * DT * (r - rolling)
    new_p = y[0] - new_bias
    expected_observer = [new_phi, new_delta, new_p, new_delta_dot, new_bias, new_yaw_bias, y[1] - new_yaw_bias]
    got = loop.matrix(v) @ X
    np.testing.assert_allclose(got[6:], expected_observer, rtol=1e-12, atol=1e-12)
    u = -K @ np.array([new_phi, new_delta, new_p, new_delta_dot, z[4], z[5]])
    assert got[5] == pytest.approx(u, rel=1e-12)
    assert len(WHOLE_LOOP_STATES) == 13


def test_observer_leaves_the_designed_weave_almost_alone():
    """Kinematics hold whatever moves the bicycle, so only the steer filter's lag shifts the weave."""
    bicycle = catalogue.load_bicycle("Benchmark")
    loop = loop_of(bicycle, "poles", 5.0, zeta=0.3, omega=5.0)
    found = loop.eigenvalues(5.0)
    weave = 5.0 * complex(-0.3, np.sqrt(1 - 0.09))
    assert np.abs(found - weave).min() < 0.06 * abs(weave)
    assert (found.real < 0).all()
