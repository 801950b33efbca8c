"""Twin of a treadmill behind its line: the emulated belt, stepped by the machine it stands in."""

import numpy as np

from firmware_interface.framing import MAX_FRAME
from firmware_interface.twins.speed.belt import hear_belt, move_belt, new_belt, report_belt
from firmware_interface.twins.twin import STEP_RATE, TwinConfig


class TreadmillTwin:
    """Treadmill; ``belt`` is its belt, a record of BELT_TWIN. It drives no steer."""

    T, enabled = 0.0, False

    def __init__(self, belt: np.void) -> None:
        self.belt = belt
        self._out = np.zeros(MAX_FRAME, np.uint8)

    @property
    def belt_speed(self) -> tuple[float, float]:
        """Speed of the belt [m/s], and its change [m/s^2]."""
        return float(self.belt["speed"]), float(self.belt["change"])

    def hear(self, data: bytes, t: float) -> bytes:
        """Take a command; the report answers when it is due."""
        hear_belt(self.belt, np.frombuffer(bytearray(data), np.uint8), len(data), t)
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Move the belt one step on; returns its report where one is due."""
        move_belt(self.belt, t, 1.0 / STEP_RATE)
        return self._out[: report_belt(self.belt, t, self._out)].tobytes()


def make(config: TwinConfig) -> TreadmillTwin:
    """Make a treadmill as after power-up."""
    return TreadmillTwin(new_belt())
