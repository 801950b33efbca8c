"""Option that names the Python file of a law, for runs that were made with one: a log never brings code that runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from riderless.hil.logs.header import RunHeader

LawFileOption = Annotated[
    Path | None,
    typer.Option("--controller", help="Python file of the law that the run was made with; a log never brings it."),
]


LawFilesOption = Annotated[
    list[Path] | None,
    typer.Option("--controller", help="Python file of a law that a run is made with, once for each; no log brings it."),
]

AllowedLaws = Annotated[
    list[Path] | None,
    typer.Option("--controller", help="Python file of a law that the campaign may run, once for each; else it asks."),
]


def require_allowed_laws(file: Path | None, allowed: Sequence[Path]) -> None:
    """Ask before a law in Python that a campaign file names is run; with nobody at a terminal, say so.

    Parameters
    ----------
    file : Path or None
        The campaign's.
    allowed : sequence of Path
        Laws that the person has named too, of which nothing is asked.

    Raises
    ------
    InputError
        The person said no, or the campaign names no such law.
    """
    from riderless.experiments.campaigns.file import laws_of
    from riderless.experiments.terminal.console import progress_screen
    from riderless.experiments.terminal.keys import at_terminal
    from riderless.models.errors import InputError

    laws = {path.resolve(): path for path in (laws_of(file) if file else ())}
    for path in allowed:
        if laws.pop(path.resolve(), None) is None:
            raise InputError(f"wanted a law that the campaign names, found --controller {path}: leave it out")
    for path in laws.values():
        progress_screen.print(f"{file} runs {path}: Python code, which may do whatever you may", soft_wrap=True)
        if not at_terminal():
            continue
        progress_screen.print("run it? y runs it, Enter does not", soft_wrap=True)
        try:
            answer = input()
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            raise InputError(f"{path} was not run: read it, then answer y or give --controller {path}")


def know_law(path: Path | None) -> None:
    """Let runs that were made with this file find it; raises InputError where it cannot be read."""
    if path is not None:
        from riderless.hil.controllers.law_file import name_law

        name_law(path)


def require_law_used(path: Path | None, headers: "Iterable[RunHeader]") -> None:
    """Refuse a file that none of the runs was made with; raises InputError."""
    from riderless.hil.controllers.compiled import COMPILED_FORMAT
    from riderless.models.errors import InputError

    if path is None or any(COMPILED_FORMAT in str(header.content.get("schedule", "")) for header in headers):
        return
    raise InputError(f"no run was made with a law of a Python file, found --controller {path}: leave it out")


def require_law_of(path: Path | None, recordings: Sequence[Path]) -> None:
    """Refuse a file that none of the runs among these recordings was made with; raises InputError."""
    if path is None:
        return
    from riderless.experiments.recordings.read import find_recordings, is_run
    from riderless.experiments.recordings.runs import run_of

    require_law_used(path, (run_of(one).header for one in find_recordings(recordings) if is_run(one)))
