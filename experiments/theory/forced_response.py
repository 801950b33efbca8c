"""Forced response of a theory: the motion from rest under a known torque on the steer axis."""

import numpy as np
from numba import njit
from scipy.linalg import expm

from experiments.dynamics import Dynamics
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
    if dynamics.steer_torque is None or dynamics.dt is not None:
        raise InputError(f"the theory {dynamics.name} says nothing of a known torque on the steer axis")
    F, b = held(dynamics.matrix(v), dynamics.steer_torque(v), dt)
    return propagate_input(F, b, np.ascontiguousarray(torque, float))


@njit(cache=True, nogil=True)
def propagate_input(F: Array, b: Array, u: Array) -> Array:
    """States (n, m) of x[i + 1] = F x[i] + b u[i] from rest, for the input u (n,)."""
    m = len(b)
    states = np.zeros((len(u), m))
    for i in range(len(u) - 1):
        for a in range(m):
            states[i + 1, a] = b[a] * u[i]
            for c in range(m):
                states[i + 1, a] += F[a, c] * states[i, c]
    return states


def held(A: Array, b: Array, dt: float) -> tuple[Array, Array]:
    """Transition matrix (n, n) and input vector (n,) over ``dt`` [s] of x' = A x + b u with u held."""
    n = len(b)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = A, b
    both = expm(both * dt)
    return both[:n, :n], both[:n, n]
