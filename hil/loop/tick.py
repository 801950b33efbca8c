"""Tick of the loop: bytes in, bytes out.

It is the whole controller, short enough to read aloud.

    bytes -> Sample -> Estimate -> Request -> Verdict -> Command -> bytes, and one row of the log

It is pure (all state lies in the `LoopState` handed to it), allocates nothing, does no input or output
and never meets the interpreter. The lockstep runner, the real-time runner and the replay call this
same function; only what carries its bytes differs.
"""

import math
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import calibrate, drive_command
from riderless.firmware_interface.devices.link import (
    ROLE_DRIVE,
    ROLE_HEARTBEAT,
    ROLE_IMU,
    ROLE_PLACE,
    ROLE_SPEED,
    ROLE_STEER,
    ROLE_WHEEL,
    hear,
    say,
)
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_KIND_TORQUE,
    FAULT_BUS,
    FAULT_DRIVE,
    FAULT_ENCODER,
    FAULT_IMU,
    STATUS_STOP_BUTTON,
)
from riderless.hil.loop.clock_offset import follow_clock
from riderless.hil.loop.drives.following import follow_command
from riderless.hil.loop.excitation import excitation_place, excitation_torque, is_held_back, is_released
from riderless.hil.loop.law import follow_reference, is_elsewhere, tell_signals, wished_torque
from riderless.hil.loop.observer import follow_drive, observe
from riderless.hil.loop.on_board import bound_torque, command_bound
from riderless.hil.loop.pace.entry import pace_symptoms
from riderless.hil.loop.pace.speed_hold import dismiss_belt, fill_pace
from riderless.hil.loop.place.entries import place_symptoms, tell_where
from riderless.hil.loop.place.tracker import fill_place
from riderless.hil.loop.plausibility import judge_plausibility
from riderless.hil.loop.resting import judge_rest
from riderless.hil.loop.states import State, Verdict
from riderless.hil.loop.supervisor import supervise
from riderless.hil.loop.tick_record import COUNTERS

FAREWELL_FRAMES = 5  # how many times zero torque is sent at the end

_NEVER_SENT = 0x8000  # commands without an answer: the one answered is ahead of all that were sent
_RUNNING, _RAMPDOWN = int(State.RUNNING), int(State.RAMPDOWN)
_CHECK, _ARMED = int(State.CHECK), int(State.ARMED)
_DISARMED, _FAULT = int(State.DISARMED), int(State.FAULT)
_V_LANE_HELD_BACK = int(Verdict.LANE_HELD_BACK)
LOOP_COUNTERS = np.dtype([(name, "u4") for name in COUNTERS])
LOOP_PULSE = np.dtype(
    [
        ("k", "i8"),
        ("t_host", "f8"),
        ("seq", "i8"),
        ("dt", "f8"),
        ("expiry_ms", "i8"),
        ("played", "f8"),  # s, under control so far, by the device's clock
        ("t", "f8"),  # s, device's clock, of the last tick's sample
        ("caught", "i8"),  # this release has ended early
    ]
)
ORDERS = np.dtype(
    [
        ("demand", "i8"),  # the operator's `Demand`
        ("beat", "i8"),  # counted up by the program around the loop as long as it lives
        ("acknowledged", "u1"),
        ("attended", "u1"),
        ("recording", "u1"),
        ("tested", "u1"),
        ("late", "u1"),
    ],
    align=True,
)


class LoopState(NamedTuple):
    """Everything the tick knows: records, which compiled code and Python share."""

    # settings, constant during a run
    calibration: np.void
    observer: np.void
    limits: np.void
    tracking: np.void  # of heading and place, where the machine has a sensor of place
    pace: np.void  # of the treadmill, where the machine has one
    asked_speeds: np.ndarray  # (c, 2) corners of the speed it is asked for: s under control, m/s
    law: np.void
    settings: np.ndarray  # (n,) of the law
    route: np.ndarray  # (n, 10) that is ridden; no row: a straight lane
    references: np.ndarray  # (r, 3) for the law, from the first tick under control on
    excitation: np.ndarray  # (m,) N m, added to the controller's wish from the first tick under control on
    freedom: np.ndarray  # (n,) share of its limits up to which the bicycle is left to itself at each such tick; often 0
    # state
    links: np.ndarray  # (P,) LINK, one for each port
    clock: np.void
    timebase: np.void
    raw: np.void
    sample: np.void
    estimate: np.void
    place: np.void
    on_route: np.void
    pacing: np.void
    signals: np.void  # what the law is told
    reference: np.void
    law_state: np.ndarray  # (m,) all that the law remembers
    wish: np.void
    monitor: np.void
    resting: np.void
    news: np.void
    supervisor: np.void
    command: np.void
    counters: np.void
    pulse: np.void
    # from outside
    orders: np.void


@njit(cache=True, nogil=True)
def tick(loop, wire, t_host, t_due, row):
    """Run one period: decode, calibrate, estimate, control, supervise, encode, record. Runs inside the tick.

    Parameters
    ----------
    loop : LoopState
    wire : Wire
        Bytes that came in since the last tick; filled with those to send. None are sent when a command
        would not rest on a fresh sample.
    t_host, t_due : float
        When this tick woke and when it should have [s, host clock].
    row : record of TICK, filled.
    """
    supervisor, estimate, sample, news = loop.supervisor, loop.estimate, loop.sample, loop.news
    _take_orders(loop.orders, news)
    news.dt = _elapsed(loop.pulse, t_host)

    samples, broken = _decode(loop, wire, t_host)
    steered = supervisor.state == _RUNNING or supervisor.state == _RAMPDOWN
    if news.fresh:
        observe(loop.observer, estimate, sample, not steered)
    news.symptoms = judge_plausibility(
        loop.limits, loop.observer, loop.monitor, loop.raw, sample, estimate, samples, broken, steered, news.dt
    )
    held = supervisor.state == _CHECK or supervisor.state == _ARMED
    news.symptoms |= judge_rest(loop.limits, loop.observer.g, loop.resting, sample, news.fresh, held, news.dt)
    if loop.tracking.on:
        news.symptoms |= place_symptoms(
            loop.tracking, loop.place, loop.links, estimate, sample, news.fresh, not steered, news.dt
        )
    news.other_gains = is_elsewhere(loop.law, estimate.v, loop.limits.gains_reach)
    place = excitation_place(loop.pulse, sample.t, supervisor.state == _RUNNING)
    if loop.pace.on:
        v, t, state = sample.v_meas, loop.pulse.played, supervisor.state
        news.symptoms |= pace_symptoms(loop.pace, loop.pacing, loop.asked_speeds, loop.links, v, state, t, news.dt)
    news.released = is_released(loop.pulse, loop.freedom, place, loop.limits, estimate)
    held_back = is_held_back(loop.pulse, loop.freedom, place, loop.tracking, loop.place)
    news.T_req = _ask_law(loop, place, steered, held_back)
    news.T_req += excitation_torque(loop.excitation, place) if supervisor.state == _RUNNING else 0.0
    T_before = supervisor.T_cmd
    supervise(supervisor, loop.limits, news, sample, estimate)
    if loop.limits.node_step > 0.0:
        bound_torque(supervisor, loop.limits, news.T_req, T_before)
    supervisor.verdict |= _V_LANE_HELD_BACK if held_back and supervisor.state == _RUNNING else 0
    command = supervisor.T_cmd if supervisor.send else estimate.u_prev
    if loop.limits.kind == COMMAND_KIND_TORQUE:
        follow_drive(loop.observer, estimate, command)
    else:
        steered = supervisor.state == _RUNNING or supervisor.state == _RAMPDOWN
        follow_command(loop.observer, estimate, command, loop.limits.kind, steered)
    _encode(loop, wire, supervisor.send, t_host)
    _fill_row(loop, t_host, t_due, row)


@njit(cache=True, nogil=True)
def _take_orders(orders, news):
    """Copy the orders of the program around the loop. Runs inside the tick."""
    news.demand = orders.demand
    news.acknowledged = orders.acknowledged
    news.attended = orders.attended
    news.recording = orders.recording
    news.tested = orders.tested
    news.late = orders.late


@njit(cache=True, nogil=True)
def _elapsed(pulse, t_host):
    """Time since the last tick [s]. Runs inside the tick."""
    elapsed = t_host - pulse.t_host if pulse.k > 0 else pulse.dt
    pulse.t_host = t_host
    pulse.k += 1
    return elapsed


@njit(cache=True, nogil=True)
def _decode(loop, wire, t_host):
    """Decode and calibrate the newest sample; how many came, and how many frames were broken. Runs inside the tick."""
    news, raw, samples, broken, lost, silence = loop.news, loop.raw, 0, 0, 0, 0.0
    for port in range(loop.links.size):
        link = loop.links[port]
        receiver = link.receiver
        if link.role == ROLE_PLACE or link.role == ROLE_SPEED:  # at their own pace: judged by what listens to them
            hear(link, wire.rx[port], wire.n_rx[port])
            continue
        broken_before, lost_before = _broken_frames(receiver), receiver.samples_lost
        came = hear(link, wire.rx[port], wire.n_rx[port])
        broken += _broken_frames(receiver) - broken_before
        lost += receiver.samples_lost - lost_before
        link.silence = 0.0 if came > 0 else link.silence + news.dt
        silence = max(silence, link.silence)
        if came > 0:
            link.taken = link.asked if link.polled else t_host
        samples += came if link.role & ROLE_IMU else 0
    _merge_readings(loop.links, raw)
    if samples > 0:
        calibrate(raw, loop.calibration, loop.clock, loop.sample)
        loop.sample.steer_age = _ages(loop.links, t_host)[0]
        follow_clock(loop.timebase, loop.sample.t, t_host)
    news.fresh = samples > 0 and loop.sample.valid == 1
    news.clean = broken == 0 and lost == 0
    # samples that come late, and commands that are answered late, are as bad as samples that are missing
    unanswered = ((loop.pulse.seq - raw.command_seq) & 0xFFFF) - 1
    news.silence = max(silence, loop.timebase.age, unanswered * loop.pulse.dt)
    news.strange = unanswered >= _NEVER_SENT
    if not news.fresh:
        loop.counters.samples_stale += 1
    return samples, broken


@njit(cache=True, nogil=True)
def _broken_frames(receiver):
    """Count the broken frames so far. Runs inside the tick."""
    return receiver.frames_bad_crc + receiver.frames_bad_length + receiver.frames_bad_version


@njit(cache=True, nogil=True)
def _merge_readings(links, raw):
    """Take from each device what it carries; a button counts wherever it is. Runs inside the tick.

    A fault counts of a part that the device carries: a node without a sensor or a drive reports those as absent.
    """
    raw.status = 0
    raw.faults = 0
    raw.off_scale = 0
    for port in range(links.size):
        part, role = links[port].raw, links[port].role
        if role & ROLE_IMU:
            raw.seq = part.seq
            raw.t_us = part.t_us
            for axis in range(3):
                raw.gyro_counts[axis] = part.gyro_counts[axis]
                raw.accel_counts[axis] = part.accel_counts[axis]
        if role & ROLE_STEER:
            raw.steer_counts = part.steer_counts
        if role & ROLE_WHEEL:
            raw.wheel_mrad_s = part.wheel_mrad_s
        if role & ROLE_DRIVE:
            raw.torque_mNm = part.torque_mNm
            raw.bus_mV = part.bus_mV
            raw.command_seq = part.command_seq
            raw.rejected = part.rejected
        if not role & ROLE_DRIVE:
            raw.status |= part.status & STATUS_STOP_BUTTON
        elif role & ROLE_HEARTBEAT:  # its kill input hangs on the heartbeat, which is still until it is armed
            raw.status |= part.status & ~STATUS_STOP_BUTTON
        else:
            raw.status |= part.status
        absent = 0 if role & ROLE_IMU else FAULT_IMU
        absent |= 0 if role & ROLE_STEER else FAULT_ENCODER
        absent |= 0 if role & ROLE_DRIVE else FAULT_DRIVE | FAULT_BUS
        raw.faults |= part.faults & ~absent
        raw.off_scale |= part.off_scale


@njit(cache=True, nogil=True)
def _ages(links, t_host):
    """Ages of the readings of steer, wheel and drive against the newest inertial ones [s]. Runs inside the tick."""
    steer = wheel = drive = 0.0
    for port in range(links.size):
        role, age = links[port].role, t_host - links[port].taken
        if role & ROLE_IMU:
            continue
        if not age < math.inf:
            age = 0.0  # nothing came yet: its silence tells
        if role & ROLE_STEER:
            steer = age
        if role & ROLE_WHEEL:
            wheel = age
        if role & ROLE_DRIVE:
            drive = age
    return steer, wheel, drive


@njit(cache=True, nogil=True)
def _ask_law(loop, place, steered, held_back):
    """Let the control law take its step; returns its wish [N m, rad/s or rad]. Runs inside the tick."""
    if loop.supervisor.state == _DISARMED or loop.supervisor.state == _FAULT:
        loop.law_state[:] = 0.0  # it starts anew whenever the machine is armed
    tell_signals(loop.signals, loop.estimate, loop.sample, loop.news.T_req, loop.news.fresh, steered)
    if loop.tracking.on:
        tell_where(loop.tracking, loop.route, loop.on_route, loop.place, loop.signals, steered)
        if held_back:
            loop.signals.psi = loop.signals.y_P = 0.0
    follow_reference(loop.reference, loop.references, place, steered)
    wish = wished_torque(loop.law, loop.settings, loop.law_state, loop.signals, loop.reference, loop.wish)
    return wish + loop.on_route.T if loop.on_route.T != 0.0 else wish


@njit(cache=True, nogil=True)
def _encode(loop, wire, send, t_host):
    """Encode the supervisor's command for every drive, or silence, and requests for devices that answer when asked.

    Runs inside the tick.
    """
    command, pulse = loop.command, loop.pulse
    if send:
        pulse.seq = (pulse.seq + 1) & 0xFFFF
        command.kind = loop.limits.kind
        command.T_cmd = drive_command(loop.supervisor.T_cmd, loop.limits.kind, loop.calibration)
        command.flags = loop.supervisor.flags
        if loop.limits.node_step > 0.0:
            command_bound(command, loop.supervisor)
        command.expiry_ms = pulse.expiry_ms
        command.seq = pulse.seq
        command.sample_seq = loop.sample.seq
    for port in range(loop.links.size):
        link = loop.links[port]
        heeds = send and link.role & (ROLE_DRIVE | ROLE_HEARTBEAT)
        wire.n_tx[port] = say(link, command, 1 if heeds else 0, wire.tx[port])
        link.asked = t_host


@njit(cache=True, nogil=True)
def farewell(loop, wire):
    """Encode zero torque and drive off, whatever the supervisor decided: the last command of a run."""
    loop.supervisor.T_cmd = loop.supervisor.bound = 0.0
    loop.supervisor.flags = 0
    loop.supervisor.send = 1
    dismiss_belt(loop.links)
    _encode(loop, wire, loop.supervisor.send, loop.pulse.t_host)


@njit(cache=True, nogil=True)
def _fill_row(loop, t_host, t_due, row):
    """Fill one row of the log. Runs inside the tick."""
    sample, e, supervisor, news = loop.sample, loop.estimate, loop.supervisor, loop.news
    counters, pulse = loop.counters, loop.pulse
    counters.ticks_late += news.late
    row.k = pulse.k
    row.t_host = t_host
    row.t_due = t_due
    row.compute = 0.0
    row.silence = news.silence
    row.host_offset = loop.timebase.offset
    row.age = loop.timebase.age
    row.t = sample.t
    row.phi_dot_meas = sample.phi_dot_meas
    row.theta_dot_meas = sample.theta_dot_meas
    row.psi_dot_meas = sample.psi_dot_meas
    row.a_x_meas = sample.a_x_meas
    row.a_y_meas = sample.a_y_meas
    row.a_z_meas = sample.a_z_meas
    row.delta_meas = sample.delta_meas
    row.v_meas = sample.v_meas
    row.T_meas = sample.T_meas
    row.bus_meas = sample.bus_meas
    row.steer_age = sample.steer_age
    _, row.wheel_age, row.drive_age = _ages(loop.links, t_host)
    row.phi_est = e.phi
    row.delta_est = e.delta
    row.phi_dot_est = e.phi_dot
    row.delta_dot_est = e.delta_dot
    row.v_est = e.v
    row.T_est = e.T
    row.gyro_bias_est = e.gyro_bias
    row.yaw_bias_est = e.yaw_bias
    row.T_req = news.T_req
    row.T_cmd = supervisor.T_cmd
    row.verdict = supervisor.verdict
    row.cause = supervisor.cause
    row.seq = sample.seq
    row.command_seq = pulse.seq
    row.acked_seq = sample.command_seq
    row.state = supervisor.state
    row.status = sample.status
    row.faults = sample.faults
    row.valid = news.fresh
    row.symptoms = news.symptoms
    row.demand = news.demand
    row.acknowledged = news.acknowledged
    row.attended = news.attended
    row.recording = news.recording
    row.tested = news.tested
    row.late = news.late
    row.frames_ok = row.frames_bad_crc = row.frames_bad_length = row.frames_bad_version = 0
    row.bytes_skipped = row.samples_lost = 0
    for port in range(loop.links.size):
        receiver = loop.links[port].receiver
        row.frames_ok += receiver.frames_ok
        row.frames_bad_crc += receiver.frames_bad_crc
        row.frames_bad_length += receiver.frames_bad_length
        row.frames_bad_version += receiver.frames_bad_version
        row.bytes_skipped += receiver.bytes_skipped
        row.samples_lost += receiver.samples_lost
    fill_place(loop.tracking, loop.place, row)
    fill_pace(loop.pace, loop.pacing, row)
    row.samples_stale = counters.samples_stale
    row.ticks_late = counters.ticks_late
    row.ticks_skipped = counters.ticks_skipped
    row.write_short = counters.write_short
