"""What each column of the log means, with its unit: what exports carry along. docs/log-format.md says the same."""

from typing import NamedTuple


class Meaning(NamedTuple):
    """Unit and meaning of one column."""

    unit: str
    meaning: str


MEANINGS: dict[str, Meaning] = {
    "k": Meaning("1", "tick number"),
    "t_host": Meaning("s", "wake-up, host's monotonic clock"),
    "t_due": Meaning("s", "when it should have been"),
    "compute": Meaning("s", "from the bytes read to the bytes ready"),
    "silence": Meaning("s", "of the device that has been silent longest"),
    "host_offset": Meaning("s", "host clock minus device clock, of the fastest samples"),
    "age": Meaning("s", "of the sample used, when the tick woke"),
    "t": Meaning("s", "time of the sample, device's clock"),
    "phi_dot_meas": Meaning("rad/s", "gyro about x (roll rate)"),
    "theta_dot_meas": Meaning("rad/s", "gyro about y (pitch rate)"),
    "psi_dot_meas": Meaning("rad/s", "gyro about z (yaw rate)"),
    "a_x_meas": Meaning("m/s^2", "specific force along x"),
    "a_y_meas": Meaning("m/s^2", "specific force along y"),
    "a_z_meas": Meaning("m/s^2", "specific force along z (about -9.81 upright)"),
    "delta_meas": Meaning("rad", "steer angle"),
    "v_meas": Meaning("m/s", "forward speed from the wheel"),
    "T_meas": Meaning("N m", "steer torque the drive reports"),
    "bus_meas": Meaning("V", "drive's supply"),
    "steer_age": Meaning(
        "s", "how much older the steer angle is than the inertial readings; 0 where one device sends both"
    ),
    "wheel_age": Meaning("s", "the same of the wheel's rate"),
    "drive_age": Meaning("s", "the same of torque, supply and status of the drive"),
    "phi_est": Meaning("rad", "lean angle"),
    "delta_est": Meaning("rad", "steer angle"),
    "phi_dot_est": Meaning("rad/s", "lean rate"),
    "delta_dot_est": Meaning("rad/s", "steer rate"),
    "v_est": Meaning("m/s", "forward speed"),
    "T_est": Meaning("N m", "torque the observer believes the drive makes"),
    "gyro_bias_est": Meaning("rad/s", "of the gyro about x"),
    "yaw_bias_est": Meaning("rad/s", "of the gyro about z"),
    "T_req": Meaning("N m", "steer torque the controller wished"),
    "T_cmd": Meaning("N m", "steer torque the supervisor allowed"),
    "verdict": Meaning("bits", "why `T_cmd` differs from `T_req`"),
    "cause": Meaning("code", "first cause of a ramp-down or fault, latched"),
    "seq": Meaning("1", "sequence number of the sample"),
    "command_seq": Meaning("1", "sequence number of the command sent"),
    "acked_seq": Meaning("1", "last command the device says it obeyed"),
    "state": Meaning("code", "supervisor's state"),
    "status": Meaning("bits", "device's status"),
    "faults": Meaning("bits", "device's faults"),
    "valid": Meaning("0, 1", "a fresh, usable sample came in this tick"),
    "symptoms": Meaning("bits", "what the plausibility monitor noticed"),
    "demand": Meaning("code", "the operator's demand"),
    "acknowledged": Meaning("0, 1", "the operator has taken note of a fault"),
    "attended": Meaning("0, 1", "the program around the loop is alive"),
    "recording": Meaning("0, 1", "the log takes what it is given"),
    "tested": Meaning("0, 1", "a latency test vouches for the computer, or none is asked for"),
    "late": Meaning("0, 1", "this tick woke more than half a period after it wanted to"),
    "n_wire": Meaning("bytes", "of this tick on the tape"),
    "frames_ok": Meaning("count", "good frames so far"),
    "frames_bad_crc": Meaning("count", "frames with a wrong CRC so far"),
    "frames_bad_length": Meaning("count", "frames of a wrong length so far"),
    "frames_bad_version": Meaning("count", "frames of another protocol version so far"),
    "bytes_skipped": Meaning("count", "bytes that belonged to no frame so far"),
    "samples_lost": Meaning("count", "gaps in the device's sequence numbers so far"),
    "samples_stale": Meaning("count", "ticks without a fresh sample so far"),
    "ticks_late": Meaning("count", "late ticks so far"),
    "ticks_skipped": Meaning("count", "beats left out because the one before took too long, so far"),
    "write_short": Meaning("count", "commands the port did not take whole so far"),
}
