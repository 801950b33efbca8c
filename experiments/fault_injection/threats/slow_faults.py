"""Slow faults in every channel.

Each with what is promised for it. None of them makes a step that a monitor of single samples could see. From a size on
they must be found once all of it is there (`docs/plausibility.md`); smaller ones may be ridden. All are promised what
holds whatever the fault: a bicycle that truly leans beyond its limit gets no torque for long, because the fault was
found or because it is too small to bring a bicycle there. Where nothing aboard shows it that is counted, and not
promised (`Threat.unseen`).
"""

import math
from dataclasses import replace

from riderless.experiments.fault_injection.threats.fault_spec import Shape, Threat
from riderless.experiments.fault_injection.threats.machine_faults import CLOCK_CAUSES, DISOBEY_CAUSES
from riderless.experiments.fault_injection.threats.sensor_faults import (
    SPEED_CAUSES,
    TORQUE_CAUSES,
    WRONG_READING_CAUSES,
)
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause

GROWING = (1.0, 20.0)  # s
SKIPPING = (0.1, 2.0)  # s from one skip to the next
SLIPPING = (0.01, 0.1)  # s, of a slip that takes some samples
MANY_STEPS = (60, 60)
FOUND_WITHIN = 6.0  # s after all of it is there: two and a half time constants of the biases
_DEG = math.pi / 180

_LEARNT = "the estimate follows it: found by what is learnt of it as a bias, or by what contradicts it"
_FORCE = "the bicycle leans into a turn: found by the lateral force that lasts, or by the turn"
_TORQUE = "found out at 0.8 N m; nothing else rests on it"
_UNUSED = "nothing rests on it"
_WEIGHT = "the specific force grows as in a turn, which ends at its limit"
_SPEED = "a wrong speed means gains for another speed; no sensor contradicts it while the bicycle goes straight"


def _drift(channel: str, name: str, sizes: tuple[float, float], causes: frozenset[Cause], why: str) -> Threat:
    """Drift of a reading, to either side, that may be ridden."""
    return Threat(
        name,
        Kind.DRIFT,
        why,
        causes,
        rides=True,
        sizes=sizes,
        signed=True,
        channels=(channel,),
        lasting=GROWING,
        shape=Shape.GROWS,
    )


def _two(threat: Threat, seen: float) -> tuple[Threat, Threat]:
    """Split a threat at the size from which it must be found, if it began while the machine was RUNNING."""
    low, high = threat.sizes
    return (
        replace(threat, name=f"{threat.name} a little", sizes=(low, seen)),
        replace(threat, sizes=(seen, high), detected=FOUND_WITHIN, rides=False, sudden=True),
    )


def _climb(
    name: str, what: Kind, why: str, causes: frozenset[Cause], sizes: tuple[float, float], right: float
) -> Threat:
    """Slow change from what is right to another size."""
    return Threat(
        name,
        what,
        why,
        causes,
        rides=True,
        sizes=sizes,
        signed=right == 0.0,
        lasting=GROWING,
        shape=Shape.STAIRS,
        steps=MANY_STEPS,
        right=right,
    )


_CREEPS = _drift("delta", "steer encoder creeps", (0.6 * _DEG, 30.0 * _DEG), WRONG_READING_CAUSES, _LEARNT)
_SLIPS = replace(_CREEPS, name="steer encoder slips in some samples", sizes=(2.0 * _DEG, 12.0 * _DEG), lasting=SLIPPING)
_SKIPS = replace(
    _CREEPS,
    name="steer encoder skips",
    what=Kind.SLIP,
    sizes=(0.6 * _DEG, 30.0 * _DEG),
    lasting=SKIPPING,
    shape=Shape.SKIPS,
    steps=(2, 14),
)

SLOW_THREATS = (
    *_two(_drift("phi_dot", "roll gyro drifts", (0.02, 2.0), WRONG_READING_CAUSES, _LEARNT), 0.2),
    *_two(_drift("psi_dot", "yaw gyro drifts", (0.02, 2.0), WRONG_READING_CAUSES, _LEARNT), 0.3),
    _drift("theta_dot", "pitch gyro drifts", (0.02, 2.0), frozenset(), _UNUSED),
    *_two(_drift("a_y", "lateral accelerometer drifts", (0.2, 8.0), WRONG_READING_CAUSES, _FORCE), 3.5),
    _drift("a_x", "forward accelerometer drifts", (0.2, 8.0), frozenset(), _UNUSED),
    _drift("a_z", "vertical accelerometer drifts", (0.2, 8.0), frozenset({Cause.LEAN_LIMIT}), _WEIGHT),
    *_two(_CREEPS, 5.0 * _DEG),
    *_two(_SLIPS, 5.0 * _DEG),
    *_two(_SKIPS, 5.0 * _DEG),
    replace(
        _drift("wheel_rate", "wheel sensor drifts", (0.5, 40.0), SPEED_CAUSES | WRONG_READING_CAUSES, _SPEED),
        unseen=True,
    ),
    *_two(_drift("T", "torque reading drifts", (0.1, 5.0), TORQUE_CAUSES, _TORQUE), 1.0),
    _climb(
        "drive fades",
        Kind.DRIVE_GAIN,
        "its own report shows it once the torque is large; else the bicycle balances with less",
        DISOBEY_CAUSES,
        (0.0, 0.8),
        1.0,
    ),
    _climb(
        "clamp loosens",
        Kind.DRIVE_LIES,
        "its report is what was asked for: only the bicycle can show it, by leaning too far",
        DISOBEY_CAUSES,
        (0.0, 0.8),
        1.0,
    ),
    _climb(
        "supply sags",
        Kind.BUS,
        "out of its window sooner or later; the drive still works",
        frozenset({Cause.BUS_VOLTAGE}),
        (15.0, 23.0),
        24.0,
    ),
    _climb(
        "device's clock goes wrong in rate",
        Kind.CLOCK_JUMP,
        "up to a tenth of its rate: elapsed time, and with it lean, is worse by as much",
        CLOCK_CAUSES | {Cause.RATE_LOW, Cause.STALE_SAMPLE, Cause.DRIVE_DISOBEYS, Cause.LEAN_LIMIT},
        (0.02, 0.1),
        0.0,
    ),
)

# each below the size at which a limit shows it, so that only together they bring a bicycle far (`--together 3`)
SMALL_THREATS = (
    _drift("wheel_rate", "wheel sensor drifts a little", (0.5, 5.0), SPEED_CAUSES | WRONG_READING_CAUSES, _SPEED),
    _drift("a_y", "lateral accelerometer drifts a little", (0.2, 2.0), WRONG_READING_CAUSES, _FORCE),
    replace(
        _climb("yaw gyro's scale changes a little", Kind.SCALE, _LEARNT, WRONG_READING_CAUSES, (0.6, 1.4), 1.0),
        channels=("psi_dot",),
    ),
    _drift("delta", "steer encoder creeps a little", (0.3 * _DEG, 2.0 * _DEG), WRONG_READING_CAUSES, _LEARNT),
)
