"""Kooijman's estimator: one decaying (or growing) oscillation about a constant.

    phi_dot = c1 + exp(d t) (c2 cos w t + c3 sin w t),      eigenvalue d +- i w

Kooijman, Schwab, Meijaard (2008), Multibody System Dynamics 19, eq. 7. The constant c1 takes up the
gyro's bias and a steady turn.
"""

import numpy as np

from experiments.analysis.estimators.result import answered, of_fit, refused, unusable
from experiments.analysis.estimators.variable_projection import Form, ProjectionFit, minimise, sensitivity
from experiments.datatypes import Array, Fit

NAME = "single_mode"
FORM = Form(waves=1)

D_MIN, D_MAX = -20.0, 12.0  # 1/s; no weave of a bicycle between rest and 10 m/s, steered or not, is outside
W_MAX = 40.0  # rad/s; above it, structure of the frame
W_MIN_CYCLES = 0.25  # of the window: slower than this, an oscillation is no different from c1 + drift
SCAN_D, SCAN_W, SCAN_ROWS = 9, 28, 64  # coarse map of the cost from which the searches start
SEARCHES = 3
MIN_ROWS = 12

MIN_CYCLES = 1.0  # EXPERIMENTS: a window shorter than one cycle is not identifiable
MAX_DAMPING = 2.0  # |d| / w beyond which the oscillation is gone within a quarter of a cycle
MIN_SIGNAL = 2.0  # rms of the oscillation over rms of the residual
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
        ``re`` = d [1/s], ``im`` = w [rad/s]; covariance from the coloured residual (see noise.py);
        ``coefficients`` c1, c2, c3 in the unit of y, with t counted from the window's start. ``ok`` is False,
        with the reason in ``status``, where the window cannot answer the question.
    """
    tau = t - t[0]
    if reason := unusable(t, y, MIN_ROWS):
        return refused(reason, NAME)
    bounds = np.array([D_MIN, slowest(tau)]), np.array([D_MAX, W_MAX])
    if bounds[0][1] >= W_MAX:
        return refused(f"the window of {tau[-1]:.3f} s is too short for any oscillation of a bicycle", NAME)
    solution = minimise(FORM, tau, y, starts(tau, y, bounds, near), bounds)
    d, w = solution.theta
    return answered(
        NAME,
        complex(d, w),
        y,
        solution.curve,
        sensitivity(solution),
        taken=solution.jacobian,
        problem=judge(solution, tau, bounds),
        status=f"{w * tau[-1] / (2 * np.pi):.1f} cycles, residual {solution.rms:.2g} rms",
        coefficients=dict(zip(("c1", "c2", "c3"), map(float, solution.c), strict=True)),
        noise=of_fit(near),
    )


def slowest(tau: Array) -> float:
    """The slowest oscillation [rad/s] that is sought in a window of the times tau."""
    return float(2 * np.pi * W_MIN_CYCLES / tau[-1])


def starts(tau: Array, y: Array, bounds: tuple[Array, Array], near: Fit | None = None) -> list[Array]:
    """Lowest local minima (2,) of the cost over a coarse map of (d, w); only that of a fit nearby if there is one."""
    if near is not None:
        return [np.array([near.re, near.im])]
    each = max(1, len(tau) // SCAN_ROWS)  # rows averaged to one, which leaves every d and w what it is
    tau, y = (s[: len(s) // each * each].reshape(-1, each).mean(axis=1) for s in (tau, y))
    d = np.linspace(-8.0, 5.0, SCAN_D)  # where weave lives; the searches may leave it
    w = np.geomspace(bounds[0][1] * 1.01, W_MAX * 0.99, SCAN_W)
    cost = left_by(tau, y, d, w)
    around = np.pad(cost, 1, constant_values=np.inf)
    lowest = np.min([np.roll(around, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j], axis=0)[
        1:-1, 1:-1
    ]
    minima = np.argwhere(cost <= lowest)
    minima = minima[np.argsort(cost[tuple(minima.T)], kind="stable")][:SEARCHES]
    return [np.array([d[i], w[j]]) for i, j in minima]


def left_by(tau: Array, y: Array, d: Array, w: Array) -> Array:
    """Sum of squares that the best oscillation about a constant leaves at each d (k,) and w (l,), (k, l)."""
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


def judge(solution: ProjectionFit, tau: Array, bounds: tuple[Array, Array]) -> str:
    """Why the fit may not be compared; empty when it may."""
    d, w = solution.theta[:2]
    cycles = w * tau[-1] / (2 * np.pi)
    lower, upper = bounds
    if np.any(solution.theta[:2] <= lower + 1e-3) or np.any(solution.theta[:2] >= upper - 1e-3):
        return f"not identifiable: the search ended at its bound, {d:.3g} +- {w:.3g}i 1/s"
    if cycles < MIN_CYCLES:
        return f"not identifiable: the window of {tau[-1]:.2f} s holds {cycles:.2f} of a cycle, less than one"
    if abs(d) > MAX_DAMPING * w:
        return f"not identifiable: nearly over-damped, {d:.3g} 1/s against {w:.3g} rad/s; try real_mode"
    wave = solution.jacobian[:, -2:] @ solution.c[-2:]
    if np.sqrt(np.mean(wave**2)) < MIN_SIGNAL * solution.rms:
        return f"too noisy: the oscillation's rms is under {MIN_SIGNAL:g} times the residual's"
    r = solution.residual
    lag_1 = float(r[1:] @ r[:-1] / (r @ r)) if solution.cost > 0 else 0.0
    if lag_1 > MAX_STRUCTURE and np.var(r) > (1 - MIN_R2) * np.var(r + solution.curve):
        return f"one mode does not explain it: the residual is a motion (lag-1 autocorrelation {lag_1:.2f})"
    return ""
