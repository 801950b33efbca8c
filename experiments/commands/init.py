"""`riderless init`: example files to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import complete_bicycle, refuse_ignored
from riderless.experiments.commands._shared_options import AsJson


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Where the files are written; made if it is not there.")] = Path("."),
    bike: Annotated[
        str,
        typer.Option(
            "--bicycle",
            autocompletion=complete_bicycle,
            help="Bicycle of the catalogue, or a TOML file, whose parameters stand in bicycle.toml.",
        ),
    ] = "Benchmark",
    driver: Annotated[
        bool, typer.Option("--driver-only", help="Only what a device's driver takes: driver, twin, rig and test.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write example files into a folder, and say what to type next. Overwrites nothing.

    A bicycle, a rig and a campaign; a controller in Python; a driver of a device with bytes to try it; a mapping of
    somebody else's log.
    """
    import shlex

    from riderless.experiments.campaigns.starter import DRIVER_STEPS, NEXT_STEPS, write_driver_starter, write_starter
    from riderless.experiments.terminal.console import emit_json, print_line

    if driver:
        refuse_ignored(context, "bike", because="a driver knows no bicycle; leave one of them out")
    written = write_driver_starter(folder) if driver else write_starter(folder, bike)
    commands = [command for command, _ in (DRIVER_STEPS if driver else NEXT_STEPS)]
    if folder.resolve() != Path.cwd():
        commands.insert(0, f"cd {shlex.quote(str(folder))}")
    if as_json:
        emit_json({"files": [str(path) for path in written], "next": commands})
        return
    print_line(f"written: {', '.join(str(path) for path in written)}")
    print_line("next:")
    for command in commands:
        print_line(f"  {command}")
