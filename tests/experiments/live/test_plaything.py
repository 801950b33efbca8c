"""Emulated bicycle to play with, beside the same bicycle made by other means."""

import numpy as np
import pytest

from riderless.experiments.emulation.plaything import FAULTS, PlayedPlant, Playmate
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.emulation import Emulation, emulated_plant
from riderless.models import load_bicycle
from riderless.models.errors import InputError
from riderless.models.plant.plant import Kick, Scenario, Surroundings

DT = 0.005  # s
RIG = Rig(load_bicycle("Benchmark"))
SPEED = 4.6  # m/s
FREE = Scenario(speed=((0.0, SPEED),), held=False, catch=False, seed=3)
QUIET = Emulation("linear", noise=0.0)


def played(emulation: Emulation = QUIET) -> tuple[Playmate, PlayedPlant]:
    mate = Playmate(lambda side: Kick(0.0, impulse=4.0 * side), SPEED)
    return mate, PlayedPlant(RIG, FREE, emulation, mate.memory)


def ride(plant, n: int, T: float = 0.0) -> None:
    for _ in range(n):
        plant.advance(T, True, DT)


def test_wind_is_that_of_the_surroundings():
    mate, toy = played()
    mate.wind = 12.0
    other = emulated_plant(RIG, FREE, Emulation("linear", Surroundings(wind=12.0), noise=0.0))
    ride(toy, 60)
    ride(other, 60)
    assert abs(toy.phi) > np.radians(0.1)
    assert toy.phi == pytest.approx(other.phi, rel=1e-9)


@pytest.mark.parametrize("strength", [1.0, 2.0])
def test_a_kick_is_as_strong_as_asked(strength: float):
    mate, toy = played()
    other = emulated_plant(RIG, Scenario(speed=((0.0, SPEED),), kicks=(Kick(0.0, 4.0 * strength),), held=False), QUIET)
    mate.push(1, strength)
    ride(toy, 60)
    ride(other, 60)
    assert toy.phi == pytest.approx(other.phi, rel=2e-2)  # its force is a mean over each step
    assert [text for _, text in mate.news()] == [f"kicked to the right, {4.0 * strength:.1f} N s"]


@pytest.mark.parametrize("side", [1, -1])
def test_a_kick_that_is_asked_for_during_another_is_lost_and_the_other_is_whole(side: int):
    mate, toy = played()
    other = emulated_plant(RIG, Scenario(speed=((0.0, SPEED),), kicks=(Kick(0.0, 4.0),), held=False), QUIET)
    mate.push(1)
    mate.push(side)  # before the first has begun
    ride(toy, 10)  # 50 ms of its 100 ms
    mate.push(side)  # before it is told
    assert [text for _, text in mate.news()] == ["kicked to the right, 4.0 N s"]
    mate.push(side)
    ride(toy, 50)
    ride(other, 60)
    assert toy.phi == pytest.approx(other.phi, rel=2e-2)
    assert list(mate.news()) == []
    mate.push(side)  # it is over
    ride(toy, 1)
    assert [text for _, text in mate.news()] == [f"kicked to the {'right' if side > 0 else 'left'}, 4.0 N s"]


def test_the_belt_goes_to_its_speed_gently_and_at_once_while_somebody_holds_the_bicycle():
    mate, toy = played()
    ride(toy, 2)
    assert toy.read()["wheel_rate"] * RIG.bicycle.rR == pytest.approx(SPEED)
    mate.speed = SPEED + 1.0
    ride(toy, 101)  # half a second, and a step in which the wish is heard
    assert toy.read()["wheel_rate"] * RIG.bicycle.rR == pytest.approx(SPEED + 0.5, abs=2 * DT)
    ride(toy, 200)
    assert toy.read()["wheel_rate"] * RIG.bicycle.rR == pytest.approx(SPEED + 1.0)
    held = PlayedPlant(RIG, Scenario(speed=((0.0, SPEED),)), QUIET, mate.memory)
    mate.speed = 3.0
    held.advance(0.0, False, DT)
    held.advance(0.0, False, DT)
    assert held.read()["wheel_rate"] * RIG.bicycle.rR == pytest.approx(3.0)


@pytest.mark.parametrize(("name", "share"), [("none", 1.0), ("drive weak", 0.5), ("drive dead", 0.0)])
def test_a_drive_makes_its_share_of_the_torque(name: str, share: float):
    mate, toy = played()
    mate.break_as(name)
    other = emulated_plant(RIG, FREE, QUIET)
    ride(toy, 30, T=2.0)
    ride(other, 30, T=2.0 * share)
    assert toy.read()["T"] == pytest.approx(other.read()["T"], abs=1e-12)
    assert toy.phi == pytest.approx(other.phi, abs=1e-12)
    assert mate.broken == name


def test_broken_sensors_read_wrong_and_heal():
    mate, toy = played(Emulation("linear"))
    ride(toy, 20, T=1.0)
    before = toy.read()
    mate.break_as("gyro stuck")
    ride(toy, 20, T=1.0)
    stuck = toy.read()
    assert [stuck[axis] for axis in ("phi_dot", "psi_dot")] == [before[axis] for axis in ("phi_dot", "psi_dot")]
    assert stuck["delta"] != before["delta"]
    mate.break_as("wheel sensor silent")
    silent = toy.read()
    assert silent["wheel_rate"] == 0.0
    assert silent["phi_dot"] != before["phi_dot"]
    mate.break_as("none")
    right = toy.read()["delta"]
    mate.break_as("steer encoder 4 deg off")
    assert np.degrees(toy.read()["delta"] - right) == pytest.approx(4.0, abs=0.5)  # the noise of two readings
    with pytest.raises(InputError, match="no fault is called 'gremlins': there is none, drive dead"):
        mate.break_as("gremlins")
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
