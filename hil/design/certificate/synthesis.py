"""Search for V(x, v) = x' P(v) x that shrinks from sample to sample, P a polynomial of speed."""

from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_discrete_lyapunov

from riderless.hil.design.certificate.loops import LoopBox
from riderless.hil.design.certificate.verify import verify
from riderless.models.array_types import Array

_DEGREE = 2
_FIRST_SPEEDS = 9
_WIDEST = 1e4  # largest over smallest V on the unit sphere of balanced states
_LEAST_SHARE = 0.3  # of the decay of the slowest eigenvalue, that V must show
_LOOKS = 200  # speeds at which a candidate is looked at
_ADDED = 4  # speeds, at which it was worst, that the next search has too
_ROUNDS = 8


_STRETCH = 0.05  # m/s, between two speeds of a file
_HALVINGS = 3  # of a stretch on which nothing is proved


class NoCertificateError(Exception):
    """Failure of a search."""


class Lyapunov:
    """P over speed, in balanced states.

    Parameters
    ----------
    balance : (m, m)
        L of P = L Q L', with Q what the solver found.
    coefficients : (degree + 1, m, m)
        Of Q over the speed scaled to -1 to 1.
    low, high : float
        Range of speeds [m/s].
    """

    def __init__(self, balance: Array, coefficients: Array, low: float, high: float) -> None:
        self._balance, self._coefficients, self._range = balance, coefficients, (low, high)

    def at(self, v: float) -> Array:
        """P (m, m) at the speed ``v`` [m/s], symmetric to the last bit."""
        powers = scaled(v, *self._range) ** np.arange(len(self._coefficients))
        P = self._balance @ np.tensordot(powers, self._coefficients, 1) @ self._balance.T
        return (P + P.T) / 2.0


def scaled(v: float, low: float, high: float) -> float:
    """Speed from -1 to 1 over the range."""
    return (2.0 * v - low - high) / (high - low)


def find_lyapunov(box: LoopBox, low: float, high: float) -> Lyapunov:
    """Search for P(v) between two speeds [m/s].

    Raises
    ------
    NoCertificateError
        The solver found none that it calls optimal, or none that holds between the speeds it was given.
    """
    step = box.dt * box.acceleration
    speeds, looks = np.geomspace(low, high, _FIRST_SPEEDS), np.linspace(low, high, _LOOKS)
    corners = {v: box.corners(v)[box.outer] for v in looks}
    slowest = min(1.0 - _radius(box.centre(v)) for v in looks[:: _LOOKS // _FIRST_SPEEDS])
    shrink = (1.0 - _LEAST_SHARE * slowest) ** 2
    balance = _balance(box.centre((low + high) / 2.0))
    for _ in range(_ROUNDS):
        P = _solve(box, balance, speeds, low, high, shrink)
        worst = np.array([_worst(corners[v], P, v, step, (low, high)) for v in looks])
        if worst.max() < 1.0 - 0.5 * (1.0 - shrink):
            return P
        speeds = np.union1d(speeds, looks[np.argsort(worst)[-_ADDED:]])
    raise NoCertificateError(f"after {_ROUNDS} searches V still grows near {looks[int(np.argmax(worst))]:.3g} m/s")


def prove(box: LoopBox, low: float, high: float, knots: Array) -> dict[str, Array]:
    """Find V for all speeds of a range and the matrices that prove it.

    Parameters
    ----------
    box : LoopBox
    low, high : float
        [m/s]
    knots : (n,) array
        Speeds of the controller [m/s]: between two of them its gains are linear.

    Raises
    ------
    NoCertificateError
        No V was found, or it does not hold between the speeds.
    """
    P = find_lyapunov(box, low, high)
    even = np.linspace(low, high, max(2, round((high - low) / _STRETCH) + 1))
    inside = knots[(knots > low) & (knots < high)]
    apart = np.abs(even[:, np.newaxis] - inside).min(axis=1, initial=np.inf) > _STRETCH / 4.0
    speed = np.union1d(even[apart | (even == low) | (even == high)], inside)
    step = box.dt * box.acceleration
    for _ in range(_HALVINGS + 1):
        arrays = {
            "speed": speed,
            "P": np.array([P.at(v) for v in speed]),
            "corners": np.array([box.corners(v) for v in speed]),
            "centre": np.array([box.centre(v) for v in speed]),
            "middle": np.array([box.centre(v) for v in (speed[1:] + speed[:-1]) / 2.0]),
            "bends": np.array([box.bends(v) for v in speed]),
            "speed_step": np.array(step),
            "dt": np.array(box.dt),
        }
        decay = verify(arrays).decay
        if np.all(decay > 0.0):
            return arrays
        open_ = (decay <= 0.0) & (np.diff(speed) > 2.0 * step)
        if not np.any(open_):
            break
        speed = np.union1d(speed, (speed[:-1] + speed[1:])[open_] / 2.0)
    k = int(np.argmin(decay))
    raise NoCertificateError(f"V that was found does not hold between {speed[k]:.3g} and {speed[k + 1]:.3g} m/s")


def _radius(A: Array) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max())


def _balance(A: Array) -> Array:
    """L (m, m) of P = L L' that shrinks evenly for one matrix: in its states all directions are alike."""
    even = 1.0 - 0.5 * (1.0 - _radius(A))
    return np.asarray(np.linalg.cholesky(solve_discrete_lyapunov((A / even).T, np.eye(len(A)))))


def _worst(corners: Array, P: Lyapunov, v: float, step: float, ends: tuple[float, float]) -> float:
    """Largest V after a sample per V before it."""
    before = P.at(v)
    reached = {min(max(v + d, ends[0]), ends[1]) for d in (-step, step)}
    try:
        return max(float(eigh(A.T @ P.at(to) @ A, before, eigvals_only=True)[-1]) for A in corners for to in reached)
    except np.linalg.LinAlgError:  # P is not positive here
        return np.inf


def _solve(box: LoopBox, balance: Array, speeds: Array, low: float, high: float, shrink: float) -> Lyapunov:
    """Solve the linear matrix inequalities at some speeds."""
    import cvxpy as cp

    m, step = len(balance), box.dt * box.acceleration
    turn = np.linalg.inv(balance).T
    Q = [cp.Variable((m, m), symmetric=True) for _ in range(_DEGREE + 1)]

    def at(v: float) -> Any:
        return sum(scaled(v, low, high) ** k * part for k, part in enumerate(Q))

    inequalities = []
    for v in speeds:
        inequalities += [at(v) >> np.eye(m), at(v) << _WIDEST * np.eye(m)]
        for corner in balance.T @ box.corners(v)[box.outer] @ turn:
            for reached in {max(v - step, low), min(v + step, high)}:
                inequalities.append((shrink * at(v) - corner.T @ at(reached) @ corner) / box.dt >> 0)
    problem = cp.Problem(cp.Minimize(0), inequalities)
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.SolverError as error:
        raise NoCertificateError("the solver gave up") from error
    if problem.status != cp.OPTIMAL:
        raise NoCertificateError(f"the solver found none ({problem.status})")
    return Lyapunov(balance, np.array([part.value for part in Q]), low, high)
