"""Ride of a task: the real loop, a receiver with RTK, the nonlinear plant, and the true place afterwards."""

from dataclasses import dataclass

import numpy as np

from riderless.firmware_interface.devices.driver import Introduction
from riderless.hil.design.methods import design
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.guidance.rideable import RideLimits
from riderless.hil.guidance.route import Route, plan_route
from riderless.hil.loop.states import Cause, Demand, State
from riderless.hil.loop.tick_record import TICK
from riderless.hil.loop.wire_tape import new_tape
from riderless.hil.rig.fitting import require_route_kept, with_emulated_receiver
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import Emulation, emulated_node, emulated_place, emulated_plant
from riderless.models.array_types import Array
from riderless.models.catalogue import load_bicycle
from riderless.models.linear.prescribed_steer import InnerLoop
from riderless.models.plant.plant import Scenario, Surroundings
from tests.studies.path_rides.tasks import RUNNING_IN, RideTask

RIDE_ARM_FROM, RIDE_RUN_FROM, RIDE_LET_GO = 1.0, 2.5, 0.5  # s since power-up, and after the drive was enabled
_LOOK = 50  # ticks
RIDE_WEIGHTS = {"y_P": 0.05}  # m: half the usual, for wind


@dataclass(frozen=True)
class RideResult:
    """Result of a ride; ``lateral`` is the true place to the right of the path [m], from `RUNNING_IN` on."""

    task: RideTask
    bicycle: str
    seed: int
    cause: str  # why it ended early; empty if it did not
    lateral: Array
    asked: float  # m, what is asked of it: its rms, its largest size, or how far it passes the path's end


def rtk_rig(bicycle: str, drive: InnerLoop | None = None) -> Rig:
    """Emulated machine with our node and a receiver with RTK; its drive obeys a torque if none is given."""
    return with_emulated_receiver(Rig(load_bicycle(bicycle), drive=drive))


def ride_task(task: RideTask, bicycle: str, seed: int, drive: InnerLoop | None = None) -> RideResult:
    """Ride a task; the same seed rides the same.

    Parameters
    ----------
    task : RideTask
    bicycle : str
    seed : int
        Of noise and wind.
    drive : InnerLoop or None
        Of a drive that obeys a steer rate or angle; None: a torque.

    Raises
    ------
    InputError
        The path asks for more than the limits allow.
    """
    rig = rtk_rig(bicycle, drive)
    speeds = [v for _, v in task.speed]
    grid = np.arange(min(speeds) - 0.5, max(speeds) + 0.75, 0.5)
    gains = design(rig.bicycle, "lane", tuple(float(v) for v in grid), rig.timing, drive=drive, weights=RIDE_WEIGHTS)
    route = plan_route(rig.bicycle, task.path, task.v, RideLimits()) if task.path else Route()
    require_route_kept(rig, gains, route)
    seconds = (route.rows[-1][0] - route.rows[0][0]) / task.v if task.path else task.seconds
    rows, diary = _played(rig, gains, task, route, seed, seconds)
    cause = Cause(int(rows["cause"].max(initial=0)))
    released = np.flatnonzero(rows["state"] == State.RUNNING)
    begin = diary["t"][released[0]] + RIDE_LET_GO + RUNNING_IN if len(released) else np.inf
    counted = (rows["state"] == State.RUNNING) & (diary["t"] >= begin)
    lateral = _beside(route, diary["x_P"][counted] + _walked(diary, released) * task.v, diary["y_P"][counted])
    ended = cause.name if cause is not Cause.NONE else ""
    return RideResult(task, bicycle, seed, ended, lateral, _asked(task, route, lateral, diary["y_P"][counted]))


def one_ride(work: tuple[RideTask, str, int, InnerLoop | None]) -> RideResult:
    """`ride_task` for a pool of processes, which finds functions of a package's `__main__` nowhere."""
    return ride_task(*work)


def _walked(diary: np.ndarray, running: np.ndarray) -> float:
    """Time [s] for which a person went along since control began; negative if it ran by itself before."""
    moves = np.flatnonzero(diary["x_P"] > 0.0)
    return float(diary["t"][moves[0] - 1] - diary["t"][running[0]]) if len(moves) and len(running) else 0.0


def _played(
    rig: Rig, gains: GainSchedule, task: RideTask, route: Route, seed: int, seconds: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the loop and diary of the truth."""
    scenario = Scenario(speed=task.speed, release_after=RIDE_LET_GO, seed=seed)
    emulation = Emulation("nonlinear", Surroundings(gusts=task.gusts) if task.gusts else Surroundings())
    said = [Introduction("node", round(rig.rate), session=1), Introduction("UBX receiver")]
    loop = new_loop(rig, gains, rig.calibrated().as_record(), said, Task(route=route))
    place, node = emulated_place(rig, scenario, emulation), emulated_node(rig)
    bench = lockstep.new_bench(emulated_plant(rig, scenario, emulation), node, (), place)
    n = round((RIDE_RUN_FROM + RIDE_LET_GO + seconds) * rig.rate / _LOOK) * _LOOK
    rows, diary, tape = np.zeros(n, TICK), lockstep.new_diary(n), new_tape(2, _LOOK)
    for first in range(0, n, _LOOK):
        t, part = first / rig.rate, slice(first, first + _LOOK)
        loop.orders["demand"] = Demand.OFF if t < RIDE_ARM_FROM else Demand.ARM if t < RIDE_RUN_FROM else Demand.RUN
        lockstep.run_ticks(loop, bench, node.bus, rig.dt, rows[part], tape, diary[part])
    return rows, diary


def _beside(route: Route, x: Array, y: Array) -> Array:
    """Distance of true places to the right of the route [m], or of the lane where it has none."""
    if not route.rows or not len(x):
        return np.asarray(y)
    table, out, at = route.table(), np.empty(len(x)), 0
    for k, (here_x, here_y) in enumerate(zip(x, y, strict=True)):
        near = slice(max(at - 30, 0), at + 60)
        at = near.start + int(np.argmin(np.hypot(table[near, 1] - here_x, table[near, 2] - here_y)))
        c, s = np.cos(table[at, 3]), np.sin(table[at, 3])
        out[k] = (here_y - table[at, 2]) * c - (here_x - table[at, 1]) * s
    return out


def _asked(task: RideTask, route: Route, lateral: Array, y: Array) -> float:
    """Size of what is asked of the ride [m]; infinite where nothing was ridden."""
    if not len(lateral):
        return float("inf")
    if task.what == "rms":
        return float(np.sqrt(np.mean(lateral**2)))
    if task.what == "most":
        return float(np.abs(lateral).max())
    end = route.rows[-1][2]  # the lane changed to, to the right of the first
    return float(max(np.max(y) - end, 0.0))
