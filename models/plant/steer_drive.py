"""Steer drive: torque commanded to torque made.

The torque made is that on the steer axis. A drive that is commanded a rate or an angle makes its torque itself
(`riderless.models.plant.steer_servo`); what is said here of the enable, the greatest torque, the lag, the gain and
friction goes for that torque too.

A command passes, in this order, through

1. the enable: a disabled drive forgets what it was told and lets its torque decay to zero;
2. saturation at ``torque_max``;
3. a pure delay, kept as a ring buffer of commands and the instants they fall due, so that a delay
   need not be a multiple of anything;
4. a first-order lag, dT/dt = (target - T) / lag, taken exactly (:func:`torque_nodes`);
5. ``offset``, ``dead_band`` and ``hysteresis`` (:func:`passed_on`): torque that is not commanded and not reported, and
   torque that is reported and lost on its way;
6. ``gain``, the torque really made per torque asked for and reported (1 when the drive is honest);
7. play in the gears, ``backlash``: the rotor then turns on its own, and torque reaches the steer axis only
   where the teeth touch, through a stiff one-sided contact (`riderless.models.plant.environment`). Without play the
   rotor is part of the handlebar.

The steer axis itself rubs: viscous friction, and Coulomb friction as the set-valued law it is. While
the axis turns the friction is ``coulomb`` against the motion; at rest it is whatever holds the axis
still, up to ``coulomb``. The axis is therefore slipping to one side or stuck, the plant ends a step
where it comes to rest, and nothing chatters and nothing creeps.
"""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.kernels import njit
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import InnerLoop

DELAY_MAX = 0.1  # s; keeps the ring buffer below finite for commands as fast as 10 kHz
MAX_WAITING = 1024  # commands on their way at once
ROTOR_MIN = 1e-5  # kg m^2
TIME_RESOLUTION = 1e-9  # s; two instants closer than this are one (what a float resolves after two months)

DRIVE_SETTINGS = np.dtype(
    [
        (name, "f8")
        for name in (
            *("lag", "delay", "torque_max", "viscous", "coulomb", "gain"),
            *("backlash", "rotor", "dead_band", "hysteresis", "offset"),
        )
    ]
)

DRIVE_STATE = np.dtype(
    [
        ("T", "f8"),  # N m, torque as the drive knows and reports it
        ("passed", "f8"),  # N m, what it passed on at the end of the last step
        ("shift", "f8"),  # N m, its offset while it is on
        ("target", "f8"),  # N m, the command it follows now
        ("due", "f8", (MAX_WAITING,)),  # s, when each waiting command arrives
        ("asked", "f8", (MAX_WAITING,)),  # N m, and what it asks for
        ("first", "i8"),  # the waiting command that arrives next
        ("waiting", "i8"),  # how many there are
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class SteerDrive:
    """Steer drive and the friction of the axis it turns.

    Attributes
    ----------
    lag : float
        Time constant of the torque, s; zero for none.
    delay : float
        Pure delay between a command and its effect, s, at most ``DELAY_MAX``.
    torque_max : float
        Greatest torque commanded, N m.
    viscous : float
        Friction of the steer axis per steer rate, N m s/rad.
    coulomb : float
        Friction of the steer axis whatever the rate, and the torque at which it breaks away, N m.
    gain : float
        Torque made per torque asked for and reported.
    backlash : float
        Play between drive and steer axis, rad of the steer axis from side to side.
    rotor : float
        Inertia of what turns on the drive's side of the play, about the steer axis, kg m^2 (that of the
        motor times the gear ratio squared). Without play it is not counted: there it belongs to the bicycle.
    dead_band : float
        Torque that is left out of whatever the drive reports, N m: of less than that nothing arrives.
    hysteresis : float
        Torque by which what arrives lags behind what is reported, on its way up and down, N m; as a gear that rubs
        does, which remembers from which side it came.
    offset : float
        Torque that the drive adds to its command while it is on, and does not report, N m.
    inner_loop : InnerLoop or None
        The drive is commanded a steer rate or angle, and follows it so. None: it is commanded a torque.
    rate_max, acceleration_max : float
        Greatest steer rate [rad/s] and acceleration [rad/s^2] at which a drive with an inner loop leads its steer
        towards a command; infinite for none. ``torque_max`` limits the torque that it makes.

    Raises
    ------
    InputError
        Negative or not finite; delay beyond ``DELAY_MAX``; play without a rotor, or with an inner loop; an inner loop
        that its torque follows too late.
    """

    lag: float = 0.005
    delay: float = 0.0
    torque_max: float = 7.0
    viscous: float = 0.0
    coulomb: float = 0.0
    gain: float = 1.0
    backlash: float = 0.0
    rotor: float = 0.002
    dead_band: float = 0.0
    hysteresis: float = 0.0
    offset: float = 0.0
    inner_loop: InnerLoop | None = None
    rate_max: float = np.inf
    acceleration_max: float = np.inf

    def __post_init__(self) -> None:
        units = {"lag": "s", "delay": "s", "torque_max": "N m", "viscous": "N m s/rad", "coulomb": "N m"}
        units |= {"backlash": "rad", "rotor": "kg m^2", "dead_band": "N m", "hysteresis": "N m"}
        for name, unit in units.items():
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise InputError(f"{name} of the drive must be zero or more, found {value} {unit}; correct it")
        if self.delay > DELAY_MAX:
            raise InputError(
                f"delay of the drive can be {DELAY_MAX} s at most, found {self.delay} s; "
                "check that it is given in seconds"
            )
        if self.backlash > 0.0 and self.rotor < ROTOR_MIN:
            raise InputError(
                f"a drive with play wants a rotor of {ROTOR_MIN:g} kg m^2 or more, found {self.rotor} kg m^2; give "
                "the motor's inertia times the gear ratio squared"
            )
        for name, honest in (("gain", 1), ("offset", 0)):
            if not np.isfinite(getattr(self, name)):
                raise InputError(
                    f"{name} of the drive must be a finite number, found {getattr(self, name)}; {honest} is an honest "
                    "drive"
                )
        self._check_inner_loop()

    def _check_inner_loop(self) -> None:
        for name, unit in (("rate_max", "rad/s"), ("acceleration_max", "rad/s^2")):
            if not getattr(self, name) > 0.0:
                raise InputError(
                    f"{name} of the drive must be positive, found {getattr(self, name)} {unit}; correct it"
                )
        loop = self.inner_loop
        if loop is None:
            return
        if self.backlash > 0.0:
            raise InputError(
                f"play is emulated behind a torque drive only, found {self.backlash} rad behind one of kind "
                f"{loop.kind}; leave out the play or the inner loop"
            )
        if loop.damping is not None and self.lag >= loop.lag:  # Routh: I (lag s^3 + s^2 + 2 zeta w s + w^2)
            raise InputError(
                f"a torque that lags {self.lag:g} s makes an inner loop of {loop.bandwidth:g} rad/s and damping "
                f"{loop.damping:g} unstable: give a lag below 2 damping / bandwidth = {loop.lag:.3g} s"
            )


@njit(cache=True, nogil=True)
def latch(p, s, t, T_cmd, enabled):
    """Take a command of the drive.

    Parameters
    ----------
    p, s : DRIVE_SETTINGS and DRIVE_STATE records
    t : float
        Time, s.
    T_cmd : float
        Steer torque commanded, N m; one that is not finite asks for no torque.
    enabled : bool
        True if the drive is to make torque.
    """
    if not enabled:
        s.waiting = 0
        s.target = s.shift = 0.0
        return
    s.shift = p.offset
    T = min(max(T_cmd, -p.torque_max), p.torque_max) if np.isfinite(T_cmd) else 0.0
    newest = (s.first + s.waiting - 1) % MAX_WAITING
    before = s.asked[newest] if s.waiting > 0 else s.target
    if before == T:
        return
    if s.waiting < MAX_WAITING:
        newest = (newest + 1) % MAX_WAITING
        s.waiting += 1
        s.due[newest] = t + p.delay
    s.asked[newest] = T


@njit(cache=True, nogil=True)
def next_command_due(s):
    """Instant at which the next waiting command arrives, s; infinite when none waits."""
    return s.due[s.first] if s.waiting > 0 else np.inf


@njit(cache=True, nogil=True)
def obey(p, s, t):
    """Follow the commands that have arrived by time `t` (s)."""
    while next_command_due(s) <= t + TIME_RESOLUTION:
        s.target = s.asked[s.first]
        s.first = (s.first + 1) % MAX_WAITING
        s.waiting -= 1
    if p.lag == 0.0:
        s.T = s.target


@njit(cache=True, nogil=True)
def torque_after(p, s, h):
    """Torque the drive reports `h` seconds from now, N m, if no command falls due."""
    transient = s.T - s.target
    return s.target + transient * np.exp(-h / p.lag) if transient != 0.0 else s.target


@njit(cache=True, nogil=True)
def passed_on(p, before, T):
    """Torque that is passed on of the torque `T` that is reported, N m.

    Parameters
    ----------
    p : DRIVE_SETTINGS record
    before : float
        What was passed on last, N m: hysteresis holds on to it while `T` stays within its reach.
    T : float
        N m.
    """
    beyond = T - min(max(T, -p.dead_band), p.dead_band)
    return min(max(before, beyond - p.hysteresis), beyond + p.hysteresis) if p.hysteresis > 0.0 else beyond


@njit(cache=True, nogil=True)
def carry_on(p, s, h, resting):
    """Let time pass in which no command falls due.

    Parameters
    ----------
    p, s : DRIVE_SETTINGS and DRIVE_STATE records
    h : float
        s.
    resting : bool
        It forgets from where it came.
    """
    s.T = torque_after(p, s, h)
    s.passed = 0.0 if resting else passed_on(p, s.passed, s.T + s.shift)


@njit(cache=True, nogil=True)
def torque_nodes(p, s, h):
    """Torques to use at the beginning, middle and end of a Runge-Kutta step of `h` seconds, N m.

    A lag much shorter than the step would ruin a plain RK4 step. To a rate, to its integral and to the
    integral of that, the step adds h (T0 + 4 T1 + T2) / 6, h^2 (T0 + 2 T1) / 6 and h^3 (T0 + T1) / 12,
    with T0, T1, T2 the torques it is told at its beginning, middle and end. Here they are not the
    torques of those instants but the three that make these sums exact for the exponential

        T(t) = target + (T - target) exp(-t / lag),

    whose integrals over (0, h) are h phi1, h^2 phi2, h^3 phi3 of a = h / lag (phi1 = (1 - exp(-a)) / a,
    phi2 = (1 - phi1) / a, phi3 = (1/2 - phi2) / a). The step then need not know the lag. With a dead band or hysteresis
    they are the torques of those instants, and a step of 1 ms misses a thousandth of what the lag of 5 ms does.
    """
    transient = s.T - s.target
    if p.dead_band > 0.0 or p.hysteresis > 0.0:  # no sum of exponentials any more: what arrives at these instants
        middle, end = torque_after(p, s, 0.5 * h), torque_after(p, s, h)
        began, middle, end = s.T + s.shift, middle + s.shift, end + s.shift
        return passed_on(p, s.passed, began), passed_on(p, s.passed, middle), passed_on(p, s.passed, end)
    goal = s.target + s.shift
    if transient == 0.0:
        return goal, goal, goal
    a = h / p.lag
    if a < 0.5:  # by the series of phi3, where the differences would cancel
        phi3 = 0.0
        for n in range(13, 2, -1):
            phi3 = (1.0 - a * phi3) * (1.0 / n)
        phi3 *= 0.5
        phi2 = 0.5 - a * phi3
        phi1 = 1.0 - a * phi2
    else:
        phi1 = (1.0 - np.exp(-a)) / a
        phi2 = (1.0 - phi1) / a
        phi3 = (0.5 - phi2) / a
    T0 = 24.0 * phi3 - 6.0 * phi2
    T1 = 6.0 * phi2 - 12.0 * phi3
    T2 = 6.0 * phi1 - T0 - 4.0 * T1
    return goal + transient * T0, goal + transient * T1, goal + transient * T2


@njit(cache=True, nogil=True)
def slip_side(p, delta_dot, holding):
    """Side to which the steer axis slips: +1 right, -1 left, 0 when friction holds it.

    `holding` is the torque (N m) that would keep an axis at rest from accelerating.
    """
    if delta_dot != 0.0:
        return np.sign(delta_dot)
    if abs(holding) <= p.coulomb:
        return 0.0
    return -np.sign(holding)


@njit(cache=True, nogil=True)
def friction(p, delta_dot, side):
    """Friction torque on a steer axis that slips to `side`, N m; against the motion."""
    return -p.viscous * delta_dot - p.coulomb * side
