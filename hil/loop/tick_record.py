"""TICK: everything one tick knew, thought and did. One row of the log, one noun of the loop."""

import numpy as np

COUNTERS = (
    "frames_ok",
    "frames_bad_crc",
    "frames_bad_length",
    "frames_bad_version",
    "bytes_skipped",
    "samples_lost",
    "samples_stale",
    "ticks_late",
    "ticks_skipped",
    "write_short",
)

TICK = np.dtype(
    [
        ("k", "u8"),  # tick number
        # timing, host clock (CLOCK_MONOTONIC), s
        ("t_host", "f8"),  # wake-up
        ("t_due", "f8"),  # when it should have been
        ("compute", "f8"),  # s, from the bytes read to the bytes ready
        ("silence", "f8"),  # s, of the device that has been silent longest
        ("host_offset", "f8"),  # s, host clock minus device clock, of the fastest samples
        ("age", "f8"),  # s, of the sample used, when the tick woke
        # sample (SI), as calibrated; meaningful where valid
        ("t", "f8"),
        ("phi_dot_meas", "f8"),
        ("theta_dot_meas", "f8"),
        ("psi_dot_meas", "f8"),
        ("a_x_meas", "f8"),
        ("a_y_meas", "f8"),
        ("a_z_meas", "f8"),
        ("delta_meas", "f8"),
        ("v_meas", "f8"),
        ("T_meas", "f8"),
        ("bus_meas", "f8"),
        ("steer_age", "f8"),  # s, how much older than the inertial readings the steer angle is
        ("wheel_age", "f8"),  # s, the wheel's rate
        ("drive_age", "f8"),  # s, what the drive says of itself
        # estimate
        ("phi_est", "f8"),
        ("delta_est", "f8"),
        ("phi_dot_est", "f8"),
        ("delta_dot_est", "f8"),
        ("v_est", "f8"),
        ("T_est", "f8"),  # drive torque the observer believes in
        ("gyro_bias_est", "f8"),  # rad/s, about x
        ("yaw_bias_est", "f8"),  # rad/s, about z
        # request, verdict, command
        ("T_req", "f8"),  # what the controller wished
        ("T_cmd", "f8"),  # what the supervisor allowed
        ("verdict", "u4"),  # VERDICT_* bits: why T_cmd differs from T_req
        ("cause", "u4"),  # first cause of a ramp-down or fault, latched
        ("seq", "u4"),
        ("command_seq", "u4"),
        ("acked_seq", "u4"),  # last command the device says it obeyed
        ("state", "u4"),  # supervisor state
        ("status", "u4"),  # of the device
        ("faults", "u4"),  # of the device
        ("valid", "u4"),  # a fresh, usable sample came in this tick
        ("symptoms", "u4"),  # SYMPTOM_* bits of the plausibility monitor
        # what the tick was told by the program around it
        ("demand", "u4"),
        ("acknowledged", "u4"),
        ("attended", "u4"),
        ("recording", "u4"),
        ("tested", "u4"),
        ("late", "u4"),  # this tick woke more than half a period after it wanted to
        ("n_wire", "u4"),  # bytes of this tick on the tape
        *((name, "u4") for name in COUNTERS),
    ],
    align=True,
)
