"""`riderless replay`: raw bytes through the tick."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import (
    DEFAULT,
    DriverFilesOption,
    LawFileOption,
    MaxMemory,
    know_law,
    require_law_used,
)
from riderless.experiments.commands._shared_options import AsJson
from riderless.hil.memory import use_memory


def replay(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    controller: LawFileOption = None,
    driver: DriverFilesOption = None,
    max_memory: MaxMemory = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """Replay a run's raw bytes through the controller, and compare its commands bit for bit.

    Exit code 0: every tick of the log said the same; 1: one did not, or the bytes end before the rows.
    """
    from riderless.experiments.terminal.console import emit_json, progress_screen, screen
    from riderless.experiments.terminal.progress import passing
    from riderless.firmware_interface.devices.outside import name_driver
    from riderless.hil.logs.log import read_run
    from riderless.hil.runners.replay import replay as replayed

    use_memory(max_memory)

    know_law(controller)
    for file in driver or ():
        name_driver(file)
    recorded = read_run(run, stored=True)
    require_law_used(controller, [recorded.header])
    with passing(progress_screen, "ticks") as tell:
        result = replayed(recorded, tell)
    if as_json:
        emit_json({"run": str(recorded.folder), "identical": result.identical, **vars(result)})
    else:
        screen.print(result.sentence, soft_wrap=True)
    if recorded.recovered and not as_json:
        screen.print(recorded.recovered, soft_wrap=True)
    if not result.identical:
        raise typer.Exit(1)
