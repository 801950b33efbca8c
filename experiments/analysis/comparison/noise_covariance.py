"""Covariance of eigenvalues, measured minus like for like.

It has the noise of the readings, and the motion that noise drives.

To first order a noise (y, steer) of the readings moves the measured fit by ``influence @ y``, and the simulated one,
through its start, by ``influence @ unit_responses @ (lean_rate_influence @ y + steer_influence @ steer)``. The
difference of the two is what counts: a free motion of the model, whatever its start, cancels in it.

Where theory knows the loop and its sensors, all of their noise is followed through it: into the readings, into the
motion that the controller makes of it, and into the state that it had when the window began. Random torques of wind,
belt or road, whose strength the windows tell (`riderless.experiments.analysis.comparison.process_noise`), are followed
likewise. Noise that nobody stated shows in the residual: where that says more it has the word, and without a theory of
the noise it is the only witness. It is the measurement's residual without that of the simulation: neither what one mode
cannot describe nor what is wrong with the model counts, or a wrong model would excuse itself.
"""

import numpy as np

from riderless.experiments.analysis.estimators.coloured_noise import noise_covariance
from riderless.experiments.analysis.identification.initial_state import InitialState
from riderless.experiments.datatypes import Dynamics, ProcessNoise
from riderless.experiments.theory.kalman import RowNoise, row_noise, settled_root
from riderless.experiments.theory.nonlinear_response import noise_effects
from riderless.experiments.theory.process_noise import costates, torque_rows
from riderless.models.array_types import Array

LEAST_UPRIGHT = 0.9  # of the motions drawn; where more bicycles fall the linear loop has to do
MODE_PARAMETERS = 5  # of one mode about a constant: d, w, c1, c2, c3


def difference_covariance(
    dynamics: Dynamics,
    v: float,
    dt: float,
    influence: Array,
    start: InitialState,
    unexplained: Array,
    process_noise: ProcessNoise | None = None,
    drawn: Array | None = None,
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
    process_noise : ProcessNoise or None
        Random torques on the bicycle, where there are some.
    drawn : (2, c) array or None
        Differences by chance, see `drawn_differences`: they stand for the noise of the sensors where no linear loop
        does.
    """
    channels = difference_influence(influence, start)
    jacobian = np.column_stack([np.ones(len(unexplained)), influence.T])
    extra = max(MODE_PARAMETERS - jacobian.shape[1], 0)
    seen = noise_covariance(channels[0], unexplained - unexplained.mean(), jacobian, extra).covariance
    known = []
    if drawn is not None:
        known.append(np.cov(drawn))
    elif dynamics.noise is not None and dynamics.dt is not None:
        known.append(sensor_covariance(dynamics, v, dt, channels))
    if process_noise is not None and dynamics.mechanics is not None:
        known.append(driven_covariance(*torque_rows(dynamics, process_noise, v, dt), channels))
    return larger_covariance(sum(known, np.zeros((2, 2))), seen) if known else seen


def drawn_differences(dynamics: Dynamics, v: float, dt: float, influence: Array, start: InitialState) -> Array | None:
    """Differences (2, c) measured minus like for like of a machine with losses, by chance; None without its noise.

    To first order in what noise makes of the readings, which is not of first order in the noise: it dithers a dead
    band and friction, so that the mean of the differences is not zero.

    Parameters
    ----------
    dynamics, v, dt, influence
        As of `difference_covariance`.
    start : InitialState
        Of a motion that is not linear.
    """
    if start.machine is None or dynamics.noise is None or dynamics.dt is None:
        return None
    if influence.shape[1] != len(start.lean_rate):
        return None
    noisy = noise_effects(dynamics, start.machine, v, dt, start.x)
    lean_rate, steer = difference_influence(influence, start)
    differences = lean_rate @ noisy.phi_dot + steer @ noisy.delta
    upright = np.isfinite(differences).all(axis=0)
    return np.asarray(differences[:, upright]) if np.mean(upright) > LEAST_UPRIGHT else None


def larger_covariance(own: Array, other: Array) -> Array:
    """Covariance (p, p) that is ``own``, but in the directions in which the ``other`` is larger."""
    sizes, vectors = np.linalg.eigh(other - own)
    return np.asarray(own + (vectors * np.maximum(sizes, 0.0)) @ vectors.T)


def difference_influence(influence: Array, start: InitialState) -> tuple[Array, Array]:
    """Influence (2, n) of each lean rate, and of each steer angle, on measured minus like for like."""
    through_start = influence @ start.unit_responses
    lean_rate = influence - through_start @ start.lean_rate_influence
    if start.steer_influence is None:
        return lean_rate, np.zeros_like(lean_rate)
    return lean_rate, -through_start @ start.steer_influence


def loop_noise(dynamics: Dynamics, v: float, dt: float) -> RowNoise:
    """Gather the noise of a loop's sensors in lean rate and steer, as rows of a recording every ``dt`` s show it."""
    steer = np.eye(len(dynamics.states))[dynamics.states.index("delta")]
    return row_noise(dynamics, {"phi_dot": dynamics.lean_rate_read(v), "delta": steer}, v, dt)


def sensor_covariance(dynamics: Dynamics, v: float, dt: float, channels: tuple[Array, Array]) -> Array:
    """Covariance (2, 2) of a difference that is linear in lean rate and steer, from the noise of the loop's sensors.

    Parameters
    ----------
    dynamics : Dynamics
        With noise, sampled.
    v : float
        Mean speed of the window [m/s].
    dt : float
        Sampling interval of the recording [s].
    channels : two (2, n) arrays
        As `difference_influence` gives them.
    """
    loop = loop_noise(dynamics, v, dt)
    return driven_covariance(loop, settled_root(loop), channels)


def driven_covariance(loop: RowNoise, before: Array, channels: tuple[Array, Array]) -> Array:
    """Covariance (2, 2) of a difference that is linear in lean rate and steer, from the noise that drives a loop.

    Parameters
    ----------
    loop : RowNoise
    before : (m, b)
        States that earlier noise left when the window began, one standard deviation each.
    channels : two (2, n) arrays
        As `difference_influence` gives them.
    """
    influence = np.stack(channels, axis=-1).swapaxes(0, 1)  # (n, 2, c)
    later = costates(loop.transition, influence @ loop.output)
    within = (later[1:] @ loop.state_noise + influence @ loop.reading_noise).swapaxes(0, 1).reshape(2, -1)
    earlier = later[0] @ before
    return np.asarray(within @ within.T + earlier @ earlier.T)
