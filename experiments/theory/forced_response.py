"""Forced response of a theory: the motion from rest under a known torque on the steer axis."""

import numpy as np
from numba import njit

from experiments.dynamics import Dynamics
from models.array_types import Array
from models.errors import InputError
from models.linear.zero_order_hold import zoh


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
    F, B = zoh(dynamics.matrix(v), dynamics.steer_torque(v)[:, np.newaxis], dt)
    return propagate_input(np.ascontiguousarray(F), np.ascontiguousarray(B[:, 0]), np.ascontiguousarray(torque, float))


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
