"""Reactions of the constraints, from A N = -phi.

Constraints that depend on one another are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate
from riderless.models.errors import InputError

SINGULAR_CONDITION = 1e-11
"""Reciprocal condition below which constraints count as dependent. What each demands and what its reaction does are
scaled to unit length in the metric of the masses, so A holds cosines and the number does not depend on units."""


class Equations(NamedTuple):
    """All constraints at one moment, demanded to decay: J w' + demand = 0.

    J : (k, n) array
    demand : (k,) array, bias + 2 lam f' + lam^2 f, or bias + lam f
    actions : (n, k) array, generalised force per unit of each reaction
    names : of the constraint each row belongs to
    """

    J: NDArray
    demand: NDArray
    actions: NDArray
    names: list[str]


def equations(constraints: Sequence[Constraint], motion: Any, lam: float) -> Equations:
    """Collect the rows of all constraints.

    Raises
    ------
    InputError
        A constraint between the ground and itself.
    """
    J, demand, actions, names = [], [], [], []
    for constraint in constraints:
        rows = []
        for f in constraint.residuals(motion):
            if not isinstance(f, Jet | Rate):
                raise InputError(f"constraint {constraint.name!r} joins the ground to itself; name a body that moves")
            rows.append(np.atleast_2d(f.J))
            demand.append(np.atleast_1d(decay(f, lam)))
        gradient = np.concatenate(rows)
        action = constraint.actions(motion)
        J.append(gradient)
        actions.append(gradient.T if action is None else action)
        names += [constraint.name] * len(gradient)
    if not J:
        n = len(motion.w)
        return Equations(np.zeros((0, n)), np.zeros(0), np.zeros((n, 0)), [])
    return Equations(np.concatenate(J), np.concatenate(demand), np.concatenate(actions, axis=1), names)


def decay(f: Jet | Rate, lam: float) -> Any:
    """Terms that must vanish together with J w' for the residual to decay at the rate lam."""
    if isinstance(f, Jet):
        return f.bias + 2.0 * lam * f.rate + lam * lam * f.value
    return f.bias + lam * f.value


def react(inverse_mass: NDArray, force: NDArray, these: Equations) -> tuple[NDArray, NDArray]:
    """Accelerations and reactions of M w' = force + actions N under J w' + demand = 0.

    Returns
    -------
    acceleration : (n,) array
    N : (k,) array

    Raises
    ------
    InputError
        Constraints that repeat or contradict one another, or that no reaction can influence; all are named.
    """
    free = inverse_mass @ force
    response = inverse_mass @ these.actions
    N = _solve(these, inverse_mass, response, these.J @ free + these.demand)
    return free + response @ N, N


def _solve(these: Equations, inverse_mass: NDArray, response: NDArray, phi: NDArray) -> NDArray:
    """Solve A N = -phi with A = J response, or name what is wrong with it."""
    if not len(phi):
        return np.zeros(0)
    A = these.J @ response
    if not (np.all(np.isfinite(A)) and np.all(np.isfinite(phi))):
        raise InputError("the accelerations are not finite: the state or a load is not; check the initial state")
    demanded = np.sqrt(np.einsum("ij,ij->i", these.J @ inverse_mass, these.J))
    done = np.sqrt(np.einsum("ij,ij->j", these.actions, response))
    rows, columns = np.where(demanded > 0.0, demanded, 1.0), np.where(done > 0.0, done, 1.0)
    cosines = A / np.outer(rows, columns)
    size = np.abs(cosines)
    if (idle := (size.max(axis=1) < SINGULAR_CONDITION) | (size.max(axis=0) < SINGULAR_CONDITION)).any():
        names = _listed(these.names, idle)
        raise InputError(f"no reaction can influence {names}: leave it out, or name other bodies or actions")
    lu, pivots, failed = lapack.dgetrf(cosines)
    if failed or lapack.dgecon(lu, size.sum(axis=0).max())[0] < SINGULAR_CONDITION:
        raise InputError(_dependence(cosines, phi / rows, these.names))
    solution, _ = lapack.dgetrs(lu, pivots, -phi / rows)
    return solution / columns


def _dependence(A: NDArray, phi: NDArray, names: list[str]) -> str:
    """Name the constraints that depend on one another: those present in the left null space of A."""
    U, sizes, _ = np.linalg.svd(A)
    null = U[:, sizes < max(sizes[0] * 1e3 * SINGULAR_CONDITION, sizes[-1] * 1.001)]
    involved = _listed(names, np.abs(null).max(axis=1) > 1e-6)
    if np.abs(null.T @ phi).max() > 1e-6 * max(np.abs(phi).max(), 1.0):
        return f"constraints contradict one another at this position: {involved}; remove or change one of them"
    return f"constraints repeat one another at this position: {involved}; remove one of them"


def _listed(names: list[str], chosen: NDArray) -> str:
    return ", ".join(dict.fromkeys(repr(name) for name, wanted in zip(names, chosen, strict=True) if wanted))
