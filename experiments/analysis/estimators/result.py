"""From what an estimator found to a Fit: the same words and the same uncertainty for all of them."""

import numpy as np

from experiments.analysis.estimators.coloured_noise import Noise, lag_1, noise_of
from experiments.datatypes import Array, Fit

COLOURED = 0.2  # lag-1 autocorrelation from which the status tells it


def answered(
    estimator: str,
    value: complex,
    y: Array,
    curve: Array,
    answer: Array,
    taken: Array,
    problem: str,
    status: str,
    coefficients: dict[str, float],
    noise: Noise | None = None,
) -> Fit:
    """A Fit with the covariance of its coloured residual, or another one that is given.

    Parameters
    ----------
    value : eigenvalue, 1/s.
    y, curve : (n,) signal and what was fitted to it.
    answer : (2, n) how (re, im) answer each sample of y.
    taken : (n, m) columns that span what the fit took of the noise: its Jacobian.
    problem : why it may not be compared; empty when it may.
    status : what to say when there is no problem.
    """
    residual = y - curve
    noise = noise or noise_of(answer, residual, taken)
    neighbours = lag_1(residual)
    if neighbours > COLOURED:
        status += f", coloured (lag-1 autocorrelation {neighbours:.2f})"
    return Fit(
        estimator=estimator,
        re=float(value.real),
        im=float(value.imag),
        covariance=noise.covariance,
        r2=float(1.0 - residual @ residual / np.sum((y - y.mean()) ** 2)),
        rms=float(np.sqrt(np.mean(residual**2))),
        ok=not problem,
        status=problem or status,
        curve=curve,
        coefficients=coefficients | {"lag_1": neighbours},
        sensitivity=answer,
        dof=noise.dof,
    )


def of_fit(fit: Fit | None) -> Noise | None:
    """What noise made of another fit, to stand for that of this one."""
    return None if fit is None else Noise(fit.covariance, fit.dof)


def refused(status: str, estimator: str) -> Fit:
    """A fit that could not even be tried."""
    nan = float("nan")
    return Fit(estimator, nan, nan, np.full((2, 2), nan), nan, nan, False, status, dof=nan)


def unusable(t: Array, y: Array, least: int) -> str:
    """Why nothing can be fitted to a signal at all; empty when it can."""
    if len(t) < least:
        return f"too few rows: {len(t)}, wanted at least {least}"
    if np.ptp(y) == 0.0:
        return "not identifiable: the signal never changes"
    return ""
