"""Estimators of a mode from free responses.

An estimator is one file and one line below.
"""

from collections.abc import Callable

import numpy as np

from riderless.experiments.analysis.estimators import era, log_decrement, real_mode, several_modes, single_mode
from riderless.experiments.datatypes import Fit
from riderless.firmware_interface.devices.outside import offered
from riderless.models.array_types import Array, is_even
from riderless.models.errors import InputError

ESTIMATORS: dict[str, Callable[[Array, Array, Fit | None], Fit]] = {
    single_mode.NAME: single_mode.fit,
    several_modes.NAME: several_modes.fit,
    real_mode.NAME: real_mode.fit,
    log_decrement.NAME: log_decrement.fit,
    era.NAME: era.fit,
}

ESTIMATOR_GROUP = "riderless.estimators"  # of entry points: functions of (t, y, near) that return a Fit

# how an estimator that chooses its form fits another motion in the form that it chose for the first
ALIKE: dict[str, Callable[[Array, Array, Fit], Fit]] = {
    several_modes.NAME: several_modes.fit_same_form,
    era.NAME: era.fit_same_order,
}

# how an estimator finds its eigenvalue near another fit, without an error, a status and an influence of its own
NEAR: dict[str, Callable[[Array, Array, Fit], complex]] = {single_mode.NAME: single_mode.eigenvalue_near}


def estimate(t: Array, y: Array, name: str = single_mode.NAME, near: Fit | None = None) -> Fit:
    """Fit one mode to a lean rate by a named estimator.

    Parameters
    ----------
    t : (n,)
        Times [s], evenly spaced, increasing.
    y : (n,)
        Lean rate, in any unit.
    name : str
        One of `ESTIMATORS`, or of an installed package that offers one of that name in `ESTIMATOR_GROUP`.
    near : Fit, optional
        Fit of nearly the same motion, as of a longer part of it; spares the search and the study of the noise.

    Raises
    ------
    InputError
        No such estimator, lengths that differ, values that are not finite, or times that are not even.
    """
    fit = ESTIMATORS.get(name) or offered(ESTIMATOR_GROUP, name)
    if fit is None:
        raise InputError(f"wanted an estimator among {', '.join(ESTIMATORS)}, found '{name}'; choose one of them")
    fitted: Fit = fit(*_checked(t, y), near)
    return fitted


def _checked(t: Array, y: Array) -> tuple[Array, Array]:
    """Times and values as numbers, as many of each; raises InputError."""
    t, y = np.asarray(t, float), np.asarray(y, float)
    if t.shape != y.shape or t.ndim != 1 or not (np.isfinite(t).all() and np.isfinite(y).all()):
        raise InputError(
            f"wanted as many finite times as values, found shapes {t.shape} and {y.shape} with "
            f"{np.sum(~np.isfinite(t)) + np.sum(~np.isfinite(y))} not finite; cut the window elsewhere"
        )
    if not is_even(t):
        raise InputError(
            f"wanted two times or more that increase by the same step, found {len(t)} of another kind; interpolate the "
            "motion onto even times"
        )
    return t, y


def estimate_alike(t: Array, y: Array, like: Fit, quick: bool = False) -> Fit:
    """Fit another motion as a fit was made: by the same estimator, in the very form that it chose there.

    A form chosen anew, for a motion without noise, would be another one: then the two would differ by the form.

    Parameters
    ----------
    t, y : (n,)
        As of `estimate`.
    like : Fit
    quick : bool
        The motion is nearly the same: search near the fit, and take its covariance.
    """
    if like.estimator in ALIKE:
        return ALIKE[like.estimator](t, y, like)
    return estimate(t, y, like.estimator, like if quick else None)


def eigenvalue_alike(t: Array, y: Array, like: Fit) -> complex:
    """Eigenvalue [1/s] that `estimate_alike` finds when it is quick, for a search that asks for many of them.

    Parameters
    ----------
    t, y : (n,)
        As of `estimate`.
    like : Fit
        Of nearly the same motion.
    """
    if like.estimator in NEAR:
        return NEAR[like.estimator](*_checked(t, y), like)
    return estimate_alike(t, y, like, quick=True).eigenvalue
