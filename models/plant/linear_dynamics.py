"""Linear dynamics of the emulated bicycle.

Whipple model (Meijaard et al. 2007, eq. 5.3) at the speed of the moment. What dv/dt and forces along the road do to the
balance is derived in `riderless.models.linear.road_forces`. A lateral force F on the rear frame at (x, z) does the
virtual work F (delta y_P + x delta psi - z delta phi). With the rear contact fixed (delta y_P = 0) and the frame yawing
as the steer turns (delta psi = mu delta delta with mu = c cos(lam) / w, from the heading equation in
`riderless.models.linear.path`) the generalised forces are T_phi = -z F and T_delta = mu x F.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.linear.path import PSI, Y_P
from riderless.models.plant import sensors
from riderless.models.plant.environment import rolling_share, weight_out_of_place


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
    T_phi -= v_dot * p.Ka[PHI] * x[DELTA]
    T_delta -= v_dot * p.Ka[DELTA] * x[DELTA]
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
def along_road(p, x, v, a_belt):
    """Lean, rear wheel and steer torque (N m) of rolling resistance, air and an accelerating belt.

    Parameters
    ----------
    p : PLANT_PARAMETERS record
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    a_belt : float
        Acceleration of the belt, m/s^2: its inertial force is a slope's.
    """
    around, delta = p.surroundings, x[DELTA]
    rolling, drag = rolling_share(v), around.air * v * abs(v)
    psi_dot = (v * delta + p.c * x[DELTA_DOT]) * p.yaw
    across = -around.air * abs(v) * (around.x_wind * psi_dot - around.z_wind * x[PHI_DOT])
    T_phi, _, T_delta = push(p, across, around.x_wind, around.z_wind)
    ahead = drag * p.c * p.yaw * around.z_wind * delta
    T_phi += ahead - rolling * p.K_rolling[PHI, DELTA] * delta
    T_delta += ahead * p.sin_tilt
    T_delta -= rolling * (p.K_rolling[DELTA, PHI] * x[PHI] + p.K_rolling[DELTA, DELTA] * delta)
    T_phi += a_belt * (p.Ks[PHI] * delta + p.Ps[PHI] * x[PSI])
    T_delta += a_belt * (p.Ks[DELTA] * delta + p.Ps[DELTA] * x[PSI])
    return T_phi, p.rR * (rolling * around.rolling + drag), T_delta


@njit(cache=True, nogil=True)
def unbalance(p):
    """Lean and steer torque (N m) of the masses out of place."""
    return weight_out_of_place(p.surroundings, 0.0, 0.0, p.sin_tilt)


@njit(cache=True, nogil=True)
def track(p, x, v):
    """Rates of heading, lateral and forward position; the heading may be large, as after turning round."""
    return (v * x[DELTA] + p.c * x[DELTA_DOT]) * p.yaw, v * np.sin(x[PSI]), v * np.cos(x[PSI])


@njit(cache=True, nogil=True)
def front_contact(p, x):
    """Lateral position of the front contact, m."""
    return x[Y_P] + p.w * np.sin(x[PSI]) - p.c * np.cos(p.tilt) * x[DELTA] * np.cos(x[PSI])


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
    a_frame = v_dot - a_belt * np.cos(x[PSI])
    a_rear = v * psi_dot + a_belt * np.sin(x[PSI])
    if p.slip.active:
        psi_ddot += p.slip.yaw[0] * s.slip.rates[0] + p.slip.yaw[1] * s.slip.rates[1]
        a_rear += s.slip.rates[0]
    out.phi_dot, out.theta_dot, out.psi_dot = x[PHI_DOT], 0.0, psi_dot
    out.a_x, out.a_z = a_frame, -p.g
    out.a_y = sensors.lateral_force(p.instruments, a_rear, psi_ddot, x_dot[PHI_DOT], x[PHI], p.g)
