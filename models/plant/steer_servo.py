"""Steer drive that obeys a rate or angle.

It makes the torque that its inner loop asks for.

The command passes, in this order, through the enable, the pure delay of the drive, and the limits ``rate_max`` and
``acceleration_max``: they shape a reference that the drive leads its steer by, as the ramps of a motor controller do.
The inner loop (laws in `riderless.models.linear.prescribed_steer`) then asks for a torque; that is limited to
``torque_max`` and follows with the drive's ``lag``. Where the limit is reached the steer does not follow: the bicycle
moves it. The integral of a PI stands still meanwhile.

The inner loop samples the steer at its axis, truly, once every step of the plant, 200 times in 1 / bandwidth or more.
In a person's hands and after a fall the drive makes no torque and its reference is the steer, as in a drive that
is off: nothing winds up before the release.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant import steer_drive
from riderless.models.plant.steer_drive import DRIVE_SETTINGS, DRIVE_STATE, SteerDrive

TORQUE_DRIVE, RATE_DRIVE, ANGLE_DRIVE = range(3)
DRIVE_KINDS = {"torque": TORQUE_DRIVE, "rate": RATE_DRIVE, "angle": ANGLE_DRIVE}
SERVO_PERIOD = 0.005  # of 1 / bandwidth: at 0.02 a sweep saw a drive that is 0.2 ms too early

SERVO_SETTINGS = np.dtype(
    [
        ("kind", "i8"),  # TORQUE_DRIVE ...
        ("integrates", "i8"),
        ("per_error", "f8"),  # N m per rad of the angle or the rate's integral, or per rad/s
        ("per_rate", "f8"),  # N m s/rad
        ("rate_max", "f8"),  # rad/s
        ("acceleration_max", "f8"),  # rad/s^2
        ("line", DRIVE_SETTINGS),  # of the command on its way: delay, and torque_max as the greatest command
    ],
    align=True,
)

SERVO_STATE = np.dtype(
    [
        ("on", "i8"),
        ("reference", "f8"),  # rad/s or rad, after the limits
        ("reference_rate", "f8"),  # rad/s, of an angle
        ("integral", "f8"),  # rad, of the rate's error
        ("line", DRIVE_STATE),  # its target is the command that has arrived
    ],
    align=True,
)


def pack_servo(p: np.void, drive: SteerDrive, inertia: float) -> None:
    """Write the inner loop of a drive into a SERVO_SETTINGS record; ``inertia`` [kg m^2] is what it was tuned for."""
    loop = drive.inner_loop
    p["kind"] = DRIVE_KINDS[loop.kind if loop else "torque"]
    if not loop:
        return
    p["integrates"] = loop.integrates
    p["per_error"], p["per_rate"] = (inertia * gain for gain in loop.error_gains)
    p["rate_max"], p["acceleration_max"] = drive.rate_max, drive.acceleration_max
    p["line"]["delay"] = drive.delay
    p["line"]["torque_max"] = drive.rate_max if loop.kind == "rate" else np.inf


def servo_step(loop: InnerLoop) -> float:
    """Longest step [s] of a plant whose drive has this inner loop."""
    return SERVO_PERIOD / loop.bandwidth


@njit(cache=True, nogil=True)
def tell(p, s, t, command, enabled, delta, delta_dot):
    """Take a command of the drive.

    Parameters
    ----------
    p, s : SERVO_SETTINGS and SERVO_STATE records
    t : float
        Time, s.
    command : float
        rad/s or rad. A rate that is not finite asks for none; such an angle is not heard.
    enabled : bool
        True if the drive is to make torque.
    delta, delta_dot : float
        Steer, rad and rad/s: where a drive that is switched on starts from.
    """
    if not enabled:
        s.on = 0
        steer_drive.latch(p.line, s.line, t, 0.0, False)
        return
    if p.kind == ANGLE_DRIVE and not np.isfinite(command):
        return
    if not s.on:
        settle(p, s, delta, delta_dot)
        s.on, s.line.target = 1, s.reference
    steer_drive.latch(p.line, s.line, t, command, True)


@njit(cache=True, nogil=True)
def settle(p, s, delta, delta_dot):
    """Let the reference be the steer, so that nothing is asked for.

    Parameters
    ----------
    p, s : SERVO_SETTINGS and SERVO_STATE records
    delta, delta_dot : float
        Steer, rad and rad/s.
    """
    s.reference = delta if p.kind == ANGLE_DRIVE else delta_dot
    s.reference_rate, s.integral = delta_dot, 0.0


@njit(cache=True, nogil=True)
def drive_steer(p, s, h):
    """Set the torque that the drive follows for the next `h` seconds.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    h : float
        s.
    """
    delta, delta_dot = s.x[DELTA], s.x[DELTA_DOT]
    if s.held or s.fallen or not s.servo.on:
        settle(p.servo, s.servo, delta, delta_dot)
        s.drive.target = 0.0
    else:
        lead(p.servo, s.servo, h)
        s.drive.target = _inner_torque_limited(p.servo, s.servo, delta, delta_dot, p.drive.torque_max, h)
    if p.drive.lag == 0.0:
        s.drive.T = s.drive.target


@njit(cache=True, nogil=True)
def lead(p, s, h):
    """Move the reference towards the command, as far as the limits let it in `h` seconds."""
    gap, change = s.line.target - s.reference, p.acceleration_max * h
    if p.kind == RATE_DRIVE:
        s.reference += min(max(gap, -change), change)
        return
    rate = 0.0
    if gap != 0.0:  # as quick as can still be stopped at the command
        rate = np.sign(gap) * min(p.rate_max, np.sqrt(2.0 * p.acceleration_max * abs(gap)), abs(gap) / h)
    s.reference_rate += min(max(rate - s.reference_rate, -change), change)
    s.reference += s.reference_rate * h


@njit(cache=True, nogil=True)
def _inner_torque_limited(p, s, delta, delta_dot, torque_max, h):
    """Torque (N m) that the inner loop asks for, within its limit; its integral moves on.

    Parameters
    ----------
    p, s : SERVO_SETTINGS and SERVO_STATE records
    delta, delta_dot : float
        Steer, rad and rad/s.
    torque_max : float
        N m.
    h : float
        s, until it is asked again.
    """
    error = s.reference - (delta if p.kind == ANGLE_DRIVE else delta_dot)
    wanted = p.per_error * (s.integral if p.integrates else error) - p.per_rate * delta_dot
    T = min(max(wanted, -torque_max), torque_max)
    if p.integrates and (wanted == T or wanted * error < 0.0):
        s.integral += error * h
    return T
