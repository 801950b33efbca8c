"""Triple pendulum of the textbook (Yudintsev 2008, section 3.5), two ways.

Three equal bodies of length 2 hang in a row from the ground, each pulled down by the force (0, -1), and start level at
rest. Units are the book's: mass 1, inertia 1, length 1.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.constrained.constraints import Spherical
from riderless.models.constrained.loads import Force
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System
from riderless.models.constrained.tree import Tree

BODIES = tuple(PlanarBody(f"body {i}", 1.0, 1.0) for i in (1, 2, 3))
INNER, OUTER = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
PULL = np.array([0.0, -1.0])
PULLS = np.tile(PULL, (3, 1))


def as_tree() -> Tree:
    """Pendulum by its three angles."""
    return Tree(BODIES, (-1, 0, 1), INNER, [np.zeros(2), OUTER, OUTER])


def as_bodies(lam: float = 10.0) -> System:
    """Pendulum by nine Cartesian coordinates and six constraints."""
    names = [body.name for body in BODIES]
    hinges = [Spherical("hinge 1", names[0], INNER, np.zeros(2), GROUND)]
    hinges += [Spherical(f"hinge {i + 1}", names[i], INNER, OUTER, names[i - 1]) for i in (1, 2)]
    return System(BODIES, hinges, [Force(name, np.zeros(2), PULL) for name in names], lam)


def state(angles: ArrayLike, rates: ArrayLike) -> NDArray:
    """State of `as_bodies` at absolute angles [rad] and rates [rad/s] (3,)."""
    tree, angles, rates = as_tree(), np.asarray(angles, float), np.asarray(rates, float)
    ways = tree.ways(angles)
    turned = np.stack([-ways[..., 1], ways[..., 0]], axis=-1)
    centres, velocities = tree.centres(angles), np.einsum("ikx,i->kx", turned, rates)
    return as_bodies().state(
        [PlanarBody.place(r, angle) for r, angle in zip(centres, angles, strict=True)],
        [PlanarBody.move(v, rate) for v, rate in zip(velocities, rates, strict=True)],
    )
