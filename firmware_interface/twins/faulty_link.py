"""Line with delay and damage.

It lies between node and computer, as slow as its baud rate and as damaged as the faults ask for. A ``MAIL`` is one way
of the line: frames are posted, cut or multiplied into parcels by the faults, and fetched once they are due. Without
faults what is fetched is what was posted. An attacker on the line hears every frame posted, whatever becomes of it, and
what he says is not damaged: see `line_attack.py`.
"""

import math

import numpy as np

from riderless.firmware_interface.framing import DELIMITER, MAX_FRAME, close_frame
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.random_stream import draw_uniform
from riderless.firmware_interface.twins.faults import FaultKind
from riderless.firmware_interface.twins.line_attack import EAVESDROPPER, eavesdrop, forge, is_attacked, repeat, silences

_PARCELS = 128
_ROOM = MAX_FRAME  # bytes of a parcel
_INSTANT = 1e-9  # s; closer than this is at once

(_FLIP, _GARBLE, _TRUNCATE, _DROP, _DUPLICATE, _REORDER, _DELAY, _BURST, _SPLIT, _NOISE, _VERSION) = (
    int(kind) for kind in FaultKind if kind <= FaultKind.VERSION
)

MAIL = np.dtype(
    [
        ("byte_time", "f8"),  # s a byte takes; 0 for a line without a speed
        ("free", "f8"),  # when the line has carried all it was given
        # parcels under way, in the order in which they arrive
        ("first", "i8"),
        ("count", "i8"),
        ("due", "f8", (_PARCELS,)),  # s
        ("size", "i8", (_PARCELS,)),
        ("bytes", "u1", (_PARCELS, _ROOM)),
        ("lost", "u4"),  # bytes there was no room for
        # the frame being posted, noise before it, and the one that a swap holds back
        ("frame", "u1", (_ROOM,)),
        ("noise", "u1", (_ROOM,)),
        ("swapped", "u1", (_ROOM,)),
        ("n_swapped", "i8"),
        ("spy", EAVESDROPPER),
    ],
    align=True,
)


def new_mail(byte_time: float = 0.0) -> np.void:
    """Make one way of a line with nothing under way, a record of ``MAIL``."""
    mail = np.zeros(1, MAIL)[0]
    mail["byte_time"] = byte_time
    return mail


@njit(cache=True, nogil=True)
def _below(fault, n):
    """Random whole number from 0 to below ``n``."""
    return int(draw_uniform(fault) * n)


@njit(cache=True, nogil=True)
def post(mail, faults, way, data, n, t, now):
    """Send ``data[:n]`` frame by frame.

    Parameters
    ----------
    mail : record of type ``MAIL``
    faults : (m,) array of ``FAULT_RECORD``
    way : int
        TO_COMPUTER or TO_NODE: faults of the other way are not played.
    data : uint8 array
    n : int
    t : float
        s since power-up, by which the faults go.
    now : float
        s, the clock of the line.
    """
    start, attacked = 0, is_attacked(faults, way)
    for i in range(n):
        full = i + 1 - start == _ROOM
        if full or i + 1 == n or (faults.size > 0 and data[i] == DELIMITER):
            size = i + 1 - start
            for j in range(size):
                mail.frame[j] = data[start + j]
            if attacked:
                _post_attacked(mail, faults, way, size, t, now)
            else:
                _post_frame(mail, faults, way, size, t, now)
            start = i + 1
    if attacked:
        for k in range(faults.size):
            _post_repeated(mail, faults[k], way, t, now)


@njit(cache=True, nogil=True)
def _post_attacked(mail, faults, way, n, t, now):
    """Post the frame in ``mail.frame[:n]`` while somebody listens, with what he says behind it."""
    for k in range(faults.size):
        if silences(faults[k], way, t):
            return
    eavesdrop(mail.spy, mail.frame, n, t)
    forged = 0
    for k in range(faults.size):
        if forged == 0:
            forged = forge(faults[k], way, mail.frame, n, t, mail.spy.said)
    _post_frame(mail, faults, way, n, t, now)
    _put(mail, mail.spy.said, 0, forged, 0.0, 0.0, 0.0, now)


@njit(cache=True, nogil=True)
def _post_repeated(mail, fault, way, t, now):
    """Post what an attacker says again by now."""
    size = repeat(mail.spy, fault, way, t, mail.spy.said)
    while size > 0:
        _put(mail, mail.spy.said, 0, size, 0.0, 0.0, 0.0, now)
        size = repeat(mail.spy, fault, way, t, mail.spy.said)


@njit(cache=True, nogil=True)
def fetch(mail, now, out):
    """Write the bytes that have arrived by ``now`` to ``out``, as many parcels as it holds; returns their number."""
    n = 0
    while mail.count > 0 and mail.due[mail.first] <= now + _INSTANT:
        size = mail.size[mail.first]
        if n + size > out.size:
            break
        for i in range(size):
            out[n + i] = mail.bytes[mail.first, i]
        n += size
        mail.first = (mail.first + 1) % _PARCELS
        mail.count -= 1
    return n


@njit(cache=True, nogil=True)
def next_arrival(mail):
    """Time at which the next parcel arrives [s]; infinite if none is under way."""
    return mail.due[mail.first] if mail.count > 0 else np.inf


@njit(cache=True, nogil=True)
def _post_frame(mail, faults, way, n, t, now):
    """Put the frame in ``mail.frame[:n]`` through the faults and onto the line."""
    copies, swap, cut, n_noise = 1, False, 0, 0
    gap = delay = burst = 0.0
    for i in range(faults.size):
        fault = faults[i]
        if fault.kind > _VERSION or not fault.way & way or not fault.start <= t < fault.stop:
            continue
        if n == 0 or draw_uniform(fault) >= fault.chance:
            continue
        if fault.kind == _DROP:
            n = 0
        elif fault.kind == _TRUNCATE:
            n -= min(n, 1 + _below(fault, fault.size))
        elif fault.kind == _DUPLICATE:
            copies = 2
        elif fault.kind == _REORDER:
            swap = True
        elif fault.kind == _DELAY:
            delay += fault.size
        elif fault.kind == _BURST:
            burst = fault.size
        elif fault.kind == _SPLIT:
            cut = 1 + _below(fault, n - 1) if n > 1 else 0
            gap = fault.size
        elif fault.kind == _NOISE:
            n_noise = 1 + _below(fault, fault.size)
            for j in range(n_noise):
                mail.noise[j] = _below(fault, 256)
        elif fault.kind == _VERSION:
            _pretend_version(mail.frame, n, int(fault.size))
        else:
            _damage(fault, mail.frame, n)

    if swap and mail.n_swapped == 0:  # held back until the next frame has gone
        mail.n_swapped = n
        for j in range(n):
            mail.swapped[j] = mail.frame[j]
        return
    _put(mail, mail.noise, 0, n_noise, 0.0, delay, burst, now)
    for _ in range(copies):
        _put(mail, mail.frame, 0, cut, 0.0, delay, burst, now)
        _put(mail, mail.frame, cut, n, gap, delay, burst, now)
    _put(mail, mail.swapped, 0, mail.n_swapped, 0.0, delay, burst, now)
    mail.n_swapped = 0


@njit(cache=True, nogil=True)
def _damage(fault, frame, n):
    """Flip bits anywhere, or replace bytes in a row."""
    if fault.kind == _FLIP:
        for _ in range(int(fault.size)):
            bit = _below(fault, 8 * n)
            frame[bit // 8] ^= np.uint8(1 << bit % 8)
    else:
        first = _below(fault, n)
        for j in range(first, min(n, first + int(fault.size))):
            frame[j] = _below(fault, 256)


@njit(cache=True, nogil=True)
def _pretend_version(frame, n, version):
    """Rewrite a whole frame as one of another protocol version, with the right CRC."""
    i = int(frame[0])
    while 0 < i < n - 1:  # undo COBS: each zero was replaced by the way to the next
        step = int(frame[i])
        frame[i] = 0
        i += max(step, 1)
    if n > 4:
        frame[1] = version
        close_frame(frame, n - 4)


@njit(cache=True, nogil=True)
def _put(mail, data, start, stop, gap, delay, burst, now):
    """Put one parcel onto the line: it leaves ``gap`` after the last, as fast as the line is, and overtakes nothing."""
    n = stop - start
    if n <= 0:
        return
    if mail.count == _PARCELS:
        mail.lost += n
        return
    mail.free = max(mail.free, now) + gap + n * mail.byte_time
    due = mail.free + delay
    if burst > 0.0:
        due = math.ceil(due / burst - 1e-9) * burst
    if mail.count > 0:
        due = max(due, mail.due[(mail.first + mail.count - 1) % _PARCELS])
    slot = (mail.first + mail.count) % _PARCELS
    mail.due[slot] = due
    mail.size[slot] = n
    for i in range(n):
        mail.bytes[slot, i] = data[start + i]
    mail.count += 1
