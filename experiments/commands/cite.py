"""`riderless cite`: BibTeX of a report's sources."""

from pathlib import Path
from typing import Annotated

import typer


def cite(
    report: Annotated[Path, typer.Argument(help="Folder of a report, or its report.json.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print BibTeX of the sources that a report rests on, each with what the report takes from it."""
    from riderless.experiments.reports.paper.citations import cited_sources
    from riderless.experiments.terminal.console import emit_json, print_line

    found = cited_sources(report)
    if as_json:
        emit_json({"report": str(report), "sources": [one._asdict() for one in found]})
        return
    for i, one in enumerate(found):
        for line in ([""] if i else []) + [f"% {one.why}", *one.bibtex.splitlines()]:
            print_line(line)
