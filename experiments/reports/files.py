"""Files of a report's figures.

SVG and PDF, at the width of a journal's column.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from riderless.experiments.reports.eigenvalues import figure_style, make_texts_harmless
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMN_WIDTH = 3.5  # in, 89 mm: one column of most journals
REPORT_PAGE, REPORT_NUMBERS, REPORT_FIGURES = "report.html", "report.json", "figures"
_LONGEST_STEM = 60  # characters; a file system takes 255 bytes
_REPORT_WORDS = ('"answer"', '"verdicts"', '"provenance"')  # in the numbers of every report
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


@contextmanager
def whole_or_gone(folder: Path) -> Iterator[None]:
    """Take away a folder that was not there before, if what makes and fills it inside the block fails."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except BaseException:  # Ctrl-C, too, leaves nothing half made
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        for parent in new[1:]:
            with suppress(OSError):  # somebody else has put something there
                parent.rmdir()
        raise


def require_report_place(folder: Path, force: bool = False) -> None:
    """Refuse a folder in which a report would take the place of something else than an older report.

    Raises
    ------
    InputError
    """
    try:
        ours = all(word in (folder / REPORT_NUMBERS).read_text(encoding="utf-8") for word in _REPORT_WORDS)
    except (OSError, UnicodeDecodeError):
        ours = False
    for name in (REPORT_PAGE, REPORT_NUMBERS):
        if (folder / name).is_symlink() or (folder / name).exists():
            OutputFile(folder / name, "the report", force or ours).require_free()
    figures = folder / REPORT_FIGURES
    if not (force or ours) and figures.is_dir() and any(figures.iterdir()):
        raise InputError(f"the report cannot be written to {folder}, for something else is in {figures}: name another")


def save_figures(folder: Path, figures: Mapping[str, "Figure"], about: str = "") -> list[Path]:
    """Write each figure as ``name.svg`` and ``name.pdf`` into a folder (made when absent), also in older ones' place.

    They come out `COLUMN_WIDTH` wide with everything in them smaller in proportion. The figures themselves are changed
    by it and serve the screen no more.

    Parameters
    ----------
    folder : Path
    figures : mapping
        Figures by name.
    about : str
        Runs, windows and commit: each file says so of itself, out of sight.
    """
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.text import Text

    make_folder(folder)
    written = []
    for name, figure in figures.items():
        make_texts_harmless(figure)
        width, height = figure.get_size_inches()
        for text in figure.findobj(Text):
            text.set_fontsize(float(text.get_fontsize()) * COLUMN_WIDTH / width)
        figure.set_size_inches(COLUMN_WIDTH, COLUMN_WIDTH * height / width)
        with figure_style(PRINT_STYLE):
            if engine := figure.get_layout_engine():  # once for both files: it takes longer than the drawing
                engine.execute(figure)
                figure.set_layout_engine("none")
            figure.set_facecolor("white")
            svg, pdf = BytesIO(), BytesIO()
            FigureCanvasSVG(figure).print_svg(svg, metadata=figure_metadata(".svg", about))
            FigureCanvasPdf(figure).print_pdf(pdf, metadata=figure_metadata(".pdf", about))
        for drawn, suffix in ((svg, ".svg"), (pdf, ".pdf")):
            written.append(folder / f"{_file_stem(name)}{suffix}")
            OutputFile(written[-1], "the figure", force=True).write(drawn.getvalue())
    return written


def figure_metadata(suffix: str, about: str = "") -> dict[str, str | None]:
    """Give what the file of a figure says of itself in its format; no date, so that it is the same file every time."""
    undated = {".svg": "Date", ".pdf": "CreationDate"}
    metadata: dict[str, str | None] = {undated[suffix]: None} if suffix in undated else {}
    return metadata | ({"Subject" if suffix == ".pdf" else "Description": harmless(about)} if about else {})


def _file_stem(name: str) -> str:
    """Name of a figure as that of a file: a bicycle called ../../x writes into no other folder."""
    return re.sub(r"[^\w.+-]+", "_", name)[:_LONGEST_STEM]
