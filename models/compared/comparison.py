"""Comparison of a user's equations with the package's.

Compared are entries of the matrices, polynomial, eigenvalues, and motion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from riderless.models.array_types import Array, ComplexArray
from riderless.models.catalogue import load_bicycle
from riderless.models.compared.own_function import FarState, Ride, far_states, linearised, our_rates, ride_of
from riderless.models.compared.own_matrices import matrices_given, matrices_in_file
from riderless.models.compared.slips import COORDINATES, MATRICES, slip_of_all, slip_of_matrix, slips_of_entry
from riderless.models.errors import InputError
from riderless.models.linear.characteristic_polynomial import determinant_coefficients
from riderless.models.linear.modes import named_modes
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices
from riderless.models.parameters import Bicycle

TABLE_SPEEDS = np.arange(11.0)  # m/s, of the benchmark's own table
SAME_MOTION = 1e-6  # relative, of the coefficients of the polynomial
POWERS = [(4, 0), (3, 1), (2, 0), (2, 2), (1, 1), (1, 3), (0, 0), (0, 2), (0, 4)]


class WrongEntry(NamedTuple):
    """Entry of a matrix that is not ours, and the slips it looks like (none where no usual slip makes it)."""

    matrix: str
    row: str
    column: str
    found: float
    right: float
    looks_like: tuple[str, ...]

    @property
    def looks(self) -> str:
        """Words for what it looks like."""
        return ", or ".join(self.looks_like) or "no usual slip"

    @property
    def sentence(self) -> str:
        """Say what was found, what is right, and what it looks like."""
        return f"{self.matrix} {self.row} {self.column} is {self.found:.10g}, right is {self.right:.10g}: {self.looks}"


class Coefficient(NamedTuple):
    """Coefficient of s^i v^j in det(M s^2 + v C1 s + g K0 + v^2 K2), that of s^4 being one."""

    s: int
    v: int
    found: float
    right: float

    @property
    def agrees(self) -> bool:
        """True where they agree to a millionth."""
        return abs(self.found - self.right) <= SAME_MOTION * max(abs(self.right), 1e-3)


@dataclass(frozen=True, eq=False)
class EquationCheck:
    """Own equations beside ours.

    Attributes
    ----------
    bicycle : str
    matrices : CanonicalMatrices
        Found; of a function made linear.
    wrong : tuple of WrongEntry
    slips : tuple of str
        Slips that explain all entries of one matrix, or of all four.
    same_motion : bool
        The polynomial agrees, whatever the entries.
    coefficients : tuple of Coefficient
    v : (11,) array
        m/s.
    found, right : (11, 4) arrays
        Eigenvalues, 1/s, paired.
    far : tuple of FarState
        Of a function.
    ride, right_ride : Ride or None
        Of a function.
    """

    bicycle: str
    matrices: CanonicalMatrices
    wrong: tuple[WrongEntry, ...]
    slips: tuple[str, ...]
    same_motion: bool
    coefficients: tuple[Coefficient, ...]
    v: Array
    found: ComplexArray
    right: ComplexArray
    far: tuple[FarState, ...] = ()
    ride: Ride | None = None
    right_ride: Ride | None = None

    @property
    def verdict(self) -> str:
        """Say in one sentence whether these are the equations, or others of the same motion."""
        far = [each.words for each in self.far if not each.agrees]
        if self.wrong and self.same_motion:
            return "other equations of the same motion: all eigenvalues agree at all speeds"
        if self.wrong:
            return f"other equations: {len(self.wrong)} of 16 entries are wrong"
        if far:
            return f"right where it is linear; far from upright it is not ours: {', '.join(far)}"
        return "the same equations" + ("" if self.far else ": 16 entries agree to the last digit given")

    def __repr__(self) -> str:
        return f"EquationCheck({self.bicycle}: {self.verdict})"


def compare_equations(
    mine: str | Path | CanonicalMatrices | dict[str, Any] | Callable[..., Any], bicycle: Bicycle | str = "Benchmark"
) -> EquationCheck:
    """Compare one's own equations with ours: `riderless compare`.

    Parameters
    ----------
    mine : path, CanonicalMatrices, mapping or function
        A table of four lines (M, C1, K0, K2 with their entries row by row), the matrices, or a nonlinear function
        ``rates(phi, delta, phi_dot, delta_dot, v, T_phi, T_delta)`` that gives phi_ddot, delta_ddot and v_dot.
    bicycle : Bicycle or str
        Whose equations they are to be.

    Raises
    ------
    InputError
    """
    if isinstance(bicycle, str):
        bicycle = load_bicycle(bicycle)
    if callable(mine):
        matrices, tolerance = linearised(mine, bicycle.g)
    elif isinstance(mine, str | Path):
        matrices, tolerance = matrices_in_file(mine)
    else:
        matrices, tolerance = matrices_given(mine)
    theirs = CanonicalMatrices(*matrices)
    if not abs(np.linalg.det(theirs.M)) > 1e-14 * np.abs(theirs.M).max() ** 2:
        raise InputError("M is singular: with it lean and steer do not both have an acceleration; correct its entries")
    slips, wrong = _slips(matrices, tolerance, bicycle)
    coefficients = _coefficients(theirs, bicycle)
    eigenvalues = _eigenvalues(theirs, bicycle.g)
    right = named_modes(bicycle, TABLE_SPEEDS).all
    return EquationCheck(
        bicycle=bicycle.name,
        matrices=theirs,
        wrong=wrong,
        slips=slips,
        same_motion=all(each.agrees for each in coefficients),
        coefficients=coefficients,
        v=TABLE_SPEEDS,
        found=np.array([_paired(mine, ours) for mine, ours in zip(eigenvalues, right, strict=True)]),
        right=right,
        far=tuple(far_states(mine, bicycle)) if callable(mine) else (),
        ride=ride_of(mine) if callable(mine) else None,
        right_ride=ride_of(our_rates(bicycle)) if callable(mine) else None,
    )


def _slips(matrices: Array, tolerance: Array, bicycle: Bicycle) -> tuple[tuple[str, ...], tuple[WrongEntry, ...]]:
    """Slips of several entries together, and every wrong entry with its own."""
    right = np.array(canonical_matrices(bicycle))
    off = np.abs(matrices - right) > tolerance + 1e-9 * np.abs(right)
    if not off.any():
        return (), ()
    explained: dict[int, str] = {}  # slip by matrix
    if np.count_nonzero(off.any(axis=(1, 2))) > 1 and (slip := slip_of_all(matrices, right, tolerance, bicycle)):
        explained = dict.fromkeys(range(4), slip.words + (" (the motion is right)" if slip.harmless else ""))
    else:
        for k in map(int, np.flatnonzero(np.count_nonzero(off, axis=(1, 2)) > 1)):
            if words := slip_of_matrix(k, matrices[k], right[k], tolerance[k], bicycle.g):
                explained[k] = words
    wrong = []
    for k, i, j in np.argwhere(off).tolist():
        x, y, room = float(matrices[k, i, j]), float(right[k, i, j]), float(tolerance[k, i, j])
        looks = [explained[k]] if k in explained else slips_of_entry((k, i, j), x, room, right, bicycle)
        wrong.append(WrongEntry(MATRICES[k], COORDINATES[i], COORDINATES[j], x, y, tuple(looks)))
    return tuple(dict.fromkeys(explained.values())), tuple(wrong)


def _coefficients(theirs: CanonicalMatrices, bicycle: Bicycle) -> tuple[Coefficient, ...]:
    mine, ours = (determinant_coefficients(each, bicycle.g) for each in (theirs, canonical_matrices(bicycle)))
    mine, ours = mine / mine[4, 0], ours / ours[4, 0]
    return tuple(Coefficient(i, j, float(mine[i, j]), float(ours[i, j])) for i, j in POWERS)


def _eigenvalues(matrices: CanonicalMatrices, g: float) -> ComplexArray:
    """Eigenvalues (11, 4) at `TABLE_SPEEDS`."""
    M, C1, K0, K2 = matrices
    first = [np.hstack([np.zeros((2, 2)), np.eye(2)]) for _ in TABLE_SPEEDS]
    second = [-np.linalg.solve(M, np.hstack([g * K0 + v**2 * K2, v * C1])) for v in TABLE_SPEEDS]
    return np.linalg.eigvals(np.array([np.vstack(rows) for rows in zip(first, second, strict=True)]))


def _paired(mine: ComplexArray, ours: ComplexArray) -> ComplexArray:
    """Eigenvalues in the order in which they lie nearest to ours."""
    return mine[linear_sum_assignment(np.abs(ours[:, None] - mine[None, :]))[1]]
