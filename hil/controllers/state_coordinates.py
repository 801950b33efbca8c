"""State coordinates of a controller over speed.

With them, the gain of its anti-windup. Matrices may be interpolated only between two controllers whose states mean the
same. Whether they do is seen half way: there the interpolated controller answers between its neighbours if they share
coordinates, and else in no sense.
"""

from itertools import pairwise

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError

FREQUENCIES = 60  # of the unit circle at which answers are compared, evenly spaced in their logarithm
LOWEST = 1e-4  # of half the sampling rate
FURTHEST = 3.0  # how much farther than they differ from each other the middle may lie from its neighbours' mean
SAME = 0.02  # of the largest answer: neighbours closer than that need not be told apart


def require_common_coordinates(v: Array, A: Array, B: Array, C: Array, D: Array) -> None:
    """Refuse matrices over speed whose state has other coordinates at another speed.

    Parameters
    ----------
    v : (n,) array
        Speeds [m/s].
    A, B, C, D : (n, m, m), (n, m, p), (n, m) and (n, p) arrays

    Raises
    ------
    InputError
    """
    if A.shape[-1] == 0:
        return
    answers = [_answer(*each) for each in zip(A, B, C, D, strict=True)]
    for i, j in pairwise(range(len(v))):
        middle = _answer(*(0.5 * (each[i] + each[j]) for each in (A, B, C, D)))
        mean, apart = 0.5 * (answers[i] + answers[j]), np.abs(answers[i] - answers[j]).max(axis=0)
        size = np.maximum(np.abs(answers[i]), np.abs(answers[j])).max(axis=0)
        off = np.abs(middle - mean).max(axis=0) - FURTHEST * apart - SAME * size
        if np.any(off > 0.0):
            raise InputError(
                f"the state has other coordinates at {v[j]:g} m/s than at {v[i]:g} m/s: half way the interpolated "
                "controller answers like neither; give matrices in one set of coordinates, closer speeds, or "
                "balance = true"
            )


def _answer(A: Array, B: Array, C: Array, D: Array) -> Array:
    """Frequency response (f, p) from the inputs to the wish."""
    z = np.exp(1j * np.pi * np.geomspace(LOWEST, 1.0, FREQUENCIES))
    moved = z[:, None, None] * np.eye(len(A)) - A
    return C @ np.linalg.solve(moved, np.broadcast_to(B, (len(z), *B.shape)).astype(complex)) + D


def in_common_coordinates(v: Array, A: Array, B: Array, C: Array) -> tuple[Array, Array, Array]:
    """Bring the state at each speed to the coordinates at the slowest, by what the output shows of it.

    With O the outputs (C, C A, C A^2, ...) of a state, T = O_1^+ O_i takes the state at speed i to that at the slowest
    which shows most nearly the same.

    Parameters
    ----------
    v : (n,) array
        Speeds [m/s].
    A, B, C : (n, m, m), (n, m, p) and (n, m) arrays

    Raises
    ------
    InputError
        The output does not show the whole state at some speed, so that nothing can be compared.
    """
    shown = [_outputs(a, c) for a, c in zip(A, C, strict=True)]
    size = np.maximum(np.abs(shown[0]).max(axis=1, keepdims=True), 1e-300)  # late outputs of an unstable one are large
    shown = [each / size for each in shown]
    made: list[tuple[Array, Array, Array]] = []
    for i in range(len(v)):
        T, _, rank, _ = np.linalg.lstsq(shown[0], shown[i], rcond=None)
        if rank < A.shape[-1] or np.linalg.cond(T) > 1e10:
            raise InputError(
                f"the state at {v[i]:g} m/s cannot be brought to common coordinates: the wish does not show all of it; "
                "reduce the controller's order first"
            )
        back = np.linalg.inv(T)
        made.append((T @ A[i] @ back, T @ B[i], C[i] @ back))
    made_A, made_B, made_C = (np.array(each) for each in zip(*made, strict=True))
    return made_A, made_B, made_C


def _outputs(A: Array, C: Array) -> Array:
    """Outputs (k, m) of each unit state, at steps spread over the slowest and the quickest of its motions."""
    steps = np.unique(np.round(np.geomspace(1, 400, 4 * len(A))).astype(int) - 1)
    return np.array([C @ np.linalg.matrix_power(A, step) for step in steps.tolist()])


def anti_windup_gain(A: Array, C: Array) -> Array:
    """Back-calculation gain L (m,) for x[k+1] = A x + ... + L (allowed - wished): a Kalman gain of the pair (A, C).

    Then A - L C, by which the state moves while the supervisor limits the wish, is stable whatever A is, as long as the
    wish shows what is unstable; where it does not, L is zero. One N m cut off weighs as much as a state that by itself
    makes 0.1 N m.
    """
    from scipy.linalg import solve_discrete_are  # a run under gains does not wait for it

    m = len(A)
    scale = np.abs(C) + 1e-6 * max(float(np.abs(C).max(initial=0.0)), 1.0)
    Q = np.diag((0.1 / scale) ** 2)
    try:
        P = solve_discrete_are(A.T, C[:, None], Q, np.eye(1))
    except np.linalg.LinAlgError:
        return np.zeros(m)
    return np.asarray(A @ P @ C / (1.0 + C @ P @ C))
