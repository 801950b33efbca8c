"""LQG for a rate or angle drive.

The drive obeys a steer rate or angle; its LQR acts on a Kalman filter's estimate. As
`riderless.hil.design.compensators.lqg`, with the command in rad/s or rad. The regulator takes the steer as prescribed;
the filter knows the drive's own torque, and the bicycle that answers it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from riderless.hil.design.compensators.lqg import LQG
from riderless.hil.design.sampled_plant import SampledModel
from riderless.hil.design.steered.quadratic import SteerAngleLQR, SteerRateLQR
from riderless.hil.design.steered.sampled_steer import SteerModel
from riderless.models.array_types import Array
from riderless.models.coordinates import T_DELTA, T_PHI
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import driven_steer
from riderless.models.linear.whipple import input_matrix
from riderless.models.linear.zero_order_hold import zoh
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class SteerRateLQG(LQG):
    """LQR of a steer rate with a Kalman filter; its options are those of `LQG`.

    Parameters
    ----------
    weights : mapping
        Of `riderless.hil.design.steered.quadratic.SteerWeights`.
    """

    weights: Any = field(default_factory=dict)
    regulator: ClassVar[type[SteerRateLQR]] = SteerRateLQR

    def _take_weights(self) -> None:
        known = [weight.name for weight in fields(self.regulator)]
        if not isinstance(self.weights, Mapping) or not self.weights.keys() <= set(known):
            raise InputError(f"the weights of the LQG are {', '.join(known)}, found {self.weights!r}: correct them")
        self.regulator(**self.weights)

    def _regulator_gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> Array:
        assert isinstance(model, SteerModel)
        return self.regulator(**self.weights).gains(bicycle, v, model.prescribed())[0]

    def _moved_by(self, bicycle: Bicycle, v: float, model: SampledModel) -> Array:
        assert isinstance(model, SteerModel)
        A, _ = driven_steer(Variant(bicycle), v, model.loop)
        torques = input_matrix(bicycle)[:, [T_PHI, T_DELTA]]
        return zoh(A, np.vstack([torques, np.zeros((len(A) - len(torques), 2))]), model.dt)[1]


@dataclass(frozen=True)
class SteerAngleLQG(SteerRateLQG):
    """LQR of a steer angle with a Kalman filter; its options are those of `SteerRateLQG`."""

    regulator: ClassVar[type[SteerRateLQR]] = SteerAngleLQR
