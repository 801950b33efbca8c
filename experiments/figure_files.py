"""The figures of a report as files, SVG and PDF, at the width of a journal's column."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 3.5  # in, 89 mm: one column of most journals
KINDS = ("svg", "pdf")
STYLE = {"pdf.fonttype": 42, "savefig.facecolor": "white"}  # a PDF holds its fonts, and prints anywhere


def save(folder: Path, figures: Mapping[str, "Figure"]) -> list[Path]:
    """Write each figure as ``name.svg`` and ``name.pdf`` into a folder (made when absent); the files.

    They come out `WIDTH` wide with everything in them smaller in proportion. The figures are spoilt for the screen.
    """
    from matplotlib.text import Text

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in figures.items():
        width, height = figure.get_size_inches()
        for text in figure.findobj(Text):
            text.set_fontsize(float(text.get_fontsize()) * WIDTH / width)
        figure.set_size_inches(WIDTH, WIDTH * height / width)
        for kind in KINDS:
            path = folder / f"{name}.{kind}"
            with style(STYLE):
                figure.savefig(path, metadata={"Date": None} if kind == "svg" else {"CreationDate": None})
            written.append(path)
    return written
