"""Fisher information of windows about quantities of a machine, as output error has them (`analysis/output_error.py`).

Where theory knows the noise of the sensors, the innovations of a window have variance 1, and the information is that
of their Jacobian, the start of the window being free. Quantities are in scales, their usual deviations, so that all
numbers are of one size.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from riderless.experiments.analysis.identification.identify import QUANTITY_STEP
from riderless.experiments.analysis.identification.output_error import Segment, linearise
from riderless.experiments.dynamics import Theory
from riderless.models.array_types import Array

WEAKLY_KNOWN = 100.0  # usual deviations: what is known of a quantity without a deviation of its own


def scales_of(theory: Theory, names: Sequence[str]) -> Array:
    """Scale of each quantity, (p,), SI: its usual deviation, 1 where nothing is usual."""
    usual = np.array([theory.usual(name) for name in names])
    return np.where(np.isfinite(usual), usual, 1.0)


def known_before(theory: Theory, names: Sequence[str]) -> Array:
    """Information (p, p) before anything is measured, in scales: from deviations measured before, else next to none."""
    known = np.array([theory.uncertain.get(name, np.inf) for name in names]) / scales_of(theory, names)
    return np.diag(np.minimum(known, WEAKLY_KNOWN) ** -2.0)


def window_information(
    segment: Segment, names: Sequence[str], values: Mapping[str, float] | None = None, stds: Mapping[str, float] = {}
) -> Array:
    """Fisher information (p, p) of one window about quantities, in their scales.

    Parameters
    ----------
    segment : Segment
    names : sequence of str
    values : mapping of str to float, optional
        Of the quantities, SI; theory's own by default.
    stds : mapping of str to float
        Noise of each channel, where theory knows none.
    """
    scales, theory = scales_of(segment.theory, names), segment.theory
    there = {name: theory.nominal(name) for name in names} | dict(values or {})
    jacobian = linearise(segment, there, names, QUANTITY_STEP * scales, stds).jacobian * scales
    return np.asarray(jacobian.T @ jacobian)
