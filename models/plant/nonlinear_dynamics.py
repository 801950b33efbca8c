"""Nonlinear dynamics of the emulated bicycle.

Whipple model with constraints on its motion, pushes, and instruments. The plant's state gives roll, steer, their rates
and the speed; pitch and the other speeds follow (`riderless.models.nonlinear.equations`). The kernel's coordinates,
speeds and accelerations lie in the plant's state record, so that nothing is allocated: :func:`place` fills the first
two, :func:`accelerations` the third.

Whoever keeps the speed (a belt, a person on the pedals) does it through the rear wheel: the accelerations are affine in
its torque, and the torque is the one that gives the wanted acceleration of the wheel.

Points of the rear frame are given as in the upright bicycle: x forward of the rear contact, z down. In the
yaw frame (heading, right, down, at the rear contact), with the frame pitched by theta from upright and
leant by phi, such a point lies at

    p = (x', -sin(phi) h, cos(phi) h),   x' = cos(theta) x + sin(theta) (z + rR),
                                         h = cos(theta) (z + rR) - sin(theta) x - rR,

and as the frame pitches at theta_dot they change at (h + rR) theta_dot and -x' theta_dot.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import (
    DELTA,
    DELTA_DOT,
    PHI,
    PHI_DOT,
    Q_DELTA,
    Q_PHI,
    Q_PSI,
    Q_THETA,
    Q_THETA_R,
    Q_X,
    Q_Y,
    REAR_TORQUE,
    ROLL_TORQUE,
    STEER_TORQUE,
)
from riderless.models.linear.path import PSI, Y_P
from riderless.models.nonlinear import equations
from riderless.models.plant.environment import rolling_share, weight_out_of_place


@njit(cache=True, nogil=True)
def place(p, s, x, v):
    """Bring the kernel's coordinates and speeds to the plant's motion.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
        Coordinates ``q`` and speeds ``u`` of the state are written.
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    """
    q, u = s.q, s.u
    q[Q_X], q[Q_Y], q[Q_PSI], q[Q_PHI], q[Q_DELTA] = 0.0, x[Y_P], x[PSI], x[PHI], x[DELTA]
    guess = q[Q_THETA] if np.isfinite(q[Q_THETA]) else p.tilt  # after a state whose wheels cannot both touch ground
    q[Q_THETA] = equations.pitch(p.nonlinear, x[PHI], x[DELTA], guess)
    u[Q_PHI], u[Q_DELTA], u[Q_THETA_R] = x[PHI_DOT], x[DELTA_DOT], -v / p.rR
    equations.dependent_speeds(p.nonlinear, q, u)


@njit(cache=True, nogil=True)
def accelerations(p, s, v_dot, T_phi, T_rear, T_delta):
    """Lean, steer (rad/s^2) and forward acceleration (m/s^2) at the coordinates of `place` under given torques.

    Leaves all eight in ``s.u_dot``.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    v_dot : float
        Forward acceleration where the speed is kept, m/s^2.
    T_phi, T_rear, T_delta : float
        Lean, rear wheel and steer torque, N m.
    """
    T, u_dot, more = s.torque, s.u_dot, s.column
    T[ROLL_TORQUE], T[REAR_TORQUE], T[STEER_TORQUE] = T_phi, T_rear, T_delta
    equations.accelerations(p.nonlinear, s.q, s.u, T, u_dot)
    if not p.surroundings.coasting:
        T[REAR_TORQUE] += 1.0
        equations.accelerations(p.nonlinear, s.q, s.u, T, more)
        further = (-v_dot / p.rR - u_dot[Q_THETA_R]) / (more[Q_THETA_R] - u_dot[Q_THETA_R])  # N m, keeps the speed
        T[REAR_TORQUE] += further - 1.0
        for i in range(u_dot.size):
            u_dot[i] += further * (more[i] - u_dot[i])
    return u_dot[Q_PHI], u_dot[Q_DELTA], -p.rR * u_dot[Q_THETA_R]


@njit(cache=True, nogil=True)
def _in_yaw_frame(p, q, x, z):
    """Lengths x' and h [m] of a point of the rear frame; see the module.

    Parameters
    ----------
    p : PLANT_PARAMETERS record
    q : (8,) array
        Coordinates of the kernel.
    x, z : float
        Point of the upright bicycle, m forward of the rear contact and m below the ground.
    """
    pitched = q[Q_THETA] - p.tilt
    c, s = np.cos(pitched), np.sin(pitched)
    return c * x + s * (z + p.rR), c * (z + p.rR) - s * x - p.rR


@njit(cache=True, nogil=True)
def push(p, s, force, x, z):
    """Lean, rear wheel and steer torque (N m) of a lateral force on the rear frame.

    Each is the force times the lateral speed of its point per unit of one independent speed; the
    rear contact itself has none.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    force : float
        N, positive to the right.
    x, z : float
        Point of the force, m forward of the rear contact and m below the ground.
    """
    return (
        force * _lateral_speed(p, s, Q_PHI, x, z),
        force * _lateral_speed(p, s, Q_THETA_R, x, z),
        force * _lateral_speed(p, s, Q_DELTA, x, z),
    )


@njit(cache=True, nogil=True)
def _lateral_speed(p, s, i, x, z):
    """Lateral speed of a point of the rear frame per unit of one independent speed, m.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    i : int
        Independent speed: ``Q_PHI``, ``Q_THETA_R`` or ``Q_DELTA``.
    x, z : float
        Point, m forward of the rear contact and m below the ground.
    """
    u, phi = s.column, s.q[Q_PHI]
    u[Q_PHI] = u[Q_THETA_R] = u[Q_DELTA] = 0.0
    u[i] = 1.0
    equations.dependent_speeds(p.nonlinear, s.q, u)
    ahead, h = _in_yaw_frame(p, s.q, x, z)
    return u[Q_PSI] * ahead - np.cos(phi) * h * u[Q_PHI] + np.sin(phi) * ahead * u[Q_THETA]


@njit(cache=True, nogil=True)
def along_road(p, s, v, a_belt):
    """Lean, rear wheel and steer torque (N m) of rolling resistance, air and an accelerating belt.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    v : float
        Forward speed, m/s.
    a_belt : float
        Acceleration of the belt, m/s^2: along it all masses feel an inertial force.
    """
    q, u, around, share = s.q, s.u, p.surroundings, rolling_share(v)
    rear, front = share * around.rolling_rear, share * around.rolling_front
    lean, rim, steer = equations.rolling_forces(p.nonlinear, q, rear, front, around.rolling_axis)
    if around.air != 0.0:
        x, h = _in_yaw_frame(p, q, around.x_wind, around.z_wind)
        sin, cos = np.sin(q[Q_PHI]), np.cos(q[Q_PHI])
        point = (x, -sin * h, cos * h)
        more = equations.frame_drag(p.nonlinear, q, u, point, around.air)
        lean, rim, steer = lean + more[0], rim + more[1], steer + more[2]
    if a_belt != 0.0:
        more = equations.inertial_forces(p.nonlinear, q, a_belt * np.cos(q[Q_PSI]), -a_belt * np.sin(q[Q_PSI]))
        lean, rim, steer = lean + more[0], rim + more[1], steer + more[2]
    return lean, -p.rR * rim, steer


@njit(cache=True, nogil=True)
def unbalance(p, s):
    """Lean and steer torque (N m) of the masses out of place."""
    return weight_out_of_place(p.surroundings, s.q[Q_PHI], s.q[Q_DELTA], p.sin_tilt)


@njit(cache=True, nogil=True)
def track(s):
    """Rates of heading, lateral and forward position."""
    return s.u[Q_PSI], s.u[Q_Y], s.u[Q_X]


@njit(cache=True, nogil=True)
def front_contact(p, x):
    """Lateral position of the front contact, m, near upright; the belt's edge needs it no better."""
    return x[Y_P] + p.w * np.sin(x[PSI]) - p.c * np.cos(p.tilt) * np.sin(x[DELTA]) * np.cos(x[PSI])


@njit(cache=True, nogil=True)
def stand_still(p, s, x):
    """Set speeds and accelerations to zero for a bicycle held or fallen in the motion `x`."""
    place(p, s, x, 0.0)
    if not np.isfinite(s.q[Q_THETA]):  # fallen so far that no pitch brings both wheels to the ground
        s.q[Q_THETA] = p.tilt
    for i in range(s.u.size):
        s.u[i] = s.u_dot[i] = 0.0


@njit(cache=True, nogil=True)
def report(p, s):
    """Add to ``s.status`` what `riderless.models.nonlinear.equations.status` says of the accelerations last found.

    A lateral force on the frame is not known there; while one acts, the lateral forces of the ground are not right.
    """
    s.status |= equations.status(p.nonlinear, s.q, s.u, s.torque, p.surroundings.grip)


@njit(cache=True, nogil=True)
def read(p, s, a_belt, out):
    """Write what the inertial instruments would feel: kinematics of a point of the rear frame, along its axes.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    a_belt : float
        Acceleration of the belt, m/s^2.
    out : READINGS record
        Written: rates and specific forces.
    """
    q, u, u_dot = s.q, s.u, s.u_dot
    phi_dot, theta_dot, psi_dot = u[Q_PHI], u[Q_THETA], u[Q_PSI]
    phi_ddot, theta_ddot, psi_ddot = u_dot[Q_PHI], u_dot[Q_THETA], u_dot[Q_PSI]
    sin, cos = np.sin(q[Q_PHI]), np.cos(q[Q_PHI])
    x, h = _in_yaw_frame(p, q, p.instruments.x_imu, p.instruments.z_imu)
    x_dot, h_dot = (h + p.rR) * theta_dot, -x * theta_dot
    x_ddot, h_ddot = h_dot * theta_dot + (h + p.rR) * theta_ddot, -x_dot * theta_dot - x * theta_ddot
    y, y_dot = -sin * h, -cos * phi_dot * h - sin * h_dot
    turning = phi_dot**2 * h - h_ddot
    leaning = phi_ddot * h + 2.0 * phi_dot * h_dot
    y_ddot, z_ddot = sin * turning - cos * leaning, -cos * turning - sin * leaning

    # the contact rolls at -rR (theta' + rear wheel's rate): the wheel turns with the frame and in it
    v_contact, a_contact = -p.rR * (theta_dot + u[Q_THETA_R]), -p.rR * (theta_ddot + u_dot[Q_THETA_R])
    v_x, v_y = v_contact + x_dot - psi_dot * y, psi_dot * x + y_dot
    f_x = a_contact + x_ddot - psi_ddot * y - psi_dot * y_dot - psi_dot * v_y - a_belt * np.cos(q[Q_PSI])
    f_y = psi_ddot * x + psi_dot * x_dot + y_ddot + psi_dot * v_x + a_belt * np.sin(q[Q_PSI])
    f_z = z_ddot - p.g

    pitched = q[Q_THETA] - p.tilt
    out.theta_dot = theta_dot + psi_dot * sin
    out.phi_dot, out.psi_dot = _pitch_back(pitched, phi_dot, psi_dot * cos)
    out.a_y = cos * f_y + sin * f_z
    out.a_x, out.a_z = _pitch_back(pitched, f_x, cos * f_z - sin * f_y)


@njit(cache=True, nogil=True)
def _pitch_back(pitched, x, z):
    """Components of a vector (x, z) of the leaning frame along axes pitched nose up from it by `pitched` (rad)."""
    c, s = np.cos(pitched), np.sin(pitched)
    return c * x - s * z, s * x + c * z
