"""Closed solar array (after Yudintsev 2008).

Two struts hold two leaves: a loop of four bodies and five hinges. In the plane that is 12 accelerations and 10
equations of constraint, and two degrees of freedom are left. A spring in each hinge unfolds it, the one where a method
for trees would cut the loop too.
"""

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.graph import Arc, system_of_graph
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System

LEAF, STRUT = 1.2, 0.9  # m
LEAF_ROOT = np.array([0.6, 0.0])  # hinge of the first leaf on the spacecraft, m
STRUT_FOOT = np.array([0.6, -0.5])  # hinge of the first strut
ELBOW = 0.3  # m, of the second strut's hinge from the middle of the second leaf


def closed_solar_array(stiffness: tuple[float, ...] = (2.0, 1.0, 0.5, 0.5, 0.8), lam: float = 10.0) -> System:
    """Make the array of its bodies and hinges.

    Parameters
    ----------
    stiffness : tuple of five
        Of the springs: spacecraft to leaf 1, leaf 1 to leaf 2, spacecraft to strut 1, strut 1 to strut 2, strut 2 to
        leaf 2, N m/rad. They are slack where `folded` has all angles at zero.
    lam : float
        Rate at which errors of the hinges decay, 1/s.
    """
    leaves = [PlanarBody(f"leaf {i}", 5.0, 5.0 * LEAF**2 / 12.0) for i in (1, 2)]
    struts = [PlanarBody(f"strut {i}", 0.4, 0.4 * STRUT**2 / 12.0) for i in (1, 2)]
    leaf, strut = np.array([LEAF / 2.0, 0.0]), np.array([STRUT / 2.0, 0.0])
    arcs = [
        Arc("root", GROUND, "leaf 1", LEAF_ROOT, -leaf, stiffness[0]),
        Arc("middle", "leaf 1", "leaf 2", leaf, -leaf, stiffness[1]),
        Arc("foot", GROUND, "strut 1", STRUT_FOOT, -strut, stiffness[2]),
        Arc("knee", "strut 1", "strut 2", strut, -strut, stiffness[3]),
        Arc("elbow", "strut 2", "leaf 2", strut, np.array([ELBOW, 0.0]), stiffness[4]),
    ]
    return system_of_graph([*leaves, *struts], arcs, lam=lam)


def folded(system: System, first: float = 1.2, second: float = -1.4) -> NDArray:
    """State at rest with the leaves at absolute angles [rad]; the struts close the loop, their knee below."""

    def along(angle: float) -> NDArray:
        return np.array([np.cos(angle), np.sin(angle)])

    joint = LEAF_ROOT + LEAF * along(first)
    elbow = joint + (LEAF / 2.0 + ELBOW) * along(second)
    reach = elbow - STRUT_FOOT
    half = np.hypot(*reach) / 2.0
    bend = np.arccos(half / STRUT)
    towards = np.arctan2(reach[1], reach[0])
    angles = (first, second, towards - bend, towards + bend)
    starts = (LEAF_ROOT, joint, STRUT_FOOT, STRUT_FOOT + STRUT * along(angles[2]))
    lengths = (LEAF, LEAF, STRUT, STRUT)
    places = [
        PlanarBody.place(start + length / 2.0 * along(angle), angle)
        for start, length, angle in zip(starts, lengths, angles, strict=True)
    ]
    return system.state(places, [PlanarBody.move() for _ in places])
