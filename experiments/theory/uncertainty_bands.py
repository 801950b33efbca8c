"""Uncertainty of predicted eigenvalues.

From that of the parameters, by linear propagation and Monte Carlo.

Linear: a simple eigenvalue s of A with left and right eigenvectors l and r moves by ``l dA r / (l r)``. Monte
Carlo draws all uncertain quantities from their joint normal distribution, with the correlations of the bicycle's file.
They agree where the band is narrow beside the distance to the next eigenvalue; near a double root only Monte Carlo is
right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eig

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.dynamics import Theory
from riderless.experiments.theory.modes import kicked_mode
from riderless.models.array_types import Array
from riderless.models.errors import InputError

# Machine drawn from its standard deviations: bicycle, drive, instruments and whatever else theory is uncertain of.


MOST_DRAWS = 1000  # of values that no machine has, one after the other


def draw_machine(theory: Theory, rng: np.random.Generator) -> dict[str, float]:
    """Draw the values of everything that theory is uncertain of, SI; none where it is certain.

    Draws that no machine can be are made again; where all are such, the machine is taken as theory knows it.
    """
    names = list(theory.uncertain)
    for _ in range(MOST_DRAWS):
        moved = theory.spread @ rng.standard_normal(len(names))
        drawn = {name: theory.nominal(name) + float(change) for name, change in zip(names, moved, strict=True)}
        if _possible(theory, drawn):
            return drawn
    return {}


def _possible(theory: Theory, drawn: Mapping[str, float]) -> bool:
    """Tell whether a machine can have these values."""
    if not all(theory.range(name).allows(value) for name, value in drawn.items()):
        return False
    try:
        theory.variant(drawn)
    except InputError:
        return False
    return True


DIFFERENCE_STEP = 1e-4  # of a quantity, or of its usual deviation: the difference quotient is good to 1e-7 of the slope
LINEAR_GAP = 3.0  # how many of its own standard deviations the next eigenvalue must be away for linear propagation


class Contribution(NamedTuple):
    """Contribution of one quantity: its standard deviation, and the change of the eigenvalue by one of it."""

    name: str
    std: float  # SI
    change: complex  # 1/s


@dataclass(frozen=True)
class EigenvalueBand:
    """Predicted eigenvalue at one speed [m/s] with the covariance (2, 2) of its real and imaginary part."""

    v: float
    mode: complex  # 1/s, im >= 0; nan where the bicycle does not oscillate
    covariance: Array
    contributions: tuple[Contribution, ...]  # the largest first
    linear: bool  # is the next eigenvalue far enough for linear propagation?

    @property
    def re_std(self) -> float:
        """Standard deviation of the real part [1/s]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def im_std(self) -> float:
        """Standard deviation of the imaginary part [rad/s]."""
        return float(np.sqrt(self.covariance[1, 1]))


def eigenvalue_derivatives(
    theory: Theory, v: float, names: Sequence[str], mode: complex | None = None
) -> NDArray[np.complex128]:
    """Derivative (p,) of an eigenvalue by each of the named quantities, 1/s per SI unit.

    Parameters
    ----------
    theory : Theory
    v : float
        Speed [m/s].
    names : sequence of str
        Parameters or quantities, p of them.
    mode : complex, optional
        The eigenvalue meant [1/s]; by default the oscillation that a sideways blow excites most.
    """
    dynamics = theory.dynamics()
    mode = kicked_mode(dynamics, v) if mode is None else mode
    if not np.isfinite(mode):
        return np.full(len(names), complex(np.nan, np.nan))
    values, left, right = eig(dynamics.matrix(v), left=True)
    of_mode = mode if dynamics.dt is None else np.exp(mode * dynamics.dt)
    i = int(np.argmin(np.abs(values - of_mode)))
    l, r = left[:, i].conj(), right[:, i]
    scale = 1.0 if dynamics.dt is None else 1.0 / (dynamics.dt * values[i])  # ds = dz / (dt z)
    changes = []
    for name in names:
        up, down, step = _around(theory, name)
        if len(up.states) == len(down.states) == len(values):
            changes.append(scale * (l @ (up.matrix(v) - down.matrix(v)) @ r) / (l @ r) / step)
        else:  # a longer delay waits in more states
            changes.append((_nearest(up, v, mode) - _nearest(down, v, mode)) / step)
    return np.array(changes, dtype=complex)


def eigenvalue_band(theory: Theory, v: float) -> EigenvalueBand:
    """Band of the oscillation that a sideways blow excites most at a speed ``v`` [m/s], by linear propagation."""
    std, mode = theory.uncertain, kicked_mode(theory.dynamics(), v)
    change = eigenvalue_derivatives(theory, v, list(std), mode) * np.array(list(std.values()))
    parts = np.array([change.real, change.imag])
    covariance = parts @ theory.correlation @ parts.T if len(std) else np.zeros((2, 2))
    contributions = [Contribution(name, s, complex(c)) for (name, s), c in zip(std.items(), change, strict=True)]
    width = float(np.sqrt(np.trace(covariance)))
    linear = bool(np.isfinite(mode) and _distance(theory.dynamics(), v, mode) > LINEAR_GAP * width)
    return EigenvalueBand(v, mode, covariance, tuple(sorted(contributions, key=lambda s: -abs(s.change))), linear)


def monte_carlo(theory: Theory, v: float, n: int = 2000, seed: int = 0) -> NDArray[np.complex128]:
    """Draw the eigenvalue ``n`` times, (n,), over all that is uncertain; nan where it does not oscillate any more.

    Machines are drawn by `draw_machine`.

    Parameters
    ----------
    theory : Theory
    v : float
        Speed [m/s].
    n : int
        Number of draws.
    seed : int
    """
    names = list(theory.uncertain)
    mode, slope = kicked_mode(theory.dynamics(), v), eigenvalue_derivatives(theory, v, names)
    rng = np.random.default_rng(seed)
    modes = np.empty(n, dtype=complex)
    for k in range(n):
        drawn = draw_machine(theory, rng)
        moved = [drawn.get(name, theory.nominal(name)) - theory.nominal(name) for name in names]
        values = theory.dynamics(drawn).eigenvalues(v)
        upper = values[values.imag > 1e-9]
        expected = mode + slope @ moved
        modes[k] = min(upper, key=lambda s: abs(s - expected)) if len(upper) else complex(np.nan, np.nan)
    return modes


def _around(theory: Theory, name: str) -> tuple[Dynamics, Dynamics, float]:
    """Dynamics with a quantity a little larger and a little smaller, and the difference of the two, SI."""
    value, step = theory.nominal(name), DIFFERENCE_STEP * float(theory.scales([name])[0])
    up, down = (theory.dynamics({name: changed}) for changed in (value + step, value - step))
    return up, down, 2.0 * step


def _nearest(dynamics: Dynamics, v: float, mode: complex) -> complex:
    values = dynamics.eigenvalues(v)
    return complex(values[np.argmin(np.abs(values - mode))])


def _distance(dynamics: Dynamics, v: float, mode: complex) -> float:
    """Distance from an eigenvalue to the nearest other one [1/s]."""
    return float(np.sort(np.abs(dynamics.eigenvalues(v) - mode))[1])
