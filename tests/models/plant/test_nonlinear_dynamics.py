"""The emulated machine with the nonlinear model: printed numbers, the linear machine, exact kinematics and work."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, Q_DELTA, Q_PHI, Q_THETA, Q_THETA_R
from riderless.models.nonlinear import equations, simulation
from riderless.models.plant.plant import Instruments, Kick, Knock, Plant, Scenario, SteerDrive, Surroundings
from riderless.models.plant.scenario import KICK_MIN, PUSH_MAX
from tests.models.plant.riding import DT, QUIET, free, ride
from tests.paths import REFERENCE

REST = (0.0, 0.0, 0.0, 0.0)
LATERAL = [0, 2, 4, 6, 7, 8]  # readings of first order: phi_dot, psi_dot, a_y, delta, wheel rate, torque
COASTING = {"surface": "floor", "surroundings": Surroundings(coasting=True), "model": "nonlinear"}

# Meijaard et al. (2007), Table 2, v = 5 m/s
PRINTED_5 = (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279822)


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def test_figure_4_of_meijaard(benchmark_bicycle):
    """A coasting bicycle against an independent integration of other equations."""
    reference = json.loads((REFERENCE / "nonlinear_fig4_trajectory.json").read_text())
    plant = free(benchmark_bicycle, 4.6, x0=(0.0, 0.0, 0.5, 0.0), **COASTING)
    for k, t in enumerate(reference["t"]):
        if k:
            for _ in range(20):
                plant.advance(0.0, True, DT)
        assert plant.t == pytest.approx(t, abs=1e-9)
        found = (*plant.state, plant.psi, plant.x_P, plant.y_P, -plant.v / benchmark_bicycle.rR)
        expected = [reference[name][k] for name in ("q4", "q7", "u4", "u7", "q3", "q1", "q2", "u6")]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert plant.status == ""


@pytest.mark.parametrize("surroundings", [Surroundings(), Surroundings(wind=0.05, frame_offset=1e-5)])
def test_small_motion_has_the_printed_eigenvalues(benchmark_bicycle, surroundings):
    small = 1e-5

    def after(x0):
        return ride(free(benchmark_bicycle, x0=x0, model="nonlinear", surroundings=surroundings), 1)[1]

    upright = after(REST)
    transition = np.transpose([(after(small * row) - upright) / small for row in np.eye(4)])
    found = np.log(np.linalg.eigvals(transition).astype(complex)) / DT
    for printed in PRINTED_5:
        assert np.abs(found - printed).min() < 1e-6


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
def test_it_departs_from_the_linear_machine_with_the_cube_of_the_angles(name):
    """Left and right are alike, so the first difference is cubic: half the angles, an eighth of the difference."""
    bicycle = catalogue.load_bicycle(name)

    def difference(size):
        fields = {
            "x0": size * np.array([0.1, -0.05, 0.2, 0.3]),
            "kicks": (Kick(0.1, 4.0 * size), Knock(0.4, 0.2 * size)),
        }
        linear = ride(free(bicycle, 5.0, **fields), 160, T=0.3 * size)
        return np.abs(ride(free(bicycle, 5.0, model="nonlinear", **fields), 160, T=0.3 * size) - linear).max()

    assert difference(0.2) / difference(0.1) == pytest.approx(8.0, rel=0.05)
    assert difference(0.01) < 2e-6


@pytest.mark.parametrize("surface", ["treadmill", "floor"])
def test_its_instruments_read_what_the_linear_ones_do_at_small_angles(benchmark_bicycle, surface):
    place = Instruments(gyro_noise=0, accel_noise=0, wheel_noise=0, x_imu=0.7, z_imu=-0.9)
    fields = {"x0": (1e-4, -1e-4, 3e-4, 2e-4), "kicks": (Kick(0.1, 0.01),), "instruments": place, "surface": surface}
    pair = [free(benchmark_bicycle, model=model, **fields) for model in ("linear", "nonlinear")]
    largest = np.zeros(9)
    for _ in range(200):
        for plant in pair:
            plant.advance(0.01, True, DT)
        linear, full = (np.array(plant.read().item()) for plant in pair)
        np.testing.assert_allclose(full[LATERAL], linear[LATERAL], rtol=0, atol=1e-6)
        np.testing.assert_allclose(full, linear, rtol=0, atol=5e-4)  # pitch, a_x and a_z: of second order
        largest = np.maximum(largest, np.abs(full))
    assert largest[[0, 2, 4]].min() > 4e-3


@pytest.mark.parametrize("surface", ["treadmill", "floor"])
def test_it_feels_a_change_of_speed_on_the_floor_only(benchmark_bicycle, surface):
    fields = {"x0": (1e-4, -1e-4, 3e-4, 2e-4), "speed": ((0.0, 5.0), (2.0, 4.0)), "surface": surface}
    plant = free(benchmark_bicycle, model="nonlinear", **fields)
    for _ in range(200):
        plant.advance(0.0, True, DT)
        assert plant.read()["a_x"] == pytest.approx(-0.5 if surface == "floor" else 0.0, abs=5e-4)


def frame_of(plant, b):
    """Turn and place of the rear frame, from the four angles, by rotation matrices."""
    x, q = plant.s["x"][0], plant.s["q"][0]
    pitch = equations.pitch(plant.p[0]["nonlinear"], x[PHI], x[DELTA], q[Q_THETA])
    turn = Rotation.from_euler("ZXY", [plant.psi, x[PHI], pitch - b.lam])  # yaw, then lean, then pitch
    leant = Rotation.from_euler("ZX", [plant.psi, x[PHI]])
    hub = np.array([plant.x_P, plant.y_P, 0.0]) + leant.apply([0.0, 0.0, -b.rR])
    return turn, hub


@pytest.mark.parametrize("coasting", [True, False])
def test_gyro_and_accelerometer_feel_the_way_of_their_place(benchmark_bicycle, coasting):
    """At large angles: against second differences of the instrument's place and the turn of its axes."""
    b, h = benchmark_bicycle, 2e-4
    place = Instruments(gyro_noise=0, accel_noise=0, wheel_noise=0, x_imu=0.7, z_imu=-0.9)
    around = Surroundings(coasting=coasting, training_wheels=0.7)
    fields = {"speed": ((0.0, 4.0),) if coasting else ((0.0, 4.0), (1.0, 3.0))}
    plant = free(
        b,
        x0=(0.4, -0.3, -0.8, 1.0),
        instruments=place,
        surface="floor",
        surroundings=around,
        model="nonlinear",
        **fields,
    )
    turns, points, readings = [], [], []
    for _ in range(400):
        turn, hub = frame_of(plant, b)
        turns.append(turn)
        points.append(hub + turn.apply([0.7, 0.0, -0.9 + b.rR]))
        readings.append(plant.read())
        plant.advance(0.5, True, h)
    assert not plant.fallen
    felt = np.diff(points, 2, axis=0) / h**2 - [0.0, 0.0, b.g]
    for before, turn, after, f, r in zip(turns, turns[1:], turns[2:], felt, readings[1:], strict=False):
        np.testing.assert_allclose([r["a_x"], r["a_y"], r["a_z"]], turn.inv().apply(f), rtol=0, atol=5e-4)
        spin = (before.inv() * after).as_rotvec() / (2 * h)
        np.testing.assert_allclose([r["phi_dot"], r["theta_dot"], r["psi_dot"]], spin, rtol=0, atol=1e-4)
    assert np.ptp([r["theta_dot"] for r in readings]) > 0.05
    assert np.ptp([r["a_x"] for r in readings]) > 0.1


def energy_of(plant):
    return equations.energy(plant.p[0]["nonlinear"], plant.s["q"][0], plant.s["u"][0])


@pytest.mark.parametrize(("x", "z"), [(0.3, -0.8), (0.8, -0.4), (0.0, 0.0)])
def test_the_hand_does_the_work_the_bicycle_gains(benchmark_bicycle, x, z):
    """Leant and steered far, rolling freely: force across the bicycle times the way of the hand."""
    b, kick, h = benchmark_bicycle, Kick(0.0, 9.0, 0.2, x, z), 1e-4
    plant = free(b, 3.0, x0=(0.3, 0.2, -0.5, 0.4), kicks=(kick,), drive=SteerDrive(lag=0.0), **COASTING)
    plant.read()
    before, work = energy_of(plant), 0.0

    def hand():
        turn, hub = frame_of(plant, b)
        return hub + turn.apply([x, 0.0, z + b.rR])

    for k in range(2000):
        way, across = -hand(), plant.psi
        plant.advance(0.0, True, h)
        way, across = way + hand(), 0.5 * (across + plant.psi)
        force = kick.impulse * np.pi / 0.4 * np.sin(np.pi * (k + 0.5) * h / 0.2)
        work += force * (way[1] * np.cos(across) - way[0] * np.sin(across))
    plant.read()
    assert energy_of(plant) - before == pytest.approx(work, rel=1e-6, abs=1e-6)
    assert abs(work) > (0.1 if z else -1.0)


def test_drive_and_knock_do_the_work_the_bicycle_gains(benchmark_bicycle):
    knock, h = Knock(0.0, 0.4, 0.2), 1e-4
    plant = free(benchmark_bicycle, 3.0, x0=(0.1, 0.1, 0.0, 0.4), kicks=(knock,), drive=SteerDrive(lag=0.0), **COASTING)
    plant.read()
    before, work = energy_of(plant), 0.0
    for k in range(2000):
        way = -plant.state[DELTA]
        plant.advance(0.7, True, h)
        torque = 0.7 + knock.twist * np.pi / 0.4 * np.sin(np.pi * (k + 0.5) * h / 0.2)
        work += torque * (way + plant.state[DELTA])
    plant.read()
    assert abs(work) > 0.1
    assert energy_of(plant) - before == pytest.approx(work, rel=1e-6)


def test_who_keeps_the_speed_pays_for_it(benchmark_bicycle):
    """On a belt the wheel's rate is the profile's, and the energy gained is the wheel torque's work."""
    h = 1e-4
    plant = free(benchmark_bicycle, 4.0, x0=(0.3, 0.1, 0.5, -0.5), model="nonlinear")
    plant.read()
    before, work = energy_of(plant), 0.0
    torque = plant.s["torque"][0, 1]
    for _ in range(3000):
        plant.advance(0.0, True, h)
        plant.read()
        assert plant.v == 4.0
        assert plant.s["u"][0, Q_THETA_R] == -4.0 / benchmark_bicycle.rR
        torque, last = plant.s["torque"][0, 1], torque
        work += 0.5 * (torque + last) * plant.s["u"][0, Q_THETA_R] * h
    assert abs(work) > 1.0
    assert energy_of(plant) - before == pytest.approx(work, rel=1e-6)


def test_changing_speed_is_followed_exactly(benchmark_bicycle):
    plant = free(benchmark_bicycle, speed=((0.1, 5.0), (0.6, 4.0)), model="nonlinear")
    for _ in range(200):
        plant.advance(0.0, True, DT)
        assert plant.v == pytest.approx(np.interp(plant.t, (0.1, 0.6), (5.0, 4.0)), abs=1e-12)


def test_dry_friction_holds_the_steer(benchmark_bicycle):
    stuck = ride(
        free(benchmark_bicycle, x0=(0.1, 0.05, 0.0, 0.0), model="nonlinear", drive=SteerDrive(coulomb=50.0)), 60
    )
    assert np.all(stuck[:, DELTA] == 0.05)
    assert not stuck[:, DELTA_DOT].any()
    assert np.ptp(stuck[:, PHI]) > 0.005


def test_training_wheels_and_stops_end_the_fall(benchmark_bicycle):
    around = Surroundings(training_wheels=np.radians(30.0), steer_stops=0.9)
    plant = free(benchmark_bicycle, 1.0, x0=(0.1, 0.0, 0.5, 0.0), model="nonlinear", surroundings=around)
    x = ride(plant, 1000)
    assert not plant.fallen
    assert np.degrees(x[:, PHI].max()) == pytest.approx(30.0, abs=2.5)
    assert np.degrees(np.abs(x[:, DELTA]).max()) < 57.0


def test_leaving_the_belt_is_a_fall(benchmark_bicycle):
    around = Surroundings(belt_width=0.6)
    plant = free(benchmark_bicycle, x0=(0.0, 0.1, 0.0, 0.0), model="nonlinear", surroundings=around)
    ride(plant, 400)
    assert plant.fall == "a wheel left the belt"
    b, x = benchmark_bicycle, plant.state
    front = plant.y_P + b.w * np.sin(plant.psi) - b.c * np.cos(b.lam) * x[DELTA]
    assert max(abs(plant.y_P), abs(front)) == pytest.approx(0.3, abs=0.01)


def test_a_slip_is_reported_and_a_lift_too(benchmark_bicycle):
    def status(grip, x0):
        plant = free(benchmark_bicycle, x0=x0, model="nonlinear", surroundings=Surroundings(grip=grip))
        for _ in range(10):
            plant.advance(0.0, True, DT)
            plant.read()
        return plant.status

    turning = (0.2, 0.3, 0.0, 0.0)
    assert status(5.0, turning) == ""
    assert "friction" in status(0.2, turning)
    assert "lift" in status(np.inf, (0.0, 0.0, 20.0, 0.0))


@pytest.mark.parametrize("T_cmd", [1e300, -np.inf, np.nan])
@pytest.mark.parametrize("v", [0.0, 50.0])
def test_nothing_makes_it_overflow(benchmark_bicycle, T_cmd, v):
    plant = free(benchmark_bicycle, v, model="nonlinear", kicks=(Kick(0.1, PUSH_MAX, KICK_MIN),))
    ride(plant, 100, T=T_cmd, dt=0.02)
    assert np.all(np.isfinite(plant.state))
    assert np.isfinite(plant.y_P)
    assert plant.fallen
    assert np.all(np.isfinite(list(plant.read().item())))


def test_the_person_holds_releases_and_catches(benchmark_bicycle):
    scenario = Scenario(release_after=0.1, kicks=(Kick(0.2, 2.0),), x0=(0.01, 0.0, 0.0, 0.0))
    plant = Plant(benchmark_bicycle, scenario, instruments=QUIET, model="nonlinear")
    ride(plant, 10)
    reading = plant.read()
    assert (reading["phi_dot"], reading["a_x"], reading["a_z"]) == pytest.approx((0.0, 0.0, -9.81), abs=1e-12)
    first = ride(plant, 200)
    assert plant.released
    assert np.abs(first[-1]).max() > 1e-3
    ride(plant, 102, enabled=False)
    assert not plant.released
    ride(plant, 10)
    np.testing.assert_allclose(ride(plant, 200), first, rtol=0, atol=1e-12)


def test_one_seed_one_run(benchmark_bicycle):
    def run(seed):
        around = Surroundings(gusts=3.0)
        plant = free(
            benchmark_bicycle,
            x0=REST,
            seed=seed,
            torque_noise=0.3,
            instruments=Instruments(),
            surroundings=around,
            model="nonlinear",
        )
        return np.array([(plant.advance(0.0, True, DT), plant.read())[1] for _ in range(50)]).tobytes()

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_the_period_does_not_matter(benchmark_bicycle):
    fields = {"kicks": (Kick(0.0123, 3.0),), "speed": ((0.0, 5.0), (0.111, 4.0)), "model": "nonlinear"}
    coarse, fine = (free(benchmark_bicycle, **fields) for _ in range(2))
    ride(coarse, 6, T=0.3, dt=0.05)
    ride(fine, 300, T=0.3, dt=0.001)
    np.testing.assert_allclose(coarse.state, fine.state, rtol=0, atol=1e-9)
    assert (coarse.psi, coarse.y_P) == pytest.approx((fine.psi, fine.y_P), abs=1e-9)


def test_the_kernel_keeps_step_with_the_plant(benchmark_bicycle):
    """Its own integrator and the plant's give one motion under a constant torque."""
    q, u = simulation.initial_state(benchmark_bicycle, 0.2, -0.1, 0.3, 0.2, v=4.0)
    plant = free(benchmark_bicycle, 4.0, x0=(0.2, -0.1, 0.3, 0.2), drive=SteerDrive(lag=0.0), **COASTING)
    ride(plant, 200, T=0.4)
    end = simulation.simulate_nonlinear(benchmark_bicycle, q, u, 1.0, 0.001, (0.0, 0.0, 0.4))
    found = [end.q[-1, Q_PHI], end.q[-1, Q_DELTA], end.u[-1, Q_PHI], end.u[-1, Q_DELTA]]
    np.testing.assert_allclose(plant.state, found, rtol=0, atol=1e-9)
    assert plant.v == pytest.approx(-end.u[-1, Q_THETA_R] * benchmark_bicycle.rR, abs=1e-9)
    assert plant.state[PHI_DOT] != 0.0
