"""Tree of planar bodies by Wittenburg's graph.

Incidence matrix, path matrix and augmented bodies after Yudintsev (2008). Arc a is the hinge through which body a hangs
from its parent, pointing away from the base (body -1, which stands still). The incidence matrix S has S[i, a] = +1
where arc a leaves body i and -1 where it arrives; the path matrix T has T[a, i] = -1 for every arc on the way from the
base to body i. They are inverse to one another: T S = S T = 1.

The vectors D = -C T, with C[i, a] = S[i, a] c[i, a] and c[i, a] from the centre of body i to its hinge a, lead
through the tree: D[i, k] goes across body i on the way to body k, and r_k = base + sum_i D[i, k]. Angles are absolute,
so

    A(phi) phi'' + B(phi) phi'^2 = Q

follows from the augmented bodies: body i with the masses of all that hangs from each of its hinges put into that hinge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.planar import PlanarBody
from riderless.models.errors import InputError

BASE = -1


@dataclass(frozen=True)
class Tree:
    """Planar bodies joined by hinges into a tree that hangs from a base at rest.

    Parameters
    ----------
    bodies : sequence of PlanarBody
    parents : sequence of int
        Index of the body each one hangs from, below its own; -1 is the base.
    inner : (n, 2) array
        From the centre of every body to the hinge it hangs from, body axes, m.
    outer : (n, 2) array
        From the centre of its parent to that hinge, in the parent's axes (from the origin for the base), m.
    stiffness, rest : (n,) arrays
        Torsion spring in every hinge, N m/rad, and the relative angle where it is slack, rad.
    """

    bodies: tuple[PlanarBody, ...]
    parents: tuple[int, ...]
    inner: Any
    outer: Any
    stiffness: Any = 0.0
    rest: Any = 0.0

    def __post_init__(self) -> None:
        n = len(self.bodies)
        for name, shape in (("inner", (n, 2)), ("outer", (n, 2)), ("stiffness", (n,)), ("rest", (n,))):
            object.__setattr__(self, name, np.broadcast_to(np.asarray(getattr(self, name), float), shape))
        if len(self.parents) != n or any(not BASE <= parent < i for i, parent in enumerate(self.parents)):
            raise InputError(
                f"every body of a tree needs one parent with a smaller index, or -1 for the base, found {self.parents}"
            )

    @property
    def n(self) -> int:
        """Number of bodies, and of hinges."""
        return len(self.bodies)

    @cached_property
    def mass(self) -> NDArray:
        return np.array([body.mass for body in self.bodies])

    @cached_property
    def inertia(self) -> NDArray:
        return np.array([body.inertia for body in self.bodies])

    @cached_property
    def incidence(self) -> NDArray:
        """Incidence matrix S (n, n): bodies by arcs."""
        S = -np.eye(self.n)
        for a, parent in enumerate(self.parents):
            if parent != BASE:
                S[parent, a] = 1.0
        return S

    @cached_property
    def paths(self) -> NDArray:
        """Path matrix T (n, n): arcs by bodies, walked from every body to the base."""
        T = np.zeros((self.n, self.n))
        for i in range(self.n):
            a = i
            while a != BASE:
                T[a, i] = -1.0
                a = self.parents[a]
        return T

    @cached_property
    def outboard_mass(self) -> NDArray:
        """Mass (n,) that hangs from each hinge."""
        return -self.paths @ self.mass

    def rotated(self, phi: NDArray) -> tuple[NDArray, NDArray]:
        """`inner` and `outer` along the fixed axes."""
        c, s = np.cos(phi), np.sin(phi)
        R = np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
        base = np.concatenate([R, np.eye(2)[None]])  # the parent -1 is the last
        return np.einsum("iab,ib->ia", R, self.inner), np.einsum("iab,ib->ia", base[list(self.parents)], self.outer)

    def ways(self, phi: NDArray) -> NDArray:
        """Vectors D (n, n, 2): across body i on the way to body k; zero where k does not hang from i."""
        inner, outer = self.rotated(phi)
        C = np.zeros((self.n, self.n, 2))
        for a, parent in enumerate(self.parents):
            C[a, a] = self.incidence[a, a] * inner[a]
            if parent != BASE:
                C[parent, a] = self.incidence[parent, a] * outer[a]
        return -np.einsum("iax,ak->ikx", C, self.paths)

    def centres(self, phi: NDArray) -> NDArray:
        """Centres of mass (n, 2)."""
        roots = np.array([self.outer[self._root(k)] for k in range(self.n)])
        return roots + self.ways(phi).sum(axis=0)

    def equations(self, phi: NDArray, forces: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Matrices A and B (n, n) and vector Q (n,) from augmented bodies; `forces` (n, 2) act on the centres, N."""
        D = self.ways(phi)
        inner, _ = self.rotated(phi)
        moments = np.einsum("k,ikx->ix", self.mass, D)  # of the augmented body about its inner hinge
        A, B = np.zeros((self.n, self.n)), np.zeros((self.n, self.n))
        for j in range(self.n):
            # the augmented body: itself at its centre, all that hangs from each hinge in that hinge
            A[j, j] = self.inertia[j] + self.mass[j] * (inner[j] @ inner[j])
            for a in np.flatnonzero(np.array(self.parents) == j):
                A[j, j] += self.outboard_mass[a] * (D[j, a] @ D[j, a])
            i = self.parents[j]
            while i != BASE:
                A[i, j] = A[j, i] = D[i, j] @ moments[j]
                B[i, j] = -_cross(D[i, j], moments[j])
                B[j, i] = -B[i, j]
                i = self.parents[i]
        Q = np.einsum("ik->i", _cross(D, forces[None, :, :])) - self.incidence @ self.hinge_torques(phi)
        return A, B, Q

    def hinge_torques(self, phi: NDArray) -> NDArray:
        """Torque (n,) of each spring on the body that hangs there, N m."""
        return -self.stiffness * (self.relative(phi) - self.rest)

    def relative(self, phi: NDArray) -> NDArray:
        """Angle (n,) of every body from its parent's: -S^T phi."""
        return -self.incidence.T @ phi

    def accelerations(self, phi: NDArray, rate: NDArray, forces: NDArray) -> NDArray:
        """Angular accelerations phi'' (n,)."""
        A, B, Q = self.equations(phi, forces)
        return np.linalg.solve(A, Q - B @ rate**2)

    def energy(self, phi: NDArray, rate: NDArray, forces: NDArray) -> float:
        """Kinetic energy, and potential energy of constant forces and of the springs, J."""
        A, _, _ = self.equations(phi, forces)
        springs = 0.5 * self.stiffness @ (self.relative(phi) - self.rest) ** 2
        return float(0.5 * rate @ A @ rate - np.sum(forces * self.centres(phi)) + springs)

    def _root(self, k: int) -> int:
        while self.parents[k] != BASE:
            k = self.parents[k]
        return k


def _cross(a: NDArray, b: NDArray) -> NDArray:
    """Out-of-plane part of the cross product along the last axis."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
