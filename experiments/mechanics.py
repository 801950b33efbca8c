"""Mechanics behind linear dynamics: the bicycle, and where forces and readings enter, for large motions."""

from collections.abc import Callable
from dataclasses import dataclass

from riderless.models.array_types import Array
from riderless.models.parameters import Bicycle


@dataclass(frozen=True)
class Mechanics:
    """Mechanics of a machine whose small motions some `riderless.experiments.dynamics.Dynamics` describes.

    Attributes
    ----------
    bicycle : Bicycle
        Whose nonlinear equations of motion hold.
    matrices : callable
        Mass, damping and stiffness (2, 2) for lean and steer at a measured speed [m/s], SI: the bicycle's own, and
        whatever else the dynamics have there (springs, dampers, a continuous law of control).
    speed_scale : float
        True speed per measured speed.
    torque : (m,) array or None
        Row that gives the torque of the drive on the steer axis [N m] from the m states; None without a drive.
    readings : callable or None
        Change of the next state per unit of what each instrument, well mounted, reads, (m, 4), at a measured speed;
        columns as `riderless.hil.design.closed_loop.MEASURED_CHANNELS`. None where nothing is fed back by way of
        instruments.
    instruments : callable or None
        Matrix (4, m) from the states to those readings, at a measured speed.
    x_imu, z_imu : float
        Place of the inertial sensor on the rear frame [m].
    imu_pitch : float
        rad, of that sensor on the frame, nose up.
    """

    bicycle: Bicycle
    matrices: Callable[[float], tuple[Array, Array, Array]]
    speed_scale: float = 1.0
    torque: Array | None = None
    readings: Callable[[float], Array] | None = None
    instruments: Callable[[float], Array] | None = None
    x_imu: float = 0.0
    z_imu: float = 0.0
    imu_pitch: float = 0.0
