"""System of bodies, constraints and loads, in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from riderless.models.constrained.constraint import Constraint
from riderless.models.constrained.jets import Jet
from riderless.models.constrained.loads import Load
from riderless.models.constrained.motion import Bodies
from riderless.models.constrained.reactions import equations, react
from riderless.models.errors import InputError


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
