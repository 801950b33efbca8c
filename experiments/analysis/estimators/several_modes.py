"""Weave beside a slow mode.

An oscillation, one real exponential and a constant at once::

    phi_dot = c1 + c4 (e^(a t) - 1) / a + e^(d t) (c2 cos w t + c3 sin w t),      eigenvalue d +- i w

In a short window one oscillation about a constant takes the capsize mode, what is left of caster, or a
drift of the gyro for decay. Here they have a place of their own; written like this the second term is a
straight line where a = 0, so nothing becomes singular when the slow mode is slower than the window is long.

The extra mode costs precision, so the data must ask for it: Akaike's criterion, counted in independent rows
of the (coloured) residual, weighs both forms. (Not Schwarz's: a bicycle has those modes for certain, and the
question is not whether but whether they matter here.) The likelier one answers; what the other one says, times
its weight, is part of the covariance (Buckland, Burnham, Augustin 1997, Biometrics 53).
"""

from dataclasses import replace

import numpy as np

from riderless.experiments.analysis.estimators import single_mode
from riderless.experiments.analysis.estimators.coloured_noise import lag_1
from riderless.experiments.analysis.estimators.result import MAX_DAMPING, covariance_of_fit, make_fit, unusable_signal
from riderless.experiments.analysis.estimators.variable_projection import (
    ExponentialForm,
    ProjectionFit,
    influence_matrix,
    minimise,
)
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

NAME = "several_modes"
FORM = ExponentialForm(waves=1, rises=1)
EXTRA_RATE = 2  # of theta: a of the extra mode, after d and w

A_STARTS = (-6.0, -0.5, 2.0)
MIN_SEVERAL_ROWS = 16
EXTRA_PARAMETERS = 2  # unknowns of the extra mode: a and c4


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Eigenvalue of the oscillation in a response that may hold one more, real, mode.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : a fit of nearly the same motion. The search begins there, and its covariance stands for this one's.

    Returns
    -------
    Fit
        As of `single_mode`; ``coefficients`` holds ``extra``, the weight of the extra mode, and where that
        is more than a half its rate ``a`` [1/s] and c4. The status says which of the two it was.
    """
    tau = t - t[0]
    if reason := unusable_signal(t, y, MIN_SEVERAL_ROWS):
        return Fit.refused(NAME, reason)
    lower, upper = _oscillation_bounds(tau)
    if lower[1] >= upper[1]:
        return Fit.refused(NAME, f"the window of {tau[-1]:.3f} s is too short for any oscillation of a bicycle")
    first = single_mode.initial_guesses(tau, y, (lower, upper), near)
    single = minimise(single_mode.FORM, tau, y, first, (lower, upper))
    bounds = np.append(lower, single_mode.D_MIN), np.append(upper, single_mode.D_MAX)  # caster is at the lower end
    begins = [np.append(start, a) for start in [single.theta, *first[:2]] for a in A_STARTS]
    two = minimise(FORM, tau, y, begins, bounds)
    probability = _akaike_weight(single, two)
    chosen, other, share = (two, single, 1.0 - probability) if probability > 0.5 else (single, two, probability)
    w = chosen.theta[single_mode.WAVE][1]
    if chosen is two:
        extra = f"and an extra mode of {two.theta[EXTRA_RATE]:.2g} 1/s ({probability:.0%} likely)"
        more = dict(zip(("a", "c1", "c4", "c2", "c3"), map(float, [two.theta[EXTRA_RATE], *two.c]), strict=True))
    else:
        extra = f"alone (an extra mode is {probability:.0%} likely)"
        more = dict(zip(("c1", "c2", "c3"), map(float, single.c), strict=True))
    status = f"{w * tau[-1] / (2 * np.pi):.1f} cycles {extra}, residual {chosen.rms:.2g} rms"
    result = _fit_of(chosen, tau, y, status, more | {"extra": probability}, near)
    apart = other.theta[single_mode.WAVE] - chosen.theta[single_mode.WAVE]
    if not np.all(np.abs(apart) < MAX_DAMPING * w):  # another oscillation, not another opinion of this one
        return result
    return replace(result, covariance=result.covariance + share * np.outer(apart, apart))


def _akaike_weight(single: ProjectionFit, two: ProjectionFit) -> float:
    """Akaike's weight of the larger model (`two`), 0 to 1."""
    correlation = min(max(lag_1(two.residual), 0.0), 0.99)
    rows = len(two.residual) * (1.0 - correlation) / (1.0 + correlation)  # independent ones, of first-order noise
    least = (1e-12 * np.linalg.norm(two.curve)) ** 2 + 1e-300  # a perfect fit is no infinite evidence
    gain = rows * np.log((single.cost + least) / (two.cost + least)) - 2.0 * EXTRA_PARAMETERS
    return float(1.0 / (1.0 + np.exp(-np.clip(gain / 2.0, -700.0, 700.0))))


def fit_same_form(t: Array, y: Array, like: Fit) -> Fit:
    """Fit another motion in the very form of a fit: with an extra mode if that has one, and else without.

    Parameters
    ----------
    t, y : (n,)
        As of `fit`.
    like : Fit
        By this estimator.
    """
    a, tau = like.coefficients.get("a"), t - t[0]
    lower, upper = _oscillation_bounds(tau)
    guesses = [np.array([like.re, like.im]), *single_mode.initial_guesses(tau, y, (lower, upper))[:2]]
    if a is None:
        solution = minimise(single_mode.FORM, tau, y, guesses, (lower, upper))
    else:
        starts = [np.append(guess, rate) for guess in guesses for rate in (a, *A_STARTS)]
        solution = minimise(
            FORM, tau, y, starts, (np.append(lower, single_mode.D_MIN), np.append(upper, single_mode.D_MAX))
        )
    return _fit_of(solution, tau, y, "in the form of another fit", {}, like)


def _oscillation_bounds(tau: Array) -> tuple[Array, Array]:
    """Lowest and highest d and w (2,) that a window of times tau (n,) can tell."""
    lower = np.array([single_mode.D_MIN, single_mode.lowest_frequency(tau)])
    return lower, np.array([single_mode.D_MAX, single_mode.W_MAX])


def _fit_of(
    solution: ProjectionFit, tau: Array, y: Array, status: str, coefficients: dict[str, float], near: Fit | None
) -> Fit:
    """Fit of a solution, whatever its form; ``near`` as of `fit`."""
    return make_fit(
        NAME,
        complex(*solution.theta[single_mode.WAVE]),
        y,
        solution.curve,
        influence_matrix(solution)[single_mode.WAVE],
        jacobian=solution.jacobian,
        problem=single_mode.oscillation_problem(solution, tau, _oscillation_bounds(tau)),
        status=status,
        coefficients=coefficients,
        noise=covariance_of_fit(near),
    )
