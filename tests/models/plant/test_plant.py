"""The emulated machine in motion, against matrix exponentials and rolling; and what its door refuses."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.errors import InputError
from riderless.models.linear.road_forces import acceleration
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.plant.plant import Kick, Plant, Scenario, SteerDrive
from riderless.models.plant.scenario import MAX_SPEED_CORNERS
from tests.models.plant.riding import DT, X0, free, ride
from tests.models.road import road_system_matrix

# Meijaard et al. (2007), Table 2, v = 5 m/s
WEAVE_5 = -0.77534188219585 + 4.46486771378823j
CAPSIZE_5, CASTER_5 = -0.32286642900409, -14.07838969279822


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


@pytest.mark.parametrize("name", ["Benchmark", "Silver", "Pista"])
@pytest.mark.parametrize("v", [0.0, 3.0, 5.0, 10.0])
def test_free_motion_is_the_matrix_exponential(name, v):
    bicycle = catalogue.load_bicycle(name)
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
    plant = free(benchmark_bicycle, drive=SteerDrive(lag=lag, delay=delay))
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


def test_a_scenario_takes_any_number_of_kicks(benchmark_bicycle):
    last = Kick(4.0, 3.0)
    many = (*(Kick(0.01 * k, 0.0, duration=0.005) for k in range(400)), last)  # there was room for 256
    crowd, alone = free(benchmark_bicycle, kicks=many), free(benchmark_bicycle, kicks=(last,))
    before = ride(crowd, 800)[-1]
    np.testing.assert_allclose(before, ride(alone, 800)[-1], rtol=1e-8)
    ride(crowd, 20)
    ride(alone, 20)
    np.testing.assert_allclose(crowd.state, alone.state, rtol=1e-8)
    undisturbed = free(benchmark_bicycle)
    ride(undisturbed, 820)
    assert np.abs(crowd.state - undisturbed.state).max() > 0.01


def test_a_stiff_machine_gets_shorter_steps(benchmark_bicycle):
    drive = SteerDrive(lag=0.0, viscous=100.0)  # an eigenvalue near -430 1/s
    A = system_matrix(benchmark_bicycle, 5.0)
    A[:, DELTA_DOT] -= 100.0 * input_matrix(benchmark_bicycle)[:, 1]
    x = ride(free(benchmark_bicycle, drive=drive), 20)
    np.testing.assert_allclose(x[-1], expm(A * 20 * DT) @ X0, rtol=0, atol=1e-9)


def test_changing_speed_is_followed_exactly(benchmark_bicycle):
    corners = ((0.2, 5.0), (0.9, 3.6), (1.3, 6.0))
    plant = free(benchmark_bicycle, speed=corners, surface="floor")
    times, speeds = np.transpose(corners)
    slopes = np.diff(speeds) / np.diff(times)

    def slope(t, x):
        a = sum(rate * (begin < t < end) for rate, begin, end in zip(slopes, times, times[1:], strict=False))
        terms = acceleration(benchmark_bicycle, a)
        return (road_system_matrix(benchmark_bicycle, np.interp(t, times, speeds), terms) @ [*x, 0.0])[:4]

    exact = [X0]
    for k in range(300):  # one by one, so that no step straddles a corner
        exact.append(solve_ivp(slope, (k * DT, (k + 1) * DT), exact[-1], "DOP853", rtol=1e-11, atol=1e-13).y[:, -1])
    for k in range(301):
        np.testing.assert_allclose(plant.state, exact[k], rtol=0, atol=1e-8)
        assert plant.v == pytest.approx(np.interp(plant.t, times, speeds), abs=1e-12)
        assert plant.read()["wheel_rate"] == pytest.approx(plant.v / benchmark_bicycle.rR)
        plant.advance(0.0, True, DT)


def test_heading_and_position_follow_from_rolling(benchmark_bicycle):
    plant = free(benchmark_bicycle, x0=tuple(0.01 * np.array(X0)))
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
    np.testing.assert_allclose(np.gradient(front, h)[1:-1], along[1:-1], atol=1e-6)
    np.testing.assert_allclose(np.gradient(y_P, h)[1:-1], v * psi[1:-1], atol=1e-6)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"speed": ()}, "speed profile wants"),
        ({"speed": (5.0,)}, "speed profile wants"),
        ({"speed": tuple((0.1 * k, 5.0) for k in range(MAX_SPEED_CORNERS + 1))}, "thin it out"),
        ({"speed": ((1.0, 5.0), (1.0, 4.0))}, "increase"),
        ({"speed": ((-1.0, 5.0), (1.0, 4.0))}, "start at 0 s"),
        ({"speed": ((0.0, 5.0), (np.nan, 4.0))}, "increase"),
        ({"speed": ((0.0, -1.0),)}, "found -1.0 m/s"),
        ({"speed": ((0.0, np.nan),)}, "found nan m/s"),
        ({"speed": ((0.0, 51.0),)}, "check the unit"),
        ({"kicks": (Kick(1.0, 1.0), Kick(1.05, 1.0))}, "found one at 1.05 s"),
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
        Plant(catalogue.load_bicycle("TwoMassSkateTheory"))
    with pytest.raises(InputError, match="lower the viscous friction"):
        Plant(benchmark_bicycle, drive=SteerDrive(viscous=1e5))
    for dt in (0.0, -0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="positive number of seconds"):
            Plant(benchmark_bicycle).advance(0.0, True, dt)


def test_the_kernels_are_compiled_once_for_all_processes():
    """A second process finds them in the cache; else every start would cost seconds."""
    script = (
        "from models import catalogue\n"
        "from riderless.models.plant import plant\n"
        "machine = plant.Plant(catalogue.load_bicycle('Benchmark'))\n"
        "machine.advance(0.0, True, 0.005), machine.read()\n"
        "assert not plant.advance_plant.stats.cache_misses\n"
        "assert not plant.read_plant.stats.cache_misses\n"
    )
    free(catalogue.load_bicycle("Benchmark")).read()
    ride(free(catalogue.load_bicycle("Benchmark")), 1)
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=300)
