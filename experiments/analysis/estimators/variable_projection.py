"""Separable least squares (variable projection).

The few nonlinear unknowns are searched, the linear ones solved for. Most estimators of this room fit a sum of
exponentials, y = Phi(theta) c. For a given theta the best c is a linear least-squares problem, so only theta is
searched (variable projection; Golub and Pereyra 1973, with Kaufman's 1975 Jacobian), from many starts
(Levenberg-Marquardt within bounds).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import inner_product
from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array

MAX_ITERATIONS = 60  # at most; ten are usual
SCREENED_AFTER, SEARCHES_KEPT = 5, 2  # after so many steps only the best few searches go on
MIN_STEP = 1e-8  # 1/s; a shorter step ends a search ...
MIN_GAIN = 1e-9  # ... and so does one that lowers the sum of squares by less than this part
LAMBDA_START, LAMBDA_MIN, LAMBDA_MAX = 1e-3, 1e-12, 1e8  # damping, of the diagonal of J'J
LINEARLY_DEPENDENT = 1e-13  # of its size that a column has left when those before it are taken away: none
SERIES_BELOW = 1e-3  # |a t| under which (e^(a t) - 1) / a is taken from its series


class ExponentialForm(NamedTuple):
    """Numbers of the terms of a sum of exponentials about a constant.

    Theta has d and w of each wave, then the rates of rises and decays. The columns of Phi are 1, then for each rise
    (e^(a t) - 1) / a, for each wave e^(d t) cos w t and e^(d t) sin w t, for each decay e^(a t).
    """

    waves: int = 0
    rises: int = 0
    decays: int = 0


@dataclass(frozen=True)
class ProjectionFit:
    """Solution of a separable fit: the best theta and c, with residual and Jacobian."""

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


def minimise(
    form: ExponentialForm, tau: Array, y: Array, starts: Iterable[Array], bounds: tuple[Array, Array]
) -> ProjectionFit:
    """Search theta from every start by bounded least squares; the best solution.

    Parameters
    ----------
    form : ExponentialForm
    tau : (n,)
        Times from the window's start [s].
    y : (n,)
        Signal.
    starts : iterable of (p,)
        Initial guesses of theta.
    bounds : (p,) and (p,)
        Lower and upper bounds of theta.
    """
    return solution_at(form, tau, y, best_theta(form, tau, y, starts, bounds))


def best_theta(
    form: ExponentialForm, tau: Array, y: Array, starts: Iterable[Array], bounds: tuple[Array, Array]
) -> Array:
    """Theta (p,) of the best solution, without what else `minimise` tells of it.

    Parameters
    ----------
    form, tau, y, starts, bounds
        As of `minimise`.
    """
    lower, upper = bounds
    return np.asarray(_searched(form, tau, y, np.clip(np.array(list(starts), float), lower, upper), lower, upper))


def solution_at(form: ExponentialForm, tau: Array, y: Array, theta: Array) -> ProjectionFit:
    """Solution for a theta that is known.

    Parameters
    ----------
    form : ExponentialForm
    tau : (n,)
        Times from the window's start [s].
    y : (n,)
        Signal.
    theta : (p,)
        Nonlinear parameters.
    """
    phi, by = basis_functions(form, tau, theta)
    _, c, residual = _linear(phi, y)
    return ProjectionFit(theta, c, y - residual, residual, np.column_stack([(by @ c).T, phi]))


def influence_matrix(solution: ProjectionFit) -> Array:
    """Influence of each sample on theta: d theta / d y (p, n)."""
    J = solution.jacobian
    norms = np.linalg.norm(J, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    p = len(solution.theta)
    q, r = np.linalg.qr(J / norms)
    if abs(np.diag(r)).min() > LINEARLY_DEPENDENT * abs(np.diag(r)).max():
        return np.asarray(np.linalg.solve(r, q.T)[:p] / norms[:p, None])
    return np.asarray(np.linalg.pinv(J / norms)[:p] / norms[:p, None])


@njit(cache=True, nogil=True)
def basis_functions(form: ExponentialForm, tau: Array, theta: Array) -> tuple[Array, Array]:
    """Phi (n, m) and its derivatives with respect to theta (p, n, m)."""
    n, p = len(tau), len(theta)
    first_wave = 1 + form.rises
    first_decay = first_wave + 2 * form.waves
    phi, by = np.ones((n, first_decay + form.decays)), np.zeros((p, n, first_decay + form.decays))
    for j in range(n):
        t = tau[j]
        for k in range(form.waves):
            d, w, at = theta[2 * k], theta[2 * k + 1], first_wave + 2 * k
            size = np.exp(d * t)
            x, y = size * np.cos(w * t), size * np.sin(w * t)
            phi[j, at], phi[j, at + 1] = x, y
            by[2 * k, j, at], by[2 * k, j, at + 1] = t * x, t * y
            by[2 * k + 1, j, at], by[2 * k + 1, j, at + 1] = -t * y, t * x
        for k in range(form.rises):
            i, at = 2 * form.waves + k, 1 + k
            a = theta[i]
            if abs(a * t) < SERIES_BELOW:
                phi[j, at] = t * (1.0 + a * t / 2.0 + (a * t) ** 2 / 6.0)
                by[i, j, at] = t * t * (0.5 + a * t / 3.0 + (a * t) ** 2 / 8.0)
            else:
                phi[j, at] = np.expm1(a * t) / a
                by[i, j, at] = (t * np.exp(a * t) - phi[j, at]) / a
        for k in range(form.decays):
            i, at = 2 * form.waves + form.rises + k, first_decay + k
            phi[j, at] = np.exp(theta[i] * t)
            by[i, j, at] = t * phi[j, at]
    return phi, by


# plain loops from here on: with numpy's linear algebra these few lines took twenty seconds to compile


@njit(cache=True, nogil=True)
def _linear(phi: Array, y: Array) -> tuple[Array, Array, Array]:
    """Orthonormal basis of the columns of Phi (m, n), the coefficients c (m,), and what they leave of y (n,).

    Gram-Schmidt, each column twice (Giraud et al. 2005). A column within the span of those before it (two equal
    rates) gets c = 0: the curve is right without it.
    """
    n, m = phi.shape
    q, r, c, residual = np.zeros((m, n)), np.zeros((m, m)), np.zeros(m), y.copy()
    for j in range(m):
        _less(q[j], -1.0, phi[:, j])
        size = np.sqrt(inner_product(q[j], q[j]))
        for _ in range(2):
            for i in range(j):
                share = inner_product(q[i], q[j])
                r[i, j] += share
                _less(q[j], share, q[i])
        r[j, j] = np.sqrt(inner_product(q[j], q[j]))
        if r[j, j] <= LINEARLY_DEPENDENT * size:
            r[j, j] = np.inf
        for i in range(n):
            q[j, i] /= r[j, j]
        c[j] = inner_product(q[j], y)
        _less(residual, c[j], q[j])
    for j in range(m - 1, -1, -1):
        for i in range(j + 1, m):
            c[j] -= r[j, i] * c[i]
        c[j] = c[j] / r[j, j]
    return q, c, residual


@njit(cache=True, nogil=True)
def _less(a: Array, share: float, b: Array) -> None:
    """a -= share b, in place."""
    for i in range(len(a)):
        a[i] -= share * b[i]


@njit(cache=True, nogil=True)
def _trial(form: ExponentialForm, tau: Array, y: Array, theta: Array, gradient: Array, normal: Array) -> float:
    """Sum of squares at theta; half its gradient (p,) and J'J (p, p) are written to."""
    phi, by = basis_functions(form, tau, theta)
    q, c, residual = _linear(phi, y)
    p, m = len(theta), len(c)
    # Kaufman: the derivative of the residual is that of the curve, less its part within span(Phi)
    J = np.zeros((p, len(tau)))
    for k in range(p):
        for j in range(m):
            _less(J[k], c[j], by[k, :, j])
        for j in range(m):
            _less(J[k], inner_product(q[j], J[k]), q[j])
        gradient[k] = inner_product(J[k], residual)
        for i in range(k + 1):
            normal[i, k] = normal[k, i] = inner_product(J[i], J[k])
    return inner_product(residual, residual)


@njit(cache=True, nogil=True)
def _searched(form: ExponentialForm, tau: Array, y: Array, starts: Array, lower: Array, upper: Array) -> Array:
    """Theta (p,) of the lowest sum of squares that searches from the starts (s, p) come to."""
    s, p = starts.shape
    theta, cost, damping = starts.copy(), np.empty(s), np.full(s, LAMBDA_START)
    gradient, normal = np.empty((s, p)), np.empty((s, p, p))
    moving = np.ones(s, np.bool_)
    for i in range(s):
        cost[i] = _trial(form, tau, y, theta[i], gradient[i], normal[i])
    new_gradient, new_normal = np.empty(p), np.empty((p, p))
    for step in range(MAX_ITERATIONS):
        if step == SCREENED_AFTER:
            for i in range(s):
                lower_ones = 0
                for k in range(s):
                    lower_ones += cost[k] < cost[i]
                moving[i] = moving[i] and lower_ones < SEARCHES_KEPT
        for i in range(s):
            if not moving[i]:
                continue
            new = _stepped(theta[i], gradient[i], normal[i], damping[i], lower, upper)
            new_cost = _trial(form, tau, y, new, new_gradient, new_normal)
            better = new_cost <= cost[i]
            moved = 0.0
            for k in range(p):
                moved = max(moved, abs(new[k] - theta[i, k]))
            enough = not better or cost[i] - new_cost > MIN_GAIN * cost[i]
            damping[i] = max(damping[i] / 10.0 if better else damping[i] * 8.0, LAMBDA_MIN)
            moving[i] = enough and moved > MIN_STEP and damping[i] < LAMBDA_MAX
            if better:
                cost[i] = new_cost
                for k in range(p):
                    theta[i, k], gradient[i, k] = new[k], new_gradient[k]
                    for j in range(p):
                        normal[i, j, k] = new_normal[j, k]
    return theta[np.argmin(cost)]


@njit(cache=True, nogil=True)
def _stepped(theta: Array, gradient: Array, normal: Array, damping: float, lower: Array, upper: Array) -> Array:
    """Theta (p,) after a damped step; a parameter that would leave its bounds is held fast."""
    p = len(theta)
    A, x, floor = normal.copy(), -gradient, 0.0
    for k in range(p):
        floor = max(floor, 1e-12 * normal[k, k])
    for k in range(p):
        A[k, k] = A[k, k] * (1.0 + damping) + floor + 1e-300
        if (theta[k] <= lower[k] and gradient[k] > 0.0) or (theta[k] >= upper[k] and gradient[k] < 0.0):
            for i in range(p):
                A[i, k] = A[k, i] = 0.0
            A[k, k], x[k] = 1.0, 0.0
    for k in range(p):  # elimination: A is positive definite
        for i in range(k + 1, p):
            share = A[i, k] / A[k, k]
            x[i] -= share * x[k]
            for j in range(k, p):
                A[i, j] -= share * A[k, j]
    for k in range(p - 1, -1, -1):
        for j in range(k + 1, p):
            x[k] -= A[k, j] * x[j]
        x[k] = x[k] / A[k, k]
    for k in range(p):
        x[k] = min(max(theta[k] + x[k], lower[k]), upper[k])
    return x
