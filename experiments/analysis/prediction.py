"""Predictions of what a fit should find in a window: the frozen eigenvalue, and the same fit on a simulation.

The *frozen* prediction is an eigenvalue at the window's mean speed, as in Kooijman, Schwab and
Meijaard (2008), figure 7. While the bicycle slows down no such eigenvalue exists, and fitting one
damped sinusoid to a motion of several modes has a bias of its own. The *like-for-like* prediction
therefore sends the model through the measurement: the linear motion that best explains the window,
at the measured speed, is simulated without noise and given to the same estimator. What estimator
and deceleration do to the one, they do to the other.

Only the speed enters the simulation, as the straight line fitted over the window, and where it is logged the speed
that the controller went by, which is late and noisy; terms of the
equations of motion that are proportional to the acceleration itself are left out, as in the
literature.
"""

import numpy as np

from experiments.analysis.difference_noise import difference_covariance
from experiments.analysis.estimators import estimate_alike
from experiments.analysis.initial_state import InitialState, estimate_initial_state
from experiments.datatypes import Dynamics, Fit, Prediction, Response, Window
from experiments.theory.modes import MIN_TURN, SMALL_SHARE, dominant_mode
from experiments.theory.theory import dynamics_for
from models.array_types import Array


def predict(response: Response, window: Window, fit: Fit) -> Prediction:
    """Predict what the estimator of ``fit`` should have found in a window.

    The frozen mode is the oscillation that has the most energy in the explained lean rate; for a fit
    without oscillation (``im = 0``), or where the model has none, whichever mode has the most. The
    oscillation is called weave: it is what the controller made of the weave mode.

    Raises
    ------
    InputError
        If no bicycle is known, or the recording's sampling does not fit its dynamics.
    """
    dynamics = dynamics_for(response)
    start = estimate_initial_state(response, window, dynamics)
    like, covariance, status = _like_for_like(response, window, fit, dynamics, start)
    difference_std, correlation = _deviations(covariance)

    duration = window.duration
    mode = dominant_mode(dynamics, window.v_mean, start.x, duration) if fit.im > 0 else None
    mode = mode or dominant_mode(dynamics, window.v_mean, start.x, duration, oscillatory=False)
    if mode is None:  # every pole was left out
        return Prediction(
            "none", complex(np.nan, np.nan), like, difference_std, "The model has no mode here.", correlation
        )
    oscillates = mode.eigenvalue.imag > 0
    if fit.im > 0 and not oscillates:
        status = f"The model is over-damped at {window.v_mean:.2f} m/s: it has no oscillatory mode. {status}"
    elif mode.share < SMALL_SHARE:
        status = f"The predicted mode carries only {mode.share:.0%} of the lean rate. {status}"
    return Prediction(
        "weave" if oscillates else "real", mode.eigenvalue, like, difference_std, status.strip(), correlation
    )


def _deviations(covariance: Array) -> tuple[tuple[float, float], float]:
    """Standard deviations of both parts of a covariance (2, 2), and their correlation, 0 where one is certain."""
    re, im = (float(std) for std in np.sqrt(np.diag(covariance)))
    return (re, im), float(covariance[0, 1] / (re * im)) if re * im > 0.0 else 0.0


def _like_for_like(
    response: Response, window: Window, fit: Fit, dynamics: Dynamics, start: InitialState
) -> tuple[complex, Array, str]:
    """Apply the estimator to the explained lean rate; also the covariance of measured minus that, and a status."""
    if fit.influence.size == 0:  # the model is part of the fit: fitted to its own motion it finds its own eigenvalue
        mode = dominant_mode(dynamics, window.v_mean, start.x, window.duration, fit.im > 0, MIN_TURN)
        return (mode.eigenvalue if mode else complex(np.nan, np.nan)), fit.covariance, ""
    t, y = response.t[window.rows], response.phi_dot[window.rows]
    simulated = estimate_alike(t, start.lean_rate, fit)
    like = complex(simulated.re, simulated.im)
    status = "" if simulated.ok else f"The fit to the simulation: {simulated.status}."
    if not (len(simulated.curve) == len(fit.curve) == len(y) == fit.influence.shape[1]):
        return like, np.full((2, 2), np.nan), status
    unexplained = (y - fit.curve) - (start.lean_rate - simulated.curve)
    covariance = difference_covariance(dynamics, window.v_mean, response.dt, fit.influence, start, unexplained)
    return like, covariance, status
