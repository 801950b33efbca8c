"""`riderless cite`: BibTeX of a report's sources."""

from riderless.experiments.commands._shared_options import AsJson, Report


def cite(
    report: Report,
    as_json: AsJson = False,
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
