"""Solar array (Yudintsev 2008, section 3.2.1).

Springs unfold two leaves from a spacecraft. The spacecraft is so much heavier that it stands still: it is the base of
the tree. Folded, leaf 1 lies along the spacecraft's side and leaf 2 back upon it; the springs are slack when both stand
out straight.
"""

import numpy as np

from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.tree import Tree

FOLDED = np.array([np.pi / 2.0, -np.pi / 2.0])
"""Absolute angles of the leaves before they unfold, rad."""


def solar_array(
    mass: float = 5.0, length: float = 1.2, stiffness: tuple[float, float] = (2.0, 1.0), root: float = 0.6
) -> Tree:
    """Make the tree of two equal leaves, uniform plates, on springs.

    Parameters
    ----------
    mass : float
        Of each leaf, kg.
    length : float
        Of each leaf, m.
    stiffness : tuple of two
        Of the springs in the first and second hinge, N m/rad.
    root : float
        Distance of the first hinge from the origin, m.
    """
    leaves = tuple(PlanarBody(f"leaf {i}", mass, mass * length**2 / 12.0) for i in (1, 2))
    half = length / 2.0
    return Tree(leaves, (-1, 0), [-half, 0.0], [[root, 0.0], [half, 0.0]], stiffness, 0.0)
