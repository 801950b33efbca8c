"""Given forces on the bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.motion import GROUND, Bodies


class Load(ABC):
    """Generalised force, and the potential energy it comes from (zero where it has none)."""

    @abstractmethod
    def force(self, motion: Bodies) -> NDArray:
        """Generalised force (n,)."""

    def potential(self, motion: Bodies) -> float:
        """Potential energy, J."""
        return 0.0


@dataclass(frozen=True)
class Gravity(Load):
    """Gravity: the same acceleration on every body, m/s^2."""

    g: tuple[float, ...]

    def force(self, motion: Bodies) -> NDArray:
        force = np.zeros(motion.n)
        for frame in motion.frames.values():
            force[frame.place] = frame.body.mass * np.asarray(self.g)
        return force

    def potential(self, motion: Bodies) -> float:
        return -float(sum(frame.body.mass * (np.asarray(self.g) @ frame.r) for frame in motion.frames.values()))


@dataclass(frozen=True)
class Force(Load):
    """Constant force [N] along the fixed axes at a point of a body."""

    body: str
    point: ArrayLike
    vector: ArrayLike

    def force(self, motion: Bodies) -> NDArray:
        return np.asarray(self.vector, float) @ motion.point(self.body, self.point).J

    def potential(self, motion: Bodies) -> float:
        return -float(np.asarray(self.vector, float) @ motion.point(self.body, self.point).value)


@dataclass(frozen=True)
class Torque(Load):
    """Torque [N m] on `body`, the opposite one on `base`, about an axis fixed in `base` (in space only).

    `torque` is a number or a function of time.
    """

    body: str
    torque: float | Callable[[float], float]
    base: str = GROUND
    axis: tuple[float, float, float] | None = None

    def force(self, motion: Bodies) -> NDArray:
        torque = self.torque(motion.t) if callable(self.torque) else self.torque
        return torque * self.per_unit(motion)

    def per_unit(self, motion: Bodies) -> NDArray:
        """Generalised force (n,) of a unit torque; what a servo constraint needs for its reaction."""
        axis: Any = 1.0
        if self.axis is not None:
            axis = motion.direction(self.base, self.axis)
            axis = axis if self.base == GROUND else axis.value
        return motion.couple(self.body, axis) - motion.couple(self.base, axis)


@dataclass(frozen=True)
class TorsionSpring(Load):
    """Spring [N m/rad] between two planar bodies, slack at the relative angle `rest`."""

    body: str
    stiffness: float
    base: str = GROUND
    rest: float = 0.0

    def force(self, motion: Bodies) -> NDArray:
        angle = self._stretch(motion)
        return -self.stiffness * angle.value * angle.J

    def potential(self, motion: Bodies) -> float:
        return 0.5 * self.stiffness * self._stretch(motion).value ** 2

    def _stretch(self, motion: Bodies) -> Any:
        return motion.rotation(self.body) - motion.rotation(self.base) - self.rest
