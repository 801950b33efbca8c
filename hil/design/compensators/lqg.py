"""Observer-based control (LQG).

LQR gains on the estimate of a Kalman filter of its own, which knows the whole model. The loop's observer knows no
masses; this filter does. It predicts bicycle, drive and delay by the sampled model with the command that was really
sent (so a limit does not mislead it), and corrects the prediction by roll rate and steer::

    x^[k] = (I - L H)(F x^[k-1] + G u[k-1]) + L y[k],   T_req[k] = -K x^[k]
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from riderless.hil.controllers.controller import LinearLaw
from riderless.hil.design.lqr import LQR, Weights
from riderless.hil.design.sampled_plant import SampledModel
from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number
from riderless.models.coordinates import DELTA, PHI_DOT, T_DELTA, T_PHI
from riderless.models.errors import InputError
from riderless.models.linear.whipple import input_matrix, system_matrix
from riderless.models.linear.zero_order_hold import zoh
from riderless.models.parameters import Bicycle

LQG_INPUTS = ("phi_dot", "delta_meas", "u_prev")  # roll rate less its bias, steer by the encoder, the command before


@dataclass(frozen=True)
class LQG:
    """LQR with a Kalman filter; standard deviations of what disturbs bicycle and readings.

    Parameters
    ----------
    weights : Weights or mapping
        Of the LQR, see `riderless.hil.design.lqr.Weights`.
    roll_rate_noise : float
        Of the roll rate [rad/s].
    steer_noise : float
        Of the steer angle [rad].
    lean_torque, steer_torque : float
        That nobody knows, drawn anew at each sample [N m].
    """

    weights: Weights = field(default_factory=Weights)
    roll_rate_noise: float = 0.003
    steer_noise: float = 0.001
    lean_torque: float = 5.0
    steer_torque: float = 0.2

    def __post_init__(self) -> None:
        self._take_weights()
        for name in ("roll_rate_noise", "steer_noise", "lean_torque", "steer_torque"):
            value = getattr(self, name)
            if not (is_number(value) and 1e-9 <= value <= 1e6):
                raise InputError(f"the LQG option {name} must be a number above 0 (1e-9 to 1e6), found {value!r}")

    def compensator(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[LinearLaw, tuple[str, ...]]:
        """Law at speed ``v`` [m/s] and the names of its states.

        Raises
        ------
        InputError
            A mode is out of reach of the steer torque, or of the readings.
        """
        K = model.narrow(self._regulator_gains(bicycle, v, model))
        H = np.zeros((2, len(model.F)))
        H[0, PHI_DOT], H[1, DELTA] = 1.0, 1.0
        L = self._filter_gain(bicycle, v, model, H)
        correct = np.eye(len(model.F)) - L @ H
        A = correct @ model.F
        B = np.column_stack([L, correct @ model.G])
        names = tuple(f"{name}_filter" for name in model.states)
        return LinearLaw(LQG_INPUTS, A, B, -K @ A, -K @ B), names

    def _take_weights(self) -> None:
        """Check the weights of the regulator; raises InputError."""
        if isinstance(self.weights, Mapping):
            object.__setattr__(self, "weights", Weights.parse(self.weights))

    def _regulator_gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> Array:
        """Gains of a schedule that minimise the quadratic cost."""
        return LQR(self.weights).gains(bicycle, v, model)[0]

    def _moved_by(self, bicycle: Bicycle, v: float, model: SampledModel) -> Array:
        """Change (k, 2) of the first states in a sample per N m of lean and steer torque that nobody knows."""
        return zoh(system_matrix(bicycle, v), input_matrix(bicycle)[:, [T_PHI, T_DELTA]], model.dt)[1]

    def _filter_gain(self, bicycle: Bicycle, v: float, model: SampledModel, H: Array) -> Array:
        """Gain (n, 2) of the stationary Kalman filter that corrects the estimate by the readings of the same sample."""
        unknown, Q = self._moved_by(bicycle, v, model), 1e-12 * np.eye(len(model.F))
        moved = slice(0, len(unknown))
        Q[moved, moved] += unknown @ np.diag([self.lean_torque**2, self.steer_torque**2]) @ unknown.T
        R = np.diag([self.roll_rate_noise**2, self.steer_noise**2])
        try:
            P = solve_discrete_are(model.F.T, H.T, Q, R)
        except LinAlgError as error:
            raise InputError(
                f"LQG found no filter for {bicycle.name} at {v:g} m/s ({error}): leave this speed out or change the "
                "noise"
            ) from None
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T + R))
