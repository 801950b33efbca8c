"""Compiled twins for simulated time.

Of a VectorNav, a VESC and an ODrive. They speak the bytes of the twins on pseudo-terminals (`vectornav`, `vesc`,
`odrive`). Those also play faults, and what is said before the loop; a test holds the two against each other. What is
asked is answered with the readings of that instant; the answer is there at the next tick.

Another device may have its compiled twin in its own file, as `QUICK`, reached through the addresses of its functions;
one without any is hosted as it is (`twin_in_memory`).
"""

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from riderless.firmware_interface.by_address import address_of, call_at_address, entry_of
from riderless.firmware_interface.calibration import (
    DELTA_READING,
    FORCE_READINGS,
    RATE_READINGS,
    TORQUE_READING,
    WHEEL_READING,
)
from riderless.firmware_interface.devices.driver import Introduction
from riderless.firmware_interface.devices.link import RX_SIZE
from riderless.firmware_interface.devices.odrive_codes import AXIS_CLOSED_LOOP, AXIS_IDLE, AXIS_WATCHDOG_EXPIRED
from riderless.firmware_interface.devices.odrive_setup import ODRIVE_COUNTS_PER_TURN
from riderless.firmware_interface.devices.registry import DEVICES
from riderless.firmware_interface.devices.vectornav import (
    ACCEL_LSB,
    FIELDS,
    GROUPS,
    GYRO_LSB,
    IMU_RATE,
    MESSAGE,
    MESSAGE_SIZE,
)
from riderless.firmware_interface.devices.vesc import VESC_COUNTS_PER_TURN
from riderless.firmware_interface.devices.vesc_codes import VESC_TIMED_OUT, VescCommand
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.framing import crc_xmodem
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.node.layouts import laid_over
from riderless.firmware_interface.twins.odrive import TORQUE_CONSTANT
from riderless.firmware_interface.twins.odrive_lines import find_checked_star, put_checksum, put_digits, read_number
from riderless.firmware_interface.twins.twin import TwinConfig

QUICK_KINDS = ("vectornav", "vesc", "odrive")
_VECTORNAV, _VESC, _ODRIVE, OWN_FILE = (np.int64(kind) for kind in range(len(QUICK_KINDS) + 1))
_READINGS = 9  # as of ``calibration.to_counts``
_ROOM = 256  # bytes of what comes in, and of an answer
QUICK_TWIN = np.dtype(
    [
        ("kind", "i8"),
        ("port", "i8"),  # of the machine
        ("command_kind", "i8"),  # that its drive obeys
        # settings
        ("scale", "f8"),  # N m on the steer per unit of a torque
        ("unit", "f8"),  # rad/s or rad of the motor's shaft, geared, per unit of a rate or an angle
        ("per_amp", "f8"),
        ("steer_sign", "f8"),
        ("steer_offset", "f8"),
        ("steer_ratio", "f8"),
        ("torque_sign", "f8"),
        ("wheel_sign", "f8"),
        ("torque_limit", "f8"),
        ("rate", "f8"),  # Hz, of what it says by itself
        ("watchdog", "f8"),  # s
        ("bus", "f8"),  # V
        ("turn", "f8", (3, 3)),  # of the inertial sensor's axes
        ("gyro_offset", "f8", (3,)),
        ("accel_offset", "f8", (3,)),
        ("axis", "i8"),
        ("wheel_axis", "i8"),
        # state
        ("value", "f8"),  # told to the drive, positive to the right [N m, rad/s or rad]
        ("on", "i8"),  # a command of its kind is alive
        ("fed", "f8"),  # s, when the watchdog was fed
        ("error", "i8"),
        ("axis_state", "i8"),
        ("wanted", "i8"),  # state that was asked for; it follows with its next step
        ("mark", "i8"),
        ("wheel_turns", "f8"),
        ("steer_turns", "f8"),
        ("t", "f8"),  # s, of the last instant
        ("filled", "i8"),
        ("held", "u1", (_ROOM,)),
        ("n_answer", "i8"),
        ("answer", "u1", (_ROOM,)),
        # of a twin in its own file
        ("memory", "i8", (16,)),  # what else it remembers; the file names the places
        ("made", "f8"),  # what its drive follows [N m, rad/s or rad]
        ("hear", "u8"),  # addresses of its functions
        ("tell", "u8"),
        ("output", "u8"),
    ],
    align=True,
)
_SET_CURRENT, _SET_CURRENT_BRAKE = np.int64(VescCommand.SET_CURRENT), np.int64(VescCommand.SET_CURRENT_BRAKE)
_SET_RPM, _SET_POS = np.int64(VescCommand.SET_RPM), np.int64(VescCommand.SET_POS)
_ASKED = np.int64(VescCommand.GET_VALUES_SELECTIVE)


class Quick(NamedTuple):
    """Compiled twin of a device in its own file, the constant QUICK."""

    hear: Any  # ``hear(d, rx, n, t, readings)``, as `hear_quick`
    tell: Any  # ``tell(d, t, readings, out)``, as `tell_quick`
    output: Any  # ``output(d, t)`` leaves in ``d.made`` what `quick_output` returns; returns whether it is on
    introduce: Callable[[TwinConfig], Introduction]  # as its driver would find it
    begin: Callable[[np.void, TwinConfig], None]  # makes a record of QUICK_TWIN what it is after power-up
    ready: Callable[[np.void], None]  # and then what its driver's introduction leaves


def has_quick_twin(kind: str) -> bool:
    """Tell whether simulated time has a compiled twin of a device."""
    return kind in QUICK_KINDS or quick_of(kind) is not None


def quick_of(kind: str) -> Quick | None:
    """Compiled twin of a device in its own file; None where it has none."""
    module = import_module(f"riderless.firmware_interface.twins.{DEVICES[kind]}") if kind in DEVICES else None
    return getattr(module, "QUICK", None)


def new_quick_twin(kind: str, port: int, config: TwinConfig) -> np.void:
    """Make a device as it stands when the loop begins, a record of QUICK_TWIN.

    Parameters
    ----------
    kind : str
        One of `QUICK_KINDS`, or one with a `Quick` of its own.
    port : int
        Its place among the machine's ports.
    config : TwinConfig

    Raises
    ------
    DeviceError
        There is no such twin, or the sensor has no such rate.
    """
    own = quick_of(kind) if kind not in QUICK_KINDS else None
    if own is not None:
        twin = new_own_twin(own, config)
        own.ready(twin)
        twin["port"] = port
        twin["hear"], twin["tell"], twin["output"] = _addresses(kind)
        return twin
    if kind not in QUICK_KINDS:
        raise DeviceError(f"there is no compiled twin of a {kind}")
    if kind == "vectornav" and IMU_RATE % config.rate_hz:
        raise DeviceError(
            f"a VectorNav streams at {IMU_RATE} Hz divided by a whole number, found a loop of {config.rate_hz} Hz: set "
            "rate_Hz of the rig to one of those"
        )
    introduction = quick_introduction(kind, config)
    twin = _new_record(QUICK_KINDS.index(kind), introduction, config)
    twin["port"] = port
    twin["per_amp"] = introduction.scale if kind == "vesc" else introduction.per_amp
    return twin


def new_own_twin(own: Quick, config: TwinConfig) -> np.void:
    """Make a device with a twin in its own file as after power-up, a record of QUICK_TWIN."""
    twin = _new_record(int(OWN_FILE), own.introduce(config), config)
    own.begin(twin, config)
    return twin


def _new_record(kind: int, introduction: Introduction, config: TwinConfig) -> np.void:
    twin, cal = np.zeros(1, QUICK_TWIN)[0], config.calibration
    values = {
        "kind": kind,
        "command_kind": config.kind,
        "scale": introduction.scale,
        "unit": introduction.unit,
        "per_amp": introduction.per_amp,
        "steer_ratio": cal.steer_gear_ratio,
        "turn": np.array(cal.mounting).T,
        "axis": config.settings.get("axis", 0),
        "wheel_axis": config.settings.get("wheel_axis", -1),
        "axis_state": AXIS_IDLE,
        "rate": config.rate_hz,
    }
    for name in ("steer_sign", "steer_offset", "torque_sign", "wheel_sign", "gyro_offset", "accel_offset"):
        values[name] = getattr(cal, name)
    for name in ("torque_limit", "watchdog", "bus"):
        values[name] = getattr(config, name)
    for name, value in values.items():
        twin[name] = value
    return twin


def quick_introduction(kind: str, config: TwinConfig) -> Introduction:
    """Introduce such a device, as its driver would find it."""
    settings: Mapping[str, float] = config.settings
    own = quick_of(kind) if kind not in QUICK_KINDS else None
    if own is not None:
        return own.introduce(config)
    if kind == "vectornav":
        return Introduction("VN-100T-CR 2.1.0.0", config.rate_hz, gyro_lsb=GYRO_LSB, accel_lsb=ACCEL_LSB)
    gear = settings.get("gear_ratio", 1.0)
    if kind == "odrive":
        return Introduction(
            name=f"ODrive 0.5.6, axis{settings.get('axis', 0):g}",
            torque_limit=settings["torque_limit_Nm"],
            watchdog=config.watchdog,
            steer_counts_per_turn=ODRIVE_COUNTS_PER_TURN,
            scale=gear,
            per_amp=TORQUE_CONSTANT * gear,
            unit=2.0 * math.pi / gear,
            obeys=1 << config.kind,
        )
    scale, unit = settings["torque_constant_Nm_A"] * gear, 1.0
    if config.kind == COMMAND_KIND_RATE:
        unit = 2.0 * math.pi / (60.0 * settings["pole_pairs"] * gear)
    elif config.kind == COMMAND_KIND_ANGLE:
        unit = math.radians(1.0) / settings["encoder_ratio"]
    return Introduction(
        name="VESC 410 6.02",
        torque_limit=settings["current_limit_A"] * scale,
        watchdog=config.watchdog,
        steer_counts_per_turn=float(VESC_COUNTS_PER_TURN),
        scale=scale,
        unit=unit,
        obeys=1 << config.kind,
    )


@cache
def _addresses(kind: str) -> tuple[int, int, int]:
    """Compile a twin of its own file for calls by address."""
    own = quick_of(kind)
    assert own is not None
    names = {"_hear": own.hear, "_tell": own.tell, "_output": own.output}
    names |= {"_ROOM": _ROOM, "_READINGS": _READINGS, "RX_SIZE": RX_SIZE}
    twin, number, numbers = types.CPointer(from_dtype(QUICK_TWIN)), types.float64, types.CPointer(types.float64)
    data = types.CPointer(types.uint8)
    entries = (
        entry_of(own.hear, _hear_entry, types.int64(twin, data, types.int64, number, numbers), names),
        entry_of(own.tell, _tell_entry, types.int64(twin, number, numbers, data), names),
        entry_of(own.output, _output_entry, types.int64(twin, number), names),
    )
    hear, tell, output = map(address_of, entries)
    return hear, tell, output


def _hear_entry(d, rx, n, t, readings):
    _hear(carray(d, 1)[0], carray(rx, _ROOM), n, t, carray(readings, _READINGS))  # type: ignore[name-defined]  # noqa: F821
    return 0


def _tell_entry(d, t, readings, out):
    return _tell(carray(d, 1)[0], t, carray(readings, _READINGS), carray(out, RX_SIZE))  # type: ignore[name-defined]  # noqa: F821


def _output_entry(d, t):
    return 1 if _output(carray(d, 1)[0], t) else 0  # type: ignore[name-defined]  # noqa: F821


@intrinsic
def _heard(typingctx, address, d, rx, n, t, readings):
    return types.int64(types.uint64, d, rx, types.int64, types.float64, readings), call_at_address


@intrinsic
def _told(typingctx, address, d, t, readings, out):
    return types.int64(types.uint64, d, types.float64, readings, out), call_at_address


@intrinsic
def _made(typingctx, address, d, t):
    return types.int64(types.uint64, d, types.float64), call_at_address


@njit(cache=True, nogil=True)
def quick_output(d, t):
    """Command [N m, rad/s or rad] that the drive follows at ``t`` [s], and whether it is on."""
    if d.kind == OWN_FILE:
        n_on = _made(d.output, d, t)  # type: ignore[call-arg, var-annotated]  # the context comes from numba
        return d.made, n_on != 0
    if d.kind == _ODRIVE:
        _step_axis(d, t)
        on = d.axis_state == AXIS_CLOSED_LOOP and d.on != 0
    else:
        on = d.on != 0 and t - d.fed <= d.watchdog
    value = d.value if on else 0.0
    if d.command_kind == COMMAND_KIND_TORQUE:
        value = min(max(value, -d.torque_limit), d.torque_limit)
    return value, on


@njit(cache=True, nogil=True)
def tell_quick(d, t, readings, out):
    """Write what it says by ``t`` [s] into ``out``; returns the number of bytes.

    Parameters
    ----------
    d : record of QUICK_TWIN
    t : float
    readings : (9,) float64 array
        As for ``calibration.to_counts``.
    out : (RX_SIZE,) uint8 array
    """
    if d.kind == _VECTORNAV:
        return _stream(d, t, readings, out)
    if d.kind == OWN_FILE:
        return _told(d.tell, d, t, readings, out)  # type: ignore[call-arg]
    for i in range(d.n_answer):
        out[i] = d.answer[i]
    n = d.n_answer
    d.n_answer = 0
    return n


@njit(cache=True, nogil=True)
def _stream(d, t, readings, out):
    """Write the VectorNav's message of this instant."""
    message = laid_over(out, 1, MESSAGE)
    out[0] = 0xFA
    message.groups, message.fields = GROUPS, FIELDS
    message.t_ns = np.uint64(np.rint(1e9 * t))
    message.angle_x = message.angle_y = message.angle_z = np.float32(0.0)
    rate, force = readings[RATE_READINGS], readings[FORCE_READINGS]
    turn, gyro, accel = d.turn, d.gyro_offset, d.accel_offset
    message.rate_x = turn[0, 0] * rate[0] + turn[0, 1] * rate[1] + turn[0, 2] * rate[2] + gyro[0]
    message.rate_y = turn[1, 0] * rate[0] + turn[1, 1] * rate[1] + turn[1, 2] * rate[2] + gyro[1]
    message.rate_z = turn[2, 0] * rate[0] + turn[2, 1] * rate[1] + turn[2, 2] * rate[2] + gyro[2]
    message.force_x = turn[0, 0] * force[0] + turn[0, 1] * force[1] + turn[0, 2] * force[2] + accel[0]
    message.force_y = turn[1, 0] * force[0] + turn[1, 1] * force[1] + turn[1, 2] * force[2] + accel[1]
    message.force_z = turn[2, 0] * force[0] + turn[2, 1] * force[1] + turn[2, 2] * force[2] + accel[2]
    crc = crc_xmodem(out, 1, MESSAGE_SIZE - 2)
    out[MESSAGE_SIZE - 2], out[MESSAGE_SIZE - 1] = crc >> 8, crc & 0xFF
    return MESSAGE_SIZE


@njit(cache=True, nogil=True)
def hear_quick(d, rx, n, t, readings):
    """Let it hear ``rx[:n]`` at ``t`` [s], and prepare its answer from the readings of that instant.

    Parameters
    ----------
    d : record of QUICK_TWIN
    rx : uint8 array
    n : int
    t : float
    readings : (9,) float64 array
    """
    if d.kind == _VECTORNAV:
        return
    if d.kind == OWN_FILE:
        _heard(d.hear, d, rx, n, t, readings)  # type: ignore[call-arg]
        return
    if d.kind == _ODRIVE:
        _step_axis(d, t)
        _turn_encoders(d, t, readings)
    for i in range(n):
        d.held[d.filled] = rx[i]
        d.filled += 1
        if d.kind == _VESC:
            _take_packet(d, t, readings)
        elif rx[i] == 10:
            _take_line(d, t, readings)
            d.filled = 0
        if d.filled == _ROOM:
            d.filled = 0


# VESC


@njit(cache=True, nogil=True)
def _take_packet(d, t, readings):
    """Obey the packet that is whole, if one is."""
    if d.held[0] != 2:
        d.filled = 0
        return
    if d.filled < 2 or d.filled < d.held[1] + 5:
        return
    size = np.int64(d.held[1])
    checksum = np.int64(d.held[size + 2]) << 8 | np.int64(d.held[size + 3])
    if d.held[size + 4] == 3 and checksum == crc_xmodem(d.held, 2, size + 2):
        _obey_packet(d, t, readings)
    d.filled = 0


@njit(cache=True, nogil=True)
def _obey_packet(d, t, readings):
    """Do what the payload says; the answer to a question is kept until the next tick."""
    kind, value = np.int64(d.held[2]), np.int64(0)
    for i in range(4):
        value = value << 8 | np.int64(d.held[3 + i])
    if kind == _ASKED:
        _answer_values(d, t, readings)
    elif kind in (_SET_CURRENT, _SET_CURRENT_BRAKE, _SET_RPM, _SET_POS):
        value = value - (1 << 32) if value >= 1 << 31 else value
        d.fed, d.on, d.value = t, 0, 0.0
        if d.command_kind == COMMAND_KIND_TORQUE and kind == _SET_CURRENT:
            d.on, d.value = 1, d.torque_sign * 1e-3 * value * d.scale
        elif d.command_kind == COMMAND_KIND_RATE and kind == _SET_RPM:
            d.on, d.value = 1, d.torque_sign * value * d.unit
        elif d.command_kind == COMMAND_KIND_ANGLE and kind == _SET_POS:
            there = math.degrees(d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio)
            way = (1e-6 * value - there + 180.0) % 360.0 - 180.0  # the shorter one
            d.on, d.value = 1, readings[DELTA_READING] + d.steer_sign * math.radians(way) / d.steer_ratio


@njit(cache=True, nogil=True)
def _answer_values(d, t, readings):
    """Prepare current, supply, fault, angle and status, in single precision as the firmware scales them."""
    out, n = d.answer, d.n_answer
    angle = math.degrees(d.steer_sign * (readings[DELTA_READING] + d.steer_offset) * d.steer_ratio) % 360.0
    current = d.torque_sign * readings[TORQUE_READING] / d.scale
    out[n], out[n + 1] = 2, 17
    for i in range(5):  # the question's kind and selection
        out[n + 2 + i] = d.held[2 + i]
    _put_number(out, n + 7, np.int64(np.float32(current) * np.float32(1e2)), 4)
    _put_number(out, n + 11, np.int64(np.float32(d.bus) * np.float32(10.0)), 2)
    out[n + 13] = 0
    _put_number(out, n + 14, np.int64(np.float32(angle) * np.float32(1e6)), 4)
    out[n + 18] = VESC_TIMED_OUT if t - d.fed > d.watchdog else 0
    crc = crc_xmodem(out, n + 2, n + 19)
    out[n + 19], out[n + 20], out[n + 21] = crc >> 8, crc & 0xFF, 3
    d.n_answer = n + 22


@njit(cache=True, nogil=True)
def _put_number(out, at, value, size):
    """Write a number of so many bytes, high byte first."""
    for i in range(size):
        out[at + i] = (value >> (8 * (size - 1 - i))) & 0xFF


# ODrive


@njit(cache=True, nogil=True)
def _step_axis(d, t):
    """Let the latched watchdog strike, then follow a request for another state."""
    if t - d.fed > d.watchdog - 1e-9:
        d.error |= AXIS_WATCHDOG_EXPIRED
        d.axis_state = AXIS_IDLE
    if d.wanted != 0:
        able = d.wanted == AXIS_CLOSED_LOOP and d.error == 0 and d.axis_state != AXIS_CLOSED_LOOP
        d.axis_state = AXIS_CLOSED_LOOP if able else AXIS_IDLE
        d.wanted = 0
        if able:
            d.fed = t
        if able and d.command_kind == COMMAND_KIND_ANGLE:  # it begins where it stands
            d.value = 2.0 * math.pi * d.steer_sign * d.steer_turns / d.steer_ratio - d.steer_offset


@njit(cache=True, nogil=True)
def _turn_encoders(d, t, readings):
    """Turn the encoders on to this instant."""
    d.steer_turns = d.steer_sign * (readings[DELTA_READING] + d.steer_offset) / (2.0 * math.pi) * d.steer_ratio
    d.wheel_turns += d.wheel_sign * readings[WHEEL_READING] / (2.0 * math.pi) * (t - d.t)
    d.t = t


@njit(cache=True, nogil=True)
def _take_line(d, t, readings):
    """Obey a line with the right checksum, and answer it where it asks."""
    line, star = d.held, find_checked_star(d.held, d.filled - 1)
    if star < 0:
        return
    first = line[0]
    if first == 114:  # r
        _answer_property(d, readings)
    elif first == 102:  # f
        begin = d.n_answer
        if line[2] - 48 == d.wheel_axis:
            turns, rate = d.wheel_turns, d.wheel_sign * readings[WHEEL_READING] / (2.0 * math.pi)
        else:
            turns, rate = d.steer_turns, 0.0  # of the steer only the angle matters
        n = _put_real(d.answer, begin, turns, 99)
        d.answer[n] = 32
        d.n_answer = put_checksum(d.answer, begin, _put_real(d.answer, n + 1, rate, 99))
    elif first == 119:  # w
        if line[2] == 116:  # test_property
            d.mark = np.int64(read_number(line, 16, star))
        else:
            d.wanted = np.int64(read_number(line, 24, star))  # axis0.requested_state
    elif first == 115:  # sc
        d.error = 0
    elif first in (99, 118, 112, 117):  # c, v, p, u: all feed its watchdog
        d.fed = t
        if first != 117:
            _set_point(d, first, read_number(line, 4, star))


@njit(cache=True, nogil=True)
def _set_point(d, verb, number):
    """Take a torque, a rate or an angle; another kind than the plant's is obeyed by none."""
    d.on = 0
    number = np.float32(number)
    if verb == 99 and d.command_kind == COMMAND_KIND_TORQUE:
        d.on, d.value = 1, d.torque_sign * number * d.scale
    elif verb == 118 and d.command_kind == COMMAND_KIND_RATE:
        d.on, d.value = 1, d.torque_sign * number * d.unit
    elif verb == 112 and d.command_kind == COMMAND_KIND_ANGLE:
        d.on, d.value = 1, d.steer_sign * 2.0 * math.pi * number / d.steer_ratio - d.steer_offset


@njit(cache=True, nogil=True)
def _answer_property(d, readings):
    """Answer `r` with a whole number, or a fraction cut after nine characters."""
    begin, line = d.n_answer, d.held
    if line[2] == 116:  # test_property
        n = put_digits(d.answer, begin, d.mark, 1)
    elif line[2] == 118:  # vbus_voltage
        n = _put_real(d.answer, begin, d.bus, 9)
    elif line[8] == 99:  # axis0.current_state
        n = put_digits(d.answer, begin, d.axis_state, 1)
    elif line[8] == 101:  # axis0.error
        n = put_digits(d.answer, begin, d.error, 1)
    else:  # axis0.motor.current_control.Iq_measured
        n = _put_real(d.answer, begin, d.torque_sign * readings[TORQUE_READING] / d.per_amp, 9)
    d.n_answer = put_checksum(d.answer, begin, n)


@njit(cache=True, nogil=True)
def _put_real(out, n, value, longest):
    """Append a number of six decimals in single precision, cut after ``longest`` characters; returns where it ends."""
    begin, value = n, np.float64(np.float32(value))
    if value < 0.0:
        out[n] = 45
        n += 1
    millionths = np.int64(np.rint(1e6 * abs(value)))
    n = put_digits(out, n, millionths // 1_000_000, 1)
    out[n] = 46
    n = put_digits(out, n + 1, millionths % 1_000_000, 6)
    return min(n, begin + longest)
