"""Rules of the node, compiled.

They tell what the microcontroller does with the bytes.

The virtual node (``twins/virtual_node.py``) runs this core against a plant on a pseudo-terminal, the lockstep
runner calls it straight from compiled code. It is also what a firmware in C has to do; the rules
are told in ``docs/node-protocol.md``.

At each sampling instant, in this order, so that a command computed from one sample acts from the
next sampling instant on::

    plant.advance(T, enabled, dt)            the period that ends now, under the torque latched before
    firmware_receive(fw, decoder, rx, n)     bytes that have come in since
    T = firmware_latch(fw, t)                newest command; watchdog, expiry, limit
    n = firmware_sample(fw, readings, bus, out)    the sample of this instant; the guard looks at it

``twins/faulty_node.py`` goes through these steps with everything that can go wrong in between.
"""

import numpy as np

from riderless.firmware_interface.calibration import (
    INT16_MAX,
    INT16_MIN,
    INT32_MAX,
    INT32_MIN,
    steer_command,
    to_counts,
)
from riderless.firmware_interface.framing import next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_BOUND,
    COMMAND_KIND_TORQUE,
    FAULT_ENCODER,
    FAULT_GUARD_CHANGE,
    FAULT_GUARD_LEAN,
    FAULT_GUARD_STEER,
    FAULT_GUARD_STILL,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_SATURATED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.node.layouts import FRAME_COMMAND, FRAME_HELLO_REQUEST, RESET_BROWN_OUT
from riderless.firmware_interface.node.protocol import (
    decode_command,
    encode_hello,
    encode_sample,
    frame_seq,
    frame_type,
    request_guard,
    request_kind,
    request_nonce,
)

# Guard of the node, compiled: limits that it keeps by itself, whatever the computer commands (rule 11).

STILL_TORQUE_mNm = 1500  # above it the encoder has to count
_PATIENCE = 10  # 1/s: of 100 ms without a count, or of torques cut
_LEAN_SECONDS = 16
_RADIAN = 1 << 30  # of the lean
_MRAD = 1073742
_LEAN_MAX = 1686629713  # pi/2
_G = 642689  # 2^-16 m/s^2
_SINE_OF_FORCE = 1671  # 2^-30 per 2^-16 m/s^2


@njit(cache=True, nogil=True)
def restart_guard(fw):
    """Take the limits of the request into force, none wider than the node's bounds, and begin to watch anew."""
    fw.hello.steer_limit_counts = _narrower(fw.guard.steer_limit_counts, fw.bounds.steer_limit_counts)
    fw.hello.lean_limit_mrad = _narrower(fw.guard.lean_limit_mrad, fw.bounds.lean_limit_mrad)
    fw.hello.torque_step_mNm = _narrower(fw.guard.torque_step_mNm, fw.bounds.torque_step_mNm)
    fw.lean = fw.lean_drift = fw.lean_samples = 0
    fw.still = fw.cut = 0
    fw.struck = 0


@njit(cache=True, nogil=True)
def _forget_guard(fw):
    """Guard by the node's own bounds, as after power-up: lean is not known without the scales of a request."""
    guard = fw.guard
    guard.steer_zero_counts = guard.steer_limit_counts = guard.lean_limit_mrad = guard.torque_step_mNm = 0
    for i in range(4):
        guard.roll[i] = guard.yaw[i] = guard.side[i] = 0
    guard.speed_scale = 0
    restart_guard(fw)


@njit(cache=True, nogil=True)
def _makes_torque(fw):
    return fw.kind == COMMAND_KIND_TORQUE or fw.kind == COMMAND_KIND_BOUND


@njit(cache=True, nogil=True)
def _narrower(wanted, bound):
    return wanted if 0 < wanted < bound else bound


@njit(cache=True, nogil=True)
def cut_torque(fw, wanted_mNm):
    """Torque [mN m] of this instant for the one wanted: it follows by at most the limit of its change."""
    step, last = np.int64(fw.hello.torque_step_mNm), np.int64(np.rint(1e3 * fw.value))
    cut = min(max(wanted_mNm, last - step), last + step)
    if cut != wanted_mNm:
        fw.cut += 1
        if _PATIENCE * fw.cut > fw.hello.rate_hz:
            fw.struck |= FAULT_GUARD_CHANGE
    elif fw.cut > 0:
        fw.cut -= 1
    return cut


@njit(cache=True, nogil=True)
def watch(fw):
    """Watch what ``fw.raw`` has measured at this instant; while the drive is enabled, note what is beyond its limit."""
    raw = fw.raw
    _estimate_lean(fw)
    value_mNm = np.int64(np.rint(1e3 * fw.value))
    pushing = fw.enabled and _makes_torque(fw) and abs(value_mNm) > STILL_TORQUE_mNm
    fw.still = fw.still + 1 if pushing and raw.steer_counts == fw.last_steer else 0
    fw.last_steer = raw.steer_counts
    if not fw.enabled:
        return
    if fw.bounds.steer_limit_counts > 0:
        if raw.steer_counts == INT32_MIN:
            fw.struck |= FAULT_ENCODER
        elif abs(np.int64(raw.steer_counts) - fw.guard.steer_zero_counts) > fw.hello.steer_limit_counts:
            fw.struck |= FAULT_GUARD_STEER
        if _PATIENCE * fw.still >= fw.hello.rate_hz:
            fw.struck |= FAULT_GUARD_STILL
    if fw.bounds.lean_limit_mrad > 0 and abs(fw.lean) > _MRAD * np.int64(fw.hello.lean_limit_mrad):
        fw.struck |= FAULT_GUARD_LEAN


@njit(cache=True, nogil=True)
def _estimate_lean(fw):
    """Advance ``fw.lean`` [2^-30 rad] by an instant; a gyro at an end of its scale turns at least so fast."""
    raw, guard = fw.raw, fw.guard
    turned = _weighed(guard.roll, raw.gyro_counts) + fw.lean_drift
    fw.lean = _clamped(fw.lean + (turned >> 8), _LEAN_MAX)
    if not (_off_scale(raw.gyro_counts) or _off_scale(raw.accel_counts)) and INT32_MIN < raw.wheel_mrad_s < INT32_MAX:
        _lead_lean(fw)


@njit(cache=True, nogil=True)
def _lead_lean(fw):
    """Lead the lean of the gyro to the one that holds the bicycle up."""
    raw, guard = fw.raw, fw.guard
    yaw_rate = _clamped(_weighed(guard.yaw, raw.gyro_counts) >> 12, 1 << 26)  # 2^-20 rad/s
    force = _clamped(_weighed(guard.side, raw.accel_counts) >> 12, 1 << 24)  # 2^-16 m/s^2
    speed = _clamped(np.int64(raw.wheel_mrad_s) * guard.speed_scale >> 16, 1 << 21)  # 2^-16 m/s
    sine = _SINE_OF_FORCE * _clamped((speed * yaw_rate >> 20) - force, _G)
    angle = sine + _divided((sine * sine >> 30) * sine >> 30, 6)
    error = _clamped(angle - fw.lean, _RADIAN)
    settled = _LEAN_SECONDS * np.int64(fw.hello.rate_hz)
    fw.lean_samples = min(fw.lean_samples + 1, settled)
    n = settled if fw.enabled else fw.lean_samples
    share = _divided(error, n + 1)  # of the line through n instants: (4 n - 2) / (n (n + 1)) and 6 / (n (n + 1))
    fw.lean = _clamped(fw.lean + 4 * share - _divided(2 * share, n), _LEAN_MAX)
    if n > 1:
        fw.lean_drift = _clamped(fw.lean_drift + 6 * 256 * _divided(share, n), _RADIAN)


@njit(cache=True, nogil=True)
def _weighed(row, counts):
    """Sum of the three counts by the scales of ``row``, less what it is at rest."""
    return np.int64(row[0]) * counts[0] + np.int64(row[1]) * counts[1] + np.int64(row[2]) * counts[2] - np.int64(row[3])


@njit(cache=True, nogil=True)
def _off_scale(counts):
    off = False
    for axis in range(3):
        off |= not INT16_MIN < counts[axis] < INT16_MAX
    return off


@njit(cache=True, nogil=True)
def _clamped(value, most):
    return min(max(np.int64(value), -most), most)


@njit(cache=True, nogil=True)
def _divided(value, by):
    """Quotient towards zero, as C has it."""
    return value // by if value >= 0 else -(-value // by)


_U32 = 0xFFFFFFFF
_HALF_U32 = 0x80000000  # a longer way forward is a step back
_HALF_U16 = 0x8000
_STRANGE, _ALARMING = 1, 2  # foreign commands: of no consequence, or to be told


@njit(cache=True, nogil=True)
def open_session(fw, session, kind=COMMAND_KIND_TORQUE):
    """Let commands of this session and kind count from now on, and none that came before, within ``fw.guard``."""
    fw.session, fw.kind = session, kind
    fw.newest.flags = 0
    fw.heard = fw.pending = fw.off_seen = 0
    fw.stranger = fw.foreign = 0
    fw.raw.command_seq = 0
    fw.wish = 0
    restart_guard(fw)


@njit(cache=True, nogil=True)
def firmware_receive(fw, decoder, rx, n):
    """Take ``rx[:n]`` off the line; remember the newest command and whether HELLO was asked for.

    A command counts if it is of this session, answers one of the samples of the last watchdog's time, and is newer
    than the one before. Its age counts from the instant of the sample it answers, so it is never underestimated.

    Parameters
    ----------
    fw : record of type ``FIRMWARE``
    decoder : record of type ``DECODER``
    rx : uint8 array
    n : int
        Bytes that came in.
    """
    i = 0
    while i < n:
        i = next_frame(decoder, rx, i, n)
        if decoder.size == 0:
            continue
        kind = frame_type(decoder.payload, decoder.size)
        if kind == FRAME_COMMAND:
            decode_command(decoder.payload, decoder.size, fw.incoming)
            _take_command(fw)
        elif kind == FRAME_HELLO_REQUEST:
            _take_request(fw, decoder.payload)
        elif kind == 0:
            decoder.frames_bad_version += 1
    fw.rejected = decoder.frames_bad_crc + decoder.frames_bad_length + decoder.frames_bad_version


@njit(cache=True, nogil=True)
def _take_command(fw):
    """Let the incoming command be the newest, pass over what is late or repeated, refuse what is foreign."""
    new, newest = fw.incoming, fw.newest
    behind = (np.int64(fw.seq) - 1 - np.int64(new.sample_seq)) & _U32  # samples sent since the one it answers
    ours = fw.session != 0 and new.session == fw.session and new.kind == fw.kind
    if not ours or behind >= fw.window:
        _refuse(fw, not ours or new.flags & COMMAND_ENABLE != 0)
        return
    if fw.heard:
        ahead = (np.int64(new.seq) - np.int64(newest.seq)) & 0xFFFF
        older_sample = (np.int64(new.sample_seq) - np.int64(newest.sample_seq)) & _U32 >= _HALF_U32
        if ahead == 0 or ahead >= _HALF_U16 or older_sample:
            if not older_sample and not _same(new, newest):  # two speak: numbers and samples do not go together
                _refuse(fw, new.flags & COMMAND_ENABLE != 0)
            return
    newest.seq = new.seq
    newest.T_cmd = new.T_cmd
    newest.expiry_ms = new.expiry_ms
    newest.sample_seq = new.sample_seq
    newest.session = new.session
    newest.flags = new.flags
    newest.kind = new.kind
    fw.heard = fw.pending = 1
    fw.heard_us = fw.now_us - behind * fw.period_us


@njit(cache=True, nogil=True)
def _same(one, other):
    """Tell whether two commands of a session are one and the same."""
    numbered = one.seq == other.seq and one.sample_seq == other.sample_seq and one.flags == other.flags
    return numbered and one.T_cmd == other.T_cmd and one.expiry_ms == other.expiry_ms


@njit(cache=True, nogil=True)
def _refuse(fw, alarming):
    """Count a foreign command; one that wants the drive, or does not know the session, is told in any case."""
    fw.refused += 1
    fw.stranger = _ALARMING if alarming or fw.stranger == _ALARMING else _STRANGE


@njit(cache=True, nogil=True)
def _take_request(fw, payload):
    """Note that HELLO is asked for, and open a session if the request brings a nonce and a kind that is obeyed."""
    nonce, kind = request_nonce(payload), request_kind(payload)
    fw.hello_pending = 1
    fw.hello.seq = frame_seq(payload)
    if kind > COMMAND_KIND_BOUND or fw.hello.obeys >> kind & 1 == 0:
        nonce = 0
    if nonce != 0 and (nonce != fw.nonce or kind != fw.kind):
        if fw.enabled:  # somebody else wants a drive that is in use
            _refuse(fw, True)
            nonce = 0
        else:
            fw.nonce = nonce
            session = nonce ^ fw.salt
            request_guard(payload, fw.guard)
            open_session(fw, session if session != 0 else 1, kind)
    fw.hello.session = fw.session if nonce != 0 else 0
    fw.hello.kind = fw.kind if nonce != 0 else 0


@njit(cache=True, nogil=True)
def firmware_latch(fw, t):
    """Decide the torque, rate or angle from the sampling instant ``t`` (s since power-up) to the next.

    Returns
    -------
    float
        N m, rad/s or rad by the session's kind, positive to the right; a torque and a rate are zero unless enabled.
    """
    fw.now_us = int(np.rint(1e6 * t)) - fw.boot_us
    if fw.pending:
        fw.pending = 0
        fw.commands += 1
        fw.raw.command_seq = fw.newest.seq
    age_us = fw.now_us - fw.heard_us
    fresh = age_us < 1000 * np.int64(fw.newest.expiry_ms)
    _decide_enabled(fw, age_us, fresh)
    if fw.stranger:
        fw.enabled = fw.off_seen = 0
        fw.foreign = 1 if fw.stranger == _ALARMING or fw.newest.flags & COMMAND_ENABLE else fw.foreign
        fw.stranger = 0

    saturated = False
    if fw.enabled and fresh:
        limit, requested = fw.limits[fw.kind], fw.newest.T_cmd
        if fw.kind == COMMAND_KIND_BOUND:
            requested = 1e-3 * _clamped(fw.wish, max(np.int64(np.rint(1e3 * requested)), 0))
        wanted = min(max(requested, -limit), limit)
        saturated = abs(requested) >= limit
        if _makes_torque(fw):
            wanted_mNm = np.int64(np.rint(1e3 * wanted))
            cut_mNm = cut_torque(fw, wanted_mNm)
            wanted = wanted if cut_mNm == wanted_mNm else 1e-3 * cut_mNm
        fw.value = wanted
    elif not fw.enabled or fw.kind != COMMAND_KIND_ANGLE:  # an angle is held
        fw.value = 0.0
    if _makes_torque(fw):
        fw.T = fw.cal.torque_sign * fw.value
    else:
        fw.T = steer_command(fw.value, fw.kind, fw.cal) if fw.enabled else 0.0
    fw.heartbeat ^= fw.enabled  # an edge at each instant while enabled
    fw.raw.status = (
        (STATUS_ENABLED if fw.enabled else 0)
        | (STATUS_WATCHDOG if fw.tripped else 0)
        | (STATUS_STOP_BUTTON if fw.stop_button else 0)
        | (STATUS_SATURATED if saturated else 0)
        | (STATUS_FOREIGN if fw.foreign else 0)
    )
    return fw.T


@njit(cache=True, nogil=True)
def _decide_enabled(fw, age_us, fresh):
    """Decide whether the drive is on; what is disabled needs ENABLE off, then on, to come back.

    Parameters
    ----------
    fw : record of type ``FIRMWARE``
    age_us : int
        Of the newest command.
    fresh : bool
        It has not expired.
    """
    alive = fw.heard and age_us < fw.watchdog_us
    if fw.newest.flags & COMMAND_ENABLE == 0:  # also before the first command
        fw.enabled = 0
        if fw.heard:
            fw.off_seen = 1
            if fw.newest.flags & COMMAND_CLEAR:
                fw.tripped = 0
    elif fw.stop_button or fw.faults or fw.struck:
        fw.enabled = 0
        fw.off_seen = 0
    elif fw.enabled and not alive:
        fw.enabled = 0
        fw.off_seen = 0
        fw.tripped = 1
        fw.trips += 1
    elif alive and fw.off_seen and not fw.tripped and not fw.foreign and _has_value(fw, fresh):
        fw.enabled = 1


@njit(cache=True, nogil=True)
def _has_value(fw, fresh):
    """Tell whether a drive that is switched on now knows what to do: a void angle is none that could be held."""
    return fresh or fw.kind != COMMAND_KIND_ANGLE


@njit(cache=True, nogil=True)
def firmware_sample(fw, readings, bus, out):
    """Measure, and write the SAMPLE frame of the latest sampling instant to ``out``.

    Parameters
    ----------
    fw : record of type ``FIRMWARE``
    readings : (9,) float64 array
        As for ``calibration.to_counts``.
    bus : float
        V, supply of the drive.
    out : uint8 array

    Returns
    -------
    int
        Bytes of the frame.
    """
    firmware_measure(fw, readings, bus)
    return encode_sample(fw.raw, out)


@njit(cache=True, nogil=True)
def firmware_measure(fw, readings, bus):
    """Measure into ``fw.raw`` at the latest sampling instant, and watch it; arguments as for `firmware_sample`."""
    raw = fw.raw
    to_counts(readings, fw.cal, raw)
    raw.seq = fw.seq & 0xFFFF
    raw.seq_high = np.int64(fw.seq) >> 16
    raw.t_us = fw.now_us & 0xFFFFFFFF
    raw.bus_mV = int(np.rint(1e3 * min(max(bus, 0.0), 65.535)))
    raw.faults = fw.faults | fw.struck  # as the instant was decided
    watch(fw)
    raw.rejected = fw.rejected & 0xFF
    raw.refused = fw.refused & 0xFF
    fw.seq = (np.int64(fw.seq) + 1) & _U32
    for axis in range(3):  # their last digits never rest
        for counts in (raw.gyro_counts[axis], raw.accel_counts[axis]):
            fw.salt = (np.int64(fw.salt) * 1664525 + (np.int64(counts) & 0xFFFF)) & _U32


@njit(cache=True, nogil=True)
def firmware_restart(fw, t):
    """Forget everything but the salt, as after power-up at ``t`` (s); clock and numbers begin again."""
    fw.boot_us = int(np.rint(1e6 * t))
    fw.now_us = 0
    fw.seq = 0
    fw.heard = fw.pending = fw.hello_pending = 0
    fw.session = fw.nonce = fw.kind = fw.stranger = fw.refused = 0
    fw.newest.flags = 0
    fw.newest.seq = 0
    fw.heard_us = 0
    fw.enabled = fw.off_seen = fw.tripped = fw.foreign = 0
    fw.heartbeat = 0
    fw.value = fw.T = 0.0
    fw.hello.reset_cause = RESET_BROWN_OUT
    _forget_guard(fw)
    fw.raw.command_seq = 0
    fw.raw.status = 0


@njit(cache=True, nogil=True)
def firmware_hello(fw, out):
    """Write the HELLO frame to ``out`` if it was asked for; returns its bytes, 0 if it was not."""
    if not fw.hello_pending:
        return 0
    fw.hello_pending = 0
    return encode_hello(fw.hello, out)
