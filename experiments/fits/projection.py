"""Separable least squares: the few nonlinear unknowns searched, the linear ones solved for.

Most estimators of this room have the form y = Phi(theta) c. For a given theta the best c is a linear
least-squares problem, so only theta is searched (variable projection; Golub and Pereyra 1973, with
Kaufman's 1975 Jacobian), from many starts side by side (Levenberg-Marquardt within bounds).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.fits.noise import coloured_covariance

__all__ = ["Basis", "Solution", "coloured_covariance", "minimise", "sensitivity", "solution_at"]

Array = NDArray[np.float64]
Basis = Callable[[Array], tuple[Array, Array]]
"""theta (s, p) of s starts -> Phi (s, n, m) and its derivatives with respect to theta (s, p, n, m)."""

STEPS = 60  # at most; ten are usual
SCREENED, KEPT = 5, 2  # after so many steps only the best few searches go on
SETTLED = 1e-8  # 1/s; a shorter step ends a search ...
GAINED = 1e-9  # ... and so does one that lowers the sum of squares by less than this part
LAMBDA_START, LAMBDA_MIN, LAMBDA_MAX = 1e-3, 1e-12, 1e8  # damping, of the diagonal of J'J


@dataclass(frozen=True)
class Solution:
    """The best theta and c, with what an uncertainty needs."""

    theta: Array  # (p,)
    c: Array  # (m,)
    curve: Array  # (n,) Phi c
    residual: Array  # (n,) y - curve
    jacobian: Array  # (n, p + m) of the curve with respect to (theta, c)

    @property
    def cost(self) -> float:
        """Sum of squares of the residual."""
        return float(self.residual @ self.residual)

    @property
    def rms(self) -> float:
        """Root mean square of the residual."""
        return float(np.sqrt(self.cost / len(self.residual)))


@dataclass
class _Trial:
    """Where s searches are: everything that follows from their theta."""

    theta: Array  # (s, p)
    cost: Array  # (s,)
    gradient: Array  # (s, p)
    normal: Array  # (s, p, p) J'J

    @classmethod
    def at(cls, theta: Array, basis: Basis, y: Array) -> "_Trial":
        phi, d_phi = basis(theta)
        q, c, _ = _linear(phi, y)
        residual = y - (q @ (q.swapaxes(1, 2) @ y)[..., None])[..., 0]
        # Kaufman: the derivative of the residual is that of the curve, less its part within span(Phi)
        d_curve = (d_phi @ c[:, None, :, None])[..., 0].swapaxes(1, 2)
        J = q @ (q.swapaxes(1, 2) @ d_curve) - d_curve
        transposed = J.swapaxes(1, 2)
        gradient = (transposed @ residual[..., None])[..., 0]
        return cls(theta, np.einsum("sn,sn->s", residual, residual), gradient, transposed @ J)

    def put(self, where: NDArray[np.bool_], other: "_Trial") -> None:
        for name in ("theta", "cost", "gradient", "normal"):
            getattr(self, name)[where] = getattr(other, name)[where]

    def keep(self, which: NDArray[np.intp]) -> "_Trial":
        return _Trial(self.theta[which], self.cost[which], self.gradient[which], self.normal[which])


def _linear(phi: Array, y: Array) -> tuple[Array, Array, Array]:
    """Orthonormal basis of the columns, coefficients c, and the columns' norms, for each start."""
    norms = np.linalg.norm(phi, axis=1)
    norms = np.where(norms > 0.0, norms, 1.0)
    q, r = np.linalg.qr(phi / norms[:, None, :])
    # columns that coincide (two equal rates) leave r singular: the curve is right whatever c says
    r = r + 1e-13 * np.eye(r.shape[-1])
    c = np.linalg.solve(r, (q.swapaxes(1, 2) @ y)[..., None])[..., 0] / norms
    return q, c, norms


def minimise(basis: Basis, y: Array, starts: Iterable[Array], bounds: tuple[Array, Array]) -> Solution:
    """Best of bounded least-squares searches over theta from every start."""
    lower, upper = bounds
    now = _Trial.at(np.clip(np.array(list(starts), float), lower, upper), basis, y)
    damping = np.full(len(now.cost), LAMBDA_START)
    moving = np.ones(len(now.cost), bool)
    for step in range(STEPS):
        if step == SCREENED and len(moving) > KEPT:
            best = np.argsort(now.cost, kind="stable")[:KEPT]
            now, damping, moving = now.keep(best), damping[best], moving[best]
        # a bound that the step would leave holds its unknown fast
        held = (now.theta <= lower) & (now.gradient > 0.0) | (now.theta >= upper) & (now.gradient < 0.0)
        free = ~held
        diagonal = np.einsum("spp->sp", now.normal)
        floor = 1e-12 * diagonal.max(axis=1, keepdims=True) + 1e-300
        A = now.normal * free[:, :, None] * free[:, None, :]
        i = np.arange(A.shape[-1])
        A[:, i, i] = np.where(free, diagonal * (1.0 + damping[:, None]) + floor, 1.0)
        move = np.linalg.solve(A, -(now.gradient * free)[..., None])[..., 0]
        new = _Trial.at(np.clip(now.theta + move, lower, upper), basis, y)
        better = moving & (new.cost <= now.cost)
        moved = np.abs(new.theta - now.theta).max(axis=1)
        gained = np.where(better, now.cost - new.cost > GAINED * now.cost, True)
        now.put(better, new)
        damping = np.clip(np.where(better, damping / 10.0, damping * 8.0), LAMBDA_MIN, None)
        moving &= gained & (moved > SETTLED) & (damping < LAMBDA_MAX)
        if not moving.any():
            break
    return solution_at(basis, y, now.theta[int(np.argmin(now.cost))])


def solution_at(basis: Basis, y: Array, theta: Array) -> Solution:
    """The solution for a theta (p,) that is known."""
    phi, d_phi = basis(theta[None])
    q, c, _ = _linear(phi, y)
    curve = q[0] @ (q[0].T @ y)
    full = np.column_stack([(d_phi[0] @ c[0]).T, phi[0]])
    return Solution(theta, c[0], curve, y - curve, full)


def sensitivity(solution: Solution) -> Array:
    """How theta answers a small change of each sample: d theta / d y (p, n)."""
    J = solution.jacobian
    norms = np.linalg.norm(J, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    p = len(solution.theta)
    return np.asarray(np.linalg.pinv(J / norms)[:p] / norms[:p, None])
