"""Supervisor: the only code that makes a command.

It does not trust the controller. Each tick it finds out which events are on and lets the table of
`riderless.hil.loop.transitions` decide where the machine stands; then it makes the command (torque, rate or angle of
the steer) and the flags of that stage. States run DISARMED -> CHECK -> ARMED -> RUNNING -> RAMPDOWN -> DISARMED, and
from everywhere to FAULT, which is latched with its first cause until an operator acknowledges it; if a fault comes in
the ramp of a stop, that is the fault, not the stop. The operator has a *demand* (OFF, STOP, ARM, RUN): OFF is obeyed
from every state within one tick, and commands other than to rest need RUN.

The ramp down takes a torque or a rate to zero and holds an angle. While a person holds the bars, armed, an angle
drive is told the angle at which they are.

A command reaches the drive's watchdog only when it was computed from a fresh sample, or when it
takes torque away; there is no heartbeat of any other kind.
"""

import math
import re
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_TORQUE,
    FAULT_GUARDS,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.hil.loop.consistency import leans_too_far
from riderless.hil.loop.drives.following import AT_LIMIT
from riderless.hil.loop.states import Cause, Demand, Verdict
from riderless.hil.loop.transitions import EVENT_CAUSE, EVENT_INDEX, NEXT_STAGE, OBSTACLES, RULES, STATE_OF, Stage


def _constants(values: Mapping[str, int]) -> Any:
    """Name integers for the compiled code, which knows no flags."""
    return namedtuple("_Constants", values)(**values)


_DISARMED, _STREAM, _ENABLE, _WITHHOLD, _CLEAR, _ARMED, _RUNNING, _RAMPDOWN, _FAULT = (int(s) for s in Stage)
_STATE = np.array([int(STATE_OF[stage]) for stage in Stage])
_OFF, _STOP, _ARM, _RUN = (int(d) for d in Demand)
_OPERATOR_STOP = int(Cause.OPERATOR_STOP)
_VERDICT = _constants({verdict.name or "": int(verdict) for verdict in Verdict})
_EVENT = _constants({re.sub(r"\W+", "_", event): 1 << i for event, i in EVENT_INDEX.items()})  # its bit
_SYMPTOMS = np.array([int(rule.symptom) for rule in RULES if rule.symptom])
_EVENTS_OF_SYMPTOMS = np.array([1 << EVENT_INDEX[rule.event] for rule in RULES if rule.symptom])
_OBSTACLES = sum(1 << EVENT_INDEX[event] for event in OBSTACLES)
_IN_THE_WAY_AT = EVENT_INDEX["something in the way"]
_ANSWER = 0.25  # s, for the drive to say that it is on, or that it is cleared
_MARGIN = 0.05  # s, beyond twice the watchdog's time, for its news to come to a computer that is busy

NEWS = np.dtype(
    [
        ("dt", "f8"),  # s, since the last tick
        ("silence", "f8"),  # s, of the device that has been silent longest; infinite before its first sample
        ("T_req", "f8"),  # the controller's wish, N m, rad/s or rad as the drive obeys
        ("strange", "u1"),  # the drive says that it obeyed a command which was never sent
        ("demand", "i8"),  # the operator's `Demand`
        ("symptoms", "i8"),  # `Symptom` bits
        ("acknowledged", "u1"),  # the operator has taken note of a fault
        ("fresh", "u1"),  # a usable sample came in since the last tick
        ("clean", "u1"),  # neither a gap nor a broken frame was seen since the last tick
        ("late", "u1"),  # this tick woke more than half a period late
        ("attended", "u1"),  # the program around the loop (operator, display) is alive
        ("recording", "u1"),  # the log takes what it is given
        ("other_gains", "u1"),  # the gains are of other speeds than the present one
        ("released", "u1"),  # the experiment wants the bicycle left to itself: no torque, everything else as ever
        ("tested", "u1"),  # a recent latency test vouches for this computer at this rate, or none is asked for
    ],
    align=True,
)

SUPERVISOR = np.dtype(
    [
        ("stage", "i8"),
        ("state", "i8"),
        ("cause", "i8"),
        ("obstacle", "i8"),  # cause that was last in the way of arming
        ("released", "i8"),  # the demand has been below ARM since the machine was disarmed
        ("since", "f8"),  # s, at this stage
        ("good", "f8"),  # s, of CHECK without anything in the way
        ("at_limit", "f8"),  # s, of the command at its limit, or of the torque that a drive makes of it
        ("lateness", "f8"),  # late ticks piled up, less what the limit lets pass
        ("T_cmd", "f8"),  # last command allowed, N m, rad/s or rad
        ("T_ramp", "f8"),  # command when the ramp began
        ("bound", "f8"),  # N m, that the node's controller may make, where it closes the loop
        ("flags", "i8"),  # COMMAND_* bits to send
        ("send", "i8"),  # send a frame this tick?
        ("verdict", "i8"),
        ("watchdog", "f8"),  # s, the drive's time-out, to be proven
        ("news_time", "f8"),  # s, by which the news of its trip may be later
        ("withheld", "f8"),  # s, device clock, since when commands are withheld
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def _events(s, limits, news, sample, e):
    """Evaluate every event of the table but "nothing in the way", as bits in its order. Runs inside the tick."""
    on, status, demand = 0, sample.status, news.demand
    enabled, tripped = status & STATUS_ENABLED != 0, status & STATUS_WATCHDOG != 0
    numbers = news.T_req + e.phi + e.delta + e.phi_dot + e.delta_dot + e.v
    upright = abs(e.phi) <= limits.lean_arm and abs(e.delta) <= limits.steer_arm

    for k in range(_SYMPTOMS.size):
        on |= _EVENTS_OF_SYMPTOMS[k] if news.symptoms & _SYMPTOMS[k] else 0

    on |= _EVENT.off if demand == _OFF else 0
    on |= _EVENT.acknowledged if demand == _OFF and news.acknowledged else 0
    on |= _EVENT.stop if demand == _STOP else 0
    on |= _EVENT.arm if demand >= _ARM and s.released else 0
    on |= _EVENT.disarm if demand == _ARM else 0

    # a sample that is merely late is no gap; silence for as long as the drive's time-out is one
    on |= 0 if news.clean and news.silence < s.watchdog else _EVENT.stream_broken
    on |= 0 if upright else _EVENT.not_upright
    on |= _EVENT.speed_of_other_gains if news.other_gains else 0

    on |= 0 if math.isfinite(numbers) else _EVENT.not_a_number
    on |= 0 if news.silence <= limits.stale else _EVENT.stale_sample  # what is not a number is stale too
    on |= _EVENT.stop_button if status & STATUS_STOP_BUTTON else 0
    on |= _EVENT.node_s_guard if sample.faults & FAULT_GUARDS else 0
    on |= _EVENT.device_fault if sample.faults & ~FAULT_GUARDS else 0
    on |= _EVENT.watchdog_tripped if tripped else 0
    # a computer that stalls lets the watchdog strike, and its late commands are too old: that is no stranger
    on |= _EVENT.foreign_commands if news.strange or (status & STATUS_FOREIGN and not tripped) else 0
    on |= _EVENT.lean_limit if leans_too_far(e, limits.lean) else 0
    on |= _EVENT.steer_limit if abs(e.delta) > limits.steer else 0
    on |= _EVENT.drive_went_off if news.fresh and not enabled else 0

    on |= 0 if limits.speed_min <= e.v <= limits.speed_max else _EVENT.speed_window
    on |= 0 if limits.bus_min <= sample.bus_meas <= limits.bus_max else _EVENT.bus_voltage
    on |= _EVENT.saturated if s.at_limit > limits.saturated else 0
    on |= _EVENT.ticks_late if s.lateness > limits.late else 0
    on |= 0 if news.attended else _EVENT.unattended
    on |= 0 if news.recording else _EVENT.log_fails

    on |= 0 if news.tested else _EVENT.untested
    on |= _EVENT.something_in_the_way if s.since > limits.check_timeout else 0
    on |= _EVENT.switched_on if enabled else 0
    on |= _EVENT.not_switched_on if s.since > _ANSWER and not enabled else 0
    on |= _EVENT.tripped_as_it_should if tripped and not enabled else 0
    overdue = sample.t - s.withheld > s.watchdog + s.news_time  # a computer that stalls makes no sample late
    on |= _EVENT.not_tripped if overdue or s.since > 2.0 * s.watchdog + _MARGIN else 0
    on |= 0 if tripped else (_EVENT.cleared if upright else _EVENT.cleared_not_upright)
    on |= _EVENT.not_cleared if s.since > _ANSWER else 0
    on |= _EVENT.go if demand == _RUN and news.fresh and enabled else 0
    if s.since >= limits.ramp:
        on |= _EVENT.stopped if s.cause == _OPERATOR_STOP else _EVENT.ramped_down
    return on


@njit(cache=True, nogil=True)
def _move(s, on):
    """Change the stage by the first event that the table answers at this one. Runs inside the tick."""
    for event in range(NEXT_STAGE.shape[1]):
        stage = NEXT_STAGE[s.stage, event]
        if stage < 0 or not on >> event & 1:
            continue
        in_ramp_of_stop = s.stage == _RAMPDOWN and s.cause == _OPERATOR_STOP
        if s.cause == 0 or (in_ramp_of_stop and stage == _FAULT):  # a stop explains no fault
            s.cause = s.obstacle if event == _IN_THE_WAY_AT else EVENT_CAUSE[event]
        if stage == _STREAM or s.stage == _FAULT:  # a new start, or an acknowledged fault
            s.cause = 0
        if stage == _STREAM:
            s.good = s.lateness = 0.0
        if stage == _RAMPDOWN:
            s.T_ramp = s.T_cmd
        if stage == _DISARMED:
            s.released = 0
        s.stage = stage
        s.since = 0.0
        return


@njit(cache=True, nogil=True)
def _clear_way(s, on, wanted, dt):
    """Count the time without an obstacle to arming, and keep the last obstacle's cause. Runs inside the tick.

    Returns
    -------
    int
        The event "nothing in the way": there was no obstacle for as long as ``wanted`` [s], and there is none now.
    """
    waited = s.good
    s.good += min(dt, s.watchdog)  # a clock's jump proves nothing about the stream
    for event in range(NEXT_STAGE.shape[1]):
        if on & _OBSTACLES & (1 << event):
            s.good = 0.0
            s.obstacle = EVENT_CAUSE[event]
            return 0
    return _EVENT.nothing_in_the_way if waited >= wanted else 0


@njit(cache=True, nogil=True)
def _limited(s, limits, T_req, T_meas, dt):
    """Limit the request to the greatest command and change of it. Runs inside the tick."""
    T = min(max(T_req, -limits.command), limits.command)
    if T_req != T:
        s.verdict |= _VERDICT.TORQUE_LIMIT
    spent = limits.kind != COMMAND_KIND_TORQUE and abs(T_meas) >= AT_LIMIT * limits.torque  # the steer cannot follow
    s.at_limit = s.at_limit + dt if T_req != T or spent else 0.0
    step = limits.command_change * min(dt, s.watchdog)  # after a long gap the drive is off anyway
    limited = min(max(T, s.T_cmd - step), s.T_cmd + step)
    if limited != T:
        s.verdict |= _VERDICT.RATE_LIMIT
    return limited


@njit(cache=True, nogil=True)
def supervise(s, limits, news, sample, estimate):
    """Decide this tick's command, flags and whether a frame is sent. Runs inside the tick.

    Parameters
    ----------
    s : record of SUPERVISOR, changed in place: T_cmd [N m, rad/s or rad], flags, send, verdict, stage, state, cause.
    limits : record of LIMITS.
    news : record of NEWS: what this tick has learnt.
    sample, estimate : records of SAMPLE and ESTIMATE (phi, delta in rad, v in m/s).
    """
    dt = news.dt if news.dt > 0.0 else 0.0  # a clock that stands still or is not a number gives no time
    s.since += dt
    s.lateness = max(0.0, s.lateness + news.late - limits.late * min(dt, s.watchdog))
    if s.stage == _DISARMED and news.demand < _ARM:
        s.released = 1
    on = _events(s, limits, news, sample, estimate)
    if s.stage == _STREAM:
        on |= _clear_way(s, on, limits.check, dt)
    _move(s, on)
    s.state = _STATE[s.stage]
    if s.stage == _WITHHOLD and s.since == 0.0:
        s.withheld = sample.t

    s.verdict = 0
    s.send = 1
    was_on = s.flags & COMMAND_ENABLE
    s.flags = COMMAND_ENABLE if s.stage == _ENABLE or s.stage == _ARMED else 0
    angle = limits.kind == COMMAND_KIND_ANGLE
    if s.stage == _RUNNING:
        s.flags = COMMAND_ENABLE
        s.verdict |= _VERDICT.RELEASED if news.released else 0
        T = _limited(s, limits, 0.0 if news.released else news.T_req, sample.T_meas, dt)
    elif s.stage == _RAMPDOWN:
        s.flags = COMMAND_ENABLE
        s.verdict |= _VERDICT.RAMP
        T = s.T_ramp if angle else s.T_ramp * max(0.0, 1.0 - s.since / limits.ramp)  # a steer that stands is no jerk
    else:
        s.verdict |= _VERDICT.NOT_RUNNING
        s.at_limit = 0.0
        T = _held(s, limits, estimate.delta, was_on, dt) if angle and s.flags & COMMAND_ENABLE else 0.0
        if s.stage == _STREAM or s.stage == _CLEAR:
            s.flags = COMMAND_CLEAR  # in STREAM it clears what an earlier run has left, with the drive off
        elif s.stage == _WITHHOLD:
            s.send = 0
    if not math.isfinite(T):
        T = 0.0
        s.verdict |= _VERDICT.NOT_A_NUMBER
    s.T_cmd = T
    if not news.fresh and s.flags & COMMAND_ENABLE:
        s.send = 0  # an old sample must not keep the drive alive
        s.verdict |= _VERDICT.NO_FRESH_SAMPLE
    if not s.send:
        s.verdict |= _VERDICT.WITHHELD


@njit(cache=True, nogil=True)
def _held(s, limits, delta, was_on, dt):
    """Angle [rad] at which a person holds the bars; told no faster than any command, for the encoder may be wrong."""
    if not was_on:
        return delta
    room = limits.command_change * dt
    return min(max(delta, s.T_cmd - room), s.T_cmd + room)


def new_supervisor(watchdog: float, news_time: float) -> np.void:
    """Make a disarmed supervisor, a record of SUPERVISOR.

    Parameters
    ----------
    watchdog : float
        Time-out that the drive must prove [s].
    news_time : float
        Time by which the first sample that tells of its trip may be later [s].
    """
    s = np.zeros(1, SUPERVISOR)[0]
    s["watchdog"], s["news_time"] = watchdog, news_time
    s["released"] = 1
    return s
