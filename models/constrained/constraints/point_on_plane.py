"""Constraint of one body's point to another's plane."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class PointOnPlane(Constraint):
    """Keep `point` of `body` in the plane through `origin` of `base` with the given normal (in the plane: a line).

    The reaction is the force along the normal, N.
    """

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    normal: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        normal = motion.direction(self.base, unit_vector(self.normal, f"the normal of {self.name!r}"))
        reach = motion.point(self.body, self.point) - motion.point(self.base, np.asarray(self.origin, float))
        return [scalar_product(reach, normal)]
