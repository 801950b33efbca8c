"""Rigid body in the plane.

Coordinates x, y, angle; velocities x', y', angle' (anticlockwise positive).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.jets import Jet, Rate
from riderless.models.errors import InputError


def perp(a: NDArray) -> NDArray:
    """Vector turned by 90 degrees anticlockwise."""
    return np.array([-a[1], a[0]])


@dataclass(frozen=True)
class PlanarBody:
    """Rigid body in the plane.

    Parameters
    ----------
    name : str
    mass : float
        kg.
    inertia : float
        About the centre of mass, kg m^2.
    """

    name: str
    mass: float
    inertia: float

    coordinates: ClassVar[int] = 3
    velocities: ClassVar[int] = 3
    dimension: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not (self.mass > 0.0 and self.inertia > 0.0):
            raise InputError(
                f"body {self.name!r} needs a positive mass and inertia, found {self.mass} kg and {self.inertia} kg m^2"
            )

    def frame(self, q: NDArray, w: NDArray, first: int, n: int) -> _PlanarFrame:
        """Put the body where its coordinates are.

        Parameters
        ----------
        q : (3,) array
            Coordinates.
        w : (3,) array
            Velocities.
        first, n : int
            Index of its first velocity among all velocities, and the number of those.
        """
        return _PlanarFrame(self, q, w, first, n)

    @staticmethod
    def place(r: ArrayLike = (0.0, 0.0), angle: float = 0.0) -> NDArray:
        """Coordinates of a body at `r`, turned by `angle`."""
        return np.array([*np.asarray(r, float), angle])

    @staticmethod
    def move(v: ArrayLike = (0.0, 0.0), rate: float = 0.0) -> NDArray:
        """Velocities of a body moving at `v` and turning at `rate`."""
        return np.array([*np.asarray(v, float), rate])


class _PlanarFrame:
    """Planar body at one moment: its points and directions as jets, its inertia."""

    def __init__(self, body: PlanarBody, q: NDArray, w: NDArray, first: int, n: int) -> None:
        self.body, self.n = body, n
        self.r, self.v, self.omega = q[:2], w[:2], w[2]
        self.place, self.spin = slice(first, first + 2), first + 2
        c, s = np.cos(q[2]), np.sin(q[2])
        self.R = np.array([[c, -s], [s, c]])
        self.angle = q[2]

    def point(self, s: ArrayLike) -> Jet:
        """Point that sits at `s` in body axes, from the centre of mass."""
        return self._centre() + self._turned(np.asarray(s, float))

    def direction(self, e: ArrayLike) -> Jet:
        """Direction that is `e` in body axes."""
        return self._turned(np.asarray(e, float))

    def rotation(self) -> Jet:
        """Angle of the body."""
        J = np.zeros(self.n)
        J[self.spin] = 1.0
        return Jet(self.angle, self.omega, J, 0.0)

    def material_velocity(self, arm: Jet) -> Rate:
        """Velocity of the point of the body that is at `arm` from the centre now, a place that may wander."""
        J = np.zeros((2, self.n))
        J[:, self.place], J[:, self.spin] = np.eye(2), perp(arm.value)
        return Rate(self.v + self.omega * perp(arm.value), J, self.omega * perp(arm.rate))

    def coordinate_rates(self) -> NDArray:
        return np.array([*self.v, self.omega])

    def mass_matrix(self) -> NDArray:
        return np.diag([self.body.mass, self.body.mass, self.body.inertia])

    def inverse_mass(self) -> NDArray:
        return np.diag([1.0 / self.body.mass, 1.0 / self.body.mass, 1.0 / self.body.inertia])

    def gyroscopic_force(self) -> NDArray:
        return np.zeros(3)

    def couple(self, torque: float) -> NDArray:
        """Generalised force (3,) of a torque on this body."""
        return np.array([0.0, 0.0, torque])

    def _centre(self) -> Jet:
        J = np.zeros((2, self.n))
        J[:, self.place] = np.eye(2)
        return Jet(self.r, self.v, J, np.zeros(2))

    def _turned(self, s: NDArray) -> Jet:
        arm = self.R @ s
        J = np.zeros((2, self.n))
        J[:, self.spin] = perp(arm)
        return Jet(arm, self.omega * perp(arm), J, -(self.omega**2) * arm)
