"""Planar bodies and hinges as a graph.

Bodies in any order, arcs in any direction, loops too. A tree is numbered from the base outwards, as
`riderless.models.constrained.tree` wants it. Of a graph with loops the arcs that close them are left over; the system
of free bodies takes them as it takes all others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.constrained.constraints import Spherical
from riderless.models.constrained.loads import Load, TorsionSpring
from riderless.models.constrained.motion import GROUND
from riderless.models.constrained.planar import PlanarBody
from riderless.models.constrained.system import System
from riderless.models.constrained.tree import BASE, Tree
from riderless.models.errors import InputError


class Arc(NamedTuple):
    """Hinge from body `a` to body `b`, one of which may be the ground, with a torsion spring.

    at_a, at_b : (2,) arrays, the hinge from the centre of either body (of the ground: from the origin), body axes, m
    stiffness : float, N m/rad
    rest : float, angle of `b` from `a` where the spring is slack, rad
    """

    name: str
    a: str
    b: str
    at_a: ArrayLike
    at_b: ArrayLike
    stiffness: float = 0.0
    rest: float = 0.0

    def leading_away(self, known: Any) -> "Arc":
        """Arc that leads away from what is known: this one, or its reverse."""
        return (
            self
            if self.a in known
            else Arc(self.name, self.b, self.a, self.at_b, self.at_a, self.stiffness, -self.rest)
        )


def tree_of_graph(bodies: Sequence[PlanarBody], arcs: Sequence[Arc]) -> tuple[Tree, list[Arc]]:
    """Number a graph from the ground outwards.

    Returns
    -------
    Tree
        Its bodies in the order found: those nearest to the ground first.
    list of Arc
        Arcs that close loops, to be cut joints; empty for a tree.

    Raises
    ------
    InputError
        A body that nothing joins to the ground, or an arc to a body that is not there.
    """
    by_name = {body.name: body for body in bodies}
    for arc in arcs:
        if unknown := {arc.a, arc.b} - {*by_name, GROUND}:
            raise InputError(f"arc {arc.name!r} leads to {sorted(unknown)[0]!r}, which is no body here; correct it")
    order: dict[str, Arc] = {}  # of the bodies, each with the arc by which it hangs
    remaining = list(arcs)
    while True:
        known = {GROUND, *order}
        for arc in remaining:
            if len({arc.a, arc.b} & known) == 1:
                outward = arc.leading_away(known)
                order[outward.b] = outward
                remaining.remove(arc)
                break
        else:
            break
    if loose := [name for name in by_name if name not in order]:
        raise InputError(f"no hinge joins {', '.join(map(repr, loose))} to the ground: add an arc")
    index = {GROUND: BASE, **{name: i for i, name in enumerate(order)}}
    hung = list(order.values())
    tree = Tree(
        tuple(by_name[arc.b] for arc in hung),
        tuple(index[arc.a] for arc in hung),
        np.array([arc.at_b for arc in hung], float),
        np.array([arc.at_a for arc in hung], float),
        [arc.stiffness for arc in hung],
        [arc.rest for arc in hung],
    )
    return tree, remaining


def system_of_graph(
    bodies: Sequence[PlanarBody], arcs: Sequence[Arc], loads: Sequence[Load] = (), lam: float = 10.0
) -> System:
    """Make free bodies with a hinge and a spring for each arc, loops or none.

    Parameters
    ----------
    bodies : sequence of PlanarBody
    arcs : sequence of Arc
    loads : sequence of Load
        Besides the springs: torques in any hinge, cut or not.
    lam : float
        Rate at which errors of the hinges decay, 1/s.
    """
    hinges, springs = [], []
    for arc in (arc.leading_away({arc.a if arc.b != GROUND else GROUND}) for arc in arcs):
        hinges.append(Spherical(arc.name, arc.b, arc.at_b, arc.at_a, arc.a))
        if arc.stiffness:
            springs.append(TorsionSpring(arc.b, arc.stiffness, arc.a, arc.rest))
    return System(bodies, hinges, [*springs, *loads], lam)
