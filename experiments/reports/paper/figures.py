"""Figure of a report for a paper, at the width of one column and of two; it prints in grey."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np

from experiments.reports.eigenvalues import figure_style, make_texts_harmless, new_figure
from experiments.reports.files import COLUMN_WIDTH, PRINT_STYLE
from experiments.reports.paper.tables import PaperCondition

PAGE_WIDTH = 7.2  # in, 183 mm: two columns of most journals
WIDTHS = {"one-column": COLUMN_WIDTH, "two-column": PAGE_WIDTH}
PAPER_TEXT = 8.0  # pt
BLACK, GREY = "#000000", "#808080"


def eigenvalue_pdf(conditions: Sequence[PaperCondition], width: float) -> bytes:
    """Draw measured eigenvalues over speed beside those of the model, as a PDF that holds its fonts.

    Measured values are filled circles with bars of 95 %, like for like open squares, frozen ones crosses: they differ
    in form, not in colour alone.

    Parameters
    ----------
    conditions : sequence of PaperCondition
    width : float
        Of the figure [in].
    """
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    wide = width > COLUMN_WIDTH
    with figure_style({**PRINT_STYLE, "font.size": PAPER_TEXT}):
        figure = new_figure(width, 2.8 if wide else 4.2)
        axes = figure.subplots(1, 2) if wide else figure.subplots(2, 1, sharex=True)
        v = [one.v for one in conditions]
        for ax, part, unit in zip(axes, ("real", "imag"), ("1/s", "rad/s"), strict=True):
            measured, half, like, frozen = (
                [getattr(getattr(one, name), part) for one in conditions]
                for name in ("measured", "half", "like", "frozen")
            )
            bars = np.nan_to_num(half)  # none where one window gives no interval
            ax.errorbar(v, measured, bars, fmt="o", color=BLACK, ms=3.5, capsize=2, lw=1, label="measured")
            ax.plot(v, like, "s", color=BLACK, mfc="none", ms=6.5, mew=0.8, label="like for like")
            ax.plot(v, frozen, "x", color=GREY, ms=4.5, mew=1.2, label="frozen")
            ax.set_ylabel(f"{'Re' if part == 'real' else 'Im'} λ  [{unit}]", fontsize=PAPER_TEXT)
            ax.tick_params(labelsize=PAPER_TEXT - 1)
        for ax in axes if wide else axes[-1:]:
            ax.set_xlabel("speed [m/s]", fontsize=PAPER_TEXT)
        axes[0].legend(fontsize=PAPER_TEXT - 1)
        make_texts_harmless(figure)
        drawn = BytesIO()
        FigureCanvasPdf(figure).print_pdf(drawn, metadata={"CreationDate": None})
    return drawn.getvalue()
