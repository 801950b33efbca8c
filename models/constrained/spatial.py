"""Rigid body in space.

Coordinates r and a unit quaternion; velocities v and omega, both along the fixed axes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from riderless.models.constrained.jets import Jet, Rate, skew
from riderless.models.errors import InputError


@dataclass(frozen=True)
class Body:
    """Rigid body in space.

    Parameters
    ----------
    name : str
    mass : float
        kg.
    inertia : (3, 3) array
        About the centre of mass along the body axes, kg m^2. Symmetric, positive definite.
    """

    name: str
    mass: float
    inertia: NDArray = field(compare=False)
    inverse_inertia: NDArray = field(init=False, repr=False, compare=False)

    coordinates: ClassVar[int] = 7
    velocities: ClassVar[int] = 6
    dimension: ClassVar[int] = 3

    def __post_init__(self) -> None:
        inertia = np.asarray(self.inertia, float)
        shaped = inertia.shape == (3, 3) and np.allclose(inertia, inertia.T, rtol=1e-12, atol=0.0)
        if not (self.mass > 0.0 and shaped and np.linalg.eigvalsh(inertia)[0] > 0.0):
            raise InputError(
                f"body {self.name!r} needs a positive mass [kg] and a symmetric, positive definite (3, 3) inertia "
                f"[kg m^2], found {self.mass} and {inertia.tolist()}"
            )
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "inverse_inertia", np.linalg.inv(inertia))

    def frame(self, q: NDArray, w: NDArray, first: int, n: int) -> Frame:
        """Put the body where its coordinates are.

        Parameters
        ----------
        q : (7,) array
            Coordinates.
        w : (6,) array
            Velocities.
        first, n : int
            Index of its first velocity among all velocities, and the number of those.
        """
        return Frame(self, q, w, first, n)

    @staticmethod
    def place(r: ArrayLike = (0.0, 0.0, 0.0), R: ArrayLike | None = None) -> NDArray:
        """Coordinates of a body at `r` whose axes are the columns of `R`."""
        quaternion = Rotation.from_matrix(np.eye(3) if R is None else np.asarray(R, float)).as_quat(scalar_first=True)
        return np.concatenate([np.asarray(r, float), quaternion])

    @staticmethod
    def move(v: ArrayLike = (0.0, 0.0, 0.0), omega: ArrayLike = (0.0, 0.0, 0.0)) -> NDArray:
        """Velocities of a body moving at `v` and turning at `omega`."""
        return np.concatenate([np.asarray(v, float), np.asarray(omega, float)])


class Frame:
    """Spatial body at one moment: its points and directions as jets, its inertia."""

    def __init__(self, body: Body, q: NDArray, w: NDArray, first: int, n: int) -> None:
        self.body, self.n = body, n
        self.r, self.quaternion, self.v, self.omega = q[:3], q[3:], w[:3], w[3:]
        self.place, self.spin = slice(first, first + 3), slice(first + 3, first + 6)
        self.R = _rotation_matrix(self.quaternion)
        self.turn = skew(self.omega)

    def point(self, s: ArrayLike) -> Jet:
        """Point that sits at `s` in body axes, from the centre of mass."""
        return self._centre() + self._turned(np.asarray(s, float))

    def direction(self, e: ArrayLike) -> Jet:
        """Direction that is `e` in body axes."""
        return self._turned(np.asarray(e, float))

    def material_velocity(self, arm: Jet) -> Rate:
        """Velocity of the point of the body that is at `arm` from the centre now, a place that may wander."""
        J = np.zeros((3, self.n))
        J[:, self.place], J[:, self.spin] = np.eye(3), -skew(arm.value)
        return Rate(self.v + self.turn @ arm.value, J, self.turn @ arm.rate)

    def coordinate_rates(self) -> NDArray:
        """r' = v and q' = (0, omega) q / 2, the quaternion's product."""
        s, a = self.quaternion[0], self.quaternion[1:]
        return np.concatenate([self.v, [-0.5 * (self.omega @ a)], 0.5 * (s * self.omega + self.turn @ a)])

    def mass_matrix(self) -> NDArray:
        M = np.diag([self.body.mass] * 6)
        M[3:, 3:] = self._inertia()
        return M

    def inverse_mass(self) -> NDArray:
        M = np.diag([1.0 / self.body.mass] * 6)
        M[3:, 3:] = self.R @ self.body.inverse_inertia @ self.R.T
        return M

    def gyroscopic_force(self) -> NDArray:
        """Euler's equations: I omega' = -omega x I omega + torques."""
        return np.concatenate([np.zeros(3), -self.turn @ (self._inertia() @ self.omega)])

    def couple(self, torque: NDArray) -> NDArray:
        """Generalised force (6,) of a torque on this body."""
        return np.concatenate([np.zeros(3), torque])

    def _inertia(self) -> NDArray:
        return self.R @ self.body.inertia @ self.R.T

    def _centre(self) -> Jet:
        J = np.zeros((3, self.n))
        J[:, self.place] = np.eye(3)
        return Jet(self.r, self.v, J, np.zeros(3))

    def _turned(self, s: NDArray) -> Jet:
        arm = self.R @ s
        rate = self.turn @ arm
        J = np.zeros((3, self.n))
        J[:, self.spin] = -skew(arm)
        return Jet(arm, rate, J, self.turn @ rate)


def _rotation_matrix(quaternion: NDArray) -> NDArray:
    """Body axes as columns. Only the direction of the quaternion counts, so its length may drift."""
    s, x, y, z = quaternion / np.sqrt(quaternion @ quaternion)
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - s * z), 2.0 * (x * z + s * y)],
            [2.0 * (x * y + s * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - s * x)],
            [2.0 * (x * z - s * y), 2.0 * (y * z + s * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
