"""Twin of a VESC behind a CAN adapter; independent of the driver's codec.

Its time-out is not latched: the next command ends it. Questions do not feed it. Numbers are scaled in single precision
and cut off, not rounded. Firmware 6.02.
"""

import math

import numpy as np

from riderless.firmware_interface.calibration import DELTA_READING, TORQUE_READING
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.vesc_codes import VESC_KILLED, VESC_TIMED_OUT
from riderless.firmware_interface.framing import crc_xmodem
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.can_adapter import (
    OPEN,
    RATE,
    RIGHT_RATE,
    BusFrame,
    drain_answer,
    hear_lines,
    put_frame,
    rate_digit,
)
from riderless.firmware_interface.twins.compiled_twin import STOPPED, TRIPPED, CompiledTwin
from riderless.firmware_interface.twins.quick import Quick, quick_introduction
from riderless.firmware_interface.twins.twin import TwinConfig

_VERSION = np.frombuffer(b"\x00\x06\x02410\x00" + bytes(12) + bytes(5), np.uint8)  # 0 in it: a motor controller
_VALUES_SIZE = np.int64(17)
_ID = 5  # place in its memory, behind those of faults and adapter
_AT = np.int64(64)  # where an answer is put together in `held`, behind the line that is coming in


@njit(cache=True, nogil=True)
def _hear(d, rx, n, t, readings):
    """Take ``rx[:n]`` off the line."""
    hear_lines(d, rx, n, t, readings, _obey)


@njit(cache=True, nogil=True)
def _obey(d, frame, t, readings):
    """Do what a frame says."""
    if not frame.extended or frame.remote or frame.identifier & 0xFF != d.memory[_ID]:
        return
    command, value = frame.identifier >> 8, np.int64(0)
    for i in range(4):
        value = value << 8 | (frame.data >> (8 * i)) & 0xFF
    value = value - (1 << 32) if value >= 1 << 31 else value
    if command <= 4 and frame.size >= 4:
        d.fed, d.on, d.value = t, 0, 0.0
        if command == 1 and d.command_kind == COMMAND_KIND_TORQUE:
            d.on, d.value = 1, d.torque_sign * 1e-3 * value * d.scale
        elif command == 3 and d.command_kind == COMMAND_KIND_RATE:
            d.on, d.value = 1, d.torque_sign * value * d.unit
        elif command == 4 and d.command_kind == COMMAND_KIND_ANGLE:
            there = math.degrees(d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio)
            way = (1e-6 * value - there + 180.0) % 360.0 - 180.0  # the shorter one
            d.on, d.value = 1, readings[DELTA_READING] + d.steer_sign * math.radians(way) / d.steer_ratio
    elif command == 8 and frame.size >= 3:
        host, kind = frame.data & 0xFF, (frame.data >> 16) & 0xFF
        if kind == 0:
            for i in range(_VERSION.size):
                d.held[_AT + i] = _VERSION[i]
            _answer(d, host, np.int64(_VERSION.size))
        elif kind == 50 and frame.size == 7:
            _put_values(d, frame.data >> 16, t, readings)
            _answer(d, host, _VALUES_SIZE)


@njit(cache=True, nogil=True)
def _put_values(d, question, t, readings):
    """Write current, supply, fault, angle and status behind the question's kind and selection."""
    for i in range(5):
        d.held[_AT + i] = (question >> (8 * i)) & 0xFF
    angle = math.degrees(d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio) % 360.0
    current = d.torque_sign * readings[TORQUE_READING] / d.scale
    _put(d, 5, np.int64(np.float32(current) * np.float32(1e2)), 4)
    _put(d, 9, np.int64(np.float32(d.bus) * np.float32(10.0)), 2)
    _put(d, 11, np.int64(4 if d.memory[TRIPPED] else 0), 1)  # absolute over-current
    _put(d, 12, np.int64(np.float32(angle) * np.float32(1e6)), 4)
    timed_out = VESC_TIMED_OUT if t - d.fed > d.watchdog else 0
    _put(d, 16, np.int64(timed_out | (VESC_KILLED if d.memory[STOPPED] else 0)), 1)


@njit(cache=True, nogil=True)
def _put(d, at, value, size):
    for i in range(size):
        d.held[_AT + at + i] = (value >> (8 * (size - 1 - i))) & 0xFF


@njit(cache=True, nogil=True)
def _answer(d, host, size):
    """Say the answer that stands in `held`, in pieces of seven bytes, then its length and CRC."""
    for offset in range(0, size, 7):
        n = min(np.int64(7), size - offset)
        data = np.int64(offset)
        for i in range(n):
            data |= np.int64(d.held[_AT + offset + i]) << (8 * (1 + i))
        frame = BusFrame(np.int64(5 << 8) | host, True, False, n + 1, data)
        d.n_answer = put_frame(d, d.answer, d.n_answer, frame)
    crc = np.int64(crc_xmodem(d.held, _AT, _AT + size))
    data = d.memory[_ID] | 1 << 8 | (size >> 8) << 16 | (size & 0xFF) << 24 | (crc >> 8) << 32 | (crc & 0xFF) << 40
    frame = BusFrame(np.int64(7 << 8) | host, True, False, np.int64(6), data)
    d.n_answer = put_frame(d, d.answer, d.n_answer, frame)


@njit(cache=True, nogil=True)
def _output(d, t):
    """Make the drive follow its command at ``t`` [s]; returns whether it is on."""
    if t - d.fed > d.watchdog or d.memory[TRIPPED] or d.memory[STOPPED]:
        d.on, d.value = 0, 0.0  # only a new command brings it back
    d.made = d.value if d.on else 0.0
    if d.command_kind == COMMAND_KIND_TORQUE:
        d.made = min(max(d.made, -d.torque_limit), d.torque_limit)
    return d.on != 0


@njit(cache=True, nogil=True)
def _tell(d, t, readings, out):
    """Write what it says by ``t`` [s]: answers alone; returns the number of bytes."""
    return drain_answer(d, out)


def _begin(record: np.void, config: TwinConfig) -> None:
    """After power-up: adapter closed, no command."""
    memory = record["memory"]
    memory[:] = 0
    record["on"], record["value"], record["fed"] = 0, 0.0, 0.0
    record["filled"] = record["n_answer"] = 0
    memory[RATE], memory[_ID] = rate_digit(config.settings["bit_rate"]), config.settings["vesc_id"]


def _ready(record: np.void) -> None:
    record["memory"][OPEN] = record["memory"][RIGHT_RATE] = 1


def _introduce(config: TwinConfig) -> Introduction:
    return quick_introduction("vesc", config)


QUICK = Quick(_hear, _tell, _output, _introduce, _begin, _ready)


def make(config: TwinConfig) -> CompiledTwin:
    """Make a drive as after power-up."""
    return CompiledTwin(config, QUICK)
