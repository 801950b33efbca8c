"""Whole rides under a drive that obeys a rate or an angle: what must be noticed, and what must not.

The limit was chosen on Benchmark and Silver (docs/plausibility.md has the tables); these bicycles are others.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from riderless.experiments.emulation.hand import hand_kick
from riderless.firmware_interface.twins.faults import Fault, FaultKind
from riderless.hil.design.methods import design
from riderless.hil.loop.states import Cause, State
from riderless.hil.rig.fitting import emulated_rig
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import emulated_node
from riderless.hil.runners.operator import Operator
from riderless.models import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Instruments, Plant, Scenario, SteerDrive, Surroundings

DRIVES = {
    "rate": InnerLoop(kind="rate", bandwidth=50.0, damping=1.0),
    "angle": InnerLoop(kind="angle", bandwidth=60.0, damping=1.0),
}
USUAL = Instruments(gyro_bias=(0.01, -0.02, 0.015), accel_bias=(0.0, 0.02, 0.0))
NOISY = replace(USUAL, gyro_noise=0.03, accel_noise=0.3, wheel_noise=0.2, steer_noise=10.0 * USUAL.steer_noise)
KICKS = (1.5, 3.1)  # s after the release
STRIKES = 4.0  # s since power-up: half a second before the second kick


@cache
def machine(name, kind):
    gains = design(load_bicycle(name), "cascade", [3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5], drive=DRIVES[kind])
    return emulated_rig(gains.bicycle, gains), gains


def ride(name, kind, faults=(), drive=None, instruments=USUAL, lean_rate=0.35, speed=((0.0, 5.0),), **surroundings):
    """Rows of a ride of 5 s."""
    rig, gains = machine(name, kind)
    rng = np.random.default_rng(3)
    kicks = tuple(hand_kick(rig.bicycle, t, (-1) ** i, rng, lean_rate=lean_rate) for i, t in enumerate(KICKS))
    made = SteerDrive(lag=rig.drive_lag, torque_max=7.0, inner_loop=rig.drive, **(drive or {}))
    scenario = Scenario(speed=speed, kicks=kicks, seed=2)
    plant = Plant(rig.bicycle, scenario, made, instruments, "linear", Surroundings(**surroundings))
    loop, operator, batches = new_loop(rig, gains, rig.calibrated().as_record()), Operator(5.0), []
    lockstep.run_in_lockstep(
        loop, plant, emulated_node(rig), operator, lambda rows, tape: batches.append(rows), faults=faults
    )
    return np.concatenate(batches)


def ended(rows):
    """Cause of the end, and how long after `STRIKES` it came [s]."""
    first = int(np.argmax(rows["cause"] != 0))
    return Cause(int(rows["cause"][first])), float(rows["t_host"][first]) - STRIKES


HEALTHY = {
    "kicks": {},
    "strong kicks": {"lean_rate": 0.9},
    "ten times the noise": {"instruments": NOISY},
    "encoder 2 deg off": {"instruments": replace(USUAL, steer_bias=0.035)},
    "speed ramp": {"speed": ((0.0, 4.0), (1.5, 4.0), (4.0, 6.0))},
    "friction": {"drive": {"viscous": 0.2, "coulomb": 0.5}},
    "drive 10 ms late": {"drive": {"delay": 0.01}},
    "gusts": {"gusts": 10.0},
}


@pytest.mark.parametrize("kind", DRIVES)
@pytest.mark.parametrize("name", ["Rigid", "DelftSbW2024"])
@pytest.mark.parametrize("circumstances", HEALTHY)
def test_nothing_is_wrong_and_nothing_noticed(circumstances, name, kind):
    rows = ride(name, kind, **HEALTHY[circumstances])
    assert (rows["symptoms"][rows["state"] == State.RUNNING] == 0).all()
    assert ended(rows)[0] is Cause.OPERATOR_STOP


@pytest.mark.parametrize(
    ("kind", "fault", "size", "within"),
    [
        ("rate", FaultKind.DRIVE_GAIN, 0.0, 1.2),  # does not follow: found at the next kick
        ("angle", FaultKind.DRIVE_GAIN, 0.0, 1.8),
        ("rate", FaultKind.DRIVE_CLAMP, 0.1, 1.2),  # rad/s
        ("rate", FaultKind.DRIVE_ZERO, 0.8, 0.5),  # rad/s
        ("rate", FaultKind.DRIVE_ZERO, -1.2, 0.3),
        ("angle", FaultKind.DRIVE_ZERO, 0.15, 0.6),  # rad
        ("angle", FaultKind.DRIVE_ZERO, -0.3, 0.4),
    ],
)
@pytest.mark.parametrize("name", ["Rigid", "DelftSbW2024"])
def test_steer_that_does_not_follow_is_found(name, kind, fault, size, within):
    cause, late = ended(ride(name, kind, (Fault(fault, size, start=STRIKES),)))
    assert cause is Cause.DRIVE_DISOBEYS
    assert 0.0 < late <= within


@pytest.mark.parametrize("kind", DRIVES)
def test_drive_that_hits_a_rate_limit_of_its_own_is_found(kind):
    assert ended(ride("Rigid", kind, drive={"rate_max": 0.1}))[0] is Cause.DRIVE_DISOBEYS
