"""Heading and place of the bicycle from yaw gyro, speed and the fixes of a sensor of place.

Between fixes the heading is the yaw gyro's integral, less a bias, and the place that of the speed along the heading::

    psi_dot = omega_z cos(phi) + omega_y sin(phi) - bias        y_dot = v sin(psi)

so kicks, steering and leaning, which the gyro feels, do not disturb it. A fix shows how it was some time ago: it is
compared with what was expected of that time (a ring of the past), and the correction of then is carried on to now. A
critically damped filter of the third order shares the difference r over T, the time since the fix before:
with a = exp(-bandwidth T) the place moves by (1 - a^3) r, v psi by 1.5 (1 - a)^2 (1 + a) r / T and v bias by
-(1 - a)^3 r / T^2 (the fading-memory filter: Morrison, Introduction to Sequential Smoothing and Prediction, 1969).
Errors die as exp(-bandwidth t) whatever the rate of the fixes, and their delay moves nothing.

While a person holds the bicycle it points along the lane, and its place is that of the fixes.
"""

import math

import numpy as np
from numba import njit

from firmware_interface.devices.link import ROLE_PLACE
from firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from hil.loop.states import Symptom

PAST = 512  # samples that are remembered: half a second at 1 kHz
ENOUGH_FIXES = 5  # fixes in a row that agree, before a place is known, or known again
HELD_BANDWIDTH = 8.0  # rad/s, of the place in a person's hands
LEAST_SPEED = 0.5  # m/s, below which a place says nothing about the heading
MOST_HEADING = 0.35  # rad, by which a heading may be off that of the gyro
MOST_BIAS = 0.1  # rad/s, left of a yaw gyro: more and the fixes lie, or the gyro does
FROZEN_MOTION, FROZEN_SIGMAS = 0.02, 6.0  # m, and noises, that it has moved while the same number came again
DOUBTS_WEIGHT, MOST_DOUBTS = 0.05, 0.35  # of a fix in the share of outliers, and that share: the rest are no better
_LEAST_T, _MOST_T = 1e-3, 0.3  # s, between fixes
_LOST, _EDGE = int(Symptom.PLACE_LOST), int(Symptom.BELT_EDGE)

PLACE = np.dtype(
    [
        ("psi", "f8"),  # rad
        ("x", "f8"),  # m, rear contact
        ("y", "f8"),
        ("bias", "f8"),  # rad/s, left of the yaw gyro's
        ("psi_dot", "f8"),  # rad/s, of the last sample
        ("t", "f8"),  # s, of the last sample
        ("age", "f8"),  # s, since the last fix that was taken
        ("t_fix", "f8"),  # s, when that was
        ("y_meas", "f8"),  # m, what it said
        ("refused", "f8"),  # m, the last fix that was an outlier
        ("doubts", "f8"),  # share of the fixes that were outliers, of late
        ("agree", "i8"),  # fixes in a row that agree with each other
        ("known", "i8"),
        ("lost", "i8"),
        ("seq", "i8"),  # of the last fix heard
        ("y_mm", "i8"),  # and what it said
        ("moved", "f8"),  # m, by the gyro, since it said something else
        ("target", "f8"),  # m, place of what the sensor sees, at the last sample
        ("head", "i8"),  # where the next sample goes in the ring
        ("filled", "i8"),
        ("past_t", "f8", (PAST,)),
        ("past_target", "f8", (PAST,)),
        ("past_psi", "f8", (PAST,)),
        ("past_x", "f8", (PAST,)),
    ],
    align=True,
)


def new_place() -> np.void:
    """Place that nobody knows yet, a record of PLACE."""
    place = np.zeros(1, PLACE)[0]
    place["age"], place["y_meas"] = np.inf, np.nan
    return place


@njit(cache=True, nogil=True)
def track_place(o, p, links, e, sample, fresh, held, dt):
    """Bring the place ``p`` to the instant of this tick; returns `Symptom` bits. Runs inside the tick.

    Parameters
    ----------
    o, p : records of PLACE_SETTINGS and PLACE (changed in place)
    links : (P,) array of LINK_STATE
    e, sample : records of ESTIMATE and SAMPLE
    fresh : bool
        A usable sample came.
    held : bool
        A person holds the bicycle.
    dt : float
        Time since the last tick [s].
    """
    p.age += dt
    if fresh:
        move_on(o, p, e.t, e.v, e.psi_dot, e.phi, sample.theta_dot_meas, held)
    for port in range(links.size):
        fix = links[port].fix
        if links[port].role & ROLE_PLACE and fix.has and fix.seq != p.seq:
            p.seq = fix.seq
            if p.filled > 0:
                _take_fix(o, p, fix, e.v, held)
    if p.age > o.lost_after and p.known:
        p.known, p.agree = 0, 0
    lost = not p.known or abs(p.bias) > MOST_BIAS or p.doubts > MOST_DOUBTS
    p.lost = lost
    on = _LOST if lost and (held or not o.balances) else 0
    front = p.y + o.w * math.sin(p.psi)
    if not lost and max(abs(p.y), abs(front)) > o.half_belt:
        on |= _EDGE
    return on


@njit(cache=True, nogil=True)
def move_on(o, p, t, v, yaw_rate, phi, pitch_rate, held):
    """Move heading and place to the time ``t`` of a new sample. Runs inside the tick.

    Parameters
    ----------
    o, p : records of PLACE_SETTINGS and PLACE (changed in place)
    t : float
        s, device clock.
    v : float
        Forward speed [m/s].
    yaw_rate : float
        About the downward axis of the frame [rad/s].
    phi : float
        Lean [rad].
    pitch_rate : float
        About the axis to its right [rad/s].
    held : bool
    """
    h = t - p.t
    if not 0.0 < h < 0.2:
        h = o.dt
    p.t = t
    psi_dot = yaw_rate * math.cos(phi) + pitch_rate * math.sin(phi) - p.bias
    before = p.psi
    if held:
        p.psi = p.bias = p.x = 0.0
    else:
        p.psi += 0.5 * h * (psi_dot + p.psi_dot)
        p.x += h * v * math.cos(0.5 * (before + p.psi))
        p.y += h * v * math.sin(0.5 * (before + p.psi))
    p.psi_dot = psi_dot
    target = p.y + o.x * math.sin(p.psi) - o.z * math.sin(phi)
    p.moved += target - p.target
    p.target = target
    p.past_t[p.head], p.past_target[p.head], p.past_psi[p.head], p.past_x[p.head] = t, target, p.psi, p.x
    p.head = (p.head + 1) % PAST
    p.filled = min(p.filled + 1, PAST)


@njit(cache=True, nogil=True)
def _take_fix(o, p, fix, v, held):
    """Correct the past by a new fix, and what came of it since. Runs inside the tick."""
    if fix.y_mm != p.y_mm:
        p.y_mm, p.moved = fix.y_mm, 0.0
    elif abs(p.moved) > max(FROZEN_MOTION, 1e-3 * FROZEN_SIGMAS * fix.sigma_mm):
        return  # it has moved, by the gyro, and the sensor has not seen it
    t = p.t - 1e-6 * fix.age_us - o.delay
    newer, target, psi, x = _past_at(p, t)
    if newer < 0 or not fix.has & FIX_Y:
        return
    y = 1e-3 * fix.y_mm
    r = y - target
    T = min(max(t - p.t_fix, _LEAST_T), _MOST_T)
    if (p.known or not held) and abs(r) > o.gate:
        p.doubts += DOUBTS_WEIGHT * (1.0 - p.doubts)
        _doubt(o, p, y, r)
        return
    p.doubts -= DOUBTS_WEIGHT * p.doubts
    p.t_fix, p.y_meas = t, y
    p.agree += 1
    p.known = p.known or p.agree >= ENOUGH_FIXES
    if p.known:
        p.age = 0.0
    if held:
        r *= 1.0 - math.exp(-HELD_BANDWIDTH * T) if p.agree > 1 else 1.0
        shift_place(o, p, newer, t, v, r, 0.0, 0.0)
        return
    d_y, d_psi, d_bias = third_order_gains(o.bandwidth, T, v)
    turned = 0.0
    if fix.has & FIX_PSI and abs(1e-6 * fix.psi_urad - psi) < MOST_HEADING:
        turned = (1.0 - math.exp(-o.bandwidth * T)) * (1e-6 * fix.psi_urad - psi)
    if fix.has & FIX_X:
        p.x += (1.0 - math.exp(-o.bandwidth * T)) * (1e-3 * fix.x_mm - x)
    shift_place(o, p, newer, t, v, d_y * r, d_psi * r + turned, d_bias * r)


@njit(cache=True, nogil=True)
def third_order_gains(bandwidth, T, v):
    """Corrections of place [1], heading [rad/m] and bias [rad/(s m)] per metre of difference. Runs inside the tick."""
    a = math.exp(-bandwidth * T)
    v = max(v, LEAST_SPEED)
    return (
        1.0 - a * a * a,
        1.5 * (1.0 - a) * (1.0 - a) * (1.0 + a) / (T * v),
        -((1.0 - a) ** 3) / (T * T * v),
    )


@njit(cache=True, nogil=True)
def _doubt(o, p, y, r):
    """Take note of a fix beyond the gate; of a place that is lost, enough that agree find it again."""
    p.agree = p.agree + 1 if abs(y - p.refused) < o.gate and not p.known else 0
    p.refused = y
    if p.agree >= ENOUGH_FIXES:
        for i in range(p.filled):
            p.past_target[i] += r
        p.y += r
        p.target += r
        p.bias, p.known, p.age = 0.0, 1, 0.0


@njit(cache=True, nogil=True)
def _past_at(p, t):
    """Find how it was at ``t``: samples since then (-1: too long ago), target, heading and x. Runs inside the tick."""
    after = (p.head - 1) % PAST
    if t >= p.past_t[after]:
        return 0, p.past_target[after], p.past_psi[after], p.past_x[after]
    for newer in range(1, p.filled):
        at = (p.head - 1 - newer) % PAST
        if p.past_t[at] <= t:
            part = (t - p.past_t[at]) / (p.past_t[after] - p.past_t[at])
            return (
                newer,
                p.past_target[at] + part * (p.past_target[after] - p.past_target[at]),
                p.past_psi[at] + part * (p.past_psi[after] - p.past_psi[at]),
                p.past_x[at] + part * (p.past_x[after] - p.past_x[at]),
            )
        after = at
    return -1, 0.0, 0.0, 0.0


@njit(cache=True, nogil=True)
def shift_place(o, p, newer, t, v, d_y, d_psi, d_bias):
    """Correct place, heading and bias of the time ``t`` and carry that on to now. Runs inside the tick.

    Parameters
    ----------
    o, p : records of PLACE_SETTINGS and PLACE (changed in place)
    newer : int
        Samples in the ring that are newer than ``t``.
    t : float
        s
    v : float
        Forward speed [m/s].
    d_y, d_psi, d_bias : float
        Corrections [m, rad, rad/s].
    """
    for i in range(newer):
        at = (p.head - 1 - i) % PAST
        s = p.past_t[at] - t
        turned = d_psi - s * d_bias
        p.past_psi[at] += turned
        p.past_target[at] += d_y + v * s * (d_psi - 0.5 * s * d_bias) + o.x * turned
    s = p.t - t
    turned = d_psi - s * d_bias
    p.psi += turned
    moved = d_y + v * s * (d_psi - 0.5 * s * d_bias)
    p.y += moved
    p.target += moved + o.x * turned
    p.bias += d_bias
    if newer == 0:  # the fix is of the last sample itself
        at = (p.head - 1) % PAST
        p.past_psi[at] += turned
        p.past_target[at] += moved + o.x * turned


@njit(cache=True, nogil=True)
def tell_place(p, signals):
    """Tell the law heading and place; zero, the middle of the lane, where the place is lost. Runs inside the tick."""
    signals.psi = 0.0 if p.lost else p.psi
    signals.y_P = 0.0 if p.lost else p.y
