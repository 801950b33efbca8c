"""Locked rotation: two directions at right angles."""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from riderless.models.constrained.constraint import Constraint, unit_vector
from riderless.models.constrained.jets import Jet, Rate, scalar_product
from riderless.models.constrained.motion import GROUND, Motion


@dataclass(frozen=True)
class LockedRotation(Constraint):
    """Keep `direction` of `body` perpendicular to `reference` of `base`.

    This locks the relative rotation about their common normal. The reaction is the torque about it, N m.
    """

    name: str
    body: str
    direction: ArrayLike
    reference: ArrayLike
    base: str = GROUND

    def residuals(self, motion: Motion) -> list[Jet | Rate]:
        direction = motion.direction(self.body, unit_vector(self.direction, f"the direction of {self.name!r}"))
        reference = motion.direction(self.base, unit_vector(self.reference, f"the reference of {self.name!r}"))
        return [scalar_product(direction, reference)]
