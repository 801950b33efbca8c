"""Modes of a theory in a motion.

Eigenvalues, and the share of the lean rate that each has.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.dynamics import Dynamics
from riderless.experiments.theory.free_response import BICYCLE_STARTS
from riderless.hil.design.sampled_plant import Z_ROUNDING
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT, STATES
from riderless.models.errors import InputError

SMALL_SHARE = 0.1  # of the lean rate's energy: below it the window says little about the mode
SIDEWAYS_BLOW = np.eye(len(STATES))[PHI_DOT]  # rad/s, the state after it: lean rate and nothing else
MIN_TURN = 0.5  # rad within a window, under which a pair of eigenvalues is no oscillation to be found in it
MAX_MODE_STEP = 1.5  # 1/s, how far a mode may move between neighbouring speeds and still be followed
LARGEST_LOG_ENERGY = 500.0  # beyond it is as much, and near the largest number there is
BLOW_DURATION = 2.0  # s, over which a mode of `kicked_mode` must show itself


class Mode(NamedTuple):
    """Eigenvalue (im >= 0) and its share of the energy of the lean rate, 0 to 1."""

    eigenvalue: complex
    share: float


def _modes(dynamics: Dynamics, v: float, x: Array, duration: float) -> tuple[NDArray[np.complex128], Array]:
    """Eigenvalues (per second, im >= 0) and the energy each brings to the lean rate over ``duration``.

    The lean rate after a start ``x`` is sum_j a_j exp(s_j t); a complex pair counts once. Poles of a
    sampled loop are mapped by s = log(z) / dt. Those at z = 0 (delays) and at real z < 0 (no continuous
    counterpart) are left out.
    """
    values, vectors = np.linalg.eig(dynamics.matrix(v))
    weights = np.linalg.lstsq(vectors, dynamics.embed(v) @ x[BICYCLE_STARTS], rcond=None)[0]
    amplitude = (dynamics.output @ vectors) * weights
    keep = values.imag >= 0
    if dynamics.dt is not None:
        keep &= (np.abs(values) > Z_ROUNDING) & ((values.imag > 0) | (values.real > 0))
    values, amplitude = values[keep], amplitude[keep]
    s = values if dynamics.dt is None else np.log(values) / dynamics.dt
    growth = np.minimum(2.0 * s.real * duration, LARGEST_LOG_ENERGY)
    integral = np.where(np.abs(growth) < 1e-9, 1.0, np.expm1(growth) / np.where(growth == 0.0, 1.0, growth))
    pair = np.where(s.imag > 0, 2.0, 1.0)  # time average of (2 |a| cos)^2 is 2 |a|^2
    return s.astype(complex), pair * np.abs(amplitude) ** 2 * integral


def dominant_mode(
    dynamics: Dynamics, v: float, x: Array, duration: float, oscillatory: bool = True, turn: float = 0.0
) -> Mode | None:
    """Mode with the most energy in the lean rate after a start ``x``; None where there is none.

    It is not the mode nearest to a measurement: that would flatter theory.

    Parameters
    ----------
    dynamics : Dynamics
    v : float
        Speed [m/s].
    x : (4,) array
        State of the bicycle at the start.
    duration : float
        Of the motion considered [s].
    oscillatory : bool
        Look only among the complex pairs (weave, with whatever the controller makes of it).
    turn : float
        rad by which a pair must turn within the duration: two real modes that are nearly equal may just meet.
    """
    s, energy = _modes(dynamics, v, x, duration)
    candidates = np.flatnonzero(s.imag * duration > turn) if oscillatory else np.arange(len(s))
    if not len(candidates):
        return None
    best = candidates[np.argmax(energy[candidates])]
    total = float(energy.sum())
    return Mode(complex(s[best]), float(energy[best]) / total if total > 0 else 0.0)


def kicked_mode(dynamics: Dynamics, v: float) -> complex:
    """Eigenvalue of the oscillation that a sideways blow excites most at one speed; nan if over-damped."""
    mode = dominant_mode(dynamics, v, SIDEWAYS_BLOW, BLOW_DURATION)
    return mode.eigenvalue if mode else complex(np.nan, np.nan)


def kicked_modes(dynamics: Dynamics, speeds: Array) -> NDArray[np.complex128]:
    """Every oscillation that shows after a sideways blow, followed over speed.

    With feedback there can be two, and which of them dominates may change with speed.

    Parameters
    ----------
    dynamics : Dynamics
    speeds : (n,) array
        Speeds [m/s] in steps of about 0.1 m/s.

    Returns
    -------
    (n, k) complex array
        One continuous column for each; nan where it has less than `SMALL_SHARE` of the lean rate's
        energy, is over-damped, or the dynamics do not reach (an `InputError` of theirs).
    """
    columns: list[NDArray[np.complex128]] = []
    for i, v in enumerate(speeds):
        try:
            s, energy = _modes(dynamics, float(v), SIDEWAYS_BLOW, BLOW_DURATION)
        except InputError:
            continue
        free = list(columns)
        for eigenvalue in s[(s.imag > 0) & (energy > SMALL_SHARE * energy.sum())]:
            near = [c for c in free if i > 0 and abs(c[i - 1] - eigenvalue) < MAX_MODE_STEP]
            if near:
                column = min(near, key=lambda c: abs(c[i - 1] - eigenvalue))
                free = [c for c in free if c is not column]
            else:
                column = np.full(len(speeds), complex(np.nan, np.nan))
                columns.append(column)
            column[i] = eigenvalue
    return np.column_stack(columns) if columns else np.empty((len(speeds), 0), dtype=complex)
