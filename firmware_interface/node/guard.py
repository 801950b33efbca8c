"""Guard of the node, compiled: limits that it keeps by itself, whatever the computer commands (rule 11).

Whole numbers throughout, as in ``firmware/node.c``, which has to make the same bits without floating point. What is
found at one sampling instant disables the drive at the next, and until another session is opened.

Lean by two ways. The gyro's roll rate is quick and drifts. What holds the bicycle up is slow and shaken: in a turn
``sin(lean) = (speed * yaw rate - force to the right) / g``. The first is led to the second, with the gains of the
straight line through the instants since the session was opened; in a ride, where pushes and weave shake the second,
with those of 16 s, a time constant of 4 s. The slope of the line is the gyro's drift.
"""

import numpy as np

from riderless.firmware_interface.calibration import INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_KIND_TORQUE,
    FAULT_ENCODER,
    FAULT_GUARD_CHANGE,
    FAULT_GUARD_LEAN,
    FAULT_GUARD_STEER,
    FAULT_GUARD_STILL,
)

STILL_TORQUE_mNm = 1500  # above it the encoder has to count
_PATIENCE = 10  # 1/s: of 100 ms without a count, or of torques cut
_LEAN_SECONDS = 16
_RADIAN = 1 << 30  # of the lean
_MRAD = 1073742
_LEAN_MAX = 1686629713  # pi/2
_G = 642689  # 2^-16 m/s^2
_SINE_OF_FORCE = 1671  # 2^-30 per 2^-16 m/s^2


@njit(cache=True, nogil=True)
def restart_guard(fw):
    """Take the limits of the request into force, none wider than the node's bounds, and begin to watch anew."""
    fw.hello.steer_limit_counts = _narrower(fw.guard.steer_limit_counts, fw.bounds.steer_limit_counts)
    fw.hello.lean_limit_mrad = _narrower(fw.guard.lean_limit_mrad, fw.bounds.lean_limit_mrad)
    fw.hello.torque_step_mNm = _narrower(fw.guard.torque_step_mNm, fw.bounds.torque_step_mNm)
    fw.lean = fw.lean_drift = fw.lean_samples = 0
    fw.still = fw.cut = 0
    fw.struck = 0


@njit(cache=True, nogil=True)
def forget_guard(fw):
    """Guard by the node's own bounds, as after power-up: lean is not known without the scales of a request."""
    guard = fw.guard
    guard.steer_zero_counts = guard.steer_limit_counts = guard.lean_limit_mrad = guard.torque_step_mNm = 0
    for i in range(4):
        guard.roll[i] = guard.yaw[i] = guard.side[i] = 0
    guard.speed_scale = 0
    restart_guard(fw)


@njit(cache=True, nogil=True)
def _narrower(wanted, bound):
    return wanted if 0 < wanted < bound else bound


@njit(cache=True, nogil=True)
def cut_torque(fw, wanted_mNm):
    """Torque [mN m] of this instant for the one wanted: it follows by at most the limit of its change."""
    step, last = np.int64(fw.hello.torque_step_mNm), np.int64(np.rint(1e3 * fw.value))
    cut = min(max(wanted_mNm, last - step), last + step)
    if cut != wanted_mNm:
        fw.cut += 1
        if _PATIENCE * fw.cut > fw.hello.rate_hz:
            fw.struck |= FAULT_GUARD_CHANGE
    elif fw.cut > 0:
        fw.cut -= 1
    return cut


@njit(cache=True, nogil=True)
def watch(fw):
    """Watch what ``fw.raw`` has measured at this instant; while the drive is enabled, note what is beyond its limit."""
    raw = fw.raw
    _estimate_lean(fw)
    value_mNm = np.int64(np.rint(1e3 * fw.value))
    pushing = fw.enabled and fw.kind == COMMAND_KIND_TORQUE and abs(value_mNm) > STILL_TORQUE_mNm
    fw.still = fw.still + 1 if pushing and raw.steer_counts == fw.last_steer else 0
    fw.last_steer = raw.steer_counts
    if not fw.enabled:
        return
    if fw.bounds.steer_limit_counts > 0:
        if raw.steer_counts == INT32_MIN:
            fw.struck |= FAULT_ENCODER
        elif abs(np.int64(raw.steer_counts) - fw.guard.steer_zero_counts) > fw.hello.steer_limit_counts:
            fw.struck |= FAULT_GUARD_STEER
        if _PATIENCE * fw.still >= fw.hello.rate_hz:
            fw.struck |= FAULT_GUARD_STILL
    if fw.bounds.lean_limit_mrad > 0 and abs(fw.lean) > _MRAD * np.int64(fw.hello.lean_limit_mrad):
        fw.struck |= FAULT_GUARD_LEAN


@njit(cache=True, nogil=True)
def _estimate_lean(fw):
    """Advance ``fw.lean`` [2^-30 rad] by an instant; a gyro at an end of its scale turns at least so fast."""
    raw, guard = fw.raw, fw.guard
    turned = _weighed(guard.roll, raw.gyro_counts) + fw.lean_drift
    fw.lean = _clamped(fw.lean + (turned >> 8), _LEAN_MAX)
    if not (_off_scale(raw.gyro_counts) or _off_scale(raw.accel_counts)) and INT32_MIN < raw.wheel_mrad_s < INT32_MAX:
        _lead_lean(fw)


@njit(cache=True, nogil=True)
def _lead_lean(fw):
    """Lead the lean of the gyro to the one that holds the bicycle up."""
    raw, guard = fw.raw, fw.guard
    yaw_rate = _clamped(_weighed(guard.yaw, raw.gyro_counts) >> 12, 1 << 26)  # 2^-20 rad/s
    force = _clamped(_weighed(guard.side, raw.accel_counts) >> 12, 1 << 24)  # 2^-16 m/s^2
    speed = _clamped(np.int64(raw.wheel_mrad_s) * guard.speed_scale >> 16, 1 << 21)  # 2^-16 m/s
    sine = _SINE_OF_FORCE * _clamped((speed * yaw_rate >> 20) - force, _G)
    angle = sine + _divided((sine * sine >> 30) * sine >> 30, 6)
    error = _clamped(angle - fw.lean, _RADIAN)
    settled = _LEAN_SECONDS * np.int64(fw.hello.rate_hz)
    fw.lean_samples = min(fw.lean_samples + 1, settled)
    n = settled if fw.enabled else fw.lean_samples
    share = _divided(error, n + 1)  # of the line through n instants: (4 n - 2) / (n (n + 1)) and 6 / (n (n + 1))
    fw.lean = _clamped(fw.lean + 4 * share - _divided(2 * share, n), _LEAN_MAX)
    if n > 1:
        fw.lean_drift = _clamped(fw.lean_drift + 6 * 256 * _divided(share, n), _RADIAN)


@njit(cache=True, nogil=True)
def _weighed(row, counts):
    """Sum of the three counts by the scales of ``row``, less what it is at rest."""
    return np.int64(row[0]) * counts[0] + np.int64(row[1]) * counts[1] + np.int64(row[2]) * counts[2] - np.int64(row[3])


@njit(cache=True, nogil=True)
def _off_scale(counts):
    off = False
    for axis in range(3):
        off |= not INT16_MIN < counts[axis] < INT16_MAX
    return off


@njit(cache=True, nogil=True)
def _clamped(value, most):
    return min(max(np.int64(value), -most), most)


@njit(cache=True, nogil=True)
def _divided(value, by):
    """Quotient towards zero, as C has it."""
    return value // by if value >= 0 else -(-value // by)
