"""Linear Whipple model as the plant wants it (Meijaard et al. 2007, eq. 5.3), at the speed of the moment.

The part of dv/dt in the lateral dynamics is left out, as everywhere in this project. A lateral force
F on the rear frame at (x, z) does the virtual work F (delta y_P + x delta psi - z delta phi). With
the rear contact fixed (delta y_P = 0) and the frame yawing as the steer turns (delta psi = mu delta
delta with mu = c cos(lam) / w, from the heading equation in `riderless.models.linear.path`) the generalised forces are
T_phi = -z F and T_delta = mu x F.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.linear.path import PSI, Y_P
from riderless.models.plant import sensors
from riderless.models.plant.environment import weight_out_of_place


@njit(cache=True, nogil=True)
def accelerations(p, x, v, v_dot, T_phi, T_rear, T_delta):
    """Lean, steer (rad/s^2) and forward acceleration (m/s^2) under given torques.

    Parameters
    ----------
    p : PLANT_PARAMETERS record
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    v_dot : float
        Forward acceleration where the speed is kept, m/s^2.
    T_phi, T_rear, T_delta : float
        Lean, rear wheel and steer torque, N m.
    """
    if p.surroundings.coasting:
        v_dot = -T_rear / (p.rR * p.surroundings.mass)
    return (
        _lateral_acceleration(p, PHI, x, v, T_phi, T_delta),
        _lateral_acceleration(p, DELTA, x, v, T_phi, T_delta),
        v_dot,
    )


@njit(cache=True, nogil=True)
def _lateral_acceleration(p, i, x, v, T_phi, T_delta):
    """Row `i` of M^-1 (f - v C1 q' - (g K0 + v^2 K2) q), rad/s^2.

    Parameters
    ----------
    p : PLANT_PARAMETERS record
    i : int
        ``PHI`` or ``DELTA``.
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    T_phi, T_delta : float
        Lean and steer torque, N m.
    """
    return (
        p.M_inv[i, PHI] * T_phi
        + p.M_inv[i, DELTA] * T_delta
        - v * (p.C1[i, PHI] * x[PHI_DOT] + p.C1[i, DELTA] * x[DELTA_DOT])
        - (p.K0[i, PHI] + v * v * p.K2[i, PHI]) * x[PHI]
        - (p.K0[i, DELTA] + v * v * p.K2[i, DELTA]) * x[DELTA]
    )


@njit(cache=True, nogil=True)
def push(p, force, x, z):
    """Lean, rear wheel and steer torque (N m) of a lateral force on the rear frame.

    Parameters
    ----------
    p : PLANT_PARAMETERS record
    force : float
        N, positive to the right.
    x, z : float
        Point of the force, m forward of the rear contact and m below the ground.
    """
    return -z * force, 0.0, p.c * p.yaw * x * force


@njit(cache=True, nogil=True)
def unbalance(p):
    """Lean and steer torque (N m) of the masses out of place."""
    return weight_out_of_place(p.surroundings, 0.0, 0.0, p.sin_tilt)


@njit(cache=True, nogil=True)
def track(p, x, v):
    """Rates of heading, lateral and forward position, as in `riderless.models.linear.path`."""
    return (v * x[DELTA] + p.c * x[DELTA_DOT]) * p.yaw, v * x[PSI], v


@njit(cache=True, nogil=True)
def front_contact(p, x):
    """Lateral position of the front contact, m."""
    return x[Y_P] + x[PSI] / p.yaw * np.cos(p.tilt) - p.c * np.cos(p.tilt) * x[DELTA]


@njit(cache=True, nogil=True)
def read(p, s, x, x_dot, v, v_dot, a_belt, out):
    """Write what the inertial instruments would feel.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    x, x_dot : tuples
        Motion and its rate, in the order of `MOTION_STATES`.
    v, v_dot : float
        Forward speed, m/s, and its rate, m/s^2.
    a_belt : float
        Acceleration of the belt, m/s^2.
    out : READINGS record
        Written: rates and specific forces.
    """
    psi_dot, delta_ddot = x_dot[PSI], x_dot[DELTA_DOT]
    psi_ddot = (v * x[DELTA_DOT] + v_dot * x[DELTA] + p.c * delta_ddot) * p.yaw
    a_frame = v_dot - a_belt
    a_rear = v * psi_dot + (v_dot - a_frame) * x[PSI]  # y_P'' = (v psi)', along the axes of the frame
    if p.slip.active:
        psi_ddot += p.slip.yaw[0] * s.slip.rates[0] + p.slip.yaw[1] * s.slip.rates[1]
        a_rear += s.slip.rates[0]
    out.phi_dot, out.theta_dot, out.psi_dot = x[PHI_DOT], 0.0, psi_dot
    out.a_x, out.a_z = a_frame, -p.g
    out.a_y = sensors.lateral_force(p.instruments, a_rear, psi_ddot, x_dot[PHI_DOT], x[PHI], p.g)
