"""Option --force of the commands that write a file, and the files that they refuse before their work.

The rule, and the writing itself: `riderless.hil.output_file`.
"""

from pathlib import Path
from typing import Annotated

import typer

from riderless.hil.output_file import OutputFile, files_read

Force = Annotated[
    bool, typer.Option("--force", help="Replace a file that is there already; never one that is read, nor a log.")
]


def require_figure(path: Path, force: bool, *inputs: str | Path | None) -> None:
    """Refuse a file for a figure whose suffix is no format, or whose place is taken, before the work.

    Parameters
    ----------
    path : Path
    force : bool
        It may take the place of another file.
    inputs : str, Path or None
        Files, and names that are perhaps files, that the command reads.

    Raises
    ------
    InputError
    """
    from riderless.experiments.reports.theory import check_figure_format

    check_figure_format(path)
    OutputFile(path, "the figure", force, files_read(*inputs)).require_free()
