"""Heading, place and ground forces of the linear bicycle.

Lean and steer do not feel the heading ``psi`` (rad, positive to the right) or the place (``x_P``, ``y_P``) of
the rear contact P on the ground [m]; these follow from the wheels not slipping:

- rear wheel: x_P' = v, y_P' = v psi;
- front contact, at y_P + w psi - c cos(lam) delta, moving along the front wheel's own heading
  psi + cos(lam) delta: psi' = (v delta + c delta') cos(lam) / w.

The sideways forces that keep the wheels from slipping come from the balance of sideways momentum and of yaw
momentum about P, of the whole bicycle, with the quantities of Meijaard et al. (2007), appendix A.
"""

from math import cos, sin

import numpy as np
from numpy.typing import ArrayLike

from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT, STATES
from riderless.models.errors import InputError
from riderless.models.linear.whipple import system_matrix, totals
from riderless.models.parameters import Bicycle, require_bicycle

LATERAL_STATES = slice(4)  # the states of lean and steer
PSI, Y_P = 4, 5
GROUND_STATES = (*STATES, "psi", "y_P")


def heading_rate(bicycle: Bicycle, v: ArrayLike, x: ArrayLike) -> Array:
    """Heading rate psi' [rad/s], positive to the right, of states ``x`` (..., 4) at speed ``v`` [m/s].

    Raises
    ------
    InputError
        States of another length.
    """
    require_bicycle(bicycle)
    x = _four_states(x, "states")
    return (np.asarray(v) * x[..., DELTA] + bicycle.c * x[..., DELTA_DOT]) * cos(bicycle.lam) / bicycle.w


def front_wheel_place(bicycle: Bicycle, y_P: ArrayLike, psi: ArrayLike) -> Array:
    """Place of the front contact across the lane [m], a wheelbase ahead of the rear one at ``y_P`` along ``psi``."""
    return np.asarray(y_P, dtype=float) + bicycle.w * np.sin(psi)


def farthest_contact(bicycle: Bicycle, y_P: ArrayLike, psi: ArrayLike) -> Array:
    """Distance from the middle of the lane [m] of the wheel that is further from it, at each place and heading."""
    return np.maximum(np.abs(y_P), np.abs(front_wheel_place(bicycle, y_P, psi)))


def extended_matrix(bicycle: Bicycle, v: float) -> Array:
    """Matrix (6, 6) [1/s] of the free bicycle with its heading and sideways place, states `GROUND_STATES`.

    ``x_P`` is not a state: it is v t whatever else happens.
    """
    A = np.zeros((6, 6))
    A[LATERAL_STATES, LATERAL_STATES] = system_matrix(bicycle, v)
    A[PSI, LATERAL_STATES] = heading_rate(bicycle, v, np.eye(4))
    A[Y_P, PSI] = v
    return A


def lateral_forces(bicycle: Bicycle, v: ArrayLike, x: ArrayLike, x_dot: ArrayLike) -> tuple[Array, Array]:
    """Lateral forces (F_rear, F_front) [N] of the ground on the wheels, positive to the right.

    Parameters
    ----------
    bicycle : Bicycle
    v : float or array (...)
        Forward speed [m/s], steady.
    x, x_dot : array (..., 4)
        State (phi, delta, phi_dot, delta_dot) and its rate; torques act through the rate.

    Raises
    ------
    InputError
        States or rates of another length.
    """
    t, cos_lam = totals(bicycle), cos(bicycle.lam)
    v, x_dot = np.asarray(v, dtype=float), _four_states(x_dot, "rates of the states")
    phi_dot, delta_dot = x_dot[..., PHI], x_dot[..., DELTA]
    phi_ddot, delta_ddot = x_dot[..., PHI_DOT], x_dot[..., DELTA_DOT]
    psi_dot = heading_rate(bicycle, v, x)
    psi_ddot = (v * delta_dot + bicycle.c * delta_ddot) * cos_lam / bicycle.w

    momentum_rate = t.mT * (v * psi_dot + t.xT * psi_ddot - t.zT * phi_ddot) + t.mA * t.uA * delta_ddot
    yaw_momentum_rate = (
        t.mT * t.xT * v * psi_dot
        + t.ITzz * psi_ddot
        + t.ITxz * phi_ddot
        + t.IAlz * delta_ddot
        - v * (t.ST * phi_dot + t.SF * sin(bicycle.lam) * delta_dot)  # the wheels' spin, turned by leaning
    )
    F_front = yaw_momentum_rate / bicycle.w
    return momentum_rate - F_front, F_front


def _four_states(x: ArrayLike, what: str) -> Array:
    """Check that an array (..., 4) has all four states, or their rates."""
    states = np.asarray(x, dtype=float)
    if states.shape[-1:] != (len(STATES),):
        raise InputError(f"wanted {what} (..., 4): {', '.join(STATES)}; found the shape {states.shape}: give all four")
    return states
