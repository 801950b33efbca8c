"""The emulated machine: bicycle, steer drive, instruments and whoever pushes it, stepped in time.

Everything that moves is compiled: :func:`advance` and :func:`read` work on two structured arrays of
one element, the parameters ``p`` (only read) and the state ``s``, and can be called from compiled
code. :class:`Plant` fills the two and is the door for ordinary Python.

The bicycle is the linear Whipple model (Meijaard et al. 2007, eq. 5.3) at the speed the profile gives
at each instant; what dv/dt itself adds to the lateral dynamics is left out, as everywhere in this
project. On a treadmill the belt takes the speed and the frame stands still, so its accelerometer
does not feel dv/dt; on the floor it does. All else is the same (Galileo), and ``y_P`` on a treadmill
is the lateral position relative to the belt.

Integration is RK4 with steps of at most 1 ms that never straddle an event (a command arriving, an
edge of a kick, a corner of the speed profile, the steer coming to rest), with the drive's lag taken
exactly: the error is below 1e-9. Only the instants at which dry friction starts to hold and breaks
away are found less exactly, to a fraction of a step.

A lateral hand force F on the rear frame at (x, z) does the virtual work F (delta y_P + x delta psi -
z delta phi). With the rear contact fixed (delta y_P = 0) and the frame yawing as the steer turns
(delta psi = mu delta delta with mu = c cos(lam) / w, from the heading equation in `models.ground`) the
generalised forces are T_phi = -z F and T_delta = mu x F.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from models import actuator, sensors
from models.actuator import INSTANT, Drive
from models.coordinates import DELTA, DELTA_DOT, PHI, PHI_DOT
from models.errors import InputError
from models.ground import PSI, Y_P
from models.integrate import ahead, rk4
from models.parameters import Bicycle
from models.plant_records import KICK_STEPS, LINEAR, initial, pack
from models.scenario import DELTA_MAX, PHI_MAX, Kick, Scenario
from models.sensors import READINGS, Instruments

__all__ = ["Drive", "Instruments", "Kick", "Plant", "Scenario", "advance", "read"]


@njit(cache=True, nogil=True)
def accelerations(p, x, v, T_phi, T_delta):
    """Lean and steer acceleration (rad/s^2) in state `x` at speed `v` under the torques (N m)."""
    if p.model == LINEAR:
        lean = linear_acceleration(p, PHI, x, v, T_phi, T_delta)
        return lean, linear_acceleration(p, DELTA, x, v, T_phi, T_delta)
    raise ValueError("the plant was given parameters of a model it does not know")


@njit(cache=True, nogil=True)
def linear_acceleration(p, i, x, v, T_phi, T_delta):
    """Row `i` of M^-1 (f - v C1 q' - (g K0 + v^2 K2) q), Meijaard et al. (2007) eq. 5.3."""
    return (
        p.M_inv[i, 0] * T_phi
        + p.M_inv[i, 1] * T_delta
        - v * (p.C1[i, 0] * x[PHI_DOT] + p.C1[i, 1] * x[DELTA_DOT])
        - (p.K0[i, 0] + v * v * p.K2[i, 0]) * x[PHI]
        - (p.K0[i, 1] + v * v * p.K2[i, 1]) * x[DELTA]
    )


@njit(cache=True, nogil=True)
def speed_at(p, s, t):
    """Forward speed (m/s) and its rate (m/s^2) at time `t`, on the present segment of the profile."""
    if s.held:
        return p.speed[0, 1], 0.0
    corner = p.speed[s.segment]
    return corner[1] + corner[2] * (t - s.t_release - corner[0]), corner[2]


@njit(cache=True, nogil=True)
def motion(s):
    """The motion at present as a tuple: phi, delta, phi_dot, delta_dot, psi, y_P."""
    return s.x[PHI], s.x[DELTA], s.x[PHI_DOT], s.x[DELTA_DOT], s.x[PSI], s.x[Y_P]


@njit(cache=True, nogil=True)
def applied_torques(p, s, t, T):
    """T_phi and T_delta (N m) at time `t` from hand, noise and a drive reporting `T`; without friction."""
    T_phi, T_delta = 0.0, p.drive.gain * T + s.T_noise
    if s.kick < p.n_kicks:
        begin, end = p.kicks[s.kick, 0], p.kicks[s.kick, 1]
        tau = t - s.t_release
        if begin < tau < end:
            share = np.sin(np.pi * (tau - begin) / (end - begin))
            T_phi += share * p.kicks[s.kick, 2]
            T_delta += share * p.kicks[s.kick, 3]
    return T_phi, T_delta


@njit(cache=True, nogil=True)
def holding_torque(p, x, v, T_phi, T_delta):
    """Further steer torque (N m) that would leave the steer unaccelerated; any model is affine in it."""
    _, without = accelerations(p, x, v, T_phi, T_delta)
    _, with_one = accelerations(p, x, v, T_phi, T_delta + 1.0)
    return -without / (with_one - without)


@njit(cache=True, nogil=True)
def slipping(p, s, x):
    """Side to which the steer slips at present: +1, -1, or 0 where dry friction holds it."""
    if p.drive.coulomb == 0.0:
        return 1.0
    v, _ = speed_at(p, s, s.t)
    T_phi, T_delta = applied_torques(p, s, s.t, s.drive.T)
    return actuator.slipping(p.drive, x[DELTA_DOT], holding_torque(p, x, v, T_phi, T_delta))


@njit(cache=True, nogil=True)
def derivative(p, s, t, x, T, side):
    """Time derivative of the motion `x` at time `t`, the drive reporting `T`, the steer slipping to `side`.

    Heading and lateral position follow as in `models.ground`.
    """
    v, _ = speed_at(p, s, t)
    T_phi, T_delta = applied_torques(p, s, t, T)
    T_delta += actuator.friction(p.drive, x[DELTA_DOT], side)
    if side == 0.0:
        T_delta += holding_torque(p, x, v, T_phi, T_delta)
    phi_ddot, delta_ddot = accelerations(p, x, v, T_phi, T_delta)
    if side == 0.0:
        delta_ddot = 0.0  # not to rounding only, or the axis would creep
    psi_dot = (v * x[DELTA] + p.c * x[DELTA_DOT]) * p.yaw
    return x[PHI_DOT], x[DELTA_DOT], phi_ddot, delta_ddot, psi_dot, v * x[PSI]


@njit(cache=True, nogil=True)
def after(p, s, x, side, h):
    """The motion `h` seconds from now, if the steer goes on slipping to `side`."""
    t, half = s.t, 0.5 * h
    T0, T1, T2 = actuator.torque_nodes(p.drive, s.drive, h)
    k1 = derivative(p, s, t, x, T0, side)
    k2 = derivative(p, s, t + half, ahead(x, half, k1), T1, side)
    k3 = derivative(p, s, t + half, ahead(x, half, k2), T1, side)
    k4 = derivative(p, s, t + h, ahead(x, h, k3), T2, side)
    return rk4(x, h, k1, k2, k3, k4)


@njit(cache=True, nogil=True)
def move(p, s, h):
    """Move the bicycle on by `h` seconds, or less if the steer comes to rest; return the time taken."""
    x = motion(s)
    side = slipping(p, s, x)
    y = after(p, s, x, side, h)
    rests = p.drive.coulomb > 0.0 and side * y[DELTA_DOT] < 0.0  # it turned round, so it was at rest between
    if rests and x[DELTA_DOT] != 0.0:
        h *= x[DELTA_DOT] / (x[DELTA_DOT] - y[DELTA_DOT])
        y = after(p, s, x, side, h)
    s.x[PHI], s.x[DELTA], s.x[PHI_DOT], s.x[DELTA_DOT], s.x[PSI], s.x[Y_P] = y
    if rests:
        s.x[DELTA_DOT] = 0.0
    if abs(s.x[PHI]) > PHI_MAX or abs(s.x[DELTA]) > DELTA_MAX:
        s.fallen = 1
        s.x[PHI_DOT] = s.x[DELTA_DOT] = 0.0
    return h


@njit(cache=True, nogil=True)
def to_next_event(p, s):
    """Note which commands, kicks and corners of the profile are past; return the time to the next, s.

    A kick is gone through in steps that resolve it, however short it is.
    """
    actuator.obey(p.drive, s.drive, s.t)
    wait = actuator.next_due(s.drive) - s.t
    if s.held:
        return wait
    tau = s.t - s.t_release + INSTANT
    while s.segment + 1 < p.n_speed and p.speed[s.segment + 1, 0] <= tau:
        s.segment += 1
    while s.kick < p.n_kicks and p.kicks[s.kick, 1] <= tau:
        s.kick += 1
    if s.segment + 1 < p.n_speed:
        wait = min(wait, p.speed[s.segment + 1, 0] - tau + INSTANT)
    if s.kick < p.n_kicks:
        begin, end = p.kicks[s.kick, 0], p.kicks[s.kick, 1]
        if tau < begin:
            return min(wait, begin - tau + INSTANT)
        return min(wait, end - tau + INSTANT, (end - begin) / KICK_STEPS)
    return wait


@njit(cache=True, nogil=True)
def hold_or_release(p, s, enabled, dt):
    """Let the person act on what the drive has done so far: release the bicycle, or catch it."""
    if enabled:
        s.disabled_for = 0.0
    else:
        s.enabled_for = 0.0
    if s.held and enabled and s.enabled_for >= p.release_after - INSTANT:
        s.held, s.t_release, s.segment, s.kick = 0, s.t, 0, 0
        s.x[:4] = p.x0
    elif s.driven and not enabled and s.disabled_for >= p.catch_after - INSTANT:
        s.held, s.fallen, s.driven = 1, 0, 0
        s.x[:] = 0.0
    if enabled:
        s.enabled_for += dt
        s.driven = 1
    else:
        s.disabled_for += dt


@njit(cache=True, nogil=True)
def advance(p, s, T_cmd, enabled, dt):
    """Carry the machine on by `dt` seconds with one command.

    Parameters
    ----------
    p : (1,) array of PARAMETERS
        Only read.
    s : (1,) array of STATE
        Changed in place.
    T_cmd : float
        Steer torque commanded now, N m, positive steers right. One that is not finite counts as 0.
    enabled : bool
        Is the drive to make torque? If not, `T_cmd` is ignored.
    dt : float
        s; nothing moves when it is not positive. The person releases or catches at its start.
    """
    p, s = p[0], s[0]
    hold_or_release(p, s, enabled, dt)
    actuator.latch(p.drive, s.drive, s.t, T_cmd, enabled)
    if p.torque_noise > 0.0:
        s.T_noise = p.torque_noise * sensors.normal(s.noise)
    t_end = s.t + dt
    while s.t < t_end - INSTANT:
        h = min(t_end - s.t, p.step, to_next_event(p, s))
        if not (s.held or s.fallen):
            h = move(p, s, h)
        s.drive.T = actuator.torque_after(p.drive, s.drive, h)
        s.t += h
    s.t = max(s.t, t_end)


@njit(cache=True, nogil=True)
def read(p, s, out):
    """Take one sample of the instruments.

    Parameters
    ----------
    p : (1,) array of PARAMETERS
        Only read.
    s : (1,) array of STATE
        Its noise and latency move on; the motion does not.
    out : (1,) array of READINGS
        Written.
    """
    p, s, out = p[0], s[0], out[0]
    v, v_dot = speed_at(p, s, s.t)
    x, psi_dot, phi_ddot, psi_ddot = motion(s), 0.0, 0.0, 0.0
    if not (s.held or s.fallen):
        _, _, phi_ddot, delta_ddot, psi_dot, _ = derivative(p, s, s.t, x, s.drive.T, slipping(p, s, x))
        psi_ddot = (v * x[DELTA_DOT] + v_dot * x[DELTA] + p.c * delta_ddot) * p.yaw
    a_frame = v_dot if p.floor else 0.0
    a_rear = v * psi_dot + (v_dot - a_frame) * x[PSI]  # y_P'' = (v psi)', along the axes of the frame
    out.phi_dot, out.theta_dot, out.psi_dot = x[PHI_DOT], 0.0, psi_dot
    out.a_x, out.a_z = a_frame, -p.g
    out.a_y = sensors.lateral_force(p.instruments, a_rear, psi_ddot, phi_ddot, x[PHI], p.g)
    out.delta, out.wheel_rate, out.T = x[DELTA], v / p.rR, s.drive.T
    sensors.measure(p.instruments, s.instruments, out)


class Plant:
    """A bicycle that can be driven and read, as the microcontroller on it would.

    Parameters
    ----------
    bicycle : Bicycle
    scenario : Scenario
    drive : Drive
    instruments : Instruments
    model : str
        Equations of motion, a name in ``MODELS``.

    Attributes
    ----------
    p, s : (1,) arrays of PARAMETERS and STATE
        For compiled callers of :func:`advance` and :func:`read`.

    Raises
    ------
    InputError
        An unknown model, or a rear wheel of no radius.
    """

    def __init__(
        self,
        bicycle: Bicycle,
        scenario: Scenario = Scenario(),
        drive: Drive = Drive(),
        instruments: Instruments = Instruments(),
        model: str = "linear",
    ) -> None:
        self.p = pack(bicycle, scenario, drive, instruments, model)
        self.s = initial(scenario)
        self._readings = np.zeros(1, READINGS)

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        """Carry the machine on by `dt` (s) with the steer torque `T_cmd` (N m) commanded; see `advance`."""
        if not 0.0 < dt < np.inf:
            raise InputError(f"the plant can be advanced by a positive number of seconds, found {dt} s")
        advance(self.p, self.s, float(T_cmd), bool(enabled), float(dt))

    def read(self) -> np.void:
        """One sample of the instruments: a new ``READINGS`` record."""
        read(self.p, self.s, self._readings)
        return self._readings.copy()[0]

    @property
    def state(self) -> NDArray:
        """True state [phi, delta, phi_dot, delta_dot], rad and rad/s; a copy."""
        return self.s["x"][0, :4].copy()

    @property
    def psi(self) -> float:
        """True heading, rad, positive to the right."""
        return float(self.s["x"][0, PSI])

    @property
    def y_P(self) -> float:
        """True lateral position of the rear contact, m, positive to the right."""
        return float(self.s["x"][0, Y_P])

    @property
    def v(self) -> float:
        """True forward speed, m/s."""
        return float(speed_at(self.p[0], self.s[0], self.t)[0])

    @property
    def T(self) -> float:
        """Torque the drive reports, N m; what it makes is `Drive.gain` times that."""
        return float(self.s["drive"]["T"][0])

    @property
    def t(self) -> float:
        """Time since the beginning, s."""
        return float(self.s["t"][0])

    @property
    def released(self) -> bool:
        """Is the bicycle free of the person who holds it?"""
        return not self.s["held"][0]

    @property
    def fallen(self) -> bool:
        """Has it leant beyond 45 deg or steered beyond 60 deg? It then lies still."""
        return bool(self.s["fallen"][0])
