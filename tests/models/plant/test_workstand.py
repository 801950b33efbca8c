"""The person who holds, releases and catches the emulated machine."""

import numpy as np
import pytest

from riderless.models import catalogue
from riderless.models.coordinates import DELTA, PHI
from riderless.models.plant.plant import Instruments, Kick, Plant, Scenario, SteerDrive
from riderless.models.plant.scenario import DELTA_MAX, KICK_MIN, PHI_MAX, PUSH_MAX
from tests.models.plant.riding import free, ride


@pytest.fixture(scope="module")
def benchmark_bicycle():
    return catalogue.load_bicycle("Benchmark")


def held(bicycle, **scenario):
    return Plant(bicycle, Scenario(**scenario), SteerDrive(), Instruments())


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
    plant = free(benchmark_bicycle, v, kicks=(Kick(0.1, PUSH_MAX, KICK_MIN),))
    ride(plant, 100, T=T_cmd, dt=0.02)
    assert np.all(np.isfinite(plant.state))
    assert np.isfinite(plant.y_P)
    assert plant.fallen
