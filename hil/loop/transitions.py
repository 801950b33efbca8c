"""Transition table of the supervisor.

Each event at each stage. The supervisor runs it, docs/safety.md prints it. A stage is a state, or one of the four steps
of CHECK. Events are asked in the order of this file, and the first one that means something at the present stage
decides; the cause it carries is kept if none is kept yet, or if it is a fault and only a stop is.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from riderless.hil.loop.states import Cause, State, Symptom


class Stage(IntEnum):
    """Stage of the machine, finer than `State`."""

    DISARMED = 0
    STREAM = 1  # CHECK: a second of good samples, upright, nothing in the way
    ENABLE = 2  # CHECK: the drive is told to switch on, at zero torque
    WITHHOLD = 3  # CHECK: no command is sent until the drive's watchdog trips
    CLEAR = 4  # CHECK: the tripped watchdog is cleared
    ARMED = 5
    RUNNING = 6
    RAMPDOWN = 7
    FAULT = 8


STATE_OF = {
    Stage.DISARMED: State.DISARMED,
    Stage.STREAM: State.CHECK,
    Stage.ENABLE: State.CHECK,
    Stage.WITHHOLD: State.CHECK,
    Stage.CLEAR: State.CHECK,
    Stage.ARMED: State.ARMED,
    Stage.RUNNING: State.RUNNING,
    Stage.RAMPDOWN: State.RAMPDOWN,
    Stage.FAULT: State.FAULT,
}

_D, _S, _E, _W, _C, _A, _R, _RD, _F = Stage
_CHECKS = (_S, _E, _W, _C)
_OFF_NOW = dict.fromkeys((*_CHECKS, _A, _R, _RD), _D)
_HARD = dict.fromkeys((_E, _W, _C, _A, _R, _RD), _F)  # in STREAM it is in the way, see `OBSTACLES`
_UNPROVOKED = dict.fromkeys((_E, _A, _R, _RD), _F)
_UNDER_TORQUE = {_R: _F, _RD: _F}
_SOFT = {**dict.fromkeys((_E, _W, _C, _A), _D), _R: _RD}


class Rule(NamedTuple):
    """One event: when it is on, where it leads from which stage, the cause it leaves, and the symptom that it is."""

    event: str
    when: str
    goes: dict[Stage, Stage]
    cause: Cause = Cause.NONE
    symptom: Symptom = Symptom.NONE


# How each that is no symptom is found out stands in `riderless.hil.loop.supervisor`.
HARD_RULES = (
    Rule(
        "not a number",
        "the wish, the law's state, lean, steer, their rates or speed is not a number",
        _HARD,
        Cause.NOT_A_NUMBER,
    ),
    Rule("stop button", "the device says it is pressed", _HARD, Cause.STOP_BUTTON),
    Rule("node's guard", "the node disabled the drive by a limit of its own", _HARD, Cause.NODE_GUARD),
    Rule("device fault", "the device reports one", _HARD, Cause.DEVICE_FAULT),
    Rule("sensor stuck", "symptom", _HARD, Cause.SENSOR_STUCK, Symptom.SENSOR_STUCK),
    Rule("sensor out of range", "symptom", _HARD, Cause.SENSOR_RANGE, Symptom.SENSOR_RANGE),
    Rule("sensor jumped", "symptom", _HARD, Cause.SENSOR_JUMP, Symptom.SENSOR_JUMP),
    Rule("sensors disagree", "symptom", _HARD, Cause.SENSORS_DISAGREE, Symptom.SENSORS_DISAGREE),
    Rule("drive disobeys", "symptom", _HARD, Cause.DRIVE_DISOBEYS, Symptom.DRIVE_DISOBEYS),
    Rule("clock stepped", "symptom", _HARD, Cause.CLOCK_STEP, Symptom.CLOCK_STEP),
    Rule("device restarted", "symptom", _HARD, Cause.DEVICE_RESTARTED, Symptom.DEVICE_RESTARTED),
    Rule("foreign commands", "the device heard or obeyed others than this run's", _HARD, Cause.FOREIGN_COMMANDS),
    Rule("stale sample", "a device has been silent longer than `stale`", _HARD, Cause.STALE_SAMPLE),
    Rule("watchdog tripped", "the device says so, outside its proof", _UNPROVOKED, Cause.DRIVE_WATCHDOG),
    Rule(
        "lean limit",
        "lean, by estimate or accelerometer, beyond `lean`, or that of its turn beyond 0.94 of it",
        _HARD,
        Cause.LEAN_LIMIT,
    ),
    Rule("steer limit", "steer to either side beyond `steer`", _HARD, Cause.STEER_LIMIT),
    Rule("drive went off", "a fresh sample says it is off under torque", _UNDER_TORQUE, Cause.DRIVE_OFF),
    Rule("off the belt", "symptom", _UNDER_TORQUE, Cause.OFF_BELT, Symptom.OFF_BELT),
)
SOFT_RULES = (
    Rule("samples seldom", "symptom", _SOFT, Cause.RATE_LOW, Symptom.RATE_LOW),
    Rule("link noisy", "symptom", _SOFT, Cause.LINK_NOISY, Symptom.LINK_NOISY),
    Rule("samples too often", "symptom", _SOFT, Cause.RATE_HIGH, Symptom.RATE_HIGH),
    Rule("place lost", "symptom", _SOFT, Cause.PLACE_LOST, Symptom.PLACE_LOST),
    Rule("belt edge", "symptom", _SOFT, Cause.BELT_EDGE, Symptom.BELT_EDGE),
    Rule("speed drive failed", "symptom", _SOFT, Cause.SPEED_DRIVE, Symptom.SPEED_DRIVE),
    Rule("speed window", "speed outside `speed_min` to `speed_max`", _SOFT, Cause.SPEED_WINDOW),
    Rule("bus voltage", "supply outside `bus_min` to `bus_max`", _SOFT, Cause.BUS_VOLTAGE),
    Rule("saturated", "the wish beyond `torque` for longer than `saturated`", _SOFT, Cause.SATURATED),
    Rule("ticks late", "late ticks pile up faster than `late` per second", _SOFT, Cause.TICKS_LATE),
    Rule("unattended", "the program around the loop has not looked for a second", _SOFT, Cause.UNATTENDED),
    Rule("log fails", "the log does not take what it is given", _SOFT, Cause.RECORDER),
)
OPERATOR_RULES = (
    Rule("stop", "demand STOP", {**dict.fromkeys((*_CHECKS, _A), _D), _R: _RD}, Cause.OPERATOR_STOP),
    Rule("arm", "demand ARM or RUN, which has been lower since the last disarming", {_D: _S}),
    Rule("disarm", "demand lowered from RUN to ARM", {_R: _RD}, Cause.OPERATOR_STOP),
)
CHECK_RULES = (
    Rule("untested", "no latency test vouches for the computer", {_S: _D}, Cause.CHECK_LATENCY),
    Rule("nothing in the way", "for as long as `check`", {_S: _E}),
    Rule("something in the way", "still, after `check_timeout`", {_S: _D}),  # its cause is what is in the way
    Rule("switched on", "the drive says so", {_E: _W}),
    Rule("not switched on", "not within 0.25 s", {_E: _F, _A: _F}, Cause.CHECK_ENABLE),
    Rule("tripped as it should", "the watchdog tripped, the drive is off", {_W: _C}),
    Rule(
        "not tripped",
        "by the samples within the watchdog's time and two periods, or 0.05 s for a drive that answers when asked; by "
        "the computer's clock within twice that time and 0.05 s",
        {_W: _F},
        Cause.CHECK_WATCHDOG,
    ),
    Rule("cleared", "the watchdog's flag is gone; upright", {_C: _A}),
    Rule("cleared, not upright", "the watchdog's flag is gone", {_C: _D}, Cause.CHECK_UPRIGHT),
    Rule("not cleared", "not within 0.25 s", {_C: _F}, Cause.CHECK_ENABLE),
    Rule("go", "demand RUN, a fresh sample, the drive on", {_A: _R}),
    Rule("stopped", "the ramp that the operator asked for is over", {_RD: _D}),
    Rule("ramped down", "the ramp after a fault is over", {_RD: _F}),
)
PRIORITY_RULES = (
    Rule("off", "demand OFF", _OFF_NOW, Cause.OPERATOR_OFF),
    Rule("acknowledged", "demand OFF and the fault acknowledged", {_F: _D}),
)
ARMING_RULES = (  # of arming, beside what is hard or soft
    Rule("stream broken", "a gap, a broken frame, or silence as long as the watchdog", {}, Cause.CHECK_STREAM),
    Rule("not upright", "lean beyond `lean_arm` or steer beyond `steer_arm`", {_A: _D}, Cause.CHECK_UPRIGHT),
    Rule("gyro at rest", "mean rate about an axis beyond `rest_rate`", {_A: _D}, Cause.CHECK_GYRO, Symptom.REST_RATE),
    Rule(
        "gravity at rest",
        "mean specific force off gravity by more than `rest_force`",
        {_A: _D},
        Cause.CHECK_GRAVITY,
        Symptom.REST_FORCE,
    ),
    Rule(
        "sensor not upright",
        "mean specific force tilted beyond `rest_tilt`",
        {_A: _D},
        Cause.CHECK_MOUNTING,
        Symptom.REST_TILT,
    ),
    Rule("speed of other gains", "speed beyond those of the gains by `gains_reach`", {_A: _D}, Cause.CHECK_GAINS),
)
RULES = (
    *PRIORITY_RULES,
    *ARMING_RULES[:1],
    *HARD_RULES,
    *OPERATOR_RULES[:1],
    *SOFT_RULES,
    *ARMING_RULES[1:],
    *OPERATOR_RULES[1:],
    *CHECK_RULES,
)
EVENT_INDEX = {rule.event: i for i, rule in enumerate(RULES)}

# What keeps STREAM from passing: all of that but what only a drive under torque can show.
OBSTACLES = [
    rule.event
    for rule in (*ARMING_RULES, *HARD_RULES, *SOFT_RULES)
    if rule.event not in ("stale sample", "watchdog tripped", "drive went off", "off the belt")
]

STAY = -1
NEXT_STAGE = np.array([[rule.goes.get(stage, STAY) for rule in RULES] for stage in Stage], np.int64)
EVENT_CAUSE = np.array([rule.cause for rule in RULES], np.int64)
