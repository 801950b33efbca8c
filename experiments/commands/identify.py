"""`riderless identify`: parameters of bicycle and machine from all windows of a campaign together."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands._max_memory import DEFAULT, MaxMemory


def identify(
    paths: Annotated[list[Path], typer.Argument(help="Run folders, folders of runs, or files of others.")],
    free: Annotated[
        str, typer.Option(help="Quantities to identify, with commas: parameters of the bicycle, drive_gain, ...")
    ] = "",
    prior: Annotated[
        str,
        typer.Option(help="What is known before: own (measured deviations), usual (for those without), or none."),
    ] = "own",
    mapping: Annotated[str, typer.Option(help="Mapping file of other people's files.")] = "",
    bicycle: Annotated[str, typer.Option(help="Bicycle of files that name none.")] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Also where physics contradicts a unit or a sign, or the bicycle is odd.")
    ] = False,
    max_memory: MaxMemory = DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the values with which theory's motion comes closest to lean rate, steer and yaw rate of all windows.

    By output error: no derivative of a measurement is taken. Says which quantities these data cannot tell apart.
    Without --free it lists what can be identified. One bicycle at a time.
    """
    from experiments.reports.identify import identify_parameters
    from experiments.terminal.console import emit_json, print_blocks
    from hil.memory import use_memory

    use_memory(max_memory)

    found = identify_parameters(paths, free.split(","), prior=prior, mapping=mapping, bicycle=bicycle, trust=trust)
    if as_json:
        emit_json(found.as_json())
    else:
        print_blocks(found.blocks())
