"""Option that names the Python file of a law, for runs that were made with one: a log never brings code that runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hil.logs.header import RunHeader

LawFileOption = Annotated[
    Path | None,
    typer.Option("--controller", help="Python file of the law that the run was made with; a log never brings it."),
]


LawFilesOption = Annotated[
    list[Path] | None,
    typer.Option("--controller", help="Python file of a law that a run is made with, once for each; no log brings it."),
]


def know_law(path: Path | None) -> None:
    """Let runs that were made with this file find it; raises InputError where it cannot be read."""
    if path is not None:
        from hil.controllers.law_file import name_law

        name_law(path)


def require_law_used(path: Path | None, headers: "Iterable[RunHeader]") -> None:
    """Refuse a file that none of the runs was made with; raises InputError."""
    from hil.controllers.compiled import COMPILED_FORMAT
    from models.errors import InputError

    if path is None or any(COMPILED_FORMAT in str(header.content.get("schedule", "")) for header in headers):
        return
    raise InputError(f"no run was made with a law of a Python file, found --controller {path}: leave it out")


def require_law_of(path: Path | None, recordings: Sequence[Path]) -> None:
    """Refuse a file that none of the runs among these recordings was made with; raises InputError."""
    if path is None:
        return
    from experiments.recordings.read import find_recordings, is_run
    from experiments.recordings.runs import run_of

    require_law_used(path, (run_of(one).header for one in find_recordings(recordings) if is_run(one)))
