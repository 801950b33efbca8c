"""Result of an estimator.

The same words, reasons for refusal and uncertainty for all of them.
"""

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import NoiseCovariance, lag_1, noise_covariance
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array

COLOURED_FROM = 0.2  # lag-1 autocorrelation of the residual from which the status tells it
MIN_CYCLES = 1.0  # EXPERIMENTS: a window shorter than one cycle is not identifiable
MAX_DAMPING = 2.0  # |d| / w beyond which the oscillation is gone within a quarter of a cycle
MIN_SIGNAL = 2.0  # rms of the fitted motion over rms of the residual


def make_fit(
    estimator: str,
    eigenvalue: complex,
    y: Array,
    curve: Array,
    influence: Array,
    jacobian: Array,
    problem: str,
    status: str,
    coefficients: dict[str, float],
    noise: NoiseCovariance | None = None,
) -> Fit:
    """Make a Fit, with the covariance from its coloured residual unless another one is given.

    Parameters
    ----------
    estimator : str
        Its name.
    eigenvalue : complex
        1/s.
    y : (n,)
        Measured signal.
    curve : (n,)
        Fitted signal.
    influence : (2, n)
        Derivative of (re, im) by each sample of y.
    jacobian : (n, m)
        Columns that span the part of the noise that the fit took for signal.
    problem : str
        Reason why it may not be compared; empty when it may.
    status : str
        Sentence for when there is no problem.
    coefficients : dict of str to float
        Other parameters of the fit.
    noise : NoiseCovariance, optional
        Covariance of (re, im) known from elsewhere.
    """
    residual = y - curve
    noise = noise or noise_covariance(influence, residual, jacobian)
    correlation = lag_1(residual)
    if correlation > COLOURED_FROM:
        status += f", coloured (lag-1 autocorrelation {correlation:.2f})"
    return Fit(
        estimator=estimator,
        re=float(eigenvalue.real),
        im=float(eigenvalue.imag),
        covariance=noise.covariance,
        r2=float(1.0 - residual @ residual / np.sum((y - y.mean()) ** 2)),
        rms=float(np.sqrt(np.mean(residual**2))),
        ok=not problem,
        status=problem or status,
        curve=curve,
        coefficients=coefficients | {"lag_1": correlation},
        influence=influence,
        dof=noise.dof,
    )


def covariance_of_fit(fit: Fit | None) -> NoiseCovariance | None:
    """Covariance of another fit, to stand for that of this one."""
    return None if fit is None else NoiseCovariance(fit.covariance, fit.dof)


def unusable_signal(t: Array, y: Array, min_rows: int) -> str:
    """Reason why nothing can be fitted to a signal at all; empty when it can."""
    if len(t) < min_rows:
        return f"too few rows: {len(t)}, wanted at least {min_rows}"
    if np.ptp(y) == 0.0:
        return "not identifiable: the signal never changes"
    return ""


def too_few_cycles(w: float, duration: float) -> str:
    """Refusal of an oscillation of w [rad/s] of which a window [s] holds less than a cycle; else empty."""
    cycles = w * duration / (2 * np.pi)
    if cycles < MIN_CYCLES:
        return f"not identifiable: the window of {duration:.2f} s holds {cycles:.2f} of a cycle, less than one"
    return ""


def over_damped(d: float, w: float) -> str:
    """Refusal of an oscillation of w [rad/s] that hardly swings before d [1/s] ends it; else empty."""
    if abs(d) > MAX_DAMPING * w:
        return f"not identifiable: nearly over-damped, {d:.3g} 1/s against {w:.3g} rad/s; try real_mode"
    return ""


def too_noisy(motion_rms: float, residual_rms: float, motion: str = "oscillation") -> str:
    """Refusal of a motion that hardly stands above the residual of its fit; else empty."""
    if motion_rms < MIN_SIGNAL * residual_rms:
        return f"too noisy: the {motion}'s rms is under {MIN_SIGNAL:g} times the residual's"
    return ""


def root_mean_square(values: Array) -> float:
    """Root mean square of a signal."""
    return float(np.sqrt(np.mean(values**2)))
