"""Kooijman's estimator: one damped sinusoid.

A decaying or growing oscillation about a constant::

    phi_dot = c1 + exp(d t) (c2 cos w t + c3 sin w t),      eigenvalue d +- i w

Kooijman, Schwab, Meijaard (2008), Multibody System Dynamics 19, eq. 7. The constant c1 takes up the
gyro's bias and a steady turn.
"""

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import lag_1
from riderless.experiments.analysis.estimators.result import (
    covariance_of_fit,
    make_fit,
    over_damped,
    root_mean_square,
    too_few_cycles,
    too_noisy,
    unusable_signal,
)
from riderless.experiments.analysis.estimators.variable_projection import (
    ExponentialForm,
    ProjectionFit,
    best_theta,
    influence_matrix,
    minimise,
)
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

NAME = "single_mode"
FORM = ExponentialForm(waves=1)
WAVE = slice(2)  # of theta: d and w of the oscillation
WAVE_COLUMNS = slice(-2, None)  # of c, and of the Jacobian: cosine and sine

D_MIN, D_MAX = -20.0, 12.0  # 1/s; no weave of a bicycle between rest and 10 m/s, steered or not, is outside
W_MAX = 40.0  # rad/s; above it, structure of the frame
W_MIN_CYCLES = 0.25  # of the window: slower than this, an oscillation is no different from c1 + drift
SCAN_D, SCAN_W, SCAN_ROWS = 9, 28, 64  # coarse map of the cost from which the searches start
SEARCHES = 3
MIN_SINGLE_ROWS = 12

MAX_STRUCTURE = 0.9  # lag-1 autocorrelation of a residual that is a motion, not a noise ...
MIN_R2 = 0.9  # ... and matters when it holds more than this leaves unexplained


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Eigenvalue of the one mode that best explains a free response.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit: the unit does not enter the eigenvalue.
    near : a fit of nearly the same motion. The search begins there, and its covariance stands for this one's.

    Returns
    -------
    Fit
        ``re`` = d [1/s], ``im`` = w [rad/s]; covariance from the coloured residual (see coloured_noise.py);
        ``coefficients`` c1, c2, c3 in the unit of y, with t counted from the window's start. ``ok`` is False,
        with the reason in ``status``, where the window cannot answer the question.
    """
    tau = t - t[0]
    bounds = _bounds(tau)
    if reason := _unusable(t, y, bounds):
        return Fit.refused(NAME, reason)
    solution = minimise(FORM, tau, y, initial_guesses(tau, y, bounds, near), bounds)
    d, w = solution.theta
    return make_fit(
        NAME,
        complex(d, w),
        y,
        solution.curve,
        influence_matrix(solution),
        jacobian=solution.jacobian,
        problem=oscillation_problem(solution, tau, bounds),
        status=f"{w * tau[-1] / (2 * np.pi):.1f} cycles, residual {solution.rms:.2g} rms",
        coefficients=dict(zip(("c1", "c2", "c3"), map(float, solution.c), strict=True)),
        noise=covariance_of_fit(near),
    )


def eigenvalue_near(t: Array, y: Array, near: Fit) -> complex:
    """Eigenvalue [1/s] that `fit` would find near another fit, and no more: not a number where it would refuse.

    Parameters
    ----------
    t, y, near
        As of `fit`.
    """
    tau = t - t[0]
    bounds = _bounds(tau)
    if _unusable(t, y, bounds):
        return complex(np.nan, np.nan)
    return complex(*best_theta(FORM, tau, y, initial_guesses(tau, y, bounds, near), bounds))


def _bounds(tau: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of (d, w) in a window of the times tau."""
    return np.array([D_MIN, lowest_frequency(tau)]), np.array([D_MAX, W_MAX])


def _unusable(t: Array, y: Array, bounds: tuple[Array, Array]) -> str:
    """Reason why nothing can be fitted within these bounds; empty when it can."""
    if reason := unusable_signal(t, y, MIN_SINGLE_ROWS):
        return reason
    if bounds[0][1] >= W_MAX:
        return f"the window of {t[-1] - t[0]:.3f} s is too short for any oscillation of a bicycle"
    return ""


def lowest_frequency(tau: Array) -> float:
    """Lowest frequency [rad/s] that is sought in a window of the times tau."""
    return float(2 * np.pi * W_MIN_CYCLES / tau[-1])


def initial_guesses(tau: Array, y: Array, bounds: tuple[Array, Array], near: Fit | None = None) -> list[Array]:
    """Initial guesses of (d, w): the lowest local minima of the cost over a coarse map, or a fit nearby if given.

    Parameters
    ----------
    tau : (n,)
        Times from the window's start [s].
    y : (n,)
        Lean rate, in any unit.
    bounds : (2,) and (2,)
        Lower and upper bounds of (d, w).
    near : Fit, optional
        Fit of nearly the same motion.
    """
    if near is not None:
        return [np.array([near.re, near.im])]
    each = max(1, len(tau) // SCAN_ROWS)  # rows averaged to one, which leaves every d and w what it is
    tau, y = (s[: len(s) // each * each].reshape(-1, each).mean(axis=1) for s in (tau, y))
    d = np.linspace(-8.0, 5.0, SCAN_D)  # where weave lives; the searches may leave it
    w = np.geomspace(bounds[0][1] * 1.01, W_MAX * 0.99, SCAN_W)
    cost = _residual_squares(tau, y, d, w)
    around = np.pad(cost, 1, constant_values=np.inf)
    lowest = np.min([np.roll(around, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j], axis=0)[
        1:-1, 1:-1
    ]
    minima = np.argwhere(cost <= lowest)
    minima = minima[np.argsort(cost[tuple(minima.T)], kind="stable")][:SEARCHES]
    return [np.array([d[i], w[j]]) for i, j in minima]


def _residual_squares(tau: Array, y: Array, d: Array, w: Array) -> Array:
    """Sum of squared residuals of the best oscillation about a constant at each d and w, (k, l).

    Parameters
    ----------
    tau : (n,)
        Times from the window's start [s].
    y : (n,)
        Lean rate, in any unit.
    d : (k,)
        1/s.
    w : (l,)
        rad/s.
    """
    n, level = len(tau), y.mean()
    size, cosine, sine = np.exp(np.outer(d, tau)), np.cos(np.outer(w, tau)).T, np.sin(np.outer(w, tau)).T
    # products of the two waves and y, each less its mean: sums over time that are products of matrices
    a, b = size @ cosine / n, size @ sine / n
    aa = size**2 @ cosine**2 - n * a**2
    bb = size**2 @ sine**2 - n * b**2
    ab = size**2 @ (cosine * sine) - n * a * b
    ay, by = size @ (cosine * (y - level)[:, None]), size @ (sine * (y - level)[:, None])
    within = (ay**2 * bb - 2.0 * ay * by * ab + by**2 * aa) / (aa * bb - ab**2 + 1e-12 * (aa + bb) ** 2)
    return np.asarray(np.sum((y - level) ** 2) - within)


def oscillation_problem(solution: ProjectionFit, tau: Array, bounds: tuple[Array, Array]) -> str:
    """Reason why the fit of an oscillation may not be compared; empty when it may."""
    d, w = solution.theta[WAVE]
    lower, upper = bounds
    if np.any(solution.theta[WAVE] <= lower + 1e-3) or np.any(solution.theta[WAVE] >= upper - 1e-3):
        return f"not identifiable: the search ended at its bound, {d:.3g} +- {w:.3g}i 1/s"
    wave_rms = root_mean_square(solution.jacobian[:, WAVE_COLUMNS] @ solution.c[WAVE_COLUMNS])
    problem = too_few_cycles(w, tau[-1]) or over_damped(d, w) or too_noisy(wave_rms, solution.rms)
    if problem:
        return problem
    r = solution.residual
    correlation = lag_1(r)
    if correlation > MAX_STRUCTURE and np.var(r) > (1 - MIN_R2) * np.var(r + solution.curve):
        return f"one mode does not explain it: the residual is a motion (lag-1 autocorrelation {correlation:.2f})"
    return ""
