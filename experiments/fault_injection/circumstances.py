"""Circumstances of a ride.

Wind, noise, turns, ramps of speed and the like, none of which may stop it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from riderless.experiments.emulation.hand import hand_kick
from riderless.experiments.fault_injection.machines import RideSpace, rig_and_gains
from riderless.experiments.fault_injection.ride_plan import RidePlan
from riderless.hil.loop.excitation import Excitation
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.plant.plant import Instruments, Kick, Knock, SteerDrive, Surroundings

USUAL_INSTRUMENTS = Instruments(gyro_bias=(0.01, -0.02, 0.015), accel_bias=(0.0, 0.02, 0.0))
USUAL_CIRCUMSTANCES = "nothing but kicks"
ON_WHEELS = "training wheels"
STEADY_TURN_TIME = 5.0  # s, of a turn to one side


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Circumstances of a ride, by default pushes by hand on a treadmill of constant speed and a linear bicycle.

    Attributes
    ----------
    name : str
        In `CIRCUMSTANCES`.
    speed : tuple of (s, m/s) or None
        Corners of its course over time after the release; None: constant, as drawn with the case.
    kicks : tuple of Kick and Knock, or None
        None: by hand, as drawn with the case.
    surface : str
    instruments : Instruments
    drive : SteerDrive
        Its lag and greatest torque are the rig's.
    surroundings : Surroundings
    model : str
        Equations of motion.
    excitation : Excitation
        Torque on top of the controller's.
    """

    name: str = USUAL_CIRCUMSTANCES
    speed: tuple[tuple[float, float], ...] | None = None
    kicks: tuple[Kick | Knock, ...] | None = None
    surface: str = "treadmill"
    instruments: Instruments = USUAL_INSTRUMENTS
    drive: SteerDrive = SteerDrive()
    surroundings: Surroundings = Surroundings()
    model: str = "linear"
    excitation: Excitation = Excitation()

    def __str__(self) -> str:
        parts = ((self.instruments, USUAL_INSTRUMENTS), (self.drive, SteerDrive()), (self.surroundings, Surroundings()))
        values = [
            f"{field.name} {_rounded(getattr(part, field.name))}"
            for part, usual in (*parts, (self.excitation, Excitation()))
            for field in fields(part)
            if getattr(part, field.name) != getattr(usual, field.name)
        ]
        return f"{self.name} ({', '.join(values)})" if values else self.name


def _rounded(value: object) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_rounded, value)) + ")"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Ride:
    """Ride whose circumstances are drawn."""

    rng: np.random.Generator
    machine: tuple[str, str]
    v: float  # m/s, at the beginning
    space: RideSpace
    plan: RidePlan

    def between(self, low: float, high: float) -> float:
        """Draw a number."""
        return float(self.rng.uniform(low, high))

    def either(self, low: float, high: float) -> float:
        """Draw a number of either sign."""
        return float(self.rng.choice((-1.0, 1.0)) * self.rng.uniform(low, high))

    @property
    def weight(self) -> float:
        """Weight of the bicycle [N]."""
        bike = rig_and_gains(*self.machine)[0].bicycle
        return float(bike.g * (bike.mR + bike.mB + bike.mH + bike.mF))


def draw_circumstances(
    name: str, rng: np.random.Generator, machine: tuple[str, str], v: float, space: RideSpace, plan: RidePlan
) -> Circumstances:
    """Draw the numbers of the circumstances of this name.

    Parameters
    ----------
    name : str
        In `CIRCUMSTANCES` or `STRONG_DISTURBANCES`.
    rng : Generator
    machine : (str, str)
        Bicycle and method.
    v : float
        Speed at the beginning [m/s].
    space : RideSpace
        For the speed at the end of a ramp.
    plan : RidePlan
        For the times of pushes and turns.
    """
    make = CIRCUMSTANCES.get(name) or STRONG_DISTURBANCES[name]
    return make(_Ride(rng, machine, v, space, plan), partial(Circumstances, name=name))


_Make = Callable[..., Circumstances]


def _noisy(ride: _Ride, make: _Make) -> Circumstances:
    return make(instruments=replace(USUAL_INSTRUMENTS, gyro_noise=0.03, accel_noise=0.3, wheel_noise=0.2))


def _biased(ride: _Ride, make: _Make) -> Circumstances:
    gyro = (ride.either(0.0, 0.1), ride.either(0.0, 0.1), ride.either(0.0, 0.1))
    accel = (ride.either(0.0, 0.3), ride.either(0.0, 0.3), ride.either(0.0, 0.3))
    return make(instruments=Instruments(gyro_bias=gyro, accel_bias=accel, steer_bias=ride.either(0.0, 0.035)))


def _moved(ride: _Ride, make: _Make) -> Circumstances:
    x, z = 0.3 + ride.either(0.0, 0.1), -0.5 + ride.either(0.0, 0.1)
    return make(instruments=replace(USUAL_INSTRUMENTS, x_imu=x, z_imu=z))


def _ramp(ride: _Ride, make: _Make, surface: str = "treadmill") -> Circumstances:
    v, begin, lasts = ride.between(*ride.space.speeds), ride.between(2.0, 10.0), ride.between(2.0, 10.0)
    return make(speed=((0.0, ride.v), (begin, ride.v), (begin + lasts, v)), surface=surface)


def turning_torque(machine: tuple[str, str], v: float, lean: float) -> float:
    """Steer torque (or rate, angle) on top of the controller's that makes a steady lean [rad] of a turn."""
    rig, schedule = rig_and_gains(*machine)
    bike = rig.bicycle
    _, _, K0, K2 = canonical_matrices(bike)
    gain = schedule.gains(v)
    K = bike.g * K0 + v * v * K2
    delta = -K[0, 0] / K[0, 1] * lean
    steady = {"torque": K[1, 0] * lean + K[1, 1] * delta, "rate": 0.0, "angle": delta}[rig.drive_kind]  # command
    return float(steady * (1.0 + gain[4] + gain[5]) + gain[0] * lean + gain[1] * delta)


def _pulsing(ride: _Ride, make: _Make) -> Circumstances:
    share, rate = ride.between(0.02, 0.05), ride.between(0.3, 1.2)  # of the speed, and 1/s
    t = np.arange(0.0, ride.plan.length, 0.1 / rate)
    v = ride.v * (1.0 + share * np.sin(2.0 * np.pi * rate * t))
    return make(speed=tuple(zip(t.tolist(), v.tolist(), strict=True)))


def _turns(ride: _Ride, make: _Make) -> Circumstances:
    amplitude = abs(turning_torque(ride.machine, ride.v, ride.between(0.05, 0.2)))
    duration, f_high, seed = max(ride.plan.length - 2.0, 1.0), 0.5 / STEADY_TURN_TIME, int(ride.rng.integers(99))
    turns = Excitation("steps", amplitude, duration, f_high=f_high, f_low=0.01, seed=seed, delay=2.0)
    return make(excitation=turns, kicks=())


def _lane(ride: _Ride, make: _Make) -> Circumstances:
    amplitude = abs(turning_torque(ride.machine, ride.v, ride.between(0.1, 0.35)))
    turn = Excitation("push", amplitude, ride.between(4.0, 20.0), delay=ride.between(1.0, 5.0))
    return make(excitation=turn, kicks=())


def _kicked(ride: _Ride, make: _Make, lean_rate: float) -> Circumstances:
    bike = rig_and_gains(*ride.machine)[0].bicycle
    sides = ride.rng.choice((-1, 1), len(ride.plan.kicks))
    kicks = (
        hand_kick(bike, t, int(side), ride.rng, lean_rate=lean_rate)
        for t, side in zip(ride.plan.kicks, sides, strict=True)
    )
    return make(kicks=tuple(kicks))


def _knocked(ride: _Ride, make: _Make) -> Circumstances:
    return make(kicks=tuple(Knock(t, ride.either(0.3, 1.0)) for t in ride.plan.kicks[::3]))


CIRCUMSTANCES: dict[str, Callable[[_Ride, _Make], Circumstances]] = {
    USUAL_CIRCUMSTANCES: lambda r, make: make(),
    "ten times the noise": _noisy,
    "instruments biased from the start": _biased,
    "sensor not where the rig says": _moved,
    "gusts": lambda r, make: make(surroundings=Surroundings(gusts=r.between(0.005, 0.02) * r.weight)),
    "wind": lambda r, make: make(surroundings=Surroundings(wind=r.either(0.0, 0.05) * r.weight)),
    "frame out of true": lambda r, make: make(surroundings=Surroundings(frame_offset=r.either(0.0, 0.02))),
    "handlebar out of true": lambda r, make: make(surroundings=Surroundings(handlebar_offset=r.either(0.0, 0.02))),
    "speed ramp": _ramp,
    "speed ramp on the floor": partial(_ramp, surface="floor"),
    "turns to either side": _turns,
    "turn of a lane": _lane,
    "strong kicks": lambda r, make: _kicked(r, make, r.between(0.5, 1.0)),
    "knocks on the handlebar": _knocked,
    "friction and play": lambda r, make: make(
        drive=SteerDrive(viscous=0.2, coulomb=r.between(0.1, 0.5), backlash=0.02)
    ),
    "drive 10 ms late": lambda r, make: make(drive=SteerDrive(delay=0.01)),
    ON_WHEELS: lambda r, make: make(surroundings=Surroundings(training_wheels=0.17)),
}
STRONG_DISTURBANCES: dict[str, Callable[[_Ride, _Make], Circumstances]] = {  # honest ones
    "vibration": lambda r, make: make(instruments=replace(USUAL_INSTRUMENTS, vibration=r.between(0.5, 1.4))),
    "vibration of a resonance": lambda r, make: make(
        instruments=replace(
            USUAL_INSTRUMENTS,
            vibration=r.between(0.5, 1.5),
            vibration_time=r.between(0.05, 0.3),
            vibration_frequency=r.between(10.0, 25.0),
        )
    ),
    "belt that pulses": _pulsing,
    "strong gusts": lambda r, make: make(surroundings=Surroundings(gusts=r.between(0.01, 0.03) * r.weight)),
    "hard kicks": lambda r, make: _kicked(r, make, r.between(0.7, 1.2)),
    "turn of a lane under vibration": lambda r, make: replace(
        _lane(r, make), instruments=replace(USUAL_INSTRUMENTS, vibration=r.between(0.5, 1.4))
    ),
    "rough ride over a pulsing belt": lambda r, make: replace(
        _pulsing(r, make), instruments=replace(USUAL_INSTRUMENTS, gyro_noise=0.03, vibration=r.between(0.5, 1.4))
    ),
}
BESIDE_FAULTS = tuple(name for name in CIRCUMSTANCES if name != ON_WHEELS)  # lying on its wheels it need not balance
