"""Lane-keeping LQR for a rate or angle drive.

Heading and sideways place are in the state::

    u = -K [phi, delta, phi_dot, delta_dot, T_drive, u_prev, psi, y_P],

with nothing on the drive's torque, as in `riderless.hil.design.steered.quadratic`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import radians
from typing import ClassVar

from riderless.hil.design.lane import lane_gains, named_weights
from riderless.hil.design.lqr import require_weights
from riderless.hil.design.sampled_plant import SampledModel
from riderless.hil.design.steered.quadratic import SteerAngleLQR, SteerWeights
from riderless.hil.design.steered.sampled_steer import SteerModel
from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class SteerLaneWeights(SteerWeights):
    """Weights by Bryson's rule: those of `SteerWeights`, and two of the lane.

    Parameters
    ----------
    psi : float
        Heading off the lane [rad].
    y_P : float
        Place beside the lane's middle [m].
    """

    psi: float = radians(5.0)
    y_P: float = 0.10

    def __post_init__(self) -> None:
        require_weights(self, "weight of a lane")

    def costs(self, model: SampledModel) -> tuple[Array, float]:
        """Cost of the states (n, n), drive and delay at no cost, and of the command."""
        Q, R = super().costs(model)
        for name in ("psi", "y_P"):
            i = model.states.index(name)
            Q[i, i] = getattr(self, name) ** -2.0
        return Q, R


@dataclass(frozen=True)
class _SteerAngleLaneWeights(SteerLaneWeights):
    """Those of a drive that obeys an angle."""

    delta_dot: float = SteerAngleLQR.delta_dot
    command: float = SteerAngleLQR.command


@dataclass(frozen=True)
class SteerRateLane:
    """LQR that keeps a lane by a steer rate; ``weights`` of its cost by name, as of `SteerLaneWeights`."""

    weights: Mapping[str, float] = field(default_factory=dict)
    usual: ClassVar[type[SteerLaneWeights]] = SteerLaneWeights
    keeps_lane: ClassVar[bool] = True

    def __post_init__(self) -> None:
        named_weights(self.usual, self.weights)

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Gains (8,) at the speed ``v`` [m/s], and the lane mode.

        Raises
        ------
        InputError
            At this speed the steer cannot balance the bicycle, or cannot move it sideways.
        """
        assert isinstance(model, SteerModel)
        known, weights = model.without_hidden_state(), self.usual(**self.weights)
        return lane_gains(bicycle, v, model, known, weights.costs(known))


@dataclass(frozen=True)
class SteerAngleLane(SteerRateLane):
    """LQR that keeps a lane by a steer angle."""

    usual: ClassVar[type[SteerLaneWeights]] = _SteerAngleLaneWeights
