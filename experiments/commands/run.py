"""`riderless run`: a controller on a bicycle, real or emulated."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from hil.rig.rig import Rig
    from models.plant.plant import Scenario


def run(
    rig_file: Annotated[Path | None, typer.Argument(help="Rig file (TOML); the emulated rig by default.")] = None,
    port: Annotated[list[str] | None, typer.Option(help="Serial port; once for each port of the rig.")] = None,
    emulated: Annotated[bool, typer.Option("--emulated", help="Start a virtual bicycle and run against it.")] = False,
    bike: Annotated[str, typer.Option(help="Bicycle of the emulated rig.")] = "Benchmark",
    controller: Annotated[
        str, typer.Option(help="Gains as written by `riderless design`, or a method: lqr, poles, lean, off.")
    ] = "lqr",
    speed: Annotated[float, typer.Option(help="Treadmill speed of the emulated bicycle, m/s.")] = 5.0,
    duration: Annotated[float, typer.Option(help="s under control.")] = 10.0,
    fifo: Annotated[int, typer.Option(min=0, max=90, help="Real-time priority 1 to 90; 0 for none.")] = 0,
    cpu: Annotated[int | None, typer.Option(help="Processor to keep the loop on; any by default.")] = None,
    model: Annotated[str, typer.Option(help="Equations of motion of the emulated bicycle: linear or nonlinear.")] = (
        "linear"
    ),
    seed: Annotated[int, typer.Option(help="Of the emulated bicycle.")] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the run's folder is made.")] = Path("runs"),
    yes: Annotated[bool, typer.Option("--yes", help="Arm without waiting for Enter.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Arm, balance, record. Any key ramps the torque down, so does Ctrl-C; twice switches it off.

    Stand by the bicycle, hold it upright and press Enter: after a second of clean data and a proof of
    the drive's watchdog it is under control. The key k marks a kick in the log. An emulated bicycle, and one
    without a terminal, is armed at once.
    """
    import sys
    from contextlib import ExitStack

    import numpy as np
    from rich.live import Live

    from experiments.commands._rig_arguments import paths_of, rig_of
    from experiments.emulation.spawn import start_twin
    from experiments.terminal.console import emit_json, parse_speeds, progress_screen, screen
    from experiments.terminal.keys import keys
    from experiments.terminal.operator import heed, live_line, mark_echo
    from hil.design.methods import METHODS, GainSchedule, design
    from hil.logs.folders import run_folder
    from hil.runners.emulation import Emulation
    from hil.runners.operator import Operator
    from hil.runners.session import run_realtime
    from models.errors import InputError

    if emulated and port:
        raise InputError("give either --port or --emulated, not both: one bicycle at a time")
    rig = rig_of(rig_file, bike)
    paths = [] if emulated else paths_of(rig, port or [])
    if not 0.0 < duration < 86400.0:
        raise InputError(f"--duration must be above 0 and below 86400 s, found {duration:g} s")
    if controller in METHODS:
        schedule = design(rig.bicycle, controller, parse_speeds("2:9:0.5"), rig.timing)
    else:
        schedule = GainSchedule.from_toml(Path(controller))
    folder = run_folder(out, rig.bicycle.name, schedule.method)
    operator = Operator(duration, waiting=not (emulated or yes) and sys.stdin.isatty())
    extra: dict[str, Any] = {}
    with ExitStack() as stack:
        if emulated:
            scenario, emulation = _kicked(rig, speed, duration, seed), Emulation(model)
            paths = stack.enter_context(start_twin(rig, scenario, emulation, fifo)).paths
            extra = {"scenario": scenario, "emulation": emulation}
        pressed, live = stack.enter_context(keys()), stack.enter_context(Live(console=progress_screen))

        def watch(row: np.void) -> None:
            typed = pressed()
            heed(typed, operator)
            if echo := mark_echo(typed, float(row["t"])):
                progress_screen.print(echo)
            live.update(live_line(row, rig, operator))

        outcome = run_realtime(
            folder, rig, schedule, paths, duration, extra=extra, watch=watch, fifo=fifo, cpu=cpu, operator=operator
        )
    if as_json:
        emit_json({"run": str(folder), "reason": outcome.reason, "cause": outcome.cause, "remarks": outcome.remarks})
    else:
        screen.print(f"{outcome.reason}: {outcome.cause}", *outcome.remarks, f"run: {folder}", sep="\n", soft_wrap=True)
    if outcome.reason == "fault":
        raise typer.Exit(1)


def _kicked(rig: "Rig", speed: float, duration: float, seed: int) -> "Scenario":
    """Make a treadmill on which somebody kicks the bicycle now and then."""
    import numpy as np

    from experiments.campaigns.protocols.condition import FIRST_KICK, KICK_SPACING, hand_kick
    from models.plant.plant import Scenario

    rng = np.random.default_rng(seed)
    times = np.arange(FIRST_KICK, duration, KICK_SPACING)
    kicks = tuple(hand_kick(rig.bicycle, float(t), (-1) ** i, rng) for i, t in enumerate(times))
    return Scenario(speed=((0.0, speed),), kicks=kicks, seed=seed)
