"""Figures of a report as files, SVG and PDF, at the width of a journal's column."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.reports.eigenvalues import figure_style
from models.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.5  # in, 89 mm: one column of most journals
PRINT_STYLE = {"pdf.fonttype": 42}  # a PDF holds its fonts, and prints anywhere


def make_folder(folder: Path) -> None:
    """Make the folder of a report, if it is not there.

    Raises
    ------
    InputError
        A file has its name, or its place takes none.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"wanted a folder for the report, {folder} cannot be one ({error.strerror}): name another"
        ) from None


def save_figures(folder: Path, figures: Mapping[str, "Figure"]) -> list[Path]:
    """Write each figure as ``name.svg`` and ``name.pdf`` into a folder (made when absent); the files.

    They come out `COLUMN_WIDTH` wide with everything in them smaller in proportion. The figures themselves are changed
    by it and serve the screen no more.
    """
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.text import Text

    make_folder(folder)
    written = []
    for name, figure in figures.items():
        width, height = figure.get_size_inches()
        for text in figure.findobj(Text):
            text.set_fontsize(float(text.get_fontsize()) * COLUMN_WIDTH / width)
        figure.set_size_inches(COLUMN_WIDTH, COLUMN_WIDTH * height / width)
        with figure_style(PRINT_STYLE):
            if engine := figure.get_layout_engine():  # once for both files: it takes longer than the drawing
                engine.execute(figure)
                figure.set_layout_engine("none")
            figure.set_facecolor("white")
            FigureCanvasSVG(figure).print_svg(folder / f"{name}.svg", metadata={"Date": None})
            FigureCanvasPdf(figure).print_pdf(folder / f"{name}.pdf", metadata={"CreationDate": None})
        written += [folder / f"{name}.svg", folder / f"{name}.pdf"]
    return written
