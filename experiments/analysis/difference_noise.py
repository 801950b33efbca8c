"""Covariance of an eigenvalue measured minus like for like: noise of the readings, and motion that noise drives.

To first order the measured fit differs from the simulated one by influence @ noise. The noise of the readings is what
is left of the measurement's residual without that of the simulation: neither what one mode cannot
describe nor what is wrong with the model counts, or a wrong model would excuse itself. Noise that
also moved the simulation's start is counted in full, which errs on the large side.
"""

import numpy as np
from scipy.fft import next_fast_len

from experiments.analysis.estimators.coloured_noise import coloured_covariance
from experiments.analysis.initial_state import InitialState
from experiments.datatypes import Dynamics
from experiments.theory.free_response import propagate
from models.array_types import Array

MODE_PARAMETERS = 5  # of one mode about a constant: d, w, c1, c2, c3


def difference_covariance(
    dynamics: Dynamics, v: float, dt: float, influence: Array, start: InitialState, unexplained: Array
) -> Array:
    """Covariance (2, 2) of measured minus like for like, real and imaginary part [1/s^2].

    Parameters
    ----------
    dynamics : Dynamics
    v : float
        Mean speed of the window [m/s].
    dt : float
        Sampling interval of the recording [s].
    influence : (2, n) array
        Change of the estimate per lean rate at each sample.
    start : InitialState
        Of the simulation, with what the readings do to it.
    unexplained : (n,) array
        Residual of the fit to the measurement, less that of the fit to the simulation [rad/s].
    """
    noise = unexplained - unexplained.mean()
    return coloured_covariance(influence, noise, MODE_PARAMETERS) + _driven_covariance(
        dynamics, v, dt, influence, start
    )


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
