"""Machine drawn from its standard deviations: bicycle, drive, instruments and whatever else theory is uncertain of."""

from collections.abc import Mapping

import numpy as np

from riderless.experiments.dynamics import Theory
from riderless.models.errors import InputError

MOST_DRAWS = 1000  # of values that no machine has, one after the other


def draw_machine(theory: Theory, rng: np.random.Generator) -> dict[str, float]:
    """Draw the values of everything that theory is uncertain of, SI; none where it is certain.

    Draws that no machine can be are made again; where all are such, the machine is taken as theory knows it.
    """
    for _ in range(MOST_DRAWS):
        drawn = {name: theory.nominal(name) + std * rng.standard_normal() for name, std in theory.uncertain.items()}
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
