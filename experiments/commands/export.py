"""`riderless export`: a run for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import DEFAULT, Force, LawFileOption, MaxMemory, know_law, require_law_used
from riderless.hil.memory import use_memory
from riderless.hil.output_file import OutputFile


def export(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    to: Annotated[str, typer.Option(help="Format: csv, parquet, mat, mcap or rosbag2.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; beside the run by default.")] = None,
    law_states: Annotated[
        bool, typer.Option("--law-states", help="Add the controller's states, which a replay of the run finds again.")
    ] = False,
    controller: LawFileOption = None,
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the rows of a run as a table, one column per quantity, SI units.

    csv: three files, the rows, the markers, and units and header as JSON. parquet: one file with units and
    header in it. mat: MATLAB's version 5, structs ticks, units, meanings and markers. mcap: the log with its
    index, also of a run that was killed. rosbag2: a folder for ROS 2, Imu and JointState, z up. `riderless
    analyze` reads all of them (rosbag2: --mapping riderless-rosbag2 --bicycle NAME). Beside mat lies a function
    that plots it (MATLAB, Octave), beside csv and mcap a layout for PlotJuggler, beside mcap one for Foxglove.
    """
    from riderless.experiments.terminal.console import emit_json, progress_screen, screen
    from riderless.experiments.terminal.progress import passing
    from riderless.hil.logs.export import export_run
    from riderless.hil.logs.log import read_run

    use_memory(max_memory)

    know_law(controller)
    log = read_run(run, stored=True)
    require_law_used(controller, [log.header])
    if law_states:
        from riderless.hil.runners.replay import with_law_states

        with passing(progress_screen, "ticks") as tell:
            log = with_law_states(log, tell)
    with passing(progress_screen, "rows") as tell:
        files = export_run(log, to, out, tell, force=force)
    lost = getattr(log.ticks, "lost", 0)  # found only now in a log that stays in its file
    if as_json:
        names = [str(path) for path in files]
        emit_json(
            {"path": names[0], "files": names, "rows": len(log.ticks) - lost, "complete": log.complete and not lost}
        )
        return
    console = progress_screen if OutputFile(files[0], "the export").is_stream else screen  # the table may be there
    console.print(f"{len(log.ticks) - lost} rows written to {files[0]}", soft_wrap=True)
    if not log.complete:
        console.print(log.recovered, soft_wrap=True)
    if lost:
        console.print(f"{lost} rows are left out: their part of the log is damaged", soft_wrap=True)
    for path in files[1:]:
        console.print(f"beside it: {path}", soft_wrap=True)
