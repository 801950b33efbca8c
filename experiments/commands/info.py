"""`riderless info`: content and end of a run."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import DEFAULT, MaxMemory
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.memory import use_memory


def info(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Say what a run folder holds: bicycle, controller, duration, markers, counters, stop reason."""
    from riderless.experiments.terminal.console import emit_json, screen
    from riderless.hil.logs.log import read_run
    from riderless.hil.loop.tick_record import COUNTERS

    use_memory(max_memory)

    log = read_run(run, everything=False, stored=True)
    ticks = log.ticks
    last, held = ticks[-1] if len(ticks) else None, ticks.dtype.names or ()
    counters = {name: int(last[name]) if last is not None and name in held else 0 for name in COUNTERS}
    if as_json:
        emit_json(
            {
                "run": str(run),
                "ticks": len(ticks),
                "duration": log.duration,
                "markers": [vars(m) for m in log.markers],
                "stop": vars(log.stop),
                "complete": log.complete,
                "recovered": log.recovered,
                "counters": counters,
                "header": log.header.to_json(),
            }
        )
        return
    header = log.header
    screen.print(header.label or run.name, style="bold")
    screen.print(f"bicycle     {header.bicycle.name}, controller {header.controller}")
    screen.print(f"closed by   {header.closed_by}")
    screen.print(f"ticks       {len(ticks)} in {log.duration:.2f} s")
    screen.print(f"ended       {log.stop.reason}: {log.stop.cause}")
    if header.unattended:
        screen.print("unattended  armed with nobody at a terminal")
    if header.without_stop_proof:
        screen.print("no proof    armed though the hardware stop was not pressed that day")
    if not log.complete:
        screen.print(f"recovered   {log.recovered}")
    for marker in log.markers:
        screen.print(f"marker      {marker.t:9.3f} s  {marker.kind} {marker.text}")
    screen.print("counters    " + ", ".join(f"{name} {n}" for name, n in counters.items() if n))
    screen.print(f"made by     riderless {header.version}, commit {header.commit}")
