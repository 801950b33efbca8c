"""`riderless init`: example files to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import complete_bicycle


def init(
    folder: Annotated[Path, typer.Argument(help="Where the files are written; made if it is not there.")] = Path("."),
    bike: Annotated[
        str,
        typer.Option(
            autocompletion=complete_bicycle,
            help="Bicycle of the catalogue, or a TOML file, whose parameters stand in bicycle.toml.",
        ),
    ] = "Benchmark",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write example files into a folder, and say what to type next. Overwrites nothing.

    A bicycle, a rig and a campaign; a controller in Python; a driver of a device with bytes to try it; a mapping of
    somebody else's log.
    """
    import shlex

    from riderless.experiments.campaigns.starter import NEXT_STEPS, write_starter
    from riderless.experiments.terminal.console import emit_json, print_line

    written = write_starter(folder, bike)
    commands = [command for command, _ in NEXT_STEPS]
    if folder.resolve() != Path.cwd():
        commands.insert(0, f"cd {shlex.quote(str(folder))}")
    if as_json:
        emit_json({"files": [str(path) for path in written], "next": commands})
        return
    print_line(f"written: {', '.join(str(path) for path in written)}")
    print_line("next:")
    for command in commands:
        print_line(f"  {command}")
