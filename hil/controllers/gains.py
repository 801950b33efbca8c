"""Law of gains over speed.

T = -K(v) [phi, delta, phi_dot, delta_dot, T, u_prev], without a state of its own.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.hil.loop.law import Law, law_entry
from riderless.models.array_types import Array


@njit(cache=True, nogil=True)
def rows_around(settings, first, columns, last, v):
    """Find the beginnings of the two rows of a table over speed, and the share of the later one. Runs inside the tick.

    Parameters
    ----------
    settings : (n,) array
        In which the rows of the table lie one after the other, each beginning with its speed [m/s].
    first, columns, last : int
        Beginning of the first row, length of each, beginning of the last one.
    v : float
        Speed [m/s]; beyond the ends of the table both rows are its first or its last.

    Returns
    -------
    int, int, float
    """
    j = first
    while j < last and settings[j] < v:
        j += columns
    i = j - columns if j > first else j
    part = (v - settings[i]) / (settings[j] - settings[i]) if j > i and v < settings[j] else 1.0
    return i, j, part


@njit(cache=True, nogil=True)
def torque_of_gains(settings, v, signals):
    """Torque of gains over speed, linear between speeds, beyond the ends as at the ends. Runs inside the tick.

    Parameters
    ----------
    settings : ((m + 1) n,) array
        One row for each speed: speed [m/s] and m gains.
    v : float
        Speed [m/s].
    signals : tuple of m float
        What the gains multiply.
    """
    columns = len(signals) + 1
    i, j, part = rows_around(settings, 0, columns, settings.size - columns, v)
    T = 0.0
    for n, z in enumerate(signals):
        low, high = settings[i + 1 + n], settings[j + 1 + n]
        T -= (low + part * (high - low)) * z
    return T


@njit(cache=True, nogil=True)
def gains_step(settings, state, e, reference, out):
    """Wish the torque of the gains at this speed. Runs inside the tick.

    Parameters
    ----------
    settings : (7 n,) array
        One row for each speed: speed [m/s], gains on phi, delta, phi_dot, delta_dot, T, u_prev.
    state : (0,) array
    e, reference, out : records of LOOP_SIGNALS, LOOP_REFERENCE and WISH
    """
    out.T_req = torque_of_gains(settings, e.v, (e.phi, e.delta, e.phi_dot, e.delta_dot, e.T, e.u_prev))


def gains_law(v: Array, K: Array) -> Law:
    """Law of gains K (n, 6) at speeds v (n,) [m/s]; gains that are all zero suit every speed."""
    slowest, fastest = (float(v[0]), float(v[-1])) if np.any(K) else (-np.inf, np.inf)
    return Law(law_entry(gains_step), gains_table(v, K), 0, slowest, fastest)


def gains_table(v: Array, K: Array) -> Array:
    """Lay gains K (n, m) at speeds v (n,) [m/s] out as `torque_of_gains` reads them ((m + 1) n,)."""
    return np.column_stack([np.asarray(v, float), np.asarray(K, float)]).ravel()
