"""`riderless campaign`: the main job, from emulated bicycles to a report."""

from pathlib import Path
from typing import Annotated

import typer


def campaign(
    rig_file: Annotated[
        Path | None, typer.Argument(help="Rig file whose devices are emulated; our node alone by default.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the campaign's folder is made.")] = Path("runs"),
    lockstep: Annotated[bool, typer.Option("--lockstep", help="Simulated time, no serial line: much faster.")] = False,
    seed: Annotated[int, typer.Option(help="Fixes kicks and sensor noise.")] = 1,
    model: Annotated[str, typer.Option(help="Equations of motion of the bicycles: linear or nonlinear.")] = "linear",
    fifo: Annotated[int, typer.Option(help="Real-time priority 1 to 90 of loop and bicycle; 0 for none.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Balance emulated bicycles over a serial line, kick them, and judge them by their eigenvalues.

    Benchmark and Silver bicycle: uncontrolled inside their stable range, and under LQR and pole
    placement below, inside and above it; 14 runs of three kicks, about three minutes in real time.
    """
    import json
    from functools import partial

    from experiments.campaign import in_lockstep, in_real_time
    from experiments.commands.analyze import show
    from experiments.console import emit_json, new_folder, progress_screen, screen
    from experiments.progress import analysed, watching
    from experiments.protocols.treadmill import conditions
    from experiments.recordings import read
    from experiments.reporting import report_on
    from hil.emulation import Emulation
    from hil.rig import Rig

    folder = new_folder(out, f"campaign-seed{seed}")
    folder.mkdir(parents=True)
    planned = list(conditions(seed, Emulation(model), Rig.from_toml(rig_file) if rig_file else None))
    runner = in_lockstep if lockstep else partial(in_real_time, fifo=fifo)
    attempts = []
    with watching(progress_screen, planned) as (watch, done):
        for attempt in runner(planned, folder, watch):
            attempts.append(attempt)
            done(attempt)
    good = [a for a in attempts if a.outcome.reason == "success"]
    analysis = analysed(progress_screen, [read(a.folder) for a in good])
    page = report_on(folder, "Emulated treadmill campaign", analysis, [a.folder for a in attempts])
    runs = [{"run": str(a.folder), "reason": a.outcome.reason, "cause": a.outcome.cause} for a in attempts]
    about = {"seed": seed, "rig": str(rig_file or "emulated"), "lockstep": lockstep, "model": model, "runs": runs}
    (folder / "campaign.json").write_text(json.dumps(about, indent=1))
    if as_json:
        emit_json({"runs": runs, "report": str(page), **analysis.as_json()})
    else:
        show(analysis)
        screen.print(f"report: {page}", soft_wrap=True)
    if len(good) < len(planned):
        raise typer.Exit(1)
