"""Driver of an ODrive by its ASCII protocol.

Firmware 0.5: steer drive, steer encoder, and a wheel encoder on its other axis. Every line carries a checksum, ``*NN``:
the exclusive or of all bytes before the star, in decimal. The answer to such a line carries one too. Answers have no
label, so one that is lost must never let a voltage be read as a current. The rule:

* All questions of a tick are one batch, the same in the same order each time: state, steer, error, current, wheel,
  supply. Neighbours differ in their form (a whole number, a pair, a whole number, a fraction, a pair, a fraction), so
  whatever is missing or too much is found out by the lines behind it, or by their number.
* Nothing more is asked until the batch is answered, and its values count only then, all together.
* When `_PATIENCE` ticks have gone by in that silence, or at once when a line does not fit, the batch is thrown away and
  the thread counts as lost. It is found again by a mark, a number never used before that is written to the drive's
  ``test_property`` and asked back: what comes before the mark, however late, falls on deaf ears.

A link begins lost. A sample acknowledges the command that stood before its questions. That the drive heard the command
too is likely, not certain: a set-point gets no answer, which is why only the watchdog protects.

A rate is told by ``v``, an angle by ``p``, in turns of the motor. Either bounds its torque by the drive's own limits,
and its speed by ``vel_limit``, which is told as the limit of the rate. An angle drive that is off is fed by ``u``
alone: ``p`` would be a place to go to.

``c``, the torque, feeds the drive's watchdog; ``r``, ``f`` and ``w`` do not. The watchdog is latched, runs while idle,
and an expired one strikes again until it is fed, so ``c`` goes before ``sc``. Firmware before 0.5 never starts a
watchdog that was set over ASCII, whatever it answers: the proof while arming finds that.

The motor's own error is not asked for: firmware 0.5 answers ``lu`` (issue 571 of its repository). From 0.5.5 on it
shows in the axis error, as do encoder and controller; `odrive_setup` insists on that.

Source: ascii_protocol.cpp, axis.cpp and odrive-interface.yaml of ODrive's firmware 0.5.6; docs, "ASCII Protocol".
"""

import math

import numpy as np

from riderless.firmware_interface.ascii_text import append_text, ascii_bytes
from riderless.firmware_interface.devices.driver import Device, DeviceSetting, DeviceSettings, ExampleMessage, Traffic
from riderless.firmware_interface.devices.link import ROLE_DRIVE, ROLE_STEER, ROLE_WHEEL
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_CLOSED_LOOP,
    AXIS_ENCODER_FAILED,
    AXIS_ESTOP_REQUESTED,
    AXIS_IDLE,
    AXIS_WATCHDOG_EXPIRED,
)
from riderless.firmware_interface.devices.odrive_setup import ODRIVE_COUNTS_PER_TURN, introduce
from riderless.firmware_interface.devices.odrive_text import (
    FORM_BROKEN,
    FORM_PAIR,
    FORM_REAL,
    FORM_WHOLE,
    FORM_WORDS,
    append_decimal,
    append_request,
    append_whole,
    close_line,
    take_lines,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.messages import (
    COMMAND_CLEAR,
    COMMAND_ENABLE,
    COMMAND_KIND_ANGLE,
    COMMAND_KIND_RATE,
    FAULT_DRIVE,
    FAULT_ENCODER,
    STATUS_ENABLED,
    STATUS_STOP_BUTTON,
    STATUS_WATCHDOG,
)

_PATIENCE = 4  # ticks for a batch, or a mark, to be answered
_REPEAT = 10  # ticks until the drive is told again to switch on; a second request interrupts the first
_FIRST_MARK, _MARKS = 2_000_000, 1_000_000  # beyond every state and every axis error
_VALUE_MAX = 9999.0  # N m, turns/s or turns of the motor, more than any
_ANGLE_PLACES = 6  # decimals of an angle in turns, as many as the drive says itself

# The batch, in its order, and the form each answer must have.
_STATE, _STEER, _ERROR, _CURRENT, _WHEEL, _BUS, _PLACES = range(7)
_FORMS = np.array([FORM_WHOLE, FORM_PAIR, FORM_WHOLE, FORM_REAL, FORM_PAIR, FORM_REAL])
_LARGEST = np.array([2.0**32, 2.0e9, 2.0**32, 2.0e9, 2.0e9, 65535.5])  # in the units of RAW
# Where the link stands.
_LOST, _MARKED, _READY, _OPEN = range(4)
# Places in the link's memory. The first six hold what the open batch has brought, by its order.
_PHASE, _WAITED, _NEXT, _MARK, _SEQ, _STATE_NOW, _ERROR_NOW, _REQUESTED, _SPOILT = range(_PLACES, _PLACES + 9)

_AXIS, _BUS_VOLTAGE = ascii_bytes("r axis"), ascii_bytes("r vbus_voltage ")
_OF_CURRENT, _OF_ERROR = ascii_bytes(".motor.current_control.Iq_measured "), ascii_bytes(".error ")
_OF_STATE = ascii_bytes(".current_state ")
_FEEDBACK, _TORQUE, _CLEAR, _SPACE = ascii_bytes("f "), ascii_bytes("c "), ascii_bytes("sc "), ascii_bytes(" ")
_RATE, _ANGLE, _FEED = ascii_bytes("v "), ascii_bytes("p "), ascii_bytes("u ")
_SET_MARK, _ASK_MARK = ascii_bytes("w test_property "), ascii_bytes("r test_property ")


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns how many batches were completed. Runs inside the tick."""
    return take_lines(link, rx, n, _hear_answer)


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the torque if ``send``, and the questions unless answers are due; returns the number of bytes.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `link.say`.
    """
    n = np.int64(0)
    if send and link.role & ROLE_DRIVE:
        n = _command(link, command, out, n)
    memory = link.memory
    if memory[_PHASE] == _READY:
        return _ask(link, out, n)
    memory[_WAITED] += 1
    if memory[_PHASE] != _LOST and memory[_WAITED] < _PATIENCE:
        return n  # nothing is asked while answers are due
    _lose(link)
    return _ask_mark(link, out, n)


@njit(cache=True, nogil=True)
def _command(link, command, out, n):
    """Write the set-point, then what changes the drive's state. Runs inside the tick."""
    memory = link.memory
    value = command.T_cmd / (link.unit if command.kind in (COMMAND_KIND_RATE, COMMAND_KIND_ANGLE) else link.scale)
    on = command.flags & COMMAND_ENABLE != 0 and math.isfinite(value)
    state, error = memory[_STATE_NOW], memory[_ERROR_NOW]
    n = _set_point(link, command.kind, min(max(value, -_VALUE_MAX), _VALUE_MAX), on, out, n)
    link.said_seq = command.seq
    if not on and command.flags & COMMAND_CLEAR and error != 0:
        n = close_line(out, n, append_text(out, n, _CLEAR))
    memory[_REQUESTED] = max(0, memory[_REQUESTED] - 1)
    if on and state not in (0, AXIS_CLOSED_LOOP) and error == 0 and memory[_REQUESTED] == 0:  # 0: not heard of yet
        memory[_REQUESTED] = _REPEAT
        n = append_request(out, n, link.axis, AXIS_CLOSED_LOOP)
    elif not on and (state == AXIS_CLOSED_LOOP or memory[_REQUESTED] > 0):  # it may have switched on unseen
        n = append_request(out, n, link.axis, AXIS_IDLE)
    return n


@njit(cache=True, nogil=True)
def _set_point(link, kind, value, on, out, n):
    """Write the set-point of a drive that is ``on``, or what feeds its watchdog. Runs inside the tick.

    Parameters
    ----------
    link, out
        As for `speak`.
    kind : int
        ``COMMAND_KIND_*``.
    value : float
        N m, turns/s or turns of the motor.
    on : bool
    n : int
        Where it begins; where it ends is returned.
    """
    begin = n
    if kind == COMMAND_KIND_ANGLE:
        n = append_text(out, append_whole(out, append_text(out, n, _ANGLE if on else _FEED), link.axis), _SPACE)
        if not on:
            return close_line(out, begin, n)
        n = append_decimal(out, n, value, _ANGLE_PLACES)
    else:
        verb = _RATE if kind == COMMAND_KIND_RATE else _TORQUE
        n = append_text(out, append_whole(out, append_text(out, n, verb), link.axis), _SPACE)
        n = append_decimal(out, n, value if on else 0.0)
    return close_line(out, begin, append_text(out, n, _SPACE))


@njit(cache=True, nogil=True)
def _ask(link, out, n):
    """Write the batch of questions. Runs inside the tick."""
    memory, place = link.memory, _after(link, np.int64(-1))
    memory[_PHASE], memory[_WAITED], memory[_NEXT], memory[_SPOILT] = _OPEN, 0, place, 0
    memory[_SEQ] = link.said_seq
    while place < _PLACES:
        begin = n
        if place == _BUS:
            n = append_text(out, n, _BUS_VOLTAGE)
        elif place in (_STEER, _WHEEL):
            axis = link.axis if place == _STEER else link.wheel_axis
            n = append_text(out, append_whole(out, append_text(out, n, _FEEDBACK), axis), _SPACE)
        else:
            n = append_whole(out, append_text(out, n, _AXIS), link.axis)
            n = append_text(out, n, _OF_STATE if place == _STATE else _OF_ERROR if place == _ERROR else _OF_CURRENT)
        n = close_line(out, begin, n)
        place = _after(link, place)
    return n


@njit(cache=True, nogil=True)
def _after(link, place):
    """Next place of the batch that this link asks for; `_PLACES` at its end. Runs inside the tick."""
    place += 1
    if place == _STEER and not link.role & ROLE_STEER:
        place += 1
    if place == _WHEEL and (not link.role & ROLE_WHEEL or link.wheel_axis < 0):
        place += 1
    return place


@njit(cache=True, nogil=True)
def _ask_mark(link, out, n):
    """Write a mark to the drive and ask it back. Runs inside the tick."""
    memory = link.memory
    mark = _FIRST_MARK + (memory[_MARK] + 1) % _MARKS
    memory[_PHASE], memory[_WAITED], memory[_MARK] = _MARKED, 0, mark
    begin = n
    n = close_line(out, begin, append_text(out, append_whole(out, append_text(out, n, _SET_MARK), mark), _SPACE))
    return close_line(out, n, append_text(out, n, _ASK_MARK))


@njit(cache=True, nogil=True)
def _lose(link):
    """Throw away what is under way; the next words are a new mark. Runs inside the tick."""
    link.receiver.samples_lost += 1 if link.memory[_PHASE] == _OPEN else 0
    link.memory[_PHASE] = _LOST


@njit(cache=True, nogil=True)
def _hear_answer(link, form, first, second):
    """Take an answer, or what is none; returns 1 if it completes a batch. Runs inside the tick."""
    memory = link.memory
    if form in (FORM_BROKEN, FORM_WORDS):
        _lose(link)
        return 0
    if memory[_PHASE] == _OPEN and form == _FORMS[memory[_NEXT]]:
        return _take(link, first, second)
    if memory[_PHASE] == _READY or memory[_PHASE] == _OPEN:
        _lose(link)
    elif memory[_PHASE] == _MARKED and form == FORM_WHOLE and first == memory[_MARK]:
        memory[_PHASE] = _READY
    return 0


@njit(cache=True, nogil=True)
def _take(link, first, second):
    """Take an answer of the form its place asks for; returns 1 if it completes the batch. Runs inside the tick."""
    memory, place = link.memory, link.memory[_NEXT]
    value = first
    if place == _STEER:
        value = first * ODRIVE_COUNTS_PER_TURN
    elif place == _CURRENT:
        value = first * link.per_amp * 1e3
    elif place == _WHEEL:
        value = second * 2e3 * math.pi  # of the wheel only the rate matters
    elif place == _BUS:
        value = max(first * 1e3, 0.0) if math.isfinite(first) else first  # unpowered it may read below zero
    if not abs(value) < _LARGEST[place]:
        memory[_SPOILT] = 1
        value = 0.0
    memory[place] = np.int64(np.rint(value))
    memory[_NEXT] = _after(link, place)
    if memory[_NEXT] < _PLACES:
        return 0
    memory[_PHASE] = _READY
    _adopt(link)
    return 1


@njit(cache=True, nogil=True)
def _adopt(link):
    """Make the whole batch the reading. Runs inside the tick."""
    raw, memory = link.raw, link.memory
    state, error = memory[_STATE], memory[_ERROR]
    memory[_STATE_NOW], memory[_ERROR_NOW] = state, error
    if link.role & ROLE_STEER:
        raw.steer_counts = memory[_STEER]
    if link.role & ROLE_WHEEL and link.wheel_axis >= 0:
        raw.wheel_mrad_s = memory[_WHEEL]
    raw.torque_mNm = memory[_CURRENT]
    raw.bus_mV = memory[_BUS]
    raw.off_scale = memory[_SPOILT]
    raw.status = (
        (STATUS_ENABLED if state == AXIS_CLOSED_LOOP and error == 0 else 0)
        | (STATUS_WATCHDOG if error & AXIS_WATCHDOG_EXPIRED else 0)
        | (STATUS_STOP_BUTTON if error & AXIS_ESTOP_REQUESTED else 0)
    )
    # without an estimate `f` answers zeros
    raw.faults = (FAULT_DRIVE if error & ~AXIS_WATCHDOG_EXPIRED else 0) | (
        FAULT_ENCODER if error & AXIS_ENCODER_FAILED else 0
    )
    raw.command_seq = memory[_SEQ]
    raw.seq = (raw.seq + 1) & 0xFFFF


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    """Bytes of the longest lines of a period, without those said only when the state changes or the thread is lost."""
    wheel_axis = settings["wheel_axis"]
    if carries & ROLE_WHEEL and wheel_axis < 0:
        raise DeviceError(
            f"an odrive that carries the wheel needs wheel_axis, the axis with its encoder, found {wheel_axis:g}: "
            "give it under its [[port]], or let another device carry the wheel"
        )
    torque, encoders = bool(carries & ROLE_DRIVE), bool(carries & ROLE_STEER) + bool(carries & ROLE_WHEEL)
    lines = [_AXIS.size + 1 + rest.size for rest in (_OF_STATE, _OF_ERROR, _OF_CURRENT)] + [_BUS_VOLTAGE.size]
    # the longest set-point of any kind: a torque or a rate has four decimals and a blank, an angle six decimals
    lines += torque * [max(len("c 0 -10.0000 "), len("p 0 -10.000000"))] + encoders * [len("f 0 ")]
    answers = [len(answer) for answer in ("8", "0", "-12.34567", "24.087744")] + encoders * [len("-1.234567 -1.234567")]
    down, up = sum(lines) + len(lines) * len("*NN\n"), sum(answers) + len(answers) * len("*NN\r\n")
    return Traffic(up, down, f"{len(lines)} lines of {down} bytes down and {len(answers)} answers of {up} bytes up")


DEVICE = Device(
    name="odrive",
    carries=ROLE_DRIVE | ROLE_STEER | ROLE_WHEEL,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    test_settings={"torque_limit_Nm": 7.0, "wheel_axis": 1.0, "gear_ratio": 2.0},
    settings={
        "axis": DeviceSetting(0.0, "", "the axis of the steer drive, 0 or 1"),
        "wheel_axis": DeviceSetting(-1.0, "", "the axis whose encoder sits on the rear wheel; -1 for none"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of the motor per turn of the steer"),
        "torque_limit_Nm": DeviceSetting(None, "N m", "the largest torque on the steer that motor and gear bear"),
        "torque_constant_Nm_A": DeviceSetting(0.0, "N m/A", "that the drive must be set to; 0 for any it is set to"),
    },
    examples=(
        ExampleMessage(b"24.087744*33\r\n", False, {}, "worked by hand: the checksum of 24.087744 is 32"),
        ExampleMessage(b"24.087744\r\n", False, {}, "an answer without a checksum, as to a question without one"),
        ExampleMessage(b"invalid property*12\r\n", False, {}, "worked by hand: an answer that carries no number"),
    ),
)
