"""Cascade from lean to the steer command.

It is the law of Chalmers' riderless bicycle.

Theirs reads ``rate = Kp (lean_ref - lean) - Kd lean_rate``, in signs of its own. With lean and steer both positive to
the right it is

    u = kp (phi - phi_ref) + kd phi_dot,    kp, kd > 0: steer into the fall.

The steer angle is not fed back: under a rate drive the lean brings it back by itself.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riderless.hil.design.sampled_plant import SampledModel
from riderless.hil.design.stabilisability import require_stabilisable
from riderless.hil.design.steered.quadratic import SteerWeights
from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number
from riderless.models.coordinates import PHI, PHI_DOT
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

CASCADE_GAINS = np.geomspace(0.05, 400.0, 40)  # of the first look for kp [1/s or -] and kd [- or s]
_WEIGHTS = ("phi", "delta", "phi_dot", "command")
_DOUBLINGS = 14  # of the samples over which the cost is summed: 16384
TYPICAL_START = np.radians([3.0, 20.0])  # lean [rad] and lean rate [rad/s] that the cost starts from


@dataclass(frozen=True)
class LeanCascade:
    """Law u = kp phi + kd phi_dot: the gains that are given, or those of the least quadratic cost.

    Parameters
    ----------
    kp : float or None
        Command per lean, 1/s to a rate and without unit to an angle. Both gains are given, or neither.
    kd : float or None
        Command per lean rate, without unit to a rate and s to an angle.
    phi, delta, phi_dot, command : float or None
        Weights of the cost, as of `SteerWeights`, where no gains are given; None for those of the LQR of the same kind.
    """

    kp: float | None = None
    kd: float | None = None
    phi: float | None = None
    delta: float | None = None
    phi_dot: float | None = None
    command: float | None = None
    usual: ClassVar[SteerWeights] = SteerWeights()

    def __post_init__(self) -> None:
        if (self.kp is None) != (self.kd is None):
            raise InputError("the cascade wants both gains, kp and kd, or neither, found one: give the other too")
        for name in ("kp", "kd"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0.0 <= value <= 1e6):
                raise InputError(
                    f"the gain {name} of the cascade must be a number from 0 to 1e6, found {value!r}: lean and steer "
                    "are positive to the same side, so that it steers into the fall with a positive gain"
                )
        given = {name: value for name in _WEIGHTS if (value := getattr(self, name)) is not None}
        if self.kp is not None and given:
            raise InputError(
                f"the cascade wants its gains kp and kd, or weights to find them by, found both ({', '.join(given)}): "
                "leave one out"
            )
        if self.kp is None:
            weights = replace(self.usual, **given)
            for name in _WEIGHTS:
                object.__setattr__(self, name, getattr(weights, name))

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s] and a note.

        Raises
        ------
        InputError
            An unstable mode is out of reach of the steer, or no cascade balances the bicycle.
        """
        if self.kp is not None and self.kd is not None:
            return cascade_gains(self.kp, self.kd), ""
        require_stabilisable(bicycle, v)
        return self._least_cost(bicycle, v, model), ""

    def _least_cost(self, bicycle: Bicycle, v: float, model: SampledModel) -> Array:
        from scipy.optimize import minimize

        weights = replace(self.usual, **{name: getattr(self, name) for name in _WEIGHTS})
        kp, kd = (grid.ravel() for grid in np.meshgrid(CASCADE_GAINS, CASCADE_GAINS))
        tried = _loop_costs(model, np.array([cascade_gains(*pair) for pair in zip(kp, kd, strict=True)]), weights)
        best = int(np.argmin(tried))
        if not np.isfinite(tried[best]):
            raise InputError(
                f"no cascade from lean to steer balances {bicycle.name} at {v:g} m/s with this drive: take "
                "--method lqr, leave this speed out, or give the drive more bandwidth"
            )

        def log_cost(exponents: Array) -> float:
            return float(np.log(_loop_costs(model, cascade_gains(*np.exp(exponents))[None], weights)[0]))

        optimum = minimize(log_cost, np.log([kp[best], kd[best]]), method="Nelder-Mead", options={"xatol": 1e-6})
        return cascade_gains(*np.exp(optimum.x))


@dataclass(frozen=True)
class LeanToAngle(LeanCascade):
    """Cascade from lean to a steer angle."""

    usual: ClassVar[SteerWeights] = SteerWeights(command=float(np.radians(5.0)))


def cascade_gains(kp: float, kd: float) -> Array:
    """Gains (6,) of u = -K z for the law u = kp phi + kd phi_dot."""
    K = np.zeros(6)
    K[PHI], K[PHI_DOT] = -kp, -kd
    return K


def _loop_costs(model: SampledModel, K: Array, weights: SteerWeights) -> Array:
    """Quadratic cost (m,) of the closed loops under gains ``K`` (m, 6), infinite where one is not stable.

    The cost is the sum over all samples from a typical lean and from a typical lean rate. With M = F - G k it is
    x0' P x0, P = sum M'^n W M^n, summed by doubling: P <- P + M' P M, M <- M M.
    """
    Q, R = weights.costs(model)
    k = np.array([model.narrow(gain) for gain in K])
    M = model.F - model.G[:, None] * k[:, None, :]
    P = Q + R * k[:, :, None] * k[:, None, :]
    stable = np.abs(np.linalg.eigvals(M)).max(axis=1) < 1.0
    M[~stable] = 0.0
    for _ in range(_DOUBLINGS):
        P = P + M.transpose(0, 2, 1) @ P @ M
        M = M @ M
    cost = P[:, PHI, PHI] * TYPICAL_START[0] ** 2 + P[:, PHI_DOT, PHI_DOT] * TYPICAL_START[1] ** 2
    return np.where(stable, cost, np.inf)
