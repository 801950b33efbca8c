"""Folder of everything for a paper.

It is what a paper takes from a report.
"""

from collections.abc import Iterator
from pathlib import Path

from riderless.experiments.reports.files import make_folder, whole_or_gone
from riderless.experiments.reports.paper.citations import cited_sources, read_numbers
from riderless.experiments.reports.paper.figures import WIDTHS, eigenvalue_pdf
from riderless.experiments.reports.paper.tables import (
    conditions_csv,
    conditions_tex,
    curves_csv,
    paper_conditions,
    paper_curves,
    windows_csv,
)
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError


def write_paper(report: Path, folder: Path, force: bool = False) -> list[Path]:
    """Write table, figures, their numbers and sources of a report into a folder (made when absent); returns the files.

    Raises
    ------
    InputError
        There is no report, it has no condition, or a file is there already.
    """
    files = [(OutputFile(folder / name, "a file for a paper", force), content) for name, content in _contents(report)]
    with whole_or_gone(folder):
        make_folder(folder)
        for file, _ in files:
            file.require_free()
        for file, content in files:
            file.write(content)
    return [file.path for file, _ in files]


def _contents(report: Path) -> Iterator[tuple[str, str | bytes]]:
    """Names of the files and what is in them."""
    document = read_numbers(report)
    conditions = paper_conditions(document)
    if not conditions:
        raise InputError(f"the report {report} compares no window with theory, so it has no table: name another")
    yield "report.tex", conditions_tex(str(document.get("title", "Report")), conditions)
    yield "conditions.csv", conditions_csv(conditions)
    yield "windows.csv", windows_csv(document)
    curves = paper_curves(document)
    if curves:
        yield "curves.csv", curves_csv(curves)
    for name, width in WIDTHS.items():
        yield f"eigenvalues-{name}.pdf", eigenvalue_pdf(conditions, width, curves)
        yield f"eigenvalues-{name}.csv", conditions_csv(conditions)
    yield "sources.bib", "\n\n".join(source.bibtex for source in cited_sources(report)) + "\n"
