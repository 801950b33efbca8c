"""Rides on which nothing is wrong, drawn from a seed and a number: none of them may be stopped."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.studies.fault_injection.cases import CASE_RELEASE_DELAY
from experiments.studies.fault_injection.slow_rides.ride import (
    RIDE_TIME,
    USUAL_ACCEL_BIAS,
    USUAL_GYRO_BIAS,
    Ride,
    ride_machine,
)
from hil.loop.excitation import Excitation
from models.linear.whipple import canonical_matrices
from models.plant.plant import Instruments, Kick, Knock, Scenario, SteerDrive, Surroundings


@dataclass(frozen=True)
class RideSpace:
    """Bicycles with their controllers, and speeds [m/s], from which rides are drawn."""

    machines: tuple[tuple[str, str], ...]
    speeds: tuple[float, float]


TUNING = RideSpace(
    tuple((name, method) for name in ("Benchmark", "Silver", "Browser", "Crescendo") for method in ("lqr", "poles")),
    (4.0, 6.0),
)
SHOWN = RideSpace(
    tuple(
        (name, method)
        for name in ("Rigid", "DelftSbW2024", "Balanceassistv1", "Browserins", "Stratos_computed", "Fisher", "Pista")
        for method in ("lqr", "poles")
    ),
    (3.5, 7.0),
)
KICK_TIMES = (3.0, 11.0, 19.0)  # s after the release
STEADY_TURN_TIME = 5.0  # s, of a turn to one side


def draw_machine(rng: np.random.Generator, space: RideSpace) -> tuple[tuple[str, str], float]:
    """Draw a bicycle with its controller, and a speed [m/s]."""
    return space.machines[rng.integers(len(space.machines))], float(rng.uniform(*space.speeds))


def draw_kicks(rng: np.random.Generator, bicycle: str, strength: float) -> tuple[Kick, ...]:
    """Draw pushes that make about ``strength`` rad/s of lean rate, to either side."""
    bike = ride_machine(bicycle, "lqr")[0].bicycle
    inertia = float(canonical_matrices(bike)[0][0, 0])
    times = np.array(KICK_TIMES) + rng.uniform(0.0, 3.0, len(KICK_TIMES))
    impulses = rng.choice((-1.0, 1.0), len(times)) * strength * rng.uniform(0.5, 1.0, len(times)) * inertia / 0.8
    return tuple(Kick(float(t), float(impulse)) for t, impulse in zip(times, impulses, strict=True))


def draw_healthy_ride(seed: int, index: int, space: RideSpace = TUNING) -> Ride:
    """Draw healthy ride number ``index`` of a seed; what it meets takes turns, all else is drawn."""
    rng = np.random.default_rng([seed, index, 1])
    machine, v = draw_machine(rng, space)
    kicks = draw_kicks(rng, machine[0], 0.25)
    about = draw_about(rng, machine, v, space, index % len(ABOUT))
    scenario = Scenario(
        speed=about.pop("speed", ((0.0, v),)),
        kicks=about.pop("kicks", kicks),
        release_after=CASE_RELEASE_DELAY,
        surface=about.pop("surface", "treadmill"),
        seed=int(rng.integers(2**31)),
    )
    return Ride(machine=machine, scenario=scenario, **about)


@dataclass(frozen=True)
class _Draw:
    """Ride and random numbers from which its circumstances are drawn."""

    rng: np.random.Generator
    machine: tuple[str, str]
    v: float
    space: RideSpace

    def between(self, low: float, high: float) -> float:
        """Draw a number."""
        return float(self.rng.uniform(low, high))

    def either(self, low: float, high: float) -> float:
        """Draw a number of either sign."""
        return float(self.rng.choice((-1.0, 1.0)) * self.rng.uniform(low, high))

    @property
    def weight(self) -> float:
        """Weight of the bicycle [N]."""
        bike = ride_machine(*self.machine)[0].bicycle
        return float(bike.g * (bike.mR + bike.mB + bike.mH + bike.mF))


def draw_about(
    rng: np.random.Generator, machine: tuple[str, str], v: float, space: RideSpace, kind: int | None = None
) -> dict[str, Any]:
    """Draw the circumstances of a ride: its name, and further arguments of `Ride` and its scenario.

    Parameters
    ----------
    rng : Generator
    machine : (str, str)
        Bicycle and method.
    v : float
        Speed at the beginning [m/s].
    space : RideSpace
        For the speed at the end of a ramp.
    kind : int or None
        Place in `ABOUT`; None: any.
    """
    names = list(ABOUT)
    name = names[rng.integers(len(names)) if kind is None else kind]
    return {"name": name, **ABOUT[name](_Draw(rng, machine, v, space))}


def _instruments(d: _Draw, **about: Any) -> dict[str, Any]:
    return {"instruments": Instruments(**{"gyro_bias": USUAL_GYRO_BIAS, "accel_bias": USUAL_ACCEL_BIAS, **about})}


def _noisy(d: _Draw) -> dict[str, Any]:
    return _instruments(d, gyro_noise=0.03, accel_noise=0.3, wheel_noise=0.2)


def _biased(d: _Draw) -> dict[str, Any]:
    return _instruments(
        d,
        gyro_bias=tuple(d.either(0.0, 0.1) for _ in range(3)),
        accel_bias=tuple(d.either(0.0, 0.3) for _ in range(3)),
        steer_bias=d.either(0.0, 0.035),
    )


def _moved(d: _Draw) -> dict[str, Any]:
    return _instruments(d, x_imu=0.3 + d.either(0.0, 0.1), z_imu=-0.5 + d.either(0.0, 0.1))


def _ramp(d: _Draw) -> dict[str, Any]:
    v = d.between(*d.space.speeds)
    begin = d.between(2.0, 10.0)
    return {"speed": ((0.0, d.v), (begin, d.v), (begin + d.between(2.0, 10.0), v))}


def _floor(d: _Draw) -> dict[str, Any]:
    return {**_ramp(d), "surface": "floor"}


def turning_torque(machine: tuple[str, str], v: float, lean: float) -> float:
    """Steer torque [N m] on top of the controller's that makes a steady lean [rad] of a turn."""
    rig, schedule = ride_machine(*machine)
    bike = rig.bicycle
    _, _, K0, K2 = canonical_matrices(bike)
    gain = np.array([np.interp(v, schedule.v, column) for column in np.array(schedule.K).T])
    K = bike.g * K0 + v * v * K2
    delta = -K[0, 0] / K[0, 1] * lean
    T = K[1, 0] * lean + K[1, 1] * delta
    return float(T * (1.0 + gain[4] + gain[5]) + gain[0] * lean + gain[1] * delta)


def _turns(d: _Draw) -> dict[str, Any]:
    lean = d.between(0.05, 0.2)
    amplitude = abs(turning_torque(d.machine, d.v, lean))
    turns = Excitation(
        "steps",
        amplitude,
        RIDE_TIME - 2.0,
        f_high=0.5 / STEADY_TURN_TIME,
        f_low=0.01,
        seed=int(d.rng.integers(99)),
        delay=2.0,
    )
    return {"excitation": turns, "kicks": ()}


def _lane(d: _Draw) -> dict[str, Any]:
    lean = d.between(0.1, 0.35)
    amplitude = abs(turning_torque(d.machine, d.v, lean))
    return {"excitation": Excitation("push", amplitude, d.between(4.0, 20.0), delay=d.between(1.0, 5.0)), "kicks": ()}


ABOUT: dict[str, Callable[[_Draw], dict[str, Any]]] = {
    "nothing but kicks": lambda d: {},
    "ten times the noise": _noisy,
    "instruments biased from the start": _biased,
    "sensor not where the rig says": _moved,
    "gusts": lambda d: {"surroundings": Surroundings(gusts=d.between(0.005, 0.02) * d.weight)},
    "wind": lambda d: {"surroundings": Surroundings(wind=d.either(0.0, 0.05) * d.weight)},
    "frame out of true": lambda d: {"surroundings": Surroundings(frame_offset=d.either(0.0, 0.02))},
    "handlebar out of true": lambda d: {"surroundings": Surroundings(handlebar_offset=d.either(0.0, 0.02))},
    "speed ramp": _ramp,
    "speed ramp on the floor": _floor,
    "turns to either side": _turns,
    "turn of a lane": _lane,
    "strong kicks": lambda d: {"kicks": draw_kicks(d.rng, d.machine[0], d.between(0.5, 1.0))},
    "knocks on the handlebar": lambda d: {"kicks": tuple(Knock(t, d.either(0.3, 1.0)) for t in KICK_TIMES)},
    "friction and play": lambda d: {"drive": SteerDrive(viscous=0.2, coulomb=d.between(0.1, 0.5), backlash=0.02)},
    "drive 10 ms late": lambda d: {"drive": SteerDrive(delay=0.01)},
    "training wheels": lambda d: {
        "surroundings": Surroundings(training_wheels=0.17),
        "kicks": draw_kicks(d.rng, d.machine[0], 0.4),
    },
    "nonlinear": lambda d: {"model": "nonlinear"},
    "nonlinear, turn of a lane": lambda d: {"model": "nonlinear", **_lane(d)},
}
