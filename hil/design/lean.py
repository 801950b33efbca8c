"""Steer-into-the-lean control.

It is the law of the Delft steer-by-wire bicycle.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from riderless.hil.design.sampled_plant import LOOP_STATES, SampledModel
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI_DOT
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class SteerIntoLean:
    """Lean-rate feedback T_delta = k (v0 - v) phi_dot below the speed v0, nothing above it.

    Parameters
    ----------
    k : float
        Gain [N s^2/rad]; 2 on the Delft bicycle.
    v0 : float
        Forward speed from which the bicycle is left alone [m/s]; 6.5 on the Delft bicycle.

    Raises
    ------
    InputError
        A value is not a finite number, or ``v0`` is negative.
    """

    k: float = 2.0
    v0: float = 6.5

    def __post_init__(self) -> None:
        if not isfinite(self.k):
            raise InputError(f"the lean law's gain k must be a number (N s^2/rad), found {self.k}: 2 is usual")
        if not (isfinite(self.v0) and self.v0 >= 0.0):
            raise InputError(f"the lean law's speed v0 must be 0 m/s or more, found {self.v0} m/s: 6.5 is usual")

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s], all zero but that on the lean rate, and a note."""
        K = np.zeros(len(LOOP_STATES))
        K[PHI_DOT] = -self.k * max(self.v0 - v, 0.0)  # T = -K z
        return K, f"no torque from {self.v0:g} m/s up" if v >= self.v0 else ""
