"""Logarithmic decrement.

The ratio of each swing to the one before gives the damping, their spacing the frequency. Extrema of c1 + e^(d t) (c2
cos w t + c3 sin w t) lie exactly half a cycle apart, and the differences of neighbouring ones, D_k = |y_(k+1) - y_k|,
shrink by exactly e^(d pi / w): so w = pi / (mean spacing) and d is the slope of ln D_k over time. The differences need
no midline; it follows from what they add up to.

No search, nothing to start from, and three extrema are enough; but only the rows around extrema are used, so
it is the least precise of the estimators, and a slow second mode bends the midline under it.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from riderless.experiments.analysis.estimators.coloured_noise import (
    NoiseCovariance,
    noise_covariance,
    welch_satterthwaite,
)
from riderless.experiments.analysis.estimators.result import (
    make_fit,
    over_damped,
    root_mean_square,
    too_noisy,
    unusable_signal,
)
from riderless.experiments.analysis.estimators.single_mode import FORM, MIN_SINGLE_ROWS, W_MAX
from riderless.experiments.analysis.estimators.variable_projection import solution_at
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

NAME = "log_decrement"

EXTREMUM_SPAN = 0.5  # of the distance to the neighbouring extrema: rows that make one extremum
POLYNOMIAL_DEGREES = range(4, 13)  # of the polynomial through them: a parabola would shift them by its own crudeness
MIN_EXTREMA = 3  # extrema: two differences
MIN_PROMINENCE = 0.06  # of the range, that an extremum must stand out from its neighbours
EXTREMA_SMOOTHING_TIME = 0.08  # s of running mean before extrema are sought; they are measured without it


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Fit the eigenvalue to the extrema within a free response.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here; estimators share one signature.

    Returns
    -------
    Fit
        Covariance from the noise around the extrema, as it moves their heights and times, times the scatter of
        the decrements about their line where that is larger than the noise explains (Birge's ratio).
        ``coefficients``: ``extrema`` and the midline c1. ``curve`` is the damped oscillation through them.
    """
    if reason := unusable_signal(t, y, MIN_SINGLE_ROWS):
        return Fit.refused(NAME, reason)
    tau, dt = t - t[0], float((t[-1] - t[0]) / (len(t) - 1))
    rough = _turning_points(y, dt)
    if len(rough) < MIN_EXTREMA:
        return Fit.refused(NAME, f"not identifiable: {len(rough)} extrema, wanted {MIN_EXTREMA}")
    extrema = [extremum for k in range(len(rough)) if (extremum := _find_extremum(tau, y, rough, k)) is not None]
    times, heights, *influences = (
        np.array([getattr(extremum, name) for extremum in extrema]) for name in Extremum._fields
    )
    if len(extrema) < MIN_EXTREMA or np.any(np.diff(np.sign(np.diff(heights))) == 0):
        return Fit.refused(NAME, "not identifiable: no extrema in turn, high and low")
    return _fit_extrema(tau, y, times, heights, *influences)


def _turning_points(y: Array, dt: float) -> list[int]:
    """Rows of the extrema in turn, high and low, that stand out."""
    from scipy.ndimage import uniform_filter1d  # both half a second to load, which other estimators should not pay
    from scipy.signal import find_peaks

    length = max(1, round(EXTREMA_SMOOTHING_TIME / dt))
    smooth = uniform_filter1d(y, length, mode="nearest") if length > 1 else y
    least = MIN_PROMINENCE * np.ptp(smooth)
    both = [(int(k), sign) for sign in (1, -1) for k in find_peaks(sign * smooth, prominence=least)[0]]
    kept: list[tuple[int, int]] = []
    for k, sign in sorted(both):
        if kept and kept[-1][1] == sign:  # two of a kind: the more extreme one
            kept[-1] = max(kept[-1], (k, sign), key=lambda turn: sign * smooth[turn[0]])
        else:
            kept.append((k, sign))
    return [k for k, _ in kept]


class Extremum(NamedTuple):
    """One extremum, and the influence of each sample on its time and height."""

    time: float  # s
    height: float
    time_influence: Array  # (n,) d time / d signal
    height_influence: Array  # (n,) d height / d signal


def _find_extremum(tau: Array, y: Array, rough: list[int], k: int) -> Extremum | None:
    """Find the extremum near a row; None where there is none after all.

    It is that of a polynomial through the rows around it, of the degree that Schwarz's criterion likes best.

    Parameters
    ----------
    tau : (n,)
        Times [s].
    y : (n,)
        Signal.
    rough : list of int
        Rows near the extrema, in order.
    k : int
        Which of them is meant.
    """
    gap = min(abs(rough[k] - rough[i]) for i in (k - 1, k + 1) if 0 <= i < len(rough))
    first, last = max(rough[k] - round(EXTREMUM_SPAN * gap), 0), min(rough[k] + round(EXTREMUM_SPAN * gap) + 1, len(y))
    rows = slice(first, last)
    count = last - first
    if count < POLYNOMIAL_DEGREES[0] + 2:
        return None
    middle, half = 0.5 * (tau[first] + tau[last - 1]), 0.5 * (tau[last - 1] - tau[first])
    x = (tau[rows] - middle) / half
    solve = _polynomial_influence(x, y[rows])
    c = solve @ y[rows]
    roots = chebyshev.chebroots(chebyshev.chebder(c))
    real = roots[np.abs(roots.imag) < 1e-9].real
    curvature = chebyshev.chebval(real, chebyshev.chebder(c, 2))
    sign = 1.0 if y[rows].mean() < np.mean(y[max(rough[k] - 1, 0) : rough[k] + 2]) else -1.0
    real = real[(np.abs(real) <= 1.0) & (sign * curvature < 0.0)]
    if not len(real):
        return None
    at = float(real[np.argmin(np.abs(real - (tau[rough[k]] - middle) / half))])
    vander = chebyshev.chebvander(np.array([at]), len(c) - 1)[0]
    slope = np.array([chebyshev.chebval(at, chebyshev.chebder(unit)) for unit in np.eye(len(c))])
    bend = float(chebyshev.chebval(at, chebyshev.chebder(c, 2)))
    height, time = np.zeros(len(y)), np.zeros(len(y))
    height[rows], time[rows] = vander @ solve, -half * (slope @ solve) / bend
    return Extremum(float(middle + half * at), float(vander @ c), time, height)


def _polynomial_influence(x: Array, y: Array) -> Array:
    """Influence (degree + 1, n) of each y on the Chebyshev coefficients of the best polynomial through (x, y)."""
    n = len(y)
    q, r = np.linalg.qr(chebyshev.chebvander(x, min(POLYNOMIAL_DEGREES[-1], n - 2)))
    # of the residual itself: its square from a difference of sums would drown in rounding
    costs = {m: np.sum((y - q[:, : m + 1] @ (q[:, : m + 1].T @ y)) ** 2) for m in POLYNOMIAL_DEGREES if m < q.shape[1]}
    least = n * (1e-13 * np.ptp(y)) ** 2 + 1e-300
    m = min(costs, key=lambda m: n * np.log(costs[m] + least) + m * np.log(n))
    return np.asarray(np.linalg.solve(r[: m + 1, : m + 1], q[:, : m + 1].T))


def _fit_extrema(
    tau: Array, y: Array, times: Array, heights: Array, time_influence: Array, height_influence: Array
) -> Fit:
    """Fit the eigenvalue to K extrema.

    Parameters
    ----------
    tau, y : (n,)
        Times [s] and signal.
    times, heights : (K,)
        Of the extrema [s] and in the unit of the signal.
    time_influence, height_influence : (K, n)
        Derivatives of times and heights by each sample of the signal.
    """
    k = np.arange(len(times), dtype=float)
    swing = np.diff(heights)
    log_influence = np.diff(height_influence, axis=0) / swing[:, None]
    half, half_influence, half_chi2 = _weighted_slope(k, times, time_influence)  # half a cycle [s]
    decrement, decrement_influence, decrement_chi2 = _weighted_slope(k[1:], np.log(np.abs(swing)), log_influence)
    d, w = decrement / half, np.pi / half
    if not 0.0 < w < W_MAX:
        return Fit.refused(NAME, f"not identifiable: extrema {half:.3g} s apart")
    influence = np.array([(decrement_influence - d * half_influence) / half, -w * half_influence / half])
    through = solution_at(FORM, tau, y, np.array([d, w]))
    c, curve, residual, jacobian = through.c, through.curve, through.residual, through.jacobian
    noise = noise_covariance(influence, residual, jacobian)
    variance = residual @ residual / max(len(y) - jacobian.shape[1], 1)
    dof = len(times) - 3  # of the decrements about their line; the times have one more
    if dof > 0:
        birge = max(1.0, decrement_chi2 / (variance * dof + 1e-300), half_chi2 / (variance * (dof + 1) + 1e-300))
        noise = NoiseCovariance(
            birge * noise.covariance, welch_satterthwaite(((1.0, noise.dof), (birge - 1.0, float(dof))))
        )
    return make_fit(
        NAME,
        complex(d, w),
        y,
        curve,
        influence,
        jacobian,
        problem=_log_decrement_problem(d, w, curve - c[0], residual),
        status=f"{len(times)} extrema, residual {np.std(residual):.2g} rms",
        coefficients={"extrema": float(len(times))} | dict(zip(("c1", "c2", "c3"), map(float, c), strict=True)),
        noise=noise,
    )


def _weighted_slope(k: Array, values: Array, influence: Array) -> tuple[float, Array, float]:
    """Slope of a line through values by weighted least squares, its influence (n,), and chi-square about the line.

    Each value weighs by the inverse square of its own ``influence`` (K, n), its variance where the noise is 1 and
    white; chi-square is in that unit.
    """
    weights = 1.0 / np.maximum(np.einsum("kn,kn->k", influence, influence), 1e-300)
    centre = weights @ k / weights.sum()
    pull = weights * (k - centre) / (weights @ (k - centre) ** 2)
    slope = float(pull @ values)
    residual = values - weights @ values / weights.sum() - slope * (k - centre)
    return slope, pull @ influence, float(weights @ residual**2)


def _log_decrement_problem(d: float, w: float, wave: Array, residual: Array) -> str:
    """Reason why the fit may not be compared; empty when it may.

    Parameters
    ----------
    d : float
        1/s.
    w : float
        rad/s.
    wave : (n,)
        Fitted oscillation about its midline.
    residual : (n,)
        Measured minus fitted.
    """
    return over_damped(d, w) or too_noisy(root_mean_square(wave), root_mean_square(residual))
