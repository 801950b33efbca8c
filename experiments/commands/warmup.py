"""`riderless warmup`: compile everything now, so that nothing is compiled beside a bicycle."""

from typing import Annotated

import typer


def warmup(
    emulation: Annotated[
        bool, typer.Option(help="The emulated bicycle, the replay and the fits too, not the loop alone.")
    ] = True,
) -> None:
    """Compile the loop, the emulated bicycle, the replay and the fits; once after each installation or update.

    Every command does so itself when it must; this one does it while nobody waits.
    """
    from experiments.commands._warmup_steps import ANALYSIS, EMULATION, LOOP
    from experiments.terminal.console import progress_screen, screen
    from experiments.terminal.progress import one_by_one

    one_by_one(progress_screen, {**LOOP, **(EMULATION | ANALYSIS if emulation else {})})
    screen.print("everything is compiled")
