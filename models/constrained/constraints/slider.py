"""Prismatic joint: sliding along a line without turning."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, normals, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class Slider(Constraint):
    """Keep `point` of `body` on the line through `origin` of `base` along `axis`, and the axes of both parallel.

    The reactions are the forces across the line [N] and the torques that keep the body from turning [N m].
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
        across = normals(axis)
        pairs = [(axis, across[0])] if len(across) == 1 else [(axis, across[0]), (axis, across[1]), tuple(across)]
        return [
            *(scalar_product(reach, motion.direction(self.base, normal)) for normal in across),
            *(scalar_product(motion.direction(self.body, a), motion.direction(self.base, b)) for a, b in pairs),
        ]
