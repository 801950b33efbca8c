"""Comparison of a user's equations with the package's.

Compared are entries of the matrices, polynomial, eigenvalues, and motion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linear_sum_assignment

from riderless.models.array_types import Array, ComplexArray
from riderless.models.bicycle_file import shortened
from riderless.models.catalogue import load_bicycle
from riderless.models.compared.own_matrices import matrices_given, matrices_in_file
from riderless.models.compared.slips import COORDINATES, MATRICES, slip_of_all, slip_of_matrix, slips_of_entry
from riderless.models.coordinates import Q_DELTA, Q_PHI, Q_THETA, Q_THETA_R, ROLL_TORQUE, STEER_TORQUE
from riderless.models.errors import InputError
from riderless.models.linear.characteristic_polynomial import determinant_coefficients
from riderless.models.linear.modes import named_modes
from riderless.models.linear.whipple import CanonicalMatrices, canonical_matrices
from riderless.models.nonlinear.equations import accelerations, pitch
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle

# Nonlinear equations of a user, as a function.

Rates = Callable[..., Sequence[float]]

LINEARISED = 1e-7  # relative error of a matrix from differences
DIFFERENCE = 2e-3  # rad, rad/s; the error is of its fourth power
FAR_STATES = {  # states phi, delta, phi_dot, delta_dot, v, and the torques: each shows its own terms
    "straight": (0.0, 0.0, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaned": (0.4, 0.0, 0.0, 0.0, 4.6, 0.0, 0.0),
    "steered": (0.0, 0.3, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaned and steered at rest": (0.4, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0),
    "leaned and steered": (0.4, -0.3, 0.0, 0.0, 4.6, 0.0, 0.0),
    "leaning": (0.0, 0.0, 1.0, 0.0, 4.6, 0.0, 0.0),
    "steering": (0.0, 0.0, 0.0, 2.0, 4.6, 0.0, 0.0),
    "all of it, at rest": (0.3, 0.2, 0.7, -1.5, 0.0, 1.0, -0.5),
    "all of it": (0.3, 0.2, 0.7, -1.5, 4.6, 1.0, -0.5),
}
FIGURE_4 = {"v": 4.6, "phi_dot": 0.5, "duration": 5.0}  # m/s, rad/s, s


class FarState(NamedTuple):
    """Accelerations phi_ddot, delta_ddot [rad/s^2] and v_dot [m/s^2] in one state, found and right."""

    words: str
    found: tuple[float, ...]
    right: tuple[float, ...]

    @property
    def agrees(self) -> bool:
        """True where they agree to a millionth."""
        scale = max(1.0, *map(abs, self.right))
        return all(abs(a - b) <= 1e-6 * scale for a, b in zip(self.found, self.right, strict=True))


class Ride(NamedTuple):
    """Ride of figure 4 of Meijaard et al. (2007): gain of speed [m/s] after 5 s, and period [s] of the lean rate."""

    speed_gain: float
    period: float


def our_rates(bicycle: Bicycle) -> Rates:
    """Our own nonlinear equations in the form wanted of a person's."""
    p, rim = pack_bicycle(bicycle), bicycle.rR or 1.0
    q, u, T, u_dot = np.zeros(8), np.zeros(8), np.zeros(3), np.zeros(8)

    def rates(
        phi: float, delta: float, phi_dot: float, delta_dot: float, v: float, T_phi: float, T_delta: float
    ) -> tuple[float, float, float]:
        q[Q_PHI], q[Q_DELTA], q[Q_THETA] = phi, delta, pitch(p, phi, delta, bicycle.lam)
        u[Q_PHI], u[Q_DELTA], u[Q_THETA_R] = phi_dot, delta_dot, -v / rim
        T[ROLL_TORQUE], T[STEER_TORQUE] = T_phi, T_delta
        accelerations(p, q, u, T, u_dot)
        return float(u_dot[Q_PHI]), float(u_dot[Q_DELTA]), float(-rim * u_dot[Q_THETA_R])

    return rates


def linearised(rates: Rates, g: float) -> tuple[Array, Array]:
    """Matrices M, C1, K0, K2 (4, 2, 2) of a nonlinear function around upright, straight riding, and their tolerance.

    M comes from the torques, K0 from rest, C1 and K2 from 4.6 m/s.

    Raises
    ------
    InputError
    """
    v = FIGURE_4["v"]

    def column(k: int, speed: float) -> Array:
        """Derivative of phi_ddot, delta_ddot by one of the states or torques."""
        state = np.array([0.0, 0.0, 0.0, 0.0, speed, 0.0, 0.0])
        off = DIFFERENCE * np.eye(7)[k]
        once = _called(rates, state + off) - _called(rates, state - off)
        twice = _called(rates, state + 2.0 * off) - _called(rates, state - 2.0 * off)
        return ((8.0 * once - twice) / (12.0 * DIFFERENCE))[:2]

    mobility = np.column_stack([column(k, v) for k in (5, 6)])
    if not abs(np.linalg.det(mobility)) > 0.0:
        raise InputError("wanted accelerations that depend on T_phi and T_delta, found none: add the torques")
    M = np.linalg.inv(mobility)
    at_rest, moving = (-M @ np.column_stack([column(k, speed) for k in (0, 1)]) for speed in (0.0, v))
    C1 = -M @ np.column_stack([column(k, v) for k in (2, 3)]) / v
    matrices = np.array([M, C1, at_rest / g, (moving - at_rest) / v**2])
    scale = np.abs(matrices).max(axis=(1, 2), keepdims=True)
    return matrices, np.broadcast_to(LINEARISED * scale, matrices.shape).copy()


def _far_states(rates: Rates, bicycle: Bicycle) -> list[FarState]:
    """Accelerations far from upright, beside ours."""
    ours = our_rates(bicycle)
    return [
        FarState(words, tuple(_called(rates, np.array(x)).tolist()), tuple(ours(*x))) for words, x in FAR_STATES.items()
    ]


def _ride_of(rates: Rates) -> Ride:
    """Ride figure 4 by a function; nan where it falls."""

    def derivative(t: float, x: Array) -> list[float]:
        phi_ddot, delta_ddot, v_dot = _called(rates, np.array([*x, 0.0, 0.0]))
        return [x[2], x[3], phi_ddot, delta_ddot, v_dot]

    def fallen(t: float, x: Array) -> float:
        return 1.0 - abs(x[0])

    def upward(t: float, x: Array) -> float:
        return float(x[2])

    fallen.terminal = True  # type: ignore[attr-defined]
    upward.direction = 1.0  # type: ignore[attr-defined]
    start = [0.0, 0.0, FIGURE_4["phi_dot"], 0.0, FIGURE_4["v"]]
    solution = solve_ivp(derivative, (0.0, FIGURE_4["duration"]), start, rtol=1e-8, atol=1e-9, events=(fallen, upward))
    passed = solution.t_events[1]
    if not solution.success or len(solution.t_events[0]) or len(passed) < 2:
        return Ride(float("nan"), float("nan"))
    return Ride(float(solution.y[4, -1] - FIGURE_4["v"]), float((passed[-1] - passed[0]) / (len(passed) - 1)))


def _called(rates: Rates, state: Array) -> Array:
    answer = rates(*state.tolist())
    try:
        derivative = np.array(answer, dtype=float)
    except (TypeError, ValueError):
        derivative = np.empty(0)
    if derivative.shape != (3,) or not np.isfinite(derivative).all():
        raise InputError(
            f"wanted phi_ddot, delta_ddot [rad/s^2] and v_dot [m/s^2], three finite numbers, found {shortened(answer)} "
            f"at phi, delta, phi_dot, delta_dot, v, T_phi, T_delta = {', '.join(f'{x:g}' for x in state)}; correct it"
        )
    return derivative


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
        far=tuple(_far_states(mine, bicycle)) if callable(mine) else (),
        ride=_ride_of(mine) if callable(mine) else None,
        right_ride=_ride_of(our_rates(bicycle)) if callable(mine) else None,
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
