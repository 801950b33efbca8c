"""Loop part: heading and place.

They follow from the bicycle, and the tracker estimates them. The tracker's matrices are read off its compiled functions
by small steps. Fixes come more seldom than samples and late, but their corrections are made for the time between them
and in the state of their own time, so that errors die with the same eigenvalues as if a fix came with every sample, at
once: that is what stands here.
"""

import numpy as np

from riderless.hil.design.loop_parts.instruments import yaw_rate
from riderless.hil.loop.place.tracker import PLACE, move_on, shift_place, third_order_gains
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI
from riderless.models.linear.path import GROUND_STATES, LATERAL_STATES, PSI, Y_P
from riderless.models.linear.perturbed import Variant

TRACKED = ("psi", "y", "bias", "psi_dot")  # of PLACE, that the tracker remembers
LANE_PLANT_STATES = ("psi", "y_P")  # of the bicycle, behind its others
LANE_STATES_TRACKED = tuple(f"{name}_place" for name in TRACKED)
LANE_PART_STATES = (*LANE_PLANT_STATES, *LANE_STATES_TRACKED)
LANE_TOLD = {  # to a law, by its signal
    "psi": LANE_PART_STATES.index("psi_place"),
    "y_P": LANE_PART_STATES.index("y_place"),
}
USUAL_STARTS = ((0.1, 0.0, 0.1, 0.0, 0.0, 0.0), (0.0, 0.15, 0.0, 0.15, 0.0, 0.0))  # rad, m: where a window begins
_SMALL = 1e-6  # of a difference quotient: the tracker is not linear far from the lane


def lane_system(plant: Variant, v: float) -> tuple[Array, Array]:
    """Matrix (6, 6) and column of a torque (6,) of the bicycle as it really is with heading and place."""
    bicycle, by_torque = plant.system(v)
    n = len(GROUND_STATES)
    A, b = np.zeros((n, n)), np.zeros(n)
    A[LATERAL_STATES, LATERAL_STATES], b[LATERAL_STATES] = bicycle, by_torque
    A[PSI, LATERAL_STATES] = yaw_rate(plant, v)
    A[Y_P, PSI] = plant.speed_scale * v
    return A, b


def _tracker_maps(settings: np.void, v: float) -> tuple[Array, Array]:
    """Matrices of the compiled tracker: ``p_next = E p + S (psi_dot, phi, target)``, (4, 4) and (4, 3).

    The inputs are yaw rate and lean as estimated and the place [m] of what the sensor sees.

    Parameters
    ----------
    settings : record of PLACE_SETTINGS
    v : float
        Forward speed that the loop goes by [m/s].
    """
    columns = []
    for i in range(len(TRACKED) + 3):
        p, signals = np.zeros(1, PLACE)[0], np.zeros(3)
        if i < len(TRACKED):
            p[TRACKED[i]] = _SMALL
        else:
            signals[i - len(TRACKED)] = _SMALL
        psi_dot, phi, target = signals.tolist()
        dt = float(settings["dt"])
        move_on(settings, p, dt, v, psi_dot, phi, 0.0, False)
        r = target - float(p["target"])
        gains = third_order_gains(float(settings["bandwidth"]), dt, v)
        shift_place(settings, p, 0, dt, v, *(gain * r for gain in gains))
        columns.append([float(p[name]) / _SMALL for name in TRACKED])
    maps = np.array(columns).T
    return maps[:, : len(TRACKED)], maps[:, len(TRACKED) :]


def fix_noise(settings: np.void, v: float, sigma: float) -> Array:
    """Change (6,) of `LANE_PART_STATES` by the noise of one fix.

    Parameters
    ----------
    settings : record of PLACE_SETTINGS
    v : float
        Forward speed that the loop goes by [m/s].
    sigma : float
        Standard deviation [m] of a fix, if one came with every sample.
    """
    _, S = _tracker_maps(settings, v)
    return np.concatenate([np.zeros(len(LANE_PLANT_STATES)), sigma * S[:, -1]])


def track(whole: Array, settings: np.void, v: float, lane: slice, estimates: tuple[int, ...], own: bool = True) -> None:
    """Fill the tracker's rows of a map over one sample, from those of the estimates just made.

    Parameters
    ----------
    whole : (m, n) array
        Filled; row m of it is what the state m becomes.
    settings : record of PLACE_SETTINGS
    v : float
        Forward speed that the loop goes by [m/s].
    lane : slice
        Where `LANE_PART_STATES` stand in it.
    estimates : tuple of int
        Where yaw rate and lean as estimated stand in it.
    own : bool
        Its columns are the states too; else they are something from outside, which the place does not feel.
    """
    E, S = _tracker_maps(settings, v)
    rows = slice(lane.start + len(LANE_PLANT_STATES), lane.stop)
    target = np.zeros(whole.shape[1])
    if own:
        target[lane.start], target[lane.start + 1] = settings["x"], 1.0
        target[PHI] = -settings["z"]
    whole[rows] = S @ np.vstack([whole[list(estimates)], target])
    if own:
        whole[rows, rows] += E
