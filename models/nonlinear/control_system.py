"""Nonlinear bicycle as a python-control system."""

from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.coordinates import INPUTS, Q_NAMES
from riderless.models.nonlinear.equations import nonlinear_derivative
from riderless.models.nonlinear.parameters import pack_bicycle
from riderless.models.parameters import Bicycle

if TYPE_CHECKING:
    import control  # type: ignore[import-untyped,unused-ignore]

NONLINEAR_STATES = (*Q_NAMES, "phi_dot", "theta_R_dot", "delta_dot")
NONLINEAR_INPUTS = (INPUTS[0], "T_rear", INPUTS[1])


def nonlinear_system(bicycle: Bicycle) -> "control.NonlinearIOSystem":
    """Nonlinear bicycle as a python-control system, for its simulations, trims and linearisations.

    States and outputs are the coordinates and the three independent speeds of `riderless.models.coordinates`; inputs
    are T_phi, T_rear and T_delta [N m]. With ``q, u = initial_state(bicycle, v=5.0)`` a start is ``[*q, u[3], u[5],
    u[6]]``. The pitch is integrated like the others; `simulate_nonlinear` keeps the front wheel on the ground more
    exactly.
    """
    import control

    p = pack_bicycle(bicycle)

    def _rates(t: float, x: Array, u: Array, params: dict[str, Any]) -> Array:
        x_dot = np.zeros(len(NONLINEAR_STATES))
        nonlinear_derivative(p, np.ascontiguousarray(x, float), np.ascontiguousarray(u, float), x_dot)
        return x_dot

    return control.nlsys(
        _rates,
        None,
        states=list(NONLINEAR_STATES),
        inputs=list(NONLINEAR_INPUTS),
        outputs=list(NONLINEAR_STATES),
        name=bicycle.name.replace(".", "_"),
    )
