"""The nonlinear Whipple model as the plant wants it: constraints on its motion, pushes, and its instruments.

The plant's state gives roll, steer, their rates and the speed; pitch and the other speeds follow
(`models.nonlinear.nonlinear`). The kernel's coordinates, speeds and accelerations lie in the plant's state record, so
that nothing is allocated: :func:`place` fills the first two, :func:`accelerations` the third.

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
from numba import njit

from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.linear.path import PSI, Y_P
from models.nonlinear import nonlinear
from models.nonlinear.nonlinear import PITCH, REAR, ROLL, STEER, YAW, X, Y
from models.plant.environment import weight_out_of_place


@njit(cache=True, nogil=True)
def place(p, s, x, v):
    """Bring the kernel's coordinates and speeds to the plant's state `x` at speed `v` (m/s)."""
    q, u = s.q, s.u
    q[X], q[Y], q[YAW], q[ROLL], q[STEER] = 0.0, x[Y_P], x[PSI], x[PHI], x[DELTA]
    guess = q[PITCH] if np.isfinite(q[PITCH]) else p.tilt  # after a state in which the wheels cannot both touch ground
    q[PITCH] = nonlinear.pitch(p.nonlinear, x[PHI], x[DELTA], guess)
    u[ROLL], u[STEER], u[REAR] = x[PHI_DOT], x[DELTA_DOT], -v / p.rR
    nonlinear.dependent_speeds(p.nonlinear, q, u)


@njit(cache=True, nogil=True)
def accelerations(p, s, v_dot, T_phi, T_rear, T_delta):
    """Lean, steer (rad/s^2) and forward acceleration (m/s^2) at the coordinates of `place` under the torques (N m).

    `v_dot` is the forward acceleration where the speed is kept. Leaves all eight in ``s.u_dot``.
    """
    T, u_dot, more = s.torque, s.u_dot, s.column
    T[0], T[1], T[2] = T_phi, T_rear, T_delta
    nonlinear.accelerations(p.nonlinear, s.q, s.u, T, u_dot)
    if not p.surroundings.coasting:
        T[1] += 1.0
        nonlinear.accelerations(p.nonlinear, s.q, s.u, T, more)
        further = (-v_dot / p.rR - u_dot[REAR]) / (more[REAR] - u_dot[REAR])  # N m, keeps the speed
        T[1] += further - 1.0
        for i in range(u_dot.size):
            u_dot[i] += further * (more[i] - u_dot[i])
    return u_dot[ROLL], u_dot[STEER], -p.rR * u_dot[REAR]


@njit(cache=True, nogil=True)
def in_yaw_frame(p, q, x, z):
    """The lengths x' and h of the point (x, z) of the rear frame, m; see the module."""
    pitched = q[PITCH] - p.tilt
    c, s = np.cos(pitched), np.sin(pitched)
    return c * x + s * (z + p.rR), c * (z + p.rR) - s * x - p.rR


@njit(cache=True, nogil=True)
def push(p, s, force, x, z):
    """Lean, rear wheel and steer torque (N m) of a lateral `force` (N) at (x, z) of the rear frame.

    Each is the force times the lateral speed of its point per unit of one independent speed; the
    rear contact itself has none.
    """
    return (
        force * lateral_speed(p, s, ROLL, x, z),
        force * lateral_speed(p, s, REAR, x, z),
        force * lateral_speed(p, s, STEER, x, z),
    )


@njit(cache=True, nogil=True)
def lateral_speed(p, s, i, x, z):
    """Lateral speed of the point (x, z) per unit of the independent speed `i`, m."""
    u, phi = s.column, s.q[ROLL]
    u[ROLL] = u[REAR] = u[STEER] = 0.0
    u[i] = 1.0
    nonlinear.dependent_speeds(p.nonlinear, s.q, u)
    ahead, h = in_yaw_frame(p, s.q, x, z)
    return u[YAW] * ahead - np.cos(phi) * h * u[ROLL] + np.sin(phi) * ahead * u[PITCH]


@njit(cache=True, nogil=True)
def unbalance(p, s):
    """Lean and steer torque (N m) of the masses out of place."""
    return weight_out_of_place(p.surroundings, s.q[ROLL], s.q[STEER], p.sin_tilt)


@njit(cache=True, nogil=True)
def track(s):
    """Rates of heading, lateral and forward position."""
    return s.u[YAW], s.u[Y], s.u[X]


@njit(cache=True, nogil=True)
def front_contact(p, x):
    """Lateral position of the front contact, m, near upright; the belt's edge needs it no better."""
    return x[Y_P] + p.w * np.sin(x[PSI]) - p.c * np.cos(p.tilt) * np.sin(x[DELTA]) * np.cos(x[PSI])


@njit(cache=True, nogil=True)
def stand_still(p, s, x):
    """Held or fallen in the motion `x`: no speeds, no accelerations."""
    place(p, s, x, 0.0)
    if not np.isfinite(s.q[PITCH]):  # fallen so far that no pitch brings both wheels to the ground
        s.q[PITCH] = p.tilt
    for i in range(s.u.size):
        s.u[i] = s.u_dot[i] = 0.0


@njit(cache=True, nogil=True)
def report(p, s):
    """Add to ``s.status`` what `models.nonlinear.nonlinear.status` says of the accelerations last found.

    A lateral force on the frame is not known there; while one acts, the lateral forces of the ground are not right.
    """
    s.status |= nonlinear.status(p.nonlinear, s.q, s.u, s.torque, p.surroundings.grip)


@njit(cache=True, nogil=True)
def read(p, s, a_belt, out):
    """Write what the inertial instruments would feel on a belt that accelerates by `a_belt` (m/s^2).

    Exact kinematics of a point of the rear frame, along the axes of that frame.
    """
    q, u, u_dot = s.q, s.u, s.u_dot
    phi_dot, theta_dot, psi_dot = u[ROLL], u[PITCH], u[YAW]
    phi_ddot, theta_ddot, psi_ddot = u_dot[ROLL], u_dot[PITCH], u_dot[YAW]
    sin, cos = np.sin(q[ROLL]), np.cos(q[ROLL])
    x, h = in_yaw_frame(p, q, p.instruments.x_imu, p.instruments.z_imu)
    x_dot, h_dot = (h + p.rR) * theta_dot, -x * theta_dot
    x_ddot, h_ddot = h_dot * theta_dot + (h + p.rR) * theta_ddot, -x_dot * theta_dot - x * theta_ddot
    y, y_dot = -sin * h, -cos * phi_dot * h - sin * h_dot
    turning = phi_dot**2 * h - h_ddot
    leaning = phi_ddot * h + 2.0 * phi_dot * h_dot
    y_ddot, z_ddot = sin * turning - cos * leaning, -cos * turning - sin * leaning

    # the contact rolls at -rR (theta' + rear wheel's rate): the wheel turns with the frame and in it
    v_contact, a_contact = -p.rR * (theta_dot + u[REAR]), -p.rR * (theta_ddot + u_dot[REAR])
    v_x, v_y = v_contact + x_dot - psi_dot * y, psi_dot * x + y_dot
    f_x = a_contact + x_ddot - psi_ddot * y - psi_dot * y_dot - psi_dot * v_y - a_belt * np.cos(q[YAW])
    f_y = psi_ddot * x + psi_dot * x_dot + y_ddot + psi_dot * v_x + a_belt * np.sin(q[YAW])
    f_z = z_ddot - p.g

    pitched = q[PITCH] - p.tilt
    out.theta_dot = theta_dot + psi_dot * sin
    out.phi_dot, out.psi_dot = pitch_back(pitched, phi_dot, psi_dot * cos)
    out.a_y = cos * f_y + sin * f_z
    out.a_x, out.a_z = pitch_back(pitched, f_x, cos * f_z - sin * f_y)


@njit(cache=True, nogil=True)
def pitch_back(pitched, x, z):
    """Components of a vector (x, z) of the leaning frame along axes pitched nose up from it by `pitched` (rad)."""
    c, s = np.cos(pitched), np.sin(pitched)
    return c * x - s * z, s * x + c * z
