"""Twin of a VESC.

Packets, a time-out that the next command ends, faults, a kill switch. Its codec is its own. It receives as the firmware
does: a false start keeps it waiting for all the bytes it claims, up to a packet's greatest length, before it looks one
byte further. Numbers are scaled in single precision and cut off, not rounded, as the firmware scales them.

It plays DRIVE_TRIPS (a fault code), DRIVE_GAIN, DRIVE_LIES, DRIVE_CLAMP, DRIVE_HOLDS, STOP_BUTTON (the kill switch),
WATCHDOG_DEAD, BUS, RESET and SLOWING (it misses questions). It tells no time, so faults of a clock mean nothing.
"""

import binascii
import math
import struct

import numpy as np

from riderless.firmware_interface.calibration import DELTA_READING, TORQUE_READING
from riderless.firmware_interface.devices.vesc_codes import VESC_KILLED, VESC_TIMED_OUT, VescCommand, VescValue
from riderless.firmware_interface.messages import COMMAND_KIND_ANGLE, COMMAND_KIND_RATE, COMMAND_KIND_TORQUE
from riderless.firmware_interface.twins.faults import READING_NAMES, Fault, FaultKind
from riderless.firmware_interface.twins.twin import TwinConfig, active_fault

_HARDWARE = b"410\0"  # its name
ABS_OVER_CURRENT = 4  # the fault code it shows
_LONGEST = 512  # bytes of payload it takes
_MOTOR_COMMANDS = {VescCommand.SET_CURRENT, VescCommand.SET_CURRENT_BRAKE, VescCommand.SET_RPM, VescCommand.SET_POS}
_COMMAND_OF_KIND = {  # and what one unit of it is: A, electrical revolutions a minute, degrees
    COMMAND_KIND_TORQUE: (VescCommand.SET_CURRENT, 1e-3),
    COMMAND_KIND_RATE: (VescCommand.SET_RPM, 1.0),
    COMMAND_KIND_ANGLE: (VescCommand.SET_POS, 1e-6),
}
# The values of an answer, in the order of the bits of a selection: format and scale; bit 18 is three of a kind.
_VALUES = (
    *(("h", 1e1), ("h", 1e1), ("i", 1e2), ("i", 1e2), ("i", 1e2), ("i", 1e2), ("h", 1e3), ("i", 1.0)),
    *(("h", 1e1), ("i", 1e4), ("i", 1e4), ("i", 1e4), ("i", 1e4), ("i", 1.0), ("i", 1.0), ("B", 1.0)),
    *(("i", 1e6), ("B", 1.0), ("hhh", 1e1), ("i", 1e3), ("i", 1e3), ("B", 1.0)),
)


class VescTwin:
    """Twin of a VESC; the drive is enabled while a command of its kind is alive, if only of zero: our driver's "on".

    Parameters
    ----------
    config : TwinConfig
    firmware : (major, minor)
        Before 5.03 it tells no status, before 3.42 it knows no selection of values.
    """

    def __init__(self, config: TwinConfig, firmware: tuple[int, int] = (6, 2)) -> None:
        self.T, self.enabled = 0.0, False
        self._config, self._firmware = config, firmware
        self._scale = config.settings["torque_constant_Nm_A"] * config.settings.get("gear_ratio", 1.0)
        self._chances = {fault: np.random.default_rng([fault.seed, i]) for i, fault in enumerate(config.faults)}
        self._readings = np.zeros(len(READING_NAMES))
        self._begin(0.0)

    def _begin(self, t: float) -> None:
        """Begin as after power-up at ``t`` [s]."""
        self._held = b""  # of an unfinished packet
        self._booted = self._fed = t
        self._commanded = False
        self._told = 0.0  # A, electrical revolutions a minute or degrees, by its kind
        self._last = 0.0  # N m, what DRIVE_HOLDS holds

    def hear(self, data: bytes, t: float) -> bytes:
        """Take packets; returns the answers."""
        if not self._awake(t):
            return b""
        self._watch(t)
        self._held += data
        answer = b"".join(self._obey(payload, t) for payload in self._whole_packets())
        return b"" if self._misses(t) else answer

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Play time-out, faults and instruments; it says nothing unasked."""
        self._readings = readings.copy()
        if not self._awake(t):
            self.T, self.enabled = 0.0, False
            return b""
        self._watch(t)
        self.enabled = self._commanded and not (
            self._timed_out(t) or self._on(FaultKind.DRIVE_TRIPS, t) or self._killed(t)
        )
        self.T = self._made(t)
        return b""

    def _on(self, kind: FaultKind, t: float) -> Fault | None:
        return active_fault(self._config.faults, kind, t)

    def _killed(self, t: float) -> bool:
        return self._on(FaultKind.STOP_BUTTON, t) is not None

    def _timed_out(self, t: float) -> bool:
        return t - self._fed > self._config.watchdog and self._on(FaultKind.WATCHDOG_DEAD, t) is None

    def _awake(self, t: float) -> bool:
        """True if it runs; when it has booted again it has forgotten everything."""
        for fault in self._config.faults:
            end = fault.start + fault.size
            if fault.kind == FaultKind.RESET and t >= fault.start:
                if t < end:
                    return False
                if self._booted < end:
                    self._begin(end)
        return True

    def _watch(self, t: float) -> None:
        """Forget the current after a time-out, kill or fault; only a new command, later, brings it back."""
        if self._timed_out(t) or self._killed(t) or self._on(FaultKind.DRIVE_TRIPS, t):
            self._told = 0.0

    def _made(self, t: float) -> float:
        """Torque [N m] on the steer, positive to the right."""
        held = self._on(FaultKind.DRIVE_HOLDS, t)
        if held is not None:
            self.enabled = True
            return self._last
        config = self._config
        T = self._asked() if self.enabled else 0.0
        if config.kind == COMMAND_KIND_TORQUE:
            T = min(max(T, -config.torque_limit), config.torque_limit)
        for kind in (FaultKind.DRIVE_GAIN, FaultKind.DRIVE_LIES):
            fault = self._on(kind, t)
            T = T if fault is None else fault.size * T
        clamp = self._on(FaultKind.DRIVE_CLAMP, t)
        self._last = T if clamp is None else min(max(T, -clamp.size), clamp.size)
        return self._last

    def _asked(self) -> float:
        """Value [N m, rad/s or rad on the steer] that it was told, positive to the right."""
        config, cal = self._config, self._config.calibration
        if config.kind == COMMAND_KIND_TORQUE:
            return cal.torque_sign * self._told * self._scale
        if config.kind == COMMAND_KIND_RATE:
            turns = self._told / 60.0 / config.settings["pole_pairs"] / config.settings.get("gear_ratio", 1.0)
            return cal.torque_sign * 2.0 * math.pi * turns
        there = math.degrees(cal.steer_sign * (self._readings[DELTA_READING] + cal.steer_offset) * cal.steer_gear_ratio)
        way = (self._told - there + 180.0) % 360.0 - 180.0  # the shorter one
        return float(self._readings[DELTA_READING] + cal.steer_sign * math.radians(way) / cal.steer_gear_ratio)

    def _misses(self, t: float) -> bool:
        """True if it is too slow to answer; it obeys all the same."""
        fault = self._on(FaultKind.SLOWING, t)
        return fault is not None and self._chances[fault].random() < fault.chance * min(
            1.0, (t - fault.start) / fault.size
        )

    def _whole_packets(self) -> list[bytes]:
        """Payloads of the packets that are whole; what may become one is kept."""
        packets, data = [], self._held
        while data:
            head = data[0] if data[0] in (2, 3) else 0
            n = int.from_bytes(data[1:head], "big")
            known = len(data) >= head
            if head == 0 or (known and not (1 if head == 2 else 255) <= n <= _LONGEST):
                data = data[1:]
            elif not known or len(data) < head + n + 3:
                break
            elif data[head + n + 2] == 3 and data[head + n : head + n + 2] == _crc(data[head : head + n]):
                packets.append(data[head : head + n])
                data = data[head + n + 3 :]
            else:
                data = data[1:]
        self._held = data
        return packets

    def _obey(self, payload: bytes, t: float) -> bytes:
        """Do what a packet says; returns the packet that answers it, or nothing."""
        kind, rest = payload[0], payload[1:]
        if kind == VescCommand.FW_VERSION:
            return _framed(self._version())
        if kind == VescCommand.GET_VALUES:
            return _framed(bytes([kind]) + self._selected(0xFFFFFFFF, t))
        if kind == VescCommand.GET_VALUES_SELECTIVE and len(rest) == 4 and self._firmware >= (3, 42):
            return _framed(payload + self._selected(int.from_bytes(rest, "big"), t))
        if kind in _MOTOR_COMMANDS and len(rest) == 4:
            command, unit = _COMMAND_OF_KIND[self._config.kind]
            self._fed, self._commanded = t, kind == command
            # of the others only their feeding the time-out is played
            self._told = unit * struct.unpack(">i", rest)[0] if self._commanded else 0.0
        elif kind == VescCommand.ALIVE:
            self._fed = t
        return b""

    def _version(self) -> bytes:
        rest = bytes(12) + bytes(5)  # its number; the third of the five says which kind of hardware: a motor controller
        return bytes([VescCommand.FW_VERSION, *self._firmware]) + _HARDWARE + rest

    def _selected(self, mask: int, t: float) -> bytes:
        """Encode the values of a mask; those that nobody here asks for are zero."""
        config, cal = self._config, self._config.calibration
        angle = cal.steer_sign * (self._readings[DELTA_READING] + cal.steer_offset) * cal.steer_gear_ratio
        bus = self._on(FaultKind.BUS, t)
        made = cal.torque_sign * self._readings[TORQUE_READING] / self._scale
        lies = self._on(FaultKind.DRIVE_LIES, t) and config.kind == COMMAND_KIND_TORQUE
        iq = self._told if lies else made
        values: dict[int, float] = {
            VescValue.IQ: iq,
            VescValue.V_IN: config.bus if bus is None else bus.size,
            VescValue.FAULT: ABS_OVER_CURRENT if self._on(FaultKind.DRIVE_TRIPS, t) else 0,
            VescValue.PID_POS: math.degrees(angle) % 360.0,
            VescValue.CONTROLLER: 1,
            VescValue.STATUS: VESC_TIMED_OUT * self._timed_out(t) | VESC_KILLED * self._killed(t),
        }
        count = VescValue.STATUS + 1 if self._firmware >= (5, 3) else VescValue.STATUS
        return b"".join(
            struct.pack(f">{form}", *[_cut(values.get(bit, 0.0), scale, form[0])] * len(form))
            for bit, (form, scale) in enumerate(_VALUES[:count])
            if mask >> bit & 1
        )


def _cut(value: float, scale: float, form: str) -> int:
    """Cut a value to a whole number of its field; what is too large stands at the field's end."""
    scaled = float(np.float32(value) * np.float32(scale))
    if math.isnan(scaled):
        return 0
    lowest, highest = {"B": (0, 255), "h": (-(2**15), 2**15 - 1), "i": (-(2**31), 2**31 - 1)}[form]
    return int(min(max(scaled, lowest), highest))


def _crc(payload: bytes) -> bytes:
    return binascii.crc_hqx(payload, 0).to_bytes(2, "big")


def _framed(payload: bytes) -> bytes:
    """Encode a short packet; all it says is short."""
    return bytes([2, len(payload)]) + payload + _crc(payload) + b"\x03"


def make(config: TwinConfig) -> VescTwin:
    """Make a drive as after power-up."""
    return VescTwin(config)
