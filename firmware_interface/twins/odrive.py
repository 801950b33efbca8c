"""An ODrive's twin: ASCII protocol of firmware 0.5, latched watchdog, a steer axis, an encoder on the other."""

import math
from functools import reduce

import numpy as np

from firmware_interface.devices.odrive_setup import checksum
from firmware_interface.faults import Kind
from firmware_interface.twins.twin import STEP_RATE, TwinConfig, playing

IDLE, CLOSED_LOOP = 1, 8
WATCHDOG_EXPIRED, MOTOR_FAILED = 0x800, 0x40  # axis errors
DRV_FAULT = 0x8  # motor error
_LONGEST = 256  # characters of a line
_TORQUE_CONSTANT = 0.1  # N m/A


class ODriveTwin:
    """A `Twin`. Its properties are a dictionary by name, as `r` and `w` know them."""

    def __init__(self, config: TwinConfig) -> None:
        self.T, self.enabled = 0.0, False
        self._config = config
        self._axis = round(config.settings.get("axis", 0))
        self._wheel_axis = round(config.settings.get("wheel_axis", -1))
        self._gear = config.settings.get("gear_ratio", 1.0)
        self._line = b""
        self._begin(0.0)

    def _begin(self, t: float) -> None:
        """As after power-up at ``t`` [s]; settings that were not saved are gone."""
        a = f"axis{self._axis}"
        self._properties: dict[str, float] = {
            "fw_version_major": 0,
            "fw_version_minor": 5,
            "fw_version_revision": 6,
            "vbus_voltage": self._config.bus,
            f"{a}.error": 0,
            f"{a}.current_state": IDLE,
            f"{a}.requested_state": 0,
            f"{a}.motor.error": 0,
            f"{a}.motor.is_calibrated": 1,
            f"{a}.encoder.is_ready": 1,
            f"{a}.motor.config.torque_constant": _TORQUE_CONSTANT,
            f"{a}.motor.config.current_lim": self._config.torque_limit / _TORQUE_CONSTANT / self._gear,
            f"{a}.motor.current_control.Iq_measured": 0.0,
            f"{a}.controller.config.control_mode": 3,
            f"{a}.controller.config.input_mode": 1,
            f"{a}.config.watchdog_timeout": 0.0,
            f"{a}.config.enable_watchdog": 0,
        }
        self._fed, self._torque = t, 0.0
        self._position = self._wheel_position = self._wheel_rate = self._rate = 0.0

    def hear(self, data: bytes, t: float) -> bytes:
        """Lines, ended by ``\\n``, ``\\r`` or ``!``; the answers to those that have one."""
        answer = b""
        for byte in data:
            if byte in b"\n\r!":
                if len(self._line) <= _LONGEST:
                    answer += self._obey(self._line, t)
                self._line = b""
            else:
                self._line += bytes([byte])
        return answer

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Watchdog, faults, instruments; an ODrive says nothing unasked."""
        cal, p, a = self._config.calibration, self._properties, f"axis{self._axis}"
        reset = playing(self._config.faults, Kind.RESET, t)
        if reset is not None and t - reset.start < 2e-3:
            self._begin(t)
        turns = cal.steer_sign * (readings[6] + cal.steer_offset) / (2 * math.pi) * cal.steer_gear_ratio
        self._rate, self._position = STEP_RATE * (turns - self._position), turns
        self._wheel_rate = cal.wheel_sign * readings[7] / (2 * math.pi)
        bus = playing(self._config.faults, Kind.BUS, t)
        p["vbus_voltage"] = self._config.bus if bus is None else bus.size
        p[f"{a}.motor.current_control.Iq_measured"] = cal.torque_sign * readings[8] / (_TORQUE_CONSTANT * self._gear)
        if playing(self._config.faults, Kind.DRIVE_TRIPS, t):
            p[f"{a}.motor.error"], p[f"{a}.error"] = DRV_FAULT, int(p[f"{a}.error"]) | MOTOR_FAILED
        dead = playing(self._config.faults, Kind.WATCHDOG_DEAD, t) is not None
        if p[f"{a}.config.enable_watchdog"] and not dead and t - self._fed > p[f"{a}.config.watchdog_timeout"]:
            p[f"{a}.error"] = int(p[f"{a}.error"]) | WATCHDOG_EXPIRED
        if p[f"{a}.error"]:
            p[f"{a}.current_state"] = IDLE
        self._drive()
        return b""

    def _drive(self) -> None:
        limit = self._config.torque_limit
        self.enabled = self._properties[f"axis{self._axis}.current_state"] == CLOSED_LOOP
        T = self._config.calibration.torque_sign * self._torque * self._gear if self.enabled else 0.0
        self.T = min(max(T, -limit), limit)

    def _obey(self, line: bytes, t: float) -> bytes:
        body, star, told = line.partition(b"*")
        if star:
            digits = told.split(b";")[0].strip()
            if not digits.isdigit() or int(digits) != checksum(body):
                return b""  # dropped without a word
        else:
            body = body.split(b";")[0]
        words = body.decode("ascii", errors="replace").split()
        answer = self._answer(words, t) if words else None
        if answer is None:
            return b""
        said = answer.encode()
        return said + (b"*%d" % reduce(int.__xor__, said, 0) if star else b"") + b"\r\n"

    def _answer(self, words: list[str], t: float) -> str | None:
        command, given = words[0], words[1:]
        try:
            if command == "r":
                value = self._properties.get(given[0])
                if value is None:
                    return "invalid property"
                return f"{value:.6f}" if isinstance(value, float) else str(value)
            if command == "w":
                return self._write(given[0], float(given[1]))
            if command == "f":
                return self._feedback(int(given[0]))
            if command == "sc":
                for name in ("error", "motor.error"):
                    self._properties[f"axis{self._axis}.{name}"] = 0
                return None
            if command in ("c", "u", "p", "q", "v", "t"):
                if int(given[0]) == self._axis:
                    self._fed = t
                    self._torque = float(given[1]) if command == "c" else 0.0
                return None
        except (IndexError, ValueError):
            return "invalid command format"
        return "unknown command"

    def _write(self, name: str, value: float) -> str | None:
        if name not in self._properties:
            return "invalid property"
        kept = self._properties[name]
        self._properties[name] = value if isinstance(kept, float) else int(value)
        if name == f"axis{self._axis}.requested_state":
            error = self._properties[f"axis{self._axis}.error"]
            self._properties[f"axis{self._axis}.current_state"] = int(value) if not error else IDLE
        return None

    def _feedback(self, axis: int) -> str:
        if axis == self._axis:
            return f"{self._position:f} {self._rate:f}"
        if axis == self._wheel_axis:
            return f"{self._wheel_position:f} {self._wheel_rate:f}"
        return "0.000000 0.000000"


def make(config: TwinConfig) -> ODriveTwin:
    """A drive as after power-up."""
    return ODriveTwin(config)
