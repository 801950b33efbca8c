"""The simplest plants to put behind a virtual node; importable by the process it spawns."""

import numpy as np


class Spinner:
    """A free steer of 0.1 kg m^2: torque in, angle out. Standing on the spot, upright."""

    def __init__(self) -> None:
        self.delta = self.delta_dot = self.T = 0.0

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        self.T = T_cmd if enabled else 0.0
        self.delta_dot += dt * self.T / 0.1
        self.delta += dt * self.delta_dot

    def read(self) -> np.ndarray:
        return np.array([0, 0, 0, 0, 0, -9.80665, self.delta, 0, self.T])


class Broken(Spinner):
    """Fails in its third period."""

    periods = 0

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        self.periods += 1
        if self.periods == 3:
            raise ZeroDivisionError("the plant has failed")


class Short(Spinner):
    """Gives one reading too few."""

    def read(self) -> np.ndarray:
        return np.zeros(8)


def refuse() -> Spinner:
    raise ValueError("no such bicycle")
