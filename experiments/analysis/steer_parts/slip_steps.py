"""Side slip of both tyres, for machines that are ridden step by step: what it does to a linear machine of theory."""

from typing import NamedTuple

import numpy as np

from riderless.experiments.datatypes import Dynamics
from riderless.experiments.theory.process_noise import torque_map
from riderless.hil.design.closed_loop import MEASURED_CHANNELS, yaw_rate
from riderless.models.array_types import Array
from riderless.models.coordinates import PHI, STATES
from riderless.models.linear.path import lateral_forces
from riderless.models.linear.perturbed import Variant
from riderless.models.linear.side_slip import slip_balance

_SLIP_READ_BY = [MEASURED_CHANNELS.index("psi_dot_meas"), MEASURED_CHANNELS.index("a_y_meas")]
_LEAN, _STEER = range(2)


class SlipSteps(NamedTuple):
    """Numbers that a step of a machine with slipping tyres needs; matrices as of `models.linear.side_slip`."""

    P: Array
    R: Array
    admittance: Array
    across: Array
    loads: Array  # (2,) N; zero where the tyres of the machine cannot slip
    yaw: Array  # (2,) 1/m
    needed: Array  # (2, m) side forces of the machine without slip, rear and front
    lean: Array  # (m,) change per N m on the lean held over a step
    readings: Array  # (m, 2) change per unit read by yaw gyro and lateral accelerometer
    sideways: Array  # (2,) m/s^2 read per N m on lean and steer
    x_imu: float

    @property
    def possible(self) -> bool:
        """Tell whether both wheels carry a load, and theory says where a torque on the lean enters."""
        return bool(self.loads.min() > 0.0)


def slip_steps(dynamics: Dynamics, real: Variant, v: float, h: float) -> SlipSteps:
    """Steps of a machine of theory at a measured speed.

    Parameters
    ----------
    dynamics : Dynamics
    real : Variant
    v : float
        m/s.
    h : float
        Step [s], of continuous dynamics.
    """
    m, mechanics = len(dynamics.states), dynamics.mechanics
    still = np.zeros((2, 2))
    if mechanics is None:
        readings = np.zeros((m, 2))
        return SlipSteps(
            still,
            still,
            still,
            still,
            np.zeros(2),
            np.zeros(2),
            np.zeros((2, m)),
            np.zeros(m),
            readings,
            np.zeros(2),
            0.0,
        )
    found, bicycle = slip_balance(real.bicycle), real.bicycle
    A, b = real.system(v)
    b = b / real.drive_gain
    speed, unit = real.speed_scale * v, np.eye(len(STATES))
    nothing = np.zeros(len(STATES))
    needed = np.zeros((2, m))
    needed[:, : len(STATES)] = np.array(lateral_forces(bicycle, speed, unit, A.T))
    if dynamics.drive is not None:
        needed += np.outer(lateral_forces(bicycle, speed, nothing, b), dynamics.drive(v))
    readings = np.zeros((m, 2)) if mechanics.readings is None else mechanics.readings(v)[:, _SLIP_READ_BY]
    M_inv = np.linalg.inv(real.matrices(v)[0])
    yaw_by_steer = yaw_rate(real, v)[-1]
    sideways = mechanics.x_imu * yaw_by_steer * M_inv[_STEER] - mechanics.z_imu * M_inv[_LEAN]
    lean = np.ascontiguousarray(torque_map(dynamics, v, h)[1][:, PHI])
    return SlipSteps(
        *(found.P, found.R, found.admittance, found.across, found.loads, found.yaw),
        *(needed, lean, np.ascontiguousarray(readings), sideways, float(mechanics.x_imu)),
    )
