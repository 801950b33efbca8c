"""Quadratic cost and regulator under prescribed steer."""

from dataclasses import dataclass
from math import radians
from typing import ClassVar

from riderless.hil.design.lqr import StateWeights, quadratic_gains
from riderless.hil.design.sampled_plant import SampledModel
from riderless.hil.design.steered.sampled_steer import SteerModel
from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class SteerWeights(StateWeights):
    """Weights of the cost under a steer command: those of `StateWeights`, and that of the command.

    Parameters
    ----------
    command : float
        Steer rate [rad/s] or angle [rad] commanded.
    """

    command: float = 0.5
    commanded: ClassVar[str] = "command"


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
        assert isinstance(model, SteerModel)
        return quadratic_gains(bicycle, v, model.without_hidden_state(), self)


@dataclass(frozen=True)
class SteerAngleLQR(SteerRateLQR):
    """Discrete LQR from lean and steer to the steer angle commanded.

    A lower weight of the steer rate leaves the drive its own pace.
    """

    delta_dot: float = 1.0
    command: float = radians(5.0)
