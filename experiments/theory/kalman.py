"""The motion that a controller makes of its sensors' noise, taken out of a window by prediction from row to row.

Feedback turns the noise of gyro, encoder and accelerometer into torque, and torque into real motion in the band of the
weave itself. Beside the free motion of a window it looks like process noise: a residual of output error is then as
coloured as the motion, and the same noise stands in the readings and in the motion. Both are known: the loop, and the
size of the noise. A Kalman filter of the loop, with the noise in readings and motion correlated as it is, predicts
every row of such a residual from those before it; what it cannot predict, the innovations, is white, and least
squares on it is the maximum of the likelihood (Ljung 1999, *System Identification*, sections 4.3 and 7.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from experiments.datatypes import Array, Dynamics

EARLIER = 8  # doublings of a sample: noise of 2^8 samples before the window has moved the bicycle when it begins


@dataclass(frozen=True)
class Innovations:
    """A linear filter of c channels, (n, c), into innovations of variance 1.

    ``step`` (m, m) and ``rows`` (c, m) are the loop's over one row; ``gains`` (n, m, c) the filter's; ``roots``
    (n, c, c) undo the Cholesky factor of what is not predicted.
    """

    step: Array
    rows: Array
    gains: Array
    roots: Array

    def of(self, columns: Array) -> Array:
        """Innovations (n, c, k) of k signals, (n, c, k)."""
        left = np.empty_like(columns)
        state = np.zeros((len(self.step), columns.shape[2]))
        for row, seen, gain in zip(left, columns, self.gains, strict=True):
            row[:] = seen - self.rows @ state
            state = self.step @ state + gain @ row
        return self.roots @ left


def innovations(
    dynamics: Dynamics, rows: Mapping[str, Array], sizes: Mapping[str, float], v: float, dt: float, n: int
) -> Innovations | None:
    """The filter for n rows at a speed; None where the dynamics know of no noise.

    Parameters
    ----------
    dynamics : Dynamics
        Sampled; ``noise`` says how each noise moves it, ``reading`` how it shows at once in a channel.
    rows : mapping of str to (4,)
        How each channel shows the bicycle's state.
    sizes : mapping of str to float
        Standard deviations of noise that is in a channel and nowhere else.
    v, dt : float
        m/s, and s between rows, each the mean of the loop's samples within it.
    """
    if dynamics.noise is None or dynamics.dt is None:
        return None
    F, N = dynamics.matrix(v), dynamics.noise(v)
    m, e = N.shape
    C = np.array([np.pad(row, (0, m - len(row))) for row in rows.values()])
    D = np.array([dynamics.reading.get(name, np.zeros(e)) for name in rows])
    q = max(round(dt / dynamics.dt), 1)
    power, mean = np.eye(m), np.zeros_like(C)
    through = np.zeros((m, 0))  # what the noises so far have done to the state
    seen = np.zeros((len(C), 0))
    for _ in range(q):
        mean += C @ power / q
        seen = np.hstack([seen + C @ through / q, D / q])
        through = np.hstack([F @ through, N])
        power = F @ power
    Q, cross = through @ through.T, through @ seen.T
    R = seen @ seen.T + np.diag([sizes[name] ** 2 for name in rows])
    P = earlier(power, Q)
    gains, roots = np.empty((n, m, len(C))), np.empty((n, len(C), len(C)))
    for k in range(n):
        S = mean @ P @ mean.T + R
        gains[k] = np.linalg.solve(S, (power @ P @ mean.T + cross).T).T
        roots[k] = np.linalg.inv(np.linalg.cholesky(S))
        P = power @ P @ power.T + Q - gains[k] @ S @ gains[k].T
        P = 0.5 * (P + P.T)
    return Innovations(power, mean, gains, roots)


def earlier(F: Array, Q: Array) -> Array:
    """Covariance (m, m) of a state moved for 2^`EARLIER` steps by noise that adds Q in each; it began without."""
    P = Q
    for _ in range(EARLIER):
        P = P + F @ P @ F.T
        F = F @ F
    return P
