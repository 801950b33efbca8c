"""Emulated machine in time.

Bicycle, steer drive, instruments, surroundings and pushes.

Everything that moves is compiled: :func:`advance_plant` and :func:`read_plant` work on two structured arrays of
one element, the parameters ``p`` (only read) and the state ``s``, and can be called from compiled
code. :class:`Plant` fills the two and is the door for ordinary Python.

The bicycle is the linear Whipple model (`riderless.models.plant.linear_dynamics`) at the speed the profile gives at
each instant, or the nonlinear one (`riderless.models.plant.nonlinear_dynamics`). On a treadmill the belt takes the
speed and the frame stands still, so its accelerometer does not feel dv/dt; on the floor it does. At a steady speed all
else is the same (Galileo), and a belt that ramps acts as a slope. ``y_P`` on a treadmill is the lateral position
relative to the belt's middle.

Integration is RK4 with steps of at most 1 ms that never straddle an event (a command arriving, an
edge of a kick, a corner of the speed profile, the steer coming to rest), with the drive's lag taken
exactly: the error is below 1e-9. Only the instants at which dry friction starts to hold and breaks
away, and at which teeth, stops and training wheels touch, are found less exactly, to a fraction of a step.
"""

import numpy as np
from numpy.typing import NDArray

from riderless.firmware_interface.kernels import njit
from riderless.models.coordinates import DELTA, DELTA_DOT, PHI, Q_THETA
from riderless.models.errors import InputError
from riderless.models.linear.path import LATERAL_STATES, PSI, Y_P
from riderless.models.nonlinear.contact_forces import describe_status
from riderless.models.parameters import Bicycle
from riderless.models.plant import linear_dynamics, nonlinear_dynamics, sensors, side_slip, steer_drive, steer_servo
from riderless.models.plant.environment import Surroundings, next_gust
from riderless.models.plant.motion import forward, motion, motion_derivative, move, steer_slip
from riderless.models.plant.records import (
    CORNER_SPEED,
    CORNER_TIME,
    KICK_BEGIN,
    KICK_END,
    KICK_STEPS,
    LINEAR,
    MOTION_STATES,
    PLANT_MODELS,
    ROTOR,
    X_P,
    V,
    initial_plant_state,
    pack_kicks,
    pack_plant,
)
from riderless.models.plant.scenario import Kick, Knock, Scenario
from riderless.models.plant.sensors import READINGS, Instruments
from riderless.models.plant.side_slip import SideSlip
from riderless.models.plant.steer_drive import TIME_RESOLUTION, SteerDrive
from riderless.models.plant.tyres import FrontTyre, tyre_torque_after

__all__ = [
    "FrontTyre",
    "Instruments",
    "Kick",
    "Knock",
    "Plant",
    "Scenario",
    "SteerDrive",
    "Surroundings",
    "advance_plant",
    "read_plant",
]

NO_MOTION = (0.0,) * len(MOTION_STATES)
LEFT_BELT = "a wheel left the belt"
FALL_REASONS = ("", "it leant or steered too far", LEFT_BELT)  # what `PLANT_STATE.fallen` says


@njit(cache=True, nogil=True)
def _to_next_event(p, s, kicks):
    """Note which commands, kicks and corners of the profile are past; return the time to the next, s.

    A kick is gone through in steps that resolve it, however short it is.
    """
    steer_drive.obey(p.drive, s.drive, s.t)
    steer_drive.obey(p.servo.line, s.servo.line, s.t)
    wait = min(steer_drive.next_command_due(s.drive), steer_drive.next_command_due(s.servo.line)) - s.t
    if s.held:
        return wait
    tau = s.t - s.t_release + TIME_RESOLUTION
    while s.segment + 1 < p.n_speed and p.speed[s.segment + 1, CORNER_TIME] <= tau:
        s.segment += 1
    while s.kick < p.n_kicks and kicks[s.kick, KICK_END] <= tau:
        s.kick += 1
    if s.segment + 1 < p.n_speed:
        wait = min(wait, p.speed[s.segment + 1, CORNER_TIME] - tau + TIME_RESOLUTION)
    if s.kick < p.n_kicks:
        for i in range(s.push.size):  # an assignment of arrays compiles 50 functions for the words of its error
            s.push[i] = kicks[s.kick, i]
        begin, end = s.push[KICK_BEGIN], s.push[KICK_END]
        if tau < begin:
            return min(wait, begin - tau + TIME_RESOLUTION)
        return min(wait, end - tau + TIME_RESOLUTION, (end - begin) / KICK_STEPS)
    return wait


@njit(cache=True, nogil=True)
def _hold_or_release(p, s, enabled, dt):
    """Let the person act on what the drive has done so far: release the bicycle, or catch it.

    Parameters
    ----------
    p, s : PLANT_PARAMETERS and PLANT_STATE records
    enabled : bool
        True if the drive makes torque from now on.
    dt : float
        s, for how long.
    """
    if enabled:
        s.disabled_for = 0.0
    else:
        s.enabled_for = 0.0
    if s.held and enabled and s.enabled_for >= p.release_after - TIME_RESOLUTION:
        s.held, s.t_release, s.segment, s.kick, s.status = 0, s.t, 0, 0, 0
        for i in range(p.x0.size):
            s.x[i] = p.x0[i]
        s.x[V], s.x[ROTOR] = p.speed[0, CORNER_SPEED], p.x0[DELTA]
        s.q[Q_THETA] = p.tilt
    elif s.driven and not enabled and s.disabled_for >= p.catch_after - TIME_RESOLUTION:
        s.held, s.fallen, s.driven = 1, 0, 0
        s.x[:] = 0.0
    if enabled:
        s.enabled_for += dt
        s.driven = 1
    else:
        s.disabled_for += dt


@njit(cache=True, nogil=True)
def _derivative_now(p, s):
    """Time derivative of the motion at present."""
    T = steer_drive.passed_on(p.drive, s.drive.passed, s.drive.T + s.drive.shift)
    x = motion(s)
    return motion_derivative(p, s, s.t, x, T, steer_slip(p, s, x))


@njit(cache=True, nogil=True)
def _roll_tyre(p, s, h):
    """Let the front tyre roll on for `h` seconds; in a person's hands and on its side it is at ease."""
    if s.held or s.fallen:
        s.tyre_torque = 0.0
        return
    x = motion(s)
    v, _ = forward(p, s, s.t, x)
    s.tyre_torque = tyre_torque_after(p.tyre, s.tyre_torque, h, v, x, _derivative_now(p, s))


@njit(cache=True, nogil=True)
def _slip_tyres(p, s, h):
    """Let the tyres slip sideways for `h` seconds; in a person's hands and on its side they grip."""
    if s.held or s.fallen:
        side_slip.grip_again(s.slip)
        return
    x = motion(s)
    v, _ = forward(p, s, s.t, x)
    side_slip.slip_on(p.slip, s.slip, h, v, x, _derivative_now(p, s))


@njit(cache=True, nogil=True)
def advance_plant(p, s, kicks, T_cmd, enabled, dt):
    """Carry the machine on by `dt` seconds with one command.

    Parameters
    ----------
    p : (1,) array of PLANT_PARAMETERS
        Only read.
    s : (1,) array of PLANT_STATE
        Changed in place.
    kicks : (n, 6) array
        Of the scenario, KICK_BEGIN ...; only read.
    T_cmd : float
        Commanded now, positive to the right: steer torque [N m], or rate [rad/s] or angle [rad] of a drive of that
        kind. A torque or rate that is not finite counts as 0, an angle is ignored.
    enabled : bool
        Is the drive to make torque? If not, `T_cmd` is ignored.
    dt : float
        s; nothing moves when it is not positive. The person releases or catches at its start.
    """
    p, s = p[0], s[0]
    _hold_or_release(p, s, enabled, dt)
    if p.servo.kind == steer_servo.TORQUE_DRIVE:
        steer_drive.latch(p.drive, s.drive, s.t, T_cmd, enabled)
    else:
        steer_servo.tell(p.servo, s.servo, s.t, T_cmd, enabled, s.x[DELTA], s.x[DELTA_DOT])
    if p.torque_noise > 0.0:
        s.T_noise = p.torque_noise * sensors.next_normal(s.noise)
    if p.surroundings.gusts > 0.0:
        s.gust = next_gust(p.surroundings, s.gust, s.weather, dt)
    t_end = s.t + dt
    while s.t < t_end - TIME_RESOLUTION:
        h = min(t_end - s.t, p.step, _to_next_event(p, s, kicks))
        if p.servo.kind != steer_servo.TORQUE_DRIVE:
            steer_servo.drive_steer(p, s, h)
        if not (s.held or s.fallen):
            h = move(p, s, h)
        steer_drive.carry_on(p.drive, s.drive, h, s.held or s.fallen)
        if p.tyre.active:
            _roll_tyre(p, s, h)
        if p.slip.active:
            _slip_tyres(p, s, h)
        s.t += h
    s.t = max(s.t, t_end)


@njit(cache=True, nogil=True)
def read_plant(p, s, out):
    """Take one sample of the instruments.

    Parameters
    ----------
    p : (1,) array of PLANT_PARAMETERS
        Only read.
    s : (1,) array of PLANT_STATE
        Its noise and latency move on, and its status; the motion does not.
    out : (1,) array of READINGS
        Written.
    """
    p, s, out = p[0], s[0], out[0]
    x = motion(s)
    v, v_dot = forward(p, s, s.t, x)
    a_belt = 0.0 if p.floor else v_dot
    still = s.held or s.fallen
    x_dot = NO_MOTION if still else _derivative_now(p, s)
    if p.surroundings.coasting:
        v_dot = x_dot[V]
    if p.model == LINEAR:
        linear_dynamics.read(p, s, x, x_dot, v, v_dot, a_belt, out)
    else:
        if still:
            nonlinear_dynamics.stand_still(p, s, x)
        else:
            nonlinear_dynamics.report(p, s)
        nonlinear_dynamics.read(p, s, a_belt, out)
    out.delta, out.wheel_rate, out.T = x[DELTA], v / p.rR, s.drive.T
    sensors.apply_instruments(p.instruments, s.instruments, s.t, out)


class Plant:
    """Emulated bicycle that is driven and read as the microcontroller on it would.

    Parameters
    ----------
    bicycle : Bicycle
    scenario : Scenario
    drive : SteerDrive
    instruments : Instruments
    model : str
        Equations of motion, a name in `riderless.models.plant.records.PLANT_MODELS`.
    surroundings : Surroundings
    tyre : FrontTyre
    slip : SideSlip

    Attributes
    ----------
    p, s : (1,) arrays of PLANT_PARAMETERS and PLANT_STATE
        For compiled callers of :func:`advance_plant` and :func:`read_plant`.
    kicks : (n, 6) array
        For the former.

    Raises
    ------
    InputError
        An unknown model, or a rear wheel of no radius.
    """

    def __init__(
        self,
        bicycle: Bicycle,
        scenario: Scenario = Scenario(),
        drive: SteerDrive = SteerDrive(),
        instruments: Instruments = Instruments(),
        model: str = "linear",
        surroundings: Surroundings = Surroundings(),
        tyre: FrontTyre = FrontTyre(),
        slip: SideSlip = SideSlip(),
    ) -> None:
        self.p = pack_plant(bicycle, scenario, drive, instruments, model, surroundings, tyre, slip)
        self.s = initial_plant_state(bicycle, scenario)
        self.kicks = pack_kicks(scenario)
        self._readings = np.zeros(1, READINGS)

    def __repr__(self) -> str:
        model = next(name for name, number in PLANT_MODELS.items() if number == self.p["model"][0])
        now = "fallen" if self.fallen else "free" if self.released else "held"
        return f"Plant({model}, t={self.t:.4g} s, v={self.v:.4g} m/s, {now})"

    def advance(self, T_cmd: float, enabled: bool, dt: float) -> None:
        """Carry the machine on by `dt` (s) with `T_cmd` commanded (N m, or rad/s, rad); see `advance_plant`."""
        if not 0.0 < dt < np.inf:
            raise InputError(f"the plant can be advanced by a positive number of seconds, found {dt} s")
        advance_plant(self.p, self.s, self.kicks, float(T_cmd), bool(enabled), float(dt))

    def read(self) -> np.void:
        """One sample of the instruments: a new ``READINGS`` record."""
        read_plant(self.p, self.s, self._readings)
        return self._readings.copy()[0]

    @property
    def state(self) -> NDArray:
        """True state [phi, delta, phi_dot, delta_dot], rad and rad/s; a copy."""
        return self.s["x"][0, LATERAL_STATES].copy()

    @property
    def phi(self) -> float:
        """True lean, rad, positive to the right."""
        return float(self.s["x"][0, PHI])

    @property
    def psi(self) -> float:
        """True heading, rad, positive to the right."""
        return float(self.s["x"][0, PSI])

    @property
    def y_P(self) -> float:
        """True lateral position of the rear contact, m, positive to the right."""
        return float(self.s["x"][0, Y_P])

    @property
    def pace(self) -> float:
        """Speed [m/s] at which a person who holds it goes along, on the road; 0 once it is released."""
        return float(self.p["speed"][0, 0, CORNER_SPEED]) if self.s["held"][0] else 0.0

    @property
    def x_P(self) -> float:
        """True distance the rear contact has gone forward, m; on a treadmill along the belt."""
        return float(self.s["x"][0, X_P])

    @property
    def v(self) -> float:
        """True forward speed, m/s."""
        return float(forward(self.p[0], self.s[0], self.t, motion(self.s[0]))[0])

    @property
    def T(self) -> float:
        """Torque the drive reports, N m; what it makes is `SteerDrive.gain` times that."""
        return float(self.s["drive"]["T"][0])

    @property
    def t(self) -> float:
        """Time since the beginning, s."""
        return float(self.s["t"][0])

    @property
    def released(self) -> bool:
        """True while the bicycle is free of the person who holds it."""
        return not self.s["held"][0]

    @property
    def fallen(self) -> bool:
        """True once it has leant beyond 45 deg, steered beyond 60 deg or left the belt; it then lies still."""
        return bool(self.s["fallen"][0])

    @property
    def fall(self) -> str:
        """Cause of the fall; empty while it has not fallen."""
        return FALL_REASONS[self.s["fallen"][0]]

    @property
    def rode(self) -> float:
        """Time from the release to the last fall [s]."""
        return float(self.s["t_fall"][0] - self.s["t_release"][0])

    @property
    def status(self) -> str:
        """Limits of the nonlinear model passed since the release, as the samples saw it, such as a wheel that lifts.

        Empty when none was, and for the linear model, which knows no limits.
        """
        return describe_status(int(self.s["status"][0]))
