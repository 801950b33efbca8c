"""A VectorNav's twin: its registers, its errors, and its binary message at a divisor of 800 Hz.

Yaw, pitch and roll are sent as zeros: nobody should use them. It begins as from the factory, with an ASCII line
at 40 Hz.
"""

import binascii
import struct

import numpy as np

from firmware_interface.devices.vectornav_setup import FASTEST, checked, line_of
from firmware_interface.faults import Kind
from firmware_interface.twins.twin import TwinConfig, playing

_FACTORY_RATE = 40  # Hz, of the ASCII line
_REGISTERS = {1: "VN-100", 2: "01", 3: "0100012345", 4: "2.1.0.0", 5: "921600", 6: "1", 7: "40", 75: "0,1,00"}
_WRITABLE = {5: 1, 6: 1, 7: 1, 75: 4}  # and how many values each takes
_BITS = 10  # of a byte on the line


class VectorNavTwin:
    """A `Twin` without a drive."""

    T, enabled = 0.0, False

    def __init__(self, config: TwinConfig) -> None:
        self._config = config
        self._begin(0.0)

    def _begin(self, t: float) -> None:
        """As after power-up at ``t`` [s]; what was written and not saved is gone."""
        self._registers = dict(_REGISTERS)
        self._registers[5] = f"{round(self._config.settings.get('baud', 921600))}"
        self._line = b""
        self._started = t
        self._k = 0  # ticks of its 800 Hz

    def hear(self, data: bytes, t: float) -> bytes:
        """Lines in ASCII; each gets an answer, if only an error."""
        if self._off(t):
            return b""
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-300:]
        return b"".join(self._answer(line) for line in lines if b"$" in line)

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """What has come due on its own clock since the last step."""
        if self._off(t):
            self._begin(t)
            return b""
        said = b""
        while self._k <= (t - self._started) * FASTEST + 1e-6:
            said += self._due(self._k, readings)
            self._k += 1
        return said

    def _off(self, t: float) -> bool:
        reset = playing(self._config.faults, Kind.RESET, t)
        return reset is not None and t < reset.start + reset.size

    def _due(self, k: int, readings: np.ndarray) -> bytes:
        out = b""
        if self._registers[6] != "0" and k % (FASTEST // _FACTORY_RATE) == 0:
            out += line_of("VNYMR,+000.000,+000.000,+000.000,+1.0,+0.0,+0.0,+0.0,+0.0,-9.8,+0.0,+0.0,+0.0")
        words = self._registers[75].split(",")
        if len(words) == 4 and int(words[0]) & 3 and k % int(words[1]) == 0 and int(words[3], 16) == 0x0129:
            out += self._message(k, readings)
        return out

    def _message(self, k: int, readings: np.ndarray) -> bytes:
        cal = self._config.calibration
        turn = np.array(cal.mounting).T
        rate = turn @ readings[:3] + cal.gyro_offset
        force = turn @ readings[3:6] + cal.accel_offset
        jump = playing(self._config.faults, Kind.CLOCK_JUMP, k / FASTEST)
        t_ns = round((k / FASTEST + (jump.size if jump else 0.0)) * 1e9)
        body = struct.pack("<BHQ9f", 1, 0x0129, max(t_ns, 0), 0.0, 0.0, 0.0, *rate, *force)
        return b"\xfa" + body + binascii.crc_hqx(body, 0).to_bytes(2, "big")

    def _answer(self, line: bytes) -> bytes:
        text = checked(line)
        if text is None:
            return line_of("VNERR,03")
        command, *words = text.split(",")
        if command not in ("VNRRG", "VNWRG"):
            return line_of("VNERR,04")
        if not words or not words[0].isdigit():
            return line_of("VNERR,05")
        register, values = int(words[0]), words[1:]
        if register not in self._registers:
            return line_of("VNERR,08")
        if command == "VNWRG":
            error = self._write(register, values)
            if error:
                return line_of(f"VNERR,{error:02X}")
        return line_of(f"{command},{register:02d},{self._registers[register]}")

    def _write(self, register: int, values: list[str]) -> int:
        """Number of the error, 0 for none."""
        if register not in _WRITABLE:
            return 8
        if len(values) != _WRITABLE[register]:
            return 5 if len(values) < _WRITABLE[register] else 6
        if register == 75:
            try:
                mode, divisor = int(values[0]), int(values[1])
                groups, fields = int(values[2], 16), int(values[3], 16)
            except ValueError:
                return 7
            if mode not in (0, 1, 2, 3) or divisor < 1 or groups != 1 or fields & 0x8000:
                return 7
            if FASTEST / divisor * 50 * _BITS > float(self._registers[5]):
                return 12
        self._registers[register] = ",".join(values)
        return 0


def make(config: TwinConfig) -> VectorNavTwin:
    """A sensor as from the factory."""
    return VectorNavTwin(config)
