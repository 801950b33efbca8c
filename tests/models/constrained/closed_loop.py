"""Closed loops by cut joints: a tree's own few equations, and constraints only where the loop was cut.

Any constraint on points and directions serves as the cut joint; see `riderless.models.constrained.constraints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import perp
from riderless.models.constrained.system import equations, react
from riderless.models.constrained.tree import Tree
from riderless.models.errors import InputError


class _TreeMotion:
    """Tree at one moment, asked for points and directions like bodies in Cartesian coordinates; w is phi'."""

    def __init__(self, tree: Tree, t: float, phi: NDArray, rate: NDArray) -> None:
        self.tree, self.t, self.phi, self.w = tree, t, phi, rate
        self.index = {body.name: i for i, body in enumerate(tree.bodies)}
        self.D, self.r = tree.ways(phi), tree.centres(phi)

    def point(self, body: str, s: ArrayLike) -> Any:
        """Point at `s` in body axes, as a jet: the sum of the ways to it, each turning with its body."""
        if body == GROUND:
            return np.asarray(s, float)
        k = self._find(body)
        arm = self._turned(k, np.asarray(s, float))
        ways = self.D[:, k].copy()
        ways[k] += arm
        J = np.array([perp(way) for way in ways]).T
        return Jet(self.r[k] + arm, J @ self.w, J, -(self.w**2) @ ways)

    def direction(self, body: str, e: ArrayLike) -> Any:
        """Direction that is `e` in body axes, as a jet."""
        if body == GROUND:
            return np.asarray(e, float)
        k = self._find(body)
        arm = self._turned(k, np.asarray(e, float))
        J = np.zeros((2, self.tree.n))
        J[:, k] = perp(arm)
        return Jet(arm, J @ self.w, J, -(self.w[k] ** 2) * arm)

    def _turned(self, k: int, s: NDArray) -> NDArray:
        c, sine = np.cos(self.phi[k]), np.sin(self.phi[k])
        return np.array([c * s[0] - sine * s[1], sine * s[0] + c * s[1]])

    def _find(self, body: str) -> int:
        if body not in self.index:
            raise InputError(f"there is no body {body!r} in this tree; name one of {', '.join([*self.index, GROUND])}")
        return self.index[body]


def closed_loop_accelerations(
    tree: Tree, cuts: Sequence[Constraint], phi: NDArray, rate: NDArray, forces: NDArray, lam: float = 10.0
) -> tuple[NDArray, NDArray]:
    """Angular accelerations phi'' (n,) of a tree whose cut joints are held, and the reactions in the cuts.

    Parameters
    ----------
    tree : Tree
    cuts : sequence of Constraint
        Joints where the loops were cut.
    phi, rate : (n,) arrays
        Absolute angles, rad, and rates, rad/s.
    forces : (n, 2) array
        On the centres of the bodies, N.
    lam : float
        Decay rate of the constraints, 1/s.

    Raises
    ------
    InputError
        Cut joints that repeat or contradict one another, by name.
    """
    A, B, Q = tree.equations(phi, forces)
    these = equations(cuts, _TreeMotion(tree, 0.0, phi, rate), lam)
    return react(np.linalg.inv(A), Q - B @ rate**2, these)
