"""Base class of the constraints.

Also the directions that several of them need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.jets import Jet, Rate, skew
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.models.constrained.motion import Motion


class Constraint(ABC):
    """Constraint: one or more quantities that stay zero."""

    name: str

    @abstractmethod
    def residuals(self, motion: Motion) -> Sequence[Jet | Rate]:
        """Quantities that stay zero, scalars or vectors: jets of positions, rates of velocities."""

    def actions(self, motion: Motion) -> NDArray | None:
        """Generalised force (n, k) per unit of each reaction; None for ideal constraints, which do no work (J^T)."""
        return None


def unit_vector(a: ArrayLike, what: str) -> NDArray:
    """Direction of a vector, as a unit vector.

    Raises
    ------
    InputError
        A vector without direction.
    """
    a = np.asarray(a, float)
    length = float(np.sqrt(a @ a))
    if not 0.0 < length < np.inf:
        raise InputError(f"{what} must be a vector with a direction, found {a.tolist()}")
    return a / length


def normals(axis: NDArray) -> list[NDArray]:
    """Unit vectors that complete a unit vector to an orthonormal set: one in the plane, two in space."""
    if len(axis) == 2:
        return [np.array([-axis[1], axis[0]])]
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    first = unit_vector(helper - axis * (axis @ helper), "a normal")
    return [first, skew(axis) @ first]
