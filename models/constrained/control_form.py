"""Constraints as control goals of an affine system.

The system is x' = X(x) + B(x) u with f_i(x) = 0 (Matrosov, Morozov, Pesterev 2021). Reactions, and rates of extra
variables that say where a contact is, are the inputs u; as many constraints determine them. Each constraint is
differentiated along the motion until an input appears, and its error is made to decay at a rate of its own::

    order 1:  f' + lam f = 0            order 2:  f'' + 2 lam f' + lam^2 f = 0

Together they are A(x) u = -phi(x). In a constraint of order 2 the inputs drop out of f' where all constraints hold;
where they do not quite, f' is taken without them.

Functions take x (n,) and are made of arithmetic and numpy's smooth functions: they are differentiated by a complex
step. Errors of that decay with the constraints' own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.errors import InputError

_COMPLEX_STEP = 1e-30
_DIFFERENCE = 1e-6  # of what is itself a derivative
_DEPENDENT = 1e-12  # reciprocal condition of A, its rows and columns of unit length


@dataclass(frozen=True)
class DecayingConstraint:
    """Constraint f(x) = 0.

    Parameters
    ----------
    name : str
    f : function
        From x (n,) to a number.
    order : int
        1 or 2: derivatives until an input appears.
    lam : float
        Rate of decay, 1/s; 0 leaves the error to itself.
    when_empty : function or None
        From x to the row of A (m,) at states where f says nothing of the inputs, its right side being 0: at rest the
        energy of a rolling body does not, and the reactions' power along the motion to come must vanish.
    """

    name: str
    f: Callable[[NDArray], Any]
    order: int = 1
    lam: float = 1e3
    when_empty: Callable[[NDArray], ArrayLike] | None = None

    def __post_init__(self) -> None:
        if self.order not in (1, 2):
            raise InputError(f"constraint {self.name!r} wants order 1 or 2, found {self.order}; differentiate it first")
        if not self.lam >= 0.0:
            raise InputError(f"constraint {self.name!r} wants a decay rate of zero or more, found {self.lam} 1/s")


@dataclass(frozen=True)
class ControlForm:
    """System x' = X(x) + B(x) u under constraints.

    Parameters
    ----------
    drift : function
        X (n,) of x.
    inputs : function
        B (n, m) of x.
    goals : sequence of DecayingConstraint
        As many as there are inputs.
    """

    drift: Callable[[NDArray], ArrayLike]
    inputs: Callable[[NDArray], ArrayLike]
    goals: Sequence[DecayingConstraint]

    def solve(self, x: ArrayLike) -> NDArray:
        """Inputs u (m,) at a state.

        Raises
        ------
        InputError
            Not as many constraints as inputs, or constraints that do not determine them; the latter are named.
        """
        x = np.asarray(x, float)
        B = np.asarray(self.inputs(x), float)
        if len(self.goals) != B.shape[1]:
            raise InputError(f"wanted as many constraints as inputs, found {len(self.goals)} and {B.shape[1]}")
        A, phi = np.empty((len(self.goals), B.shape[1])), np.empty(len(self.goals))
        for i, goal in enumerate(self.goals):
            A[i], phi[i] = self._row(goal, x, B)
        return self._solved(A, phi)

    def derivative(self, x: ArrayLike) -> NDArray:
        """Rate of the state (n,); raises as `solve` does."""
        x = np.asarray(x, float)
        return np.asarray(self.drift(x)) + np.asarray(self.inputs(x)) @ self.solve(x)

    def residuals(self, x: ArrayLike) -> dict[str, float]:
        """Size of each constraint at a state, by name."""
        return {goal.name: abs(float(goal.f(np.asarray(x, float)))) for goal in self.goals}

    def march(self, x: ArrayLike, h: float, steps: int) -> NDArray:
        """States (steps + 1, n) by the midpoint rule with a constant step `h` [s], as in the paper.

        An adaptive step would grow ever smaller where an energy constraint is nearly empty, as where a motion turns.

        Raises
        ------
        InputError
            As of `solve`.
        """
        states = [np.asarray(x, float)]
        for _ in range(steps):
            middle = states[-1] + 0.5 * h * self.derivative(states[-1])
            states.append(states[-1] + h * self.derivative(middle))
        return np.array(states)

    def _row(self, goal: DecayingConstraint, x: NDArray, B: NDArray) -> tuple[NDArray, float]:
        """Row of A, and of phi, of one constraint."""
        X, f = np.asarray(self.drift(x), float), float(goal.f(x))
        if goal.order == 1:
            row = np.array([_along(goal.f, x, b) for b in B.T])
            if goal.when_empty is not None and not row.any():
                return np.asarray(goal.when_empty(x), float), 0.0
            return row, _along(goal.f, x, X) + goal.lam * f

        def rate(x: NDArray) -> float:
            return _along(goal.f, x, np.asarray(self.drift(x), float))

        row = np.array([_slope(rate, x, b) for b in B.T])
        return row, _slope(rate, x, X) + 2.0 * goal.lam * rate(x) + goal.lam**2 * f

    def _solved(self, A: NDArray, phi: NDArray) -> NDArray:
        rows = np.linalg.norm(A, axis=1)
        if not (np.isfinite(A).all() and np.isfinite(phi).all()):
            raise InputError("the constraints are not finite at this state; check the state and the functions")
        if not rows.all():
            idle = self.goals[int(np.argmin(rows))]
            raise InputError(
                f"constraint {idle.name!r} of order {idle.order} says nothing of the inputs at this state: give "
                f"it another order, or when_empty"
            )
        scaled = A / rows[:, None]
        columns = np.linalg.norm(scaled, axis=0)
        if not columns.all() or 1.0 / np.linalg.cond(scaled / columns) < _DEPENDENT:
            direction = np.abs(np.linalg.svd(scaled)[0][:, -1])
            named = ", ".join(repr(goal.name) for goal, part in zip(self.goals, direction, strict=True) if part > 1e-6)
            raise InputError(
                f"these constraints do not determine the inputs at this state: {named}; change one of them"
            )
        return np.linalg.solve(scaled / columns, -phi / rows) / columns


def _along(f: Callable[[NDArray], Any], x: NDArray, direction: NDArray) -> float:
    """Derivative of f along a direction, by a complex step."""
    return float(np.imag(f(x + 1j * _COMPLEX_STEP * direction)) / _COMPLEX_STEP)


def _slope(g: Callable[[NDArray], float], x: NDArray, direction: NDArray) -> float:
    """Derivative along a direction of what holds a derivative already, by differences of fourth order."""
    size = float(np.abs(direction).max())
    if not size:
        return 0.0
    h = _DIFFERENCE ** (4.0 / 5.0) / size * max(float(np.abs(x).max()), 1e-3)
    once = g(x + h * direction) - g(x - h * direction)
    twice = g(x + 2.0 * h * direction) - g(x - 2.0 * h * direction)
    return (8.0 * once - twice) / (12.0 * h)
