"""A point of one body stays on a line of another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from models.constrained.constraint import Constraint, normals, unit
from models.constrained.jets import Jet, Rate, dot
from models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class PointOnLine(Constraint):
    """`point` of `body` stays on the line through `origin` of `base` along `axis`: in as many planes as that takes.

    The reactions are the forces along the normals of the line, N.
    """

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    axis: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        reach = motion.point(self.body, self.point) - motion.point(self.base, np.asarray(self.origin, float))
        axis = unit(self.axis, f"the axis of {self.name!r}")
        return [dot(reach, motion.direction(self.base, normal)) for normal in normals(axis)]
