"""The supervisor: the sole maker of a command. It distrusts the controller.

States run DISARMED -> CHECK -> ARMED -> RUNNING -> RAMPDOWN -> DISARMED, and from everywhere to
FAULT, which is latched with its first cause until an operator acknowledges it. The operator has a
*demand* (OFF, STOP, ARM, RUN): OFF is obeyed from every state within one tick, and torque needs RUN.

A command reaches the drive's watchdog only when it was computed from a fresh sample, or when it
takes torque away; there is no heartbeat of any other kind.
"""

import math
from enum import IntEnum, IntFlag

import numpy as np
from numba import njit

from firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)


class State(IntEnum):
    """What the machine may do now."""

    DISARMED = 0  # drive off
    CHECK = 1  # proving stream, sensors and the drive's watchdog
    ARMED = 2  # drive on, zero torque
    RUNNING = 3  # the controller's wish, within limits
    RAMPDOWN = 4  # torque falls linearly to zero
    FAULT = 5  # drive off, latched


class Demand(IntEnum):
    """What the operator asks for; the highest state the machine may be in."""

    OFF = 0  # zero and off, at once
    STOP = 1  # ramp down, then off
    ARM = 2  # check, then drive on at zero torque
    RUN = 3  # as ARM, then control


class Cause(IntEnum):
    """Why the machine left RUNNING (or could not be armed). The first one is kept."""

    NONE = 0
    OPERATOR_STOP = 1
    OPERATOR_OFF = 2
    STALE_SAMPLE = 3
    NOT_A_NUMBER = 4
    LEAN_LIMIT = 5
    STEER_LIMIT = 6
    SPEED_WINDOW = 7
    DEVICE_FAULT = 8
    DRIVE_WATCHDOG = 9
    STOP_BUTTON = 10
    BUS_VOLTAGE = 11
    SATURATED = 12
    CHECK_STREAM = 13
    CHECK_UPRIGHT = 14
    CHECK_ENABLE = 15
    CHECK_WATCHDOG = 16


SENTENCES = {
    Cause.NONE: "nothing happened",
    Cause.OPERATOR_STOP: "the operator stopped the run",
    Cause.OPERATOR_OFF: "the operator switched the drive off",
    Cause.STALE_SAMPLE: "no fresh sample came from the device within the limit",
    Cause.NOT_A_NUMBER: "an estimate or the controller's wish was not a number",
    Cause.LEAN_LIMIT: "the lean angle passed its limit",
    Cause.STEER_LIMIT: "the steer angle passed its limit",
    Cause.SPEED_WINDOW: "the forward speed left its window",
    Cause.DEVICE_FAULT: "the device reported a fault",
    Cause.DRIVE_WATCHDOG: "the drive's own watchdog tripped: commands came too late",
    Cause.STOP_BUTTON: "the stop button is pressed",
    Cause.BUS_VOLTAGE: "the drive's supply left its window",
    Cause.SATURATED: "the torque stayed at its limit for too long",
    Cause.CHECK_STREAM: "check not passed: the sample stream has gaps or errors",
    Cause.CHECK_UPRIGHT: "check not passed: hold the bicycle upright, straight and within the speed window",
    Cause.CHECK_ENABLE: "check not passed: the drive did not switch on when asked",
    Cause.CHECK_WATCHDOG: "check not passed: the drive's watchdog did not trip when commands were withheld",
}


class Verdict(IntFlag):
    """Why the command differs from the request."""

    NONE = 0
    NOT_RUNNING = 1
    TORQUE_LIMIT = 2
    RATE_LIMIT = 4
    RAMP = 8
    NO_FRESH_SAMPLE = 16
    NOT_A_NUMBER = 32
    WITHHELD = 64  # no frame at all was sent


# Plain integers for the compiled code.
_DISARMED, _CHECK, _ARMED, _RUNNING, _RAMPDOWN, _FAULT = (int(s) for s in State)
_OFF, _STOP, _ARM, _RUN = (int(d) for d in Demand)
_STREAM, _ENABLE, _WITHHOLD, _CLEAR = range(4)  # phases of CHECK
_ENABLE_TIMEOUT = 0.25  # s, for the drive to say that it is on, or that it is cleared

SUPERVISOR = np.dtype(
    [
        ("state", "i8"),
        ("cause", "i8"),
        ("phase", "i8"),  # of CHECK
        ("since", "f8"),  # s, in this state
        ("in_phase", "f8"),  # s, in this phase of CHECK
        ("since_sample", "f8"),  # s, without a fresh sample
        ("good_stream", "f8"),  # s, of stream without gap or error
        ("at_limit", "f8"),  # s, of torque at its limit
        ("T_cmd", "f8"),  # N m, last torque allowed
        ("T_ramp", "f8"),  # N m, torque when the ramp began
        ("flags", "i8"),  # COMMAND_* bits to send
        ("send", "i8"),  # send a frame this tick?
        ("verdict", "i8"),
        ("watchdog", "f8"),  # s, the drive's time-out, to be proven
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def _enter(s, state, cause):
    """Change state; keep the first cause. Runs inside the tick."""
    if state != s.state:
        s.since = 0.0
    s.state = state
    if s.cause == 0:
        s.cause = cause


@njit(cache=True, nogil=True)
def _hard_cause(s, limits, sample, estimate, T_req):
    """What must zero and disable at once, or 0. Runs inside the tick."""
    if s.since_sample > limits.stale:
        return 3
    if not (math.isfinite(T_req) and math.isfinite(estimate.phi) and math.isfinite(estimate.delta_dot)):
        return 4
    if abs(estimate.phi) > limits.lean:
        return 5
    if abs(estimate.delta) > limits.steer:
        return 6
    if sample.faults != 0:
        return 8
    if sample.status & STATUS_WATCHDOG:
        return 9
    if sample.status & STATUS_STOP_BUTTON:
        return 10
    return 0


@njit(cache=True, nogil=True)
def _soft_cause(s, limits, sample, estimate):
    """What ends the run by a ramp, or 0. Runs inside the tick."""
    if not limits.speed_min <= estimate.v <= limits.speed_max:
        return 7
    if not limits.bus_min <= sample.bus_meas <= limits.bus_max:
        return 11
    if s.at_limit > limits.saturated:
        return 12
    return 0


@njit(cache=True, nogil=True)
def _upright(limits, sample, estimate):
    """May a person let the drive switch on? Runs inside the tick."""
    return (
        abs(estimate.phi) <= limits.lean_arm
        and abs(estimate.delta) <= limits.steer_arm
        and limits.speed_min <= estimate.v <= limits.speed_max
        and limits.bus_min <= sample.bus_meas <= limits.bus_max
        and sample.faults == 0
        and not sample.status & STATUS_STOP_BUTTON
    )


@njit(cache=True, nogil=True)
def _next_phase(s, phase):
    """Runs inside the tick."""
    s.phase = phase
    s.in_phase = 0.0


@njit(cache=True, nogil=True)
def _check(s, limits, sample, estimate, fresh):
    """One tick of CHECK: stream, switch on, withhold until the watchdog trips, clear. Runs inside the tick."""
    upright = _upright(limits, sample, estimate)
    if s.phase == _STREAM:
        s.flags = COMMAND_CLEAR  # a watchdog latched by an earlier run is cleared here, with the drive off
        if not upright:
            s.in_phase = 0.0
        if s.good_stream >= limits.check and s.in_phase >= limits.check:
            _next_phase(s, _ENABLE)
        elif s.since > limits.check_timeout:
            _enter(s, _DISARMED, 13 if s.good_stream < limits.check else 14)
    elif s.phase == _ENABLE:
        s.flags = COMMAND_ENABLE
        if sample.status & STATUS_ENABLED:
            _next_phase(s, _WITHHOLD)
        elif s.in_phase > _ENABLE_TIMEOUT:
            _enter(s, _FAULT, 15)
    elif s.phase == _WITHHOLD:
        s.send = 0
        if sample.status & STATUS_WATCHDOG and not sample.status & STATUS_ENABLED:
            _next_phase(s, _CLEAR)
        elif s.in_phase > 2.0 * s.watchdog + 0.05:
            _enter(s, _FAULT, 16)
    else:
        s.flags = COMMAND_CLEAR
        if not sample.status & STATUS_WATCHDOG:
            if upright:
                _enter(s, _ARMED, 0)
            else:
                _enter(s, _DISARMED, 14)
        elif s.in_phase > _ENABLE_TIMEOUT:
            _enter(s, _FAULT, 15)


@njit(cache=True, nogil=True)
def _limited(s, limits, T_req, dt):
    """The request within torque and rate limits. Runs inside the tick."""
    T = min(max(T_req, -limits.torque), limits.torque)
    if T_req != T:
        s.verdict |= 2
        s.at_limit += dt
    else:
        s.at_limit = 0.0
    step = limits.torque_rate * dt
    limited = min(max(T, s.T_cmd - step), s.T_cmd + step)
    if limited != T:
        s.verdict |= 4
    return limited


@njit(cache=True, nogil=True)
def _transitions(s, limits, sample, estimate, fresh, T_req, demand, acknowledged):
    """Where the machine stands after this tick's news. Runs inside the tick."""
    if s.state == _DISARMED:
        if demand >= _ARM:
            s.cause = 0
            _enter(s, _CHECK, 0)
            _next_phase(s, _STREAM)
        return
    if s.state == _FAULT:
        if acknowledged and demand == _OFF:
            s.cause = 0
            _enter(s, _DISARMED, 0)
        return
    if demand == _OFF:
        _enter(s, _DISARMED, 2)
        return
    if s.state == _CHECK:
        if demand == _STOP:
            _enter(s, _DISARMED, 1)
        return
    hard = _hard_cause(s, limits, sample, estimate, T_req)
    if s.state == _ARMED and hard == 9 and not sample.status & STATUS_ENABLED and s.since < _ENABLE_TIMEOUT:
        hard = 0  # the trip we provoked ourselves may still be in a sample under way
    if hard:
        _enter(s, _FAULT, hard)
    elif s.state == _ARMED:
        if demand == _STOP:
            _enter(s, _DISARMED, 1)
        elif demand == _RUN and fresh and sample.status & STATUS_ENABLED:
            _enter(s, _RUNNING, 0)
        elif s.since > _ENABLE_TIMEOUT and not sample.status & STATUS_ENABLED:
            _enter(s, _FAULT, 15)
    elif s.state == _RUNNING:
        soft = _soft_cause(s, limits, sample, estimate)
        if soft or demand < _RUN:
            s.T_ramp = s.T_cmd
            _enter(s, _RAMPDOWN, soft if soft else 1)
    elif s.since >= limits.ramp:  # RAMPDOWN is over
        _enter(s, _DISARMED if s.cause == 1 else _FAULT, 0)


@njit(cache=True, nogil=True)
def supervise(s, limits, sample, estimate, fresh, clean, T_req, demand, acknowledged, dt):
    """Decide this tick's torque, flags and whether a frame is sent. Runs inside the tick.

    Parameters
    ----------
    s : record of SUPERVISOR, changed in place: T_cmd [N m], flags, send, verdict, state, cause.
    limits : record of LIMITS.
    sample, estimate : records of SAMPLE and ESTIMATE (estimate.phi, delta in rad, v in m/s).
    fresh : bool
        A usable sample came in since the last tick.
    clean : bool
        Neither a gap nor a broken frame was seen since the last tick.
    T_req : float
        The controller's wish [N m].
    demand, acknowledged : int
        The operator's `Demand`, and whether a fault has been acknowledged.
    dt : float
        Time since the last tick [s].
    """
    s.since += dt
    s.in_phase += dt
    s.since_sample = 0.0 if fresh else s.since_sample + dt
    # a sample that is merely late is no gap; silence for as long as the drive's time-out is one
    s.good_stream = s.good_stream + dt if clean and s.since_sample < s.watchdog else 0.0
    s.verdict = 0
    s.flags = 0
    s.send = 1
    _transitions(s, limits, sample, estimate, fresh, T_req, demand, acknowledged)

    T = 0.0
    if s.state == _RUNNING:
        s.flags = COMMAND_ENABLE
        T = _limited(s, limits, T_req, dt)
    elif s.state == _RAMPDOWN:
        s.flags = COMMAND_ENABLE
        s.verdict |= 8
        T = s.T_ramp * max(0.0, 1.0 - s.since / limits.ramp)
    else:
        s.verdict |= 1
        s.at_limit = 0.0
        if s.state == _ARMED:
            s.flags = COMMAND_ENABLE
        elif s.state == _CHECK:
            _check(s, limits, sample, estimate, fresh)
    if not math.isfinite(T):
        T = 0.0
        s.verdict |= 32
    s.T_cmd = T
    if not fresh and s.flags & COMMAND_ENABLE:
        s.send = 0  # an old sample must not keep the drive alive
        s.verdict |= 16
    if not s.send:
        s.verdict |= 64


def new_supervisor(watchdog: float) -> np.void:
    """A disarmed supervisor, a record of SUPERVISOR; ``watchdog`` [s] is what the drive must prove."""
    s = np.zeros(1, SUPERVISOR)[0]
    s["watchdog"] = watchdog
    s["since_sample"] = np.inf
    return s
