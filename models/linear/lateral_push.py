"""Lateral force as torques on lean and steer.

On either frame of the upright bicycle (Meijaard et al. 2007).
"""

from math import cos, sin

import numpy as np

from riderless.models.array_types import Array
from riderless.models.linear.whipple import totals
from riderless.models.parameters import Bicycle


def lateral_push(bicycle: Bicycle, x: float, z: float, front: bool = False) -> Array:
    """Lean and steer torque [N m] of a lateral force of 1 N to the right, the input of `input_matrix`.

    The torques are the lateral speed of the point per lean rate and per steer rate. Steering yaws the whole bicycle,
    by mu = c cos(lam) / w; a point of the front frame turns around the steer axis besides.

    Parameters
    ----------
    bicycle : Bicycle
    x, z : float
        Point of the force, m forward of the rear contact and m below the ground (negative above).
    front : bool
        The force acts on the front frame (handlebar, fork), not on the rear frame.
    """
    ahead = (x - bicycle.w - bicycle.c) * cos(bicycle.lam) - z * sin(bicycle.lam)  # of the steer axis
    return np.array([-z, totals(bicycle).mu * x + (ahead if front else 0.0)])
