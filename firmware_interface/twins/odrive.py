"""Twin of an ODrive.

The ASCII protocol of firmware 0.5.6, two axes, a latched watchdog.

Written from the firmware and independent of the driver's codec. It keeps the habits that bite: errors of the watchdog
come back until it is fed, also while idle; a bad checksum gets no answer, an empty line does; an answer to ``r`` is
cut after nine characters; ``motor.error`` says ``lu``; what was set over the line is forgotten when it restarts; where
that is switched on, the speed limit bounds the torque.
"""

import math
import random
import struct

import numpy as np

from riderless.firmware_interface.calibration import DELTA_READING, TORQUE_READING, WHEEL_READING
from riderless.firmware_interface.devices.odrive_codes import (
    AXIS_CLOSED_LOOP,
    AXIS_ESTOP_REQUESTED,
    AXIS_IDLE,
    AXIS_INVALID_STATE,
    AXIS_MOTOR_FAILED,
    AXIS_WATCHDOG_EXPIRED,
    CONTROL_MODES,
    CONTROL_POSITION,
    CONTROL_TORQUE,
    CONTROL_VELOCITY,
    INPUT_PASSTHROUGH,
)
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.faults import FaultKind
from riderless.firmware_interface.twins.twin import STEP_RATE, TwinConfig, active_fault

TORQUE_CONSTANT = 0.1  # N m/A
_BUFFER = 256  # bytes that wait for the end of a line; when it is full they are forgotten, and the rest of the line too
_RESPONSE = 9  # characters of an answer to `r`
_READ_ONLY = ("fw_version", "vbus_voltage", "current_state", "is_calibrated", "is_ready", "_measured", "motor.error")
_HELP = "Please see documentation for more details"


class ODriveTwin:
    """Twin of an ODrive. Its properties are a dictionary by name: whole ones are int, others float.

    Parameters
    ----------
    config : TwinConfig
        Settings ``axis``, ``wheel_axis`` and ``gear_ratio`` as the driver's.
    changes : mapping
        Properties that this drive has otherwise after power-up, e.g. ``{"axis0.motor.is_calibrated": 0}``.
    """

    def __init__(self, config: TwinConfig, changes: dict[str, float] | None = None) -> None:
        self.T, self.enabled = 0.0, False
        self.requests: list[int] = []  # states asked for, since power-up
        self._config, self._changes = config, changes or {}
        self._axis = round(config.settings.get("axis", 0))
        self._wheel_axis = round(config.settings.get("wheel_axis", -1))
        self._gear = float(config.settings.get("gear_ratio", 1.0))
        self._chances = random.Random(0)
        self._restarts = 0
        self._whole = True
        self._turns, self._rates = [math.nan, 0.0], [0.0, 0.0]  # of the steer's and the wheel's encoder
        self._held = 0.0  # N m, of a drive that holds
        self._restart(0.0)

    def hear(self, data: bytes, t: float) -> bytes:
        r"""Take lines ended by ``\n``, ``\r`` or ``!``; returns the answers to those that have one."""
        if self._booting(t):
            return b""
        answer = b""
        for byte in data:
            if byte in b"\n\r!":
                answer += self._hear_line(bytes(self._line), t) if self._whole else b""
                self._line.clear()
                self._whole = True
            elif self._whole:
                self._line.append(byte)
                if len(self._line) >= _BUFFER:
                    self._line.clear()
                    self._whole = False
        return answer

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Play instruments, watchdogs and faults; an ODrive says nothing unasked."""
        resets = sum(fault.kind == FaultKind.RESET and t >= fault.start for fault in self._config.faults)
        if resets > self._restarts:
            self._restarts = resets
            self._restart(t)
        self._measure(t, readings)
        if self._booting(t):
            self.T, self.enabled = 0.0, False
            return b""
        self._strike(t)
        self._follow_requests()
        self._drive(t)
        return b""

    def _restart(self, t: float) -> None:
        """Begin as after power-up at ``t`` [s]: what was not saved is gone."""
        self._line, self._whole = bytearray(), True  # and whether it is heard from its beginning
        self._left, self._stepped = [0.0, 0.0], t  # s, of the watchdogs; they count only while enabled
        self.properties: dict[str, float] = {
            "fw_version_major": 0,
            "fw_version_minor": 5,
            "fw_version_revision": 6,
            "vbus_voltage": self._config.bus,
            "test_property": 0,
        }
        least = self._config.torque_limit / TORQUE_CONSTANT / self._gear
        for axis in ("axis0", "axis1"):
            of_axis: dict[str, float] = {
                "error": 0,
                "current_state": AXIS_IDLE,
                "requested_state": 0,
                "config.watchdog_timeout": 0.0,
                "config.enable_watchdog": 0,
                "motor.is_calibrated": 1,
                "motor.error": 0,
                "motor.current_control.Iq_measured": 0.0,
                "motor.config.torque_constant": TORQUE_CONSTANT,
                "motor.config.current_lim": float(math.ceil(1.2 * least)),
                "motor.config.torque_lim": math.inf,
                "encoder.is_ready": 1,
                "encoder.error": 0,
                "controller.error": 0,
                "controller.input_torque": 0.0,
                "controller.input_vel": 0.0,
                "controller.input_pos": 0.0,
                "controller.config.control_mode": CONTROL_POSITION,
                "controller.config.input_mode": INPUT_PASSTHROUGH,
                "controller.config.enable_torque_mode_vel_limit": 0,  # 1 from the factory
                "controller.config.vel_limit": 2.0,
                "controller.config.vel_gain": 1.0 / 6.0,
            }
            self.properties.update({f"{axis}.{name}": value for name, value in of_axis.items()})
        self.properties.update(self._changes)

    def _booting(self, t: float) -> bool:
        return any(f.kind == FaultKind.RESET and f.start <= t < f.start + f.size for f in self._config.faults)

    def _measure(self, t: float, readings: np.ndarray) -> None:
        cal, p, steer = self._config.calibration, self.properties, f"axis{self._axis}"
        turns = cal.steer_sign * (readings[DELTA_READING] + cal.steer_offset) / (2 * math.pi) * cal.steer_gear_ratio
        before = self._turns[0] if math.isfinite(self._turns[0]) else turns
        rolling = cal.wheel_sign * readings[WHEEL_READING] / (2 * math.pi)
        self._rates = [STEP_RATE * (turns - before), rolling]
        self._turns = [turns, self._turns[1] + rolling / STEP_RATE]
        lying = active_fault(self._config.faults, FaultKind.DRIVE_LIES, t) and self._config.kind == COMMAND_KIND_TORQUE
        T = self._asked() if lying else float(readings[TORQUE_READING])
        p[f"{steer}.motor.current_control.Iq_measured"] = cal.torque_sign * T / (TORQUE_CONSTANT * self._gear)
        bus = active_fault(self._config.faults, FaultKind.BUS, t)
        p["vbus_voltage"] = bus.size if bus else self._config.bus

    def _strike(self, t: float) -> None:
        """Let the watchdogs of both axes strike, and make the errors of faults."""
        p, faults = self.properties, self._config.faults
        step, self._stepped = t - self._stepped, t
        for axis in (0, 1):
            if not p[f"axis{axis}.config.enable_watchdog"] or active_fault(faults, FaultKind.WATCHDOG_DEAD, t):
                continue
            self._left[axis] -= step
            if self._left[axis] < 1e-9:
                self._fail(f"axis{axis}", AXIS_WATCHDOG_EXPIRED)
        if active_fault(faults, FaultKind.DRIVE_TRIPS, t):
            p[f"axis{self._axis}.motor.error"] = 0x8
            self._fail(f"axis{self._axis}", AXIS_MOTOR_FAILED)
        if active_fault(faults, FaultKind.STOP_BUTTON, t):  # wired to its CAN bus
            self._fail(f"axis{self._axis}", AXIS_ESTOP_REQUESTED)

    def _feed(self, axis: int) -> None:
        self._left[axis] = self.properties[f"axis{axis}.config.watchdog_timeout"]

    def _fail(self, axis: str, error: int) -> None:
        self.properties[f"{axis}.error"] = int(self.properties[f"{axis}.error"]) | error
        self.properties[f"{axis}.current_state"] = AXIS_IDLE

    def _follow_requests(self) -> None:
        p = self.properties
        for axis in (0, 1):
            name = f"axis{axis}"
            wanted = int(p[f"{name}.requested_state"])
            if not wanted:
                continue
            p[f"{name}.error"] = int(p[f"{name}.error"]) & ~AXIS_INVALID_STATE
            if wanted == AXIS_CLOSED_LOOP and p[f"{name}.current_state"] == AXIS_CLOSED_LOOP:
                p[f"{name}.current_state"] = AXIS_IDLE  # it lets go first, and takes the request up in the next step
                continue
            p[f"{name}.requested_state"] = 0
            p[f"{name}.current_state"] = AXIS_IDLE
            able = p[f"{name}.motor.is_calibrated"] and p[f"{name}.encoder.is_ready"]
            if wanted not in (AXIS_IDLE, AXIS_CLOSED_LOOP) or (
                wanted == AXIS_CLOSED_LOOP and not able
            ):  # it calibrates never
                self._fail(name, AXIS_INVALID_STATE)
            elif wanted == AXIS_CLOSED_LOOP and not p[f"{name}.error"]:
                p[f"{name}.current_state"] = AXIS_CLOSED_LOOP
                if axis == self._axis and math.isfinite(self._turns[0]):  # it begins where it stands
                    p[f"{name}.controller.input_pos"] = self._turns[0]
                self._feed(axis)

    def _asked(self) -> float:
        """Value on the steer that the drive was told [N m, rad/s or rad, by kind], in the axes of the bicycle."""
        p, axis, kind = self.properties, f"axis{self._axis}", self._config.kind
        if not self._obeys():
            return 0.0
        cal = self._config.calibration
        if kind == COMMAND_KIND_RATE:
            fastest = p[f"{axis}.controller.config.vel_limit"]
            turns = min(max(p[f"{axis}.controller.input_vel"], -fastest), fastest) / self._gear
            return cal.torque_sign * 2.0 * math.pi * turns
        if kind == COMMAND_KIND_ANGLE:
            turns = p[f"{axis}.controller.input_pos"] / cal.steer_gear_ratio
            return cal.steer_sign * 2.0 * math.pi * turns - cal.steer_offset
        T = p[f"{axis}.controller.input_torque"]
        if p[f"{axis}.controller.config.enable_torque_mode_vel_limit"]:
            bound, gain = p[f"{axis}.controller.config.vel_limit"], p[f"{axis}.controller.config.vel_gain"]
            T = min(max(T, (-bound - self._rates[0]) * gain), (bound - self._rates[0]) * gain)
        limit = self._config.torque_limit
        return min(max(self._config.calibration.torque_sign * T * self._gear, -limit), limit)

    def _obeys(self) -> bool:
        """True if it is on, in the mode of control for which the plant stands behind it."""
        p, axis = self.properties, f"axis{self._axis}"
        on = p[f"{axis}.current_state"] == AXIS_CLOSED_LOOP
        return on and p[f"{axis}.controller.config.control_mode"] == CONTROL_MODES[self._config.kind]

    def _drive(self, t: float) -> None:
        faults = self._config.faults
        T, self.enabled = self._asked(), self.properties[f"axis{self._axis}.current_state"] == AXIS_CLOSED_LOOP
        if self._config.kind != COMMAND_KIND_TORQUE:
            self.enabled = self._obeys()
        gain = active_fault(faults, FaultKind.DRIVE_GAIN, t) or active_fault(faults, FaultKind.DRIVE_LIES, t)
        clamp = active_fault(faults, FaultKind.DRIVE_CLAMP, t)
        T = T * gain.size if gain else T
        T = min(max(T, -clamp.size), clamp.size) if clamp else T
        if active_fault(faults, FaultKind.DRIVE_HOLDS, t):
            T, self.enabled = self._held, True
        self.T = self._held = T

    def _hear_line(self, line: bytes, t: float) -> bytes:
        body, star, checksum = line.split(b";")[0].partition(b"*")
        if star:
            check = 0
            for byte in body:
                check ^= byte
            digits = checksum.split()[0] if checksum.split() else b""
            if not digits.isdigit() or int(digits) != check:
                return b""
        answer = b""
        for words in self._obey(body.decode("latin-1"), t):
            text = words.encode()
            check = 0
            for byte in text:
                check ^= byte
            answer += text + (b"*%d" % check if star else b"") + b"\r\n"
        return b"" if answer and self._too_slow(t) else answer

    def _too_slow(self, t: float) -> bool:
        slowing = active_fault(self._config.faults, FaultKind.SLOWING, t)
        if slowing is None:
            return False
        return self._chances.random() < slowing.chance * min(1.0, (t - slowing.start) / slowing.size)

    def _obey(self, line: str, t: float) -> list[str]:
        """Obey a line; returns the answers, without checksum and end."""
        kind, words = line[:1], line[1:].split()
        if kind == "r":
            return [self._read(words[0])] if words else ["invalid command format"]
        if kind == "w":
            return self._write(*words[:2]) if words else ["invalid command format"]
        if kind in ("c", "p", "q", "v", "t", "u", "f"):
            return self._of_axis(kind, words)
        if kind == "s":
            return self._system(line[1:2], t)
        if kind == "i":
            version = ".".join(f"{self.properties[f'fw_version_{part}']}" for part in ("major", "minor", "revision"))
            return ["Hardware version: 3.6-56V", f"Firmware version: {version}", "Serial number: 000000000000"]
        return [_HELP] if kind == "h" else ["unknown command"]

    def _read(self, name: str) -> str:
        if name not in self.properties:
            return "invalid property"
        value = self.properties[name]
        if name.endswith("motor.error"):
            return "lu"  # its printf knows no numbers of 64 bits
        return (f"{_float32(value):f}" if isinstance(value, float) else f"{value:d}")[:_RESPONSE]

    def _write(self, name: str, value: str = "") -> list[str]:
        if name not in self.properties:
            return ["invalid property"]
        if any(part in name for part in _READ_ONLY):
            return ["not implemented"]
        try:
            is_real = isinstance(self.properties[name], float)
            number = _float32(float(value)) if is_real else int(float(value))
        except (ValueError, OverflowError):
            return ["not implemented"]
        self.properties[name] = number
        if name == f"axis{self._axis}.requested_state":
            self.requests.append(int(number))
        return []

    def _of_axis(self, kind: str, words: list[str]) -> list[str]:
        needed = 1 if kind in "uf" else 2
        try:
            axis, value = int(words[0]), _float32(float(words[1])) if needed == 2 else 0.0
        except (IndexError, ValueError, OverflowError):
            return ["invalid command format"]
        if axis not in (0, 1):
            return [f"invalid motor {axis}"]
        if kind == "f":
            return [self._feedback(axis)]
        self._feed(axis)
        if kind != "u":
            mode = {"c": CONTROL_TORQUE, "v": CONTROL_VELOCITY}.get(kind, CONTROL_POSITION)
            self.properties[f"axis{axis}.controller.config.control_mode"] = mode
        if kind == "c":
            self.properties[f"axis{axis}.controller.input_torque"] = value
        elif kind == "v":
            self.properties[f"axis{axis}.controller.input_vel"] = value
        elif kind in "pq":
            self.properties[f"axis{axis}.controller.input_pos"] = value
        return []

    def _feedback(self, axis: int) -> str:
        at = 0 if axis == self._axis else 1
        if (at == 1 and axis != self._wheel_axis) or not math.isfinite(self._turns[0]):
            return "0.000000 0.000000"  # without an estimate
        return f"{_float32(self._turns[at]):f} {_float32(self._rates[at]):f}"

    def _system(self, kind: str, t: float) -> list[str]:
        if kind == "c":
            self.properties.update(dict.fromkeys([name for name in self.properties if name.endswith("error")], 0))
        elif kind == "r":
            self._restart(t)
        return []


def _float32(value: float) -> float:
    """Round to single precision; raises OverflowError beyond them."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def make(config: TwinConfig) -> ODriveTwin:
    """Make a calibrated drive as after power-up, the torque limit of its motor a fifth above the config's."""
    return ODriveTwin(config)
