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

    sources = cited_sources(report)
    if as_json:
        emit_json({"report": str(report), "sources": [source._asdict() for source in sources]})
        return
    for i, source in enumerate(sources):
        for line in ([""] if i else []) + [f"% {source.why}", *source.bibtex.splitlines()]:
            print_line(line)
