"""Records ``RAW``, ``FIX``, ``SAMPLE`` and ``COMMAND``.

They are counts off the wire, a fix of place, a sample in SI units, and the command back. Shared by the compiled
kernels, the log and ordinary Python, so that a quantity has one name everywhere. A value that is missing or invalid is
a flag here, never a magic number.
"""

import numpy as np

# What a device has said of the machine, in counts; each driver fills in what its device carries.
RAW = np.dtype(
    [
        ("seq", "u2"),  # counts every sample, wraps at 65536
        ("t_us", "u4"),  # device clock, wraps after 71.6 minutes
        ("gyro_counts", "i4", (3,)),  # about the x, y, z axes of the sensor
        ("accel_counts", "i4", (3,)),  # specific force along x, y, z of the sensor
        ("steer_counts", "i4"),  # steer encoder
        ("wheel_mrad_s", "i4"),  # rear wheel rate, 1e-3 rad/s, positive when rolling forward
        ("torque_mNm", "i4"),  # torque the drive reports at its output shaft
        ("bus_mV", "u2"),  # supply of the drive
        ("status", "u1"),  # STATUS_* bits
        ("faults", "u1"),  # FAULT_* bits
        ("command_seq", "u2"),  # sequence number of the last command obeyed
        ("rejected", "u1"),  # frames the node has rejected, wraps at 256
        ("refused", "u1"),  # commands the node has refused as not this session's, wraps at 256
        ("seq_high", "u2"),  # how often `seq` has wrapped: the upper half of the sample's number
        ("off_scale", "u1"),  # a reading stands at an end of its scale, or is no number: not to be used
    ],
    align=True,
)

# What a sensor of place has said last. Fixes come at their own pace, more slowly than samples.
FIX = np.dtype(
    [
        ("seq", "u2"),  # counts every fix, wraps at 65536
        ("has", "u1"),  # FIX_* bits: the coordinates it holds; 0 before the first
        ("age_us", "u4"),  # how old it was when its message ended, as far as the sensor knows
        ("x_mm", "i4"),  # place of the sensor's target in the axes of the ground: x along the lane,
        ("y_mm", "i4"),  # y to the right of it
        ("psi_urad", "i4"),  # heading of the rear frame, 1e-6 rad, positive to the right
        ("sigma_mm", "u2"),  # standard deviation of a coordinate, as the sensor believes; 0: it tells none
    ],
    align=True,
)

# The samples in SI units, in the axes of the bicycle (x forward, y right, z down).
SAMPLE = np.dtype(
    [
        ("t", "f8"),  # s, device clock, unwrapped
        ("phi_dot_meas", "f8"),  # rad/s, gyro about x: lean rate
        ("theta_dot_meas", "f8"),  # rad/s, gyro about y: pitch rate
        ("psi_dot_meas", "f8"),  # rad/s, gyro about z: yaw rate
        ("a_x_meas", "f8"),  # m/s^2, specific force forward
        ("a_y_meas", "f8"),  # m/s^2, specific force to the right
        ("a_z_meas", "f8"),  # m/s^2, specific force downward (about -g at rest)
        ("delta_meas", "f8"),  # rad, steer angle
        ("v_meas", "f8"),  # m/s, forward speed from the rear wheel
        ("T_meas", "f8"),  # N m, steer torque reported by the drive
        ("bus_meas", "f8"),  # V, supply of the drive
        ("steer_age", "f8"),  # s, how much older the steer angle is than the inertial readings
        ("seq", "u2"),
        ("command_seq", "u2"),
        ("status", "u1"),
        ("faults", "u1"),
        ("rejected", "u1"),
        ("valid", "u1"),  # 1 when every number above is a usable one
    ],
    align=True,
)

COMMAND = np.dtype(
    [
        ("T_cmd", "f8"),  # N m, steer torque, positive steers to the right; rad/s or rad for the other kinds
        ("expiry_ms", "u2"),  # the node zeroes the torque or the rate, or holds the angle, this long after
        ("seq", "u2"),  # counts every command, wraps at 65536
        ("sample_seq", "u4"),  # number of the sample this command was computed from, all 32 bits
        ("session", "u4"),  # in which it counts, as the device opened it
        ("flags", "u1"),  # COMMAND_* bits
        ("kind", "u1"),  # COMMAND_KIND_*: what `T_cmd` is
    ],
    align=True,
)

STATUS_ENABLED = 1  # the drive is making torque
STATUS_WATCHDOG = 2  # latched: commands stopped coming while enabled; torque is zero
STATUS_STOP_BUTTON = 4  # the emergency stop is pressed
STATUS_SATURATED = 8  # the drive is at its torque limit
STATUS_FOREIGN = 16  # latched for the session: commands came that are not of it, or too old; no torque any more

FAULT_DRIVE = 1  # the motor controller reports an error
FAULT_IMU = 2  # the inertial sensor does not answer
FAULT_ENCODER = 4  # the steer encoder is implausible
FAULT_BUS = 8  # supply outside its limits
# the node's own guard has disabled the drive for the session, see rule 11 of docs/node-protocol.md
FAULT_GUARD_STEER = 16  # steer beyond its limit
FAULT_GUARD_LEAN = 32  # lean beyond its limit
FAULT_GUARD_CHANGE = 64  # the torque asked for kept changing faster than its limit
FAULT_GUARD_STILL = 128  # the encoder did not count under torque
FAULT_GUARDS = FAULT_GUARD_STEER | FAULT_GUARD_LEAN | FAULT_GUARD_CHANGE | FAULT_GUARD_STILL

FIX_X, FIX_Y, FIX_PSI = 1, 2, 4  # coordinates that a fix of place holds

COMMAND_KIND_TORQUE = 0  # N m
COMMAND_KIND_RATE = 1  # rad/s, of the steer
COMMAND_KIND_ANGLE = 2  # rad, of the steer
COMMAND_KIND_BOUND = 3  # N m: within it the node's own controller decides the torque
COMMAND_KINDS = ("torque", "rate", "angle")  # names of those that a drive obeys, in their order

COMMAND_ENABLE = 1  # make torque; without it the node is disabled and the torque zero
COMMAND_CLEAR = 2  # with ENABLE off: clear a latched watchdog
# bits 2 and 3, for a controller on the node: it forgets; a person holds the bicycle; its torque is obeyed
COMMAND_STAGE_SHIFT = 2
STAGE_OFF, STAGE_HELD, STAGE_STEERED = 0, 1, 2
