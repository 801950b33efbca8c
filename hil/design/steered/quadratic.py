"""Quadratic cost of a bicycle whose steer is commanded, and the regulator that minimises it."""

from dataclasses import dataclass, fields
from math import pi, radians

import numpy as np
from scipy.linalg import LinAlgError

from riderless.hil.design.lqr import dlqr_gain, require_weights, state_cost
from riderless.hil.design.sampled_plant import BICYCLE_PART, SampledModel
from riderless.hil.design.stabilisability import require_stabilisable
from riderless.hil.design.steered.sampled_steer import SteerModel
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class SteerWeights:
    """Weights by Bryson's rule: each term of the cost is 1 when its quantity has the value given here.

    Parameters
    ----------
    phi, delta : float
        Lean and steer angle [rad].
    phi_dot, delta_dot : float
        Lean and steer rate [rad/s].
    command : float
        Steer rate [rad/s] or angle [rad] commanded.
    """

    phi: float = radians(2.0)
    delta: float = radians(5.0)
    phi_dot: float = radians(2.0 * pi)
    delta_dot: float = radians(100.0 * pi)
    command: float = 0.5

    def __post_init__(self) -> None:
        require_weights(self, [item.name for item in fields(SteerWeights)], "weight")

    def costs(self, model: SampledModel) -> tuple[Array, float]:
        """Cost of the states (n, n), drive and delay at no cost, and of the command."""
        Q = np.zeros_like(model.F)
        Q[BICYCLE_PART, BICYCLE_PART] = state_cost(self.phi, self.delta, self.phi_dot, self.delta_dot)
        return Q, self.command**-2.0


@dataclass(frozen=True)
class SteerRateLQR(SteerWeights):
    """Discrete LQR from lean and steer to the steer rate commanded; its options are `SteerWeights`.

    A second-order lag of the drive counts as a first-order one that is as long: the loop does not measure the steer's
    acceleration. Closed loop and margins are those with the true lag.
    """

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s] and a note.

        Raises
        ------
        InputError
            An unstable mode is out of reach of the steer.
        """
        require_stabilisable(bicycle, v)
        assert isinstance(model, SteerModel)
        known = model.without_hidden_state()
        try:
            return known.widen(dlqr_gain(known.F, known.G, *self.costs(known))), ""
        except LinAlgError as error:
            raise InputError(
                f"LQR found no gains for {bicycle.name} at {v:g} m/s ({error}): "
                "leave this speed out or change the weights"
            ) from None


@dataclass(frozen=True)
class SteerAngleLQR(SteerRateLQR):
    """Discrete LQR from lean and steer to the steer angle commanded.

    A lower weight of the steer rate leaves the drive its own pace.
    """

    delta_dot: float = 1.0
    command: float = radians(5.0)
