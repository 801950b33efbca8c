"""Forced response of a theory: the motion from rest under a known torque on the steer axis."""

import numpy as np

from riderless.experiments.dynamics import Dynamics
from riderless.firmware_interface.kernels import njit
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.zero_order_hold import zoh


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


def commanded_response(dynamics: Dynamics, v: float, dt: float, played: Array, on_steer: Array) -> Array:
    """Simulate the states (n, m) of a sampled loop from rest under a torque played on top of its controller's.

    Parameters
    ----------
    dynamics : Dynamics
        Sampled; its drive makes what it makes of the torque played.
    v : float
        Speed [m/s].
    dt : float
        Time from row to row [s], a whole multiple of the loop's.
    played, on_steer : (n,) array
        Torque added to the command, and torque on the steer axis itself [N m], held from row to row.

    Raises
    ------
    InputError
        The dynamics know no torque added to the command.
    """
    if dynamics.command is None or dynamics.steer_torque is None or dynamics.dt is None:
        raise InputError(f"the theory {dynamics.name} says nothing of a torque played on top of its controller's")
    F, n = dynamics.matrix(v), max(round(dt / dynamics.dt), 1)
    held = sum((np.linalg.matrix_power(F, i) for i in range(n)), np.zeros_like(F))
    power = np.ascontiguousarray(np.linalg.matrix_power(F, n))
    states = np.zeros((len(played), len(F)))
    for vector, torque in ((dynamics.command(v), played), (dynamics.steer_torque(v), on_steer)):
        if torque.any():
            states += propagate_input(power, np.ascontiguousarray(held @ vector), np.ascontiguousarray(torque, float))
    return states


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
