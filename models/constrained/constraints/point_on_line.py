"""Constraint of one body's point to another's line."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, normals, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class PointOnLine(Constraint):
    """Keep `point` of `body` on the line through `origin` of `base` along `axis`: in as many planes as that takes.

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
        axis = unit_vector(self.axis, f"the axis of {self.name!r}")
        return [scalar_product(reach, motion.direction(self.base, normal)) for normal in normals(axis)]
