"""Setup of an ODrive before the loop.

Settings are written line by line, and everything is read back. Answers carry no label, so each question stands before a
mark, a number that is written to the drive and asked back: what comes right before the mark is the answer to the
question, however often that had to be asked.
"""

import math
from functools import reduce
from operator import xor

from riderless.firmware_interface.devices.driver import (
    DeviceRequirements,
    DeviceSettings,
    Introduction,
    require_positive,
)
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_IDLE,
    CONTROL_MODES,
    CONTROL_VELOCITY,
    INPUT_PASSTHROUGH,
)
from riderless.firmware_interface.errors import DeviceError
from riderless.firmware_interface.messages import COMMAND_KIND_TORQUE
from riderless.firmware_interface.port import SerialPort, ask_and_listen

ODRIVE_COUNTS_PER_TURN = 1e6  # steer counts made of a turn of the encoder: the drive says six decimals

_TIMEOUT, _AGAIN = 2.0, 0.2  # s
_LOOKS = 20  # at the state, for the axis to become idle
_FIRST_MARK = 1_000_000  # above every number that is asked for here; the loop's marks are higher still
_FIRMWARE = (0, 5, 5)  # from here on errors of motor and encoder show in the axis error
_WATCHDOG_OFF_BY = 5e-4  # s
_TORQUE_CONSTANTS = 0.001, 5.0  # N m/A, of any motor that fits
_CONSTANT_OFF_BY = 0.01  # share


def introduce(port: SerialPort, wants: DeviceRequirements) -> Introduction:
    """Make the axis idle, set the mode of control and the watchdog, and read everything back. Nothing is saved in it.

    Raises
    ------
    DeviceError
        When nothing answers, firmware or settings do not fit, motor or encoder are not calibrated, an error stays, or
        something that is set does not stay.
    """
    settings = wants.settings
    _require_sense(settings)
    drive, axis, gear = _Conversation(port), f"axis{settings['axis']:.0f}", settings["gear_ratio"]
    firmware = _firmware(drive)
    _make_idle(drive, axis)
    _require_calibrated(drive, axis)
    drive.set(f"{axis}.config.enable_watchdog", 0)  # while nobody feeds it, it would strike at once
    _clear_errors(drive, [axis] + [f"axis{settings['wheel_axis']:.0f}"] * (settings["wheel_axis"] >= 0))
    drive.set(f"{axis}.controller.config.control_mode", CONTROL_MODES[wants.kind])
    drive.set(f"{axis}.controller.config.input_mode", INPUT_PASSTHROUGH)
    # else torque is bounded by (vel_limit -+ speed) vel_gain: with the factory's settings 0.3 N m at rest
    drive.set(f"{axis}.controller.config.enable_torque_mode_vel_limit", 0)
    constant = _torque_constant(drive, axis, settings["torque_constant_Nm_A"])
    current = drive.positive(f"{axis}.motor.config.current_lim", "A")
    torque = drive.positive(f"{axis}.motor.config.torque_lim", "N m")  # infinite from the factory
    speed_limit = f"{axis}.controller.config.vel_limit"
    fastest = None if wants.kind == COMMAND_KIND_TORQUE else drive.positive(speed_limit, "turns/s")
    watchdog = _set_watchdog(drive, axis, wants.watchdog)
    return Introduction(
        name=f"ODrive {firmware}, {axis}",
        torque_limit=min(settings["torque_limit_Nm"], current * constant * gear, torque * gear),
        watchdog=watchdog,
        steer_counts_per_turn=ODRIVE_COUNTS_PER_TURN,
        scale=gear,
        per_amp=constant * gear,
        unit=2.0 * math.pi / gear,
        obeys=1 << wants.kind,
        rate_limit=None if fastest is None else 2.0 * math.pi * fastest / gear,
    )


def introduce_wheel(port: SerialPort, axis_number: int, watchdog: float) -> str:
    """Make an axis idle, ready to be told a speed, with its watchdog on; returns its name. Nothing is saved in it.

    Parameters
    ----------
    port : SerialPort
    axis_number : int
        0 or 1.
    watchdog : float
        s

    Raises
    ------
    DeviceError
        As `introduce`.
    """
    drive, axis = _Conversation(port), f"axis{axis_number}"
    firmware = _firmware(drive)
    _make_idle(drive, axis)
    _require_calibrated(drive, axis)
    drive.set(f"{axis}.config.enable_watchdog", 0)  # while nobody feeds it, it would strike at once
    _clear_errors(drive, [axis])
    drive.set(f"{axis}.controller.config.control_mode", CONTROL_VELOCITY)
    drive.set(f"{axis}.controller.config.input_mode", INPUT_PASSTHROUGH)
    drive.positive(f"{axis}.controller.config.vel_limit", "turns/s")
    _set_watchdog(drive, axis, watchdog)
    return f"ODrive {firmware}, {axis}, rear wheel"


def _with_checksum(words: str) -> bytes:
    """Encode a line with its checksum."""
    body = f"{words} ".encode()
    return body + b"*%d\n" % reduce(xor, body)


def _without_checksum(line: bytes) -> str | None:
    """Text of a line that has lost its end-of-line; None if its checksum is wrong."""
    body, _, digits = line.partition(b"*")
    if not body or not digits.isdigit() or int(digits) != reduce(xor, body):
        return None
    return body.decode("ascii", errors="replace").strip()


class _Conversation:
    """Questions and answers; raises DeviceError in one sentence when there is no answer."""

    def __init__(self, port: SerialPort) -> None:
        self.path = port.path
        self._port = port
        self._mark = _FIRST_MARK

    def ask(self, name: str, *before: str) -> str:
        """Answer of the drive to ``r name``, after it was told the lines ``before``."""
        heard = _HeardLines()

        def request(k: int) -> bytes:
            self._mark += 1
            lines = (*before, f"w test_property {self._mark}", f"r {name}", "r test_property")
            return b"\n" + b"".join(_with_checksum(line) for line in lines)  # the first ends what was left half-said

        for data in ask_and_listen(self._port, request, _TIMEOUT, _AGAIN):
            answer = heard.take(data, self._mark)
            if answer is not None:
                return answer
        raise DeviceError(_why_no_answer(self._port, name, heard))

    def number(self, name: str, *before: str) -> float:
        """Answer of the drive as a number, asked as in `ask`."""
        answer = self.ask(name, *before)
        try:
            return float(answer)
        except ValueError:
            raise DeviceError(
                f"the ODrive on {self.path} should answer `r {name}` with a number, found '{answer}': is its firmware "
                "0.5, and its setting `axis` right?"
            ) from None

    def positive(self, name: str, unit: str) -> float:
        """Answer of the drive as a number that must be positive."""
        value = self.number(name)
        if not value > 0.0:
            raise DeviceError(
                f"{name} of the ODrive on {self.path} should be positive, found {value:g} {unit}: set it in "
                f"odrivetool (odrv0.{name} = ...) and save"
            )
        return value

    def set(self, name: str, value: float) -> None:
        """Set a whole number and read it back."""
        reading = self.number(name, f"w {name} {value:g}")
        if reading != value:
            raise DeviceError(
                f"{name} of the ODrive on {self.path} should be {value:g} when set, but reads {reading:g}: set it in "
                f"odrivetool (odrv0.{name} = {value:g}) and save"
            )


class _HeardLines:
    """Lines that came in while waiting for an answer."""

    def __init__(self) -> None:
        self.n = self.good = self.bad = 0  # bytes, lines with the right checksum, others
        self._rest, self._before = b"", ""

    def take(self, data: bytes, mark: int) -> str | None:
        """Take bytes off the line; returns the answer that stands before ``mark``, once both are in."""
        self.n += len(data)
        *lines, self._rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        self._rest = self._rest[-300:]  # more than any line
        for line in filter(None, lines):
            words = _without_checksum(line)
            if words is None:
                self.bad += 1
                continue
            self.good += 1
            if words == str(mark) and self._before:
                return self._before
            is_mark = words.isdigit() and int(words) >= _FIRST_MARK
            self._before = "" if is_mark else words
        return None


def _require_sense(settings: DeviceSettings) -> None:
    axis, wheel_axis = settings["axis"], settings["wheel_axis"]
    if axis not in (0, 1) or wheel_axis not in (-1, 0, 1) or axis == wheel_axis:
        raise DeviceError(
            "an ODrive has axes 0 and 1, one for the steer and one for the wheel or -1 for none, found axis "
            f"{axis:g} and wheel_axis {wheel_axis:g}: correct them under its [[port]]"
        )
    require_positive("odrive", settings, "gear_ratio", "torque_limit_Nm")
    if not 0.0 <= settings["torque_constant_Nm_A"] < math.inf:
        raise DeviceError(
            "torque_constant_Nm_A of an odrive must be positive, or 0 for what the drive is set to, found "
            f"{settings['torque_constant_Nm_A']:g} N m/A: correct it under its [[port]]"
        )


def _firmware(drive: _Conversation) -> str:
    firmware = tuple(int(drive.number(f"fw_version_{part}")) for part in ("major", "minor", "revision"))
    if firmware[:2] != _FIRMWARE[:2] or firmware < _FIRMWARE:
        wanted, version = (".".join(map(str, numbers)) for numbers in (_FIRMWARE, firmware))
        if firmware[:2] > _FIRMWARE[:2]:
            raise DeviceError(
                f"the ODrive on {drive.path} runs firmware {version}, as ODrive Pro, S1 and Micro do, which are not "
                f"supported: firmware {wanted} or a later 0.5 exists for the board v3.x alone; take that one"
            )
        raise DeviceError(
            f"the ODrive on {drive.path} should run firmware {wanted} or a later 0.5, found {version}: load 0.5.6 with "
            "`odrivetool dfu`"
        )
    return ".".join(map(str, firmware))


def _torque_constant(drive: _Conversation, axis: str, wanted: float) -> float:
    """Ask for the torque constant [N m/A], of which the drive makes a current of a torque; ``wanted`` is 0 for any."""
    name = f"{axis}.motor.config.torque_constant"
    constant, (least, most) = drive.positive(name, "N m/A"), _TORQUE_CONSTANTS
    if wanted > 0.0:
        least, most = wanted * (1.0 - _CONSTANT_OFF_BY), wanted * (1.0 + _CONSTANT_OFF_BY)
    if not least <= constant <= most:
        raise DeviceError(
            f"{name} of the ODrive on {drive.path} should lie between {least:g} and {most:g} N m/A, found {constant:g} "
            f"N m/A: with a wrong one it makes another torque than it is told; set it in odrivetool (odrv0.{name} = "
            "8.27 / KV of the motor) and save, or correct torque_constant_Nm_A under its [[port]]"
        )
    return constant


def _make_idle(drive: _Conversation, axis: str) -> None:
    for _ in range(_LOOKS):
        state = drive.number(f"{axis}.current_state", f"w {axis}.requested_state {AXIS_IDLE}")
        if state == AXIS_IDLE:
            return
    raise DeviceError(
        f"{axis} of the ODrive on {drive.path} should become idle (state {AXIS_IDLE}), but stays in state {state:g}: "
        "end what else commands it, or restart the drive"
    )


def _require_calibrated(drive: _Conversation, axis: str) -> None:
    for name, what in (("motor.is_calibrated", "motor"), ("encoder.is_ready", "encoder")):
        if drive.number(f"{axis}.{name}") != 1.0:
            raise DeviceError(
                f"the {what} of {axis} of the ODrive on {drive.path} should be calibrated, found {axis}.{name} 0: lift "
                f"the wheel, then in odrivetool odrv0.{axis}.requested_state = AXIS_STATE_FULL_CALIBRATION_SEQUENCE, "
                f"odrv0.{axis}.{what}.config.pre_calibrated = True and odrv0.save_configuration()"
            )


def _clear_errors(drive: _Conversation, axes: list[str]) -> None:
    names = [f"{axis}.error" for axis in axes]
    if any(drive.number(name) for name in names):
        drive.ask(names[0], "sc")  # what cannot be cleared comes back at once, but not before this answer
    for name in names:
        error = int(drive.number(name))
        if error:
            raise DeviceError(
                f"{name} of the ODrive on {drive.path} should be 0 after clearing, found {error:#x}: see "
                "dump_errors(odrv0) in odrivetool, and mend it"
            )


def _set_watchdog(drive: _Conversation, axis: str, wanted: float) -> float:
    """Set the time-out and start it; returns what was read back [s]."""
    name = f"{axis}.config.watchdog_timeout"
    timeout = drive.number(name, f"w {name} {wanted:.6f}")
    if not abs(timeout - wanted) < _WATCHDOG_OFF_BY:
        raise DeviceError(
            f"the watchdog of {axis} of the ODrive on {drive.path} should take {1e3 * wanted:g} ms, but reads "
            f"{1e3 * timeout:g} ms: set odrv0.{name} = {wanted:g} in odrivetool and save, or `watchdog` in the rig"
        )
    drive.set(f"{axis}.config.enable_watchdog", 1)
    return timeout


def _why_no_answer(port: SerialPort, name: str, heard: _HeardLines) -> str:
    wanted = f"an ODrive on {port.path} should answer `r {name}` within {_TIMEOUT:g} s"
    if heard.n == 0:
        return (
            f"{wanted}, but nothing came; is it powered, is this its port, and does its UART speak the ASCII protocol "
            f"at {port.baud} baud (odrv0.config.uart_a_baudrate)?"
        )
    if heard.good == 0:
        return (
            f"{wanted}, but {heard.n} bytes of something else came; is it another device, or is {port.baud} not its "
            "baud rate?"
        )
    return (
        f"{wanted}, but of what came, {heard.good} whole lines and {heard.bad} broken ones, none was the answer; is it "
        "another device, or is the cable bad?"
    )
