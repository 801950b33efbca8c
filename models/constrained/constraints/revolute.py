"""Revolute joint, a hinge in space.

Three points on planes and two locked rotations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, normals, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class Revolute(Constraint):
    """Keep `point` and `axis` of `body` at `origin` and along `base_axis` of `base`.

    In the plane a `Spherical` joint is the hinge. The reactions are the force on `body` along the fixed axes [N] and
    the torques that hold the axes together [N m].
    """

    name: str
    body: str
    point: ArrayLike
    axis: ArrayLike
    origin: ArrayLike
    base_axis: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        meeting = motion.point(self.body, self.point) - motion.point(self.base, np.asarray(self.origin, float))
        axis = motion.direction(self.body, unit_vector(self.axis, f"the axis of {self.name!r}"))
        across = normals(unit_vector(self.base_axis, f"the base axis of {self.name!r}"))
        return [meeting, *(scalar_product(axis, motion.direction(self.base, normal)) for normal in across)]
