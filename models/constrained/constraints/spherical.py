"""Spherical joint, in the plane a hinge.

A point of one body stays at a point of another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class Spherical(Constraint):
    """Keep `point` of `body` at `origin` of `base`. The reactions are the force on `body` along the fixed axes, N."""

    name: str
    body: str
    point: ArrayLike
    origin: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        return [motion.point(self.body, self.point) - motion.point(self.base, np.asarray(self.origin, float))]
