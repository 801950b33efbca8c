"""Power of a verdict: the smallest deviation of a quantity that the joint test would have seen.

A deviation d of one quantity moves the k conditions' eigenvalues by slopes d, and makes chi-square noncentral:
lambda = d^2 slopes' S^-1 slopes. What is seen with a given power is where the noncentral distribution has that much
beyond the value at which the model is rejected.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, chndtrinc

from experiments.analysis.initial_state import explained_lean_rate
from experiments.analysis.windows_of_bicycle import WindowsOfBicycle
from experiments.datatypes import Comparison, Response
from experiments.dynamics import plain_name, shown_unit, unit_of
from experiments.theory.theory import theory_for
from models.array_types import Array
from models.errors import InputError
from models.tables import plain_number

POWER = 0.9
POWER_QUANTITIES = ("drive_gain", "more_delay", "fork_inertia", "steer_damping", "speed_scale")  # a lab cares about
_SLOPE_STEP = 0.1  # of a quantity's usual deviation, for difference quotients


@dataclass(frozen=True)
class Detectable:
    """Smallest deviation of a quantity (SI) that would have been seen; infinite where no deviation would."""

    name: str
    deviation: float

    @property
    def phrase(self) -> str:
        """Say it in words, "drive gain by 3 %"."""
        name, (scale, unit) = plain_name(self.name), shown_unit(unit_of(self.name))
        if not np.isfinite(self.deviation):
            return f"{name} by any amount: not at all"
        return f"{name} by {plain_number(scale * self.deviation, 2)} {unit}"


def noncentrality(dof: int, significance: float, power: float = POWER) -> float:
    """Noncentrality with which a chi-square of ``dof`` degrees of freedom is rejected with the given power."""
    return float(chndtrinc(chdtri(dof, significance), dof, 1.0 - power))


def detectable(covariance: Array, slopes: Array, significance: float) -> Array:
    """Smallest deviation (p,) of each quantity that is seen with the power `POWER`.

    Parameters
    ----------
    covariance : (2 k, 2 k)
        Of the conditions' residuals, both parts.
    slopes : (2 k, p)
        Change of these by one SI unit of each quantity.
    significance : float
        Probability below which the model is rejected.
    """
    information = np.einsum("ij,ij->j", slopes, np.linalg.solve(covariance, slopes))
    size = noncentrality(len(covariance), significance)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(size / information))


def like_for_like_slopes(group: WindowsOfBicycle, names: Sequence[str]) -> Array:
    """Change (2 k, p) of what is measured minus predicted, by SI unit of each quantity: re, im of each condition.

    Taken on the first window of each condition: the model's motion is explained again from its own start, and the
    estimator's influence makes of the change of the lean rate that of the eigenvalue.

    Parameters
    ----------
    group : sequence of (Response, Comparison)
    names : sequence of str
    """
    labels = list(dict.fromkeys(c.label for _, c in group))
    firsts = [next((r, c) for r, c in group if c.label == label) for label in labels]
    return np.vstack([_slopes_of_window(response, c, names) for response, c in firsts])


def _slopes_of_window(response: Response, c: Comparison, names: Sequence[str]) -> Array:
    """Slopes (2, p) of one window."""
    theory = theory_for(response)
    slopes = np.zeros((2, len(names)))
    if not c.fit.influence.size:
        return slopes
    here = explained_lean_rate(response, c.window, theory.dynamics())
    for i, name in enumerate(names):
        step = _SLOPE_STEP * theory.usual(name)
        try:
            dynamics = theory.dynamics({name: theory.nominal(name) + step})
        except InputError:
            continue
        slopes[:, i] = c.fit.influence @ (explained_lean_rate(response, c.window, dynamics) - here) / step
    return slopes


def power_table(group: WindowsOfBicycle, covariance: Array, significance: float) -> tuple[Detectable, ...]:
    """Smallest deviations that a campaign would have seen, of the quantities a lab cares about.

    Parameters
    ----------
    group : sequence of (Response, Comparison)
        Windows of all conditions.
    covariance : (2 k, 2 k)
        Of their residuals.
    significance : float
    """
    found = detectable(covariance, like_for_like_slopes(group, POWER_QUANTITIES), significance)
    return tuple(Detectable(name, float(size)) for name, size in zip(POWER_QUANTITIES, found, strict=True))


def power_sentence(table: Sequence[Detectable]) -> str:
    """Sentence on how large a deviation would have been seen."""
    seen = [one.phrase for one in table if np.isfinite(one.deviation)]
    if not seen:
        return ""
    return f"what would have been seen, alone and in {POWER:.0%} of such campaigns: {', '.join(seen)}"
