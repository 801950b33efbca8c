"""Positions and velocities of all bodies at once.

Constraints and loads take points, directions and velocities from here.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.jets import Jet, Rate
from riderless.models.errors import InputError

GROUND = "ground"
"""Name of the body that never moves."""


class Motion(Protocol):
    """Motion as a constraint sees it. Points and directions of the ground are constants, those of bodies are jets."""

    t: float
    w: NDArray

    def point(self, body: str, s: ArrayLike) -> Any:
        """Point at `s` in body axes, from the centre of mass (of the ground: from the origin)."""

    def direction(self, body: str, e: ArrayLike) -> Any:
        """Direction that is `e` in body axes."""


class Bodies:
    """`Motion` of bodies in Cartesian coordinates.

    Parameters
    ----------
    bodies : sequence of PlanarBody or of Body
    t : float
        Time, s.
    x : array
        Coordinates of every body, then velocities of every body.
    """

    def __init__(self, bodies: Any, t: float, x: NDArray) -> None:
        coordinates, n = sum(body.coordinates for body in bodies), sum(body.velocities for body in bodies)
        self.t, self.q, self.w, self.n = t, x[:coordinates], x[coordinates:], n
        self.frames = {}
        i = j = 0
        for body in bodies:
            q, w = self.q[i : i + body.coordinates], self.w[j : j + body.velocities]
            self.frames[body.name] = body.frame(q, w, j, n)
            i, j = i + body.coordinates, j + body.velocities

    def frame(self, body: str) -> Any:
        """Body of that name at this moment.

        Raises
        ------
        InputError
            A name that no body has.
        """
        try:
            return self.frames[body]
        except KeyError:
            known = ", ".join([*self.frames, GROUND])
            raise InputError(f"there is no body {body!r} here; name one of {known}") from None

    def point(self, body: str, s: ArrayLike) -> Any:
        return np.asarray(s, float) if body == GROUND else self.frame(body).point(s)

    def direction(self, body: str, e: ArrayLike) -> Any:
        return np.asarray(e, float) if body == GROUND else self.frame(body).direction(e)

    def rotation(self, body: str) -> Any:
        """Angle of a planar body."""
        return 0.0 if body == GROUND else self.frame(body).rotation()

    def material_velocity(self, body: str, arm: Jet) -> Rate:
        """Velocity of the point of the body that is at `arm` from its centre now, a place that may wander."""
        return self.frame(body).material_velocity(arm)

    def couple(self, body: str, torque: Any) -> NDArray:
        """Generalised force (n,) of a torque on a body."""
        force = np.zeros(self.n)
        if body != GROUND:
            frame = self.frame(body)
            force[frame.place.start : frame.place.start + frame.body.velocities] = frame.couple(torque)
        return force

    def coordinate_rates(self) -> NDArray:
        return np.concatenate([frame.coordinate_rates() for frame in self.frames.values()])

    def mass_matrix(self) -> NDArray:
        return self._blocks("mass_matrix")

    def inverse_mass(self) -> NDArray:
        return self._blocks("inverse_mass")

    def gyroscopic_force(self) -> NDArray:
        return np.concatenate([frame.gyroscopic_force() for frame in self.frames.values()])

    def kinetic_energy(self) -> float:
        return float(0.5 * self.w @ self.mass_matrix() @ self.w)

    def _blocks(self, what: str) -> NDArray:
        blocks = np.zeros((self.n, self.n))
        for frame in self.frames.values():
            here = slice(frame.place.start, frame.place.start + frame.body.velocities)
            blocks[here, here] = getattr(frame, what)()
        return blocks
