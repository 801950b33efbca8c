"""Universal (Cardan, Hooke) joint.

Two bodies share a point, and an axis of each stays at right angles to the other's.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class Universal(Constraint):
    """Keep `point` of `body` at `origin` of `base`, and the arms of the cross, `axis` and `base_axis`, perpendicular.

    The reactions are the force on `body` along the fixed axes [N] and the torque about the common normal of the arms
    [N m], which the joint transmits.
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
        base_axis = motion.direction(self.base, unit_vector(self.base_axis, f"the base axis of {self.name!r}"))
        return [meeting, scalar_product(axis, base_axis)]
