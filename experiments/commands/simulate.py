"""`riderless simulate`: bicycles in simulated time."""

from collections.abc import Sequence
from math import degrees, radians
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from riderless.experiments.commands._options import Trust, complete_bicycle, refuse_ignored
from riderless.experiments.commands._path import (
    PathOption,
    asked_path,
    controller_for,
    emulated_rig_on,
    ride_duration,
    route_of,
)
from riderless.experiments.commands._shared_options import (
    AllowMismatch,
    AsJson,
    Dask,
    FollowedReference,
    Jobs,
    Model,
    RiddenController,
)
from riderless.experiments.commands._whole_numbers import MOST_SEED, MOST_SEEDS
from riderless.experiments.commands.warmup import compile_once
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from riderless.experiments.campaigns.sweeps import SweepCase
    from riderless.hil.controllers.controller import Controller
    from riderless.hil.rig.path_file import AskedPath
    from riderless.hil.rig.rig import Rig
    from riderless.hil.runners.emulation import Emulation
    from riderless.models.plant.plant import Kick, Knock, Scenario

_LEAST_WHEELS_DEG = 2.0  # deg of lean: those of a lab touch at some 10
_MOST = {  # value and unit beyond which it is a slip, and why
    "--kick": (200.0, "N s", "a hard kick of a person has some 20"),
    "--knock": (20.0, "N m s", "a hand gives 1"),
    "--wind": (500.0, "N", "a storm pushes a bicycle with 100"),
    "--gusts": (500.0, "N", "a storm pushes a bicycle with 100"),
    "--offset-mm": (200.0, "mm", "wider than the bicycle"),
}


def simulate(
    context: typer.Context,
    bike: Annotated[
        str | None,
        typer.Argument(
            autocompletion=complete_bicycle,
            help="Name in the catalogue or a TOML file; several with commas. Or a rig file.",
        ),
    ] = None,
    rig: Annotated[Path | None, typer.Option(help="Rig file: the machine, with all its devices.")] = None,
    model: Model = "nonlinear",
    speed: Annotated[str, typer.Option(help="m/s; several as FROM:TO:STEP or a list.")] = "5",
    x0: Annotated[str, typer.Option(help="phi,delta,phi_dot,delta_dot at the release, deg and deg/s.")] = "0,0,0,0",
    path: PathOption = None,
    duration: Annotated[
        float, typer.Option(help="s after the release; by default 10, or to the end of --path.")
    ] = 10.0,
    controller: RiddenController = "off",
    reference: FollowedReference = "",
    allow_mismatch: AllowMismatch = False,
    delay: Annotated[
        float | None,
        typer.Option(help="Samples from a measurement to its torque, 0 to 1; by default the controller's."),
    ] = None,
    drive_lag: Annotated[
        float | None, typer.Option(help="Time constant of the steer drive, s; by default the controller's.")
    ] = None,
    kick: Annotated[
        list[str] | None,
        typer.Option(help="Push on the rear frame, T,IMPULSE in s after the release and N s; may be repeated."),
    ] = None,
    knock: Annotated[
        list[str] | None, typer.Option(help="Knock on the handlebar, T,TWIST in s and N m s; may be repeated.")
    ] = None,
    floor: Annotated[bool, typer.Option("--floor", help="Roll freely on a floor; else a treadmill.")] = False,
    rolling: Annotated[float, typer.Option(help="Rolling resistance per weight, on the floor.")] = 0.0,
    drag_area: Annotated[float, typer.Option(help="Drag coefficient times frontal area, m^2, on the floor.")] = 0.0,
    belt: Annotated[float | None, typer.Option(help="Width of the treadmill's belt, m; endless by default.")] = None,
    wind: Annotated[float, typer.Option(help="Steady lateral force, N, positive to the right.")] = 0.0,
    gusts: Annotated[float, typer.Option(help="Standard deviation of the gusts, N.")] = 0.0,
    offset_mm: Annotated[float, typer.Option(help="Rear frame's centre of mass to the right, mm.")] = 0.0,
    training_wheels: Annotated[
        float | None, typer.Option(help="Lean at which training wheels touch, deg; none by default.")
    ] = None,
    friction: Annotated[float, typer.Option(help="Dry friction of the steer axis, N m.")] = 0.0,
    backlash: Annotated[float, typer.Option(help="Play of the steer drive from side to side, deg.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of all noise; the first of several.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, max=MOST_SEEDS, help="How many seeds, counted up from the first.")] = 1,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the run into this folder; several into folders there.")
    ] = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a bicycle behind its virtual instruments, and record what the bicycle itself would record.

    A person holds it until half a second under control has passed, and lets go at the state of --x0. Several
    bicycles, speeds and seeds make one run for each combination.
    """
    from riderless.experiments.campaigns.sweeps import simulate_all
    from riderless.experiments.commands._machines import require_duration
    from riderless.experiments.terminal.console import emit_json, parse_speeds, progress_screen, screen
    from riderless.experiments.terminal.progress import watching
    from riderless.hil.logs.folders import new_folder, run_folder
    from riderless.hil.runners.emulation import Emulation
    from riderless.models.plant.plant import SteerDrive, Surroundings

    require_duration(duration)
    _require_sensible({"--wind": wind, "--gusts": gusts, "--offset-mm": offset_mm})
    _refuse_ignored(context)
    start, pushes = _numbers("--x0", x0, 4), _pushes(kick or [], knock or [])
    emulation = Emulation(
        model,
        Surroundings(
            belt_width=belt,
            coasting=floor,
            rolling=rolling,
            drag_area=drag_area,
            wind=wind,
            gusts=gusts,
            training_wheels=None if training_wheels is None else _wheels_touch(training_wheels),
            frame_offset=1e-3 * offset_mm,
        ),
        SteerDrive(coulomb=friction, backlash=radians(backlash)),
    )
    ride, controller = asked_path(context), controller_for(context, controller)
    speeds = parse_speeds(speed) if ride is None or ride.speed is None else [ride.speed]
    scenarios = [_scenario(v, n, start, pushes, floor) for v in speeds for n in range(seed, seed + seeds)]
    machines = _machines(context, ride, controller, emulation)
    cases = _cases(context, ride, machines, controller, reference, allow_mismatch, scenarios, emulation, seeds > 1)
    names = ",".join(machine.bicycle.name for machine in machines)
    out = out or run_folder("runs", "simulated", names if rig else bike or names, cases[0].schedule.method)
    folders = [out] if len(cases) == 1 else [new_folder(out, case.label) for case in cases]
    if len(set(folders)) < len(folders):
        raise InputError("two of these runs are the same and want one folder: name each bicycle and speed once")
    compile_once()
    results = {}
    with watching(progress_screen, cases, "simulation") as (watch, done):
        for result in simulate_all(cases, folders, jobs, dask, watch):
            results[result.folder] = result.outcome
            done(result)
    runs = [{"run": str(f), "reason": results[f].reason, "cause": results[f].cause} for f in folders]
    if as_json:
        emit_json({"runs": runs})
    else:
        for run in runs:
            screen.print(f"{run['run']}: {run['reason']}, {run['cause']}", soft_wrap=True)
    if any(run["reason"] != "success" for run in runs):
        raise typer.Exit(1)


def _refuse_ignored(context: typer.Context) -> None:
    """Refuse options that a treadmill, a cluster or a method of design would make idle."""
    from riderless.experiments.commands._machines import names_method

    given = context.params
    if not given["floor"]:
        why = "a treadmill keeps the speed whatever resists; leave it out, or say --floor"
        refuse_ignored(context, "rolling", "drag_area", because=why)
    if given["dask"]:
        refuse_ignored(context, "jobs", because="the cluster of --dask has its own workers; leave --jobs out")
    if names_method(given["controller"]):
        why = f"{given['controller']} is designed for each bicycle; leave it out, or give a file of gains"
        refuse_ignored(context, "allow_mismatch", because=why)


def _machines(context: typer.Context, ride: "AskedPath | None", controller: str, emulation: "Emulation") -> "list[Rig]":
    """Machine of the rig file, or the emulated one of each bicycle, with the delay and lag that were given."""
    from dataclasses import replace

    from riderless.experiments.commands._machines import emulated_rig_of, named_rig, rig_of
    from riderless.hil.controllers.timing import SLOWEST_DRIVE
    from riderless.hil.design.closed_loop import MIN_DELAY
    from riderless.hil.rig.fitting import QUICKEST_DRIVE
    from riderless.models import catalogue

    given = context.params
    bike, trust = given["bike"], given["trust"]
    if (bike is None) == (given["rig"] is None):
        raise InputError("simulate wants a bicycle or --rig FILE, one of them: `riderless simulate Silver`")
    rig = rig_of(Path(given["rig"]), trust=trust) if given["rig"] else named_rig(bike, trust)
    if rig is not None:
        why = f"the rig '{rig.name}' has its own; leave it out, or name a bicycle"
        refuse_ignored(context, "delay", "drive_lag", because=why)
        return [rig]
    machines = []
    for name in bike.split(","):
        bicycle = catalogue.load_bicycle(name.strip(), trust)
        belt = emulation.surroundings.belt_width
        rig = emulated_rig_of(bicycle, controller) if ride is None else emulated_rig_on(bicycle, controller, belt)
        if (delay := given["delay"]) is not None:
            if not 0.0 <= delay <= 1.0:
                raise InputError(
                    f"--delay is from 0 to 1 sample, found {delay:g}: our node obeys at the next sample, 1"
                )
            rig = replace(rig, command_delay=None if delay == 1.0 else max(delay * rig.dt, MIN_DELAY))
        if (lag := given["drive_lag"]) is not None:
            if not QUICKEST_DRIVE <= lag < SLOWEST_DRIVE:
                raise InputError(
                    f"--drive-lag is from {QUICKEST_DRIVE:g} to {SLOWEST_DRIVE:g} s, found {lag:g} s: 0.005 is usual"
                )
            rig = replace(rig, drive_lag=lag)
        machines.append(rig)
    return machines


def _cases(
    context: typer.Context,
    ride: "AskedPath | None",
    machines: "Sequence[Rig]",
    controller: str,
    reference: str,
    allow_mismatch: bool,
    scenarios: "Sequence[Scenario]",
    emulation: "Emulation",
    seeded: bool,
) -> "list[SweepCase]":
    """Every machine in every scenario, under gains of a file or of a method; ``seeded`` labels name the seed."""
    from riderless.experiments.campaigns.sweeps import SweepCase
    from riderless.experiments.commands._machines import gains_of
    from riderless.hil.loop.reference import Reference
    from riderless.hil.rig.task import Task
    from riderless.hil.runners.simulated_run import require_pushes_within, require_runnable

    cases, demanded = [], Reference.parse(reference)
    for rig in machines:
        schedule = gains_of(controller, rig, [scenario.speed[0][1] for scenario in scenarios])
        for scenario in scenarios:
            v = scenario.speed[0][1]
            _require_path_of_lane(schedule, ride, rig)
            route = route_of(ride, rig, schedule, v, emulation.model == "linear")
            duration = ride_duration(context, route, scenario.release_after)
            require_pushes_within(scenario, duration)
            _require_start_within(rig, scenario)
            label = f"{rig.bicycle.name} {schedule.method} {v:g} m/s" + (f" seed {scenario.seed}" if seeded else "")
            length = scenario.release_after + duration
            task = Task(reference=demanded, route=route)
            require_runnable(rig, schedule, scenario, emulation, task, allow_mismatch)
            cases.append(SweepCase(rig, schedule, scenario, emulation, length, label, allow_mismatch, task))
    return cases


def _require_path_of_lane(schedule: "Controller", ride: "AskedPath | None", rig: "Rig") -> None:
    """Refuse a method that keeps a lane where nothing says which; gains from a file have a belt to ride on."""
    from riderless.hil.design.schedule import needs_place

    if ride is None and rig.place is None and needs_place(schedule):
        raise InputError(
            f"{schedule.method} rides along a path, found none: give --path FILE (docs/paths.md says how to write "
            "one), or take another controller"
        )


def _require_sensible(given: dict[str, float]) -> None:
    """Refuse what no bicycle survives: a slip of the pen, or of the unit."""
    for option, value in given.items():
        most, unit, what = _MOST[option]
        if not abs(value) <= most:
            raise InputError(f"{option} must be at most {most:g} {unit} ({what}), found {value:g} {unit}")


def _wheels_touch(degrees_of_lean: float) -> float:
    """Lean at which training wheels touch [rad]; refuses one at which they carry the bicycle all the time."""
    if 0.0 < degrees_of_lean < _LEAST_WHEELS_DEG:
        raise InputError(
            f"--training-wheels that touch at {degrees_of_lean:g} deg carry the bicycle: give the lean in deg, "
            f"{_LEAST_WHEELS_DEG:g} or more; {degrees_of_lean:g} rad would be {degrees(degrees_of_lean):.0f} deg"
        )
    return radians(degrees_of_lean)


def _require_start_within(rig: "Rig", scenario: "Scenario") -> None:
    """Refuse a state at the release that is beyond the limits of the machine: the drive would go off at once."""
    for what, angle, limit in zip(("lean", "steer"), scenario.x0, (rig.limits.lean, rig.limits.steer), strict=False):
        if abs(angle) > limit.value:
            raise InputError(
                f"--x0 starts with a {what} of {degrees(angle):g} deg, beyond the rig's limit of "
                f"{degrees(limit.value):.0f} deg, where the drive goes off at once: start nearer upright"
            )


def _scenario(v: float, seed: int, start: list[float], pushes: "list[Kick | Knock]", floor: bool) -> "Scenario":
    """Let a bicycle go at a state (phi, delta, phi_dot, delta_dot) [deg, deg/s], and push it now and then."""
    from riderless.models.plant.plant import Scenario
    from riderless.models.plant.scenario import INITIAL_RATE_MAX

    if not (abs(start[0]) <= 45.0 and abs(start[1]) <= 60.0):
        raise InputError(
            f"--x0 wants a lean within 45 deg and a steer within 60 deg, found {start[0]:g} and {start[1]:g} deg: "
            "start nearer upright"
        )
    if not all(abs(radians(rate)) <= INITIAL_RATE_MAX for rate in start[2:]):
        raise InputError(
            f"--x0 wants a lean rate and a steer rate within {int(degrees(INITIAL_RATE_MAX))} deg/s, "
            f"found {start[2]:g} and {start[3]:g} deg/s: start slower"
        )
    phi, delta, phi_dot, delta_dot = (radians(value) for value in start)
    return Scenario(
        speed=((0.0, v),),
        kicks=tuple(sorted(pushes, key=lambda push: push.t)),
        surface="floor" if floor else "treadmill",
        x0=(phi, delta, phi_dot, delta_dot),
        seed=seed,
    )


def _pushes(kicks: list[str], knocks: list[str]) -> "list[Kick | Knock]":
    """Read pushes on the frame and knocks on the handlebar."""
    from riderless.models.plant.plant import Kick, Knock

    made: list[Kick | Knock] = [
        *(Kick(*_numbers("--kick", text, 2)) for text in kicks),
        *(Knock(*_numbers("--knock", text, 2)) for text in knocks),
    ]
    for push in made:
        _require_sensible({"--kick": push.impulse} if isinstance(push, Kick) else {"--knock": push.twist})
    return made


def _numbers(option: str, text: str, n: int) -> list[float]:
    """`n` numbers with commas between."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != n:
        raise InputError(f"{option} wants {n} numbers with commas between, found '{text}'")
    return numbers
