"""Twin of a treadmill behind its line.

The emulated belt is stepped by the machine it stands in.
"""

from typing import Any

import numpy as np

from riderless.firmware_interface.framing import MAX_FRAME
from riderless.firmware_interface.twins.speed.belt import hear_belt, move_belt, new_belt, report_belt
from riderless.firmware_interface.twins.twin import TwinConfig


class TreadmillTwin:
    """Treadmill or driven wheel; ``belt`` is what it moves, a record of BELT_TWIN. It drives no steer.

    ``hears`` and ``tells`` are its compiled codec.
    """

    T, enabled = 0.0, False

    def __init__(self, belt: np.void, hears: Any = hear_belt, tells: Any = report_belt) -> None:
        self.belt, self._hears, self._tells = belt, hears, tells
        self._out, self._t = np.zeros(MAX_FRAME, np.uint8), 0.0
        hears(belt, self._out, 0, 0.0)  # compiled now, and not when somebody waits for an answer

    @property
    def belt_speed(self) -> tuple[float, float]:
        """Speed of the belt [m/s], and its change [m/s^2]."""
        return float(self.belt["speed"]), float(self.belt["change"])

    def hear(self, data: bytes, t: float) -> bytes:
        """Take a command; the report answers when it is due."""
        self._hears(self.belt, np.frombuffer(bytearray(data), np.uint8), len(data), t)
        return b""

    def instant(self, t: float, readings: np.ndarray) -> bytes:
        """Move the belt on to ``t`` [s]; returns its report where one is due."""
        if t > self._t:
            move_belt(self.belt, self._t, t - self._t)
        self._t = t
        return self._out[: self._tells(self.belt, t, self._out)].tobytes()


def make(config: TwinConfig) -> TreadmillTwin:
    """Make a treadmill as after power-up."""
    return TreadmillTwin(new_belt())
