"""Motion of the emulated machine between events.

Forces, accelerations, one step.

Two models of the bicycle stand behind the same few functions here, chosen by ``p.model``: kernels that are handed a
function cannot be cached, so the choice is an ``if``. The state of the motion is a tuple of ten, in the order
of `MOTION_STATES`.
"""

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from riderless.models.linear.path import Y_P
from riderless.models.plant import linear_dynamics, nonlinear_dynamics, steer_drive
from riderless.models.plant.environment import contact
from riderless.models.plant.records import (
    CORNER_SLOPE,
    CORNER_SPEED,
    CORNER_TIME,
    KICK_BEGIN,
    KICK_END,
    KICK_FORCE,
    KICK_TORQUE,
    KICK_X,
    KICK_Z,
    LINEAR,
    ROTOR,
    ROTOR_DOT,
    V,
)
from riderless.models.plant.scenario import DELTA_MAX, PHI_MAX

UPRIGHT, LEANT, OFF_BELT = 0, 1, 2  # the cause of a fall


@njit(cache=True, nogil=True)
def _motion_euler_step(x, h, k):
    """State reached from `x` in `h` seconds at the constant slope `k`.

    Fixed-length tuples live in registers; small arrays made a step of the plant several times slower.
    """
    return (
        x[0] + h * k[0], x[1] + h * k[1], x[2] + h * k[2], x[3] + h * k[3], x[4] + h * k[4],
        x[5] + h * k[5], x[6] + h * k[6], x[7] + h * k[7], x[8] + h * k[8], x[9] + h * k[9],
    )  # fmt: skip


@njit(cache=True, nogil=True)
def motion(s):
    """Motion at present as a tuple in the order of `MOTION_STATES`."""
    x = s.x
    return x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9]


@njit(cache=True, nogil=True)
def _speed_profile(p, s, t):
    """Speed (m/s) of the profile and its rate (m/s^2) at time `t`, on its present segment."""
    if s.held:
        return p.speed[0, CORNER_SPEED], 0.0
    corner = p.speed[s.segment]
    slope = corner[CORNER_SLOPE]
    return corner[CORNER_SPEED] + slope * (t - s.t_release - corner[CORNER_TIME]), slope


@njit(cache=True, nogil=True)
def forward(p, s, t, x):
    """Forward speed (m/s), and its rate (m/s^2) where the speed is kept.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    t : float
        Time, s.
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    """
    v, v_dot = _speed_profile(p, s, t)
    if p.surroundings.coasting and not s.held:
        return x[V], 0.0
    return v, v_dot


@njit(cache=True, nogil=True)
def push(p, s, force, x, z):
    """Lean, rear wheel and steer torque (N m) of a lateral force on the rear frame.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    force : float
        N, positive to the right.
    x, z : float
        Point of the force, m forward of the rear contact and m below the ground.
    """
    if p.model == LINEAR:
        return linear_dynamics.push(p, force, x, z)
    return nonlinear_dynamics.push(p, s, force, x, z)


@njit(cache=True, nogil=True)
def loads(p, s, t, x, v, v_dot, T):
    """T_phi, T_rear and T_delta (N m) on the bicycle, without friction.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    t : float
        Time, s.
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    v_dot : float
        Forward acceleration where the speed is kept, m/s^2.
    T : float
        Torque that the drive passes on, N m.
    """
    around = p.surroundings
    T_phi, T_delta = linear_dynamics.unbalance(p) if p.model == LINEAR else nonlinear_dynamics.unbalance(p, s)
    T_phi += s.slip.torque[0] + contact(around.wheels, x[PHI], x[PHI_DOT])
    T_rear = 0.0
    T_delta += s.T_noise + contact(around.stops, x[DELTA], x[DELTA_DOT]) + s.tyre_torque + s.slip.torque[1]
    if p.drive.backlash == 0.0:
        T_delta += p.drive.gain * T
    else:
        T_delta -= contact(p.mesh, x[ROTOR] - x[DELTA], x[ROTOR_DOT] - x[DELTA_DOT])
    a_belt = 0.0 if p.floor else v_dot
    if around.rolling != 0.0 or around.air != 0.0 or a_belt != 0.0:
        if p.model == LINEAR:
            more = linear_dynamics.along_road(p, x, v, a_belt)
        else:
            more = nonlinear_dynamics.along_road(p, s, v, a_belt)
        T_phi, T_rear, T_delta = T_phi + more[0], T_rear + more[1], T_delta + more[2]
    wind = around.wind + s.gust
    if wind != 0.0:
        more = push(p, s, wind, around.x_wind, around.z_wind)
        T_phi, T_rear, T_delta = T_phi + more[0], T_rear + more[1], T_delta + more[2]
    if s.kick < p.n_kicks:
        kick, tau = s.push, t - s.t_release
        begin, end, torque = kick[KICK_BEGIN], kick[KICK_END], kick[KICK_TORQUE]
        force, x_hand, z_hand = kick[KICK_FORCE], kick[KICK_X], kick[KICK_Z]
        if begin < tau < end:
            share = np.sin(np.pi * (tau - begin) / (end - begin))
            more = push(p, s, share * force, x_hand, z_hand)
            T_phi, T_rear, T_delta = T_phi + more[0], T_rear + more[1], T_delta + more[2] + share * torque
    return T_phi, T_rear, T_delta


@njit(cache=True, nogil=True)
def accelerations(p, s, x, v, v_dot, T_phi, T_rear, T_delta):
    """Lean, steer (rad/s^2) and forward acceleration (m/s^2) under given torques.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    v_dot : float
        Forward acceleration where the speed is kept, m/s^2.
    T_phi, T_rear, T_delta : float
        Lean, rear wheel and steer torque, N m.
    """
    if p.model == LINEAR:
        return linear_dynamics.accelerations(p, x, v, v_dot, T_phi, T_rear, T_delta)
    return nonlinear_dynamics.accelerations(p, s, v_dot, T_phi, T_rear, T_delta)


@njit(cache=True, nogil=True)
def _holding_torque(p, s, x, v, v_dot, T_phi, T_rear, T_delta):
    """Further steer torque (N m) that would leave the steer unaccelerated; any model is affine in it.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    v : float
        Forward speed, m/s.
    v_dot : float
        Forward acceleration where the speed is kept, m/s^2.
    T_phi, T_rear, T_delta : float
        Lean, rear wheel and steer torque, N m.
    """
    _, without, _ = accelerations(p, s, x, v, v_dot, T_phi, T_rear, T_delta)
    _, with_one, _ = accelerations(p, s, x, v, v_dot, T_phi, T_rear, T_delta + 1.0)
    return -without / (with_one - without)


@njit(cache=True, nogil=True)
def steer_slip(p, s, x):
    """Side to which the steer slips at present: +1, -1, or 0 where dry friction holds it."""
    if p.drive.coulomb == 0.0:
        return 1.0
    if x[DELTA_DOT] != 0.0:
        return np.sign(x[DELTA_DOT])
    v, v_dot = forward(p, s, s.t, x)
    if p.model != LINEAR:
        nonlinear_dynamics.place(p, s, x, v)
    arriving = steer_drive.passed_on(p.drive, s.drive.passed, s.drive.T + s.drive.shift)
    T_phi, T_rear, T_delta = loads(p, s, s.t, x, v, v_dot, arriving)
    holding = _holding_torque(p, s, x, v, v_dot, T_phi, T_rear, T_delta)
    return steer_drive.slip_side(p.drive, x[DELTA_DOT], holding)


@njit(cache=True, nogil=True)
def motion_derivative(p, s, t, x, T, side):
    """Time derivative of the motion.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    t : float
        Time, s.
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    T : float
        Torque that the drive passes on, N m.
    side : float
        Side to which the steer slips, +1 or -1; 0 where dry friction holds it.
    """
    v, v_dot = forward(p, s, t, x)
    if p.model != LINEAR:
        nonlinear_dynamics.place(p, s, x, v)
    T_phi, T_rear, T_delta = loads(p, s, t, x, v, v_dot, T)
    T_delta += steer_drive.friction(p.drive, x[DELTA_DOT], side)
    if side == 0.0:
        T_delta += _holding_torque(p, s, x, v, v_dot, T_phi, T_rear, T_delta)
    phi_ddot, delta_ddot, v_dot = accelerations(p, s, x, v, v_dot, T_phi, T_rear, T_delta)
    if side == 0.0:
        delta_ddot = 0.0  # not to rounding only, or the axis would creep
    psi_dot, y_dot, x_dot = linear_dynamics.track(p, x, v) if p.model == LINEAR else nonlinear_dynamics.track(s)
    if p.slip.active:
        psi_dot += p.slip.yaw[0] * s.slip.now[0] + p.slip.yaw[1] * s.slip.now[1]
        y_dot += s.slip.now[0]
    rotor_ddot = 0.0
    if p.drive.backlash > 0.0:
        mesh = contact(p.mesh, x[ROTOR] - x[DELTA], x[ROTOR_DOT] - x[DELTA_DOT])
        rotor_ddot = (p.drive.gain * T + mesh) / p.drive.rotor
    return x[PHI_DOT], x[DELTA_DOT], phi_ddot, delta_ddot, psi_dot, y_dot, x_dot, v_dot, x[ROTOR_DOT], rotor_ddot


@njit(cache=True, nogil=True)
def after(p, s, x, side, h):
    """Motion a step from now (RK4), if the steer goes on slipping to its side.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    x : tuple
        Motion, in the order of `MOTION_STATES`.
    side : float
        Side to which the steer slips, +1 or -1; 0 where dry friction holds it.
    h : float
        Step, s.
    """
    t, half = s.t, 0.5 * h
    T0, T1, T2 = steer_drive.torque_nodes(p.drive, s.drive, h)
    k1 = motion_derivative(p, s, t, x, T0, side)
    k2 = motion_derivative(p, s, t + half, _motion_euler_step(x, half, k1), T1, side)
    k3 = motion_derivative(p, s, t + half, _motion_euler_step(x, half, k2), T1, side)
    k4 = motion_derivative(p, s, t + h, _motion_euler_step(x, h, k3), T2, side)
    return _motion_euler_step(
        _motion_euler_step(x, h / 6.0, _motion_euler_step(k1, 1.0, k4)), h / 3.0, _motion_euler_step(k2, 1.0, k3)
    )


@njit(cache=True, nogil=True)
def move(p, s, h):
    """Move the bicycle on by `h` seconds, or less if the steer comes to rest; return the time taken."""
    x = motion(s)
    side = steer_slip(p, s, x)
    y = after(p, s, x, side, h)
    rests = p.drive.coulomb > 0.0 and side * y[DELTA_DOT] < 0.0  # it turned round, so it was at rest between
    if rests and x[DELTA_DOT] != 0.0:
        h *= x[DELTA_DOT] / (x[DELTA_DOT] - y[DELTA_DOT])
        y = after(p, s, x, side, h)
    if not np.isfinite(y[0] + y[1] + y[2] + y[3] + y[4] + y[5] + y[6] + y[7] + y[8] + y[9]):
        s.fallen = LEANT  # thrown about beyond what numbers hold: it lies where it was
    else:
        s.x[0], s.x[1], s.x[2], s.x[3], s.x[4], s.x[5], s.x[6], s.x[7], s.x[8], s.x[9] = y
        s.fallen = fallen(p, y)
    if rests:
        s.x[DELTA_DOT] = 0.0
    if s.fallen:
        s.t_fall = s.t + h
        s.x[PHI_DOT] = s.x[DELTA_DOT] = s.x[ROTOR_DOT] = 0.0
    return h


@njit(cache=True, nogil=True)
def fallen(p, x):
    """Cause of the fall in the motion `x`, or ``UPRIGHT``."""
    if abs(x[PHI]) > PHI_MAX or abs(x[DELTA]) > DELTA_MAX:
        return LEANT
    half = p.surroundings.half_belt
    if half < np.inf:
        front = linear_dynamics.front_contact(p, x) if p.model == LINEAR else nonlinear_dynamics.front_contact(p, x)
        if abs(x[Y_P]) > half or abs(front) > half:
            return OFF_BELT
    return UPRIGHT
