"""Exit code of a computer too busy.

Also the floor beside a ride.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from riderless.hil.commissioning.floor import Floor as MeasuredFloor
    from riderless.hil.runners.operator import Outcome

TOO_BUSY = 3  # exit code where neither program nor machine failed

HostDelays = Annotated[
    bool,
    typer.Option("--host-delays", help="Measure beside an emulated ride how late this computer lets any program be."),
]


def floor_beside(wanted: bool) -> "AbstractContextManager[MeasuredFloor | None]":
    """Measure the floor while the context is open, where it is wanted."""
    from riderless.hil.commissioning.floor import measured_floor

    return measured_floor() if wanted else nullcontext()


def judged_beside(floor: "MeasuredFloor", outcome: "Outcome", folder: "Path") -> "Outcome":
    """Judge a ride by the floor in the same seconds: a fault beside a late one shows nothing of program or machine."""
    from dataclasses import replace

    from riderless.hil.logs.log import RUN_FILE, read_run

    if not (folder / RUN_FILE).exists():
        return outcome
    ticks = read_run(folder, everything=False).ticks
    if floor.starved and outcome.ended_by == "machine":
        outcome = outcome.blaming(floor.worst)
    figures = floor.beside((ticks["t_host"] - ticks["t_due"]).tolist())
    return replace(outcome, remarks=(*outcome.remarks, figures))
