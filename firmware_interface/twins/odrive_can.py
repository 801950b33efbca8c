"""Twin of an ODrive that speaks CANSimple behind an adapter.

Firmware 0.5.6 or 0.6. Written from the firmware and independent of the driver's codec. Any frame to the axis feeds its
watchdog, questions too; it is on as it was saved, strikes while idle as well, and comes back until it is fed. The axis
tells heartbeat, estimates, currents and supply at the rate it was set to; whatever is asked it answers. What 0.6 does
while idle is not known to us: it is played as 0.5.6 does it.
"""

import math

import numpy as np

from riderless.firmware_interface.calibration import DELTA_READING, TORQUE_READING
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_CLOSED_LOOP,
    AXIS_ESTOP_REQUESTED,
    AXIS_IDLE,
    AXIS_INVALID_STATE,
    AXIS_MOTOR_FAILED,
    AXIS_WATCHDOG_EXPIRED,
    CONTROL_POSITION,
    CONTROL_TORQUE,
    CONTROL_VELOCITY,
    INPUT_PASSTHROUGH,
)
from riderless.firmware_interface.devices.odrive_setup import ODRIVE_COUNTS_PER_TURN
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
from riderless.firmware_interface.twins.quick import Quick
from riderless.firmware_interface.twins.twin import TwinConfig

_WATCHDOG_06, _ESTOP_06, _TRIP_06 = 0x0100_0000, 0x0200_0000, 0x20  # errors of 0.6; a trip is one of its gate driver
# Places in its memory, behind those of faults and adapter.
_NODE, _IS_06, _MODE, _TOLD, _ASKED, _MOTOR, _NUMBERS = range(5, 12)  # the last has four places: of what is told by it


@njit(cache=True, nogil=True)
def _hear(d, rx, n, t, readings):
    """Take ``rx[:n]`` off the line."""
    _step_axis(d, t)
    d.steer_turns = d.steer_sign * (readings[DELTA_READING] + d.steer_offset) / (2.0 * math.pi) * d.steer_ratio
    hear_lines(d, rx, n, t, readings, _obey)


@njit(cache=True, nogil=True)
def _obey(d, frame, t, readings):
    """Do what a frame says."""
    if frame.extended or frame.identifier >> 5 != d.memory[_NODE]:
        return
    d.fed = t
    message = frame.identifier & 0x1F
    if message == 0x04 and d.memory[_IS_06] and frame.size >= 4 and frame.data & 0xFF == 0:
        _tell_value(d, (frame.data >> 8) & 0xFFFF)
        return
    if frame.remote or frame.size == 0:
        if message == 0x02:
            d.error |= _ESTOP_06 if d.memory[_IS_06] else AXIS_ESTOP_REQUESTED
        elif message != 0x18:
            d.memory[_ASKED] |= 1 << message
            return
    low = np.uint32(frame.data & 0xFFFFFFFF)
    number = np.float64(low.view(np.float32))
    if message == 0x07:
        d.wanted = np.int64(low)
    elif message == 0x0B:
        passes = frame.data >> 32 == INPUT_PASSTHROUGH
        d.memory[_MODE] = np.int64(low) if passes else 0
    elif message == 0x0C and d.command_kind == COMMAND_KIND_ANGLE:
        d.value = 2.0 * math.pi * d.steer_sign * number / d.steer_ratio - d.steer_offset
    elif message == 0x0D and d.command_kind == COMMAND_KIND_RATE:
        d.value = d.torque_sign * number * d.unit
    elif message == 0x0E and d.command_kind == COMMAND_KIND_TORQUE:
        d.value = d.torque_sign * number * d.scale
    elif message == 0x18:
        d.error = d.memory[_MOTOR] = 0


@njit(cache=True, nogil=True)
def _tell_value(d, number):
    """Tell control mode, input mode, whether the watchdog is on, or its time, by its number."""
    mode = d.memory[_MODE]
    for i in range(4):
        if number != d.memory[_NUMBERS + i]:
            continue
        value, size = np.int64(mode if i == 0 else 1 if mode else 2), np.int64(1)  # position control was saved so
        if i == 2:
            value = np.int64(math.isfinite(d.watchdog))
        elif i == 3:
            value, size = _bits(d.watchdog), np.int64(4)
        identifier = d.memory[_NODE] << 5 | 0x05
        frame = BusFrame(identifier, False, False, 4 + size, number << 8 | value << 32)
        d.n_answer = put_frame(d, d.answer, d.n_answer, frame)


@njit(cache=True, nogil=True)
def _step_axis(d, t):
    """Let errors strike, then follow a request for another state."""
    is_06 = d.memory[_IS_06] != 0
    if t - d.fed > d.watchdog - 1e-9:
        d.error |= _WATCHDOG_06 if is_06 else AXIS_WATCHDOG_EXPIRED
    if d.memory[TRIPPED]:
        d.error |= _TRIP_06 if is_06 else AXIS_MOTOR_FAILED
        d.memory[_MOTOR] = 1
    if d.memory[STOPPED]:
        d.error |= _ESTOP_06 if is_06 else AXIS_ESTOP_REQUESTED
    if d.error != 0:
        d.axis_state = AXIS_IDLE
    if d.wanted != 0:
        if d.wanted not in (AXIS_IDLE, AXIS_CLOSED_LOOP):  # it calibrates never
            d.error |= AXIS_INVALID_STATE
        able = d.wanted == AXIS_CLOSED_LOOP and d.error == 0 and d.axis_state != AXIS_CLOSED_LOOP
        d.axis_state = AXIS_CLOSED_LOOP if able else AXIS_IDLE
        d.wanted = 0
        if able:
            d.fed = t
        if able and d.command_kind == COMMAND_KIND_ANGLE:  # it begins where it stands
            d.value = 2.0 * math.pi * d.steer_sign * d.steer_turns / d.steer_ratio - d.steer_offset


@njit(cache=True, nogil=True)
def _output(d, t):
    """Make the drive follow its command at ``t`` [s]; returns whether it is on."""
    _step_axis(d, t)
    mode = CONTROL_TORQUE
    if d.command_kind == COMMAND_KIND_RATE:
        mode = CONTROL_VELOCITY
    elif d.command_kind == COMMAND_KIND_ANGLE:
        mode = CONTROL_POSITION
    on = d.axis_state == AXIS_CLOSED_LOOP and d.memory[_MODE] == mode
    d.made = d.value if on else 0.0
    if d.command_kind == COMMAND_KIND_TORQUE:
        d.made = min(max(d.made, -d.torque_limit), d.torque_limit)
    return on


@njit(cache=True, nogil=True)
def _tell(d, t, readings, out):
    """Write what it says by ``t`` [s]; returns the number of bytes."""
    n = drain_answer(d, out)
    due, d.memory[_ASKED] = d.memory[_ASKED], 0
    if due & 1 and d.memory[_IS_06]:
        n = _put(d, out, n, 0x00, 0x00_02_06_00_00_02_05_02, 8)  # protocol 2, hardware 5.2.0, firmware 0.6.2
    if t * d.rate >= d.memory[_TOLD] - 1e-6:
        d.memory[_TOLD] = np.int64(math.floor(t * d.rate + 1e-6)) + 1
        due |= 1 << 0x01 | 1 << 0x09 | 1 << 0x14 | 1 << 0x17
    if due >> 0x01 & 1:
        flags = d.memory[_MOTOR] if d.memory[_IS_06] == 0 else 0
        n = _put(d, out, n, 0x01, d.error | d.axis_state << 32 | flags << 40, 8)
    if due >> 0x09 & 1:
        angle = d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio
        n = _put(d, out, n, 0x09, _bits(angle / (2.0 * math.pi)), 8)
    if due >> 0x14 & 1:
        wish = d.torque_sign * d.made / d.per_amp if d.command_kind == COMMAND_KIND_TORQUE else 0.0
        current = d.torque_sign * readings[TORQUE_READING] / d.per_amp
        n = _put(d, out, n, 0x14, _bits(wish) | _bits(current) << 32, 8)
    if due >> 0x17 & 1:
        n = _put(d, out, n, 0x17, _bits(d.bus), 8)
    return n


@njit(cache=True, nogil=True)
def _put(d, out, n, message, data, size):
    return put_frame(d, out, n, BusFrame(d.memory[_NODE] << 5 | message, False, False, np.int64(size), np.int64(data)))


@njit(cache=True, nogil=True)
def _bits(value):
    return np.int64(np.float32(value).view(np.uint32))


def _begin(record: np.void, config: TwinConfig) -> None:
    """After power-up: adapter closed, axis idle and in position control, its watchdog on as it was saved."""
    settings, memory = config.settings, record["memory"]
    memory[:] = 0
    record["axis_state"], record["error"], record["value"], record["fed"] = AXIS_IDLE, 0, 0.0, 0.0
    record["filled"] = record["n_answer"] = record["wanted"] = 0
    memory[RATE], memory[_NODE] = rate_digit(settings["bit_rate"]), settings["node_id"]
    memory[_IS_06], memory[_MODE] = settings["firmware"] > 0.55, CONTROL_POSITION
    for i, name in enumerate(("control_mode", "input_mode", "enable_watchdog", "watchdog_timeout")):
        memory[_NUMBERS + i] = settings.get(f"{name}_id", 0) or -1


def _ready(record: np.void) -> None:
    """As the driver's introduction leaves it."""
    memory = record["memory"]
    memory[OPEN] = memory[RIGHT_RATE] = 1
    memory[_MODE] = {COMMAND_KIND_TORQUE: CONTROL_TORQUE, COMMAND_KIND_RATE: CONTROL_VELOCITY}.get(
        int(record["command_kind"]), CONTROL_POSITION
    )


def _introduce(config: TwinConfig) -> Introduction:
    settings = config.settings
    gear = settings["gear_ratio"]
    return Introduction(
        name=f"ODrive {'0.6.2' if settings['firmware'] > 0.55 else '0.5'}, node {settings['node_id']:g}",
        rate_hz=config.rate_hz,
        torque_limit=settings["torque_limit_Nm"],
        watchdog=config.watchdog,
        steer_counts_per_turn=ODRIVE_COUNTS_PER_TURN,
        scale=gear,
        per_amp=settings["torque_constant_Nm_A"] * gear,
        unit=2.0 * math.pi / gear,
        obeys=1 << config.kind,
    )


QUICK = Quick(_hear, _tell, _output, _introduce, _begin, _ready)


def make(config: TwinConfig) -> CompiledTwin:
    """Make a calibrated drive as after power-up."""
    return CompiledTwin(config, QUICK)
