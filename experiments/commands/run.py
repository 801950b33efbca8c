"""`riderless run`: controller on a bicycle."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riderless.experiments.commands._options import (
    ArmUnattended,
    LivePage,
    Trust,
    WithoutStopProof,
    complete_bicycle,
    feed_of,
    refuse_ignored,
    require_attended,
    require_linux,
)
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
    Emulated,
    Fifo,
    FollowedReference,
    Processor,
    RiddenController,
    RigFile,
    SerialPorts,
    Yes,
)
from riderless.experiments.commands._too_busy import TOO_BUSY, HostDelays, floor_beside, judged_beside
from riderless.experiments.commands._whole_numbers import MOST_SEED
from riderless.experiments.commands.warmup import compile_once

if TYPE_CHECKING:
    from riderless.hil.rig.rig import Rig
    from riderless.hil.runners.operator import Outcome
    from riderless.models.plant.plant import Kick, Scenario


def run(
    context: typer.Context,
    rig_file: RigFile = None,
    port: SerialPorts = None,
    emulated: Emulated = False,
    bike: Annotated[
        str, typer.Option("--bicycle", autocompletion=complete_bicycle, help="Bicycle of the emulated rig.")
    ] = "Benchmark",
    controller: RiddenController = "lqr",
    reference: FollowedReference = "",
    path: PathOption = None,
    speed: Annotated[float, typer.Option(help="m/s, of the emulated bicycle, or of the rig's treadmill.")] = 5.0,
    duration: Annotated[float, typer.Option(help="s under control; by default 10, or to the end of --path.")] = 10.0,
    fifo: Fifo = 0,
    cpu: Processor = None,
    model: Annotated[str, typer.Option(help="Equations of motion of the emulated bicycle: linear or nonlinear.")] = (
        "linear"
    ),
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the emulated bicycle.")] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write the run's folder into this one.")] = Path("runs"),
    allow_mismatch: AllowMismatch = False,
    allow_unstable: Annotated[
        bool,
        typer.Option("--allow-unstable", help="Run gains under which the bicycle falls by itself, or nobody can say."),
    ] = False,
    live: LivePage = False,
    host_delays: HostDelays = False,
    yes: Yes = False,
    yes_arm_unattended: ArmUnattended = False,
    without_stop_proof: WithoutStopProof = False,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Balance a bicycle, real or emulated, and record the run.

    Any key ramps the torque down, so does Ctrl-C; twice switches it off.

    Stand by the bicycle, hold it upright and press Enter: after a second of clean data and a proof of
    the drive's watchdog it is under control. The key k marks a kick in the log. An emulated bicycle is armed at once;
    [ and ], or the arrows, kick it to the left and to the right. A real one is armed without a terminal only with
    --yes-arm-unattended, and one with a rig file on a day on which its hardware stop was not pressed in
    `riderless check` only with --without-stop-proof. Exit code 1: machine or program failed; 3: this computer was too
    busy.
    """
    require_linux("riderless run")
    from riderless.experiments.commands._machines import emulated_rig_of, gains_of, paths_of, require_duration, rig_of
    from riderless.experiments.emulation.hand import RELEASE_DELAY, Hand
    from riderless.experiments.emulation.workstand import start_twin
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.run_screen import StoppedBeforeRunError, run_screen
    from riderless.hil.logs.folders import run_folder
    from riderless.hil.loop.reference import Reference
    from riderless.hil.rig.task import Task
    from riderless.hil.runners.emulation import Emulation
    from riderless.hil.runners.operator import Operator, Outcome
    from riderless.hil.runners.prepared_run import prepare_run
    from riderless.hil.runners.session import run_prepared
    from riderless.hil.runners.stop_proof import WITHOUT
    from riderless.hil.runners.warmup import warm_up

    rig = rig_of(rig_file, bike, trust)
    _refuse_ignored(context, rig)
    ride, controller = asked_path(context), controller_for(context, controller)
    speed = (ride.speed if ride else None) or speed
    if not rig_file and (emulated or ride is not None):
        rig = emulated_rig_of(rig.bicycle, controller) if ride is None else emulated_rig_on(rig.bicycle, controller)
    paths = [] if emulated else paths_of(rig, port or [])
    require_duration(duration, held=RELEASE_DELAY if emulated else 0.0)
    speeds, asked_speeds = (speed,) if emulated else (), ((0.0, speed),) if rig.speed_drive else ()
    schedule = gains_of(controller, rig, speeds)
    route = route_of(ride, rig, schedule, speed, emulated and model == "linear")
    task = Task(reference=Reference.parse(reference), route=route, asked_speeds=asked_speeds)
    duration = ride_duration(context, route)
    about: dict[str, Any] = {WITHOUT: True} if without_stop_proof else {}
    about |= {"emulation": Emulation(model)} if emulated else require_attended(paths, yes_arm_unattended)
    folder = run_folder(out, rig.bicycle.name, schedule.method)
    prepared = prepare_run(
        folder, rig, schedule, paths, duration, task, fifo, cpu, speeds, about, allow_mismatch, allow_unstable
    )
    if emulated:
        scenario = _kicked(rig, speed, 0.0 if path else duration, seed, model)
        prepared = replace(prepared, about={"scenario": scenario, **about})
    operator = Operator(duration, waiting=not (emulated or yes or "unattended" in about))
    compile_once()
    with ExitStack() as stack:
        shown = stack.enter_context(run_screen(progress_screen, rig, schedule, operator))
        shown.feed = feed_of(live, ["kick"] if emulated else [])
        try:
            with shown.starting() as step:
                if emulated:
                    step("starting the virtual bicycle")
                    shown.hand = Hand(_kicks(rig, seed, model))
                    paths = stack.enter_context(start_twin(rig, **prepared.about, fifo=fifo, hand=shown.hand)).paths
                step("loading the loop")
                warm_up(rig, schedule)
            with floor_beside(host_delays) as floor:
                outcome = run_prepared(prepared, paths, operator, watch=shown.watch, feed=shown.feed)
            outcome = shown.with_remarks(judged_beside(floor, outcome, folder) if floor else outcome)
        except StoppedBeforeRunError as stopped:
            outcome = Outcome("abort", str(stopped))
    _tell(outcome, folder, as_json)
    if outcome.reason == "fault":
        raise typer.Exit(TOO_BUSY if outcome.ended_by == "computer" else 1)


def _refuse_ignored(context: typer.Context, rig: "Rig") -> None:
    """Refuse options that a rig file, a wired bicycle or a method of design would make idle."""
    from riderless.experiments.commands._machines import names_method, require_one_machine

    given = context.params
    require_one_machine(given["emulated"], given["port"])
    if given["rig_file"]:
        carries = f"the rig file {given['rig_file']} carries the bicycle {rig.bicycle.name}"
        refuse_ignored(context, "bike", because=f"{carries}; leave --bicycle out, or the rig file")
    if given["emulated"]:
        refuse_ignored(context, "without_stop_proof", because="a virtual bicycle has no such stop; leave it out")
    else:
        why = "only a virtual bicycle is told so; leave it out, or say --emulated"
        refuse_ignored(context, *(() if rig.speed_drive else ("speed",)), "model", "seed", "host_delays", because=why)
    if names_method(given["controller"]):
        why = f"{given['controller']} is designed for this very bicycle; leave it out, or give a file of gains"
        refuse_ignored(context, "allow_mismatch", because=why)


def _tell(outcome: "Outcome", folder: Path, as_json: bool) -> None:
    """Print how the run ended, and where it lies if it had begun."""
    from riderless.experiments.terminal.console import emit_json, screen
    from riderless.hil.logs.records import RUN_FILE

    folder = outcome.folder or folder
    exists = (folder / RUN_FILE).exists()
    if as_json:
        ending = {"reason": outcome.reason, "cause": outcome.cause, "ended_by": outcome.ended_by}
        emit_json({"run": str(folder) if exists else None, **ending, "remarks": outcome.remarks})
        return
    screen.print(f"{outcome.reason}: {outcome.cause}", *outcome.remarks, sep="\n")
    if exists:
        screen.print(f"run: {folder}", soft_wrap=True)  # a path is copied


def _kicked(rig: "Rig", speed: float, duration: float, seed: int, model: str) -> "Scenario":
    """Make a treadmill on which somebody kicks the bicycle now and then, for ``duration`` s under control."""
    import numpy as np

    from riderless.experiments.emulation import hand
    from riderless.models.plant.plant import Scenario

    rng = np.random.default_rng(seed)
    over = duration - hand.RELEASE_DELAY - max(hand.HAND_KICK_LENGTHS)
    kicks = hand.kicks_in_turn(rig.bicycle, np.arange(hand.FIRST_KICK, over, hand.KICK_SPACING), rng, model)
    return Scenario(speed=((0.0, speed),), kicks=kicks, seed=seed)


def _kicks(rig: "Rig", seed: int, model: str) -> "Callable[[int], Kick]":
    """Make a function that draws a kick by hand, to the right (1) or left (-1)."""
    import numpy as np

    from riderless.experiments.emulation.hand import hand_kick

    rng = np.random.default_rng((seed, 1))  # other chances than those of the kicks that come by themselves
    return lambda side: hand_kick(rig.bicycle, 0.0, side, rng, model)
