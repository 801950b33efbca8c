"""Misfit of identified quantities.

It is what noise does not explain, and how far that may have moved them. A residual far above the noise of the readings
means that something else than the quantities freed is wrong. Which, it does not say. So each quantity that theory knows
and that was held is taken to be off by chance, by its usual deviation times one factor: the factor with which they
leave as much as was left. How far each moves the answer then adds to its covariance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from riderless.experiments.analysis.identification.identify import Identification
from riderless.experiments.analysis.identification.output_error import AveragedWindow, linearise
from riderless.models.array_types import Array
from riderless.models.noise_statistics import white_noise_variance

LEAST_MISFIT = 1.5  # times the noise of the readings: less may be chance
MOST_USUAL = 3.0  # times the usual deviations: beyond it no usual error explains what is left


@dataclass(frozen=True)
class Misfit:
    """Residual of an identification beside the noise, and the answer's dependence on what was held.

    Attributes
    ----------
    ratio : float
        Residual per noise of the readings, root mean square.
    factor : float
        Times their usual deviations that the held quantities are off, to leave as much; 0 where noise is enough.
    covariance : (p, p)
        That this adds to the quantities found.
    shifts : dict of str to (p,)
        Move of the quantities found per usual deviation of each held one.
    """

    ratio: float
    factor: float
    covariance: Array
    shifts: dict[str, Array]

    @property
    def unexplained(self) -> bool:
        """Can no usual error explain what is left?"""
        return self.factor > MOST_USUAL


def misfit_of(windows: Sequence[AveragedWindow], fit: Identification) -> Misfit:
    """Compare what an identification leaves with the noise of the readings, and with what held quantities would leave.

    Parameters
    ----------
    windows : sequence of AveragedWindow
        Those that the quantities were identified from.
    fit : Identification
    """
    theory, p = windows[0].theory.move(fit.changes), len(fit.names)
    held = [name for name in theory.causes if name not in fit.names and np.isfinite(theory.usual(name))]
    names = (*fit.names, *held)
    linear = [linearise(averaged, fit.changes, names, std) for averaged, std in zip(windows, fit.weights, strict=True)]
    slopes = np.vstack([window.jacobian for window in linear])
    squares = sum(float(window.residual @ window.residual) for window in linear)
    noise = sum(_noise_squares(averaged, stds) for averaged, stds in zip(windows, fit.weights, strict=True))
    usual = np.array([theory.usual(name) for name in held])
    own, others = slopes[:, :p], slopes[:, p:] * usual
    moves = -np.linalg.pinv(own) @ others  # (p, held)
    unexplained = np.sum((others + own @ moves) ** 2, axis=0)
    ratio = float(np.sqrt(squares / noise)) if noise > 0.0 else 1.0
    excess = squares - noise if ratio > LEAST_MISFIT else 0.0
    factor = float(np.sqrt(excess / unexplained.sum())) if unexplained.any() else 0.0
    return Misfit(ratio, factor, factor**2 * moves @ moves.T, dict(zip(held, moves.T, strict=True)))


def _noise_squares(averaged: AveragedWindow, stds: Mapping[str, float]) -> float:
    """Sum of squares of the weighed residual of a window by the noise of its readings alone."""
    if averaged.filter is not None:
        return sum(len(y) / stds[name] ** 2 for name, y in averaged.channels.items())
    impulse = {name: np.eye(len(y), 1, -(len(y) // 2)) for name, y in averaged.channels.items()}  # a reading off by one
    gain = {name: float(np.sum(white**2)) for name, white in averaged.whitened(impulse).items()}
    return sum(len(y) * gain[name] * white_noise_variance(y) / stds[name] ** 2 for name, y in averaged.channels.items())
