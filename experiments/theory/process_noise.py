"""Process noise: motion under random torques.

They act on lean and steer, as those of wind, belt or road. Nobody measures such torques. They are taken for a
first-order Gauss-Markov process, the simplest that has a strength and a memory: each of the two torques is one more
state of the loop, which forgets itself and is driven by white noise.
"""

import numpy as np
from numba import njit
from scipy.linalg import expm

from riderless.experiments.datatypes import Dynamics, ProcessNoise
from riderless.experiments.theory.free_response import propagate_evenly
from riderless.experiments.theory.kalman import RowNoise
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from riderless.models.linear.zero_order_hold import zoh

TORQUES = 2  # on lean and steer


def torque_rows(dynamics: Dynamics, noise: ProcessNoise, v: float, dt: float) -> tuple[RowNoise, Array]:
    """Loop from row to row of a recording, lean rate and steer, under random torques held over each row.

    Parameters
    ----------
    dynamics : Dynamics
        With mechanics.
    noise : ProcessNoise
    v : float
        Speed [m/s].
    dt : float
        Time between rows [s].

    Returns
    -------
    rows : RowNoise
        Of m states and the two torques; its noise are the two innovations of these.
    before : (m + 2, 2)
        States that the torques' past leaves when a record begins, one standard deviation each. The motion that they
        drove before is free motion now, and part of the start.
    """
    F, B, step = torque_map(dynamics, v, dt)
    m = len(F)
    outputs = np.zeros((2, m + TORQUES))
    outputs[0, :m], outputs[1, dynamics.states.index("delta")] = dynamics.lean_rate_read(v), 1.0
    whole = np.block([[F, B], [np.zeros((TORQUES, m)), np.eye(TORQUES)]])
    samples = max(round(dt / step), 1)
    power, means = np.eye(m + TORQUES), np.zeros_like(outputs)
    for _ in range(samples):
        means += outputs @ power / samples
        power = whole @ power
    kept = np.exp(-dt / noise.time)
    power[m:, m:] *= kept
    before = np.zeros((m + TORQUES, TORQUES))
    before[m:] = noise.root
    return RowNoise(power, means, np.sqrt(1.0 - kept**2) * before, np.zeros((2, TORQUES))), before


def torque_map(dynamics: Dynamics, v: float, dt: float) -> tuple[Array, Array, float]:
    """Map (m, m) over one sample, what torques of 1 N m on lean and steer held over it add (m, 2), and its length [s].

    Parameters
    ----------
    dynamics : Dynamics
        With mechanics.
    v : float
        Speed [m/s].
    dt : float
        Length of a sample [s] of continuous dynamics; sampled ones have their own.
    """
    assert dynamics.mechanics is not None
    mass, damping, stiffness = dynamics.mechanics.matrices(v)
    moved = np.zeros((len(STATES), len(STATES) + TORQUES))  # A, and B of the two torques beside it
    moved[PHI : DELTA + 1, PHI_DOT : DELTA_DOT + 1] = np.eye(2)
    moved[PHI_DOT : DELTA_DOT + 1] = np.linalg.solve(mass, np.hstack([-stiffness, -damping, np.eye(TORQUES)]))
    step = dt if dynamics.dt is None else dynamics.dt
    held = zoh(moved[:, : len(STATES)], moved[:, len(STATES) :], step)[1]
    F = expm(dynamics.matrix(v) * step) if dynamics.dt is None else dynamics.matrix(v)
    return F, np.pad(held, ((0, len(F) - len(STATES)), (0, 0))), step


def impulse_responses(rows: RowNoise, before: Array, n: int) -> tuple[Array, Array]:
    """Readings (n, c, e) after each noise at row 0, and those (n, c, b) after each state (m, b) at the beginning."""
    e = rows.state_noise.shape[1]
    motion = rows.output @ propagate_evenly(rows.transition, np.hstack([rows.state_noise, before]), n)
    return np.concatenate([rows.reading_noise[None], motion[:-1, :, :e]]), motion[:, :, e:]


@njit(cache=True, nogil=True)
def costates(F: Array, influence: Array) -> Array:
    """Change (n + 1, p, m) of p estimates by the state at the beginning of each row, and at the end of the last.

    What a state does from one row on is what it does in that row, and what the state it becomes does later; so all
    come out of one pass back in time (costates of the adjoint system).

    Parameters
    ----------
    F : (m, m)
        Transition of the state over one row.
    influence : (n, p, m)
        Change of the estimates by the state through the reading of that row alone.
    """
    n, p, m = influence.shape
    later = np.zeros((n + 1, p, m))
    for i in range(n - 1, -1, -1):
        np.dot(later[i + 1], F, later[i])
        later[i] += influence[i]
    return later
