"""Constraint to a given energy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate
from riderless.models.constrained.loads import Load


@dataclass(frozen=True)
class Energy(Constraint):
    """Keep the kinetic energy and the potential energy of `loads` at `level` [J].

    `by` is the generalised force (n,) per unit of the reaction, such as `Torque.per_unit`: ideal reactions do no
    work and cannot keep it. Where nothing moves the energy cannot be influenced, which is reported as dependence.
    """

    name: str
    level: float
    loads: Sequence[Load]
    by: Callable[[Any], NDArray]

    def residuals(self, motion: Any) -> list[Jet | Rate]:
        energy = motion.kinetic_energy() + sum(load.potential(motion) for load in self.loads)
        conservative = sum((load.force(motion) for load in self.loads), np.zeros(motion.n))
        return [Rate(energy - self.level, motion.w @ motion.mass_matrix(), -float(motion.w @ conservative))]

    def actions(self, motion: Any) -> NDArray | None:
        return np.asarray(self.by(motion))[:, None]
