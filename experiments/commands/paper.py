"""`riderless paper`: table, figures and sources."""

from pathlib import Path
from typing import Annotated

import typer

from riderless.experiments.commands._options import Force
from riderless.experiments.commands._shared_options import AsJson, Report


def paper(
    report: Report,
    out: Annotated[Path, typer.Option("--out", "-o", help="Write into this folder; made if it is not there.")] = Path(
        "paper"
    ),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a report's table (LaTeX, booktabs), figures of one and two columns (PDF), numbers (CSV) and sources."""
    from riderless.experiments.reports.paper.folder import write_paper
    from riderless.experiments.terminal.console import emit_json, print_line

    written = write_paper(report, out, force)
    if as_json:
        emit_json({"report": str(report), "files": [str(path) for path in written]})
        return
    for path in written:
        print_line(str(path))
