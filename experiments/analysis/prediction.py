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

from dataclasses import dataclass

import numpy as np
from scipy.fft import next_fast_len

from experiments.analysis.estimators import estimate
from experiments.analysis.estimators.coloured_noise import coloured_covariance
from experiments.datatypes import Dynamics, Fit, Prediction, Response, Window
from experiments.theory.free_response import N_BICYCLE_STARTS, free_response, propagate
from experiments.theory.modes import MIN_TURN, SMALL_SHARE, dominant_mode
from experiments.theory.theory import dynamics_for
from models.array_types import Array

MIN_RELATIVE_NOISE = 1e-9  # of a signal: less noise than that is taken for that much
PRIOR_SCALE = 10.0  # s: a start beyond this many times the signal's own size is not believed
MODE_PARAMETERS = 5  # of one mode about a constant: d, w, c1, c2, c3


@dataclass(frozen=True)
class InitialState:
    """Least-squares estimate of the state at the start of a window, and the free response that follows."""

    x: Array  # (4 + k,) phi, delta, phi_dot, delta_dot, in the unit of the signal (times s); hidden starts
    unit_responses: Array  # (n, 4 + k) lean rate from each unit start, less its mean
    lean_rate_influence: Array  # (4 + k, n) d x / d lean rate at each sample
    steer_influence: Array | None  # (4 + k, n) d x / d steer angle, where it was used

    @property
    def lean_rate(self) -> Array:
        """Simulated lean rate (n,), less its mean: the measurement's offset is not the model's business."""
        return self.unit_responses @ self.x


def estimate_initial_state(response: Response, window: Window, dynamics: Dynamics) -> InitialState:
    """Estimate the initial state from which the dynamics come closest to what was measured in a window.

    Linear least squares on the lean rate, and on the steer angle where it was measured in rad, each
    weighted by its own residual; constant offsets are left free. A weak prior (zero; `PRIOR_SCALE` times
    the signal, for hidden starts their standard deviation) keeps apart what the window cannot tell
    apart, such as the slow capsize mode from an offset.
    """
    rows = window.rows
    v = np.linspace(window.v_start, window.v_end, window.stop - window.start)
    misread = None if response.v_read is None else response.v_read[rows] - v
    states = free_response(dynamics, v, response.dt, misread)
    channels = [(np.einsum("m,nmj->nj", dynamics.output, states), response.phi_dot[rows])]
    if response.delta is not None and response.phi_dot_unit == "rad/s" and "delta" in dynamics.states:
        channels.append((states[:, dynamics.states.index("delta")], response.delta[rows]))
    # Subtracting the means is the same as fitting a constant to each channel.
    channels = [(G - G.mean(axis=0), y - y.mean()) for G, y in channels]

    sizes = [max(float(np.std(y)), np.finfo(float).tiny) for _, y in channels]
    hidden = states.shape[-1] - N_BICYCLE_STARTS
    prior = np.diag([(PRIOR_SCALE * sizes[0]) ** -2] * N_BICYCLE_STARTS + [1.0] * hidden)
    stds = sizes
    for _ in range(3):  # the weights settle at once
        weighed = [(G / std, y / std) for (G, y), std in zip(channels, stds, strict=True)]
        precision = prior + sum(G.T @ G for G, _ in weighed)
        x = np.linalg.solve(precision, sum(G.T @ y for G, y in weighed))
        stds = [
            max(float(np.std(y - G @ x)), MIN_RELATIVE_NOISE * size)
            for (G, y), size in zip(channels, sizes, strict=True)
        ]
    influences = [np.linalg.solve(precision, G.T) / std**2 for (G, _), std in zip(channels, stds, strict=True)]
    return InitialState(x, channels[0][0], influences[0], influences[1] if len(influences) > 1 else None)


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
    like, difference_std, status = _like_for_like(response, window, fit, dynamics, start)

    duration = window.duration
    mode = dominant_mode(dynamics, window.v_mean, start.x, duration) if fit.im > 0 else None
    mode = mode or dominant_mode(dynamics, window.v_mean, start.x, duration, oscillatory=False)
    if mode is None:  # every pole was left out
        return Prediction("none", complex(np.nan, np.nan), like, difference_std, "The model has no mode here.")
    oscillates = mode.eigenvalue.imag > 0
    if fit.im > 0 and not oscillates:
        status = f"The model is over-damped at {window.v_mean:.2f} m/s: it has no oscillatory mode. {status}"
    elif mode.share < SMALL_SHARE:
        status = f"The predicted mode carries only {mode.share:.0%} of the lean rate. {status}"
    return Prediction("weave" if oscillates else "real", mode.eigenvalue, like, difference_std, status.strip())


def _like_for_like(
    response: Response, window: Window, fit: Fit, dynamics: Dynamics, start: InitialState
) -> tuple[complex, tuple[float, float], str]:
    """Apply the estimator to the explained lean rate; with the standard deviation of measured minus that, and status.

    To first order the measured fit differs from the simulated one by influence @ noise. The noise is what
    is left of the measurement's residual without that of the simulation: neither what one mode cannot
    describe nor what is wrong with the model counts, or a wrong model would excuse itself. Noise that
    also moved the simulation's start is counted in full, which errs on the large side.
    """
    if fit.influence.size == 0:  # the model is part of the fit: fitted to its own motion it finds its own eigenvalue
        mode = dominant_mode(dynamics, window.v_mean, start.x, window.duration, fit.im > 0, MIN_TURN)
        return (mode.eigenvalue if mode else complex(np.nan, np.nan)), (fit.re_std, fit.im_std), ""
    t, y = response.t[window.rows], response.phi_dot[window.rows]
    simulated = estimate(t, start.lean_rate, fit.estimator)
    like = complex(simulated.re, simulated.im)
    status = "" if simulated.ok else f"The fit to the simulation: {simulated.status}."
    if not (len(simulated.curve) == len(fit.curve) == len(y) == fit.influence.shape[1]):
        return like, (float("nan"), float("nan")), status
    noise = (y - fit.curve) - (start.lean_rate - simulated.curve)
    noise -= noise.mean()
    covariance = coloured_covariance(fit.influence, noise, MODE_PARAMETERS)
    covariance += _driven_covariance(dynamics, window.v_mean, response.dt, fit.influence, start)
    re_std, im_std = np.sqrt(np.diag(covariance))
    return like, (float(re_std), float(im_std)), status


def _driven_covariance(dynamics: Dynamics, v: float, dt: float, influence: Array, start: InitialState) -> Array:
    """Covariance (2, 2) of measured minus like from the motion that a controller makes of its sensors' noise.

    Feedback turns noise into real motion, in the band of the weave itself, so that no residual shows it.
    To first order the difference is influence @ (m - unit_responses @ (influences of the start) @ m) for a motion m.
    """
    n = influence.shape[1]
    if dynamics.noise is None or dynamics.dt is None:
        return np.zeros((2, 2))
    F, X = dynamics.matrix(v), dynamics.noise(v)
    within = [X]  # noise of each of the loop's samples within one of the recording's
    for _ in range(round(dt / dynamics.dt) - 1):
        within.append(F @ within[-1])
    F, X = np.linalg.matrix_power(F, len(within)), np.hstack(within)
    rows = np.array([dynamics.output, np.eye(len(dynamics.states))[dynamics.states.index("delta")]])
    impulses = np.zeros((n, 2, X.shape[1]))  # of lean rate and steer, after a noise at sample 0
    impulses[1:] = rows @ propagate(
        F[None], np.zeros(n - 1, int), np.zeros(n - 1), X, np.zeros_like(F), np.zeros(n - 1)
    )
    through_start = influence @ start.unit_responses
    channels = [influence - through_start @ start.lean_rate_influence]
    if start.steer_influence is not None:
        channels.append(-through_start @ start.steer_influence)
    difference = sum(_driven(channel, impulses[:, i]) for i, channel in enumerate(channels))
    return np.asarray(np.einsum("pcn,qcn->pq", difference, difference))


def _driven(influence: Array, impulses: Array) -> Array:
    """Change (p, c, n) of p estimates by impulse responses (n, c) that begin at each sample j: sum a_i h_(i - j)."""
    n = len(impulses)
    size = next_fast_len(2 * n, real=True)
    spectrum = np.fft.rfft(influence, size)[:, None] * np.fft.rfft(impulses.T, size).conj()
    return np.asarray(np.fft.irfft(spectrum, size)[..., :n])
