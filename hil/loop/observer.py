"""Kinematic observer of the bicycle's state.

From gyro, accelerometer, steer encoder and wheel speed. It uses kinematics, not the bicycle's masses, so a wrong model
parameter cannot hide in the estimate whose eigenvalues are to be judged:

* ``phi_dot`` is the roll gyro less its estimated bias.
* ``phi`` integrates ``phi_dot`` and is drawn, with time constant ``1 / lean_bandwidth``, towards the
  lean that the accelerometer shows once the lateral acceleration is taken off. On the rear frame at
  (x_imu, z_imu) the lateral specific force is
  ``f_y = v psi_dot + x_imu psi_ddot - z_imu phi_ddot - g phi``, hence
  ``phi = (v psi_dot + x_imu psi_ddot - z_imu phi_ddot - f_y) / g`` with the accelerations from
  differences of the gyros. The same innovation corrects the roll gyro's bias, so lean cannot drift.
* the yaw gyro's bias is drawn towards the yaw rate of rolling without slip,
  ``psi_dot = (v delta + c delta_dot) cos(lam) / w``.
* ``delta``, ``delta_dot``: a critically damped tracking filter on the encoder.
* ``T``: the drive's torque, a first-order lag behind the commands sent. Of a drive that obeys a rate or an angle it is
  the steer rate or angle that its lag lets expect (`riderless.hil.loop.drives.following`), and its torque enters
  nowhere.

Because the relations hold whatever pushes the bicycle, a kick does not disturb the estimate: its
errors decay by themselves (apart from the steer filter's lag), and the closed loop has the
controller's eigenvalues beside the observer's. Assumed: small angles, wheels that do not slip,
and wheelbase, trail, steer axis tilt and IMU position known. While the bicycle is held (before RUNNING)
the slow gains are ``held_factor`` times faster, so that the biases are known at release.
"""

import math
from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.consistency import follow_turn, follow_weight
from riderless.hil.loop.drives.following import following_map
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle

ESTIMATE = np.dtype(
    [
        ("phi", "f8"),
        ("delta", "f8"),
        ("phi_dot", "f8"),
        ("delta_dot", "f8"),
        ("T", "f8"),  # N m, the drive's torque now; rad/s or rad, expected of a drive that obeys such a command
        ("u_prev", "f8"),  # the command it follows now, in the same unit
        ("v", "f8"),
        ("gyro_bias", "f8"),
        ("yaw_bias", "f8"),
        ("psi_dot", "f8"),
        ("lean_error", "f8"),  # rad, lean by the accelerometer less lean by the gyro
        ("yaw_error", "f8"),  # rad/s, yaw rate by the gyro less that of rolling without slip
        ("turn", "f8"),  # rad, lean of a balanced turn, smoothed
        ("sway", "f8"),  # rad, what the roll gyro adds to it
        ("turn_sway", "f8"),  # rad, both, smoothed
        ("turn_hidden", "f8"),  # rad, what the yaw gyro's bias, learnt from the steer, takes off the turn
        ("rest_bias", "f8"),  # rad/s, of the roll gyro at rest, smoothed
        ("rest_yaw", "f8"),  # rad/s, of the yaw gyro while a person held it last, smoothed
        ("lean_shown", "f8"),  # rad, lean_error, smoothed
        ("held_bias", "f8"),  # rad/s, of the roll gyro while a person held it last, in the mean
        ("weight_y", "f8"),  # m/s^2, specific force across the frame, smoothed: to the right,
        ("weight_z", "f8"),  # down,
        ("weight", "f8"),  # its size,
        ("rest_weight", "f8"),  # and that while a person held it last
        ("held_for", "f8"),  # s, of that mean
        ("t", "f8"),  # s, of the last sample used
        ("started", "i8"),
        ("T_dot", "f8"),  # rad/s^2 or rad/s, of what is expected of a rate or angle
    ]
)

OBSERVER = np.dtype(
    [
        ("dt", "f8"),
        ("lean_bandwidth", "f8"),
        ("yaw_bandwidth", "f8"),
        ("steer_bandwidth", "f8"),
        ("speed_bandwidth", "f8"),
        ("held_factor", "f8"),
        ("drive_lag", "f8"),
        ("command_delay", "f8"),  # s, from a sample to the moment its command is obeyed
        ("x_imu", "f8"),
        ("z_imu", "f8"),
        ("w", "f8"),
        ("c", "f8"),
        ("cos_lam", "f8"),
        ("g", "f8"),
        ("lean_by_speed", "f8"),  # s^2/m, lean of a balanced turn per yaw rate and speed, about 1 / g
        ("lean_by_trail", "f8"),  # m, and per yaw rate over speed
        ("follow_old", "f8", (2, 2)),  # of a steer that follows a rate or angle: under the command before,
        ("follow_new", "f8", (2, 2)),  # and under the new one, until the next sample
        ("rules", "i8"),  # of the monitor, `MONITOR_RULES` but in old logs
    ]
)

MONITOR_RULES = 2  # 1: runs before 30 November 2026, without the specific force of a turn


@dataclass(frozen=True)
class Observer:
    """Settings of the observer; bandwidths in rad/s."""

    lean_bandwidth: float = 0.4
    yaw_bandwidth: float = 0.4
    steer_bandwidth: float = 100.0
    speed_bandwidth: float = 10.0
    held_factor: float = 8.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"observer setting '{name}' must be positive, found {value!r}: set it in the rig")

    def as_record(
        self,
        bicycle: Bicycle,
        dt: float,
        drive_lag: float,
        x_imu: float,
        z_imu: float,
        command_delay: float | None = None,
        drive: InnerLoop | None = None,
        rules: int = MONITOR_RULES,
    ) -> np.void:
        """Settings and geometry for the compiled observer, a record of OBSERVER.

        Parameters
        ----------
        bicycle : Bicycle
            Its wheelbase, trail, steer axis tilt and gravity are used; its masses for the lean of a turn alone.
        dt : float
            Nominal period of the loop [s].
        drive_lag : float
            Time constant of the steer drive [s].
        x_imu, z_imu : float
            Place of the inertial sensor on the rear frame, forward of the rear contact and down [m].
        command_delay : float or None
            From a sample to the moment its command is obeyed [s]; None: one period.
        drive : InnerLoop or None
            Of a drive that obeys a steer rate or angle; None: a torque.
        rules : int
            Of the monitor: `MONITOR_RULES`, or those of an old log.
        """
        record = np.zeros(1, OBSERVER)[0]
        for name, value in vars(self).items():
            record[name] = value
        geometry = {"w": bicycle.w, "c": bicycle.c, "cos_lam": math.cos(bicycle.lam), "g": bicycle.g}
        for name, value in {
            **geometry,
            "dt": dt,
            "rules": rules,
            "drive_lag": drive_lag,
            "command_delay": dt if command_delay is None else command_delay,
            "x_imu": x_imu,
            "z_imu": z_imu,
            **balanced_turn(bicycle),
        }.items():
            record[name] = value
        if drive is not None:
            old = float(record["command_delay"])
            record["follow_old"], record["follow_new"] = (following_map(drive, h) for h in (old, max(dt - old, 0.0)))
        return record


def balanced_turn(bicycle: Bicycle) -> dict[str, float]:
    """Lean of a steady turn: phi = (lean_by_speed v + lean_by_trail / v) psi_dot, in s^2/m and m.

    From the lean equation at rest, g K0_11 phi + (g K0_12 + v^2 K2_12) delta = 0 (Meijaard et al. 2007, eq. 5.3), and
    rolling, psi_dot = v cos(lam) delta / w. It serves a limit, never the estimate.
    """
    _, _, K0, K2 = canonical_matrices(bicycle)
    steer = bicycle.w / math.cos(bicycle.lam)  # m, steer angle per yaw rate and 1 / speed
    return {
        "lean_by_speed": float(-K2[0, 1] / (bicycle.g * K0[0, 0]) * steer),
        "lean_by_trail": float(-K0[0, 1] / K0[0, 0] * steer),
    }


@njit(cache=True, nogil=True)
def _start(o, e, sample):
    """Take the first sample as it is: upright, held, biases in the gyros. Runs inside the tick."""
    e.phi = 0.0
    e.gyro_bias = sample.phi_dot_meas
    e.yaw_bias = sample.psi_dot_meas
    e.rest_bias = e.gyro_bias
    e.rest_yaw = e.yaw_bias
    e.phi_dot = 0.0
    e.psi_dot = 0.0
    e.delta = sample.delta_meas
    e.delta_dot = 0.0
    e.v = sample.v_meas
    e.t = sample.t
    e.started = 1


@njit(cache=True, nogil=True)
def observe(o, e, sample, held):
    """Bring the estimate ``e`` to the instant of a fresh ``sample``. Runs inside the tick.

    Parameters
    ----------
    o, e, sample : records of OBSERVER, ESTIMATE (changed in place) and SAMPLE.
    held : bool
        A person holds the bicycle, so the slow gains may be fast.
    """
    if not e.started:
        _start(o, e, sample)
        return
    h = sample.t - e.t
    if not 0.0 < h < 0.2:  # a device clock that jumped says nothing about elapsed time
        h = o.dt
    e.t = sample.t
    pace = o.held_factor if held else 1.0
    e.v += (1.0 - math.exp(-o.speed_bandwidth * h)) * (sample.v_meas - e.v)

    z = math.exp(-o.steer_bandwidth * h)
    error = sample.delta_meas - (e.delta + (h - sample.steer_age) * e.delta_dot)  # as it was when it was read
    e.delta += h * e.delta_dot + (1.0 - z * z) * error
    e.delta_dot += (1.0 - z) * (1.0 - z) / h * error

    phi_dot = sample.phi_dot_meas - e.gyro_bias
    psi_dot = sample.psi_dot_meas - e.yaw_bias
    rolling = (e.v * e.delta + o.c * e.delta_dot) * o.cos_lam / o.w
    e.yaw_error = psi_dot - rolling
    e.yaw_bias += pace * o.yaw_bandwidth * h * e.yaw_error

    phi_ddot = (phi_dot - e.phi_dot) / h
    psi_ddot = (psi_dot - e.psi_dot) / h
    shown = (e.v * psi_dot + o.x_imu * psi_ddot - o.z_imu * phi_ddot - sample.a_y_meas) / o.g
    e.phi += 0.5 * h * (phi_dot + e.phi_dot)
    e.lean_error = shown - e.phi
    bandwidth = pace * o.lean_bandwidth
    e.phi += 2.0 * bandwidth * h * e.lean_error
    e.gyro_bias -= bandwidth * bandwidth * h * e.lean_error
    e.phi_dot = sample.phi_dot_meas - e.gyro_bias  # by the new bias: no change of bias may look like an acceleration
    e.psi_dot = sample.psi_dot_meas - e.yaw_bias
    follow_turn(o, e, sample.phi_dot_meas, held, h)
    follow_weight(o, e, sample, held, h)


@njit(cache=True, nogil=True)
def follow_drive(o, e, T_cmd):
    """Go on to the next tick: the drive follows the old command until the new one is obeyed. Runs inside the tick."""
    old, new = o.command_delay, o.dt - o.command_delay
    keep = math.exp(-old / o.drive_lag) if o.drive_lag > 0.0 else 0.0
    e.T = keep * e.T + (1.0 - keep) * e.u_prev
    if new > 0.0:
        keep = math.exp(-new / o.drive_lag) if o.drive_lag > 0.0 else 0.0
        e.T = keep * e.T + (1.0 - keep) * T_cmd
    e.u_prev = T_cmd
