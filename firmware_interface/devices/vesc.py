"""VESC, by its binary serial protocol: steer drive and steer encoder.

A packet is ``02 length payload CRC 03`` (or ``03`` and a length of two bytes), the CRC-16 over the payload alone, high
byte first. Each tick we set the current and ask for a selection of values; the answer, a few hundred
microseconds later, acknowledges both. Off is a brake current of zero: the motor turns freely, as at a current of
zero, but whoever reads the line can tell the two apart.

Its time-out (``App Settings - General - Timeout`` in VESC Tool) is **not latched**: the next command ends it. The
question for values does not feed it. What it is set to the VESC does not tell: the rig file says it, and the proof
while arming shows it.

The steer angle is ``pid_pos``, degrees of the encoder that VESC Tool has been told of; it comes from 0 to 360 and is
unwrapped here, beginning with the turn nearest to zero: point the wheel ahead when switching on.

Source: github.com/vedderb/bldc, ``comm/commands.c`` (COMM_GET_VALUES_SELECTIVE) and ``comm/packet.c``.
"""

import math

import numpy as np
from numba import carray, cfunc, njit

from firmware_interface.devices.device import Device, Example, Setting, Settings, Traffic
from firmware_interface.devices.link import DRIVE, HEAR, SAY, STEER, TX_SIZE
from firmware_interface.devices.vesc_setup import MASK, introduce
from firmware_interface.devices.xmodem import crc_xmodem
from firmware_interface.framing import MAX_PAYLOAD
from firmware_interface.messages import (
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)

SHORT, LONG, END = 2, 3, 3
SET_CURRENT, SET_CURRENT_BRAKE, GET_VALUES_SELECTIVE = 6, 7, 50
TIMED_OUT, KILLED = 1, 2  # bits of the status

# Where the fields of the answer stand in its payload; all are big-endian.
_MASK_AT, _IQ_AT, _BUS_AT, _FAULT_AT, _POSITION_AT, _STATUS_AT = 1, 5, 9, 11, 12, 16
_REPLY_SIZE = np.int64(17)  # bytes of the payload
_HEAD = 2  # bytes before it
_AROUND = np.int64(5)  # bytes of a packet that are not payload
_TURN = 360_000_000  # millionths of a degree
_CURRENT_MAX = 1e6  # mA, beyond any motor
_ON, _POSITION, _STARTED = 0, 1, 2  # places in the link's memory


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the current if there is one to ``send``, and the question for values. Runs inside the tick."""
    n = np.int64(0)
    if send:
        T = command.T_cmd
        on = command.flags & COMMAND_ENABLE != 0 and math.isfinite(T)
        current = 1e3 * T / link.scale if on else 0.0
        out[n + 2] = SET_CURRENT if on else SET_CURRENT_BRAKE
        _put_i32(out, n + 3, np.int64(np.rint(min(max(current, -_CURRENT_MAX), _CURRENT_MAX))))
        n = _close(out, n, np.int64(5))
        link.memory[_ON] = 1 if on else 0
        link.said_seq = command.seq
    out[n + 2] = GET_VALUES_SELECTIVE
    _put_i32(out, n + 3, np.int64(MASK))
    return _close(out, n, np.int64(5))


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns the number of new readings. Runs inside the tick."""
    receiver, samples = link.receiver, 0
    for i in range(n):
        receiver.payload[receiver.filled] = rx[i]
        receiver.filled += 1
        while receiver.filled > 0 and _look(receiver):
            samples += _take(link)
            _drop(receiver, receiver.size)
    link.missing = max(_REPLY_SIZE + _AROUND - receiver.filled, np.int64(1))
    return samples


@njit(cache=True, nogil=True)
def _look(receiver):
    """Whether a whole packet stands at the front of what is held; its length is then ``receiver.size``.

    Bytes that cannot begin one are thrown away, one by one, so that a packet behind a false start is found.

    Runs inside the tick.
    """
    while receiver.filled > 0:
        data, filled = receiver.payload, receiver.filled
        head = 0
        if data[0] == SHORT and (filled < 2 or data[1] > 0):
            head, length = 2, np.int64(data[1]) if filled > 1 else np.int64(-1)
        elif data[0] == LONG and (filled < 3 or data[1] << 8 | data[2] > 255):
            head, length = 3, np.int64(data[1]) << 8 | np.int64(data[2]) if filled > 2 else np.int64(-1)
        if head > 0:
            if length < 0:
                return False
            size = head + length + 3
            if size > MAX_PAYLOAD:  # nothing we have asked for is so long
                receiver.frames_bad_length += 1
            elif filled < size:
                return False
            elif data[size - 1] == END and crc_xmodem(data, head, head + length + 2) == 0:
                receiver.frames_ok += 1
                receiver.size = size
                return True
            else:
                receiver.frames_bad_crc += 1
        receiver.bytes_skipped += 1
        _drop(receiver, 1)
    return False


@njit(cache=True, nogil=True)
def _drop(receiver, n):
    """Forget the first ``n`` bytes held. Runs inside the tick."""
    for i in range(receiver.filled - n):
        receiver.payload[i] = receiver.payload[i + n]
    receiver.filled -= n


@njit(cache=True, nogil=True)
def _take(link):
    """The packet at the front, if it is the answer we asked for, becomes the reading. Runs inside the tick."""
    receiver, raw, memory = link.receiver, link.raw, link.memory
    data = receiver.payload
    ours = receiver.size == _REPLY_SIZE + _AROUND and data[_HEAD] == GET_VALUES_SELECTIVE
    if not ours or _whole(data, _MASK_AT, 4) != MASK:
        receiver.frames_bad_version += 1
        return 0
    fault, status = data[_HEAD + _FAULT_AT], data[_HEAD + _STATUS_AT]
    position = _whole(data, _POSITION_AT, 4)
    step = (position - memory[_POSITION]) % _TURN
    step = step - _TURN if step > _TURN // 2 else step
    memory[_POSITION] += step
    T = 0.01 * _whole(data, _IQ_AT, 4) * link.per_amp
    inside = abs(T) < 1e6 and abs(memory[_POSITION]) < 2**31
    raw.off_scale = not inside
    raw.torque_mNm = np.int64(np.rint(1e3 * T)) if inside else 0
    raw.steer_counts = memory[_POSITION] if inside else 0
    raw.bus_mV = min(max(100 * _whole(data, _BUS_AT, 2), 0), 0xFFFF)
    timed_out, killed = status & TIMED_OUT != 0, status & KILLED != 0
    on = memory[_ON] != 0 and not timed_out and not killed and fault == 0
    raw.status = (
        (STATUS_ENABLED if on else 0) | (STATUS_WATCHDOG if timed_out else 0) | (STATUS_STOP_BUTTON if killed else 0)
    )
    raw.faults = FAULT_DRIVE if fault != 0 else 0
    raw.command_seq = link.said_seq
    raw.seq += 1
    return 1


@njit(cache=True, nogil=True)
def _whole(data, at, size):
    """The signed number of ``size`` bytes at a place of the payload, high byte first. Runs inside the tick."""
    value = np.int64(0)
    for i in range(size):
        value = value << 8 | np.int64(data[_HEAD + at + i])
    half = np.int64(1) << (8 * size - 1)
    return value - 2 * half if value >= half else value


@njit(cache=True, nogil=True)
def _put_i32(out, at, value):
    """Four bytes, high byte first. Runs inside the tick."""
    for i in range(4):
        out[at + i] = value >> (24 - 8 * i) & 0xFF


@njit(cache=True, nogil=True)
def _close(out, start, size):
    """Turn the payload of ``size`` bytes at ``start + 2`` into a packet; returns where it ends. Runs inside the "
    "tick."""
    out[start], out[start + 1] = SHORT, size
    crc = crc_xmodem(out, start + 2, start + 2 + size)
    end = start + 2 + size
    out[end], out[end + 1], out[end + 2] = crc >> 8, crc & 0xFF, END
    return end + 3


@cfunc(HEAR, cache=True)
def _hear(link, rx, n):
    return receive(carray(link, 1)[0], carray(rx, n), n)


@cfunc(SAY, cache=True)
def _say(link, command, send, out):
    return speak(carray(link, 1)[0], carray(command, 1)[0], send, carray(out, TX_SIZE))


def _traffic(carries: int, settings: Settings) -> Traffic:
    up = int(_REPLY_SIZE + _AROUND)
    return Traffic(up, 20, f"a current and a question, 20 bytes down, and an answer of {up} bytes up")


DEVICE = Device(
    name="vesc",
    carries=DRIVE | STEER,
    hear=_hear.address,
    say=_say.address,
    introduce=introduce,
    traffic=_traffic,
    settings={
        "torque_constant_Nm_A": Setting(None, "N m/A", "torque of the motor per ampere of its q-axis current"),
        "gear_ratio": Setting(1.0, "", "turns of the motor per turn of the steer"),
        "current_limit_A": Setting(None, "A", "the largest current the VESC is set to allow"),
    },
    examples=(
        Example(bytes.fromhex("0203de0400b25103"), True, {}, "a packet of an unknown kind, whole"),
        Example(bytes.fromhex("020104408503"), False, {}, "a packet whose CRC is one off"),
    ),
)
