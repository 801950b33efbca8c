"""Tracker of heading and place.

From yaw gyro, speed and the fixes of a sensor of place. Between fixes the heading is the yaw gyro's integral, less a
bias, and the place that of the speed along the heading::

    psi_dot = omega_z cos(phi) + (omega_y - pitch_bias) sin(phi) - bias        y_dot = v sin(psi)

so kicks, steering and leaning, which the gyro feels, do not disturb it. A fix shows how it was some time ago: it is
compared with what was expected of that time (a ring of the past), and the correction of then is carried on to now. A
critically damped filter of the third order shares the difference r over T, the time since the fix before:
with a = exp(-bandwidth T) the place moves by (1 - a^3) r, v psi by 1.5 (1 - a)^2 (1 + a) r / T and v bias by
-(1 - a)^3 r / T^2 (the fading-memory filter: Morrison, Introduction to Sequential Smoothing and Prediction, 1969).
Errors die as exp(-bandwidth t) whatever the rate of the fixes, and their delay moves nothing.

A sensor that tells x as well is compared in the plane: r is the difference across the heading of then, and that along
it corrects the way. So circles are followed like lanes, and a place that stands still is found at once. Not so on a
belt, which moves under it: there a number that comes again is held against the way of the gyro alone since it came
first, for a heading that such fixes correct soon stands still as well.

A sensor that drifts, has another scale or sign, or jumps by less than the gate takes the place with it, and the
bicycle. So where y alone counts, a second filter of the same kind believes the fixes slowly: what they then have
against gyro and speed is noticed while the wheels are on the belt. After the release it begins fast, for it must learn
how the bicycle was let go: a heading that is off looks like a drift.

Fixes that come again after a pause may be older than they tell, from then on: a driver that stalled may hand over what
it had stored. At an edge that counts, and so does what the fixes lately had against the place (`farthest_wheel`).

While a person holds the bicycle it points along the lane, its place is that of the fixes, and it does not pitch: what
the pitch gyro reads is its bias. Left in, that would turn the heading with every lean, by bias times lean: a part of
the loop that no theory has.
"""

import math

import numpy as np

from riderless.firmware_interface.devices.link import ROLE_PLACE
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import FIX_PSI, FIX_X, FIX_Y
from riderless.hil.loop.states import Symptom

PAST = 512  # samples that are remembered: half a second at 1 kHz
ENOUGH_FIXES = 5  # fixes in a row that agree, before a place is known, or known again
HELD_BANDWIDTH = 8.0  # rad/s, of the place in a person's hands
LEAST_SPEED = 0.5  # m/s, below which a place says nothing about the heading
MOST_HEADING = 0.35  # rad, by which a heading may be off that of the gyro
MOST_BIAS = 0.1  # rad/s, left of a yaw gyro: more and the fixes lie, or the gyro does
FROZEN_MOTION, FROZEN_SIGMAS = 0.02, 6.0  # m, and noises, that it has moved while the same number came again
FROZEN_HEADING = 0.005  # rad, by which the heading may have been off when that number came first,
FROZEN_TIME = 1.0  # s, and for how long at most that counts
DOUBTS_WEIGHT, MOST_DOUBTS = 0.05, 0.35  # of a fix in the share of outliers, and that share: the rest are no better
ASTRAY_TIME, ASTRAY_TIMES = 0.5, 2.0  # s, over which differences are averaged; how often the mean counts at an edge
LATE_TIMES = 2.0  # how often what fixes may be late counts at an edge: while the torque goes down a wheel goes on
PAUSE_WEIGHT, PAUSE_TIMES = 0.05, 4.0  # of a pause in the usual one; so many times the usual is a sensor that stalled
SLOW_BANDWIDTH, SLOW_MEMORY = 0.3, 4.0  # rad/s, of the place that believes fixes slowly; that times s since it is free
MOST_SLOW_ASTRAY, MOST_SLOW_SIGMAS = 0.05, 4.0  # m, and noises of a fix, by which fixes may be off from that place
PITCH_TIME = 2.0  # s, at most, over which the pitch gyro's bias is averaged in a person's hands
_LEAST_T, _MOST_T = 1e-3, 0.3  # s, between fixes
_MOST_PAUSE = 1.0  # s
_FARTHEST_REFUSED = 3.0  # m, of the way between two fixes that agree
_LOST, _EDGE, _OFF = int(Symptom.PLACE_LOST), int(Symptom.BELT_EDGE), int(Symptom.OFF_BELT)

PLACE = np.dtype(
    [
        ("psi", "f8"),  # rad
        ("x", "f8"),  # m, rear contact
        ("y", "f8"),
        ("bias", "f8"),  # rad/s, left of the yaw gyro's
        ("psi_dot", "f8"),  # rad/s, of the last sample
        ("pitch_bias", "f8"),  # rad/s, of the pitch gyro, mean of ...
        ("rested", "f8"),  # s, in a person's hands
        ("t", "f8"),  # s, of the last sample
        ("age", "f8"),  # s, since the last fix that was taken
        ("t_fix", "f8"),  # s, when that was
        ("y_meas", "f8"),  # m, what it said
        ("refused", "f8"),  # m, the last fix that was an outlier: y,
        ("refused_x", "f8"),  # and x
        ("doubts", "f8"),  # share of the fixes that were outliers, of late
        ("astray", "f8"),  # m, mean difference of the fixes from what was expected, of late
        ("slow_y", "f8"),  # m, what fixes corrected this place by, less what they would if they were believed slowly,
        ("slow_psi", "f8"),  # rad, likewise the heading,
        ("slow_bias", "f8"),  # rad/s, and the bias
        ("slow_astray", "f8"),  # m, mean difference of the fixes from the place that believes them slowly, of late
        ("free", "f8"),  # s, since nobody holds it, or the place was found again
        ("contrary", "i8"),  # the fixes move sideways as gyro and speed say the bicycle does not
        ("t_heard", "f8"),  # s, when the last fix was made that was heard, by what it tells
        ("pause", "f8"),  # s, usual time between two of them
        ("late", "f8"),  # s, longest pause since the place is known: by so much fixes may be older than they tell
        ("agree", "i8"),  # fixes in a row that agree with each other
        ("known", "i8"),
        ("lost", "i8"),
        ("seq", "i8"),  # of the last fix heard
        ("x_mm", "i8"),  # and what it said
        ("y_mm", "i8"),
        ("plane", "i8"),  # it tells x too
        ("moved", "f8"),  # m, by the gyro alone, since it said something else, which was so long ago:
        ("same", "f8"),  # s
        ("corrected", "f8"),  # rad, what fixes made of the heading since then,
        ("corrected_bias", "f8"),  # rad/s, and of the bias
        ("target", "f8"),  # m, place of what the sensor sees, at the last sample: y,
        ("along", "f8"),  # and x
        ("head", "i8"),  # where the next sample goes in the ring
        ("filled", "i8"),
        ("past_t", "f8", (PAST,)),
        ("past_target", "f8", (PAST,)),
        ("past_psi", "f8", (PAST,)),
        ("past_along", "f8", (PAST,)),
    ],
    align=True,
)


def new_place() -> np.void:
    """Place that nobody knows yet, a record of PLACE."""
    place = np.zeros(1, PLACE)[0]
    place["age"], place["y_meas"] = np.inf, np.nan
    return place


@njit(cache=True, nogil=True)
def track_place(settings, place, links, estimate, sample, fresh, held, dt):
    """Bring the place to the instant of this tick; returns `Symptom` bits. Runs inside the tick.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE (changed in place)
    links : (P,) array of LINK_STATE
    estimate, sample : records of ESTIMATE and SAMPLE
    fresh : bool
        A usable sample came.
    held : bool
        A person holds the bicycle.
    dt : float
        Time since the last tick [s].
    """
    place.age += dt
    if fresh:
        move_on(settings, place, estimate.t, estimate.v, estimate.psi_dot, estimate.phi, sample.theta_dot_meas, held)
    for port in range(links.size):
        fix = links[port].fix
        if links[port].role & ROLE_PLACE and fix.has and fix.seq != place.seq:
            place.seq = fix.seq
            if place.filled > 0:
                _take_fix(settings, place, fix, estimate.v, held)
    if place.age > settings.lost_after and place.known:
        place.known, place.agree = 0, 0
    lost = not place.known or abs(place.bias) > MOST_BIAS or place.doubts > MOST_DOUBTS or place.contrary != 0
    place.lost = lost
    on = _LOST if lost and (held or not settings.balances) else 0
    if not lost:
        on |= _EDGE if farthest_wheel(settings, place, estimate.v) > settings.inner_edge else 0
        on |= _OFF if _reach_within(settings, place, estimate.v, settings.torque_gone) > settings.half_belt else 0
    return on


@njit(cache=True, nogil=True)
def farthest_wheel(settings, place, v):
    """Find how far from the middle either wheel may be [m]. Runs inside the tick.

    Fixes that come again after a pause may be that much older than they tell; then a wheel is already where it goes
    in that time, and it goes on while the torque is ramped down: twice that time counts. What the fixes lately had
    against the place, twice, comes on top.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE
    v : float
        Forward speed [m/s].
    """
    return _reach_within(settings, place, v, LATE_TIMES * place.late) + ASTRAY_TIMES * abs(place.astray)


@njit(cache=True, nogil=True)
def _reach_within(settings, place, v, ahead):
    """Find how far from the middle either wheel is now or `ahead` s later, as it moves now [m]. Runs inside the tick.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE
    v : float
        Forward speed [m/s].
    ahead : float
        s
    """
    rear, sideways = place.y, v * math.sin(place.psi)
    front = rear + settings.w * math.sin(place.psi)
    front_sideways = sideways + settings.w * math.cos(place.psi) * place.psi_dot
    now = max(abs(rear), abs(front))
    return max(now, abs(rear + ahead * sideways), abs(front + ahead * front_sideways))


@njit(cache=True, nogil=True)
def _time_fixes(place, t):
    """Keep the usual time between fixes, and the longest pause while the place is known. Runs inside the tick."""
    pause = min(t - place.t_heard, _MOST_PAUSE)
    place.t_heard = t
    if not place.known:
        place.late = 0.0
    elif pause > PAUSE_TIMES * place.pause:
        place.late = max(place.late, pause - place.pause)
    place.pause += PAUSE_WEIGHT * (pause - place.pause)


@njit(cache=True, nogil=True)
def move_on(settings, place, t, v, yaw_rate, phi, pitch_rate, held):
    """Move heading and place to the time ``t`` of a new sample. Runs inside the tick.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE (changed in place)
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
    h = t - place.t
    if not 0.0 < h < 0.2:
        h = settings.dt
    place.t = t
    if held:
        place.rested = min(place.rested + h, PITCH_TIME)
        place.pitch_bias += h / place.rested * (min(max(pitch_rate, -MOST_BIAS), MOST_BIAS) - place.pitch_bias)
    psi_dot = yaw_rate * math.cos(phi) + (pitch_rate - place.pitch_bias) * math.sin(phi) - place.bias
    before = place.psi
    place.same = min(place.same + h, FROZEN_TIME)
    place.corrected -= h * place.corrected_bias
    if held:
        place.psi = place.bias = place.corrected = place.corrected_bias = 0.0
        place.x = place.x + h * v if place.plane else 0.0
    else:
        place.psi += 0.5 * h * (psi_dot + place.psi_dot)
        place.x += h * v * math.cos(0.5 * (before + place.psi))
        place.y += h * v * math.sin(0.5 * (before + place.psi))
    place.psi_dot = psi_dot
    target = place.y + settings.x * math.sin(place.psi) - settings.z * math.sin(phi) * math.cos(place.psi)
    along = place.x + settings.x * math.cos(place.psi) + settings.z * math.sin(phi) * math.sin(place.psi)
    by_gyro = target - place.target + h * v * (math.sin(place.psi - place.corrected) - math.sin(place.psi))
    place.moved += along - place.along if place.plane else by_gyro
    place.target, place.along = target, along
    head = place.head
    place.past_t[head], place.past_target[head] = t, target
    place.past_psi[head], place.past_along[head] = place.psi, along
    place.head = (head + 1) % PAST
    place.filled = min(place.filled + 1, PAST)


@njit(cache=True, nogil=True)
def _take_fix(settings, place, fix, v, held):
    """Correct the past by a new fix, and what came of it since. Runs inside the tick."""
    t = place.t - 1e-6 * fix.age_us - settings.delay
    _time_fixes(place, t)
    if fix.y_mm != place.y_mm or (place.plane and fix.x_mm != place.x_mm):
        place.x_mm, place.y_mm, place.moved = fix.x_mm, fix.y_mm, 0.0
        place.same = place.corrected = place.corrected_bias = 0.0
    elif abs(place.moved) > max(FROZEN_MOTION, 1e-3 * FROZEN_SIGMAS * fix.sigma_mm) + v * FROZEN_HEADING * place.same:
        return  # it has moved, by the gyro or the wheel, and the sensor has not seen it
    newer, target, psi, along = _past_at(place, t)
    if newer < 0 or not fix.has & FIX_Y:
        return
    place.plane = 1 if fix.has & FIX_X and math.isinf(settings.half_belt) else 0
    y, r, r_along, heading = 1e-3 * fix.y_mm, 1e-3 * fix.y_mm - target, 0.0, 0.0
    if place.plane:
        d_x, d_y, heading = 1e-3 * fix.x_mm - along, r, psi
        r, r_along = d_y * math.cos(psi) - d_x * math.sin(psi), d_x * math.cos(psi) + d_y * math.sin(psi)
    since = t - place.t_fix
    T = min(max(since, _LEAST_T), _MOST_T)
    if (place.known or not held) and math.hypot(r, r_along) > settings.gate:
        place.doubts += DOUBTS_WEIGHT * (1.0 - place.doubts)
        _doubt(settings, place, y, 1e-3 * fix.x_mm, r, r_along, heading)
        return
    place.doubts -= DOUBTS_WEIGHT * place.doubts
    place.astray += (1.0 - math.exp(-T / ASTRAY_TIME)) * ((0.0 if held else r) - place.astray)
    place.t_fix, place.y_meas = t, y
    place.agree += 1
    place.known = place.known or place.agree >= ENOUGH_FIXES
    if place.known:
        place.age = 0.0
    if held:
        _forget_slowly(place)
        part = 1.0 - math.exp(-HELD_BANDWIDTH * T) if place.agree > 1 else 1.0
        shift_place(settings, place, newer, t, v, part * r, 0.0, 0.0, part * r_along, heading)
        return
    d_y, d_psi, d_bias = third_order_gains(settings.bandwidth, T, v)
    turned, part = 0.0, 1.0 - math.exp(-settings.bandwidth * T)
    if fix.has & FIX_PSI:
        off = 1e-6 * fix.psi_urad - psi
        off -= 2.0 * math.pi * np.rint(off / (2.0 * math.pi))
        turned = part * off if abs(off) < MOST_HEADING else 0.0
    shift_place(settings, place, newer, t, v, d_y * r, d_psi * r + turned, d_bias * r, part * r_along, heading)
    if place.plane == 0:
        _compare_slowly(settings, place, v, T, since, r, d_y * r, d_psi * r + turned, d_bias * r, 1e-3 * fix.sigma_mm)


@njit(cache=True, nogil=True)
def _forget_slowly(place):
    """Begin the comparison with gyro and speed anew. Runs inside the tick."""
    place.slow_y = place.slow_psi = place.slow_bias = place.slow_astray = place.free = 0.0
    place.contrary = 0


@njit(cache=True, nogil=True)
def _compare_slowly(settings, place, v, T, since, r, d_y, d_psi, d_bias, sigma):
    """Hold sideways motion by gyro and speed against the fixes. Runs inside the tick.

    A second filter believes the same fixes slowly. What it has other than the tracker moves as a place does, so only
    that is kept: each takes its own corrections of the difference r.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE (changed in place)
    v : float
        Forward speed [m/s].
    T, since : float
        Time from the fix before to this one, within bounds and as it is [s].
    r : float
        What this fix had against the place [m].
    d_y, d_psi, d_bias : float
        What the tracker made of it [m, rad, rad/s].
    sigma : float
        Standard deviation of a fix [m].
    """
    place.slow_y += since * v * (place.slow_psi - 0.5 * since * place.slow_bias)
    place.slow_psi -= since * place.slow_bias
    slow_r = r + place.slow_y
    place.free += T
    bandwidth = max(SLOW_BANDWIDTH, min(settings.bandwidth, SLOW_MEMORY / place.free))
    s_y, s_psi, s_bias = third_order_gains(bandwidth, T, v)
    place.slow_y += d_y - s_y * slow_r
    place.slow_psi += d_psi - s_psi * slow_r
    place.slow_bias += d_bias - s_bias * slow_r
    place.slow_astray += (1.0 - math.exp(-T / ASTRAY_TIME)) * (slow_r - place.slow_astray)
    if abs(place.slow_astray) > max(MOST_SLOW_ASTRAY, MOST_SLOW_SIGMAS * sigma):
        place.contrary = 1


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
def _doubt(settings, place, y, x, r, r_along, heading):
    """Take note of a fix beyond the gate; of a place that is lost, enough that agree find it again."""
    same = abs(y - place.refused) < settings.gate and (place.plane == 0 or abs(x - place.refused_x) < _FARTHEST_REFUSED)
    place.agree = place.agree + 1 if same and not place.known else 0
    place.refused, place.refused_x = y, x
    if place.agree >= ENOUGH_FIXES:
        d_x = r_along * math.cos(heading) - r * math.sin(heading)
        d_y = r_along * math.sin(heading) + r * math.cos(heading) if place.plane else r
        for i in range(place.filled):
            place.past_target[i] += d_y
            place.past_along[i] += d_x
        place.y += d_y
        place.target += d_y
        place.x += d_x
        place.along += d_x
        place.bias, place.known, place.age = 0.0, 1, 0.0
        _forget_slowly(place)


@njit(cache=True, nogil=True)
def _past_at(place, t):
    """Find how it was at ``t``: samples since then (-1: too long ago), target, heading, way. Runs inside the tick."""
    after = (place.head - 1) % PAST
    if t >= place.past_t[after]:
        return 0, place.past_target[after], place.past_psi[after], place.past_along[after]
    for newer in range(1, place.filled):
        at = (place.head - 1 - newer) % PAST
        if place.past_t[at] <= t:
            part = (t - place.past_t[at]) / (place.past_t[after] - place.past_t[at])
            return (
                newer,
                place.past_target[at] + part * (place.past_target[after] - place.past_target[at]),
                place.past_psi[at] + part * (place.past_psi[after] - place.past_psi[at]),
                place.past_along[at] + part * (place.past_along[after] - place.past_along[at]),
            )
        after = at
    return -1, 0.0, 0.0, 0.0


@njit(cache=True, nogil=True)
def shift_place(settings, place, newer, t, v, d_y, d_psi, d_bias, d_along=0.0, heading=0.0):
    """Correct place, heading and bias of the time ``t`` and carry that on to now. Runs inside the tick.

    Parameters
    ----------
    settings, place : records of PLACE_SETTINGS and PLACE (changed in place)
    newer : int
        Samples in the ring that are newer than ``t``.
    t : float
        s
    v : float
        Forward speed [m/s].
    d_y, d_psi, d_bias : float
        Corrections of the place across the heading, of the heading and of the bias [m, rad, rad/s].
    d_along : float
        Of the place along the heading [m].
    heading : float
        Of that time [rad]; 0 where the place is that off a lane.
    """
    c, d = math.cos(heading), math.sin(heading)
    for i in range(newer):
        at = (place.head - 1 - i) % PAST
        s = place.past_t[at] - t
        turned = d_psi - s * d_bias
        across = d_y + v * s * (d_psi - 0.5 * s * d_bias) + settings.x * turned
        place.past_psi[at] += turned
        place.past_target[at] += across * c + d_along * d
        place.past_along[at] += d_along * c - across * d
    s = place.t - t
    turned = d_psi - s * d_bias
    across = d_y + v * s * (d_psi - 0.5 * s * d_bias)
    place.psi += turned
    place.corrected += turned
    place.corrected_bias += d_bias
    place.y += across * c + d_along * d
    place.x += d_along * c - across * d
    across += settings.x * turned
    place.target += across * c + d_along * d
    place.along += d_along * c - across * d
    place.bias += d_bias
    if newer == 0:  # the fix is of the last sample itself
        at = (place.head - 1) % PAST
        place.past_psi[at] += turned
        place.past_target[at] += across * c + d_along * d
        place.past_along[at] += d_along * c - across * d


@njit(cache=True, nogil=True)
def tell_place(place, signals):
    """Tell the law heading and place; zero, the middle of the lane, where the place is lost. Runs inside the tick."""
    signals.psi = 0.0 if place.lost else place.psi
    signals.y_P = 0.0 if place.lost else place.y


@njit(cache=True, nogil=True)
def fill_place(settings, place, row):
    """Fill heading and place of one row of the log; not a number where no place is sensed. Runs inside the tick."""
    if settings.on:
        row.psi_est, row.x_est, row.y_est = place.psi, place.x, place.y
        row.y_meas, row.place_age = place.y_meas, place.age
    else:
        row.psi_est = row.x_est = row.y_est = row.y_meas = row.place_age = math.nan
