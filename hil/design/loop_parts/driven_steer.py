"""Loop part: bicycle under a servo steer drive.

The drive obeys a steer rate or angle and has a lag of its torque.
"""

import numpy as np

from riderless.hil.controllers.timing import LoopTiming
from riderless.hil.design.sampled_plant import SampledModel, delayed
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA_DOT
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.prescribed_steer import InnerLoop, inner_torque

DRIVE_INTEGRAL = "drive_integral"  # rad, of the rate's error in a PI


def sample_driven(
    plant: Variant,
    v: float,
    loop: InnerLoop,
    timing: LoopTiming,
    system: tuple[Array, Array] | None = None,
    states: tuple[str, ...] = BICYCLE_STATES,
) -> SampledModel:
    """Sample the bicycle, the torque of its drive and the integral of a PI: (x, T_drive, e, u_prev).

    Parameters
    ----------
    plant : Variant
        Machine as it really is; the drive was tuned for the bicycle as designed.
    v : float
        Measured forward speed [m/s].
    loop : InnerLoop
    timing : LoopTiming
        Rate, delay, and the lag of the torque, above 0.
    system : ((n, n), (n,)) or None
        Bicycle and column of a torque where it has further states behind its four; None: it has not.
    states : tuple of n str
        Names of x.
    """
    bicycle, by_torque = system or plant.system(v)
    per_state, per_command = inner_torque(plant, loop)
    n, four, lag = len(by_torque), len(BICYCLE_STATES), timing.drive_lag
    size = n + 1 + loop.integrates
    A, B = np.zeros((size, size)), np.zeros((size, 1))
    A[:n, :n], A[:n, n] = bicycle, by_torque
    A[n, :four], A[n, n], B[n] = per_state[:four] / lag, -1.0 / lag, per_command / lag
    if loop.integrates:
        A[n, n + 1] = per_state[four] / lag
        A[n + 1, DELTA_DOT], B[n + 1] = -1.0, 1.0
    F, G = delayed(A, B, timing)
    names = (*states, "T_drive", DRIVE_INTEGRAL)[: len(A)]
    return SampledModel(F, G, names + ("u_prev",) * (len(F) - len(names)), timing.dt)


def settled_drive(plant: Variant, v: float, loop: InnerLoop, commands: Array) -> Array:
    """Torque, and integral of a PI, in each unit state of the bicycle: (1 or 2, 4).

    A PI holds the steer's rate as it is; the two others make the torque of the present error.

    Parameters
    ----------
    plant : Variant
    v : float
        Measured forward speed [m/s].
    loop : InnerLoop
    commands : (4,) array
        In each of these states, rad/s or rad.
    """
    bicycle, by_torque = plant.system(v)
    per_state, per_command = inner_torque(plant, loop)
    n = len(BICYCLE_STATES)
    if not loop.integrates:
        return (per_state + per_command * commands)[np.newaxis]
    T = -bicycle[DELTA_DOT] / by_torque[DELTA_DOT]
    return np.vstack([T, (T - per_state[:n]) / per_state[n]])
