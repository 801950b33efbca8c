"""Fixed steps in time: the exact zero-order hold, and the stages of a fourth-order Runge-Kutta step."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import expm

from models.errors import InputError


def zoh(A: ArrayLike, B: ArrayLike, dt: float) -> tuple[NDArray, NDArray]:
    """Exact discrete form of x' = A x + B u with u held over each period.

    Both matrices come from one exponential, expm([[A, B], [0, 0]] dt) (Van Loan 1978), so a
    singular A needs no special case.

    Parameters
    ----------
    A : (n, n) array, 1/s in the units of the state
    B : (n, m) array
    dt : float
        Period, s.

    Returns
    -------
    Ad : (n, n) array
    Bd : (n, m) array
        x[k+1] = Ad x[k] + Bd u[k].

    Raises
    ------
    InputError
        A period that is not a positive number, or matrices that do not fit together.
    """
    A, B = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
    if not 0.0 < dt < np.inf:
        raise InputError(f"the period must be a positive number of seconds, found {dt} s; give 1/rate")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or B.ndim != 2 or B.shape[0] != A.shape[0]:
        raise InputError(f"wanted A (n, n) and B (n, m), found {A.shape} and {B.shape}; check the model")
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A, B
    both = expm(block * dt)
    return both[:n, :n], both[:n, n:]


@njit(cache=True, nogil=True)
def ahead(x, h, k):
    """State (a tuple of six) reached from `x` in `h` seconds at the constant slope `k`.

    Fixed-length tuples live in registers; small arrays made a step of the plant several times slower.
    """
    return (
        x[0] + h * k[0],
        x[1] + h * k[1],
        x[2] + h * k[2],
        x[3] + h * k[3],
        x[4] + h * k[4],
        x[5] + h * k[5],
    )


@njit(cache=True, nogil=True)
def rk4(x, h, k1, k2, k3, k4):
    """State (a tuple of six) after a classical fourth-order Runge-Kutta step of `h` seconds.

    The caller evaluates the slopes, because numba caches no kernel that is handed a function::

        k1 = derivative(t, x)
        k2 = derivative(t + h / 2, ahead(x, h / 2, k1))
        k3 = derivative(t + h / 2, ahead(x, h / 2, k2))
        k4 = derivative(t + h, ahead(x, h, k3))
        x = rk4(x, h, k1, k2, k3, k4)
    """
    return ahead(ahead(x, h / 6.0, ahead(k1, 1.0, k4)), h / 3.0, ahead(k2, 1.0, k3))
