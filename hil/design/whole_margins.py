"""Margins of the whole sampled loop.

Under a controller of any kind; the loop is broken where its command enters the drive. As in
`riderless.hil.design.margins` the controller goes on knowing what it commanded: its u_prev, and T, what a torque drive
ought to make of its commands, do not pass through the break. All else does: bicycle, drive, instruments, observer.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from riderless.hil.design.closed_loop import SampledLoop
from riderless.hil.design.loop_parts.state_layout import WHOLE_LOOP_STATES
from riderless.hil.design.margins import CROSSING_POINTS, SLOWEST_CROSSING, Margins, margins_of
from riderless.hil.design.sampled_plant import T_DRIVE, U_PREV, Z_ROUNDING
from riderless.models.array_types import Array

_AT_REST = 1e-9  # from z = 1, of an integrator: not the observer's slow bias, 1e-4 away
_AROUND = np.linspace(-3.0, 3.0, 13)  # half widths of a resonance, at which it is looked at


class SensitivityPeak(NamedTuple):
    """Largest |1 / (1 + L)| over frequency, and where it is [rad/s]; infinite of a loop that is not stable."""

    value: float
    omega: float


def whole_margins(loop: SampledLoop, v: float) -> Margins:
    """Margins in gain, phase and delay at speed ``v`` [m/s]; (1, 1), 0 and 0 of a loop that is not stable."""
    if np.max(np.abs(np.linalg.eigvals(loop.matrix(v)))) >= 1.0:
        return Margins((1.0, 1.0), 0.0, 0.0)
    if loop.schedule.is_off:
        return Margins((0.0, np.inf), np.inf, np.inf)
    A, b, c = opened_loop(loop, v)
    integrates = bool(np.min(np.abs(np.linalg.eigvals(A) - 1.0)) < _AT_REST)
    return margins_of(_transfer(A, b, c, loop.dt), loop.dt, integrates, _resonances(A, b, c, loop.dt))


def loop_gain(loop: SampledLoop, v: float) -> Callable[[ArrayLike], Any]:
    """Loop gain L at speed ``v`` [m/s], a function of frequency [rad/s]; it closes with negative feedback of 1."""
    return _transfer(*opened_loop(loop, v), loop.dt)


def sensitivity_peak(loop: SampledLoop, v: float) -> SensitivityPeak:
    """Peak of the sensitivity at speed ``v`` [m/s]: 1 over the least distance of L from -1."""
    if np.max(np.abs(np.linalg.eigvals(loop.matrix(v)))) >= 1.0:
        return SensitivityPeak(np.inf, np.nan)
    from scipy.optimize import minimize_scalar

    A, b, c = opened_loop(loop, v)
    L = _transfer(A, b, c, loop.dt)
    even = np.geomspace(SLOWEST_CROSSING, np.pi / loop.dt, CROSSING_POINTS)
    omega = np.union1d(even, _resonances(A, b, c, loop.dt))
    k = int(np.argmin(np.abs(1.0 + L(omega))))
    around = np.log(omega[[max(k - 1, 0), min(k + 1, len(omega) - 1)]])
    peak = minimize_scalar(lambda w: abs(1.0 + L(np.exp(w))), bounds=tuple(around), options={"xatol": 1e-8})
    return SensitivityPeak(float(1.0 / peak.fun), float(np.exp(peak.x)))


def _resonances(A: Array, b: Array, c: Array, dt: float) -> Array:
    """Frequencies [rad/s] around each resonance of the open and of the closed loop: between them L is smooth."""
    z = np.concatenate([np.linalg.eigvals(A), np.linalg.eigvals(A + np.outer(b, c))]).astype(complex)
    s = np.log(z[np.abs(z) > Z_ROUNDING]) / dt
    s = s[s.imag > 0.0]
    omega = (s.imag[:, None] + np.abs(s.real)[:, None] * _AROUND).ravel()
    return omega[(omega > SLOWEST_CROSSING) & (omega < np.pi / dt)]


def opened_loop(loop: SampledLoop, v: float) -> tuple[Array, Array, Array]:
    """Loop opened at the command: x[k+1] = A x[k] + b w[k], w what the drive gets, u = c x what the controller sends.

    The state is that of the loop, then the controller's own knowledge: the torque of a torque drive as it ought to be,
    and the commands sent.
    """
    W, e, law, n = loop.matrix(v), loop.input_vector(v), loop.schedule.linearised(v), len(loop.states)
    waiting = [i for i, name in enumerate(loop.states) if name.startswith("u_prev_")]
    known = [U_PREV, *waiting]  # of the plant, that the controller has its own idea of
    if loop.drive is None:
        known.insert(0, T_DRIVE)
    own_rows = np.arange(len(WHOLE_LOOP_STATES), len(WHOLE_LOOP_STATES) + len(law.A))
    m = len(known)
    c = np.append(W[U_PREV], np.zeros(m))
    rows = np.hstack([W[own_rows], np.zeros((len(own_rows), m))])
    for name, D, B in zip(law.inputs, law.D, law.B.T, strict=True):
        if name == "u_prev" or (name == "T" and loop.drive is None):
            place = T_DRIVE if name == "T" else U_PREV
            own = n + known.index(place)
            c[place], c[own] = c[place] - D, c[own] + D
            rows[:, place], rows[:, own] = rows[:, place] - B, rows[:, own] + B
    plant = W - np.outer(e, W[U_PREV])
    A = np.zeros((n + m, n + m))
    A[:n, :n] = plant
    A[own_rows] = rows
    A[n:, n:] = plant[np.ix_(known, known)]
    A[n:] += np.outer(e[known], c)
    return A, np.append(e, np.zeros(m)), c


def _transfer(A: Array, b: Array, c: Array, dt: float) -> Callable[[ArrayLike], Any]:
    """L, minus what comes back of what the drive got, as a function of frequency [rad/s]."""

    def L(omega: ArrayLike) -> Any:
        z = np.exp(1j * np.asarray(omega, dtype=float) * dt)
        moved = np.linalg.solve(z[..., None, None] * np.eye(len(A)) - A, b[:, None])
        return -(moved[..., 0] @ c)

    return L
