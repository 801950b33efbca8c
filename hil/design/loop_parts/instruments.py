"""Loop part: readings of the instruments.

Gyros, encoder and accelerometer as functions of the loop's state.
"""

import math

import numpy as np

from riderless.hil.design.sampled_plant import BICYCLE_PART, LOOP_STATES, T_DRIVE
from riderless.models.array_types import Array
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.coordinates import STATES as BICYCLE_STATES
from riderless.models.linear.perturbed import Variant

MEASURED_CHANNELS = ("phi_dot_meas", "psi_dot_meas", "delta_meas", "a_y_meas")
_STEER_ENCODER, _LATERAL_FORCE = 2, 3
GYROS = slice(_STEER_ENCODER)


def instrument_map(plant: Variant, v: float, *, x_imu: float, z_imu: float, steer_age: float = 0.0) -> Array:
    """Output matrix from the plant's six states to gyros, encoder and accelerometer.

    Parameters
    ----------
    plant : Variant
    v : float
        Measured forward speed [m/s].
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    steer_age : float
        s, how much older the steer angle is than the inertial readings.

    Returns
    -------
    (4, 6)
        Rows as `MEASURED_CHANNELS`; f_y = v psi_dot + x_imu psi_ddot - z_imu phi_ddot - g phi.
    """
    n, unit = len(LOOP_STATES), np.eye(len(LOOP_STATES))
    rates = np.zeros((len(BICYCLE_STATES), n))
    rates[:, BICYCLE_PART], rates[:, T_DRIVE] = plant.system(v)
    psi_dot = np.zeros(n)
    psi_dot[BICYCLE_PART] = yaw_rate(plant, v)
    psi_ddot = yaw_rate(plant, v) @ rates
    H = np.zeros((len(MEASURED_CHANNELS), n))
    H[GYROS, BICYCLE_PART] = gyro_readings(plant, v)
    H[_STEER_ENCODER] = unit[DELTA] - steer_age * unit[DELTA_DOT] + 0.5 * steer_age**2 * rates[DELTA_DOT]
    H[_LATERAL_FORCE] = plant.speed_scale * v * psi_dot + x_imu * psi_ddot - z_imu * rates[PHI_DOT]
    H[_LATERAL_FORCE, PHI] -= plant.bicycle.g
    return H


def gyro_readings(plant: Variant, v: float) -> Array:
    """Rows of what the roll and the yaw gyro read on the four states, (2, 4)."""
    rates = np.array([np.eye(len(BICYCLE_STATES))[PHI_DOT], yaw_rate(plant, v)])
    return np.asarray(plant.gyros @ rates)


def yaw_rate(plant: Variant, v: float) -> Array:
    """Row of the yaw rate on the four states, (4,): psi_dot = (v delta + c delta_dot) cos(lam) / w."""
    row = np.zeros(len(BICYCLE_STATES))
    row[DELTA], row[DELTA_DOT] = plant.speed_scale * v, plant.bicycle.c
    return row * math.cos(plant.bicycle.lam) / plant.bicycle.w
