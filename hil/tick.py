"""The tick: bytes in, bytes out. The whole controller, short enough to read aloud.

    bytes -> Sample -> Estimate -> Request -> Verdict -> Command -> bytes, and one row of the log

It is pure (all state lies in the `Loop` handed to it), allocates nothing, does no input or output
and never meets the interpreter. The lockstep runner, the real-time runner and the replay call this
same function; only what carries its bytes differs.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from firmware_interface.calibration import CLOCK, calibrate, drive_torque
from firmware_interface.messages import COMMAND, RAW, SAMPLE
from firmware_interface.node import encode_command, new_receiver, receive
from hil.design.schedule import GainSchedule
from hil.estimator import ESTIMATE, follow_drive, observe
from hil.record import COUNTERS
from hil.rig import Rig
from hil.states import State
from hil.supervisor import new_supervisor, supervise

RX_SIZE, TX_SIZE = 4096, 64  # bytes
FAREWELL = 5  # how many times zero torque is sent at the end

_RUNNING, _RAMPDOWN = int(State.RUNNING), int(State.RAMPDOWN)
_COUNTERS = np.dtype([(name, "u4") for name in COUNTERS])
_PULSE = np.dtype([("k", "i8"), ("t_host", "f8"), ("seq", "i8"), ("dt", "f8"), ("expiry_ms", "i8")])


class Loop(NamedTuple):
    """Everything the tick knows: records, which compiled code and Python share."""

    # settings, constant during a run
    calibration: np.void
    observer: np.void
    limits: np.void
    speeds: np.ndarray  # (n,) m/s
    gains: np.ndarray  # (n, 6)
    # state
    receiver: np.void
    clock: np.void
    raw: np.void
    sample: np.void
    estimate: np.void
    supervisor: np.void
    command: np.void
    counters: np.void
    pulse: np.void
    # from outside
    operator: np.ndarray  # (2,) i8: Demand, fault acknowledged


def new_loop(rig: Rig, schedule: GainSchedule, calibration: np.void) -> Loop:
    """A disarmed loop for a rig under a schedule; ``calibration`` as given by Calibration.as_record()."""
    pulse = _zero(_PULSE)
    pulse["dt"] = rig.dt
    pulse["expiry_ms"] = round(rig.watchdog * 1e3)
    return Loop(
        calibration=calibration,
        observer=rig.observer.as_record(rig.bicycle, rig.dt, rig.drive_lag, rig.x_imu, rig.z_imu),
        limits=rig.limits.as_record(),
        speeds=np.array(schedule.v, float),
        gains=np.array(schedule.K, float),
        receiver=new_receiver(),
        clock=_zero(CLOCK),
        raw=_zero(RAW),
        sample=_zero(SAMPLE),
        estimate=_zero(ESTIMATE),
        supervisor=new_supervisor(rig.watchdog),
        command=_zero(COMMAND),
        counters=_zero(_COUNTERS),
        pulse=pulse,
        operator=np.zeros(2, np.int64),
    )


def _zero(dtype: np.dtype) -> np.void:
    return np.zeros(1, dtype)[0]


@njit(cache=True, nogil=True)
def tick(loop, rx, n_rx, t_host, t_due, row, tx):
    """One beat of the controller. Runs inside the tick.

    Parameters
    ----------
    loop : Loop
    rx, n_rx : uint8 array and the number of its bytes that came in since the last tick
    t_host, t_due : float
        When this tick woke and when it should have [s, host clock].
    row : record of TICK, filled.
    tx : uint8 array (TX_SIZE,), filled.

    Returns
    -------
    int
        Bytes of ``tx`` to send; 0 when a command would not rest on a fresh sample.
    """
    supervisor, estimate, sample = loop.supervisor, loop.estimate, loop.sample
    elapsed = _beat(loop.pulse, t_host)

    fresh, clean = _listen(loop, rx, n_rx)
    if fresh:
        held = supervisor.state != _RUNNING and supervisor.state != _RAMPDOWN
        observe(loop.observer, estimate, sample, held)
    T_req = _wish(loop.speeds, loop.gains, estimate)
    supervise(
        supervisor,
        loop.limits,
        sample,
        estimate,
        fresh,
        clean,
        T_req,
        loop.operator[0],
        loop.operator[1] != 0,
        elapsed,
    )
    follow_drive(loop.observer, estimate, supervisor.T_cmd if supervisor.send else estimate.u_prev)
    n_tx = _speak(loop, tx) if supervisor.send else 0
    _note(loop, fresh, T_req, t_host, t_due, row)
    return n_tx


@njit(cache=True, nogil=True)
def _beat(pulse, t_host):
    """Time since the last tick [s]. Runs inside the tick."""
    elapsed = t_host - pulse.t_host if pulse.k > 0 else pulse.dt
    pulse.t_host = t_host
    pulse.k += 1
    return elapsed


@njit(cache=True, nogil=True)
def _listen(loop, rx, n_rx):
    """Bytes to the newest sample: (a usable one came, nothing was lost or broken). Runs inside the tick."""
    receiver = loop.receiver
    before = _troubles(receiver)
    came = receive(receiver, rx, n_rx, loop.raw)
    clean = _troubles(receiver) == before
    if came > 0:
        calibrate(loop.raw, loop.calibration, loop.clock, loop.sample)
    fresh = came > 0 and loop.sample.valid == 1
    if not fresh:
        loop.counters.samples_stale += 1
    return fresh, clean


@njit(cache=True, nogil=True)
def _troubles(receiver):
    """How often a frame was broken or missing so far. Runs inside the tick."""
    return receiver.frames_bad_crc + receiver.frames_bad_length + receiver.frames_bad_version + receiver.samples_lost


@njit(cache=True, nogil=True)
def _wish(speeds, gains, e):
    """The controller: T = -K(v) [phi, delta, phi_dot, delta_dot, T, u_prev]. Runs inside the tick."""
    last = speeds.size - 1
    i = np.searchsorted(speeds, e.v) - 1
    i = min(max(i, 0), max(last - 1, 0))
    j = min(i + 1, last)
    part = (e.v - speeds[i]) / (speeds[j] - speeds[i]) if j > i else 0.0
    part = min(max(part, 0.0), 1.0)
    T = 0.0
    for n, z in enumerate((e.phi, e.delta, e.phi_dot, e.delta_dot, e.T, e.u_prev)):
        T -= (gains[i, n] + part * (gains[j, n] - gains[i, n])) * z
    return T


@njit(cache=True, nogil=True)
def _speak(loop, tx):
    """The supervisor's command as bytes. Runs inside the tick."""
    command, pulse = loop.command, loop.pulse
    pulse.seq = (pulse.seq + 1) & 0xFFFF
    command.T_cmd = drive_torque(loop.supervisor.T_cmd, loop.calibration)
    command.flags = loop.supervisor.flags
    command.expiry_ms = pulse.expiry_ms
    command.seq = pulse.seq
    command.sample_seq = loop.sample.seq
    return encode_command(command, tx)


@njit(cache=True, nogil=True)
def farewell(loop, tx):
    """Zero torque, drive off, whatever the supervisor thinks: the loop's last words, in bytes."""
    loop.supervisor.T_cmd = 0.0
    loop.supervisor.flags = 0
    return _speak(loop, tx)


@njit(cache=True, nogil=True)
def _note(loop, fresh, T_req, t_host, t_due, row):
    """Fill one row of the log. Runs inside the tick."""
    sample, e, supervisor = loop.sample, loop.estimate, loop.supervisor
    counters, receiver, pulse = loop.counters, loop.receiver, loop.pulse
    row.k = pulse.k
    row.t_host = t_host
    row.t_due = t_due
    row.compute = 0.0
    row.age = supervisor.since_sample
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
    row.phi_est = e.phi
    row.delta_est = e.delta
    row.phi_dot_est = e.phi_dot
    row.delta_dot_est = e.delta_dot
    row.v_est = e.v
    row.T_est = e.T
    row.gyro_bias_est = e.gyro_bias
    row.yaw_bias_est = e.yaw_bias
    row.T_req = T_req
    row.T_cmd = supervisor.T_cmd
    row.verdict = supervisor.verdict
    row.cause = supervisor.cause
    row.seq = sample.seq
    row.command_seq = pulse.seq
    row.acked_seq = sample.command_seq
    row.state = supervisor.state
    row.status = sample.status
    row.faults = sample.faults
    row.valid = 1 if fresh else 0
    row.frames_ok = receiver.frames_ok
    row.frames_bad_crc = receiver.frames_bad_crc
    row.frames_bad_length = receiver.frames_bad_length
    row.frames_bad_version = receiver.frames_bad_version
    row.bytes_skipped = receiver.bytes_skipped
    row.samples_lost = receiver.samples_lost
    row.samples_stale = counters.samples_stale
    row.ticks_late = counters.ticks_late
    row.write_short = counters.write_short
