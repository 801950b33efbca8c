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

from riderless.firmware_interface.calibration import steer_command, to_counts
from riderless.firmware_interface.framing import next_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_TORQUE,
    STATUS_ENABLED,
    STATUS_FOREIGN,
    STATUS_SATURATED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)
from riderless.firmware_interface.node.guard import cut_torque, forget_guard, restart_guard, watch
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
    if kind > COMMAND_KIND_ANGLE or fw.hello.obeys >> kind & 1 == 0:
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
        limit = fw.limits[fw.kind]
        wanted = min(max(fw.newest.T_cmd, -limit), limit)
        saturated = abs(fw.newest.T_cmd) >= limit
        if fw.kind == COMMAND_KIND_TORQUE:
            wanted_mNm = np.int64(np.rint(1e3 * wanted))
            cut_mNm = cut_torque(fw, wanted_mNm)
            wanted = wanted if cut_mNm == wanted_mNm else 1e-3 * cut_mNm
        fw.value = wanted
    elif not fw.enabled or fw.kind != COMMAND_KIND_ANGLE:  # an angle is held
        fw.value = 0.0
    if fw.kind == COMMAND_KIND_TORQUE:
        fw.T = fw.cal.torque_sign * fw.value
    else:
        fw.T = steer_command(fw.value, fw.kind, fw.cal) if fw.enabled else 0.0
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
    fw.value = fw.T = 0.0
    fw.hello.reset_cause = RESET_BROWN_OUT
    forget_guard(fw)
    fw.raw.command_seq = 0
    fw.raw.status = 0


@njit(cache=True, nogil=True)
def firmware_hello(fw, out):
    """Write the HELLO frame to ``out`` if it was asked for; returns its bytes, 0 if it was not."""
    if not fw.hello_pending:
        return 0
    fw.hello_pending = 0
    return encode_hello(fw.hello, out)
