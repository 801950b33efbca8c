"""Exact zero-order hold of a linear system.

In fixed steps of time.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riderless.models.errors import InputError


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
    from scipy.linalg import expm  # a run, which needs no design, should not wait for scipy

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
