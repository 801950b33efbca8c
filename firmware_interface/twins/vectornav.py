"""Twin of a VectorNav.

Its registers, its error answers, and its stream on a clock of its own. It keeps registers 1, 4, 5, 6, 7 and 75 and
knows how to read and write them, nothing else; in register 75 it takes group 1 only. It measures at 800 Hz from
power-up on, whatever the steps of the machine: a message carries the time at which it was due, and the readings between
two steps are on the straight line from one to the other. What it does not measure (yaw, pitch, roll, magnetic field,
...) it sends as zeros: nobody should use them. Its line is not slowed by register 5; that is the machine's doing.
Whether real sensors look at the baud rate for each output or for all together is not known here; this one looks at
each.
"""

import binascii
import struct
from collections.abc import Collection
from enum import IntEnum
from functools import reduce
from operator import xor

import numpy as np

from riderless.firmware_interface.calibration import FORCE_READINGS, RATE_READINGS
from riderless.firmware_interface.framing import BITS_PER_BYTE
from riderless.firmware_interface.twins.faults import FaultKind
from riderless.firmware_interface.twins.twin import TwinConfig, active_fault

_TICK_ns = 1_250_000  # of its 800 Hz
_SIZES = (8, 8, 8, 12, 16, 12, 24, 12, 12, 24, 20, 28, 2, 4, 8)  # bytes, of the fields of group 1
_LINE_SIZE, _BUFFER = 125, 256  # bytes, of its longest line unasked, and what it holds of a line that comes in
_BAUDS = {"9600", "19200", "38400", "57600", "115200", "128000", "230400", "460800", "921600"}
_LINES = {"0": "", "1": "VNYPR", "14": "VNYMR"}  # by register 6
_LINE_RATES = {"1", "2", "4", "5", "10", "20", "25", "40", "50", "100", "200"}  # Hz
_NO_ORDER = "0,0,00"


class _VectorNavError(IntEnum):
    """Code of an error that the sensor answers."""

    BAD_CHECKSUM = 3
    BAD_COMMAND = 4
    TOO_FEW = 5
    TOO_MANY = 6
    BAD_VALUE = 7
    BAD_REGISTER = 8
    NOT_ALLOWED = 9
    TOO_SLOW = 12


class _Register(IntEnum):
    """Number of a register."""

    MODEL = 1
    FIRMWARE = 4
    BAUD = 5
    ASCII_TYPE = 6
    ASCII_RATE = 7
    BINARY_OUTPUT = 75


class VectorNavTwin:
    """Twin of a VectorNav; it has no drive.

    Parameters
    ----------
    config : TwinConfig
        Of its settings it reads ``baud`` (default 921600) and ``async_port``, the serial port it is on (default 1).
    model, firmware : str
        What it says that it is.
    deaf : bool
        It streams but hears nothing, as if that wire were broken.
    forgetful : bool
        It acknowledges what is written to register 75 and keeps half the rate.
    slow : int
        Its clock of 800 Hz runs so many times slower, as in other models.
    stutters : bool
        It sends each binary message twice.
    """

    T, enabled = 0.0, False

    def __init__(
        self,
        config: TwinConfig,
        model: str = "VN-100T-CR",
        firmware: str = "2.1.0.0",
        deaf: bool = False,
        forgetful: bool = False,
        slow: int = 1,
        stutters: bool = False,
    ) -> None:
        self._config, self._deaf, self._forgetful, self._stutters = config, deaf, forgetful, stutters
        self._tick_ns = slow * _TICK_ns
        baud = str(round(config.settings.get("baud", 921600)))
        self._factory: dict[int, str] = {
            _Register.MODEL: model,
            _Register.FIRMWARE: firmware,
            _Register.BAUD: baud,
            _Register.ASCII_TYPE: "14",
            _Register.ASCII_RATE: "40",
            _Register.BINARY_OUTPUT: _NO_ORDER,
        }
        self._port = round(config.settings.get("async_port", 1))
        self._turn = np.array(config.calibration.mounting).T
        self._chances = {fault: np.random.default_rng(fault.seed) for fault in config.faults}
        self._resets = [fault for fault in config.faults if fault.kind == FaultKind.RESET]
        self._before: tuple[float, np.ndarray] | None = None  # the last step and its readings
        self._begin(0.0)

    def _begin(self, t: float) -> None:
        """Begin as after power-up at ``t`` [s], from the factory."""
        self.registers = dict(self._factory)
        self._boot, self._k, self._line = t, 0, b""

    def hear(self, data: bytes, t: float) -> bytes:
        """Take lines of ASCII; each is answered at once, if only by an error."""
        if self._deaf or not self._awake(t):
            return b""
        *lines, self._line = (self._line + data).replace(b"\r", b"\n").split(b"\n")
        if len(self._line) > _BUFFER:
            self._line = b""
            return _line("VNERR,02")
        return b"".join(self._answer(line[line.rfind(b"$") :]) for line in lines if b"$" in line)

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Bytes that have come due on its own clock since the last step."""
        sent = b""
        if self._awake(t):
            while (due := self._boot + 1e-9 * self._k * self._tick_ns) <= t + 1e-9:
                sent += self._said(due, self._between(due, t, readings))
                self._k += 1
        self._before = t, readings.copy()
        return sent

    def _awake(self, t: float) -> bool:
        """True unless it is starting again; begins anew when a fault resets it."""
        if any(fault.start <= t < fault.start + fault.size for fault in self._resets):
            return False
        started = max((f.start + f.size for f in self._resets if f.start + f.size <= t), default=0.0)
        if started > self._boot:
            self._begin(started)
        return True

    def _between(self, due: float, t: float, readings: np.ndarray) -> np.ndarray:
        """Readings at ``due``, between the last step and this one."""
        if self._before is None or due >= t or due <= self._before[0]:
            return readings
        t_before, before = self._before
        return before + (due - t_before) / (t - t_before) * (readings - before)

    def _said(self, t: float, readings: np.ndarray) -> bytes:
        """Bytes it says unasked at this tick of its clock."""
        rate, force = self._in_its_axes(readings)
        head, out = _LINES[self.registers[_Register.ASCII_TYPE]], b""
        if head and self._k % (800 // int(self.registers[_Register.ASCII_RATE])) == 0:
            values = [0.0] * 3 if head == "VNYPR" else [*[0.0] * 6, *force, *rate]
            out += _line(",".join([head, *(f"{value:+08.3f}" for value in values)]))
        mode, divisor, _, *fields = self._order()
        if int(mode) & self._port and self._k % int(divisor) == 0 and not self._misses(t):
            message = self._message(int(fields[0], 16), self._stamp(t), rate, force)
            out += message * 2 if self._stutters else message
        return out

    def _in_its_axes(self, readings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rate [rad/s] and specific force [m/s^2] as it reads them, offsets included."""
        truth = self._config.calibration
        rate, force = self._turn @ readings[RATE_READINGS], self._turn @ readings[FORCE_READINGS]
        return rate + truth.gyro_offset, force + truth.accel_offset

    def _order(self) -> list[str]:
        """Words of the register of its binary output; old firmware has none."""
        return self.registers.get(_Register.BINARY_OUTPUT, _NO_ORDER).split(",")

    def _misses(self, t: float) -> bool:
        slowing = active_fault(self._config.faults, FaultKind.SLOWING, t)
        if slowing is None:
            return False
        return bool(self._chances[slowing].random() < slowing.chance * min(1.0, (t - slowing.start) / slowing.size))

    def _stamp(self, t: float) -> int:
        """Its time since start [ns], with the faults of its clock."""
        stamp = self._k * self._tick_ns
        jump = active_fault(self._config.faults, FaultKind.CLOCK_JUMP, t)
        wrap = next((f for f in self._config.faults if f.kind == FaultKind.CLOCK_WRAP), None)
        stamp += round(1e9 * jump.size) if jump else 0
        stamp += (2**32 * 1000 - round(1e9 * wrap.start)) if wrap else 0  # so that 32 bits of microseconds wrap there
        return stamp % 2**64

    def _message(self, fields: int, stamp: int, rate: np.ndarray, force: np.ndarray) -> bytes:
        with np.errstate(over="ignore"):  # what is too large for its numbers is infinite
            known = {0: struct.pack("<Q", stamp), 5: rate.astype("<f4").tobytes(), 8: force.astype("<f4").tobytes()}
        payload = b"".join(known.get(bit, bytes(size)) for bit, size in enumerate(_SIZES) if fields >> bit & 1)
        body = struct.pack("<BH", 1, fields) + payload
        return b"\xfa" + body + struct.pack(">H", binascii.crc_hqx(body, 0))

    def _answer(self, line: bytes) -> bytes:
        """Its answer to ``$...``, without line end."""
        body, star, check = line[1:].partition(b"*")
        right = b"%02X" % _xor(body), b"%04X" % binascii.crc_hqx(body, 0), b"XX"
        if not star or check.upper() not in right:
            return _error(_VectorNavError.BAD_CHECKSUM)
        command, *words = body.decode("latin1").split(",")
        if command not in ("VNRRG", "VNWRG"):
            return _error(_VectorNavError.BAD_COMMAND)
        if not words:
            return _error(_VectorNavError.TOO_FEW)
        if not words[0].isdecimal():
            return _error(_VectorNavError.BAD_VALUE)
        register, values = int(words[0]), words[1:]
        if register not in self.registers:
            return _error(_VectorNavError.BAD_REGISTER)
        problem = self._write(register, values) if command == "VNWRG" else (_VectorNavError.TOO_MANY if values else 0)
        kept = ",".join(values) if command == "VNWRG" else self.registers[register]
        return _error(problem) if problem else _line(f"{command},{words[0]},{kept}")

    def _write(self, register: int, values: list[str]) -> int:
        """Write a register; returns the number of the error, 0 if it now holds the values."""
        if register in (_Register.MODEL, _Register.FIRMWARE):
            return _VectorNavError.NOT_ALLOWED
        if len(values) != 1 and register != _Register.BINARY_OUTPUT:
            return _VectorNavError.TOO_MANY if values else _VectorNavError.TOO_FEW
        old, self.registers[register] = self.registers[register], ",".join(values)
        problem = _wrong_order(values) if register == _Register.BINARY_OUTPUT else 0
        choices: dict[int, Collection[str]] = {
            _Register.BAUD: _BAUDS,
            _Register.ASCII_TYPE: _LINES,
            _Register.ASCII_RATE: _LINE_RATES,
        }
        if register in choices and values[0] not in choices[register]:
            problem = _VectorNavError.BAD_VALUE
        if problem or self._load(register) > int(self.registers[_Register.BAUD]):
            self.registers[register] = old
            return problem or _VectorNavError.TOO_SLOW
        if register == _Register.BINARY_OUTPUT and self._forgetful:
            self.registers[_Register.BINARY_OUTPUT] = ",".join([values[0], str(2 * int(values[1])), *values[2:]])
        return 0

    def _load(self, register: int) -> float:
        """Load of the output that this register orders [bit/s]; of both the greater for the baud rate's register."""
        mode, divisor, _, *fields = self._order()
        size = sum(size for bit, size in enumerate(_SIZES) if fields and int(fields[0], 16) >> bit & 1) + 6
        talks = self.registers[_Register.ASCII_TYPE] != "0"
        lines = _LINE_SIZE * int(self.registers[_Register.ASCII_RATE]) if talks else 0
        messages = 1e9 / self._tick_ns / int(divisor) * size if int(mode) else 0.0
        loads: dict[int, float] = {_Register.BAUD: max(lines, messages), _Register.BINARY_OUTPUT: messages}
        return BITS_PER_BYTE * loads.get(register, lines)


def make(config: TwinConfig) -> VectorNavTwin:
    """Make a sensor as from the factory."""
    return VectorNavTwin(config)


def _wrong_order(values: list[str]) -> int:
    """Error of mode, divisor, groups and fields for register 75; 0 if there is none."""
    if len(values) < 3:
        return _VectorNavError.TOO_FEW
    try:
        mode, divisor, groups, *fields = int(values[0]), int(values[1]), *(int(word, 16) for word in values[2:])
    except ValueError:
        return _VectorNavError.BAD_VALUE
    if len(fields) != groups.bit_count():
        return _VectorNavError.TOO_FEW if len(fields) < groups.bit_count() else _VectorNavError.TOO_MANY
    fits = 0 <= mode <= 3 and 1 <= divisor <= 0xFFFF and groups in (0, 1) and all(0 < f <= 0x7FFF for f in fields)
    return 0 if fits and (groups or mode == 0) else _VectorNavError.BAD_VALUE


def _xor(data: bytes) -> int:
    return reduce(xor, data, 0)


def _line(text: str) -> bytes:
    return f"${text}*{_xor(text.encode('latin1')):02X}\r\n".encode("latin1")


def _error(code: int) -> bytes:
    return _line(f"VNERR,{code:02X}")  # in hexadecimal, as sensors send it; the manual's table is decimal
