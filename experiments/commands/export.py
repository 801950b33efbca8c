"""`riderless export`: a run for other tools, a controller for a microcontroller."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import (
    DEFAULT,
    Force,
    LawFileOption,
    MaxMemory,
    know_law,
    refuse_ignored,
    require_law_used,
)
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.memory import use_memory
from riderless.hil.output_file import OutputFile, files_read


def export(
    context: typer.Context,
    run: Annotated[Path, typer.Argument(help="Run folder; with --to c the file of a controller.")],
    to: Annotated[str, typer.Option(help="Format: csv, parquet, mat, mcap, rosbag2 or c.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write to this file, with --to c into this folder; by default beside the run."
        ),
    ] = None,
    rig: Annotated[
        Path | None, typer.Option(help="Rig file, with --to c; by default the emulated machine it was made for.")
    ] = None,
    law_states: Annotated[
        bool, typer.Option("--law-states", help="Add the controller's states, which a replay of the run finds again.")
    ] = False,
    controller: LawFileOption = None,
    force: Force = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Write the rows of a run as a table, one column per quantity, SI units.

    csv: three files, the rows, the markers, and units and header as JSON. parquet: one file with units and
    header in it. mat: MATLAB's version 5, structs ticks, units, meanings and markers. mcap: the log with its
    index, also of a run that was killed. rosbag2: a folder for ROS 2, Imu and JointState, z up. `riderless
    analyze` reads all of them (rosbag2: --mapping riderless-rosbag2 --bicycle NAME). Beside mat lies a function
    that plots it (MATLAB, Octave), beside csv and mcap a layout for PlotJuggler, beside mcap one for Foxglove.

    c: no run but a controller, gains or a state space, with the observer of its rig: a header and a source in C99
    for a microcontroller (docs/howto/controller-in-c.md).
    """
    if to == "c":
        refuse_ignored(context, "law_states", "controller", because="it is about a run; leave it out")
        _export_controller(run, rig, out, force, as_json)
        return
    refuse_ignored(context, "rig", because=f"a run has its own, and --to {to} takes a run; leave it out")
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


def _export_controller(controller: Path, rig_file: Path | None, out: Path | None, force: bool, as_json: bool) -> None:
    """Write a controller in C.

    Parameters
    ----------
    controller : Path
        Its file.
    rig_file : Path or None
        None: the emulated machine that it was made for.
    out : Path or None
        Folder, made where there is none; None: beside the controller.
    force : bool
        The files may take the place of others.
    as_json : bool
    """
    from riderless.experiments.commands._machines import gains_of, machine_for
    from riderless.experiments.terminal.console import emit_json, print_written, screen
    from riderless.hil.rig.controller_in_c import controller_in_c

    rig = machine_for(rig_file, None, str(controller), trust=False)
    texts = controller_in_c(gains_of(str(controller), rig), rig)
    folder = controller.with_name(f"{controller.stem}_c") if out is None else out
    files = [OutputFile(folder / name, "the controller", force, files_read(controller, rig_file)) for name in texts]
    with files[0].failing():
        folder.mkdir(exist_ok=True)
    for file in files:
        file.require_free()
    for file, text in zip(files, texts.values(), strict=True):
        file.write(text)
    if as_json:
        emit_json({"path": str(folder), "files": [str(file.path) for file in files], "rig": rig.name})
        return
    for file in files:
        print_written("controller", file.path)
    if rig_file is None:
        screen.print("it is for the emulated machine: give --rig RIG for yours", soft_wrap=True)
