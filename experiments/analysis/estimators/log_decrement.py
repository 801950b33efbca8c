"""The oldest estimator: how much each swing is smaller than the one before.

Extrema of c1 + e^(d t) (c2 cos w t + c3 sin w t) lie exactly half a cycle apart, and the differences of
neighbouring ones, D_k = |y_(k+1) - y_k|, shrink by exactly e^(d pi / w): so w = pi / (mean spacing) and d is the
slope of ln D_k over time. The differences need no midline; it follows from what they add up to.

No search, nothing to start from, and three extrema are enough; but only the rows around extrema are used, so
it is the least precise of the estimators, and a slow second mode bends the midline under it.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy.ndimage import uniform_filter1d

from experiments.analysis.estimators.coloured_noise import Noise, noise_of, pooled
from experiments.analysis.estimators.result import answered, refused, unusable
from experiments.analysis.estimators.single_mode import FORM, MAX_DAMPING, MIN_ROWS, MIN_SIGNAL, W_MAX
from experiments.analysis.estimators.variable_projection import solution_at
from experiments.datatypes import Array, Fit

NAME = "log_decrement"

AROUND = 0.5  # of the distance to the neighbouring extrema: rows that make one extremum
DEGREES = range(4, 13)  # of the polynomial through them: a parabola would shift them by its own crudeness
LEAST = 3  # extrema: two differences
PROMINENT = 0.06  # of the range, that an extremum must stand out from its neighbours
SMOOTH = 0.08  # s of running mean before extrema are sought; they are measured without it


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Eigenvalue from the extrema within a free response.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here.

    Returns
    -------
    Fit
        Covariance from the noise around the extrema, as it moves their heights and times, times the scatter of
        the decrements about their line where that is larger than the noise explains (Birge's ratio).
        ``coefficients``: ``extrema`` and the midline c1. ``curve`` is the damped oscillation through them.
    """
    if reason := unusable(t, y, MIN_ROWS):
        return refused(reason, NAME)
    tau, dt = t - t[0], float((t[-1] - t[0]) / (len(t) - 1))
    rough = turning_points(y, dt)
    if len(rough) < LEAST:
        return refused(f"not identifiable: {len(rough)} extrema, wanted {LEAST}", NAME)
    found = [one for k in range(len(rough)) if (one := extremum(tau, y, rough, k)) is not None]
    times, heights, by_time, by_height = (np.array([getattr(one, name) for one in found]) for name in Extremum._fields)
    if len(found) < LEAST or np.any(np.diff(np.sign(np.diff(heights))) == 0):
        return refused("not identifiable: no extrema in turn, high and low", NAME)
    return from_extrema(tau, y, times, heights, by_time, by_height)


def turning_points(y: Array, dt: float) -> list[int]:
    """Rows of the extrema in turn, high and low, that stand out."""
    from scipy.signal import find_peaks  # half a second to load, which the other estimators should not pay

    length = max(1, round(SMOOTH / dt))
    smooth = uniform_filter1d(y, length, mode="nearest") if length > 1 else y
    least = PROMINENT * np.ptp(smooth)
    both = [(int(k), sign) for sign in (1, -1) for k in find_peaks(sign * smooth, prominence=least)[0]]
    kept: list[tuple[int, int]] = []
    for k, sign in sorted(both):
        if kept and kept[-1][1] == sign:  # two of a kind: the more extreme one
            kept[-1] = max(kept[-1], (k, sign), key=lambda one: sign * smooth[one[0]])
        else:
            kept.append((k, sign))
    return [k for k, _ in kept]


class Extremum(NamedTuple):
    """One extremum, and how its time and height answer each sample."""

    time: float  # s
    height: float
    by_time: Array  # (n,)
    by_height: Array  # (n,)


def extremum(tau: Array, y: Array, rough: list[int], k: int) -> Extremum | None:
    """The extremum near a row; None where there is none after all.

    A polynomial through the rows around it, of the degree that Schwarz's criterion likes best.
    """
    gap = min(abs(rough[k] - rough[i]) for i in (k - 1, k + 1) if 0 <= i < len(rough))
    first, last = max(rough[k] - round(AROUND * gap), 0), min(rough[k] + round(AROUND * gap) + 1, len(y))
    rows = slice(first, last)
    count = last - first
    if count < DEGREES[0] + 2:
        return None
    middle, half = 0.5 * (tau[first] + tau[last - 1]), 0.5 * (tau[last - 1] - tau[first])
    x = (tau[rows] - middle) / half
    solve = polynomial(x, y[rows])
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


def polynomial(x: Array, y: Array) -> Array:
    """How the Chebyshev coefficients of the best polynomial through (x, y) answer each y, (degree + 1, n)."""
    n = len(y)
    q, r = np.linalg.qr(chebyshev.chebvander(x, min(DEGREES[-1], n - 2)))
    # of the residual itself: its square from a difference of sums would drown in rounding
    left = {m: np.sum((y - q[:, : m + 1] @ (q[:, : m + 1].T @ y)) ** 2) for m in DEGREES if m < q.shape[1]}
    least = n * (1e-13 * np.ptp(y)) ** 2 + 1e-300
    m = min(left, key=lambda m: n * np.log(left[m] + least) + m * np.log(n))
    return np.asarray(np.linalg.solve(r[: m + 1, : m + 1], q[:, : m + 1].T))


def from_extrema(tau: Array, y: Array, times: Array, heights: Array, by_time: Array, by_height: Array) -> Fit:
    """The fit that K extrema give; ``by_...`` (K, n) is how they answer the samples."""
    k = np.arange(len(times), dtype=float)
    swing = np.diff(heights)
    by_log = np.diff(by_height, axis=0) / swing[:, None]
    half, by_half, off_half = slope(k, times, by_time)
    fall, by_fall, off_fall = slope(k[1:], np.log(np.abs(swing)), by_log)
    d, w = fall / half, np.pi / half
    if not 0.0 < w < W_MAX:
        return refused(f"not identifiable: extrema {half:.3g} s apart", NAME)
    answer = np.array([(by_fall - d * by_half) / half, -w * by_half / half])
    through = solution_at(FORM, tau, y, np.array([d, w]))
    c, curve, residual, span = through.c, through.curve, through.residual, through.jacobian
    noise = noise_of(answer, residual, span)
    variance = residual @ residual / max(len(y) - span.shape[1], 1)
    spare = len(times) - 3  # of the decrements about their line
    if spare > 0:
        birge = max(1.0, off_fall / (variance * spare + 1e-300), off_half / (variance * (spare + 1) + 1e-300))
        noise = Noise(birge * noise.covariance, pooled(((1.0, noise.dof), (birge - 1.0, float(spare)))))
    return answered(
        NAME,
        complex(d, w),
        y,
        curve,
        answer,
        span,
        problem=judge(d, w, curve - c[0], residual),
        status=f"{len(times)} extrema, residual {np.std(residual):.2g} rms",
        coefficients={"extrema": float(len(times))} | dict(zip(("c1", "c2", "c3"), map(float, c), strict=True)),
        noise=noise,
    )


def slope(k: Array, values: Array, answers: Array) -> tuple[float, Array, float]:
    """Slope of a line through values, how it answers the samples, and the scatter about it.

    Each value weighs by the inverse square of its ``answers`` (K, n), its variance where the noise is 1 and
    white; the scatter is chi-square in that unit.
    """
    weights = 1.0 / np.maximum(np.einsum("kn,kn->k", answers, answers), 1e-300)
    centre = weights @ k / weights.sum()
    pull = weights * (k - centre) / (weights @ (k - centre) ** 2)
    m = float(pull @ values)
    off = values - weights @ values / weights.sum() - m * (k - centre)
    return m, pull @ answers, float(weights @ off**2)


def judge(d: float, w: float, wave: Array, residual: Array) -> str:
    """Why the fit may not be compared; empty when it may."""
    if abs(d) > MAX_DAMPING * w:
        return f"not identifiable: nearly over-damped, {d:.3g} 1/s against {w:.3g} rad/s; try real_mode"
    if np.sqrt(np.mean(wave**2)) < MIN_SIGNAL * np.sqrt(np.mean(residual**2)):
        return f"too noisy: the oscillation's rms is under {MIN_SIGNAL:g} times the residual's"
    return ""
