"""Uncertainty of one window's eigenvalue.

Noise, model error of the estimator, and a speed that changes. Scatter between windows is known to be three to five
times the textbook error of one. Three things are added up here, each from its own cause:

- the noise, coloured as the residual says (`coloured_noise.py`);
- the model error of the fit (other modes, a kick not quite over). It moves the estimate with the place where the
  window was cut. Noise does so too, by an amount that is known; the mean square of the moves beyond that is counted;
- the speed. The eigenvalue is stated for the window's mean speed, but a decaying motion tells of the speed it
  had while it was large.
"""

from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.estimators import estimate, single_mode
from riderless.experiments.analysis.estimators.coloured_noise import noise_covariance, welch_satterthwaite
from riderless.experiments.datatypes import Fit, Segment, Window
from riderless.models.array_types import Array

LATER_STARTS = (0.15, 0.3)  # s. Only later: earlier lets in the kick, which the rules keep out
EARLIER_ENDS = (0.1, 0.2)  # of the length
CUT_DOF = 2.0  # a window has two ends: many cuts, but only so many independent ones
SAME_EIGENVALUE = 0.5  # of its modulus, that an eigenvalue may move with the cut and still be the same one
FEWEST_PARAMETERS = 5  # that every estimator fits at least: d, w, c1, c2, c3


def fit_window(segment: Segment, estimator: str = single_mode.NAME) -> Fit:
    """Fit a window, with the uncertainty of its cut and of its speed added to that of the noise.

    Its start is moved later by up to 0.3 s, or its end earlier by up to a fifth. The mean square of the moves of
    every such fit that still shows the same motion, less what noise alone would make of it (that of the difference
    of two estimates from nested windows; Hausman 1978), is added to the covariance. The degrees of freedom
    are those of the sum (Welch and Satterthwaite).
    """
    t, y = segment.t, segment.phi_dot
    whole = estimate(t, y, estimator)
    if not whole.ok:
        return whole
    tried = [
        (first, estimate(t[first:last], y[first:last], estimator, whole))
        for first, last in _other_cuts(len(t), segment.dt)
    ]
    kept = [(first, fit) for first, fit in tried if _shows_same_motion(fit, whole)]
    cut = _cut_covariance(whole, y, kept)
    speed = _speed_covariance(whole, t - t[0], segment.window)
    variances = [np.trace(part) for part in (whole.covariance, cut, speed)]
    return replace(
        whole,
        covariance=whole.covariance + cut + speed,
        dof=welch_satterthwaite(zip(variances, (whole.dof, CUT_DOF, float("inf")), strict=True)),
        status=f"{whole.status}; standard deviations of re and im: {_both(whole.covariance)} from noise, "
        f"{_both(cut)} from {len(kept)} of {len(tried)} other cuts, {_both(speed)} from the changing speed",
    )


def _other_cuts(n: int, dt: float) -> list[tuple[int, int]]:
    """First row, and row past the last, of the other windows tried within n rows of dt seconds."""
    begins = [(round(later / dt), n) for later in LATER_STARTS]
    ends = [(0, n - round(share * n)) for share in EARLIER_ENDS]
    return [(first, last) for first, last in begins + ends if last - first >= n // 2]


def _shows_same_motion(fit: Fit, whole: Fit) -> bool:
    """Does a fit of a shorter window show the same motion?

    A cut may be too short to be believed by itself (less than a cycle) and still show what the estimate depends on.
    """
    return bool(abs(complex(fit.re - whole.re, fit.im - whole.im)) < SAME_EIGENVALUE * abs(complex(whole.re, whole.im)))


def _both(covariance: Array) -> str:
    re, im = np.sqrt(np.diag(covariance))
    return f"{re:.2g} and {im:.2g}"


def _cut_covariance(whole: Fit, y: Array, others: list[tuple[int, Fit]]) -> Array:
    """Covariance (2, 2) from the moves of the estimate with other cuts (first row, fit), beyond what noise explains.

    That of a later start and that of an earlier end, which are independent, add up.
    """
    if not others:
        return np.zeros((2, 2))
    moves = np.array([(fit.re - whole.re, fit.im - whole.im) for _, fit in others])
    influences = np.array([-whole.influence] * len(others))  # of the differences, (k, 2, n)
    for influence, (first, fit) in zip(influences, others, strict=True):
        influence[:, first : first + fit.influence.shape[1]] += fit.influence
    jacobian = np.column_stack([np.ones(len(y)), whole.influence.T])
    extra = FEWEST_PARAMETERS - jacobian.shape[1]
    noise = noise_covariance(influences, y - whole.curve, jacobian, extra).covariance
    later = np.array([first > 0 for first, _ in others])
    total = np.zeros((2, 2))
    for end in (later, ~later):
        for i in np.flatnonzero(end):
            total += (np.outer(moves[i], moves[i]) - noise[i]) / np.sum(end)
    values, vectors = np.linalg.eigh(total)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _speed_covariance(fit: Fit, tau: Array, window: Window) -> Array:
    """Covariance (2, 2) of an estimate that belongs to another speed than the window's mean.

    An eigenvalue s that changes at the rate s' makes a e^(s t + s' (t - T/2)^2 / 2) of the mode; that moves the
    estimate through its influence. How s changes with speed is the question, not to be taken from the model, so s' is
    given no value but a size: that of an eigenvalue proportional to speed, |s| / v times the deceleration.
    """
    if fit.im == 0.0 or window.v_mean == 0.0:
        return np.zeros((2, 2))
    rate = abs(complex(fit.re, fit.im) / window.v_mean) * abs(window.deceleration)
    c2, c3 = fit.coefficients.get("c2", 0.0), fit.coefficients.get("c3", 0.0)
    wave = (c2 - 1j * c3) * np.exp(complex(fit.re, fit.im) * tau) * 0.5 * (tau - 0.5 * tau[-1]) ** 2 * rate
    moved = fit.influence @ np.column_stack([wave.real, -wave.imag])  # by a change of d, and of w
    return np.asarray(moved @ moved.T)
