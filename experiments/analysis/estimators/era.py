"""Eigensystem realisation algorithm (ERA).

Poles from the free decay alone, without a search (Juang and Pappa 1985). The samples fill a Hankel matrix, whose rank
is the number of modes; python-control's `eigensys_realization` gives the discrete poles for any order. The constant is
a mode like others, with its pole at 1. Rows are first averaged to about `AVERAGED_ROWS`, which leaves every pole as it
is and takes away noise.

The order is the number of singular values above those of noise (Gavish and Donoho 2014). A pole of it counts
where two higher orders show it too, for poles that noise makes wander (a stabilisation diagram).
"""

import numpy as np
from scipy.linalg import hankel

from riderless.experiments.analysis.estimators.coloured_noise import NoiseCovariance, noise_covariance
from riderless.experiments.analysis.estimators.result import (
    make_fit,
    over_damped,
    root_mean_square,
    too_few_cycles,
    too_noisy,
    unusable_signal,
)
from riderless.experiments.analysis.estimators.single_mode import D_MAX, D_MIN, W_MAX
from riderless.experiments.datatypes import Fit
from riderless.models.array_types import Array, ComplexArray

NAME = "era"

AVERAGED_ROWS = 80  # to which a window is averaged: singular values of 40 x 40 take a millisecond ...
ERA_LONGEST_STEP = 0.03  # s, ... but never slower than 25 samples in a cycle of 8 rad/s
MIN_ERA_ROWS = 24
MIN_ORDER, MAX_ORDER = 3, 8  # modes: a pair and the constant; four of the bicycle, drive, filter and the constant
NOISE_FREE = 1e-3  # of the largest singular value: a gyro tells no more, and a slow change of speed makes such modes
MAX_WANDER = 0.25  # of its modulus: how far a pole may wander between orders
FASTEST_POLE = 60.0  # 1/s and rad/s; poles beyond are noise and take no part in the curve


def fit(t: Array, y: Array, near: Fit | None = None, order: int | None = None) -> Fit:
    """Fit the strongest stable oscillation in a free response.

    Parameters
    ----------
    t : (n,) time [s], evenly spaced, increasing.
    y : (n,) lean rate, in any unit.
    near : not needed here; estimators share one signature.
    order : number of modes; by default as many as stand above the noise.

    Returns
    -------
    Fit
        Covariance of the residual's noise through the first-order change of the pole (that of a matrix pencil;
        Hua and Sarkar 1990), and how the pole wanders between orders; ``coefficients`` holds the ``order``.
    """
    if reason := unusable_signal(t, y, MIN_ERA_ROWS):
        return Fit.refused(NAME, reason)
    tau, dt = t - t[0], float((t[-1] - t[0]) / (len(t) - 1))
    each = max(1, min(len(y) // AVERAGED_ROWS, int(ERA_LONGEST_STEP / dt)))
    samples = y[: len(y) // each * each].reshape(-1, each).mean(axis=1)
    order = _model_order(samples) if order is None else order
    z = _discrete_poles(samples, order)
    s = _continuous_poles(z, each * dt)
    higher = [_continuous_poles(_discrete_poles(samples, order + more), each * dt) for more in (1, 2)]
    waves, curve, jacobian = _modal_fit(tau, y, s)
    wander = {k: np.array([other[np.argmin(np.abs(other - s[k]))] - s[k] for other in higher]) for k in waves}
    steady = [k for k in waves if np.all(np.abs(wander[k]) < MAX_WANDER * abs(s[k]))]
    if not steady:
        return Fit.refused(NAME, f"no oscillation stays where it is from order {order} to {order + 2}")
    best = max(steady, key=lambda k: float(waves[k] @ waves[k]))
    value, residual = complex(s[best]), y - curve
    turning = np.exp(value * tau)
    c2, c3 = np.linalg.lstsq(np.column_stack([turning.real, turning.imag]), waves[best], rcond=None)[0]
    influence = np.zeros((2, len(y)))
    influence[:, : len(samples) * each] = np.repeat(
        _pole_influence(samples, z[best], order) / (each * each * dt), each, axis=1
    )
    noise = noise_covariance(influence, residual, jacobian)
    moves = np.array([wander[best].real, wander[best].imag])
    return make_fit(
        NAME,
        value,
        y,
        curve,
        influence,
        jacobian,
        problem=_era_problem(value, tau, waves[best], residual),
        status=f"{value.imag * tau[-1] / (2 * np.pi):.1f} cycles, order {order}, residual {np.std(residual):.2g} rms",
        coefficients={"order": float(order), "c2": float(c2), "c3": float(c3)},
        noise=NoiseCovariance(noise.covariance + moves @ moves.T / len(higher), noise.dof),
    )


def fit_same_order(t: Array, y: Array, like: Fit) -> Fit:
    """Fit another motion, (n,) as of `fit`, with as many modes as a fit by this estimator has."""
    return fit(t, y, order=round(like.coefficients["order"]))


def _hankel_shape(samples: Array) -> tuple[int, int]:
    """Rows and columns of the squarest Hankel matrix that all samples fill, one column to spare."""
    rows = len(samples) // 2
    return rows, len(samples) - rows


def _model_order(samples: Array) -> int:
    """Model order: the number of singular values above those that noise makes."""
    rows, columns = _hankel_shape(samples)
    values = np.linalg.svd(hankel(samples[:rows], samples[rows - 1 : -1]), compute_uv=False)
    beta = rows / columns
    # Gavish and Donoho 2014, IEEE Trans. Inf. Theory 60: noise of unknown size, times the median
    least = (0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43) * np.median(values)
    return int(np.clip(np.sum(values > max(least, NOISE_FREE * values[0])), MIN_ORDER, MAX_ORDER))


def _discrete_poles(samples: Array, order: int) -> ComplexArray:
    """Discrete poles (order,) of the realisation; samples begin with the first one after the impulse."""
    import control  # brings the plotting library, which who only reads a page should not wait for

    rows, columns = _hankel_shape(samples)
    model, _ = control.eigensys_realization(np.append(0.0, samples), order, rows, columns - 1)
    return np.linalg.eigvals(np.asarray(model.A)).astype(complex)


def _continuous_poles(z: ComplexArray, dt: float) -> ComplexArray:
    """Continuous poles [1/s] of discrete ones; one at zero is gone within a sample."""
    return np.asarray(np.log(np.where(z == 0.0, 1e-300, z)) / dt, dtype=complex)


def _modal_fit(tau: Array, y: Array, s: ComplexArray) -> tuple[dict[int, Array], Array, Array]:
    """Fit the motions of all poles: each oscillation's own (n,) by its pole, the curve (n,), its Jacobian (n, m)."""
    columns, owner = [np.ones_like(tau)], [-1]
    for k in map(int, np.flatnonzero((s.imag >= 0.0) & (np.abs(s.real) < FASTEST_POLE) & (s.imag < FASTEST_POLE))):
        wave = np.exp(s[k] * tau - max(s[k].real, 0.0) * tau[-1])
        columns.append(wave.real)
        owner.append(k)
        if s[k].imag > 0.0:
            columns.append(wave.imag)
            owner.append(k)
    phi = np.column_stack(columns)
    c = np.linalg.lstsq(phi, y, rcond=1e-12)[0]
    owners = np.array(owner)
    waves = {int(k): phi[:, owners == k] @ c[owners == k] for k in dict.fromkeys(owner) if k >= 0 and s[k].imag > 0.0}
    return waves, phi @ c, np.column_stack([phi, tau[:, None] * phi])


def _pole_influence(samples: Array, z: complex, order: int) -> Array:
    """Influence (2, rows) of each sample on (re, im) of log z, to first order.

    For the pencil H1 - z H0 of the Hankel matrices with its vectors p and q within the signal's space,
    dz = p' (dH1 - z dH0) q / (p' H0 q); both matrices hold the samples along their antidiagonals.
    """
    rows, _ = _hankel_shape(samples)
    H0 = hankel(samples[:rows], samples[rows - 1 : -1])
    H1 = hankel(samples[1 : rows + 1], samples[rows:])
    U, S, V = np.linalg.svd(H0, full_matrices=False)
    root = np.sqrt(S[:order])
    left_factor, right = U[:, :order] / root, V[:order].T / root
    values, q = np.linalg.eig(left_factor.T @ H1 @ right)
    p = np.linalg.inv(q)
    k = int(np.argmin(np.abs(values - z)))
    along = np.convolve(left_factor @ p[k], right @ q[:, k])
    dz = np.append(0.0, along) - z * np.append(along, 0.0)
    return np.array([(dz / z).real, (dz / z).imag])


def _era_problem(s: complex, tau: Array, wave: Array, residual: Array) -> str:
    """Reason why the fit may not be compared; empty when it may.

    Parameters
    ----------
    s : complex
        Eigenvalue [1/s].
    tau : (n,)
        Times from the window's start [s].
    wave : (n,)
        Fitted oscillation.
    residual : (n,)
        Measured minus fitted.
    """
    if problem := too_few_cycles(s.imag, tau[-1]) or over_damped(s.real, s.imag):
        return problem
    if not (D_MIN < s.real < D_MAX and s.imag < W_MAX):
        return f"not a motion of a bicycle: {s.real:.3g} +- {s.imag:.3g}i 1/s"
    return too_noisy(root_mean_square(wave), root_mean_square(residual))
