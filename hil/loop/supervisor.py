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
from riderless.hil.loop.states import Cause, Demand, Symptom, Verdict
from riderless.hil.loop.transitions import EVENT_CAUSE, EVENT_INDEX, NEXT_STAGE, OBSTACLES, STATE_OF, Stage

# Plain integers and arrays for the compiled code.
_DISARMED, _STREAM, _ENABLE, _WITHHOLD, _CLEAR, _ARMED, _RUNNING, _RAMPDOWN, _FAULT = (int(s) for s in Stage)
_STATE = np.array([int(STATE_OF[stage]) for stage in Stage])
_OFF, _STOP, _ARM, _RUN = (int(d) for d in Demand)
_OPERATOR_STOP = int(Cause.OPERATOR_STOP)
_V_NOT_RUNNING = int(Verdict.NOT_RUNNING)
_V_TORQUE_LIMIT = int(Verdict.TORQUE_LIMIT)
_V_RATE_LIMIT = int(Verdict.RATE_LIMIT)
_V_RAMP = int(Verdict.RAMP)
_V_NO_FRESH_SAMPLE = int(Verdict.NO_FRESH_SAMPLE)
_V_NOT_A_NUMBER = int(Verdict.NOT_A_NUMBER)
_V_WITHHELD = int(Verdict.WITHHELD)
_V_RELEASED = int(Verdict.RELEASED)
_ANSWER = 0.25  # s, for the drive to say that it is on, or that it is cleared
_MARGIN = 0.05  # s, beyond twice the watchdog's time, for its news to come to a computer that is busy

# Which event stands where in the table.
_HARD_SYMPTOMS, _SOFT_SYMPTOMS = EVENT_INDEX["sensor stuck"], EVENT_INDEX["samples seldom"]
_N_HARD = EVENT_INDEX["foreign commands"] - _HARD_SYMPTOMS  # symptoms that are hard; the rest is soft
_N_SOFT = EVENT_INDEX["speed drive failed"] - _SOFT_SYMPTOMS
_BIT = {event: 1 << i for event, i in EVENT_INDEX.items()}
_B_OFF, _B_ACKNOWLEDGED = _BIT["off"], _BIT["acknowledged"]
_B_STOP, _B_ARM, _B_DISARM = _BIT["stop"], _BIT["arm"], _BIT["disarm"]
_B_BROKEN, _B_NOT_UPRIGHT = _BIT["stream broken"], _BIT["not upright"]
_B_REST_RATE, _B_REST_FORCE, _B_REST_TILT, _B_OTHER_GAINS = (
    _BIT["gyro at rest"],
    _BIT["gravity at rest"],
    _BIT["sensor not upright"],
    _BIT["speed of other gains"],
)
_REST_RATE, _REST_FORCE, _REST_TILT = int(Symptom.REST_RATE), int(Symptom.REST_FORCE), int(Symptom.REST_TILT)
_B_NAN, _B_STALE, _B_LEAN, _B_STEER = (
    _BIT["not a number"],
    _BIT["stale sample"],
    _BIT["lean limit"],
    _BIT["steer limit"],
)
_B_BUTTON, _B_GUARD, _B_FAULT, _B_WATCHDOG, _B_FOREIGN, _B_WENT_OFF = (
    _BIT["stop button"],
    _BIT["node's guard"],
    _BIT["device fault"],
    _BIT["watchdog tripped"],
    _BIT["foreign commands"],
    _BIT["drive went off"],
)
_OFF_BELT, _B_OFF_BELT = int(Symptom.OFF_BELT), _BIT["off the belt"]
_SPEED_DRIVE, _B_SPEED_DRIVE = int(Symptom.SPEED_DRIVE), _BIT["speed drive failed"]
_B_SPEED, _B_BUS, _B_SATURATED = _BIT["speed window"], _BIT["bus voltage"], _BIT["saturated"]
_B_LATE, _B_UNATTENDED, _B_LOG = _BIT["ticks late"], _BIT["unattended"], _BIT["log fails"]
_B_UNTESTED, _B_CLEAR_WAY, _B_IN_THE_WAY = (
    _BIT["untested"],
    _BIT["nothing in the way"],
    _BIT["something in the way"],
)
_B_ON, _B_NOT_ON, _B_TRIPPED, _B_NOT_TRIPPED = (
    _BIT["switched on"],
    _BIT["not switched on"],
    _BIT["tripped as it should"],
    _BIT["not tripped"],
)
_B_CLEARED, _B_CLEARED_LEANING, _B_NOT_CLEARED = (
    _BIT["cleared"],
    _BIT["cleared, not upright"],
    _BIT["not cleared"],
)
_B_GO, _B_STOPPED, _B_RAMPED = _BIT["go"], _BIT["stopped"], _BIT["ramped down"]
_OBSTACLES = sum(_BIT[event] for event in OBSTACLES)
_IN_THE_WAY_AT = EVENT_INDEX["something in the way"]

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

    on |= _B_OFF if demand == _OFF else 0
    on |= _B_ACKNOWLEDGED if demand == _OFF and news.acknowledged else 0
    on |= _B_STOP if demand == _STOP else 0
    on |= _B_ARM if demand >= _ARM and s.released else 0
    on |= _B_DISARM if demand == _ARM else 0

    # a sample that is merely late is no gap; silence for as long as the drive's time-out is one
    on |= 0 if news.clean and news.silence < s.watchdog else _B_BROKEN
    on |= 0 if upright else _B_NOT_UPRIGHT
    on |= _B_REST_RATE if news.symptoms & _REST_RATE else 0
    on |= _B_REST_FORCE if news.symptoms & _REST_FORCE else 0
    on |= _B_REST_TILT if news.symptoms & _REST_TILT else 0
    on |= _B_OTHER_GAINS if news.other_gains else 0

    on |= 0 if math.isfinite(numbers) else _B_NAN
    on |= 0 if news.silence <= limits.stale else _B_STALE  # what is not a number is stale too
    on |= _B_BUTTON if status & STATUS_STOP_BUTTON else 0
    on |= _B_GUARD if sample.faults & FAULT_GUARDS else 0
    on |= _B_FAULT if sample.faults & ~FAULT_GUARDS else 0
    on |= _B_WATCHDOG if tripped else 0
    # a computer that stalls lets the watchdog strike, and its late commands are too old: that is no stranger
    on |= _B_FOREIGN if news.strange or (status & STATUS_FOREIGN and not tripped) else 0
    on |= _B_LEAN if leans_too_far(e, limits.lean) else 0
    on |= _B_STEER if abs(e.delta) > limits.steer else 0
    on |= (news.symptoms & ((1 << _N_HARD) - 1)) << _HARD_SYMPTOMS
    on |= _B_WENT_OFF if news.fresh and not enabled else 0
    on |= _B_OFF_BELT if news.symptoms & _OFF_BELT else 0

    on |= (news.symptoms >> _N_HARD & ((1 << _N_SOFT) - 1)) << _SOFT_SYMPTOMS
    on |= _B_SPEED_DRIVE if news.symptoms & _SPEED_DRIVE else 0
    on |= 0 if limits.speed_min <= e.v <= limits.speed_max else _B_SPEED
    on |= 0 if limits.bus_min <= sample.bus_meas <= limits.bus_max else _B_BUS
    on |= _B_SATURATED if s.at_limit > limits.saturated else 0
    on |= _B_LATE if s.lateness > limits.late else 0
    on |= 0 if news.attended else _B_UNATTENDED
    on |= 0 if news.recording else _B_LOG

    on |= 0 if news.tested else _B_UNTESTED
    on |= _B_IN_THE_WAY if s.since > limits.check_timeout else 0
    on |= _B_ON if enabled else 0
    on |= _B_NOT_ON if s.since > _ANSWER and not enabled else 0
    on |= _B_TRIPPED if tripped and not enabled else 0
    overdue = sample.t - s.withheld > s.watchdog + s.news_time  # a computer that stalls makes no sample late
    on |= _B_NOT_TRIPPED if overdue or s.since > 2.0 * s.watchdog + _MARGIN else 0
    on |= 0 if tripped else (_B_CLEARED if upright else _B_CLEARED_LEANING)
    on |= _B_NOT_CLEARED if s.since > _ANSWER else 0
    on |= _B_GO if demand == _RUN and news.fresh and enabled else 0
    if s.since >= limits.ramp:
        on |= _B_STOPPED if s.cause == _OPERATOR_STOP else _B_RAMPED
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
    return _B_CLEAR_WAY if waited >= wanted else 0


@njit(cache=True, nogil=True)
def _limited(s, limits, T_req, T_meas, dt):
    """Limit the request to the greatest command and change of it. Runs inside the tick."""
    T = min(max(T_req, -limits.command), limits.command)
    if T_req != T:
        s.verdict |= _V_TORQUE_LIMIT
    spent = limits.kind != COMMAND_KIND_TORQUE and abs(T_meas) >= AT_LIMIT * limits.torque  # the steer cannot follow
    s.at_limit = s.at_limit + dt if T_req != T or spent else 0.0
    step = limits.command_change * min(dt, s.watchdog)  # after a long gap the drive is off anyway
    limited = min(max(T, s.T_cmd - step), s.T_cmd + step)
    if limited != T:
        s.verdict |= _V_RATE_LIMIT
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
        s.verdict |= _V_RELEASED if news.released else 0
        T = _limited(s, limits, 0.0 if news.released else news.T_req, sample.T_meas, dt)
    elif s.stage == _RAMPDOWN:
        s.flags = COMMAND_ENABLE
        s.verdict |= _V_RAMP
        T = s.T_ramp if angle else s.T_ramp * max(0.0, 1.0 - s.since / limits.ramp)  # a steer that stands is no jerk
    else:
        s.verdict |= _V_NOT_RUNNING
        s.at_limit = 0.0
        T = _held(s, limits, estimate.delta, was_on, dt) if angle and s.flags & COMMAND_ENABLE else 0.0
        if s.stage == _STREAM or s.stage == _CLEAR:
            s.flags = COMMAND_CLEAR  # in STREAM it clears what an earlier run has left, with the drive off
        elif s.stage == _WITHHOLD:
            s.send = 0
    if not math.isfinite(T):
        T = 0.0
        s.verdict |= _V_NOT_A_NUMBER
    s.T_cmd = T
    if not news.fresh and s.flags & COMMAND_ENABLE:
        s.send = 0  # an old sample must not keep the drive alive
        s.verdict |= _V_NO_FRESH_SAMPLE
    if not s.send:
        s.verdict |= _V_WITHHELD


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
