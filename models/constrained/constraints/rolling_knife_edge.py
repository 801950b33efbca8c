"""Rolling without slip: thin wheel on a plane."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.constraint import Constraint, normals, unit_vector
from riderless.models.constrained.jets import Jet, Rate


@dataclass(frozen=True)
class RollingKnifeEdge(Constraint):
    """Let the rim of `wheel` roll without slip on the plane through the origin with normal `up`.

    One constraint on position (the lowest point of the rim is in the plane) and two on velocity (the material point
    there stands still). The reactions are the contact force along `up` and along the two `normals` of it, N.
    """

    name: str
    wheel: str
    axle: ArrayLike
    radius: float
    up: ArrayLike

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        height = motion.point(self.wheel, np.zeros(3)).dot(up)
        arm = self.arm(motion)
        slip = motion.material_velocity(self.wheel, arm)
        return [height + arm.dot(up), *(slip.dot(along) for along in normals(up))]

    def arm(self, motion: Any) -> Jet:
        """From the centre of the wheel to its contact point: down the plane of the wheel."""
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        axle = motion.direction(self.wheel, unit_vector(self.axle, f"the axle of {self.name!r}"))
        tilt = axle.dot(up)
        steepest = (1.0 - tilt * tilt).power(-0.5)
        return self.radius * ((axle * tilt - up) * steepest)

    def force(self, reactions: NDArray) -> NDArray:
        """Contact force on the wheel along the fixed axes, N, from the three reactions."""
        up = unit_vector(self.up, f"the normal of {self.name!r}")
        return np.asarray(reactions) @ np.array([up, *normals(up)])
