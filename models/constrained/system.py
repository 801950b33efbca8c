"""System of bodies, constraints and loads, in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import lapack

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet, Rate
from riderless.models.constrained.loads import Load
from riderless.models.constrained.motion import Bodies
from riderless.models.errors import InputError

# Reactions of the constraints, from A N = -phi.

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


class Solution(NamedTuple):
    """Accelerations w' of all bodies, and the reactions of each constraint by its name."""

    acceleration: NDArray
    reactions: dict[str, NDArray]


@dataclass(frozen=True)
class System:
    """Rigid bodies held together by constraints.

    Parameters
    ----------
    bodies : sequence of PlanarBody or of Body
    constraints : sequence of Constraint
    loads : sequence of Load
    lam : float
        Rate at which every constraint residual decays, 1/s. Well above the system's own rates, well below the
        integrator's 1/step.

    Raises
    ------
    InputError
        Two bodies or two constraints of one name, bodies of the plane and of space together, a negative rate.
    """

    bodies: Sequence[Any]
    constraints: Sequence[Constraint] = ()
    loads: Sequence[Load] = ()
    lam: float = 10.0

    def __post_init__(self) -> None:
        for what, things in (("bodies", self.bodies), ("constraints", self.constraints)):
            names = [thing.name for thing in things]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise InputError(f"two {what} are called {twice[0]!r}; give every one its own name")
        if len({body.dimension for body in self.bodies}) != 1:
            raise InputError("a system needs bodies that are all planar or all spatial, found none or both kinds")
        if not self.lam >= 0.0:
            raise InputError(f"the decay rate lam must be zero or more, found {self.lam} 1/s")

    def state(self, places: Sequence[ArrayLike], moves: Sequence[ArrayLike]) -> NDArray:
        """State from the coordinates (`place`) and the velocities (`move`) of every body."""
        return np.concatenate([*(np.asarray(part, float) for part in (*places, *moves))])

    def motion(self, t: float, x: NDArray) -> Bodies:
        """All bodies at one moment."""
        return Bodies(self.bodies, t, x)

    def solve(self, t: float, x: NDArray) -> Solution:
        """Accelerations and reactions.

        Raises
        ------
        InputError
            Constraints that repeat or contradict one another, by name.
        """
        motion = self.motion(t, x)
        acceleration, N, names = self._answer(motion)
        return Solution(acceleration, {c.name: N[names == c.name] for c in self.constraints})

    def derivative(self, t: float, x: NDArray) -> NDArray:
        """Rate of the state; raises as `solve` does."""
        motion = self.motion(t, x)
        return np.concatenate([motion.coordinate_rates(), self._answer(motion)[0]])

    def residuals(self, t: float, x: NDArray) -> dict[str, float]:
        """Largest residual of every constraint, of positions and of velocities, by name."""
        motion = self.motion(t, x)
        worst = {}
        for constraint in self.constraints:
            parts = []
            for f in constraint.residuals(motion):
                parts += [f.value, f.rate] if isinstance(f, Jet) else [f.value]
            worst[constraint.name] = max(float(np.abs(part).max()) for part in parts)
        return worst

    def energy(self, t: float, x: NDArray) -> float:
        """Kinetic energy and the potential energy of the loads, J."""
        motion = self.motion(t, x)
        return motion.kinetic_energy() + sum(load.potential(motion) for load in self.loads)

    def check(self, x: NDArray, t: float = 0.0, tolerance: float = 1e-6) -> None:
        """Make sure that a state obeys the constraints.

        Raises
        ------
        InputError
            The constraint that is broken most, and by how much.
        """
        residuals = self.residuals(t, x)
        if residuals:
            name = max(residuals, key=lambda each: residuals[each])
            if not residuals[name] <= tolerance:
                raise InputError(
                    f"the initial state breaks constraint {name!r} by {residuals[name]:.3g} (SI); wanted at most "
                    f"{tolerance:g}: move the bodies or change the constraint"
                )

    def simulate(self, x: NDArray, times: ArrayLike, rtol: float = 1e-10, atol: float = 1e-12) -> NDArray:
        """States (len(times), len(x)) at `times`, from `x` at the first of them (Dormand-Prince, eighth order).

        Parameters
        ----------
        x : array
            State at the first time.
        times : array
            s, rising.
        rtol, atol : float
            Relative and absolute tolerance of the integrator.

        Raises
        ------
        InputError
            An initial state that breaks a constraint, constraints that depend on one another, or a motion that
            cannot be continued.
        """
        times = np.asarray(times, float)
        self.check(x, times[0])
        solution = solve_ivp(
            self.derivative, (times[0], times[-1]), x, method="DOP853", t_eval=times, rtol=rtol, atol=atol
        )
        if not solution.success:
            raise InputError(f"the motion cannot be continued beyond {solution.t[-1]:.6g} s: {solution.message}")
        return solution.y.T

    def _answer(self, motion: Bodies) -> tuple[NDArray, NDArray, NDArray]:
        """Accelerations, reactions, and the name of the constraint each reaction belongs to."""
        force = motion.gyroscopic_force()
        for load in self.loads:
            force = force + load.force(motion)
        these = equations(self.constraints, motion, self.lam)
        return *react(motion.inverse_mass(), force, these), np.array(these.names)
