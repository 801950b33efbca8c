"""Torque off: zero gains, the uncontrolled bicycle."""

from dataclasses import dataclass

import numpy as np

from riderless.hil.design.sampled_plant import LOOP_STATES, SampledModel
from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class Off:
    """Zero steer torque at every speed; the uncontrolled bicycle may fall."""

    may_be_unstable = True  # not annotated: a fact of the law, not one of its options

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six zeros and a note."""
        return np.zeros(len(LOOP_STATES)), "torque off"
