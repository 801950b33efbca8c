"""Check a certificate of stability, with numpy alone: ``python verify.py FILE.npz``.

The file has, for speeds v_1 < ... < v_n, matrices P_i of V(x, v) = x' P(v) x, with P linear between two speeds, and the
loop matrices A_ik of the map x' = A x over one sample, at each corner k of the box of acceleration and deviations. It
holds where for each v between v_i and v_{i+1}, each step of speed d up to the given one, and each corner

    A' P(v + d) A < P(v).

With A and P linear in between, A' P A is convex in A for each P, so V shrinks by r at least where for P_l, P_l +- d S

    M_ii, M_jj, M_ij + M_ji <= 0,  M_kl = A_k' (P_l +- d S) A_k - r^2 P_l,   j = i + 1,

with the slopes S of P on this stretch and on its neighbours. By how much A bends between two speeds, and across the
box, is measured in its middle; twice that, in the norm of V, is added to r.
"""

import json
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORMAT = "riderless certificate 1"
BENDS = 2.0  # times the bend in the middle, that is allowed for


class Verification(NamedTuple):
    """Decay [1/s] of the square root of V in each stretch between two speeds; at most 0 where nothing is proved."""

    v: NDArray[np.float64]
    decay: NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Does V shrink everywhere?"""
        return bool(np.all(self.decay > 0.0))


def verify(data: Any) -> Verification:
    """Check the arrays of a certificate: speed, P, corners, middle, bends; and the step of speed and dt."""
    v, P, A = data["speed"], data["P"], data["corners"]
    step, dt = float(data["speed_step"]), float(data["dt"])
    if not (np.all(np.diff(v) >= step) and np.all(np.isfinite(P)) and np.all(np.isfinite(A))):
        raise ValueError("speeds must increase by more than the step of speed in a sample, and all numbers be finite")
    if np.any(np.linalg.eigvalsh(P) <= 0.0) or np.any(np.swapaxes(P, 1, 2) != P):
        return Verification(v, np.zeros(len(v) - 1))
    slopes = np.diff(P, axis=0) / np.diff(v)[:, None, None]
    stretches = np.arange(len(v) - 1)
    shrunk = np.zeros(len(stretches))
    for near in (-1, 0, 1):
        S = slopes[np.clip(stretches + near, 0, len(stretches) - 1)]
        for d in (-step, step):
            shrunk = np.maximum(shrunk, _largest_ratio(A, P, d * S))
    bend = _bend(data, P)
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = -np.log(np.sqrt(shrunk) + bend) / dt
    return Verification(v, np.nan_to_num(decay, nan=-np.inf))


def _largest_ratio(A: NDArray[np.float64], P: NDArray[np.float64], change: NDArray[np.float64]) -> Any:
    """Largest V after a sample per V before it, in each stretch."""

    def ratio(after: NDArray[np.float64], before: NDArray[np.float64]) -> Any:
        L = np.linalg.inv(np.linalg.cholesky(before))[:, None]
        return np.linalg.eigvalsh(L @ after @ np.swapaxes(L, -1, -2))[..., -1].max(axis=1)

    def moved(A: NDArray[np.float64], P: NDArray[np.float64]) -> Any:
        return np.swapaxes(A, -1, -2) @ (P + change)[:, None] @ A

    low, high = slice(None, -1), slice(1, None)
    cross = moved(A[low], P[high]) + moved(A[high], P[low])
    return np.maximum.reduce(
        [ratio(moved(A[low], P[low]), P[low]), ratio(moved(A[high], P[high]), P[high]), ratio(cross, P[low] + P[high])]
    )


def _bend(data: Any, P: NDArray[np.float64]) -> Any:
    """Norm of what A bends in each stretch, between V before and V after."""
    between = data["middle"] - (data["centre"][:-1] + data["centre"][1:]) / 2.0
    L = np.linalg.cholesky(P)
    turned = np.linalg.inv(L)

    def norm(E: NDArray[np.float64], i: slice) -> Any:
        return np.linalg.norm(np.swapaxes(L[i], 1, 2) @ E @ np.swapaxes(turned[i], 1, 2), 2, axis=(1, 2))

    low, high = slice(None, -1), slice(1, None)
    bends = np.maximum(norm(between, low), norm(between, high))
    for across in np.moveaxis(data["bends"], 1, 0):  # the axes of the box
        bends = bends + np.maximum(norm(across[low], low), norm(across[high], high))
    n = len(bends)
    spread = np.ones(n)
    for far in (-1, 1, 2):  # P of all speeds that a sample can reach, against that of the stretch's own ends
        there = np.clip(np.arange(n) + far, 0, n)
        for here in (np.arange(n), np.arange(1, n + 1)):
            turn = turned[here] @ L[there]
            spread = np.maximum(spread, np.linalg.norm(turn, 2, axis=(1, 2)))
            spread = np.maximum(spread, np.linalg.norm(np.linalg.inv(turn), 2, axis=(1, 2)))
    return BENDS * spread**2 * bends


def check_file(path: str) -> int:
    """Check a file; returns the exit code."""
    with np.load(path, allow_pickle=False) as data:  # noqa: TID251  # it cannot unpickle
        head = json.loads(str(data["head"]))
        if head["format"] != FORMAT:
            raise ValueError(f"wanted a file of '{FORMAT}', found '{head['format']}'")
        result = verify(data)
    k = int(np.argmin(result.decay))
    worst = f"slowest decay {result.decay[k]:.3g} 1/s between {result.v[k]:g} and {result.v[k + 1]:g} m/s"
    print(f"{head['bicycle']}: {'holds' if result.holds else 'does not hold'}, {worst}")  # noqa: T201  # a script
    return 0 if result.holds else 1


if __name__ == "__main__":
    sys.exit(check_file(sys.argv[1]))
