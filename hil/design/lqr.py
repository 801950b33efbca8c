"""Linear quadratic regulator.

Gains that minimise a quadratic cost, by weights that have units.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import pi, radians
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, solve_discrete_are

from riderless.hil.design.sampled_plant import BICYCLE_PART, SampledModel
from riderless.hil.design.stabilisability import require_stabilisable
from riderless.models.array_types import Array
from riderless.models.bicycle_file import is_number
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9  # rad, rad/s or N m


@dataclass(frozen=True)
class StateWeights:
    """Weights by Bryson's rule: each term of the cost is 1 when its quantity has the value given here.

    The defaults are those of Peterson's robot bicycle (2013): 2 deg, 5 deg, 2 pi deg/s and 100 pi deg/s.

    Parameters
    ----------
    phi, delta : float
        Lean and steer angle [rad].
    phi_dot, delta_dot : float
        Lean and steer rate [rad/s].
    """

    phi: float = radians(2.0)
    delta: float = radians(5.0)
    phi_dot: float = radians(2.0 * pi)
    delta_dot: float = radians(100.0 * pi)
    commanded: ClassVar[str]  # the weight of the command: each kind of drive has a name for it

    def __post_init__(self) -> None:
        require_weights(self, "weight")

    @property
    def Q(self) -> Array:
        """Cost of the bicycle's state (4, 4)."""
        sizes = np.array([self.phi, self.delta, self.phi_dot, self.delta_dot], dtype=float)
        return np.diag(sizes**-2.0)

    @property
    def R(self) -> float:
        """Cost of the command [1 by its unit squared]."""
        return float(getattr(self, self.commanded) ** -2.0)

    def costs(self, model: SampledModel) -> tuple[Array, float]:
        """Cost of the states (n, n), drive and delay at no cost, and of the command."""
        Q = np.zeros_like(model.F)
        Q[BICYCLE_PART, BICYCLE_PART] = self.Q
        return Q, self.R


@dataclass(frozen=True)
class Weights(StateWeights):
    """Weights of the LQR of a steer torque: those of `StateWeights`, and that of the torque.

    Parameters
    ----------
    T_delta : float
        Steer torque [N m]; 0.5 by default, as Peterson's.
    """

    T_delta: float = 0.5
    commanded: ClassVar[str] = "T_delta"

    @classmethod
    def parse(cls, given: Mapping[str, float]) -> "Weights":
        """Weights from names and values; a name ending in ``_deg`` is in degrees (or degrees per second).

        Raises
        ------
        InputError
            A name is unknown, or a value is not a number above 0.
        """
        known = {item.name for item in fields(cls)}
        angles = known - {"T_delta"}
        values = {}
        for name, value in given.items():
            plain = str(name).removesuffix("_deg")
            if plain not in (angles if name != plain else known):
                wanted = ", ".join([*(f"{item.name}[_deg]" for item in fields(cls) if item.name in angles), "T_delta"])
                raise InputError(f"an LQR weight is one of {wanted}, found {name!r}")
            if plain in values:
                raise InputError(f"the LQR weight {plain} is given twice, as {plain} and {plain}_deg: leave one out")
            try:
                values[plain] = radians(float(value)) if name != plain else float(value)
            except (TypeError, ValueError):
                raise InputError(f"the weight {name} must be a number above 0, found {value!r}") from None
        return cls(**values)


def require_weights(weights: Any, what: str) -> None:
    """Refuse weights that are no number in range: raises InputError."""
    for name in (item.name for item in fields(weights)):
        value = getattr(weights, name)
        if not (is_number(value) and SMALLEST_WEIGHT <= value <= LARGEST_WEIGHT):
            raise InputError(
                f"the {what} {name} must be a number above 0, from {SMALLEST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, found {value!r}"
            )


def dlqr_gain(F: Array, G: Array, Q: Array, R: float) -> Array:
    """Gain K (n,) of u = -K z that minimises the sum of z'Qz + R u^2 for z[k+1] = F z[k] + G u[k].

    Parameters
    ----------
    F : (n, n) array
    G : (n,) array
    Q : (n, n) array
        Cost of the state, positive semi-definite.
    R : float
        Cost of the input, above 0.
    """
    P = solve_discrete_are(F, G[:, None], Q, [[R]])
    return G @ P @ F / (R + G @ P @ G)


@dataclass(frozen=True)
class LQR:
    """Discrete LQR on the whole sampled loop: bicycle, drive and delay; the last two cost nothing.

    Parameters
    ----------
    weights : Weights or mapping
        Largest acceptable values; a mapping such as {"phi_deg": 2, "T_delta": 0.5} is read by ``Weights.parse``.
    """

    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        if isinstance(self.weights, Mapping):
            object.__setattr__(self, "weights", Weights.parse(self.weights))
        elif not isinstance(self.weights, Weights):
            raise InputError(f"LQR wants its weights by name, such as phi_deg = 2, found {self.weights!r}")

    def gains(self, bicycle: Bicycle, v: float, model: SampledModel) -> tuple[Array, str]:
        """Six gains at speed ``v`` [m/s] and a note.

        Raises
        ------
        InputError
            An unstable mode is out of reach of the steer torque.
        """
        return quadratic_gains(bicycle, v, model, self.weights)


def quadratic_gains(bicycle: Bicycle, v: float, model: SampledModel, weights: StateWeights) -> tuple[Array, str]:
    """Gains of the least quadratic cost at one speed, and no note.

    Parameters
    ----------
    bicycle, v, model
        As of `LQR.gains`, or a model of another drive.
    weights : StateWeights

    Raises
    ------
    InputError
        As of `LQR.gains`.
    """
    require_stabilisable(bicycle, v)
    try:
        return model.widen(dlqr_gain(model.F, model.G, *weights.costs(model))), ""
    except LinAlgError as error:
        raise InputError(
            f"LQR found no gains for {bicycle.name} at {v:g} m/s ({error}): leave this speed out or change the weights"
        ) from None
