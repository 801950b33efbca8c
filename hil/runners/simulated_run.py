"""Runs in simulated time.

Against the plant in memory: the same tick, and the same log as a real run's.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.controllers.controller import Controller
from riderless.hil.guidance.route import Route
from riderless.hil.logs.header import RunHeader, new_header
from riderless.hil.logs.log import Run, RunRecorder
from riderless.hil.logs.writer import RunWriter
from riderless.hil.loop.excitation import Excitation
from riderless.hil.loop.on_board import board_controller
from riderless.hil.loop.reference import Reference
from riderless.hil.rig.armable import require_armable
from riderless.hil.rig.fitting import emulated_rig, require_fitting, require_task
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners import lockstep
from riderless.hil.runners.assembly import new_loop
from riderless.hil.runners.emulation import (
    Emulation,
    emulated_belt,
    emulated_devices,
    emulated_node,
    emulated_place,
    emulated_plant,
)
from riderless.hil.runners.log_sink import Keeper, LogSink
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.session import RowWatcher, agree_with_devices
from riderless.models.bicycle_file import require_reals
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle
from riderless.models.plant.plant import LEFT_BELT, Kick, Knock, Scenario, SteerDrive, Surroundings

LEAST_SENSOR_NOISE = 0.05  # of the emulated instruments', under which their last digit rests on an upright bicycle
LONGEST_SHORT_RUN = 3600.0  # s, after which a run of less than half of it is given up


def simulate(
    bicycle: Bicycle,
    gains: Controller,
    *,
    speed: float = 5.0,
    kicks: Sequence[Kick | Knock] = (),
    model: str = "nonlinear",
    duration: float = 10.0,
    seed: int = 1,
    x0: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
    surroundings: Surroundings = Surroundings(),
    drive: SteerDrive = SteerDrive(),
    noise: float = 1.0,
    excitation: Excitation = Excitation(),
    reference: Reference = Reference(),
    route: Route = Route(),
    scenario: Scenario | None = None,
    rig: Rig | None = None,
    label: str = "",
    allow_mismatch: bool = False,
) -> Run:
    """Simulate a bicycle under control and return the run, in memory; `Run.save` writes it.

    Parameters
    ----------
    bicycle : Bicycle
    gains : Controller
        As `design` makes them, for this bicycle and the timing of the rig.
    speed : float
        Forward speed [m/s].
    kicks : sequence of Kick or Knock
        Pushes, at times [s] after the release.
    model : {"linear", "nonlinear"}
        Equations of motion; by default those of `riderless simulate`.
    duration : float
        Time after the release [s].
    seed : int
        Of all noise; the same seed gives the same run.
    x0 : (4,) sequence of float
        State [phi, delta, phi_dot, delta_dot] at the release [rad, rad/s].
    surroundings : Surroundings
        Floor or treadmill, wind, training wheels, ...
    drive : SteerDrive
        Friction and backlash of the steer drive, limits of its rate and acceleration; its lag, greatest torque and
        inner loop are the rig's.
    noise : float
        Noise of the instruments, times that of the emulated ones; `LEAST_SENSOR_NOISE` or more.
    excitation : Excitation
        Torque played on top of the controller's.
    reference : Reference
        That the controller follows.
    route : Route
        Path that is ridden, as `riderless.hil.guidance.route.plan_route` makes it.
    scenario : Scenario
        Everything that happens to the bicycle, instead of ``speed``, ``kicks``, ``seed`` and ``x0``.
    rig : Rig
        Machine with its rate, limits and observer; by default the emulated one with this bicycle, whose drive obeys
        what the gains command.
    label : str
        Words for tables and reports; by default bicycle, controller and speed.
    allow_mismatch : bool
        The gains may be for another bicycle, delay or drive lag: an experiment with a wrong controller.

    Raises
    ------
    InputError
        When bicycle, gains and rig do not fit together or could never be armed, when a push comes after the end, an
        argument is of another kind, or the rig has devices that exist in real time only.
    """
    require_reals("a run", speed=speed, duration=duration, noise=noise)
    _require_kinds(surroundings=(surroundings, Surroundings), x0=(x0, Sequence | np.ndarray))
    _require_kinds(bicycle=(bicycle, Bicycle), drive=(drive, SteerDrive), kicks=(kicks, Sequence))
    _require_kinds(excitation=(excitation, Excitation), reference=(reference, Reference), route=(route, Route))
    _require_kinds(**{f"kicks[{i}]": (kick, Kick | Knock) for i, kick in enumerate(kicks)})
    if not hasattr(gains, "linearised"):
        raise InputError(f"simulate wants gains as a controller, found {gains!r}: make one with design")
    scenario = scenario or Scenario(
        speed=((0.0, speed),),
        kicks=tuple(sorted(kicks, key=lambda push: push.t)),
        surface="floor" if surroundings.coasting else "treadmill",
        x0=tuple(x0),
        seed=seed,
    )
    machine = emulated_rig(bicycle, gains) if rig is None else rig
    if machine.bicycle != bicycle:
        raise InputError(
            f"the rig carries the bicycle {machine.bicycle.name}, found {bicycle.name}: give "
            "dataclasses.replace(rig, bicycle=bicycle)"
        )
    _require_ride_time(duration)
    require_pushes_within(scenario, duration)
    emulation = Emulation(model, surroundings, drive, noise)
    ride = _Ride(machine, gains, scenario, emulation, Task(excitation, reference, route), allow_mismatch)
    recorder = RunRecorder(ride.header(label or f"{bicycle.name} {gains.method} {scenario.speed[0][1]:g} m/s"))
    outcome = ride.play(recorder, scenario.release_after + duration)
    return recorder.run(outcome.reason, outcome.cause)


def asked_under_control(rig: Rig, scenario: Scenario) -> tuple[tuple[float, float], ...]:
    """Speeds of a scenario as corners over the time under control, which a rig is asked for that drives its speed."""
    if rig.speed_drive is None:
        return ()
    return tuple((float(t) + scenario.release_after, float(v)) for t, v in scenario.speed)


def _require_ride_time(duration: float) -> None:
    """Refuse a run that would never be under control, or without an end.

    Raises
    ------
    InputError
    """
    if not 0.0 < duration < math.inf:
        raise InputError(f"the duration of a run must be a time above 0 s, found {duration:g} s: give its seconds")


def _require_kinds(**given: tuple[Any, Any]) -> None:
    """Refuse arguments, by their name, that are not of the kind wanted."""
    for name, (value, kind) in given.items():
        if not isinstance(value, kind):
            wanted = " or ".join(alternative.__name__ for alternative in getattr(kind, "__args__", (kind,)))
            raise InputError(f"simulate wants {name} as {wanted}, found {value!r}: correct it")


def require_pushes_within(scenario: Scenario, duration: float) -> None:
    """Refuse pushes that a run of ``duration`` [s after the release] would never see.

    Raises
    ------
    InputError
    """
    for push in scenario.kicks:
        if push.t + push.duration > duration:
            raise InputError(
                f"a {type(push).__name__.lower()} at {push.t:g} s comes after the end of the run, {duration:g} s after "
                "the release: make the run longer, or push earlier"
            )


def run_lockstep(
    folder: Path,
    rig: Rig,
    schedule: Controller,
    scenario: Scenario,
    duration: float,
    label: str = "",
    watch: RowWatcher | None = None,
    emulation: Emulation = Emulation(),
    task: Task = Task(),
    extra: Mapping[str, Any] | None = None,
    allow_mismatch: bool = False,
) -> Outcome:
    """Run against the plant in memory and write the log.

    Parameters
    ----------
    folder : Path
        Of the log; new or empty.
    rig : Rig
    schedule : Controller
    scenario : Scenario
        Speed, kicks and noise of the ride.
    duration : float
        Time to stay RUNNING [s].
    label : str
        Words for tables and reports; by default the folder's name.
    watch : callable
        Given the newest row of TICK now and then.
    emulation : Emulation
        Equations of motion, surroundings and drive.
    task : Task
        What the machine is to do beside balancing; the speed that a belt is asked for is the scenario's.
    extra : mapping
        What else the header is to hold, such as the condition of a campaign.
    allow_mismatch : bool
        The gains may be for another bicycle, delay or drive lag.

    Raises
    ------
    InputError
        When gains and rig do not fit together or could never be armed, or the folder is in use.
    """
    _require_ride_time(duration)
    ride = _Ride(rig, schedule, scenario, emulation, task, allow_mismatch)
    with RunWriter(folder, ride.header(label or folder.name, extra), simulated=True) as writer:
        outcome = ride.play(writer, duration, watch)
        writer.close(outcome.reason, outcome.cause)
    return outcome


def require_runnable(
    rig: Rig,
    schedule: Controller,
    scenario: Scenario,
    emulation: Emulation,
    task: Task,
    allow_mismatch: bool = False,
) -> Task:
    """Refuse what cannot be run in simulated time, before anything runs; returns the task with the speeds asked for.

    Parameters
    ----------
    rig, schedule, scenario, emulation, task, allow_mismatch
        As of `run_lockstep`.

    Raises
    ------
    InputError, DeviceError
    """
    if emulation.noise < LEAST_SENSOR_NOISE:
        raise InputError(
            f"noise of {emulation.noise:g} times that of the emulated instruments leaves their readings at rest on "
            f"an upright bicycle, as those of a broken sensor do: give {LEAST_SENSOR_NOISE:g} or more"
        )
    task = replace(task, asked_speeds=asked_under_control(rig, scenario))
    require_fitting(rig, schedule, allow_mismatch)
    require_task(rig, schedule, task, linear=emulation.model == "linear")
    require_armable(rig, schedule, float(scenario.speed[0][1]))
    emulated_devices(rig)
    return task


class _Ride:
    """Loop and plant of one run in simulated time.

    Raises
    ------
    InputError
        When gains and rig do not fit together.
    """

    def __init__(
        self,
        rig: Rig,
        schedule: Controller,
        scenario: Scenario,
        emulation: Emulation,
        task: Task,
        allow_mismatch: bool,
    ) -> None:
        task = require_runnable(rig, schedule, scenario, emulation, task, allow_mismatch)
        self._devices = emulated_devices(rig)
        self._calibration = rig.calibrated()
        if self._devices.introductions is not None:
            rig, self._calibration = agree_with_devices(rig, self._devices.introductions)
        self._rig, self._schedule, self._task = rig, schedule, task
        self._told = {"scenario": scenario, "emulation": emulation}
        self._loop = new_loop(rig, schedule, self._calibration.as_record(), self._devices.introductions, task)
        self._plant = emulated_plant(rig, scenario, emulation)
        self._board = None
        if rig.closed_by == "node":
            self._board = board_controller(new_loop(rig, schedule, self._calibration.as_record()))
        self._place, self._belt = emulated_place(rig, scenario, emulation), emulated_belt(rig, emulation)

    def header(self, label: str, extra: Mapping[str, Any] | None = None) -> RunHeader:
        """Header of its log."""
        return new_header(
            self._rig,
            self._schedule,
            self._calibration,
            runner="lockstep",
            simulated=True,
            label=label,
            task=self._task,
            devices=self._devices.introductions,
            extra={**self._told, **(extra or {})},
        )

    def play(self, sink: LogSink, duration: float, watch: RowWatcher | None = None) -> Outcome:
        """Run for ``duration`` s of RUNNING, everything recorded in ``sink``."""
        operator, keep = Operator(duration), Keeper(sink, self._plant)
        longest = max(LONGEST_SHORT_RUN, 2.0 * duration)
        look = _BeltWatch(operator, keep, watch)
        lockstep.run_in_lockstep(
            self._loop,
            self._plant,
            emulated_node(self._rig),
            operator,
            keep,
            look,
            longest,
            place=self._place,
            belt=self._belt,
            devices=self._devices.twins,
            wiring=self._devices.wiring,
            board=self._board,
        )
        for twin in self._devices.hosted:
            twin.require_no_error()
        outcome = operator.outcome()
        if look.left and outcome.reason != "abort":
            return replace(outcome, reason="fault", cause=f"{LEFT_BELT} {self._plant.rode:.1f} s after the release")
        if keep.fall and outcome.reason == "success":
            return replace(outcome, reason="fault", cause=f"the bicycle fell: {keep.fall}")
        return outcome


class _BeltWatch:
    """Watcher that ends a ride whose bicycle has left the belt, and then lets somebody else look.

    Attributes
    ----------
    left : bool
        It left the belt before anything else was wrong; a bicycle that lies beside it faults in the ramp of its end.
    """

    def __init__(self, operator: Operator, keep: Keeper, then: RowWatcher | None) -> None:
        self.left = False
        self._operator, self._keep, self._then = operator, keep, then

    def __call__(self, row: np.void) -> None:
        if self._keep.fall == LEFT_BELT:
            self.left = self.left or self._operator.outcome().reason == "success"
            self._operator.end()
        if self._then is not None:
            self._then(row)
