"""Which tests judge the mutants of a module, and which tests are left out."""

from tests.tools.mutation.changes import TABLE

_SUPERVISOR_TESTS = (
    "hil/loop/test_supervisor_table.py",
    "hil/loop/test_supervisor.py",
    "hil/loop/test_limits.py",
    "hil/loop/test_supervisor_edges.py",
    "hil/loop/test_supervisor_promises.py",
)
_SUPERVISOR_ALONE = (
    "hil/loop/test_supervisor_table.py",
    "hil/loop/test_supervisor_edges.py",
    "hil/loop/test_supervisor_drives.py",
    "hil/loop/test_supervisor.py",
)
_TICK_TESTS = (
    "hil/loop/test_tick.py",
    "hil/loop/test_tick_parts.py",
    "hil/loop/test_tick_place.py",
    "hil/loop/test_tick_requests.py",
)
_PLAUSIBILITY_TESTS = ("hil/loop/test_plausibility_edges.py", "hil/loop/test_plausibility.py")
_CALIBRATION_TESTS = ("firmware_interface/test_calibration_edges.py", "firmware_interface/test_calibration.py")
_PROTOCOL_TESTS = (
    "firmware_interface/node/test_protocol.py",
    "firmware_interface/node/test_hello.py",
    "firmware_interface/node/test_rules.py",
)
TESTS: dict[str, tuple[str, ...]] = {
    "hil/loop/supervisor.py": _SUPERVISOR_ALONE,
    "hil/loop/limits.py": _SUPERVISOR_TESTS,
    TABLE: _SUPERVISOR_TESTS,
    "hil/loop/tick.py": _TICK_TESTS,
    "hil/controllers/gains.py": ("hil/loop/test_tick_requests.py",),
    "hil/loop/plausibility.py": _PLAUSIBILITY_TESTS,
    "hil/loop/drives/following.py": ("hil/loop/test_following.py",),
    "hil/loop/consistency.py": ("hil/loop/test_consistency_edges.py", "hil/loop/test_consistency.py"),
    "hil/loop/place/tracker.py": (
        "hil/loop/place/test_tracker_edges.py",
        "hil/loop/place/test_tracker_lost.py",
        "hil/loop/place/test_tracker.py",
    ),
    "hil/loop/observer.py": (
        "hil/loop/test_observer_step.py",
        "hil/loop/test_observer.py",
        "hil/loop/test_following.py",
    ),
    "firmware_interface/calibration.py": _CALIBRATION_TESTS,
    "firmware_interface/node/protocol.py": _PROTOCOL_TESTS,
    "hil/runners/session.py": ("hil/runners/test_session.py", "hil/runners/test_session_refusals.py"),
    "hil/runners/operator.py": ("hil/runners/test_operator.py",),
    "hil/runners/realtime.py": (
        "hil/runners/test_realtime_beats.py",
        "hil/runners/test_realtime_around.py",
        "hil/runners/test_realtime_loop.py",
    ),
    "hil/runners/log_sink.py": ("hil/runners/test_log_sink.py",),
    "hil/runners/ring_buffer.py": ("hil/runners/test_ring_buffer.py",),
    "hil/loop/wire_tape.py": ("hil/loop/test_wire_tape.py", "hil/runners/test_ring_buffer.py"),
    "hil/loop/clock_offset.py": ("hil/loop/test_clock_offset.py",),
    "hil/logs/header.py": ("hil/logs/test_header.py",),
    "hil/logs/writer.py": ("hil/logs/test_writer.py", "hil/logs/test_log_lost.py", "hil/logs/test_log.py"),
    "hil/logs/log.py": (
        "hil/logs/test_run.py",
        "hil/logs/test_log.py",
        "hil/logs/test_stored_rows.py",
        "hil/logs/test_log_damage.py",
    ),
}
LONG = (  # tests left out: as plain Python they take long, and others notice the same
    "real_bicycle",  # thousands of rows
    "whatever_comes",  # hundreds of rides
    "drift_over_ten_minutes",
    "dies_out_at_the_bandwidth",
    "steady_turn",
    "kick_does_not_disturb",
    "designed_weave",
    "has_not_spoken",  # thousands of ticks
    "come_too_seldom",
    "broken_frames_are_counted",
    "same_angle_at_every_speed",
    "slow_fault_ends_the_ride",  # whole rides
    "slip_over_three_samples",
    "accelerometer_that_jumps",  # thousands of samples
    "without_the_accelerometer",
    "place_and_heading_are_those",
    "lean_of_a_turn_is_that",  # the nonlinear model finds its turns compiled only
)
