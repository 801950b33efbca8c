"""`riderless run`: a controller on a bicycle, real or emulated."""

from pathlib import Path
from typing import Annotated

import typer


def run(
    rig_file: Annotated[Path | None, typer.Argument(help="Rig file (TOML); the emulated rig by default.")] = None,
    port: Annotated[str | None, typer.Option(help="Serial port of the node.")] = None,
    emulated: Annotated[bool, typer.Option("--emulated", help="Start a virtual bicycle and run against it.")] = False,
    bike: Annotated[str, typer.Option(help="Bicycle of the emulated rig.")] = "Benchmark",
    controller: Annotated[
        str, typer.Option(help="Gains as written by `riderless design`, or a method: lqr, poles, lean, off.")
    ] = "lqr",
    speed: Annotated[float, typer.Option(help="Treadmill speed of the emulated bicycle, m/s.")] = 5.0,
    duration: Annotated[float, typer.Option(help="s under control.")] = 10.0,
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 90; 0 for none.")] = 0,
    cpu: Annotated[int | None, typer.Option(help="Processor to keep the loop on; any by default.")] = None,
    model: Annotated[str, typer.Option(help="Equations of motion of the emulated bicycle: linear or nonlinear.")] = (
        "linear"
    ),
    seed: Annotated[int, typer.Option(help="Of the emulated bicycle.")] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the run's folder is made.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Arm, balance, record. Ctrl-C ramps the torque down; twice switches it off.

    The run is armed when this command is given: stand by the bicycle and hold it upright; after a
    second of clean data and a proof of the drive's watchdog it is under control.
    """
    import numpy as np
    from rich.live import Live

    from experiments.console import emit_json, parse_speeds, progress_screen, screen
    from experiments.protocols.treadmill import FIRST_KICK, SPACING, hand_kick
    from experiments.twin import start_twin
    from hil.design.methods import METHODS, GainSchedule, Loop, design
    from hil.emulation import Emulation
    from hil.log import run_folder
    from hil.rig import Rig
    from hil.session import run_realtime
    from hil.states import State
    from models import catalogue
    from models.errors import InputError
    from models.plant import Scenario

    if emulated and port:
        raise InputError("give either --port or --emulated, not both: one bicycle at a time")
    rig = Rig.from_toml(rig_file) if rig_file else Rig(catalogue.load(bike))
    paths = [port] if port else [p.path for p in rig.ports if p.path]
    if not (emulated or len(paths) == len(rig.ports)):
        raise InputError(
            "no bicycle to run: give --port PATH, a rig file that names its ports, or --emulated for a virtual one"
        )
    if not 0.0 < duration < 86400.0:
        raise InputError(f"--duration must be above 0 and below 86400 s, found {duration:g} s")
    if controller in METHODS:
        timing = Loop(rate=rig.rate, drive_lag=rig.drive_lag)
        schedule = design(rig.bicycle, controller, parse_speeds("2:9:0.5"), timing)
    else:
        schedule = GainSchedule.from_toml(Path(controller))
    folder = run_folder(out, rig.bicycle.name, schedule.method)
    with Live(console=progress_screen, refresh_per_second=5) as live:

        def watch(row: np.void) -> None:
            live.update(
                f"{State(int(row['state'])).name:<9} v {row['v_est']:5.2f} m/s  "
                f"lean {np.degrees(row['phi_est']):+6.2f} "
                f"steer {np.degrees(row['delta_est']):+6.2f} deg  torque {row['T_cmd']:+6.2f} N m"
            )

        if not emulated:
            outcome = run_realtime(folder, rig, schedule, paths, duration, watch=watch, fifo=fifo, cpu=cpu)
        else:
            rng = np.random.default_rng(seed)
            times = np.arange(FIRST_KICK, duration, SPACING)
            kicks = tuple(hand_kick(rig.bicycle, float(t), (-1) ** i, rng) for i, t in enumerate(times))
            scenario = Scenario(speed=((0.0, speed),), kicks=kicks, seed=seed)
            emulation = Emulation(model)
            with start_twin(rig, scenario, emulation) as twin:
                outcome = run_realtime(
                    folder,
                    rig,
                    schedule,
                    twin.paths,
                    duration,
                    extra={"scenario": scenario, "emulation": emulation},
                    watch=watch,
                    fifo=fifo,
                    cpu=cpu,
                )
    if as_json:
        emit_json({"run": str(folder), "reason": outcome.reason, "cause": outcome.cause, "remarks": outcome.remarks})
    else:
        screen.print(f"{outcome.reason}: {outcome.cause}", *outcome.remarks, f"run: {folder}", sep="\n", soft_wrap=True)
    if outcome.reason == "fault":
        raise typer.Exit(1)
