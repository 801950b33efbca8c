"""PI control of the yaw rate.

Around any inner loop: T_req = T_inner + kp e + i, i[k+1] = i + ki dt e, with e = psi_dot_ref - psi_dot the error
of the yaw rate.

Peterson's robot bicycle rode straight lines and circles so (2013), and a heading that nobody steered otherwise stays
put on average. To turn right a bicycle must first steer left, so kp and ki come out negative.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.design.closed_loop import yaw_rate
from riderless.hil.design.sampled_plant import BICYCLE_PART, LOOP_STATES, SampledModel, continuous
from riderless.hil.design.schedule import GAIN_INPUTS
from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number
from riderless.models.errors import InputError
from riderless.models.linear.perturbed import Variant
from riderless.models.parameters import Bicycle

YAW_INTEGRAL = "yaw_integral"
USUAL_BANDWIDTH = 0.3  # rad/s
SLOWEST_ZERO, FASTEST_ZERO = 1.0, 3.0  # 1/s, where the zero of the PI may lie: slower poles are often those of a filter


@dataclass(frozen=True)
class YawRate:
    """PI on the yaw rate around the gains or the compensator of another method.

    Parameters
    ----------
    inner : str
        Name of that method, such as "lqr" or "lqg".
    options : mapping
        Its options.
    bandwidth : float or None
        Of the yaw rate [rad/s], from which kp and ki follow where they are not given; None for `USUAL_BANDWIDTH`.
        ki = bandwidth / g, with g the yaw rate that the inner loop makes of a constant torque, and kp puts the PI's
        zero on the inner loop's slowest pole.
    kp, ki : float
        Given instead [N m s/rad, N m/rad]; of a drive that obeys a steer rate [-, 1/s] or angle [s, -].
    """

    inner: str = "lqr"
    options: Mapping[str, Any] = field(default_factory=dict)
    bandwidth: float | None = None
    kp: float | None = None
    ki: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.options, Mapping):
            raise InputError(f"options of the inner loop are names with values, found {self.options!r}")
        if (self.kp is None) != (self.ki is None):
            raise InputError("a PI on the yaw rate wants both kp and ki, or neither: give the other too")
        if self.kp is not None:
            for name in ("kp", "ki"):
                if not is_number(value := getattr(self, name)):
                    raise InputError(f"the gain {name} of a PI on the yaw rate must be a number, found {value!r}")
            if self.bandwidth is not None:
                raise InputError(
                    "a PI on the yaw rate wants its gains kp and ki, or a bandwidth to find them by, found both"
                )
            return
        bandwidth = USUAL_BANDWIDTH if self.bandwidth is None else self.bandwidth
        if not (is_number(bandwidth) and 0.001 <= bandwidth <= 10.0):
            raise InputError(f"the bandwidth of the yaw rate must be 0.001 to 10 rad/s, found {bandwidth!r}")
        object.__setattr__(self, "bandwidth", bandwidth)

    def around(
        self, inner: LinearLaw, names: tuple[str, ...], bicycle: Bicycle, v: float, model: SampledModel
    ) -> tuple[LinearLaw, tuple[str, ...]]:
        """Add the PI to an inner law at one speed; the law, and the names of its states.

        Parameters
        ----------
        inner : LinearLaw
        names : tuple of str
            Of its states.
        bicycle : Bicycle
        v : float
            Speed [m/s].
        model : SampledModel
            At that speed.
        """
        kp, ki = self._gains(inner, bicycle, v, model)
        m, p = inner.B.shape
        A = np.block([[inner.A, np.zeros((m, 1))], [np.zeros((1, m)), np.ones((1, 1))]])
        inputs = (*inner.inputs, "psi_dot", "psi_dot_ref")
        error = np.append(np.zeros(p), [-1.0, 1.0])
        B = np.vstack([np.column_stack([inner.B, np.zeros((m, 2))]), ki * model.dt * error])
        C, D = np.append(inner.C, 1.0), np.append(inner.D, [0.0, 0.0]) + kp * error
        return LinearLaw(inputs, A, B, C, D), (*names, YAW_INTEGRAL)

    def _gains(self, inner: LinearLaw, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[float, float]:
        """Gains kp and ki at one speed."""
        if self.kp is not None and self.ki is not None:
            return float(self.kp), float(self.ki)
        W, b, yaw = closed_design(inner, bicycle, v, model)
        turn = float(yaw @ np.linalg.solve(np.eye(len(W)) - W, b))
        if abs(turn) < 1e-9:
            raise InputError(f"at {v:g} m/s no torque turns {bicycle.name} under this inner loop: leave this speed out")
        slowest = -continuous(np.linalg.eigvals(W), model.dt)[0].real
        assert self.bandwidth is not None  # since __post_init__
        ki = self.bandwidth / turn
        return ki / float(np.clip(slowest, SLOWEST_ZERO, FASTEST_ZERO)), ki


def closed_design(inner: LinearLaw, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, Array, Array]:
    """Close the loop of the design model with a law; map, column of a torque added to the wish, row of the yaw rate.

    Estimates and readings are taken as true; the loop's own observer is left out, as in every design.

    Parameters
    ----------
    inner : LinearLaw
    bicycle : Bicycle
    v : float
        Speed [m/s].
    model : SampledModel
        At that speed.
    """
    F, G, states = model.F, model.G, model.states
    if "u_prev" not in states:  # a loop without delay: only the law remembers its last command
        F = np.block([[F, np.zeros((len(F), 1))], [np.zeros((1, len(F) + 1))]])
        G, states = np.append(G, 1.0), (*states, "u_prev")
    n, m = len(F), len(inner.A)
    yaw = np.zeros(n)
    yaw[BICYCLE_PART] = yaw_rate(Variant(bicycle), v)
    inputs = np.zeros((len(inner.inputs), n))
    for row, name in zip(inputs, inner.inputs, strict=True):
        state = name.removesuffix("_meas")
        state = LOOP_STATES[GAIN_INPUTS.index(state)] if state in GAIN_INPUTS else state
        if name in ("psi_dot", "psi_dot_meas"):
            row[:] = yaw
        elif state in states:
            row[states.index(state)] = 1.0
    W = np.block([[F + np.outer(G, inner.D @ inputs), np.outer(G, inner.C)], [inner.B @ inputs, inner.A]])
    return W, np.append(G, np.zeros(m)), np.append(yaw, np.zeros(m))
