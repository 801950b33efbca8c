"""Speed control loop: ramp, PI and fault detection.

The PI acts around the belt's own speed control. The asked speed r follows the corners of the run within `ramp`. The
belt, which obeys a speed by itself, is told::

    u = r + kp (e - v) + i,     i' = ki (e - v),     |u - r| <= trim,     0 <= u <= fastest

with v the speed of the bicycle's wheel and e what the belt is expected to do: r through a first-order lag. i stands
still while u is at a limit that it would push against. The drive has failed when it is silent for `lost_after`, reports
a fault, its stop button or its own time-out, or the wheel is off what is expected by `follow_error` for `follow_time`,
or by twice that for a fifth of it: a belt that stands still, lags, runs away, or a wheel that slips.

The belt runs in CHECK, ARMED and RUNNING. As soon as the machine leaves them it is told not to run, and comes to rest.
A command goes out ten times a second: a belt is slow, and its line may be.
"""

import math

import numpy as np

from riderless.firmware_interface.devices.link import ROLE_SPEED
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_FAULT,
    SPEED_HEARD,
    SPEED_REPORTED,
    SPEED_SAY,
    SPEED_SAY_CHANGE,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_STATUS,
    SPEED_STOPPED,
    SPEED_TIMED_OUT,
)
from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.states import State, Symptom

SAY_EVERY = 0.1  # s between two commands to the belt
BELT_MARGIN = 1.5  # times the ramp that the belt itself may use: it follows the ramp, not the other way round
_SURGE = 0.2  # of the time after which an error twice as large counts
_CHECK, _ARMED, _RUNNING = int(State.CHECK), int(State.ARMED), int(State.RUNNING)
_FAILED = int(Symptom.SPEED_DRIVE)
_TIMED_OUT_FOR = 0.5  # s after the belt was told to run, in which it may still report its time-out of before
_TROUBLE = SPEED_FAULT | SPEED_STOPPED

PACING = np.dtype(
    [
        ("asked", "f8"),  # m/s, ramped
        ("expected", "f8"),  # m/s, that through the belt's lag
        ("integral", "f8"),  # m/s
        ("command", "f8"),  # m/s, to the belt
        ("reported", "f8"),  # m/s, by the belt
        ("age", "f8"),  # s, since its last report
        ("heard", "i8"),  # reports so far
        ("runs", "i8"),  # it is told to run
        ("runs_for", "f8"),  # s
        ("off_for", "f8"),  # s, that the wheel is off what is expected
        ("far_for", "f8"),  # s, that it is off by twice as much
        ("wait", "f8"),  # s, until the next command
    ],
    align=True,
)


def new_pacing() -> np.void:
    """Speed loop that has heard nothing yet, a record of PACING."""
    pacing = np.zeros(1, PACING)[0]
    pacing["age"], pacing["reported"] = np.inf, np.nan
    return pacing


@njit(cache=True, nogil=True)
def asked_at(corners, t):
    """Speed [m/s] asked for at ``t`` [s] by corners (n, 2); 0 without any. Runs inside the tick."""
    n = corners.shape[0]
    if n == 0:
        return 0.0
    if t <= corners[0, 0]:
        return corners[0, 1]
    for i in range(1, n):
        if t < corners[i, 0]:
            part = (t - corners[i - 1, 0]) / (corners[i, 0] - corners[i - 1, 0])
            return corners[i - 1, 1] + part * (corners[i, 1] - corners[i - 1, 1])
    return corners[n - 1, 1]


@njit(cache=True, nogil=True)
def hold_speed(p, s, corners, links, v, state, t, dt):
    """Take the belt's report, decide what it is told next, and judge it; returns `Symptom` bits. Runs inside the tick.

    Parameters
    ----------
    p : record of SPEED_DRIVE
    s : record of PACING, changed in place.
    corners : (n, 2) array
        Asked speed over the time under control [s, m/s].
    links : (P,) array of LINK_STATE
        The one that carries the speed gets what is to be said.
    v : float
        Speed of the bicycle's wheel [m/s].
    state : int
        Of the supervisor, before this tick.
    t : float
        Time under control [s].
    dt : float
        Since the last tick [s].
    """
    dt = max(dt, 0.0)
    s.age += dt
    for i in range(links.size):
        if links[i].role == ROLE_SPEED:
            _hear_belt(s, links[i].memory)
    runs = state in (_CHECK, _ARMED, _RUNNING)
    if runs and s.runs == 0:
        s.asked = s.expected = s.reported if s.age <= p.lost_after else 0.0  # without a jump, whatever it did before
        s.integral = s.runs_for = s.off_for = s.far_for = 0.0
    if runs != (s.runs == 1):
        s.wait = 0.0  # what begins and what ends is said at once
    s.runs = 1 if runs else 0
    _follow_corners(p, s, asked_at(corners, t if state == _RUNNING else 0.0) if runs else 0.0, dt)
    if runs:
        _correct(p, s, v, dt)
    else:
        s.command, s.integral = s.asked, 0.0
    s.wait -= dt
    trouble = 0
    for i in range(links.size):
        if links[i].role == ROLE_SPEED:
            trouble = links[i].memory[SPEED_STATUS]
            if s.wait <= 0.0:
                s.wait = SAY_EVERY
                _tell_belt(p, s, links[i].memory)
    return _judge_belt(p, s, v, trouble, dt) if runs else 0


@njit(cache=True, nogil=True)
def _hear_belt(s, memory):
    """Take what is new on the belt's line. Runs inside the tick."""
    if memory[SPEED_HEARD] != s.heard:
        s.heard, s.age = memory[SPEED_HEARD], 0.0
        s.reported = 1e-3 * memory[SPEED_REPORTED]


@njit(cache=True, nogil=True)
def _follow_corners(p, s, wanted, dt):
    """Lead the asked speed towards the wanted one, and what is expected of the belt after it. Runs inside the tick."""
    step = (p.ramp if s.runs else p.stop) * dt
    s.asked = min(max(min(wanted, p.fastest), s.asked - step), s.asked + step)
    s.expected += (1.0 - math.exp(-dt / p.lag)) * (s.asked - s.expected) if p.lag > 0.0 else s.asked - s.expected


@njit(cache=True, nogil=True)
def _correct(p, s, v, dt):
    """PI around the belt, limited, its integral still where it would push against a limit. Runs inside the tick."""
    error = s.expected - v if math.isfinite(v) else 0.0
    high, low = min(s.asked + p.trim, p.fastest), max(s.asked - p.trim, 0.0)
    wish = s.asked + p.kp * error + s.integral
    if not ((wish >= high and error > 0.0) or (wish <= low and error < 0.0)):
        s.integral = min(max(s.integral + p.ki * error * dt, -p.trim), p.trim)
    s.command = min(max(wish, low), high)


@njit(cache=True, nogil=True)
def _tell_belt(p, s, memory):
    """Leave what is to be said with the driver. Runs inside the tick."""
    memory[SPEED_SAY] = 1
    memory[SPEED_SAY_RUN] = s.runs
    memory[SPEED_SAY_SPEED] = np.int64(math.floor(1e3 * s.command + 0.5)) if s.runs else 0
    memory[SPEED_SAY_CHANGE] = np.int64(1e3 * (BELT_MARGIN * p.ramp if s.runs else p.stop))


@njit(cache=True, nogil=True)
def _judge_belt(p, s, v, status, dt):
    """Judge whether the belt obeys. Runs inside the tick."""
    s.runs_for += dt
    off = abs(v - s.expected)
    s.off_for = s.off_for + dt if not off <= p.follow_error else 0.0
    s.far_for = s.far_for + dt if not off <= 2.0 * p.follow_error else 0.0
    late = s.age > p.lost_after
    trouble = status & _TROUBLE != 0 or (status & SPEED_TIMED_OUT != 0 and s.runs_for > _TIMED_OUT_FOR)
    astray = s.off_for > p.follow_time or s.far_for > _SURGE * p.follow_time
    return _FAILED if late or trouble or astray else 0


@njit(cache=True, nogil=True)
def dismiss_belt(links):
    """Tell the belt not to run: the last word of a run. Runs inside the tick."""
    for i in range(links.size):
        if links[i].role == ROLE_SPEED:
            links[i].memory[SPEED_SAY] = 1
            links[i].memory[SPEED_SAY_RUN] = 0
            links[i].memory[SPEED_SAY_SPEED] = 0


@njit(cache=True, nogil=True)
def fill_pace(settings, pacing, row):
    """Fill the treadmill of one row of the log; not a number where the loop drives none. Runs inside the tick."""
    if settings.on:
        row.v_asked, row.v_cmd, row.v_belt, row.belt_age = pacing.asked, pacing.command, pacing.reported, pacing.age
    else:
        row.v_asked = row.v_cmd = row.v_belt = row.belt_age = math.nan
