"""Law of gains over speed with heading and place: T = -K(v) [phi, delta, phi_dot, delta_dot, T, u_prev, psi, y_P]."""

import numpy as np

from firmware_interface.kernels import njit
from hil.loop.law import Law, law_entry
from models.array_types import Array

_COLUMNS = 9  # of a row of its settings: speed [m/s] and eight gains


@njit(cache=True, nogil=True)
def lane_step(settings, state, e, reference, out):
    """Wish the torque of the gains, linear between speeds, beyond the ends as at the ends. Runs inside the tick.

    Parameters
    ----------
    settings : (9 n,) array
        One row for each speed: speed [m/s], gains on phi, delta, phi_dot, delta_dot, T, u_prev, psi, y_P.
    state : (0,) array
    e, reference, out : records of LOOP_SIGNALS, LOOP_REFERENCE and WISH
    """
    last, j = settings.size - _COLUMNS, 0  # beginnings of rows
    while j < last and settings[j] < e.v:
        j += _COLUMNS
    i = j - _COLUMNS if j > 0 else 0
    part = (e.v - settings[i]) / (settings[j] - settings[i]) if j > i and e.v < settings[j] else 1.0
    T = 0.0
    for n, z in enumerate((e.phi, e.delta, e.phi_dot, e.delta_dot, e.T, e.u_prev, e.psi, e.y_P)):
        low, high = settings[i + 1 + n], settings[j + 1 + n]
        T -= (low + part * (high - low)) * z
    out.T_req = T


def lane_law(v: Array, K: Array) -> Law:
    """Law of gains K (n, 8) at speeds v (n,) [m/s]."""
    settings = np.column_stack([np.asarray(v, float), np.asarray(K, float)]).ravel()
    return Law(law_entry(lane_step), settings, 0, float(v[0]), float(v[-1]))
