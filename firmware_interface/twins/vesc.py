"""A VESC's twin: packets, a time-out that the next command ends, a fault code, a kill switch."""

import math
import struct

import numpy as np

from firmware_interface.devices.vesc_setup import (
    FAULT,
    FW_VERSION,
    GET_VALUES_SELECTIVE,
    IQ,
    PID_POS,
    STATUS,
    V_IN,
    packet,
    payloads,
)
from firmware_interface.faults import Kind
from firmware_interface.twins.twin import TwinConfig, playing

SET_CURRENT, SET_CURRENT_BRAKE, SET_RPM, SET_POS, ALIVE = 6, 7, 8, 9, 30
_OVER_CURRENT = 4
_LONGEST = 600  # bytes kept of what is no packet yet
_FIELDS = ">hhiiiihihiiiiiiBiB"  # of the values 0 to 17, as they stand in an answer


class VescTwin:
    """A `Twin`; the drive is "enabled" while a current is commanded, if only of zero, and alive."""

    def __init__(self, config: TwinConfig) -> None:
        self.T, self.enabled = 0.0, False
        self._config = config
        self._scale = config.settings["torque_constant_Nm_A"] * config.settings.get("gear_ratio", 1.0)
        self._held = b""
        self._fed = -math.inf  # s, when a command last came
        self._current = 0.0  # A
        self._driven = False  # a current was commanded, no brake
        self._values: dict[int, tuple[str, float]] = {}
        self._t = 0.0

    def hear(self, data: bytes, t: float) -> bytes:
        """Packets; answers to questions."""
        if self._off(t):
            return b""
        held = (self._held + data)[-_LONGEST:]
        whole = list(payloads(held))
        self._held = held[whole[-1][1] :] if whole else held
        return b"".join(self._obey(payload, t) for payload, _ in whole)

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Time-out, faults, instruments; a VESC says nothing unasked."""
        config, cal = self._config, self._config.calibration
        if self._off(t):
            self._fed, self._current, self._held = -math.inf, 0.0, b""
        dead = playing(config.faults, Kind.WATCHDOG_DEAD, t) is not None
        timed_out = t - self._fed > config.watchdog and not (dead and self._fed > -math.inf)
        tripped = playing(config.faults, Kind.DRIVE_TRIPS, t) is not None
        killed = playing(config.faults, Kind.STOP_BUTTON, t) is not None
        self.enabled = self._driven and not (timed_out or tripped or killed)
        T = cal.torque_sign * self._current * self._scale if self.enabled else 0.0
        self.T = min(max(T, -config.torque_limit), config.torque_limit)
        steer = cal.steer_sign * math.degrees(readings[6] + cal.steer_offset) * cal.steer_gear_ratio
        bus = playing(config.faults, Kind.BUS, t)
        self._values = {
            IQ: (">i", 100 * cal.torque_sign * readings[8] / self._scale),
            V_IN: (">h", 10 * (config.bus if bus is None else bus.size)),
            FAULT: (">B", _OVER_CURRENT if tripped else 0),
            PID_POS: (">i", 1e6 * (steer % 360.0)),
            STATUS: (">B", timed_out | killed << 1),
        }
        return b""

    def _off(self, t: float) -> bool:
        reset = playing(self._config.faults, Kind.RESET, t)
        return reset is not None and t < reset.start + reset.size

    def _obey(self, payload: bytes, t: float) -> bytes:
        kind = payload[0]
        if kind == FW_VERSION:
            return packet(bytes([FW_VERSION, 6, 2]) + b"410\0" + bytes(12))
        if kind == GET_VALUES_SELECTIVE and len(payload) == 5:
            return packet(payload + self._selected(int.from_bytes(payload[1:], "big")))
        if kind in (SET_CURRENT, SET_CURRENT_BRAKE, SET_RPM, SET_POS) and len(payload) == 5:
            self._fed, self._driven = t, kind == SET_CURRENT
            self._current = 1e-3 * struct.unpack(">i", payload[1:])[0] if kind == SET_CURRENT else 0.0
        elif kind == ALIVE:
            self._fed = t
        return b""

    def _selected(self, mask: int) -> bytes:
        """The values of a mask, in the order of its bits; those that nobody here asks for are zero."""
        layouts = {
            **{bit: f">{code}" for bit, code in enumerate(_FIELDS[1:])},
            18: ">hhh",
            19: ">i",
            20: ">i",
            21: ">B",
        }
        out = b""
        for bit, layout in layouts.items():
            if mask >> bit & 1:
                layout, value = self._values.get(bit, (layout, 0.0))
                size = len(layout) - 1
                out += struct.pack(layout, *[round(value)] * size)
        return out


def make(config: TwinConfig) -> VescTwin:
    """A drive as after power-up."""
    return VescTwin(config)
