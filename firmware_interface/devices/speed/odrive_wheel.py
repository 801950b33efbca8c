"""Driver of an ODrive on the rear wheel.

Firmware 0.5, by its ASCII protocol with checksums. Ten times a second it is told its speed by ``v``, which feeds its
watchdog, and asked three things: state, position and speed, error. Their forms (a whole number, a pair, a whole number)
differ from neighbour to neighbour. So an answer that is lost or comes late is found out by the next one, and a batch
counts only when it is whole.

As soon as it shall not run, its axis is made idle: the motor is loose and the wheel rolls out. The watchdog of
`WHEEL_WATCHDOG` s does the same, and is latched: once the wheel ran, it is cleared only while it is told not to run.

Habits and sources: `riderless.firmware_interface.devices.odrive`.
"""

import math

import numpy as np

from riderless.firmware_interface.ascii_text import append_text, ascii_bytes
from riderless.firmware_interface.devices.driver import (
    Device,
    DeviceRequirements,
    DeviceSetting,
    DeviceSettings,
    ExampleMessage,
    Introduction,
    Traffic,
)
from riderless.firmware_interface.devices.link import ROLE_SPEED
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_CLOSED_LOOP,
    AXIS_ESTOP_REQUESTED,
    AXIS_IDLE,
    AXIS_WATCHDOG_EXPIRED,
)
from riderless.firmware_interface.devices.odrive_setup import introduce_wheel
from riderless.firmware_interface.devices.odrive_text import (
    FORM_BROKEN,
    FORM_PAIR,
    FORM_WHOLE,
    FORM_WORDS,
    append_decimal,
    append_request,
    append_whole,
    close_line,
    take_lines,
)
from riderless.firmware_interface.devices.speed.speed_memory import (
    SPEED_ANSWERED,
    SPEED_FAULT,
    SPEED_HEARD,
    SPEED_LINE_RATE,
    SPEED_OWN,
    SPEED_REPORTED,
    SPEED_RUNNING,
    SPEED_SAID,
    SPEED_SAY_RUN,
    SPEED_SAY_SPEED,
    SPEED_STATUS,
    SPEED_STOPPED,
    SPEED_TIMED_OUT,
    take_order,
)
from riderless.firmware_interface.devices.speed.wheel_settings import wheel_travel
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.port import SerialPort

WHEEL_WATCHDOG = 0.5  # s
_STATE, _SPEED, _ERROR, _NONE = range(4)  # the answers of a batch, in their order; none is due
_NEXT, _STATE_NOW, _SPEED_NOW, _STATE_KNOWN, _REQUESTED = range(SPEED_OWN, SPEED_OWN + 5)  # places in the link's memory
_REPEAT = 5  # commands until it is asked again to switch on; a second request interrupts the first
_DONE = -1  # it was switched on, and is not again before it was told not to run
_FASTEST = 9999.0  # turns/s

_AXIS, _OF_STATE, _OF_ERROR = (ascii_bytes(s) for s in ("r axis", ".current_state ", ".error "))
_FEEDBACK, _VELOCITY, _CLEAR, _SPACE = (ascii_bytes(s) for s in ("f ", "v ", "sc ", " "))


@njit(cache=True, nogil=True)
def receive(link, rx, n):
    """Take ``rx[:n]`` off the line; returns how many batches were completed. Runs inside the tick."""
    return take_lines(link, rx, n, _hear_answer)


@njit(cache=True, nogil=True)
def _hear_answer(link, form, first, second):
    """Take an answer, or what is none; returns 1 if it completes a batch. Runs inside the tick."""
    memory = link.memory
    if form in (FORM_BROKEN, FORM_WORDS):
        memory[_NEXT] = _NONE
        return 0
    place = memory[_NEXT]
    if place == _NONE or form != (FORM_PAIR if place == _SPEED else FORM_WHOLE):
        link.receiver.samples_lost += place != _NONE
        memory[_NEXT] = _NONE
        return 0
    memory[_NEXT] = place + 1
    if place == _STATE:
        memory[_STATE_NOW] = np.int64(first)
    elif place == _SPEED:
        speed = second * link.unit
        memory[_SPEED_NOW] = np.int64(math.floor(speed + 0.5)) if abs(speed) < 1e9 else np.int64(0)
        memory[_NEXT] = place + 1 if abs(speed) < 1e9 else _NONE
    else:
        _adopt(memory, np.int64(first))
        return 1
    return 0


@njit(cache=True, nogil=True)
def _adopt(memory, error):
    """Make the whole batch what was heard. Runs inside the tick."""
    memory[_STATE_KNOWN] = memory[_STATE_NOW]
    memory[SPEED_REPORTED] = memory[_SPEED_NOW]
    memory[SPEED_STATUS] = (
        (SPEED_RUNNING if memory[_STATE_NOW] == AXIS_CLOSED_LOOP and error == 0 else 0)
        | (SPEED_TIMED_OUT if error & AXIS_WATCHDOG_EXPIRED else 0)
        | (SPEED_STOPPED if error & AXIS_ESTOP_REQUESTED else 0)
        | (SPEED_FAULT if error & ~(AXIS_WATCHDOG_EXPIRED | AXIS_ESTOP_REQUESTED) else 0)
    )
    memory[SPEED_ANSWERED] = memory[SPEED_SAID]
    memory[SPEED_HEARD] += 1


@njit(cache=True, nogil=True)
def speak(link, command, send, out):
    """Write the speed that the loop left in the link's memory, if it wants one said, and the questions.

    Runs inside the tick.

    Parameters
    ----------
    link, command, send, out
        As for `riderless.firmware_interface.devices.link.say`.
    """
    memory = link.memory
    if not take_order(memory):
        return 0
    runs, state = memory[SPEED_SAY_RUN] != 0, memory[_STATE_KNOWN]
    turns = min(max(memory[SPEED_SAY_SPEED], 0) / link.unit, _FASTEST) if runs else 0.0
    n = append_text(out, append_whole(out, append_text(out, np.int64(0), _VELOCITY), link.axis), _SPACE)
    n = close_line(out, np.int64(0), append_text(out, append_decimal(out, n, turns), _SPACE))
    unfed = memory[SPEED_STATUS] & ~SPEED_RUNNING == SPEED_TIMED_OUT
    if unfed and (not runs or memory[_REQUESTED] != _DONE):  # it may have struck before anybody fed it
        n = close_line(out, n, append_text(out, n, _CLEAR))
    if not runs:
        memory[_REQUESTED] = 0
        n = append_request(out, n, link.axis, AXIS_IDLE)
    elif state == AXIS_CLOSED_LOOP:
        memory[_REQUESTED] = _DONE
    elif memory[_REQUESTED] > 0:
        memory[_REQUESTED] -= 1
    elif memory[_REQUESTED] == 0 and state != 0 and memory[SPEED_STATUS] == 0:
        memory[_REQUESTED] = _REPEAT
        n = append_request(out, n, link.axis, AXIS_CLOSED_LOOP)
    memory[_NEXT] = _STATE
    begin = n
    n = append_text(out, append_whole(out, append_text(out, n, _AXIS), link.axis), _OF_STATE)
    n = begin = close_line(out, begin, n)
    n = append_text(out, append_whole(out, append_text(out, n, _FEEDBACK), link.axis), _SPACE)
    n = begin = close_line(out, begin, n)
    n = append_text(out, append_whole(out, append_text(out, n, _AXIS), link.axis), _OF_ERROR)
    return close_line(out, begin, n)


def _prepare_odrive_wheel(link: np.void, settings: DeviceSettings) -> None:
    """Write the way [mm] per turn of the motor into a fresh link; raises DeviceError."""
    if settings["axis"] not in (0, 1):
        raise DeviceError(f"an ODrive has axes 0 and 1, found axis {settings['axis']:g}: correct it under its [[port]]")
    link["unit"], link["axis"] = 1e3 * wheel_travel("odrive_wheel", settings), settings["axis"]
    link["memory"][_NEXT] = _NONE


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Make its axis idle, and set mode and watchdog.

    Raises
    ------
    DeviceError
        Nothing answers, firmware or settings do not fit, it is not calibrated, or an error stays.
    """
    return Introduction(name=introduce_wheel(port, round(wants.settings["axis"]), WHEEL_WATCHDOG))


def _traffic(carries: int, settings: DeviceSettings) -> Traffic:
    commands = (
        "v 0 -123.4567 ",
        "w axis0.requested_state 8 ",
        "sc ",
        "r axis0.current_state ",
        "f 0 ",
        "r axis0.error ",
    )
    answers = ("8", "-1234.123456 -123.123456", "123456789")
    down, up = (sum(map(len, lines)) + len(lines) * len("*NNN\r\n") for lines in (commands, answers))
    return Traffic(
        up,
        down,
        f"{len(commands)} lines of {down} bytes down, {len(answers)} answers of {up} bytes up",
        SPEED_LINE_RATE,
    )


DEVICE = Device(
    name="odrive_wheel",
    carries=ROLE_SPEED,
    receive=receive,
    speak=speak,
    introduce=introduce,
    traffic=_traffic,
    prepare=_prepare_odrive_wheel,
    test_settings={"wheel_radius_m": 0.3, "gear_ratio": 2.0},
    settings={
        "axis": DeviceSetting(0.0, "", "the axis of the wheel's motor, 0 or 1"),
        "gear_ratio": DeviceSetting(1.0, "", "turns of the motor per turn of the rear wheel"),
        "wheel_radius_m": DeviceSetting(None, "m", "rolling radius of the rear wheel"),
    },
    examples=(
        ExampleMessage(b"8*56\r\n", True, {}, "closed loop; worked by hand: the checksum is the digit itself"),
        ExampleMessage(b"8*57\r\n", False, {}, "another checksum"),
        ExampleMessage(b"8\r\n", False, {}, "an answer without a checksum, as to a question without one"),
    ),
)
