"""Ride on a belt with edges: kicks to a random side, the real loop, a distance sensor, the nonlinear plant."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from riderless.experiments.emulation.hand import KICK_AHEAD, KICK_HEIGHT
from riderless.firmware_interface.devices.registry import device
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.loop.place.settings import PlaceSettings
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.rig.rig import Rig, RigPort
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_place, emulated_plant
from riderless.models.array_types import Array
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.path import farthest_contact
from riderless.models.linear.whipple import canonical_matrices
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import Kick, Scenario, Surroundings
from tests.studies.path_rides.ride import RIDE_ARM_FROM, RIDE_LET_GO, RIDE_RUN_FROM

BELT_WIDTH = 1.2  # m
BELT_SPEEDS = (2.5, 3.5, 4.5, 5.5, 7.0)  # m/s
BELT_BICYCLES = ("Silver", "Benchmark")
BELT_SPACING = 8.0  # s, from one kick to the next
SETTLED_AFTER = 3.0  # s after a kick, from which on the bicycle shall be back in its lane
BELT_LEAN_RATE = 0.35  # rad/s, that a kick gives
WANTED_RMS = 0.05  # m
_FIRST = 3.0  # s after the release
_PUSH = 0.08  # s
_LOOK = 50  # ticks
_GRID = 0.5  # m/s, from one set of gains to the next


@dataclass(frozen=True)
class BeltRide:
    """Ride to be made.

    Attributes
    ----------
    bicycle : str
    v : float
        m/s
    seed : int
        Of the kicks' sides and of all noise.
    minutes : float
        After the release.
    lean_rate : float
        That a kick gives [rad/s].
    torque : float
        Limit of the drive [N m].
    noise : float
        Of all instruments and of the sensor of place, times that of the emulated ones.
    latency : float
        Of the sensor of place [s].
    weights : tuple of (str, float)
        Of the lane, where they are not the usual ones.
    """

    bicycle: str
    v: float
    seed: int
    minutes: float = 30.0
    lean_rate: float = BELT_LEAN_RATE
    torque: float = 7.0
    noise: float = 1.0
    latency: float = 0.005
    weights: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"<BeltRide {self.bicycle}, {self.v:g} m/s, seed {self.seed}, {self.minutes:g} min>"


@dataclass(frozen=True)
class BeltResult:
    """Result of a ride, by the true motion.

    Attributes
    ----------
    ended : str
        Why it ended early; empty if it did not.
    ridden : float
        s after the release.
    kicks : int
    farthest : float
        Contact of either wheel from the middle [m].
    rms : float
        Of the rear contact's place from `SETTLED_AFTER` after each kick on [m].
    torque : float
        Largest that was asked for [N m].
    lean, steer : float
        Largest [rad].
    """

    ended: str
    ridden: float
    kicks: int
    farthest: float
    rms: float
    torque: float
    lean: float
    steer: float


def kick_of_lean_rate(bicycle: Bicycle, lean_rate: float) -> float:
    """Impulse [N s] of a hand that gives an upright bicycle this lean rate [rad/s], by the linear model.

    A force F at the hand, x forward of the rear contact and h above ground, is F h on the lean and, as the contacts
    roll without slip, F x c cos(lam) / w on the steer.
    """
    per_newton = np.array([-KICK_HEIGHT, KICK_AHEAD * bicycle.c * np.cos(bicycle.lam) / bicycle.w])
    rates = np.linalg.solve(canonical_matrices(bicycle).M, per_newton)
    return lean_rate / float(rates[0])


def belt_kicks(bicycle: Bicycle, ride: BeltRide) -> tuple[Kick, ...]:
    """Draw the side of each kick; the last leaves time to come back."""
    rng = np.random.default_rng([ride.seed, round(1000.0 * ride.v)])
    times = np.arange(_FIRST, 60.0 * ride.minutes - BELT_SPACING + 1e-9, BELT_SPACING)
    size = kick_of_lean_rate(bicycle, ride.lean_rate)
    return tuple(
        Kick(t=float(t), impulse=float(side * size), duration=_PUSH, x=KICK_AHEAD, z=KICK_HEIGHT)
        for t, side in zip(times, rng.choice((-1.0, 1.0), len(times)), strict=True)
    )


def belt_rig(ride: BeltRide) -> Rig:
    """Emulated machine with our node and a distance sensor across the belt."""
    settings = {**device("distance").settled({}), "latency_ms": 1e3 * ride.latency}
    sensor = RigPort(device="distance", baud=115200, carries=("place",), settings=settings)
    rig = Rig(load_bicycle(ride.bicycle), ports=(RigPort(), sensor), place=PlaceSettings(belt_width=BELT_WIDTH))
    torque = replace(rig.limits.torque, value=ride.torque)
    return replace(rig, limits=replace(rig.limits, torque=torque))


@lru_cache(maxsize=8)
def belt_gains(bicycle: str, v: float, weights: tuple[tuple[str, float], ...] = ()) -> GainSchedule:
    """Design the gains of a lane for a speed [m/s] and its neighbours."""
    rig = Rig(load_bicycle(bicycle))
    return design(rig.bicycle, "lane", (v - _GRID, v, v + _GRID), rig.timing, weights=dict(weights))


def ride_belt(ride: BeltRide) -> BeltResult:
    """Make a ride; the same one rides the same. It ends when the supervisor ends it or a wheel leaves the belt."""
    rig = belt_rig(ride)
    scenario = Scenario(
        speed=((0.0, ride.v),), kicks=belt_kicks(rig.bicycle, ride), seed=ride.seed, release_after=RIDE_LET_GO
    )
    emulation = Emulation("nonlinear", Surroundings(belt_width=BELT_WIDTH), noise=ride.noise)
    loop = new_loop(rig, belt_gains(ride.bicycle, ride.v, ride.weights), rig.calibrated().as_record())
    plant, node = emulated_plant(rig, scenario, emulation), emulated_node(rig)
    bench = lockstep.new_bench(plant, node, (), emulated_place(rig, scenario, emulation))
    rows, diary, tape = np.zeros(_LOOK, TICK), lockstep.new_diary(_LOOK), new_tape(2, _LOOK)
    whole = round((RIDE_RUN_FROM + RIDE_LET_GO + 60.0 * ride.minutes) * rig.rate / _LOOK)
    true: list[Array] = []
    cause, asked = Cause.NONE, 0.0
    for first in range(0, whole * _LOOK, _LOOK):
        t = first / rig.rate
        loop.orders["demand"] = Demand.OFF if t < RIDE_ARM_FROM else Demand.ARM if t < RIDE_RUN_FROM else Demand.RUN
        lockstep.run_ticks(loop, bench, node.bus, rig.dt, rows, tape, diary)
        running = rows["state"] == State.RUNNING
        true.append(np.column_stack([diary[name][running] for name in ("t", "y_P", "psi", "phi", "delta")]))
        asked = max(asked, float(np.abs(rows["T_req"][running]).max(initial=0.0)))
        cause = Cause(int(rows["cause"].max()))
        if cause is not Cause.NONE or diary["fallen"].any():
            break
    ended = plant.fall or ("" if cause is Cause.NONE else cause.name)
    return _summary(rig, scenario, np.vstack(true), float(plant.s["t_release"][0]), ended, asked)


def _summary(rig: Rig, scenario: Scenario, true: Array, released: float, ended: str, asked: float) -> BeltResult:
    """Summarise the rows (n, 5) of t [s], y_P [m], psi, phi, delta [rad] under control, ``released`` at [s]."""
    if not len(true):
        return BeltResult(ended or "never under control", 0.0, 0, np.inf, np.inf, asked, np.inf, np.inf)
    t = true[:, 0] - released
    _, rear, psi, phi, delta = true[t >= 0.0].T
    t = t[t >= 0.0]
    begun = np.array([kick.t for kick in scenario.kicks])
    last = np.searchsorted(begun, t, side="right") - 1
    settled = (last >= 0) & (t - begun[np.maximum(last, 0)] >= SETTLED_AFTER)
    return BeltResult(
        ended=ended,
        ridden=float(t[-1]) if len(t) else 0.0,
        kicks=int((begun < t[-1]).sum()) if len(t) else 0,
        farthest=float(farthest_contact(rig.bicycle, rear, psi).max(initial=0.0)),
        rms=float(np.sqrt(np.mean(rear[settled] ** 2))) if settled.any() else np.inf,
        torque=asked,
        lean=float(np.abs(phi).max(initial=0.0)),
        steer=float(np.abs(delta).max(initial=0.0)),
    )
