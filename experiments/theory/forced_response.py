"""Forced response of a theory: the motion from rest under a known torque on the steer axis."""

import numpy as np
from scipy.linalg import expm

from experiments.dynamics import Dynamics
from experiments.theory.free_response import propagate
from models.array_types import Array
from models.errors import InputError


def forced_response(dynamics: Dynamics, v: float, dt: float, torque: Array) -> Array:
    """Simulate the states (n, m) from rest under a torque (n,) [N m] on the steer axis, held from row to row.

    Parameters
    ----------
    dynamics : Dynamics
        Continuous.
    v : float
        Speed [m/s].
    dt : float
        Time from row to row [s].
    torque : (n,) array

    Raises
    ------
    InputError
        The dynamics know no torque on the steer axis.
    """
    if dynamics.torque is None or dynamics.dt is not None:
        raise InputError(f"the theory {dynamics.name} says nothing of a known torque on the steer axis")
    n = len(torque)
    F, b = held(dynamics.matrix(v), dynamics.torque(v), dt)
    still = np.zeros(n)
    kick = propagate(F[None], still.astype(int), still, b[:, None], np.zeros_like(F), still)[..., 0]
    size = 1 << (2 * n - 1).bit_length()  # a power of two, for speed
    states = np.fft.irfft(np.fft.rfft(kick, size, axis=0) * np.fft.rfft(torque, size)[:, None], size, axis=0)[:n]
    return np.vstack([np.zeros(F.shape[0]), states[:-1]])


def held(A: Array, b: Array, dt: float) -> tuple[Array, Array]:
    """Transition matrix (n, n) and input vector (n,) over ``dt`` [s] of x' = A x + b u with u held."""
    n = len(b)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = A, b
    both = expm(both * dt)
    return both[:n, :n], both[:n, n]
