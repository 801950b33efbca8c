"""Twin of an ODrive on the rear wheel.

Its lines have a codec of their own; the wheel moves as the emulated belt.

It obeys a speed only in closed loop; a second request for closed loop lets go. Its watchdog is fed by ``v`` and latched
until ``sc``. A line with a wrong checksum gets no answer.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import xor

import numpy as np

from riderless.firmware_interface.devices.speed.wheel_settings import wheel_travel
from riderless.firmware_interface.kernels import njit
from riderless.firmware_interface.twins.odrive_lines import find_checked_star, put_checksum, put_digits, read_number
from riderless.firmware_interface.twins.speed.belt import (
    BELT_BUTTON,
    BELT_DEAF,
    BELT_FAULTY,
    BELT_FROZEN,
    BELT_SCALE,
    BELT_SILENT,
    BeltFault,
    belt_faults,
    new_belt,
    tell_speed,
)
from riderless.firmware_interface.twins.speed.treadmill import TreadmillTwin
from riderless.firmware_interface.twins.speed.vesc_wheel import OWN_CHANGE
from riderless.firmware_interface.twins.twin import TwinConfig

_IDLE, _CLOSED_LOOP = 1, 8
_MOTOR_FAILED, _EXPIRED, _ESTOP = 0x40, 0x800, 0x4000
_OF_STATE, _OF_SPEED, _OF_ERROR = 1, 2, 4  # bits of what it was asked
_BUFFER = 200  # bytes of a line


def new_odrive_wheel(settings: Mapping[str, float], faults: Sequence[BeltFault] = ()) -> np.void:
    """Make a wheel that stands, as after power-up, a record of BELT_TWIN; raises DeviceError."""
    wheel = new_belt(faults)
    wheel["unit"], wheel["state"] = 1e3 * wheel_travel("odrive_wheel", settings), _IDLE
    return wheel


@njit(cache=True, nogil=True)
def hear_odrive_wheel(b, rx, n, t):
    """Let it hear bytes.

    Parameters
    ----------
    b : record of BELT_TWIN
    rx : uint8 array
    n : int
        Bytes that came.
    t : float
        s
    """
    line = b.decoder
    _strike(b, t)
    for i in range(n):
        if belt_faults(b, t) & BELT_DEAF:
            line.filled = 0
        elif rx[i] == 10:
            stop = find_checked_star(line.payload, line.filled)
            if stop > 0:
                _obey(b, line.payload, stop, t)
            line.filled = 0
        elif line.filled < _BUFFER:
            line.payload[line.filled] = rx[i]
            line.filled += 1


@njit(cache=True, nogil=True)
def _strike(b, t):
    """Latch what has gone wrong by ``t`` [s]."""
    wrong = belt_faults(b, t)
    b.error |= (_EXPIRED if b.timed_out else 0) | (_MOTOR_FAILED if wrong & BELT_FAULTY else 0)
    b.error |= _ESTOP if wrong & BELT_BUTTON else 0
    if b.error != 0:
        b.state, b.runs = _IDLE, 0


@njit(cache=True, nogil=True)
def _obey(b, line, stop, t):
    """Do what ``line[:stop]`` says."""
    kind = line[0]
    if kind == 118:  # v
        tell_speed(b, t, 1 if b.state == _CLOSED_LOOP else 0, 1e-3 * read_number(line, 4, stop) * b.unit, OWN_CHANGE)
    elif kind == 119:  # w axis0.requested_state
        wanted = np.int64(read_number(line, 24, stop))
        again = wanted == _CLOSED_LOOP and b.state == _CLOSED_LOOP
        b.state = _CLOSED_LOOP if wanted == _CLOSED_LOOP and b.error == 0 and not again else _IDLE
        tell_speed(b, t, 1 if b.state == _CLOSED_LOOP else 0, b.told, OWN_CHANGE)
    elif kind == 115:  # sc
        b.error, b.timed_out = 0, 0
    elif kind == 102:  # f
        b.asked |= _OF_SPEED
    elif kind == 114:  # r axis0.current_state, r axis0.error
        b.asked |= _OF_STATE if line[8] == 99 else _OF_ERROR


@njit(cache=True, nogil=True)
def tell_odrive_wheel(b, t, out):
    """Write the answers that are due into ``out``; returns the number of bytes."""
    _strike(b, t)
    requested, n = b.asked, 0
    b.asked = 0
    wrong = belt_faults(b, t)
    if wrong & BELT_SILENT:
        return 0
    if not wrong & BELT_FROZEN:
        b.shown = b.speed
    if requested & _OF_STATE:
        n = put_checksum(out, n, put_digits(out, n, b.state, 1))
    if requested & _OF_SPEED:
        begin, turns = n, 1e3 * b.shown / BELT_SCALE / b.unit
        n = _fraction(out, n, 0.0)
        out[n] = 32
        n = put_checksum(out, begin, _fraction(out, n + 1, turns))
    if requested & _OF_ERROR:
        n = put_checksum(out, n, put_digits(out, n, b.error, 1))
    return n


@njit(cache=True, nogil=True)
def _fraction(out, n, value):
    """Append a number of six decimals; returns where it ends."""
    millionths = np.int64(np.rint(1e6 * abs(value)))
    n = put_digits(out, n, millionths // 1_000_000, 1)
    out[n] = 46
    return put_digits(out, n + 1, millionths % 1_000_000, 6)


class _ODriveWheelTwin(TreadmillTwin):
    """ODrive on its line: it also tells and keeps the properties that are asked for before the loop.

    Answers come in the order of the questions, so all of them are made here; what moves the wheel is compiled.
    """

    def __init__(self, belt: np.void, axis: int) -> None:
        super().__init__(belt, hear_odrive_wheel, tell_odrive_wheel)
        self._rest, name = b"", f"axis{axis}."
        self.properties = {
            "fw_version_major": "0",
            "fw_version_minor": "5",
            "fw_version_revision": "6",
            "test_property": "0",
            f"{name}motor.is_calibrated": "1",
            f"{name}encoder.is_ready": "1",
            f"{name}controller.config.vel_limit": "100.000000",
            f"{name}controller.config.control_mode": "3",
            f"{name}controller.config.input_mode": "1",
            f"{name}config.watchdog_timeout": "0.000000",
            f"{name}config.enable_watchdog": "0",
        }

    def hear(self, data: bytes, t: float) -> bytes:
        """Take lines; returns the answers."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._answer(line, t) for line in lines)

    def _answer(self, line: bytes, t: float) -> bytes:
        body, _, checksum = line.partition(b"*")
        words = body.decode("latin-1").split()
        if not words or checksum != b"%d" % reduce(xor, body):
            return b""
        belt = self.belt
        if words[0] == "r":
            own = {"current_state": belt["state"], "error": belt["error"]}
            part = words[1].partition(".")[2]
            value = str(own[part]) if part in own else self.properties.get(words[1], "invalid property")
        elif words[0] == "f":
            value = f"0.000000 {1e3 * belt['speed'] / BELT_SCALE / belt['unit']:f}"
        elif words[0] == "w" and words[1] in self.properties:
            self.properties[words[1]] = words[2]
            return b""
        else:
            super().hear(line + b"\n", t)
            return b""
        return value.encode() + b"*%d\r\n" % reduce(xor, value.encode())


def make(config: TwinConfig) -> TreadmillTwin:
    """Make an ODrive as after power-up."""
    return _ODriveWheelTwin(new_odrive_wheel(config.settings), round(config.settings.get("axis", 0)))
