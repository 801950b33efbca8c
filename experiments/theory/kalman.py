"""Kalman filter with white innovations.

It predicts the motion that a controller makes of its sensors' noise. Feedback turns the noise of gyro, encoder and
accelerometer into torque, and torque into real motion in the band of the weave itself. Beside the free motion of a
window it looks like process noise: a residual of output error is then as coloured as the motion, and the same noise
stands in the readings and in the motion. Both are known: the loop, and the size of the noise. A Kalman filter of the
loop, with the noise in readings and motion correlated as it is, predicts every row of such a residual from those before
it; what it cannot predict, the innovations, is white, and least squares on it is the maximum of the likelihood (Ljung
1999, *System Identification*, sections 4.3 and 7.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riderless.experiments.datatypes import Dynamics
from riderless.models.array_types import Array

SETTLING_DOUBLINGS = (
    8  # doublings of a sample: noise of 2^8 samples before the window has moved the bicycle when it begins
)


@dataclass(frozen=True)
class InnovationFilter:
    """Kalman filter of the readings of c channels, (n, c), that leaves innovations of variance 1.

    Attributes
    ----------
    transition : (m, m)
        Of the loop's state over one row.
    output : (c, m)
        Readings of a state.
    gains : (n, m, c)
        Kalman gains.
    whitening : (n, c, c)
        Inverses of the Cholesky factors of the innovations' covariances.
    """

    transition: Array
    output: Array
    gains: Array
    whitening: Array

    def innovations(self, columns: Array) -> Array:
        """Innovations (n, c, k) of k signals, (n, c, k)."""
        innovations = np.empty_like(columns)
        state = np.zeros((len(self.transition), columns.shape[2]))
        for innovation, reading, gain in zip(innovations, columns, self.gains, strict=True):
            innovation[:] = reading - self.output @ state
            state = self.transition @ state + gain @ innovation
        return self.whitening @ innovations


def innovation_filter(
    dynamics: Dynamics, rows: Mapping[str, Array], sizes: Mapping[str, float], v: float, dt: float, n: int
) -> InnovationFilter | None:
    """Design the filter for n rows at one speed; None where the dynamics know of no noise.

    Parameters
    ----------
    dynamics : Dynamics
        Sampled; ``noise`` says how each noise moves it, ``reading`` how it shows at once in a channel.
    rows : mapping of str to (4,)
        Reading of the bicycle's state in each channel.
    sizes : mapping of str to float
        Standard deviations of noise that is in a channel and nowhere else.
    v : float
        Speed [m/s].
    dt : float
        Time between rows [s], each the mean of the loop's samples within it.
    n : int
        Number of rows.
    """
    if dynamics.noise is None or dynamics.dt is None:
        return None
    power, mean_output, state_noise, reading_noise = row_noise(dynamics, rows, v, dt)
    m = len(power)
    Q, cross = state_noise @ state_noise.T, state_noise @ reading_noise.T
    R = reading_noise @ reading_noise.T + np.diag([sizes[name] ** 2 for name in rows])
    P = settled_covariance(power, Q)
    c = len(mean_output)
    gains, whitening = np.empty((n, m, c)), np.empty((n, c, c))
    for k in range(n):
        S = mean_output @ P @ mean_output.T + R
        gains[k] = np.linalg.solve(S, (power @ P @ mean_output.T + cross).T).T
        whitening[k] = np.linalg.inv(np.linalg.cholesky(S))
        P = power @ P @ power.T + Q - gains[k] @ S @ gains[k].T
        P = 0.5 * (P + P.T)
    return InnovationFilter(power, mean_output, gains, whitening)


class RowNoise(NamedTuple):
    """Loop from row to row of a recording, each the mean of some samples, and what the sensors' noise does to it.

    Attributes
    ----------
    transition : (m, m)
        Of the state over one row.
    output : (c, m)
        Mean reading of a row by the state at its beginning.
    state_noise : (m, e)
        State at the next row by each noise within a row, 1 std each.
    reading_noise : (c, e)
        Mean reading of that very row.
    """

    transition: Array
    output: Array
    state_noise: Array
    reading_noise: Array


def row_noise(dynamics: Dynamics, rows: Mapping[str, Array], v: float, dt: float) -> RowNoise:
    """Gather what theory knows of its sensors' noise over the rows of a recording.

    Parameters
    ----------
    dynamics : Dynamics
        Sampled, with noise.
    rows : mapping of str to (k,)
        Reading of the first k states in each of c channels.
    v : float
        Speed [m/s].
    dt : float
        Time between rows [s].
    """
    assert dynamics.noise is not None
    assert dynamics.dt is not None
    F, N = dynamics.matrix(v), dynamics.noise(v)
    m, e = N.shape
    C = np.array([np.pad(row, (0, m - len(row))) for row in rows.values()])
    D = np.array([dynamics.reading.get(name, np.zeros(e)) for name in rows])
    q = max(round(dt / dynamics.dt), 1)  # samples of the loop in a row
    power, mean_output = np.eye(m), np.zeros_like(C)
    state_noise = np.zeros((m, 0))  # effect of each noise within the row so far on the state
    reading_noise = np.zeros((len(C), 0))  # and on the mean reading of the row
    for _ in range(q):
        mean_output += C @ power / q
        reading_noise = np.hstack([reading_noise + C @ state_noise / q, D / q])
        state_noise = np.hstack([F @ state_noise, N])
        power = F @ power
    return RowNoise(power, mean_output, state_noise, reading_noise)


def settled_root(loop: RowNoise) -> Array:
    """Root (m, m) of the covariance of the states that earlier noise leaves, one standard deviation a column."""
    sizes, vectors = np.linalg.eigh(settled_covariance(loop.transition, loop.state_noise @ loop.state_noise.T))
    return np.asarray(vectors * np.sqrt(np.maximum(sizes, 0.0)))


def settled_covariance(F: Array, Q: Array) -> Array:
    """Covariance (m, m) of a state that began at zero, after 2^`SETTLING_DOUBLINGS` steps with process noise Q."""
    P = Q
    for _ in range(SETTLING_DOUBLINGS):
        P = P + F @ P @ F.T
        F = F @ F
    return P
