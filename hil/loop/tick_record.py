"""Columns of the log, one row a tick.

They hold everything that one tick read, computed and did. Each column is declared once, here; the dtype of a row, the
units that exports carry and the table in docs/log-format.md follow from it.
"""

from typing import NamedTuple

import numpy as np


class _LogColumn(NamedTuple):
    """One column of the log."""

    name: str
    kind: str  # numpy's name of its type
    unit: str
    meaning: str


TICK_COLUMNS = (
    _LogColumn("k", "u8", "1", "tick number"),
    # timing, on the host's monotonic clock
    _LogColumn("t_host", "f8", "s", "wake-up, host's monotonic clock"),
    _LogColumn("t_due", "f8", "s", "when it should have been"),
    _LogColumn("compute", "f8", "s", "from the bytes read to the bytes ready"),
    _LogColumn("silence", "f8", "s", "of the device that has been silent longest"),
    _LogColumn("host_offset", "f8", "s", "host clock minus device clock, of the fastest samples"),
    _LogColumn("age", "f8", "s", "of the sample used, when the tick woke"),
    # sample (SI), as calibrated; meaningful where valid
    _LogColumn("t", "f8", "s", "time of the sample, device's clock"),
    _LogColumn("phi_dot_meas", "f8", "rad/s", "gyro about x (roll rate)"),
    _LogColumn("theta_dot_meas", "f8", "rad/s", "gyro about y (pitch rate)"),
    _LogColumn("psi_dot_meas", "f8", "rad/s", "gyro about z (yaw rate)"),
    _LogColumn("a_x_meas", "f8", "m/s^2", "specific force along x"),
    _LogColumn("a_y_meas", "f8", "m/s^2", "specific force along y"),
    _LogColumn("a_z_meas", "f8", "m/s^2", "specific force along z (about -9.81 upright)"),
    _LogColumn("delta_meas", "f8", "rad", "steer angle"),
    _LogColumn("v_meas", "f8", "m/s", "forward speed from the wheel"),
    _LogColumn("T_meas", "f8", "N m", "steer torque the drive reports"),
    _LogColumn("bus_meas", "f8", "V", "drive's supply"),
    _LogColumn(
        "steer_age",
        "f8",
        "s",
        "how much older the steer angle is than the inertial readings; 0 where one device sends both",
    ),
    _LogColumn("wheel_age", "f8", "s", "the same of the wheel's rate"),
    _LogColumn("drive_age", "f8", "s", "the same of torque, supply and status of the drive"),
    # estimate
    _LogColumn("phi_est", "f8", "rad", "lean angle"),
    _LogColumn("delta_est", "f8", "rad", "steer angle"),
    _LogColumn("phi_dot_est", "f8", "rad/s", "lean rate"),
    _LogColumn("delta_dot_est", "f8", "rad/s", "steer rate"),
    _LogColumn("v_est", "f8", "m/s", "forward speed"),
    # of a drive that obeys a steer rate or angle T_est, T_req and T_cmd are that, in rad/s or rad
    _LogColumn("T_est", "f8", "N m", "torque the observer believes the drive makes"),
    _LogColumn("gyro_bias_est", "f8", "rad/s", "of the gyro about x"),
    _LogColumn("yaw_bias_est", "f8", "rad/s", "of the gyro about z"),
    # request, verdict, command
    _LogColumn("T_req", "f8", "N m", "steer torque the controller wished"),
    _LogColumn("T_cmd", "f8", "N m", "steer torque the supervisor allowed"),
    _LogColumn("verdict", "u4", "bits", "why `T_cmd` differs from `T_req`"),
    _LogColumn("cause", "u4", "code", "first cause of a ramp-down, or of a fault if there is one; latched"),
    _LogColumn("seq", "u4", "1", "sequence number of the sample"),
    _LogColumn("command_seq", "u4", "1", "sequence number of the command sent"),
    _LogColumn("acked_seq", "u4", "1", "last command the device says it obeyed"),
    _LogColumn("state", "u4", "code", "supervisor's state"),
    _LogColumn("status", "u4", "bits", "device's status"),
    _LogColumn("faults", "u4", "bits", "device's faults"),
    _LogColumn("valid", "u4", "0, 1", "a fresh, usable sample came in this tick"),
    _LogColumn("symptoms", "u4", "bits", "what the plausibility monitor noticed"),
    # what the tick was told by the program around it
    _LogColumn("demand", "u4", "code", "the operator's demand"),
    _LogColumn("acknowledged", "u4", "0, 1", "the operator has taken note of a fault"),
    _LogColumn("attended", "u4", "0, 1", "the program around the loop is alive"),
    _LogColumn("recording", "u4", "0, 1", "the log takes what it is given"),
    _LogColumn("tested", "u4", "0, 1", "a latency test vouches for the computer, or none is asked for"),
    _LogColumn("late", "u4", "0, 1", "this tick woke more than half a period after it wanted to"),
    _LogColumn("n_wire", "u4", "bytes", "of this tick on the tape"),
)
COUNTER_COLUMNS = (  # counted since the run began
    _LogColumn("frames_ok", "u4", "count", "good frames so far"),
    _LogColumn("frames_bad_crc", "u4", "count", "frames with a wrong CRC so far"),
    _LogColumn("frames_bad_length", "u4", "count", "frames of a wrong length so far"),
    _LogColumn("frames_bad_version", "u4", "count", "frames of another protocol version so far"),
    _LogColumn("bytes_skipped", "u4", "count", "bytes that belonged to no frame so far"),
    _LogColumn("samples_lost", "u4", "count", "gaps in the device's sequence numbers so far"),
    _LogColumn("samples_stale", "u4", "count", "ticks without a fresh sample so far"),
    _LogColumn("ticks_late", "u4", "count", "late ticks so far"),
    _LogColumn("ticks_skipped", "u4", "count", "beats left out because the one before took too long, so far"),
    _LogColumn("write_short", "u4", "count", "commands the port did not take whole so far"),
)
PLACE_COLUMNS = (  # not a number where the machine has no sensor of place; runs of before have none of them
    _LogColumn("psi_est", "f8", "rad", "heading off the lane, positive to the right"),
    _LogColumn(
        "x_est", "f8", "m", "way of the rear contact along the lane, from the release or the datum of its sensor"
    ),
    _LogColumn("y_est", "f8", "m", "place of the rear contact to the right of the lane's middle"),
    _LogColumn("y_meas", "f8", "m", "place that the sensor told last and that was taken, of what it sees"),
    _LogColumn("place_age", "f8", "s", "since a fix of place was last taken"),
)
SPEED_COLUMNS = (  # not a number where the machine does not keep its speed itself; runs of before have none of them
    _LogColumn("v_asked", "f8", "m/s", "speed asked of the treadmill, in its ramp"),
    _LogColumn("v_cmd", "f8", "m/s", "speed that the treadmill was told, with what the PI adds"),
    _LogColumn("v_belt", "f8", "m/s", "speed that the treadmill reports"),
    _LogColumn("belt_age", "f8", "s", "since its last report"),
)
YOUNGER_COLUMNS = (*PLACE_COLUMNS, *SPEED_COLUMNS)  # that runs of before may lack
LOG_COLUMNS = {column.name: column for column in (*TICK_COLUMNS, *COUNTER_COLUMNS, *YOUNGER_COLUMNS)}
COUNTERS = tuple(column.name for column in COUNTER_COLUMNS)
TICK = np.dtype([(column.name, column.kind) for column in LOG_COLUMNS.values()], align=True)
