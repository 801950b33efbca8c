"""LQR that keeps a lane.

Heading and sideways place are in the state, for the whole sampled loop. Lean and steer do not feel heading and place,
so gains on them alone let every kick turn the bicycle for good: it leaves a belt 2 m wide within 1.4 to 3.1 s. The
state is that of `riderless.hil.design.sampled_plant` with the heading psi [rad] and the sideways place y_P [m] of the
rear contact beside the bicycle's four (`riderless.models.linear.path`)::

    T_req = -K [phi, delta, phi_dot, delta_dot, psi, y_P, T_drive, u_prev]
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import radians
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.lqr import dlqr_gain, require_weights
from riderless.hil.design.sampled_plant import LOOP_STATES, SampledModel, continuous, sample, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.stabilisability import require_stabilisable
from riderless.hil.design.steered.sampled_steer import sampled_steer
from riderless.models.array_types import Array
from riderless.models.coordinates import T_DELTA
from riderless.models.errors import InputError
from riderless.models.linear.path import GROUND_STATES, LATERAL_STATES, extended_matrix
from riderless.models.linear.whipple import input_matrix
from riderless.models.parameters import Bicycle

_IN_LANE = ("phi", "delta", "psi", "y_P")
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
        require_weights(self, "weight of a lane")

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


def lane_mode(model: SampledModel, K: Array) -> complex:
    """Eigenvalue [1/s], im >= 0, of the closed loop that moves heading and place most, for what lean and steer do.

    Parameters
    ----------
    model : SampledModel
        As of `lane_loop`.
    K : (8,) array
        As of `LaneKeeping`.
    """
    z, vectors = np.linalg.eig(model.F - np.outer(model.G, model.narrow(K)))
    usual = LaneWeights()
    shares = {name: np.abs(vectors[model.states.index(name)]) / getattr(usual, name) for name in _IN_LANE}
    of_lane = np.hypot(shares["psi"], shares["y_P"]) / np.hypot(shares["phi"], shares["delta"])
    most = int(np.argmax(np.where(z.imag >= 0.0, of_lane, 0.0)))
    return complex(np.log(complex(z[most])) / model.dt)


@dataclass(frozen=True)
class LaneKeeping:
    """LQR that keeps a lane; ``weights`` of its cost."""

    weights: LaneWeights | Mapping[str, float] = field(default_factory=LaneWeights)

    def __post_init__(self) -> None:
        if not isinstance(self.weights, LaneWeights):
            object.__setattr__(self, "weights", named_weights(LaneWeights, self.weights))

    def sampled(self, bicycle: Bicycle, v: float, timing: LoopTiming) -> SampledModel:
        """Model that the gains are for: `lane_loop`."""
        return lane_loop(bicycle, v, timing)

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Gains K (8,) on `hil.design.sampled_plant.LANE_GAIN_STATES` at the speed ``v`` [m/s], and the lane mode.

        They are 0 on a state that the ``model``, as of `lane_loop`, does not have.

        Raises
        ------
        InputError
            At this speed steer torque cannot balance the bicycle, or cannot move it sideways.
        """
        Q = np.zeros_like(model.F)
        weights = self.weights
        assert isinstance(weights, LaneWeights)
        Q[: len(GROUND_STATES), : len(GROUND_STATES)] = weights.Q
        return lane_gains(bicycle, v, model, model, (Q, weights.T_delta**-2.0))


def lane_gains(
    bicycle: Bicycle, v: float, model: SampledModel, known: SampledModel, costs: tuple[Array, float]
) -> tuple[Array, str]:
    """Gains (8,) of the least quadratic cost, and a note of the lane mode that they make.

    Parameters
    ----------
    bicycle : Bicycle
    v : float
        Speed [m/s].
    model : SampledModel
        With heading and place.
    known : SampledModel
        That model, or the one without what no loop measures: the gains are for it.
    costs : ((n, n) array, float)
        Of the states of ``known``, and of the command.

    Raises
    ------
    InputError
        As of `LaneKeeping.gains`.
    """
    require_stabilisable(bicycle, v)
    try:
        wide = known.widen(dlqr_gain(known.F, known.G, *costs))
    except LinAlgError as error:
        raise InputError(
            f"no gains keep {bicycle.name} in its lane at {v:g} m/s ({error}): leave this speed out or change the "
            "weights"
        ) from None
    mode = lane_mode(model, wide)
    return wide, f"lane mode {mode.real:.2f}±{abs(mode.imag):.2f}i 1/s"


def hold_lane_back(schedule: GainSchedule) -> GainSchedule:
    """Gains that are left of a lane's while heading and place are held back: those on the bicycle and its drive.

    Raises
    ------
    InputError
        They keep no lane.
    """
    if not schedule.keeps_lane:
        raise InputError(f"only gains that keep a lane can hold it back, found {schedule.method}: take the method lane")
    K = schedule.K[:, : len(LOOP_STATES)]
    bicycle, drive, timing = schedule.bicycle, schedule.drive, schedule.loop
    models = [
        sampled_steer(bicycle, v, timing, drive) if drive else sampled_model(bicycle, v, timing)
        for v in schedule.v.tolist()
    ]
    modes = [continuous(model.closed_loop(gains), schedule.loop.dt) for model, gains in zip(models, K, strict=True)]
    return replace(schedule, method=f"{schedule.method} held back", K=np.array(K), closed_loop=np.array(modes))


def named_weights(kind: Any, given: Any) -> Any:
    """Weights from a table of them; raises InputError where it is none, or names one that there is not."""
    if not isinstance(given, Mapping):
        raise InputError(f"a lane wants its weights by name, such as y_P = 0.2, found {given!r}")
    known = [item.name for item in fields(kind)]
    for name in given:
        if name not in known:
            raise InputError(f"the weights of a lane are {', '.join(known)}, found {name!r}")
    return kind(**given)
