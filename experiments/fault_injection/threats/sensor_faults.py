"""Faults of the instruments, and their promises.

Where a size has a bound, it is a limit of `riderless.hil.loop.limits` seen through the reading concerned: well below it
the fault is small enough to be borne, well above it the monitor must speak, and between the two either may happen.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from riderless.experiments.fault_injection.threats.fault_spec import FOR_EVER, Threat
from riderless.experiments.fault_injection.threats.link_faults import LONG_LASTING
from riderless.firmware_interface.twins.faults import READING_NAMES
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause

INERTIAL_AXES = ("phi_dot", "theta_dot", "psi_dot", "a_x", "a_y", "a_z")
UNUSED_AXES = ("theta_dot", "a_x", "a_z")
LEAN_AND_YAW_GYROS = ("phi_dot", "psi_dot")
INVALID_CAUSES = frozenset({Cause.SENSOR_RANGE, Cause.SENSOR_STUCK, Cause.DEVICE_FAULT})  # the node misses its encoder
CONTRADICTION_CAUSES = frozenset({Cause.SENSORS_DISAGREE, Cause.SENSOR_JUMP, Cause.SENSOR_RANGE})
BALANCE_LOST_CAUSES = frozenset({Cause.LEAN_LIMIT, Cause.STEER_LIMIT, Cause.SATURATED, Cause.NODE_GUARD})
WRONG_READING_CAUSES = CONTRADICTION_CAUSES | BALANCE_LOST_CAUSES
SPEED_CAUSES = frozenset({Cause.SPEED_WINDOW, Cause.SENSORS_DISAGREE, Cause.SENSOR_RANGE})
TORQUE_CAUSES = frozenset({Cause.DRIVE_DISOBEYS})
RESTING_CAUSES = frozenset({Cause.CHECK_GYRO, Cause.CHECK_GRAVITY, Cause.CHECK_MOUNTING})

_SMALL = "well below the limit: a worse estimate, which the controller bears"
_BETWEEN = "near the limit, and how much it matters depends on the bicycle"
_REFUSED_AT_REST = "nothing rests on it under control; at rest CHECK may refuse it"
_STEP = "a step that no bicycle makes, or two sensors that contradict each other"

_reversed = partial(Threat, what=Kind.SCALE, sizes=(-1.0, -1.0))  # a reading with the wrong sign
# an axis that nothing rests on
_unused = partial(Threat, why=_REFUSED_AT_REST, refusals=RESTING_CAUSES, channels=UNUSED_AXES, lasting=LONG_LASTING)
_stuck = partial(Threat, what=Kind.STUCK, lasting=LONG_LASTING)  # a reading that stands still
# a reading that is none
_invalid = partial(
    Threat, what=Kind.READS, causes=INVALID_CAUSES, detected=0.025, channels=READING_NAMES, lasting=LONG_LASTING
)

_STUCK_OR_INVALID = (
    _stuck(
        "gyro or accelerometer axis stuck",
        why="the last digit of a living sensor never rests for 0.1 s; "
        "in a kick another sensor may contradict it before",
        causes=frozenset({Cause.SENSOR_STUCK, Cause.SENSORS_DISAGREE}),
        detected=0.11,
        channels=INERTIAL_AXES,
    ),
    _stuck(
        "steer encoder stuck",
        why="a steer that rests is no fault; found out by the yaw rate once it should turn far",
        causes=WRONG_READING_CAUSES,
        rides=True,
        channels=("delta",),
    ),
    _stuck(
        "wheel sensor stuck",
        why="on a belt of constant speed it reads the truth",
        causes=SPEED_CAUSES,
        rides=True,
        channels=("wheel_rate",),
    ),
    _stuck(
        "torque reading stuck",
        why="found out once the torque asked for differs by more than 0.8 N m",
        causes=TORQUE_CAUSES,
        rides=True,
        channels=("T",),
    ),
    _invalid(
        "a reading is missing",
        why="no value stands at the end of the scale and makes the sample invalid",
        sizes=(math.nan, math.nan),
    ),
    _invalid("a reading is off the scale", why="the sample is invalid", sizes=(1e9, 1e9), signed=True),
)


class _Grade(NamedTuple):
    """One grade of a fault: the word for it, the sizes it is drawn between, and what is promised."""

    word: str  # behind the fault's name
    low: float
    high: float
    promise: dict[str, Any]  # further arguments of `Threat`


def _small(low: float, high: float) -> _Grade:
    return _Grade(" a little", low, high, {"why": _SMALL})


def _between(low: float, high: float, causes: frozenset[Cause] = WRONG_READING_CAUSES, why: str = _BETWEEN) -> _Grade:
    return _Grade("", low, high, {"why": why, "causes": causes, "rides": True})


def _large(
    low: float,
    high: float,
    detected: float,
    causes: frozenset[Cause] = CONTRADICTION_CAUSES,
    why: str = _STEP,
    sudden: bool = False,
    word: str = " badly",
) -> _Grade:
    return _Grade(word, low, high, {"why": why, "causes": causes, "detected": detected, "sudden": sudden})


_READINGS = ("phi_dot", "psi_dot", "a_y", "delta", "wheel_rate", "T")
_SPEED_OR_WRONG = SPEED_CAUSES | WRONG_READING_CAUSES
_ANY_CAUSES = WRONG_READING_CAUSES | SPEED_CAUSES | TORQUE_CAUSES
_LEANS = "it shows more than twice the lean that may separate it from the gyro"
_GAINS = "a wrong speed means gains for another speed"
_OUTSIDE = "a speed outside its window, once the filter shows it"
_TWICE = "twice what may separate it from the torque asked for"
_WHITE = "white noise averages out, up to a point"
_FILTERED = "the speed is filtered over a fifth of a second"
_SMOOTHED = "smoothed over 0.1 s"

_GRADED: tuple[tuple[str, Kind, tuple[str, ...], tuple[_Grade, ...]], ...] = (  # sizes in the units of the readings
    (
        "gyro biased",
        Kind.BIAS,
        LEAN_AND_YAW_GYROS,
        (_small(0.003, 0.05), _between(0.05, 1.0), _large(1.2, 4.0, 0.03, sudden=True)),
    ),
    (
        "accelerometer biased",
        Kind.BIAS,
        ("a_y",),
        (_small(0.02, 0.5), _between(0.5, 5.0), _large(5.0, 20.0, 0.08, why=_LEANS, sudden=True)),
    ),
    (
        "steer encoder slips",
        Kind.SLIP,
        ("delta",),
        (_small(0.001, 0.01), _between(0.01, 0.06), _large(0.06, 1.0, 0.01, sudden=True, word=" far")),
    ),
    (
        "wheel sensor biased",
        Kind.BIAS,
        ("wheel_rate",),
        (
            _small(0.05, 1.0),
            _between(1.0, 30.0, _SPEED_OR_WRONG, _GAINS),
            _large(30.0, 60.0, 0.15, SPEED_CAUSES, _OUTSIDE),
        ),
    ),
    (
        "torque reading biased",
        Kind.BIAS,
        ("T",),
        (_small(0.02, 0.4), _between(0.4, 1.6, TORQUE_CAUSES), _large(1.8, 6.0, 0.09, TORQUE_CAUSES, _TWICE)),
    ),
    ("gyro noisy", Kind.NOISY, LEAN_AND_YAW_GYROS, (_small(0.005, 0.03), _between(0.03, 0.8), _large(0.8, 3.0, 0.08))),
    ("accelerometer noisy", Kind.NOISY, ("a_y",), (_small(0.05, 1.0), _between(1.0, 35.0, why=_WHITE))),
    (
        "steer encoder noisy",
        Kind.NOISY,
        ("delta",),
        (_small(0.0003, 0.002), _between(0.002, 0.04), _large(0.04, 0.5, 0.05)),
    ),
    ("wheel sensor noisy", Kind.NOISY, ("wheel_rate",), (_between(0.3, 40.0, _SPEED_OR_WRONG, _FILTERED),)),
    ("torque reading noisy", Kind.NOISY, ("T",), (_between(0.1, 5.0, TORQUE_CAUSES, _SMOOTHED),)),
    ("a reading scaled", Kind.SCALE, _READINGS, (_small(0.85, 1.18), _between(0.3, 3.0, _ANY_CAUSES))),
)


def _graded_threats(name: str, kind: Kind, channels: tuple[str, ...], grades: Sequence[_Grade]) -> list[Threat]:
    """List the threats of one kind of fault of a reading, from the smallest to the worst.

    Parameters
    ----------
    name : str
        Of the fault; the word of its grade is put behind it.
    kind : Kind
        Biases and slips are drawn of either sign; all but slips, which stay anyway, last for a while.
    channels : tuple of str
        Readings, one of which it strikes.
    grades : sequence of _Grade
    """
    return [
        Threat(
            name + grade.word,
            kind,
            sizes=(grade.low, grade.high),
            signed=kind in (Kind.BIAS, Kind.SLIP),
            channels=channels,
            lasting=FOR_EVER if kind is Kind.SLIP else LONG_LASTING,
            **grade.promise,
        )
        for grade in grades
    ]


_REVERSED_OR_UNUSED = (
    _reversed(
        "roll gyro reversed",
        why="lean by gyro and by accelerometer part as the bicycle sways; one that is stable by itself sways slowly",
        causes=WRONG_READING_CAUSES,
        rides=True,
        channels=("phi_dot",),
    ),
    _reversed(
        "steer encoder, yaw gyro or accelerometer reversed",
        why="contradicted once steer or yaw is large; a bicycle that is steady anyway may ride on",
        causes=WRONG_READING_CAUSES,
        rides=True,
        channels=("delta", "psi_dot", "a_y"),
    ),
    _reversed(
        "wheel sensor reversed",
        why="a speed outside its window, once the filter shows it",
        causes=SPEED_CAUSES,
        detected=0.1,
        channels=("wheel_rate",),
        lasting=LONG_LASTING,
    ),
    _reversed(
        "torque reading reversed",
        why="found out once it matters: at more than 0.4 N m",
        causes=TORQUE_CAUSES,
        rides=True,
        channels=("T",),
    ),
    Threat(
        "an unused axis biased",
        Kind.BIAS,
        _REFUSED_AT_REST,
        refusals=RESTING_CAUSES,
        sizes=(0.01, 0.9),  # more on the vertical axis is the specific force of a turn of 26 deg
        signed=True,
        channels=UNUSED_AXES,
        lasting=LONG_LASTING,
    ),
    _unused("an unused axis noisy", Kind.NOISY, sizes=(0.01, 0.5)),
    _unused("an unused axis reversed", Kind.SCALE, sizes=(-1.0, -1.0)),
)

SENSOR_THREATS = (
    *_STUCK_OR_INVALID,
    *(threat for row in _GRADED for threat in _graded_threats(*row)),
    *_REVERSED_OR_UNUSED,
)
