"""The supervisor: the sole maker of a command. It distrusts the controller.

States run DISARMED -> CHECK -> ARMED -> RUNNING -> RAMPDOWN -> DISARMED, and from everywhere to
FAULT, which is latched with its first cause until an operator acknowledges it. The operator has a
*demand* (OFF, STOP, ARM, RUN): OFF is obeyed from every state within one tick, and torque needs RUN.

A command reaches the drive's watchdog only when it was computed from a fresh sample, or when it
takes torque away; there is no heartbeat of any other kind.
"""

import math

import numpy as np
from numba import njit

from firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from hil.states import Cause, Demand, State, Verdict

# Plain integers for the compiled code.
_DISARMED, _CHECK, _ARMED, _RUNNING, _RAMPDOWN, _FAULT = (int(s) for s in State)
_OFF, _STOP, _ARM, _RUN = (int(d) for d in Demand)
(
    _NO_CAUSE,
    _OPERATOR_STOP,
    _OPERATOR_OFF,
    _STALE_SAMPLE,
    _NOT_A_NUMBER,
    _LEAN_LIMIT,
    _STEER_LIMIT,
    _SPEED_WINDOW,
    _DEVICE_FAULT,
    _DRIVE_WATCHDOG,
    _STOP_BUTTON,
    _BUS_VOLTAGE,
    _SATURATED,
    _CHECK_STREAM,
    _CHECK_UPRIGHT,
    _CHECK_ENABLE,
    _CHECK_WATCHDOG,
) = tuple(int(c) for c in Cause)[:17]
_V_NOT_RUNNING = int(Verdict.NOT_RUNNING)
_V_TORQUE_LIMIT = int(Verdict.TORQUE_LIMIT)
_V_RATE_LIMIT = int(Verdict.RATE_LIMIT)
_V_RAMP = int(Verdict.RAMP)
_V_NO_FRESH_SAMPLE = int(Verdict.NO_FRESH_SAMPLE)
_V_NOT_A_NUMBER = int(Verdict.NOT_A_NUMBER)
_V_WITHHELD = int(Verdict.WITHHELD)
_STREAM, _ENABLE, _WITHHOLD, _CLEAR = range(4)  # phases of CHECK
_ENABLE_TIMEOUT = 0.25  # s, for the drive to say that it is on, or that it is cleared

NEWS = np.dtype(
    [
        ("dt", "f8"),  # s, since the last tick
        ("silence", "f8"),  # s, of the device that has been silent longest; infinite before its first sample
        ("T_req", "f8"),  # N m, the controller's wish
        ("demand", "i8"),  # the operator's `Demand`
        ("symptoms", "i8"),  # `Symptom` bits
        ("acknowledged", "u1"),  # the operator has taken note of a fault
        ("fresh", "u1"),  # a usable sample came in since the last tick
        ("clean", "u1"),  # neither a gap nor a broken frame was seen since the last tick
        ("late", "u1"),  # this tick woke more than half a period late
        ("attended", "u1"),  # the program around the loop (operator, display) is alive
        ("recording", "u1"),  # the log takes what it is given
        ("tested", "u1"),  # a recent latency test vouches for this computer at this rate, or none is asked for
    ],
    align=True,
)

SUPERVISOR = np.dtype(
    [
        ("state", "i8"),
        ("cause", "i8"),
        ("phase", "i8"),  # of CHECK
        ("since", "f8"),  # s, in this state
        ("in_phase", "f8"),  # s, in this phase of CHECK
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
    if s.cause == _NO_CAUSE:
        s.cause = cause


@njit(cache=True, nogil=True)
def _hard_cause(news, limits, sample, estimate):
    """What must zero and disable at once, or 0. Runs inside the tick."""
    if news.silence > limits.stale:
        return _STALE_SAMPLE
    if not (math.isfinite(news.T_req) and math.isfinite(estimate.phi) and math.isfinite(estimate.delta_dot)):
        return _NOT_A_NUMBER
    if abs(estimate.phi) > limits.lean:
        return _LEAN_LIMIT
    if abs(estimate.delta) > limits.steer:
        return _STEER_LIMIT
    if sample.faults != 0:
        return _DEVICE_FAULT
    if sample.status & STATUS_WATCHDOG:
        return _DRIVE_WATCHDOG
    if sample.status & STATUS_STOP_BUTTON:
        return _STOP_BUTTON
    return _NO_CAUSE


@njit(cache=True, nogil=True)
def _soft_cause(s, limits, sample, estimate):
    """What ends the run by a ramp, or 0. Runs inside the tick."""
    if not limits.speed_min <= estimate.v <= limits.speed_max:
        return _SPEED_WINDOW
    if not limits.bus_min <= sample.bus_meas <= limits.bus_max:
        return _BUS_VOLTAGE
    if s.at_limit > limits.saturated:
        return _SATURATED
    return _NO_CAUSE


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
def _check(s, limits, sample, estimate):
    """One tick of CHECK: stream, switch on, withhold until the watchdog trips, clear. Runs inside the tick."""
    upright = _upright(limits, sample, estimate)
    if s.phase == _STREAM:
        s.flags = COMMAND_CLEAR  # a watchdog latched by an earlier run is cleared here, with the drive off
        if not upright:
            s.in_phase = 0.0
        if s.good_stream >= limits.check and s.in_phase >= limits.check:
            _next_phase(s, _ENABLE)
        elif s.since > limits.check_timeout:
            _enter(s, _DISARMED, _CHECK_STREAM if s.good_stream < limits.check else _CHECK_UPRIGHT)
    elif s.phase == _ENABLE:
        s.flags = COMMAND_ENABLE
        if sample.status & STATUS_ENABLED:
            _next_phase(s, _WITHHOLD)
        elif s.in_phase > _ENABLE_TIMEOUT:
            _enter(s, _FAULT, _CHECK_ENABLE)
    elif s.phase == _WITHHOLD:
        s.send = 0
        if sample.status & STATUS_WATCHDOG and not sample.status & STATUS_ENABLED:
            _next_phase(s, _CLEAR)
        elif s.in_phase > 2.0 * s.watchdog + 0.05:
            _enter(s, _FAULT, _CHECK_WATCHDOG)
    else:
        s.flags = COMMAND_CLEAR
        if not sample.status & STATUS_WATCHDOG:
            if upright:
                _enter(s, _ARMED, _NO_CAUSE)
            else:
                _enter(s, _DISARMED, _CHECK_UPRIGHT)
        elif s.in_phase > _ENABLE_TIMEOUT:
            _enter(s, _FAULT, _CHECK_ENABLE)


@njit(cache=True, nogil=True)
def _limited(s, limits, T_req, dt):
    """The request within torque and rate limits. Runs inside the tick."""
    T = min(max(T_req, -limits.torque), limits.torque)
    if T_req != T:
        s.verdict |= _V_TORQUE_LIMIT
        s.at_limit += dt
    else:
        s.at_limit = 0.0
    step = limits.torque_rate * dt
    limited = min(max(T, s.T_cmd - step), s.T_cmd + step)
    if limited != T:
        s.verdict |= _V_RATE_LIMIT
    return limited


@njit(cache=True, nogil=True)
def _transitions(s, limits, sample, estimate, news):
    """Where the machine stands after this tick's news. Runs inside the tick."""
    demand = news.demand
    if s.state == _DISARMED:
        if demand >= _ARM:
            s.cause = _NO_CAUSE
            _enter(s, _CHECK, _NO_CAUSE)
            _next_phase(s, _STREAM)
        return
    if s.state == _FAULT:
        if news.acknowledged and demand == _OFF:
            s.cause = _NO_CAUSE
            _enter(s, _DISARMED, _NO_CAUSE)
        return
    if demand == _OFF:
        _enter(s, _DISARMED, _OPERATOR_OFF)
        return
    if s.state == _CHECK:
        if demand == _STOP:
            _enter(s, _DISARMED, _OPERATOR_STOP)
        return
    hard = _hard_cause(news, limits, sample, estimate)
    if hard:
        _enter(s, _FAULT, hard)
    elif s.state == _ARMED:
        if demand == _STOP:
            _enter(s, _DISARMED, _OPERATOR_STOP)
        elif demand == _RUN and news.fresh and sample.status & STATUS_ENABLED:
            _enter(s, _RUNNING, _NO_CAUSE)
        elif s.since > _ENABLE_TIMEOUT and not sample.status & STATUS_ENABLED:
            _enter(s, _FAULT, _CHECK_ENABLE)
    elif s.state == _RUNNING:
        soft = _soft_cause(s, limits, sample, estimate)
        if soft or demand < _RUN:
            s.T_ramp = s.T_cmd
            _enter(s, _RAMPDOWN, soft if soft else _OPERATOR_STOP)
    elif s.since >= limits.ramp:  # RAMPDOWN is over
        _enter(s, _DISARMED if s.cause == _OPERATOR_STOP else _FAULT, _NO_CAUSE)


@njit(cache=True, nogil=True)
def supervise(s, limits, news, sample, estimate):
    """Decide this tick's torque, flags and whether a frame is sent. Runs inside the tick.

    Parameters
    ----------
    s : record of SUPERVISOR, changed in place: T_cmd [N m], flags, send, verdict, state, cause.
    limits : record of LIMITS.
    news : record of NEWS: what this tick has learnt.
    sample, estimate : records of SAMPLE and ESTIMATE (estimate.phi, delta in rad, v in m/s).
    """
    s.since += news.dt
    s.in_phase += news.dt
    # a sample that is merely late is no gap; silence for as long as the drive's time-out is one
    s.good_stream = s.good_stream + news.dt if news.clean and news.silence < s.watchdog else 0.0
    s.verdict = 0
    s.flags = 0
    s.send = 1
    _transitions(s, limits, sample, estimate, news)

    T = 0.0
    if s.state == _RUNNING:
        s.flags = COMMAND_ENABLE
        T = _limited(s, limits, news.T_req, news.dt)
    elif s.state == _RAMPDOWN:
        s.flags = COMMAND_ENABLE
        s.verdict |= _V_RAMP
        T = s.T_ramp * max(0.0, 1.0 - s.since / limits.ramp)
    else:
        s.verdict |= _V_NOT_RUNNING
        s.at_limit = 0.0
        if s.state == _ARMED:
            s.flags = COMMAND_ENABLE
        elif s.state == _CHECK:
            _check(s, limits, sample, estimate)
    if not math.isfinite(T):
        T = 0.0
        s.verdict |= _V_NOT_A_NUMBER
    s.T_cmd = T
    if not news.fresh and s.flags & COMMAND_ENABLE:
        s.send = 0  # an old sample must not keep the drive alive
        s.verdict |= _V_NO_FRESH_SAMPLE
    if not s.send:
        s.verdict |= _V_WITHHELD


def new_supervisor(watchdog: float) -> np.void:
    """A disarmed supervisor, a record of SUPERVISOR; ``watchdog`` [s] is what the drive must prove."""
    s = np.zeros(1, SUPERVISOR)[0]
    s["watchdog"] = watchdog
    return s
