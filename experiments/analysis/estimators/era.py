"""Eigensystem realisation: poles from the free decay alone, without a search (Juang and Pappa 1985).

The samples fill a Hankel matrix, whose rank is the number of modes; python-control's
`eigensys_realization` gives the discrete poles for any order. The constant is a mode like others, with
its pole at 1. Rows are first averaged to about `ROWS`, which leaves every pole what it is and takes away noise.

The order is the number of singular values above those of noise (Gavish and Donoho 2014). A pole of it counts
where two higher orders show it too, for poles that noise makes wander (a stabilisation diagram).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hankel

from experiments.analysis.estimators.coloured_noise import Noise, noise_of
from experiments.analysis.estimators.result import answered, refused, unusable
from experiments.analysis.estimators.single_mode import D_MAX, D_MIN, MAX_DAMPING, MIN_CYCLES, MIN_SIGNAL, W_MAX
from experiments.datatypes import Array, Fit

NAME = "era"

ROWS = 80  # to which a window is averaged: singular values of 40 x 40 take a millisecond ...
SLOWEST = 0.03  # s, ... but never slower than 25 samples in a cycle of 8 rad/s
MIN_ROWS = 24
LEAST, MOST = 3, 8  # modes: a pair and the constant; four of the bicycle, drive, filter and the constant
NOISE_FREE = 1e-3  # of the largest singular value: a gyro tells no more, and a slow change of speed makes such modes
ALIKE = 0.25  # of its modulus: how far a pole may wander between orders
FASTEST = 60.0  # 1/s and rad/s; poles beyond are noise and take no part in the curve


def fit(t: Array, y: Array, near: Fit | None = None) -> Fit:
    """Eigenvalue of the strongest stable oscillation in a free response.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here.

    Returns
    -------
    Fit
        Covariance of the residual's noise through the first-order change of the pole (that of a matrix pencil;
        Hua and Sarkar 1990), and how the pole wanders between orders; ``coefficients`` holds the ``order``.
    """
    if reason := unusable(t, y, MIN_ROWS):
        return refused(reason, NAME)
    tau, dt = t - t[0], float((t[-1] - t[0]) / (len(t) - 1))
    each = max(1, min(len(y) // ROWS, int(SLOWEST / dt)))
    samples = y[: len(y) // each * each].reshape(-1, each).mean(axis=1)
    order = order_of(samples)
    z = poles(samples, order)
    s = rates(z, each * dt)
    higher = [rates(poles(samples, order + more), each * dt) for more in (1, 2)]
    waves, curve, span = explained(tau, y, s)
    wander = {k: np.array([other[np.argmin(np.abs(other - s[k]))] - s[k] for other in higher]) for k in waves}
    steady = [k for k in waves if np.all(np.abs(wander[k]) < ALIKE * abs(s[k]))]
    if not steady:
        return refused(f"no oscillation stays where it is from order {order} to {order + 2}", NAME)
    best = max(steady, key=lambda k: float(waves[k] @ waves[k]))
    value, residual = complex(s[best]), y - curve
    turning = np.exp(value * tau)
    c2, c3 = np.linalg.lstsq(np.column_stack([turning.real, turning.imag]), waves[best], rcond=None)[0]
    answer = np.zeros((2, len(y)))
    answer[:, : len(samples) * each] = np.repeat(
        sensitivity(samples, z[best], order) / (each * each * dt), each, axis=1
    )
    noise = noise_of(answer, residual, span)
    moves = np.array([wander[best].real, wander[best].imag])
    return answered(
        NAME,
        value,
        y,
        curve,
        answer,
        span,
        problem=judge(value, tau, waves[best], residual),
        status=f"{value.imag * tau[-1] / (2 * np.pi):.1f} cycles, order {order}, residual {np.std(residual):.2g} rms",
        coefficients={"order": float(order), "c2": float(c2), "c3": float(c3)},
        noise=Noise(noise.covariance + moves @ moves.T / len(higher), noise.dof),
    )


def split(samples: Array) -> tuple[int, int]:
    """Rows and columns of the squarest Hankel matrix that all samples fill, one column to spare."""
    rows = len(samples) // 2
    return rows, len(samples) - rows


def order_of(samples: Array) -> int:
    """How many singular values stand above those that noise makes."""
    rows, columns = split(samples)
    values = np.linalg.svd(hankel(samples[:rows], samples[rows - 1 : -1]), compute_uv=False)
    beta = rows / columns
    # Gavish and Donoho 2014, IEEE Trans. Inf. Theory 60: noise of unknown size, times the median
    least = (0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43) * np.median(values)
    return int(np.clip(np.sum(values > max(least, NOISE_FREE * values[0])), LEAST, MOST))


def poles(samples: Array, order: int) -> NDArray[np.complex128]:
    """Discrete poles (order,) of the realisation; samples begin with the first one after the impulse."""
    import control  # brings the plotting library, which who only reads a page should not wait for

    rows, columns = split(samples)
    model, _ = control.eigensys_realization(np.append(0.0, samples), order, rows, columns - 1)
    return np.linalg.eigvals(np.asarray(model.A)).astype(complex)


def rates(z: NDArray[np.complex128], dt: float) -> NDArray[np.complex128]:
    """Continuous poles [1/s] of discrete ones; one at zero is gone within a sample."""
    return np.asarray(np.log(np.where(z == 0.0, 1e-300, z)) / dt, dtype=complex)


def explained(tau: Array, y: Array, s: NDArray[np.complex128]) -> tuple[dict[int, Array], Array, Array]:
    """Each oscillation's own motion (n,) by its place among the poles, the curve (n,), and what it takes (n, m)."""
    columns, owner = [np.ones_like(tau)], [-1]
    for k in map(int, np.flatnonzero((s.imag >= 0.0) & (np.abs(s.real) < FASTEST) & (s.imag < FASTEST))):
        wave = np.exp(s[k] * tau - max(s[k].real, 0.0) * tau[-1])
        columns.append(wave.real)
        owner.append(k)
        if s[k].imag > 0.0:
            columns.append(wave.imag)
            owner.append(k)
    phi = np.column_stack(columns)
    c = np.linalg.lstsq(phi, y, rcond=1e-12)[0]
    of = np.array(owner)
    waves = {int(k): phi[:, of == k] @ c[of == k] for k in dict.fromkeys(owner) if k >= 0 and s[k].imag > 0.0}
    return waves, phi @ c, np.column_stack([phi, tau[:, None] * phi])


def sensitivity(samples: Array, z: complex, order: int) -> Array:
    """How (re, im) of log z answers each sample (2, rows), to first order.

    For the pencil H1 - z H0 of the Hankel matrices with its vectors p and q within the signal's space,
    dz = p' (dH1 - z dH0) q / (p' H0 q); both matrices hold the samples along their antidiagonals.
    """
    rows, _ = split(samples)
    H0 = hankel(samples[:rows], samples[rows - 1 : -1])
    H1 = hankel(samples[1 : rows + 1], samples[rows:])
    U, S, V = np.linalg.svd(H0, full_matrices=False)
    root = np.sqrt(S[:order])
    left, right = U[:, :order] / root, V[:order].T / root
    values, q = np.linalg.eig(left.T @ H1 @ right)
    p = np.linalg.inv(q)
    k = int(np.argmin(np.abs(values - z)))
    along = np.convolve(left @ p[k], right @ q[:, k])
    dz = np.append(0.0, along) - z * np.append(along, 0.0)
    return np.array([(dz / z).real, (dz / z).imag])


def judge(s: complex, tau: Array, wave: Array, residual: Array) -> str:
    """Why the fit may not be compared; empty when it may."""
    cycles = s.imag * tau[-1] / (2.0 * np.pi)
    if cycles < MIN_CYCLES:
        return f"not identifiable: the window of {tau[-1]:.2f} s holds {cycles:.2f} of a cycle, less than one"
    if abs(s.real) > MAX_DAMPING * s.imag:
        return f"not identifiable: nearly over-damped, {s.real:.3g} 1/s against {s.imag:.3g} rad/s; try real_mode"
    if not (D_MIN < s.real < D_MAX and s.imag < W_MAX):
        return f"not a motion of a bicycle: {s.real:.3g} +- {s.imag:.3g}i 1/s"
    if np.sqrt(np.mean(wave**2)) < MIN_SIGNAL * np.sqrt(np.mean(residual**2)):
        return f"too noisy: the oscillation's rms is under {MIN_SIGNAL:g} times the residual's"
    return ""
