"""Limits of the node's guard in SI units, and the whole numbers that its request for a session brings instead."""

import math
from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.calibration import INT32_MAX, Calibration
from riderless.firmware_interface.node.layouts import GUARD

_ROLL, _YAW, _SIDE, _SPEED = 2.0**38, 2.0**32, 2.0**28, 2.0**32  # per rad, rad/s, m/s^2, m/s
_U16_MAX = 2**16 - 1


@dataclass(frozen=True, kw_only=True)
class GuardLimits:
    """Limits that the node keeps by itself, and the calibration by which it reads steer and lean.

    Parameters
    ----------
    steer, lean : float
        rad, to either side.
    torque_step : float
        N m, change of the torque from one instant to the next.
    rate_hz : int
        Instants per second.
    calibration : Calibration
    """

    steer: float
    lean: float
    torque_step: float
    rate_hz: int
    calibration: Calibration

    def as_record(self) -> np.void:
        """Make the record of type ``GUARD``, limits rounded up."""
        cal, guard = self.calibration, np.zeros(1, GUARD)[0]
        counts_per_rad = cal.steer_counts_per_turn * cal.steer_gear_ratio / (2.0 * math.pi)
        guard["steer_zero_counts"] = _whole(cal.steer_sign * cal.steer_offset * counts_per_rad)
        guard["steer_limit_counts"] = min(math.ceil(self.steer * counts_per_rad), INT32_MAX)
        guard["lean_limit_mrad"] = min(math.ceil(1e3 * self.lean), _U16_MAX)
        guard["torque_step_mNm"] = min(math.ceil(1e3 * self.torque_step), _U16_MAX)
        forward, right, down = range(3)
        for name, axis, lsb, offset, scale in (
            ("roll", forward, cal.gyro_lsb, cal.gyro_offset, _ROLL / self.rate_hz),
            ("yaw", down, cal.gyro_lsb, cal.gyro_offset, _YAW),
            ("side", right, cal.accel_lsb, cal.accel_offset, _SIDE),
        ):
            row = cal.mounting[axis]
            guard[name][:3] = [_whole(scale * lsb * part) for part in row]
            guard[name][3] = _whole(scale * float(np.dot(row, offset)))
        guard["speed_scale"] = _whole(_SPEED * 1e-3 * cal.wheel_sign * cal.wheel_radius)
        return guard

    def as_fields(self) -> tuple[int, ...]:
        """Whole numbers in the order of the request's frame."""
        record = self.as_record()
        return tuple(int(value) for name in GUARD.names or () for value in np.atleast_1d(record[name]))


def _whole(value: float) -> int:
    return round(min(max(value, -float(INT32_MAX)), float(INT32_MAX)))
