"""Calibration of the sensors, with standard errors.

A person holds, leans, turns and rolls the machine. Rows are of TICK. Their readings come in the axes of the bicycle, by
the calibration the loop ran with; the sensor's own reading is computed back from that calibration, which need not be
right for it. Standard errors come from the means of `MEAN_BATCHES` batches, so that a hand that trembles slowly is
counted in full. They do not know how upright "upright" was.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riderless.firmware_interface.calibration import Calibration
from riderless.models.array_types import Array

GYRO_CHANNELS = ("phi_dot_meas", "theta_dot_meas", "psi_dot_meas")
FORCE_CHANNELS = ("a_x_meas", "a_y_meas", "a_z_meas")
EARTH_GRAVITY = 9.81  # m/s^2
MEAN_BATCHES = 16  # whose scatter gives the standard error of a mean
MAX_TREMBLE = 0.03  # rad/s, standard deviation of a gyro on a bicycle that a person holds still
MAX_SLOW_TURN = math.radians(0.25)  # rad, by which the frame may turn while it is held still
MAX_STEER_CREEP = 0.01  # rad, over which the steer may wander while it is held
MAX_REST_RATE = 0.02  # rad/s, of a wheel at rest
MARK_ERROR = 0.01  # m, to which a person puts a wheel on a mark


class Estimate(NamedTuple):
    """Number or array of numbers, with one standard error each."""

    value: Any
    error: Any


@dataclass(frozen=True)
class _MountingCalibration:
    """Orientation of the inertial sensor on the bicycle.

    Attributes
    ----------
    rotation : (3, 3) array
        Bicycle axes from sensor axes, as in `Calibration`.
    error : (3,) array
        rad, about the bicycle's x, y and z.
    lean : float
        rad, how far it was leant, by gravity.
    lean_by_gyro : float
        rad, about the bicycle's x axis, from where the rows of the lean begin.
    gravity : (2,) array
        m/s^2, the size of the specific force, upright and leaning.
    """

    rotation: Array
    error: Array
    lean: float
    lean_by_gyro: float
    gravity: Array


@dataclass(frozen=True)
class _SteerCalibration:
    """Sign and offset of the steer, as in `Calibration`, and its stops to the right and left [rad]."""

    sign: int
    offset: Estimate
    right: float
    left: float


@dataclass(frozen=True)
class _WheelCalibration:
    """Sign and radius [m] of the measured wheel, and the angle it turned [rad, positive]."""

    sign: int
    radius: Estimate
    angle: float


def usable_rows(rows: np.ndarray) -> np.ndarray:
    """Select the rows with a fresh sample."""
    return rows[rows["valid"] == 1]


def last_rows(rows: np.ndarray, seconds: float) -> np.ndarray | None:
    """Select the last ``seconds`` of usable rows; None if there are not so many yet, or too many are missing."""
    new = usable_rows(rows)
    new = new[new["t"] > new["t"][-1] - seconds] if len(new) else new
    enough = len(new) > 2 * MEAN_BATCHES and new["t"][-1] - new["t"][0] > 0.95 * seconds
    return new if enough else None


def still_rows(rows: np.ndarray, seconds: float) -> np.ndarray | None:
    """Select the last ``seconds`` of usable rows; None if the frame trembled or turned in them.

    A slow turn would pass for an offset of the gyros, but gravity sees it.
    """
    new = last_rows(rows, seconds)
    if new is None or max(float(np.std(new[name])) for name in GYRO_CHANNELS) > MAX_TREMBLE:
        return None
    force = np.column_stack([new[name] for name in FORCE_CHANNELS])
    third = len(force) // 3
    turn = angle_between(force[:third].mean(axis=0), force[-third:].mean(axis=0))
    return new if turn < MAX_SLOW_TURN else None


def held_rows(rows: np.ndarray, seconds: float) -> np.ndarray | None:
    """Select the last ``seconds`` of usable rows; None if the steer moved in them."""
    new = last_rows(rows, seconds)
    return None if new is None or np.ptp(new["delta_meas"]) > MAX_STEER_CREEP else new


def sensor_axes(rows: np.ndarray, calibration: Calibration) -> tuple[Array, Array]:
    """Readings of gyros [rad/s] and accelerometers [m/s^2] in their own axes, offsets included; (n, 3) each."""
    mounting = np.array(calibration.mounting)
    gyro, force = (
        np.column_stack([rows[name] for name in names]).astype(float) for names in (GYRO_CHANNELS, FORCE_CHANNELS)
    )
    return gyro @ mounting + calibration.gyro_offset, force @ mounting + calibration.accel_offset


def batch_mean(values: Array) -> Estimate:
    """Mean over the first axis, with its standard error from the scatter of batch means."""
    means = np.array([batch.mean(axis=0) for batch in np.array_split(values, MEAN_BATCHES)])
    return Estimate(values.mean(axis=0), means.std(axis=0, ddof=1) / math.sqrt(MEAN_BATCHES))


def find_gyro_bias(rows: np.ndarray, calibration: Calibration) -> Estimate:
    """Mean reading of the gyros at rest, (3,) rad/s in sensor axes: the ``gyro_offset`` of `Calibration`."""
    return batch_mean(sensor_axes(rows, calibration)[0])


def find_mounting(
    upright: np.ndarray,
    leaning: np.ndarray,
    calibration: Calibration,
    way: np.ndarray | None = None,
    bias: Array | None = None,
) -> _MountingCalibration:
    """Find the sensor's axes from gravity, on the bicycle upright and leant to the right.

    Upright, the specific force points up: that gives z. The lean is about x, so x is normal to both forces
    (the method of two vectors; Black 1964).

    Parameters
    ----------
    upright, leaning : rows
        Held still.
    calibration : Calibration
        Whose mounting the rows have; its ``accel_offset`` is taken to be right.
    way : rows
        From upright to leaning, for the lean by gyro.
    bias : (3,) array
        rad/s, of the gyros, by default as calibrated.

    Raises
    ------
    ValueError
        When the two forces point the same way.
    """
    up, over = (batch_mean(sensor_axes(rows, calibration)[1] - calibration.accel_offset) for rows in (upright, leaning))
    z = -up.value / np.linalg.norm(up.value)
    x = -np.cross(up.value, over.value)
    if not np.linalg.norm(x) > 0.0:
        raise ValueError("gravity is the same in both positions")
    x /= np.linalg.norm(x)
    rotation = np.array([x, np.cross(z, x), z])
    lean = angle_between(up.value, over.value)
    gyro = np.zeros(0)
    if way is not None and len(way) > 1:
        gyro = (sensor_axes(way, calibration)[0] - (calibration.gyro_offset if bias is None else bias)) @ x
    noise_up, noise_over = (np.abs(_errors(rotation, e)) / np.linalg.norm(e.value) for e in (up, over))
    about_z = math.hypot(noise_over[0], noise_up[0] * math.cos(lean)) / math.sin(lean)
    return _MountingCalibration(
        rotation=rotation,
        error=np.array([noise_up[1], noise_up[0], about_z]),
        lean=lean,
        lean_by_gyro=float(np.trapezoid(gyro, way["t"])) if way is not None and len(gyro) else math.nan,
        gravity=np.array([np.linalg.norm(up.value), np.linalg.norm(over.value)]),
    )


def find_steer(
    straight: np.ndarray, right: np.ndarray, left: np.ndarray, calibration: Calibration
) -> _SteerCalibration:
    """Find zero, sign and stops of the steer.

    Parameters
    ----------
    straight, right, left : rows
        Of the bars held straight, at the right stop and at the left stop.
    calibration : Calibration
        By which the rows were read.
    """
    zero = batch_mean(straight["delta_meas"] + calibration.steer_offset)
    ends = [float(np.median(rows["delta_meas"])) + calibration.steer_offset - zero.value for rows in (right, left)]
    flip = 1 if ends[0] > ends[1] else -1
    return _SteerCalibration(
        sign=flip * calibration.steer_sign,
        offset=Estimate(flip * float(zero.value), float(zero.error)),
        right=flip * ends[0],
        left=flip * ends[1],
    )


def find_wheel(rows: np.ndarray, calibration: Calibration, distance: float) -> _WheelCalibration:
    """Find sign and radius of the measured wheel from rows of a roll-out over ``distance`` [m], at rest at both ends.

    Its error is that of putting a wheel on two marks, `MARK_ERROR` each.
    """
    angle = wheel_angle(rows, calibration)
    radius = distance / abs(angle)
    sign = calibration.wheel_sign * (1 if angle > 0.0 else -1)
    return _WheelCalibration(sign, Estimate(radius, radius * math.sqrt(2.0) * MARK_ERROR / distance), abs(angle))


def wheel_angle(rows: np.ndarray, calibration: Calibration) -> float:
    """Angle [rad] by which the measured wheel turned."""
    return float(np.trapezoid(rows["v_meas"], rows["t"])) / calibration.wheel_radius


def wheel_at_rest(rows: np.ndarray, calibration: Calibration, seconds: float) -> bool:
    """Tell whether the wheel has stood for the last ``seconds``."""
    new = last_rows(rows, seconds)
    return new is not None and float(np.abs(new["v_meas"]).mean()) < MAX_REST_RATE * calibration.wheel_radius


def angle_between(a: Array, b: Array) -> float:
    """Angle [rad] between two vectors."""
    return math.atan2(float(np.linalg.norm(np.cross(a, b))), float(a @ b))


def rotation_angle(rotation: Array) -> float:
    """Angle [rad] of a rotation matrix."""
    axis = np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    return math.atan2(float(np.linalg.norm(axis)), float(np.trace(rotation)) - 1.0)


def _errors(rotation: Array, estimate: Estimate) -> Array:
    """Standard errors along the axes that ``rotation`` leads to, (3,)."""
    return np.sqrt(rotation**2 @ np.square(estimate.error))
