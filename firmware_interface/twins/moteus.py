"""Twin of a moteus behind its maker's adapter, the fdcanusb; independent of the driver's codec.

It walks a frame's subframes as they come, whatever registers they write or read. Its time-out is told with each command
and latched until it is stopped. Firmware 1.3.4, register map 5.
"""

import math

import numpy as np

from riderless.firmware_interface.calibration import DELTA_READING, TORQUE_READING
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.moteus import MOTEUS_COUNTS_PER_TURN
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.can_adapter import drain_answer
from riderless.firmware_interface.twins.compiled_twin import TRIPPED, CompiledTwin
from riderless.firmware_interface.twins.quick import Quick
from riderless.firmware_interface.twins.twin import TwinConfig

_SIZES = np.array([1, 2, 4, 4])  # bytes of a value: int8, int16, int32, float
_SCALES = {"position": (0.01, 1e-4, 1e-5), "torque": (0.5, 0.01, 1e-3), "voltage": (0.5, 0.1, 1e-3)}
_POSITION, _TORQUE, _VOLTAGE = (np.array(scales) for scales in _SCALES.values())
_ROOM = np.int64(150)  # in `held`: where a frame's bytes stand, behind the line
_LINE = 149
# Places in its memory, behind those of faults.
_SERVO, _TIMEOUT_MODE, _ASKED_CONFIG, _TIMEOUT_us = 2, 3, 4, 5


@njit(cache=True, nogil=True)
def _hear(d, rx, n, t, readings):
    """Take ``rx[:n]`` off the line."""
    for i in range(n):
        if rx[i] == 10:
            _obey_line(d, t, readings)
            d.filled = 0
        elif d.filled < _LINE:
            d.held[d.filled] = rx[i]
            d.filled += 1


@njit(cache=True, nogil=True)
def _nibble(letter):
    return np.int64(letter) - 48 if letter < 58 else (np.int64(letter) & 0x5F) - 55


@njit(cache=True, nogil=True)
def _obey_line(d, t, readings):
    """Obey ``can send ID HEX``."""
    line, size = d.held, np.int64(0)
    if d.filled < 14 or line[0] != 99 or line[4] != 115:
        return
    identifier = np.int64(0)
    for i in range(9, 13):
        identifier = identifier << 4 | _nibble(line[i])
    at = np.int64(14)
    while at + 1 < d.filled and line[at] != 32 and size < 64:
        line[_ROOM + size] = _nibble(line[at]) << 4 | _nibble(line[at + 1])
        size, at = size + 1, at + 2
    _say(d, b"OK\r\n")
    if identifier & 0x7F != d.memory[_SERVO]:
        return
    begun = d.n_answer
    if identifier & 0x8000:
        _say(d, b"rcv ")
        if d.memory[_SERVO] >= 16:  # no zero in front
            _say_digit(d, d.memory[_SERVO] >> 4)
        _say_digit(d, d.memory[_SERVO] & 15)
        _say(d, b"00 ")
    empty = d.n_answer
    _walk(d, size, t, readings)
    if d.n_answer == empty or not identifier & 0x8000:
        d.n_answer = begun
        return
    while not _is_fd_size((d.n_answer - empty) // 2):
        _say_hex(d, 0x50, 1)
    _say(d, b"\r\n")


@njit(cache=True, nogil=True)
def _is_fd_size(n):
    return n <= 8 or n in (12, 16, 20, 24, 32, 48, 64)


@njit(cache=True, nogil=True)
def _say(d, words):
    for letter in words:
        d.answer[d.n_answer] = letter
        d.n_answer += 1


@njit(cache=True, nogil=True)
def _say_hex(d, value, size):
    """Say bytes, the lowest first, as hexadecimal digits."""
    for i in range(size):
        for shift in (4, 0):
            _say_digit(d, (np.int64(value) >> (8 * i + shift)) & 15)


@njit(cache=True, nogil=True)
def _say_digit(d, digit):
    d.answer[d.n_answer] = digit + (48 if digit < 10 else 87)
    d.n_answer += 1


@njit(cache=True, nogil=True)
def _walk(d, size, t, readings):
    """Obey and answer the subframes of a frame."""
    data, at, end = d.held, _ROOM, _ROOM + size
    while at < end:
        kind = np.int64(data[at])
        at += 1
        if kind == 0x50:
            continue
        if kind == 0x40:  # words to its diagnostic channel
            d.memory[_ASKED_CONFIG] = 1
            at += 2 + np.int64(data[at + 1])
            continue
        if kind == 0x42:
            at += 2
            if d.memory[_ASKED_CONFIG]:
                d.memory[_ASKED_CONFIG] = 0
                mode = d.memory[_TIMEOUT_MODE]
                _say_hex(d, 0x040141 if mode >= 10 else 0x030141, 3)
                if mode >= 10:
                    _say_hex(d, 48 + mode // 10, 1)
                _say_hex(d, 48 + mode % 10 | 0x0A0D << 8, 3)
            continue
        if kind >= 0x20:
            return
        count = np.int64(kind & 3)
        if count == 0:
            count = np.int64(data[at])
            at += 1
        register = np.int64(data[at])
        at += 1
        if register >= 0x80:
            register = (register & 0x7F) | np.int64(data[at]) << 7
            at += 1
        form = (kind >> 2) & 3
        if kind < 0x10:
            for i in range(count):
                _write(d, register + i, form, at, t)
                at += _SIZES[form]
        else:
            _say_hex(d, 0x20 | form << 2 | (count if count < 4 else 0), 1)
            if count >= 4:
                _say_hex(d, count, 1)
            if register >= 0x80:
                _say_hex(d, (register & 0x7F) | 0x80, 1)
                _say_hex(d, register >> 7, 1)
            else:
                _say_hex(d, register, 1)
            for i in range(count):
                _read(d, register + i, form, t, readings)


@njit(cache=True, nogil=True)
def _write(d, register, form, at, t):
    """Write a register; of floats those that matter here, of whole numbers the mode."""
    bits = np.int64(0)
    for i in range(_SIZES[form]):
        bits |= np.int64(d.held[at + i]) << (8 * i)
    if register == 0 and form == 0:
        _strike(d, t)
        if bits == 0:
            d.axis_state, d.value = 0, 0.0
            d.error = 1 if d.memory[TRIPPED] else 0
        elif d.axis_state != 11 and d.error == 0:
            d.axis_state, d.value = bits, 0.0
        d.fed = t
    elif form == 3:
        number = np.float64(np.uint32(bits).view(np.float32))
        if register == 0x22 and d.axis_state == 10:
            d.value = d.torque_sign * number * d.scale
        elif register == 0x27:
            d.memory[_TIMEOUT_us] = np.int64(1e6 * number)


@njit(cache=True, nogil=True)
def _read(d, register, form, t, readings):
    """Say a register in the form that is asked for."""
    _strike(d, t)
    value, scales = 0.0, np.ones(3)
    if register == 0x000:
        value = float(d.axis_state)
    elif register == 0x001:
        turns = d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio / (2.0 * math.pi)
        value, scales = turns, _POSITION
    elif register == 0x003:
        value, scales = d.torque_sign * readings[TORQUE_READING] / d.scale, _TORQUE
    elif register == 0x00D:
        value, scales = d.bus, _VOLTAGE
    elif register == 0x00F:
        value = 33.0 if d.error else 0.0
    elif register == 0x101:
        value = float(0x010304)
    elif register == 0x102:
        value = 5.0
    if form == 3:
        _say_hex(d, np.int64(np.float32(value).view(np.uint32)), 4)
    else:
        _say_hex(d, np.int64(np.rint(value / scales[form])), _SIZES[form])


@njit(cache=True, nogil=True)
def _strike(d, t):
    """Let a fault and the time-out of the last command strike."""
    if d.memory[TRIPPED]:
        d.error, d.axis_state = 1, 1
    timeout = math.inf if math.isinf(d.watchdog) else 1e-6 * d.memory[_TIMEOUT_us]
    if d.axis_state == 10 and t - d.fed > timeout:
        d.axis_state = 11


@njit(cache=True, nogil=True)
def _output(d, t):
    """Make the drive follow its command at ``t`` [s]; returns whether it is on."""
    _strike(d, t)
    on = d.axis_state == 10 and d.error == 0 and d.command_kind == COMMAND_KIND_TORQUE
    d.made = min(max(d.value, -d.torque_limit), d.torque_limit) if on else 0.0
    return on


@njit(cache=True, nogil=True)
def _tell(d, t, readings, out):
    """Write what it says by ``t`` [s]: answers alone; returns the number of bytes."""
    return drain_answer(d, out)


def _begin(record: np.void, config: TwinConfig) -> None:
    """After power-up: stopped."""
    record["memory"][:] = 0
    record["axis_state"] = record["error"] = record["filled"] = record["n_answer"] = 0
    record["value"], record["fed"] = 0.0, 0.0
    record["memory"][_SERVO] = config.settings["servo_id"]
    record["memory"][_TIMEOUT_MODE] = config.settings.get("timeout_mode", 0.0)


def _ready(record: np.void) -> None:
    """As after power-up: its introduction changes nothing that stays."""


def _introduce(config: TwinConfig) -> Introduction:
    return Introduction(
        name=f"moteus 1.3.4, servo {config.settings['servo_id']:g}",
        torque_limit=config.settings["torque_limit_Nm"],
        watchdog=config.watchdog,
        steer_counts_per_turn=MOTEUS_COUNTS_PER_TURN,
        scale=config.settings["gear_ratio"],
        obeys=1 << config.kind,
    )


QUICK = Quick(_hear, _tell, _output, _introduce, _begin, _ready)


def make(config: TwinConfig) -> CompiledTwin:
    """Make a drive as after power-up."""
    return CompiledTwin(config, QUICK)
