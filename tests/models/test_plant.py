"""The emulated machine against matrix exponentials, momentum, energy and finite differences."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from models import catalogue
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.errors import InputError
from models.plant import Drive, Instruments, Kick, Plant, Scenario
from models.scenario import DELTA_MAX, KICKS, PHI_MAX, POINTS
from models.whipple import canonical, input_matrix, system_matrix

DT = 0.005
QUIET = Instruments(gyro_noise=0.0, accel_noise=0.0, wheel_noise=0.0)
X0 = (0.05, -0.03, 0.1, 0.2)

# Meijaard et al. (2007), Table 2, v = 5 m/s
WEAVE_5 = -0.77534188219585 + 4.46486771378823j
CAPSIZE_5, CASTER_5 = -0.32286642900409, -14.07838969279822


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load("Benchmark")


def free(bicycle, v=5.0, x0=X0, drive=Drive(), instruments=QUIET, **scenario):
    """A plant that nobody holds."""
    speed = scenario.pop("speed", ((0.0, v),))
    return Plant(bicycle, Scenario(speed=speed, held=False, x0=x0, **scenario), drive, instruments)


def ride(plant, n, T=0.0, enabled=True, dt=DT):
    """States before and after each of `n` periods."""
    states = [plant.state]
    for _ in range(n):
        plant.advance(T, enabled, dt)
        states.append(plant.state)
    return np.array(states)


# Motion -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
@pytest.mark.parametrize("v", [0.0, 3.0, 5.0, 10.0])
def test_free_motion_is_the_matrix_exponential(name, v):
    bicycle = catalogue.load(name)
    x = ride(free(bicycle, v, x0=(0.001, -0.0005, 0.002, 0.003)), 100)
    Ad = expm(system_matrix(bicycle, v) * DT)
    exact = x[0]
    for state in x[1:]:
        exact = Ad @ exact
        np.testing.assert_allclose(state, exact, rtol=0, atol=1e-9 * max(1.0, np.abs(exact).max()))


def test_simulated_decay_has_the_printed_eigenvalues(benchmark_bicycle):
    runs = [ride(free(benchmark_bicycle, x0=0.05 * row), 1)[1] for row in np.eye(4)]
    found = np.log(np.linalg.eigvals(np.transpose(runs) / 0.05).astype(complex)) / DT
    for printed in (WEAVE_5, WEAVE_5.conjugate(), CAPSIZE_5, CASTER_5):
        assert np.abs(found - printed).min() < 1e-8


@pytest.mark.parametrize("lag", [0.05, 0.005, 2e-4, 1e-7])
@pytest.mark.parametrize("delay", [0.0, 0.0031, 0.005, 0.0172])
def test_driven_motion_is_the_exponential_of_bicycle_and_drive(benchmark_bicycle, lag, delay):
    """Five states and the held command, from one change of the delayed command to the next."""
    A = np.zeros((6, 6))
    A[:4, :4], A[:4, 4] = system_matrix(benchmark_bicycle, 5.0), input_matrix(benchmark_bicycle)[:, 1]
    A[4, 4:] = -1 / lag, 1 / lag
    commands = np.random.default_rng(0).normal(size=60)
    plant = free(benchmark_bicycle, drive=Drive(lag=lag, delay=delay))
    whole, part = divmod(delay, DT)
    z = np.array([*X0, 0.0, 0.0])
    for k, T in enumerate(commands):
        plant.advance(T, True, DT)
        for length, age in ((part, whole + 1), (DT - part, whole)):
            z[5] = commands[k - int(age)] if k >= age else 0.0
            z = expm(A * length) @ z
        np.testing.assert_allclose(plant.state, z[:4], rtol=0, atol=1e-9)
        assert pytest.approx(z[4], abs=1e-12) == plant.T


def test_the_period_does_not_matter(benchmark_bicycle):
    scenario = {"kicks": (Kick(0.0123, 3.0),), "speed": ((0.0, 5.0), (0.111, 4.0), (0.2, 4.5))}
    coarse, fine = (free(benchmark_bicycle, **scenario) for _ in range(2))
    ride(coarse, 6, T=0.3, dt=0.05)
    ride(fine, 300, T=0.3, dt=0.001)
    np.testing.assert_allclose(coarse.state, fine.state, rtol=0, atol=1e-10)
    assert (coarse.psi, coarse.y_P) == pytest.approx((fine.psi, fine.y_P), abs=1e-10)


def test_a_stiff_machine_gets_shorter_steps(benchmark_bicycle):
    drive = Drive(lag=0.0, viscous=100.0)  # an eigenvalue near -430 1/s
    A = system_matrix(benchmark_bicycle, 5.0)
    A[:, DELTA_DOT] -= 100.0 * input_matrix(benchmark_bicycle)[:, 1]
    x = ride(free(benchmark_bicycle, drive=drive), 20)
    np.testing.assert_allclose(x[-1], expm(A * 20 * DT) @ X0, rtol=0, atol=1e-9)


def test_changing_speed_is_followed_exactly(benchmark_bicycle):
    corners = ((0.2, 5.0), (0.9, 3.6), (1.3, 6.0))
    plant = free(benchmark_bicycle, speed=corners)
    times, speeds = np.transpose(corners)

    def slope(t, x):
        return system_matrix(benchmark_bicycle, np.interp(t, times, speeds)) @ x

    exact = solve_ivp(slope, (0, 1.5), X0, rtol=1e-11, atol=1e-13, max_step=0.01, t_eval=np.arange(301) * DT)
    for k in range(301):
        np.testing.assert_allclose(plant.state, exact.y[:, k], rtol=0, atol=1e-8)
        assert plant.v == pytest.approx(np.interp(plant.t, times, speeds), abs=1e-12)
        assert plant.read()["wheel_rate"] == pytest.approx(plant.v / benchmark_bicycle.rR)
        plant.advance(0.0, True, DT)


def test_heading_and_position_follow_from_rolling(benchmark_bicycle):
    plant = free(benchmark_bicycle)
    b, v, h = benchmark_bicycle, 5.0, 0.001
    x, track = [plant.state], [(plant.psi, plant.y_P)]
    for _ in range(1000):
        plant.advance(0.0, True, h)
        x.append(plant.state)
        track.append((plant.psi, plant.y_P))
    x, (psi, y_P) = np.array(x), np.transpose(track)
    # the front contact, at y_P + w psi - c cos(lam) delta, moves along the front wheel
    front = y_P + b.w * psi - b.c * np.cos(b.lam) * x[:, DELTA]
    along = v * (psi + np.cos(b.lam) * x[:, DELTA])
    np.testing.assert_allclose(np.gradient(front, h)[1:-1], along[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(y_P, h)[1:-1], v * psi[1:-1], atol=1e-4)


# The hand -----------------------------------------------------------------------------------------


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
    bicycle = catalogue.load(name)
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
    M, _, K0, _ = canonical(b)
    plant = free(b, 0.0, x0=(0.02, 0.1, -0.1, 0.3), kicks=(kick,), drive=Drive(lag=0.0))

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


# Drive and friction -------------------------------------------------------------------------------


def test_saturation_and_gain(benchmark_bicycle):
    full = ride(free(benchmark_bicycle, drive=Drive(torque_max=0.5)), 40, T=0.5)
    np.testing.assert_array_equal(ride(free(benchmark_bicycle, drive=Drive(torque_max=0.5)), 40, T=90.0), full)
    plant = free(benchmark_bicycle, drive=Drive(gain=0.5))
    np.testing.assert_allclose(ride(plant, 40, T=1.0), full, rtol=0, atol=1e-12)
    assert plant.read()["T"] == pytest.approx(1.0)  # it does not know its own gain


def test_a_disabled_drive_makes_no_torque(benchmark_bicycle):
    plant = free(benchmark_bicycle, catch=False)
    ride(plant, 20, T=1.0)
    assert pytest.approx(1.0, abs=1e-6) == plant.T
    ride(plant, 20, T=1.0, enabled=False)
    assert pytest.approx(0.0, abs=1e-6) == plant.T


def test_friction_holds_the_steer_up_to_its_torque(benchmark_bicycle):
    drive = Drive(coulomb=0.2)
    stuck = ride(free(benchmark_bicycle, x0=(0, 0, 0, 0), drive=drive), 200, T=0.199)
    assert not stuck[:, [DELTA, DELTA_DOT]].any()
    assert np.abs(stuck).max() < 1e-15  # the torque ends in the frame: upright stays upright
    assert ride(free(benchmark_bicycle, x0=(0, 0, 0, 0), drive=drive), 20, T=0.3)[-1, DELTA_DOT] > 0.0


def test_a_stuck_steer_leaves_an_inverted_pendulum(benchmark_bicycle):
    """With delta held the lean equation alone remains: M_pp phi'' + g K0_pp phi = 0."""
    M, _, K0, _ = canonical(benchmark_bicycle)
    plant = free(benchmark_bicycle, x0=(0.01, 0, 0, 0), drive=Drive(coulomb=50.0))
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
    x0, drive = (0.0, 0.0, 0.0, 0.8), Drive(viscous=0.3, coulomb=2.0)
    stop = solve_ivp(lambda t, x: A @ x - 2.0 * B, (0, 1), x0, rtol=1e-11, atol=1e-13, events=at_rest, max_step=0.01)
    x = ride(free(benchmark_bicycle, x0=x0, drive=drive), 60)
    k = int(np.ceil(stop.t[-1] / DT))
    assert x[k - 1, DELTA_DOT] > 0.0
    assert not x[k:, DELTA_DOT].any()  # at rest, exactly, without chatter
    np.testing.assert_allclose(x[k:, DELTA], stop.y[DELTA, -1], rtol=0, atol=1e-7)


def test_friction_never_gives_energy(benchmark_bicycle):
    M, _, K0, _ = canonical(benchmark_bicycle)
    x = ride(free(benchmark_bicycle, 0.0, x0=(0.0, 0.3, 0.0, -2.0), drive=Drive(coulomb=0.3)), 60)
    energy = [0.5 * row[2:] @ M @ row[2:] + 0.5 * benchmark_bicycle.g * row[:2] @ K0 @ row[:2] for row in x]
    assert np.all(np.diff(energy) <= 1e-12)
    assert energy[-1] < energy[0] - 0.05


# Instruments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", ["treadmill", "floor"])
def test_accelerometer_feels_the_way_of_its_place(benchmark_bicycle, surface):
    """f_y against the second difference of the point's path, turned into the frame, less gravity."""
    place = Instruments(gyro_noise=0, accel_noise=0, wheel_noise=0, x_imu=0.7, z_imu=-0.9)
    v_dot, h = -0.8, 1e-3
    plant = free(benchmark_bicycle, speed=((0.0, 6.0), (1.0, 6.0 + v_dot)), instruments=place, surface=surface)
    y, rows = [], []
    for _ in range(900):
        y.append(plant.y_P + 0.7 * plant.psi + 0.9 * plant.state[PHI])
        rows.append((plant.read().copy(), plant.psi, plant.state))
        plant.advance(0.0, True, h)
    acceleration = np.diff(y, 2) / h**2
    forward = v_dot if surface == "floor" else 0.0
    for (reading, psi, x), lateral in zip(rows[1:-1], acceleration, strict=True):
        assert reading["a_y"] == pytest.approx(lateral - psi * forward - 9.81 * x[PHI], abs=2e-4)
        assert reading["a_x"] == pytest.approx(forward)
        assert reading["a_z"] == -9.81
    assert np.ptp([row[0]["a_y"] for row in rows]) > 0.5


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


# The person ---------------------------------------------------------------------------------------


def held(bicycle, **scenario):
    return Plant(bicycle, Scenario(**scenario), Drive(), Instruments())


def test_it_is_held_until_the_drive_has_been_enabled_long_enough(benchmark_bicycle):
    plant = held(benchmark_bicycle, release_after=0.1, x0=(0.01, 0.0, 0.0, 0.0), speed=((0.0, 4.0), (0.1, 5.0)))
    ride(plant, 100, enabled=False)
    ride(plant, 19, T=3.0)
    ride(plant, 1, enabled=False)  # a break starts the count again
    assert not ride(plant, 20, T=3.0).any()
    assert not plant.released
    assert plant.v == 4.0
    reading = plant.read()
    assert reading["wheel_rate"] == pytest.approx(4.0 / benchmark_bicycle.rR, abs=0.1)
    assert reading["phi_dot"] != 0.0  # noise is there while nothing moves
    assert abs(reading["a_y"]) < 0.2
    assert reading["T"] == pytest.approx(3.0, abs=1e-6)  # the person resists it
    ride(plant, 1)
    assert plant.released
    assert plant.state[PHI] == pytest.approx(0.01, abs=1e-4)
    assert plant.v == pytest.approx(4.05)


def test_a_run_after_the_catch_repeats_the_first(benchmark_bicycle):
    scenario = {"release_after": 0.1, "kicks": (Kick(0.2, 2.0),), "speed": ((0.0, 5.0), (1.0, 4.0))}
    plant = held(benchmark_bicycle, **scenario)
    first = ride(plant, 200)
    assert np.abs(first[-1]).max() > 1e-3
    ride(plant, 99, enabled=False)
    assert plant.released
    ride(plant, 3, enabled=False)
    assert not plant.released
    assert not plant.state.any()
    assert (plant.v, plant.psi, plant.y_P) == (5.0, 0.0, 0.0)
    np.testing.assert_allclose(ride(plant, 200), first, rtol=0, atol=1e-12)


def test_nobody_catches_what_was_never_driven_or_is_not_to_be_caught(benchmark_bicycle):
    rolling = free(benchmark_bicycle)
    ride(rolling, 400, enabled=False)
    assert rolling.released
    uncaught = held(benchmark_bicycle, release_after=0.0, catch=False)
    ride(uncaught, 10)
    ride(uncaught, 400, enabled=False)
    assert uncaught.released


def test_a_fallen_bicycle_lies_still_and_is_picked_up(benchmark_bicycle):
    plant = free(benchmark_bicycle, 0.5, x0=(0.1, 0.0, 1.0, 0.0))
    ride(plant, 1000, T=7.0)
    assert plant.fallen
    assert abs(plant.state[PHI]) > PHI_MAX or abs(plant.state[DELTA]) > DELTA_MAX
    assert not plant.state[2:].any()
    lying, track = plant.state, (plant.psi, plant.y_P)
    np.testing.assert_array_equal(ride(plant, 100, T=-7.0)[-1], lying)
    assert (plant.psi, plant.y_P) == track
    reading = plant.read()
    assert reading["psi_dot"] == 0.0
    assert np.all(np.isfinite(list(reading.item())))
    ride(plant, 102, enabled=False)
    assert not plant.fallen
    assert not plant.released
    assert not plant.state.any()


@pytest.mark.parametrize("T_cmd", [1e300, -np.inf, np.nan])
@pytest.mark.parametrize("v", [0.0, 50.0])
def test_nothing_makes_it_overflow(benchmark_bicycle, T_cmd, v):
    plant = free(benchmark_bicycle, v, kicks=(Kick(0.1, 1e12, 1e-4),))
    ride(plant, 100, T=T_cmd, dt=0.02)
    assert np.all(np.isfinite(plant.state))
    assert np.isfinite(plant.y_P)
    assert plant.fallen


# The door -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"speed": ()}, "speed profile wants"),
        ({"speed": (5.0,)}, "speed profile wants"),
        ({"speed": tuple((0.1 * k, 5.0) for k in range(POINTS + 1))}, "thin it out"),
        ({"speed": ((1.0, 5.0), (1.0, 4.0))}, "increase"),
        ({"speed": ((-1.0, 5.0), (1.0, 4.0))}, "start at 0 s"),
        ({"speed": ((0.0, 5.0), (np.nan, 4.0))}, "increase"),
        ({"speed": ((0.0, -1.0),)}, "found -1.0 m/s"),
        ({"speed": ((0.0, np.nan),)}, "found nan m/s"),
        ({"speed": ((0.0, 51.0),)}, "check the unit"),
        ({"kicks": (Kick(1.0, 1.0), Kick(1.05, 1.0))}, "found one at 1.05 s"),
        ({"kicks": tuple(Kick(float(k), 1.0) for k in range(KICKS + 1))}, "room for"),
        ({"surface": "ice"}, "treadmill, floor, found 'ice'"),
        ({"release_after": -1.0}, "release_after"),
        ({"catch_after": np.nan}, "catch_after"),
        ({"torque_noise": -0.1}, "found -0.1 N m"),
        ({"x0": (0.0, 0.0, 0.0)}, "x0 wants"),
        ({"x0": (0.8, 0.0, 0.0, 0.0)}, "nearer upright"),
        ({"x0": (0.0, 0.0, np.inf, 0.0)}, "x0 wants"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_scenario_refuses_what_cannot_happen(fields, words):
    with pytest.raises(InputError, match=words):
        Scenario(**fields)


@pytest.mark.parametrize("fields", [{"t": -1.0}, {"impulse": np.nan}, {"duration": 0.0}, {"z": np.inf}])
def test_a_kick_refuses_what_no_hand_does(fields):
    with pytest.raises(InputError, match="kick"):
        Kick(**({"t": 0.0, "impulse": 1.0} | fields))


def test_a_plant_refuses_what_it_cannot_emulate(benchmark_bicycle):
    with pytest.raises(InputError, match="'magic'; there is linear"):
        Plant(benchmark_bicycle, model="magic")
    with pytest.raises(InputError, match="rear wheel"):
        Plant(catalogue.load("TwoMassSkateTheory"))
    with pytest.raises(InputError, match="lower the viscous friction"):
        Plant(benchmark_bicycle, drive=Drive(viscous=1e5))
    for dt in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="positive number of seconds"):
            Plant(benchmark_bicycle).advance(0.0, True, dt)


def test_the_kernels_are_compiled_once_for_all_processes():
    """A second process finds them in the cache; else every start would cost seconds."""
    script = (
        "from models import catalogue, plant\n"
        "machine = plant.Plant(catalogue.load('Benchmark'))\n"
        "machine.advance(0.0, True, 0.005), machine.read()\n"
        "assert not plant.advance.stats.cache_misses and not plant.read.stats.cache_misses\n"
    )
    free(catalogue.load("Benchmark")).read()
    ride(free(catalogue.load("Benchmark")), 1)
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=60)
