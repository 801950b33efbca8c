"""Plausibility monitor of sensors, drive and clocks.

It detects within the tick the faults that the device does not report. Each symptom rests on one relation that holds
whatever pushes the bicycle:

* a gyro's or accelerometer's last digit never rests: the same counts for long are a dead sensor;
* a reading off its scale is an impact: several in a row, or too many of half a second, are a broken sensor;
* a steer angle or a rate cannot change by more than torque and inertia let it within one sample;
* rolling without slip ties yaw rate to steer, ``psi_dot = (v delta + c delta_dot) cos(lam) / w``: the two
  steer angles, by encoder and by yaw gyro, agree;
* gravity ties lean to the lateral force (the innovation of the observer), so a roll gyro that lies is
  found out by the accelerometer, and the other way round;
* a bias that the observer has learnt since the start, and the mean lateral force, stay small
(`riderless.hil.loop.consistency`); * the torque the drive reports follows the commands through its lag; of a drive that
obeys a rate or an angle the
  steer does, and its torque keeps its limit (`riderless.hil.loop.drives.following`);
* the device's clock advances one period with each sequence number;
* by the computer's clock, samples come neither more seldom nor more often than promised.

Errors are smoothed over `SMOOTHING_TIME`, so a kick, which shakes the accelerometer, is no alarm; the limits and
their reasons stand in `riderless.hil.loop.limits`.
"""

import math

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.hil.loop.consistency import look_at_drift
from riderless.hil.loop.drives.following import look_at_steer
from riderless.hil.loop.states import Symptom

SMOOTHING_TIME = 0.1  # s, time constant of the errors
RATE_TIME = 0.5  # s, time constant of the rates of samples and broken frames
_SLIP_SAMPLES = 3  # over which a slip of the encoder may be spread and still be seen as a jump
_RATE_SAMPLES = 2  # over which the rate before is taken
_SLIP_SHARE = 1.5  # times the limit of a jump that so many samples may stray from the rate before them
_SLOW = 1.0  # m/s, below it yaw says little about steer
_NEARLY_WRAPPED = 0xF0000000  # us, of a clock of 32 bits

_AXES = 3
_CHANNELS = 2 * _AXES  # gyros, then accelerometers
_STUCK = int(Symptom.SENSOR_STUCK)
_RANGE = int(Symptom.SENSOR_RANGE)
_JUMP = int(Symptom.SENSOR_JUMP)
_DISAGREE = int(Symptom.SENSORS_DISAGREE)
_DISOBEYS = int(Symptom.DRIVE_DISOBEYS)
_CLOCK = int(Symptom.CLOCK_STEP)
_RESTARTED = int(Symptom.DEVICE_RESTARTED)
_RATE = int(Symptom.RATE_LOW)
_NOISY = int(Symptom.LINK_NOISY)
_OFTEN = int(Symptom.RATE_HIGH)

MONITOR = np.dtype(
    [
        ("counts", "i8", (_CHANNELS,)),  # last of three gyros and three accelerometers
        ("resting", "f8", (_CHANNELS,)),  # s, without a change
        ("invalid", "f8"),  # s, of samples in a row that are no good
        ("unusable", "f8"),  # share of such samples, smoothed
        ("seq", "i8"),  # of the last sample
        ("t_us", "i8"),
        ("delta", "f8"),  # rad, steer angle of the last sample and of the one before
        ("delta_before", "f8"),
        ("delta_earlier", "f8", (3,)),  # and of the three before that
        ("phi_dot", "f8"),  # rad/s, of the last sample
        ("psi_dot", "f8"),
        ("seen", "i8"),  # samples in a row without a gap
        ("lean_error", "f8"),  # rad, smoothed
        ("steer_error", "f8"),  # rad, smoothed
        ("torque_error", "f8"),  # N m, smoothed
        ("strayed", "f8"),  # rad, what the steer is short of its commands, of a drive that obeys a rate or angle
        ("delta_followed", "f8"),  # rad, steer angle when that was asked last
        ("steered_for", "f8"),  # s, for which such a drive has been under control
        ("gyro_bias", "f8"),  # rad/s, learnt until the machine was RUNNING
        ("yaw_bias", "f8"),
        ("yaw_gap", "f8"),  # rad/s, yaw rate by the gyro less that of rolling, since it is RUNNING
        ("side_force", "f8"),  # m/s^2, mean since it is RUNNING
        ("rate", "f8"),  # 1/s, samples
        ("broken", "f8"),  # 1/s, frames
        ("since", "f8"),  # s, since the first sample
    ],
    align=True,
)


def new_monitor() -> np.void:
    """Make a monitor without history, a record of MONITOR."""
    return np.zeros(1, MONITOR)[0]


@njit(cache=True, nogil=True)
def judge_plausibility(limits, observer, m, raw, sample, e, samples, broken, running, dt):
    """Test this tick's readings for plausibility; returns `Symptom` bits. Runs inside the tick.

    Parameters
    ----------
    limits, observer : records of LIMITS and OBSERVER (its nominal dt, w and cos_lam).
    m : record of MONITOR, changed in place.
    raw, sample, e : records of RAW, SAMPLE and ESTIMATE.
    samples, broken : int
        Samples and broken frames since the last tick.
    running : bool
        The controller's commands are obeyed.
    dt : float
        Time since the last tick [s]; errors are smoothed over the time since the last sample.
    """
    on = 0
    if samples > 0 and m.since > 0.0:
        on |= _look_at_clock(observer.dt, m, raw)
        on |= _look_at_counts(limits, m, raw, sample, dt, on == 0)
        if sample.valid and dt <= limits.stale:  # over a gap the observer has lost the thread, not the sensors
            elapsed = _sample_time(limits, observer.dt, m, raw, dt)
            on |= _look_at_motion(limits, observer, m, raw, sample, e, running, elapsed)
    if samples > 0:
        _remember(m, raw, sample, on & _JUMP)
    if m.since == 0.0 and samples > 0:  # what had piled up before the first tick came at no rate
        m.since, m.rate = dt, 1.0 / observer.dt
    elif m.since > 0.0:
        m.since += dt
        part = min(dt / RATE_TIME, 1.0)
        m.rate += part * (samples / dt - m.rate) if dt > 0.0 else 0.0
        m.broken += part * (broken / dt - m.broken) if dt > 0.0 else 0.0
    if m.since > 2.0 * RATE_TIME and m.rate * observer.dt < limits.seldom:
        on |= _RATE
    if m.since > 2.0 * RATE_TIME and m.broken * observer.dt > limits.broken:
        on |= _NOISY
    if m.rate * observer.dt > limits.often:
        on |= _OFTEN
    return on


@njit(cache=True, nogil=True)
def _sample_time(limits, period, m, raw, dt):
    """Time that this sample tells of [s]: since the last one, also where several come at once. Runs inside the tick.

    An adapter that hands over three samples at a time would otherwise make every error three times as slow.
    """
    steps = (np.int64(raw.seq) - m.seq) & 0xFFFF
    return min(steps * period, limits.stale) if 0 < steps < 0x8000 else dt


@njit(cache=True, nogil=True)
def _look_at_clock(period, m, raw):
    """Compare the device's clock with its sequence numbers. Runs inside the tick."""
    steps = (np.int64(raw.seq) - m.seq) & 0xFFFF
    if steps >= 0x8000:
        return _RESTARTED
    elapsed = np.int64(raw.t_us) - m.t_us
    if elapsed < 0 and m.t_us > _NEARLY_WRAPPED:
        elapsed += 1 << 32
    wanted = 1e6 * period * steps
    return _CLOCK if abs(elapsed - wanted) > 0.5 * wanted else 0


@njit(cache=True, nogil=True)
def _look_at_counts(limits, m, raw, sample, dt, timely):
    """Detect channels whose last digit no longer moves, and readings off their scale. Runs inside the tick.

    Not ``timely`` is a sample that is old or of another clock: that it is no good says nothing of its readings.
    """
    on = 0
    for channel in range(_CHANNELS):
        counts = raw.gyro_counts[channel] if channel < _AXES else raw.accel_counts[channel - _AXES]
        m.resting[channel] = m.resting[channel] + dt if counts == m.counts[channel] else 0.0
        on |= _STUCK if m.resting[channel] > limits.stuck else 0
    m.invalid = 0.0 if sample.valid else m.invalid + dt
    m.unusable += min(dt / RATE_TIME, 1.0) * ((1.0 if timely and not sample.valid else 0.0) - m.unusable)
    return on | (_RANGE if m.invalid > limits.invalid or m.unusable > 1.0 - limits.seldom else 0)


@njit(cache=True, nogil=True)
def _look_at_motion(limits, observer, m, raw, sample, e, running, dt):
    """Detect jumps, contradictions between sensors, and a drive that disobeys. Runs inside the tick."""
    on, follows = 0, ((np.int64(raw.seq) - m.seq) & 0xFFFF) == 1
    if follows and m.seen >= 2:  # over a gap even a slow steer goes far
        turned = sample.delta_meas - 2.0 * m.delta + m.delta_before
        rolled, yawed = sample.phi_dot_meas - m.phi_dot, sample.psi_dot_meas - m.psi_dot
        slipped = 0.0
        if m.seen >= _SLIP_SAMPLES + _RATE_SAMPLES:
            before, earlier = m.delta_earlier[0], m.delta_earlier[_RATE_SAMPLES]
            slipped = sample.delta_meas - before - _SLIP_SAMPLES * (before - earlier) / _RATE_SAMPLES
        on |= _JUMP if abs(turned) > limits.steer_jump or abs(slipped) > _SLIP_SHARE * limits.steer_jump else 0
        on |= _JUMP if max(abs(rolled), abs(yawed)) > limits.gyro_jump else 0
    part = 1.0 - math.exp(-dt / SMOOTHING_TIME)
    steer_error = e.yaw_error * observer.w / (observer.cos_lam * max(e.v, _SLOW))
    m.lean_error += part * (e.lean_error - m.lean_error)
    m.steer_error += part * (steer_error - m.steer_error)
    if limits.kind == COMMAND_KIND_TORQUE:
        m.torque_error += part * ((sample.T_meas - e.T if running else 0.0) - m.torque_error)
        on |= _DISOBEYS if abs(m.torque_error) > limits.torque_error else 0
    elif look_at_steer(limits, m, sample, e, running, dt, part):
        on |= _DISOBEYS
    on |= _DISAGREE if abs(m.lean_error) > limits.lean_error or abs(m.steer_error) > limits.steer_error else 0
    return on | look_at_drift(limits, m, sample, e, running, dt)


@njit(cache=True, nogil=True)
def _remember(m, raw, sample, jumped):
    """Keep this sample for the next; a jump is told once, and is no slip afterwards. Runs inside the tick."""
    follows = ((np.int64(raw.seq) - m.seq) & 0xFFFF) == 1
    for axis in range(_AXES):
        m.counts[axis] = raw.gyro_counts[axis]
        m.counts[_AXES + axis] = raw.accel_counts[axis]
    m.seen = m.seen + 1 if follows and sample.valid else 0
    m.seq = raw.seq
    m.t_us = raw.t_us
    m.delta_earlier[2] = m.delta_earlier[1]
    m.delta_earlier[1] = m.delta_earlier[0]
    m.delta_earlier[0] = m.delta_before
    m.delta_before = m.delta
    m.delta = sample.delta_meas
    if jumped:
        m.delta_earlier[:] = sample.delta_meas
    m.phi_dot = sample.phi_dot_meas
    m.psi_dot = sample.psi_dot_meas
