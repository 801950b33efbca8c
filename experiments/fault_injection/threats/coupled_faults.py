"""Slow faults common to several readings.

They have one cause, so these readings agree with each other. What compares two sensors is silent where both lie alike.
Two of these are usual on a real machine, an IMU whose bracket gives way and gyros that warm up; one takes chance or
intent, and nothing aboard can show it.
"""

import math
from dataclasses import replace
from functools import partial

from riderless.experiments.fault_injection.threats.fault_spec import AlikeFault, Shape, Threat
from riderless.experiments.fault_injection.threats.machine_faults import DISOBEY_CAUSES
from riderless.experiments.fault_injection.threats.sensor_faults import WRONG_READING_CAUSES
from riderless.experiments.fault_injection.threats.slow_faults import FOUND_WITHIN, GROWING, MANY_STEPS
from riderless.firmware_interface.twins.faults import Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause
from riderless.models.parameters import Bicycle

_FULL_TORQUE, _FULL_SUPPLY, _LEAST_SUPPLY = 7.0, 24.0, 20.5  # N m; V, the last of them just within the window


def _rate_of_turning(fault: Fault, bicycle: Bicycle, v: float) -> float:
    """Roll rate [rad/s] that an IMU feels which turns until its lateral axis has that much of gravity."""
    return -fault.size / bicycle.g / (fault.stop - fault.start)


def _steer_of_yaw(fault: Fault, bicycle: Bicycle, v: float) -> float:
    """Steer angle [rad] of a bicycle that rolls with that yaw rate [rad/s]."""
    return fault.size * bicycle.w / (v * math.cos(bicycle.lam))


def _supply(fault: Fault, bicycle: Bicycle, v: float) -> float:
    """Supply [V] at which the drive makes that torque [N m] at most."""
    return _LEAST_SUPPLY + (_FULL_SUPPLY - _LEAST_SUPPLY) * fault.size / _FULL_TORQUE


def _same(fault: Fault, bicycle: Bicycle, v: float) -> float:
    return fault.size


# readings that drift alike
_growing = partial(
    Threat, causes=WRONG_READING_CAUSES, rides=True, signed=True, lasting=GROWING, shape=Shape.GROWS, what=Kind.DRIFT
)

_BRACKET = _growing(
    "IMU turns on its bracket",
    why="roll gyro and accelerometer agree; the bicycle leans into a turn, found by the lateral force or by the turn",
    sizes=(0.2, 5.0),
    channels=("a_y",),
    alike=(AlikeFault(Kind.BIAS, _rate_of_turning, "phi_dot"),),
)

COUPLED_THREATS = (
    replace(_BRACKET, name="IMU turns on its bracket a little", sizes=(0.2, 3.5)),
    replace(_BRACKET, sizes=(3.5, 5.0), detected=FOUND_WITHIN, rides=False, sudden=True, unseen=True),
    _growing(
        "gyros warm up together",
        why="data sheets allow 0.02 rad/s in a run; more is found by what is learnt of it as a bias",
        sizes=(0.005, 0.1),
        channels=("phi_dot",),
        alike=(AlikeFault(Kind.DRIFT, _same, "theta_dot"), AlikeFault(Kind.DRIFT, _same, "psi_dot")),
    ),
    _growing(
        "yaw gyro and steer encoder drift alike",
        why="both tell the same wrong turn, and lean is told by the turn: nothing aboard contradicts them",
        sizes=(0.02, 1.0),
        channels=("psi_dot",),
        unseen=True,
        alike=(AlikeFault(Kind.DRIFT, _steer_of_yaw, "delta"),),
    ),
    Threat(
        "supply sags within its window and the drive weakens with it",
        Kind.DRIVE_CLAMP,
        "its own report shows it once the torque is large; else the bicycle balances with less",
        DISOBEY_CAUSES | {Cause.BUS_VOLTAGE},
        rides=True,
        sizes=(0.1, 5.0),
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
        right=_FULL_TORQUE,
        alike=(AlikeFault(Kind.BUS, _supply),),
    ),
)
