"""Figure of profile likelihoods: one panel for each quantity."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from riderless.experiments.analysis.identification.profile_likelihood import Profile
from riderless.experiments.dynamics import unit_of
from riderless.experiments.reports.eigenvalues import MUTED_COLOUR, SERIES_STYLES, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS_ACROSS = 3
HEIGHT_SHOWN = 4.0  # times the limit, of the curves


def profiles_figure(several: Sequence[Profile]) -> "Figure":
    """Rise of -2 log likelihood over each quantity, the others fitted anew; the line is the limit of the interval."""
    rows = math.ceil(len(several) / PANELS_ACROSS)
    across = min(PANELS_ACROSS, len(several))
    colour = SERIES_STYLES[0][0]
    with figure_style():
        figure = new_figure(2.4 * across + 0.4, 2.3 * rows + 0.3)
        for place, one in enumerate(several, 1):
            ax = figure.add_subplot(rows, across, place)
            ax.plot(one.values, one.root**2, ".-", color=colour, ms=4.0, lw=1.0)
            ax.axhline(one.limit**2, color=MUTED_COLOUR, lw=0.8)
            for bound in (one.low, one.high):
                if bound is not None:
                    ax.axvline(bound, color=MUTED_COLOUR, lw=0.8, ls=":")
            top = max(min(HEIGHT_SHOWN * one.limit**2, float(np.max(one.root**2, initial=0.0))), 1.2 * one.limit**2)
            ax.set_ylim(-0.03 * top, top)
            unit = unit_of(one.name)
            ax.set_xlabel(f"{one.name}  [{unit}]" if unit else one.name)
            if (place - 1) % across == 0:
                ax.set_ylabel("rise of -2 log L")
        figure.set_layout_engine("constrained")
    return figure
