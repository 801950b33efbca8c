"""Node with faults, over one sampling instant.

The virtual node (``virtual_node.py``) and the lockstep runner call these same compiled functions; without
faults they do what ``node/rules.py`` prescribes and nothing else. In each period::

    plant.advance(*drive_output(node, t), dt)        the torque the drive really makes
    post(node.down, ..., command)                    bytes from the computer
    sampling_instant(node, readings, bus, t, now)    take them, decide, measure, say
    fetch(node.up, now, rx)                          bytes for the computer
"""

import math
from typing import NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import TORQUE_READING
from riderless.firmware_interface.framing import MAX_FRAME, new_decoder
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import FAULT_DRIVE
from riderless.firmware_interface.node.protocol import encode_sample
from riderless.firmware_interface.node.rules import (
    firmware_hello,
    firmware_latch,
    firmware_measure,
    firmware_receive,
    firmware_restart,
)
from riderless.firmware_interface.random_stream import draw_uniform
from riderless.firmware_interface.twins.faults import TO_COMPUTER, FaultKind, Faults, pack_faults
from riderless.firmware_interface.twins.faulty_link import fetch, new_mail, post

_RX_SIZE = 4096  # bytes
_REPORT_LAG = 0.005  # s, of a drive that reports what it was asked for
_NEVER_us = 2**62
_NOT_PLAYED = -1  # a kind of fault that this node does not have: what the node does itself holds

(
    _SLOWING,
    _RESET,
    _CLOCK_JUMP,
    _CLOCK_WRAP,
    _SEQ_WRAP,
    _HELLO_NAN,
    _STOP_BUTTON,
    _WATCHDOG_DEAD,
    _BUS,
    _STUCK,
    _BIAS,
    _SCALE,
    _NOISY,
    _SLIP,
    _READS,
    _DRIVE_GAIN,
    _DRIVE_LIES,
    _DRIVE_CLAMP,
    _DRIVE_TRIPS,
    _DRIVE_HOLDS,
    _DRIFT,
) = (int(kind) for kind in FaultKind if FaultKind.SLOWING <= kind <= FaultKind.DRIFT)
_DRIVE_ZERO = int(FaultKind.DRIVE_ZERO)
_UP = TO_COMPUTER


class FaultyNode(NamedTuple):
    """Node and both ways of its line."""

    firmware: np.void
    decoder: np.void
    faults: np.ndarray  # (n,) FAULT
    up: np.void  # MAIL, to the computer
    down: np.void  # MAIL, from it
    rx: np.ndarray  # bytes come in
    frame: np.ndarray  # a frame to go out


def new_faulty_node(firmware: np.void, faults: Faults = (), byte_time: float = 0.0) -> FaultyNode:
    """Make a node as after power-up; ``byte_time`` [s] is what one byte takes on its way to the computer."""
    return FaultyNode(
        firmware=firmware,
        decoder=new_decoder(),
        faults=pack_faults(faults),
        up=new_mail(byte_time),
        down=new_mail(),
        rx=np.zeros(_RX_SIZE, np.uint8),
        frame=np.zeros(MAX_FRAME, np.uint8),
    )


@njit(cache=True, nogil=True)
def drive_output(node, t):
    """Torque [N m] the drive makes since the last sampling instant, at ``t`` [s], and whether it is enabled."""
    firmware = node.firmware
    T, enabled = firmware.T, firmware.enabled != 0
    for i in range(node.faults.size):
        fault = node.faults[i]
        if not fault.start <= t < fault.stop:
            continue
        if fault.kind == _DRIVE_GAIN or fault.kind == _DRIVE_LIES:
            T = fault.size * T
        elif fault.kind == _DRIVE_CLAMP:
            T = min(max(T, -fault.size), fault.size)
        elif fault.kind == _DRIVE_ZERO:
            T += fault.size if enabled else 0.0
        elif fault.kind == _DRIVE_HOLDS:
            if not fault.begun:
                fault.begun = 1
                fault.held = T
            T, enabled = fault.held, True
    return T, enabled


@njit(cache=True, nogil=True)
def sampling_instant(node, readings, bus, t, now):
    """Go through one sampling instant: take what came in, decide, measure, and post what is to be said.

    Parameters
    ----------
    node : FaultyNode
    readings : (9,) float64 array
        As for ``calibration.to_counts``; faults of the instruments are played on it in place.
    bus : float
        V, supply of the drive.
    t : float
        s since power-up.
    now : float
        s, the clock of the line.

    Returns
    -------
    bool
        Whether the node took a sample.
    """
    firmware = node.firmware
    n = fetch(node.down, now, node.rx)
    if not _awake(node, t):
        return False
    bus = _surroundings(node, bus, t)
    _disturb(node, readings, t)
    firmware_receive(firmware, node.decoder, node.rx, n)
    firmware_latch(firmware, t)
    n = firmware_hello(firmware, node.frame)
    post(node.up, node.faults, _UP, node.frame, n, t, now)
    if _too_slow(node, t):
        return False
    firmware_measure(firmware, readings, bus)
    _misdate(node, t)
    n = encode_sample(firmware.raw, node.frame)
    post(node.up, node.faults, _UP, node.frame, n, t, now)
    return True


@njit(cache=True, nogil=True)
def obey_at(node, t, now):
    """Obey at ``t`` [s], between two samples, what has come in: a drive that does not wait for its next sample."""
    n = fetch(node.down, now, node.rx)
    if _awake(node, t):
        firmware_receive(node.firmware, node.decoder, node.rx, n)
        firmware_latch(node.firmware, t)


@njit(cache=True, nogil=True)
def _awake(node, t):
    """True if the node takes part in this instant; it may be booting."""
    firmware, awake = node.firmware, True
    for i in range(node.faults.size):
        fault = node.faults[i]
        if fault.kind == _RESET and t >= fault.start:
            if t < fault.start + fault.size:
                firmware.enabled = 0
                firmware.T = 0.0
                awake = False
            elif not fault.begun:
                fault.begun = 1
                node.decoder.filled = 0
                firmware_restart(firmware, t)
    return awake


@njit(cache=True, nogil=True)
def _too_slow(node, t):
    """True if the node misses this sample; receiving and driving go on, as if a task of their own."""
    slow = False
    for i in range(node.faults.size):
        fault = node.faults[i]
        if fault.kind == _SLOWING and fault.start <= t < fault.stop:
            slow = slow or draw_uniform(fault) < fault.chance * min(1.0, (t - fault.start) / fault.size)
    return slow


@njit(cache=True, nogil=True)
def _surroundings(node, bus, t):
    """Play what happens to the node from outside; returns the supply [V]."""
    firmware = node.firmware
    button = trip = dead = _NOT_PLAYED  # of several of a kind any one counts
    for i in range(node.faults.size):
        fault = node.faults[i]
        kind, on = fault.kind, int(fault.start <= t < fault.stop)
        if kind == _STOP_BUTTON:
            button = max(button, on)
        elif kind == _DRIVE_TRIPS:
            trip = max(trip, on)
        elif kind == _WATCHDOG_DEAD:
            dead = max(dead, on)
        elif kind == _HELLO_NAN and on:
            firmware.hello.gyro_lsb = np.nan
        elif kind == _BUS and on:
            bus = fault.size
        elif kind == _SEQ_WRAP and not fault.begun:
            fault.begun = 1
            firmware.seq = -int(np.rint(fault.start * firmware.hello.rate_hz)) & 0xFFFFFFFF
    if button != _NOT_PLAYED:
        firmware.stop_button = button
    if trip != _NOT_PLAYED:
        firmware.faults = FAULT_DRIVE if trip else 0
    if dead != _NOT_PLAYED:
        firmware.watchdog_us = _NEVER_us if dead else 1000 * np.int64(firmware.hello.watchdog_ms)
    return bus


@njit(cache=True, nogil=True)
def _disturb(node, readings, t):
    """Play the faults of instruments on ``readings`` (9,), in place."""
    for i in range(node.faults.size):
        fault = node.faults[i]
        kind, channel = fault.kind, fault.channel
        if t < fault.start or (t >= fault.stop and kind not in (_SLIP, _DRIFT)):
            continue
        if kind in (_STUCK, _DRIVE_LIES) and not fault.begun:
            fault.begun = 1
            fault.held = readings[TORQUE_READING if kind == _DRIVE_LIES else channel]
        if kind == _STUCK:
            readings[channel] = fault.held
        elif kind in (_BIAS, _SLIP):
            readings[channel] += fault.size
        elif kind == _DRIFT:
            grown = (t - fault.start) / (fault.stop - fault.start) if t < fault.stop else 1.0
            readings[channel] += grown * fault.size
        elif kind == _SCALE:
            readings[channel] *= fault.size
        elif kind == _NOISY:
            radius = math.sqrt(-2.0 * math.log(1.0 - draw_uniform(fault)))
            readings[channel] += fault.size * radius * math.cos(2.0 * math.pi * draw_uniform(fault))
        elif kind == _READS:
            readings[channel] = fault.size
        elif kind == _DRIVE_LIES:
            keep = math.exp(-1.0 / (node.firmware.hello.rate_hz * _REPORT_LAG))
            fault.held = keep * fault.held + (1.0 - keep) * node.firmware.T
            readings[TORQUE_READING] = fault.held


@njit(cache=True, nogil=True)
def _misdate(node, t):
    """Play the faults of the clock on the time stamp of the sample."""
    raw = node.firmware.raw
    for i in range(node.faults.size):
        fault = node.faults[i]
        if fault.kind == _CLOCK_JUMP and fault.start <= t < fault.stop:
            raw.t_us = (np.int64(raw.t_us) + int(np.rint(1e6 * fault.size))) & 0xFFFFFFFF
        elif fault.kind == _CLOCK_WRAP:
            raw.t_us = (np.int64(raw.t_us) - int(np.rint(1e6 * fault.start))) & 0xFFFFFFFF
