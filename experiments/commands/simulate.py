"""`riderless simulate`: bicycles in simulated time, one or many."""

from math import radians
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.campaigns.sweeps import SweepCase
    from hil.runners.emulation import Emulation
    from models.plant.plant import Kick, Knock, Scenario

_MAX_SEEDS = 10_000


def simulate(
    bike: Annotated[str, typer.Argument(help="Name in the catalogue or a TOML file; several with commas.")],
    model: Annotated[str, typer.Option(help="Equations of motion: linear or nonlinear.")] = "nonlinear",
    speed: Annotated[str, typer.Option(help="m/s; several as FROM:TO:STEP or a list.")] = "5",
    x0: Annotated[str, typer.Option(help="phi,delta,phi_dot,delta_dot at the release, deg and deg/s.")] = "0,0,0,0",
    duration: Annotated[float, typer.Option(help="s after the release.")] = 10.0,
    controller: Annotated[
        str, typer.Option(help="Gains as written by `riderless design`, or a method: lqr, poles, lean, off.")
    ] = "off",
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
    seed: Annotated[int, typer.Option(help="Of all noise; the first of several.")] = 1,
    seeds: Annotated[int, typer.Option(help="How many seeds, counted up from the first.")] = 1,
    jobs: Annotated[int | None, typer.Option(help="Runs at a time; one a core by default.")] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler to hand the runs to.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; of several, where theirs are made.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate a bicycle behind its virtual instruments, and record what the bicycle itself would record.

    A person holds it until half a second under control has passed, and lets go at the state of --x0. Several
    bicycles, speeds and seeds make one run for each combination.
    """
    from experiments.campaigns.sweeps import simulate_all
    from experiments.terminal.console import emit_json, parse_speeds, progress_screen, screen
    from experiments.terminal.progress import watching
    from hil.logs.folders import new_folder, run_folder
    from hil.runners.emulation import Emulation
    from models.errors import InputError
    from models.plant.plant import SteerDrive, Surroundings

    if not 0.0 < duration < 86400.0:
        raise InputError(f"--duration must be above 0 and below 86400 s, found {duration:g} s")
    if not 1 <= seeds <= _MAX_SEEDS:
        raise InputError(
            f"--seeds must be 1 or more and at most {_MAX_SEEDS}, found {seeds}: it says how many runs differ in "
            "their noise only"
        )
    if not floor and (rolling or drag_area):
        raise InputError(
            "--rolling and --drag-area slow a bicycle on a floor, a treadmill keeps its speed: add --floor"
        )
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
            training_wheels=None if training_wheels is None else radians(training_wheels),
            frame_offset=1e-3 * offset_mm,
        ),
        SteerDrive(coulomb=friction, backlash=radians(backlash)),
    )
    scenarios = [_scenario(v, n, start, pushes, floor) for v in parse_speeds(speed) for n in range(seed, seed + seeds)]
    cases = _cases(bike.split(","), controller, scenarios, emulation, duration, seeds > 1)
    out = out or run_folder("runs", "simulated", bike, cases[0].schedule.method)
    folders = [out] if len(cases) == 1 else [new_folder(out, case.label) for case in cases]
    if len(set(folders)) < len(folders):
        raise InputError("two of these runs are the same and want one folder: name each bicycle and speed once")
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


def _cases(
    bikes: "Sequence[str]",
    controller: str,
    scenarios: "Sequence[Scenario]",
    emulation: "Emulation",
    duration: float,
    seeded: bool,
) -> "list[SweepCase]":
    """Every bicycle in every scenario, under gains of a file or of a method; ``seeded`` labels name the seed."""
    from experiments.campaigns.sweeps import SweepCase
    from experiments.terminal.console import parse_speeds
    from hil.design.methods import METHODS, GainSchedule, LoopTiming, design
    from hil.rig.rig import Rig
    from models import catalogue

    cases = []
    for name in bikes:
        rig = Rig(catalogue.load_bicycle(name.strip()))
        if controller in METHODS:
            schedule = design(
                rig.bicycle, controller, parse_speeds("2:9:0.5"), LoopTiming(rig.rate, drive_lag=rig.drive_lag)
            )
        else:
            schedule = GainSchedule.from_toml(Path(controller))
        for scenario in scenarios:
            v = scenario.speed[0][1]
            label = f"{rig.bicycle.name} {schedule.method} {v:g} m/s" + (f" seed {scenario.seed}" if seeded else "")
            cases.append(SweepCase(rig, schedule, scenario, emulation, scenario.release_after + duration, label))
    return cases


def _scenario(v: float, seed: int, start: list[float], pushes: "list[Kick | Knock]", floor: bool) -> "Scenario":
    """Let a bicycle go at a state (phi, delta, phi_dot, delta_dot) [deg, deg/s], and push it now and then."""
    from models.plant.plant import Scenario

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
    from models.plant.plant import Kick, Knock

    return [
        *(Kick(*_numbers("--kick", text, 2)) for text in kicks),
        *(Knock(*_numbers("--knock", text, 2)) for text in knocks),
    ]


def _numbers(option: str, text: str, n: int) -> list[float]:
    """`n` numbers with commas between."""
    from models.errors import InputError

    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != n:
        raise InputError(f"{option} wants {n} numbers with commas between, found '{text}'")
    return numbers
