"""Separable least squares: the few nonlinear unknowns searched, the linear ones solved for.

Every estimator of this room has the form y = Phi(theta) c. For a given theta the best c is a linear
least-squares problem, so only theta is searched (variable projection; Golub and Pereyra 1973, with
Kaufman's 1975 Jacobian).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import toeplitz
from scipy.optimize import least_squares

Array = NDArray[np.float64]
Basis = Callable[[Array], tuple[Array, Array]]
"""theta (p,) -> Phi (n, m) and its derivatives with respect to theta (p, n, m)."""


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


def minimise(basis: Basis, y: Array, starts: Iterable[Array], bounds: tuple[Array, Array]) -> Solution:
    """Best of a bounded least-squares search over theta from every start."""

    latest: tuple[Array, Array, Solution] | None = None  # the search asks for residual, then Jacobian, of one theta

    def evaluate(theta: Array) -> tuple[Array, Solution]:
        nonlocal latest
        if latest is None or not np.array_equal(theta, latest[0]):
            phi, d_phi = basis(theta)
            q, r = np.linalg.qr(phi)
            c = np.linalg.lstsq(r, q.T @ y, rcond=None)[0]
            curve = phi @ c
            full = np.column_stack([(d_phi @ c).T, phi])
            latest = theta.copy(), q, Solution(theta, c, curve, y - curve, full)
        return latest[1:]

    def residual(theta: Array) -> Array:
        return evaluate(theta)[1].residual

    def jacobian(theta: Array) -> Array:
        # Kaufman: the derivative of the residual is that of the curve, less its part within span(Phi)
        q, solution = evaluate(theta)
        d_curve = solution.jacobian[:, : len(theta)]
        return q @ (q.T @ d_curve) - d_curve

    found = [
        least_squares(residual, start, jacobian, bounds=bounds, x_scale=np.maximum(np.abs(start), 0.1)).x
        for start in starts
    ]
    return min((evaluate(theta)[1] for theta in found), key=lambda solution: solution.cost)


def autocovariance(residual: Array, freedom: int) -> Array:
    """Autocovariance (n,) of the noise that left this residual after ``freedom`` unknowns were fitted.

    Lags count until the correlation first falls within 2/sqrt(n) of zero (Geyer's initial sequence; beyond it
    is the noise of the estimate, which the fit makes negative). One unknown takes as much of the variance
    as one correlation time, g = 1 + 2 (sum of the correlations) rows, holds; all together at most half.
    """
    n = len(residual)
    lags = np.correlate(residual, residual, "full")[n - 1 :] / n
    small = lags[: n // 4] <= 2.0 / np.sqrt(n) * lags[0]
    width = max(1, int(np.argmax(small)) if small.any() else n // 4)
    g = 2.0 * lags[:width].sum() / lags[0] - 1.0 if lags[0] > 0.0 else 1.0
    kept = np.where(np.arange(n) < width, lags, 0.0)
    return kept / max(1.0 - freedom * g / n, 0.5)


def sensitivity(solution: Solution) -> Array:
    """How theta answers a small change of each sample: d theta / d y (p, n)."""
    return np.asarray(np.linalg.pinv(solution.jacobian)[: len(solution.theta)])


def coloured_covariance(answer: Array, residual: Array, freedom: int) -> Array:
    """Covariance (p, p) of what answers the samples linearly when neighbouring residuals are alike.

    ``answer`` (p, n) is d theta / d y. With S the Toeplitz matrix of the residual's own autocovariance
    the result is answer S answer', for a least-squares fit the sandwich (J'J)^-1 J' S J (J'J)^-1. With
    white residuals it is the textbook covariance; with the lag-1 autocorrelation of 0.4 and more seen in
    measured lean rates the textbook one is several times too small.
    """
    lags = autocovariance(residual, freedom)
    white = lags[0] * answer @ answer.T
    # The kept lags are positive, so they only add; lags cut off can make the sum indefinite by a little.
    values, vectors = np.linalg.eigh(answer @ toeplitz(lags) @ answer.T - white)
    return white + (vectors * np.maximum(values, 0.0)) @ vectors.T
