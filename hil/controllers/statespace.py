"""Matrices of a python-control `StateSpace`.

They are brought to the loop's rate. The library itself is not needed.
"""

from typing import Any

import numpy as np

from riderless.models.array_types import Array
from riderless.models.errors import InputError

DISCRETISATIONS = ("zoh", "foh", "tustin", "bilinear", "euler", "backward_diff", "impulse")


def discrete_matrices(system: Any, dt: float, discretisation: str | None = None) -> tuple[Array, Array, Array, Array]:
    """Take A (m, m), B (m, p), C (m,) and D (p,) from a system, at the sampling interval ``dt`` [s].

    Parameters
    ----------
    system : StateSpace
        With attributes A, B, C, D and dt, which is 0 where it is continuous.
    dt : float
        Of the loop [s].
    discretisation : str or None
        One of DISCRETISATIONS, for a continuous system.

    Raises
    ------
    InputError
    """
    try:
        A, B, C, D = (np.atleast_2d(np.asarray(getattr(system, name), float)) for name in "ABCD")
        interval = system.dt
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"wanted a StateSpace with A, B, C, D and dt, found {type(system).__name__}") from None
    if len(C) != 1:
        raise InputError(f"a controller has one output, the steer torque in N m, found a StateSpace of {len(C)}")
    if interval is None or interval is True:
        raise InputError(
            f"a StateSpace wants its sampling interval, found dt = {interval}: give dt = {dt:g} s, or 0 for continuous "
            "time"
        )
    if interval == 0:
        if discretisation not in DISCRETISATIONS:
            raise InputError(
                f"a continuous StateSpace wants a discretisation, one of {', '.join(DISCRETISATIONS)}, found "
                f"{discretisation!r}: say which"
            )
        from scipy.signal import cont2discrete  # takes a second to load, and few controllers are continuous

        A, B, C, D, _ = cont2discrete((A, B, C, D), dt, method=discretisation)
    elif abs(interval - dt) > 1e-6 * dt:
        raise InputError(
            f"the StateSpace is of {1.0 / interval:g} Hz, the loop runs at {1.0 / dt:g} Hz: design it for that rate"
        )
    return A, B, C[0], D[0]
