"""ODrive, firmware 0.5, by its ASCII protocol: steer drive, steer encoder, and a wheel encoder on the other axis.

Every line carries a checksum, ``*NN``, the exclusive or of all bytes before the star, in decimal; the answer to such a
line carries one too. Answers have no label, so one that is lost must never let a voltage be read as a
current. The rule: questions go out as one batch, in a fixed order, and nothing more is asked until it is
answered. Values count only once the whole batch has come, each line with the right checksum and as many numbers
as its place asks for. If it has not come after `_PATIENCE` ticks, or a line does not fit, the batch is thrown
away and nothing is asked for `_SILENCE` ticks, so that late answers fall on deaf ears.

``c``, the torque, feeds the drive's watchdog; the questions ``r`` and ``f`` do not. The watchdog is latched: the axis
disarms, and needs its errors cleared. Old firmware never starts a watchdog that was set over ASCII, whatever it
answers: that the proof while arming finds out.

Source: the protocol as documented for firmware 0.5 ("ASCII Protocol" of docs.odriverobotics.com/v/0.5.6).
"""

import math

import numpy as np
from numba import carray, cfunc, njit

from firmware_interface.devices.device import Device, Example, Setting, Settings, Traffic
from firmware_interface.devices.link import DRIVE, HEAR, SAY, STEER, TX_SIZE, WHEEL
from firmware_interface.devices.odrive_setup import introduce
from firmware_interface.framing import MAX_PAYLOAD
from firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    FAULT_DRIVE,
    STATUS_ENABLED,
    STATUS_WATCHDOG,
)

IDLE, CLOSED_LOOP = 1, 8  # states of an axis
WATCHDOG_EXPIRED = 0x800  # bit of the axis error
COUNTS_PER_TURN = 1e6  # steer counts we make of a turn of the encoder

_PATIENCE, _SILENCE = 4, 3  # ticks
_MICRO = 1e6
_LARGEST = 1e12  # of a number on a line; beyond it is none
_TORQUE_MAX = 1000.0  # N m on the motor, more than any

# The batch: what is asked, in this order. One number each, then two for each encoder.
_IQ, _BUS, _ERROR, _STATE, _MOTOR_ERROR, _STEER, _WHEEL = range(7)
# Places in the link's memory: what the batch has brought, in millionths, and where it stands.
_NEW, _ENABLED_STATE, _AXIS_ERROR = 0, 7, 8  # _NEW + i for i in the batch
_OPEN, _NEXT, _WAITED, _BATCH_SEQ, _DEAF, _NAN = 9, 10, 11, 12, 13, 14


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


_READ_AXIS, _WRITE_AXIS = _bytes("r axis"), _bytes("w axis")
_OF_IQ, _OF_ERROR = _bytes(".motor.current_control.Iq_measured "), _bytes(".error ")
_OF_STATE, _OF_MOTOR_ERROR = _bytes(".current_state "), _bytes(".motor.error ")
_READ_BUS, _FEEDBACK, _TORQUE, _CLEAR = _bytes("r vbus_voltage "), _bytes("f "), _bytes("c "), _bytes("sc ")
_REQUEST = _bytes(".requested_state ")


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write this tick's lines: the torque if ``send``, and the next batch of questions. Runs inside the tick."""
    n = np.int64(0)
    if send:
        n = _command(link, command, out, n)
    return _ask(link, out, n)


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns how many batches were completed. Runs inside the tick."""
    receiver, samples = link.receiver, 0
    filled = receiver.filled
    for i in range(n):
        byte = rx[i]
        if byte == 10 or byte == 13 or byte == 33:  # \n, \r or !
            if filled > MAX_PAYLOAD:
                receiver.frames_bad_length += 1
                receiver.bytes_skipped += filled + 1
                _give_up(link)
            elif filled > 0:
                samples += _take_line(link, filled)
            filled = 0
        else:
            if filled < MAX_PAYLOAD:
                receiver.payload[filled] = byte
            filled += 1
    receiver.filled = filled
    return samples


@njit(cache=True, nogil=True)
def _command(link, command, out, n):
    """The torque, and the change of state it needs. Runs inside the tick."""
    memory, T = link.memory, command.T_cmd / link.scale
    on = command.flags & COMMAND_ENABLE != 0 and math.isfinite(T)
    state, error = memory[_ENABLED_STATE], memory[_AXIS_ERROR]
    start = n
    n = _put(out, n, _TORQUE)
    n = _put_whole(out, n, link.axis)
    n = _put_byte(out, n, 32)
    n = _put_decimal(out, n, min(max(T, -_TORQUE_MAX), _TORQUE_MAX) if on else 0.0)
    n = _close(out, start, _put_byte(out, n, 32))
    link.said_seq = command.seq
    if command.flags & COMMAND_CLEAR and error != 0:
        n = _close(out, n, _put(out, n, _CLEAR))
    wanted = CLOSED_LOOP if on else IDLE
    if (on and state != CLOSED_LOOP and error == 0) or (not on and state == CLOSED_LOOP):
        start = n
        n = _put_axis(out, n, _WRITE_AXIS, link.axis, _REQUEST)
        n = _put_whole(out, n, wanted)
        n = _close(out, start, _put_byte(out, n, 32))
    return n


@njit(cache=True, nogil=True)
def _ask(link, out, n):
    """The next batch of questions, unless the last is not answered yet. Runs inside the tick."""
    memory = link.memory
    if memory[_DEAF] > 0:
        memory[_DEAF] -= 1
        return n
    if memory[_OPEN]:
        memory[_WAITED] += 1
        if memory[_WAITED] >= _PATIENCE:
            link.receiver.samples_lost += 1
            _give_up(link)
        return n
    axis = link.axis
    n = _close(out, n, _put_axis(out, n, _READ_AXIS, axis, _OF_IQ))
    n = _close(out, n, _put(out, n, _READ_BUS))
    n = _close(out, n, _put_axis(out, n, _READ_AXIS, axis, _OF_ERROR))
    n = _close(out, n, _put_axis(out, n, _READ_AXIS, axis, _OF_STATE))
    n = _close(out, n, _put_axis(out, n, _READ_AXIS, axis, _OF_MOTOR_ERROR))
    n = _close(out, n, _put_axis(out, n, _FEEDBACK, axis, _FEEDBACK[1:]))
    if link.wheel_axis >= 0:
        n = _close(out, n, _put_axis(out, n, _FEEDBACK, link.wheel_axis, _FEEDBACK[1:]))
    memory[_OPEN], memory[_NEXT], memory[_WAITED], memory[_NAN] = 1, 0, 0, 0
    memory[_BATCH_SEQ] = link.said_seq
    return n


@njit(cache=True, nogil=True)
def _take_line(link, size):
    """One whole line, in the receiver; 1 if it completes a batch. Runs inside the tick."""
    receiver, memory = link.receiver, link.memory
    line = receiver.payload
    star = _checked(line, size)
    if star < 0:
        receiver.frames_bad_crc += 1
        receiver.bytes_skipped += size + 1
        _give_up(link)
        return 0
    receiver.frames_ok += 1
    if not memory[_OPEN]:
        return 0  # late, of a batch that was given up
    place = memory[_NEXT]
    value, at = _number(line, np.int64(0), star)
    second = 0.0
    if at > 0 and place >= _STEER:
        second, at = _number(line, at, star)
    if at < 0 or _rest(line, at, star):
        receiver.frames_bad_version += 1  # `invalid property` and the like, or an answer to something else
        _give_up(link)
        return 0
    if place == _WHEEL:
        value = second  # of the wheel only the rate matters
    if not abs(value) < _LARGEST:
        memory[_NAN] = 1
        value = 0.0
    memory[_NEW + place] = np.int64(np.rint(value * _MICRO))
    memory[_NEXT] = place + 1
    if memory[_NEXT] <= (_WHEEL if link.wheel_axis >= 0 else _STEER):
        return 0
    memory[_OPEN] = 0
    _adopt(link)
    return 1


@njit(cache=True, nogil=True)
def _adopt(link):
    """A whole batch becomes the reading. Runs inside the tick."""
    raw, memory = link.raw, link.memory
    micro = 1.0 / _MICRO
    error, state = memory[_NEW + _ERROR] // 1_000_000, memory[_NEW + _STATE] // 1_000_000
    motor_error = memory[_NEW + _MOTOR_ERROR]
    memory[_ENABLED_STATE] = state
    memory[_AXIS_ERROR] = error | (1 if motor_error != 0 else 0)
    T, bus = micro * memory[_NEW + _IQ] * link.per_amp, micro * memory[_NEW + _BUS]
    steer, wheel = micro * memory[_NEW + _STEER] * COUNTS_PER_TURN, micro * memory[_NEW + _WHEEL] * 2e3 * math.pi
    inside = abs(T) < 2e6 and abs(steer) < 2e9 and abs(wheel) < 2e9
    raw.off_scale = memory[_NAN] != 0 or not inside
    raw.torque_mNm = np.int64(np.rint(1e3 * T)) if inside else 0
    raw.bus_mV = np.int64(np.rint(1e3 * min(max(bus, 0.0), 65.535)))
    raw.steer_counts = np.int64(np.rint(steer)) if inside else 0
    raw.wheel_mrad_s = np.int64(np.rint(wheel)) if inside else 0
    tripped = error & WATCHDOG_EXPIRED != 0
    raw.status = (STATUS_ENABLED if state == CLOSED_LOOP and error == 0 else 0) | (STATUS_WATCHDOG if tripped else 0)
    raw.faults = FAULT_DRIVE if error & ~WATCHDOG_EXPIRED != 0 or motor_error != 0 else 0
    raw.command_seq = memory[_BATCH_SEQ]
    raw.seq += 1


@njit(cache=True, nogil=True)
def _give_up(link):
    """Throw the batch away and hear nothing for a while. Runs inside the tick."""
    link.memory[_OPEN] = 0
    link.memory[_DEAF] = _SILENCE


@njit(cache=True, nogil=True)
def _checked(line, size):
    """Where the star of a line with the right checksum stands, else -1. Runs inside the tick."""
    chk, i = 0, 0
    while i < size and line[i] != 42:
        chk ^= line[i]
        i += 1
    star, told = i, 0
    i += 1
    if i >= size or size - i > 3:
        return -1
    while i < size:
        if not 48 <= line[i] <= 57:
            return -1
        told = 10 * told + line[i] - 48
        i += 1
    return star if told == chk else -1


@njit(cache=True, nogil=True)
def _number(line, at, stop):
    """The number that begins at ``at`` or behind spaces, and where it ends, -1 if there is none.

    Runs inside the tick.
    """
    while at < stop and line[at] == 32:
        at += 1
    sign = 1.0
    if at < stop and (line[at] == 45 or line[at] == 43):
        sign = -1.0 if line[at] == 45 else 1.0
        at += 1
    if at + 2 < stop and (line[at] | 32 == 110 or line[at] | 32 == 105):  # nan, inf
        word = line[at] | 32
        good = (word == 110 and line[at + 1] | 32 == 97) or (word == 105 and line[at + 1] | 32 == 110)
        return (math.nan, at + 3) if good else (0.0, np.int64(-1))
    value, digits, unit, seen = 0.0, 0, 1.0, False
    while at < stop and (48 <= line[at] <= 57 or (line[at] == 46 and not seen)):
        if line[at] == 46:
            seen = True
        else:
            value = 10.0 * value + (line[at] - 48)
            unit = 0.1 * unit if seen else unit
            digits += 1
        at += 1
    if digits == 0:
        return 0.0, np.int64(-1)
    power = 0
    if at + 1 < stop and line[at] | 32 == 101:  # e
        at += 1
        down = line[at] == 45
        at += 1 if line[at] == 45 or line[at] == 43 else 0
        while at < stop and 48 <= line[at] <= 57:
            power = min(10 * power + line[at] - 48, 400)
            at += 1
        power = -power if down else power
    return sign * value * unit * 10.0**power, at


@njit(cache=True, nogil=True)
def _rest(line, at, stop):
    """Whether anything but spaces is left. Runs inside the tick."""
    while at < stop and line[at] == 32:
        at += 1
    return at < stop


@njit(cache=True, nogil=True)
def _put(out, n, text):
    """Append bytes; returns the new length. Runs inside the tick."""
    for i in range(text.size):
        out[n + i] = text[i]
    return n + text.size


@njit(cache=True, nogil=True)
def _put_byte(out, n, byte):
    """Append one byte. Runs inside the tick."""
    out[n] = byte
    return n + 1


@njit(cache=True, nogil=True)
def _put_axis(out, n, before, axis, after):
    """Append the number of an axis between two texts. Runs inside the tick."""
    return _put(out, _put_whole(out, _put(out, n, before), axis), after)


@njit(cache=True, nogil=True)
def _put_whole(out, n, number):
    """Append a whole number of zero or more. Runs inside the tick."""
    size = 1
    while number >= 10**size:
        size += 1
    for i in range(size):
        out[n + size - 1 - i] = 48 + number // 10**i % 10
    return n + size


@njit(cache=True, nogil=True)
def _put_decimal(out, n, value):
    """Append a number with four decimals. Runs inside the tick."""
    whole = np.int64(np.rint(1e4 * abs(value)))
    if value < 0.0 and whole > 0:
        n = _put_byte(out, n, 45)
    n = _put_byte(out, _put_whole(out, n, whole // 10_000), 46)
    for digit in range(3, -1, -1):
        n = _put_byte(out, n, 48 + whole // 10**digit % 10)
    return n


@njit(cache=True, nogil=True)
def _close(out, start, n):
    """End the line that begins at ``start`` with its checksum. Runs inside the tick."""
    chk = 0
    for i in range(start, n):
        chk ^= out[i]
    return _put_byte(out, _put_whole(out, _put_byte(out, n, 42), chk), 10)


@cfunc(HEAR, cache=True)
def _hear(link, rx, n):
    return receive(carray(link, 1)[0], carray(rx, n), n)


@cfunc(SAY, cache=True)
def _say(link, command, send, out):
    return speak(carray(link, 1)[0], carray(command, 1)[0], send, carray(out, TX_SIZE))


def _traffic(carries: int, settings: Settings) -> Traffic:
    encoders = 1 + (settings.get("wheel_axis", -1.0) >= 0.0)
    down, up = 60 + 130 + 9 * encoders, 5 * 17 + 30 * encoders
    what = f"{5 + encoders} questions and a torque, {down} bytes down, and answers of up to {up} bytes up"
    return Traffic(up, down, what)


DEVICE = Device(
    name="odrive",
    carries=DRIVE | STEER | WHEEL,
    hear=_hear.address,
    say=_say.address,
    introduce=introduce,
    traffic=_traffic,
    delimiter=10,
    settings={
        "axis": Setting(0.0, "", "the axis of the steer drive, 0 or 1"),
        "wheel_axis": Setting(-1.0, "", "the axis whose encoder sits on the rear wheel; -1 for none"),
        "gear_ratio": Setting(1.0, "", "turns of the motor per turn of the steer"),
        "torque_limit_Nm": Setting(None, "N m", "the largest torque on the steer that motor and gear bear"),
    },
    examples=(
        Example(b"24.1*51\n", False, {}, "a checksum that does not fit"),
        Example(b"invalid property\n", False, {}, "an answer without a checksum"),
    ),
)
