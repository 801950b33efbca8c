"""Accelerations of a tree in O(n): articulated bodies (the textbook's method of separate bodies, Yudintsev 2008).

Body i moves with w_i = (v_i, omega_i) of its centre. A hinge lets one number through, its relative rate q'_i::

    w_i' = C_i w_p' + G_i q''_i + b_i        (p the parent)

Cut off at its hinge, body i and all that hangs from it answer a motion like one body of changed inertia:
M*_i w_i' = F*_i + the hinge's force. From the tips inwards a child passes to its parent what its hinge cannot give
way to; from the base outwards every hinge then knows its q''.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riderless.models.constrained.planar import perp
from riderless.models.constrained.tree import BASE, Tree


def articulated_accelerations(tree: Tree, phi: NDArray, rate: NDArray, forces: NDArray) -> NDArray:
    """Angular accelerations phi'' (n,) of all bodies.

    Parameters
    ----------
    tree : Tree
    phi, rate : (n,) arrays
        Absolute angles, rad, and rates, rad/s.
    forces : (n, 2) array
        On the centres of the bodies, N.
    """
    n, order = tree.n, range(tree.n)
    inner, outer = tree.rotated(phi)
    torque = tree.hinge_torques(phi)
    C, G, b = np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3))
    M, F = np.zeros((n, 3, 3)), np.zeros((n, 3))
    for i in order:
        parent = tree.parents[i]
        omega_parent = 0.0 if parent == BASE else rate[parent]
        C[i] = np.eye(3)
        C[i, :2, 2] = perp(outer[i] - inner[i])
        G[i] = [*-perp(inner[i]), 1.0]
        b[i, :2] = rate[i] ** 2 * inner[i] - omega_parent**2 * outer[i]
        M[i] = tree.bodies[i].mass * np.eye(3)
        M[i, 2, 2] = tree.bodies[i].inertia
        F[i, :2] = forces[i]

    gives_way, push = np.zeros(n), np.zeros(n)
    for i in reversed(order):
        gives_way[i] = G[i] @ M[i] @ G[i]
        push[i] = torque[i] + G[i] @ (F[i] - M[i] @ b[i])
        if tree.parents[i] != BASE:
            held = M[i] @ G[i] / gives_way[i]
            M[tree.parents[i]] += C[i].T @ (M[i] - np.outer(held, G[i] @ M[i])) @ C[i]
            F[tree.parents[i]] += C[i].T @ (F[i] - M[i] @ b[i] - held * push[i])

    w_dot = np.zeros((n, 3))
    for i in order:
        carried = np.zeros(3) if tree.parents[i] == BASE else C[i] @ w_dot[tree.parents[i]]
        w_dot[i] = carried + b[i] + G[i] * (push[i] - G[i] @ M[i] @ carried) / gives_way[i]
    return w_dot[:, 2]
