"""What the emulated machine's instruments read, against finite differences of its motion."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.linear.whipple import input_matrix
from riderless.models.plant.plant import Instruments, Kick
from tests.models.plant.riding import DT, free


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


@pytest.mark.parametrize("surface", ["treadmill", "floor"])
def test_accelerometer_feels_the_way_of_its_place(benchmark_bicycle, surface):
    """f_y against the second difference of the point's path, turned into the frame, less gravity."""
    place = Instruments(gyro_noise=0, accel_noise=0, wheel_noise=0, x_imu=0.7, z_imu=-0.9)
    v_dot, h, x0 = -0.8, 1e-3, (0.005, -0.003, 0.01, 0.02)
    plant = free(benchmark_bicycle, speed=((0.0, 6.0), (1.0, 6.0 + v_dot)), instruments=place, surface=surface, x0=x0)
    y, rows = [], []
    for _ in range(900):
        y.append(plant.y_P + 0.7 * plant.psi + 0.9 * plant.state[PHI])
        rows.append((plant.read().copy(), plant.psi, plant.state))
        plant.advance(0.0, True, h)
    acceleration = np.diff(y, 2) / h**2
    forward = v_dot if surface == "floor" else 0.0
    for (reading, psi, x), lateral in zip(rows[1:-1], acceleration, strict=True):
        assert reading["a_y"] == pytest.approx(lateral - psi * forward - 9.81 * x[PHI], abs=1e-4)
        assert reading["a_x"] == pytest.approx(forward, abs=1e-3)  # the belt lies along the bicycle but for a cosine
        assert reading["a_z"] == -9.81
    assert np.ptp([row[0]["a_y"] for row in rows]) > 0.05


def test_gyro_and_encoder_read_the_motion(benchmark_bicycle):
    plant = free(benchmark_bicycle)
    h = 1e-3
    for _ in range(200):
        before = plant.psi
        plant.advance(0.2, True, h)
        reading, x, now = plant.read(), plant.state, plant.psi
        assert (reading["phi_dot"], reading["delta"]) == (x[PHI_DOT], x[DELTA])
        assert reading["theta_dot"] == 0.0
        assert reading["T"] == plant.T
        plant.advance(0.2, True, h)
        assert reading["psi_dot"] == pytest.approx((plant.psi - before) / (2 * h), abs=1e-4)
        assert now != before


def test_reading_does_not_disturb_the_motion(benchmark_bicycle):
    fields = {"kicks": (Kick(0.1, 2.0),), "torque_noise": 0.2, "instruments": Instruments(latency=2)}
    read, unread = free(benchmark_bicycle, **fields), free(benchmark_bicycle, **fields)
    for _ in range(100):
        for plant in (read, unread):
            plant.advance(0.1, True, DT)
        for _ in range(3):
            read.read()
        np.testing.assert_array_equal(read.state, unread.state)


def test_one_seed_one_run_and_a_copy_carries_on(benchmark_bicycle):
    def run(seed):
        plant = free(benchmark_bicycle, torque_noise=0.3, seed=seed, instruments=Instruments())
        return plant, [(plant.advance(0.0, True, DT), plant.read())[1] for _ in range(50)]

    plant, first = run(7)
    assert np.array(first).tobytes() == np.array(run(7)[1]).tobytes()
    assert np.array(first).tobytes() != np.array(run(8)[1]).tobytes()
    twin = free(benchmark_bicycle, torque_noise=0.3, instruments=Instruments())
    twin.s[:] = plant.s
    for each in (plant, twin):
        each.advance(0.0, True, DT)
    assert plant.read() == twin.read()


def test_torque_noise_is_a_random_steer_torque(benchmark_bicycle):
    """From rest the steer rate after one short period is torque x time / effective inertia."""
    jumps = []
    for seed in range(300):
        plant = free(benchmark_bicycle, x0=(0, 0, 0, 0), torque_noise=0.5, seed=seed)
        plant.advance(0.0, True, 1e-6)
        jumps.append(plant.state[DELTA_DOT] / 1e-6 / input_matrix(benchmark_bicycle)[DELTA_DOT, 1])
    assert np.std(jumps) == pytest.approx(0.5, rel=4 / np.sqrt(600))
    assert abs(np.mean(jumps)) < 4 * 0.5 / np.sqrt(300)
