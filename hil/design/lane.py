"""Keep a lane: LQR with heading and sideways place in the state, for the whole sampled loop.

Lean and steer do not feel heading and place, so gains on them alone let every kick turn the bicycle for good: it
leaves a belt 2 m wide within 1.4 to 3.1 s. The state is that of `hil.design.sampled_plant` with the heading psi [rad]
and the sideways place y_P [m] of the rear contact beside the bicycle's four (`models.linear.path`)::

    T_req = -K [phi, delta, phi_dot, delta_dot, psi, y_P, T_drive, u_prev]
"""

from dataclasses import dataclass, field, fields
from math import radians

import numpy as np
from scipy.linalg import LinAlgError

from hil.controllers.timing import LoopTiming
from hil.design.lqr import dlqr_gain, require_weights
from hil.design.sampled_plant import SampledModel, sample
from hil.design.stabilisability import require_stabilisable
from models.array_types import Array
from models.coordinates import T_DELTA
from models.errors import InputError
from models.linear.path import GROUND_STATES, LATERAL_STATES, extended_matrix
from models.linear.whipple import input_matrix
from models.parameters import Bicycle

LANE_STATES = (*GROUND_STATES, "T_drive", "u_prev")


@dataclass(frozen=True)
class LaneWeights:
    """Weights by Bryson's rule: each term of the cost is 1 when its quantity has the value given here.

    Rates cost nothing. A lane costs less torque the farther it may be left: half of ``y_P`` is twice the effort.

    Parameters
    ----------
    phi, delta : float
        Lean and steer [rad].
    psi : float
        Heading off the lane [rad].
    y_P : float
        Place beside the lane's middle [m].
    T_delta : float
        Steer torque [N m].
    """

    phi: float = radians(2.0)
    delta: float = radians(5.0)
    psi: float = radians(5.0)
    y_P: float = 0.10
    T_delta: float = 0.5

    def __post_init__(self) -> None:
        require_weights(self, [item.name for item in fields(self)], "weight of a lane")

    @property
    def Q(self) -> Array:
        """Cost of the six states of bicycle, heading and place (6, 6)."""
        cost = np.zeros(len(GROUND_STATES))
        for name in ("phi", "delta", "psi", "y_P"):
            cost[GROUND_STATES.index(name)] = getattr(self, name) ** -2.0
        return np.diag(cost)


def lane_loop(bicycle: Bicycle, v: float, timing: LoopTiming) -> SampledModel:
    """Sample bicycle, heading, place, drive and delay under a zero-order hold at the speed ``v`` [m/s].

    Its states are `LANE_STATES`, less those that a loop without lag or without delay does not have.
    """
    b = np.zeros(len(GROUND_STATES))
    b[LATERAL_STATES] = input_matrix(bicycle)[:, T_DELTA]
    return sample(extended_matrix(bicycle, v), b, timing, GROUND_STATES)


@dataclass(frozen=True)
class LaneKeeping:
    """LQR that keeps a lane; ``weights`` of its cost."""

    weights: LaneWeights = field(default_factory=LaneWeights)

    def gains(self, bicycle: Bicycle, v: float, timing: LoopTiming) -> Array:
        """Gains K (8,) on `LANE_STATES` at the speed ``v`` [m/s]; 0 on a state that the loop does not have.

        Raises
        ------
        InputError
            At this speed steer torque cannot balance the bicycle, or cannot move it sideways.
        """
        require_stabilisable(bicycle, v)
        loop = lane_loop(bicycle, v, timing)
        Q = np.zeros_like(loop.F)
        Q[: len(GROUND_STATES), : len(GROUND_STATES)] = self.weights.Q
        try:
            K = dlqr_gain(loop.F, loop.G, Q, self.weights.T_delta**-2.0)
        except LinAlgError as error:
            raise InputError(
                f"no gains keep {bicycle.name} in its lane at {v:g} m/s ({error}): leave this speed out or change the "
                "weights"
            ) from None
        wide = np.zeros(len(LANE_STATES))
        wide[[LANE_STATES.index(name) for name in loop.states]] = K
        return wide
