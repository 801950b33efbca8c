"""Folder of everything for a paper.

It is what a paper takes from a report.
"""

import math
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.reports.eigenvalues import figure_style, make_texts_harmless, new_figure
from riderless.experiments.reports.files import COLUMN_WIDTH, PRINT_STYLE, make_folder, whole_or_gone
from riderless.experiments.reports.paper.citations import cited_sources, read_numbers
from riderless.experiments.reports.paper.tables import (
    PaperCondition,
    PaperCurve,
    conditions_csv,
    conditions_tex,
    curves_csv,
    paper_conditions,
    paper_curves,
    windows_csv,
)
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError

# Figure of a report for a paper.

PAGE_WIDTH = 7.2  # in, 183 mm: two columns of most journals
WIDTHS = {"one-column": COLUMN_WIDTH, "two-column": PAGE_WIDTH}
PAPER_TEXT = 8.0  # pt
BLACK, GREY = "#000000", "#808080"
CURVE_ROOM = 0.5  # m/s, by which curves go beyond what was measured
LEGEND_ROW = 0.14  # in
DASHES = ((1, 0), (5, 2), (1, 1.5), (6, 2, 1, 2), (9, 3))  # one after another, by label


def eigenvalue_pdf(conditions: Sequence[PaperCondition], width: float, curves: Sequence[PaperCurve] = ()) -> bytes:
    """Draw measured eigenvalues over speed beside those of the model, as a PDF that holds its fonts.

    Measured values are filled circles with bars of 95 %, like for like open squares, frozen ones crosses: they differ
    in form, not in colour alone. Curves are the predicted eigenvalues over speed; those of one label have one dash.

    Parameters
    ----------
    conditions : sequence of PaperCondition
    width : float
        Of the figure [in].
    curves : sequence of PaperCurve
    """
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    wide = width > COLUMN_WIDTH
    with figure_style({**PRINT_STYLE, "font.size": PAPER_TEXT}):
        figure = new_figure(width, 2.8 if wide else 4.2)
        axes = figure.subplots(1, 2) if wide else figure.subplots(2, 1, sharex=True)
        v = [condition.v for condition in conditions]
        for ax, part, unit in zip(axes, ("real", "imag"), ("1/s", "rad/s"), strict=True):
            measured, half, like, frozen = (
                [getattr(getattr(condition, name), part) for condition in conditions]
                for name in ("measured", "half", "like", "frozen")
            )
            bars = np.nan_to_num(half)  # none where one window gives no interval
            ax.errorbar(v, measured, bars, fmt="o", color=BLACK, ms=3.5, capsize=2, lw=1, label="measured")
            ax.plot(v, like, "s", color=BLACK, mfc="none", ms=6.5, mew=0.8, label="like for like")
            ax.plot(v, frozen, "x", color=GREY, ms=4.5, mew=1.2, label="frozen")
            _draw_curves(ax, part, curves, sorted(v))
            ax.set_ylabel(f"{'Re' if part == 'real' else 'Im'} λ  [{unit}]", fontsize=PAPER_TEXT)
            ax.tick_params(labelsize=PAPER_TEXT - 1)
        for ax in axes if wide else axes[-1:]:
            ax.set_xlabel("speed [m/s]", fontsize=PAPER_TEXT)
        if curves:  # below the axes, where no curve runs
            handles, labels = axes[0].get_legend_handles_labels()
            columns = 3 if wide else 2
            figure.set_figheight(figure.get_figheight() + LEGEND_ROW * math.ceil(len(labels) / columns))
            figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=PAPER_TEXT - 2)
        else:
            axes[0].legend(fontsize=PAPER_TEXT - 1)
        make_texts_harmless(figure)
        drawn = BytesIO()
        FigureCanvasPdf(figure).print_pdf(drawn, metadata={"CreationDate": None})
    return drawn.getvalue()


def _draw_curves(ax: Any, part: str, curves: Sequence[PaperCurve], v: Sequence[float]) -> None:
    """Draw the curves' part inside what was measured and half a metre per second around it."""
    labels = list(dict.fromkeys((curve.bicycle, curve.label) for curve in curves))
    bicycles = {bicycle for bicycle, _ in labels}
    measured = ax.get_ylim()
    drawn = set()
    for curve in curves:
        key = (curve.bicycle, curve.label)
        speeds, values = np.array(curve.v), np.array([getattr(value, part) for value in curve.values])
        inside = (speeds >= v[0] - CURVE_ROOM) & (speeds <= v[-1] + CURVE_ROOM)
        words = f"{curve.bicycle}, {curve.label}" if len(bicycles) > 1 else curve.label
        dash = DASHES[labels.index(key) % len(DASHES)]
        ax.plot(
            speeds[inside],
            values[inside],
            color=GREY,
            lw=0.9,
            dashes=dash,
            label="" if key in drawn else f"theory: {words}",
            zorder=1,
        )
        drawn.add(key)
    if curves and not (part == "imag" and measured[0] > 0.0):
        ax.set_ylim(measured[0] - 0.6 * np.ptp(measured), measured[1] + 0.6 * np.ptp(measured))


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
