"""Complex plane: measured eigenvalues, and the path that theory predicts over speed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.reports.eigenvalues import (
    BAR_STDS,
    ERROR_BAR_STYLE,
    MUTED_COLOUR,
    Series,
    bars_of,
    figure_style,
    legend_above,
    new_figure,
    range_with_bars,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLANE_MARGIN = 0.6  # 1/s, around what was measured


def plane_figure(series: Sequence[Series]) -> "Figure":
    """Windows in the complex plane, with what the same fit makes of the model (open), and theory's path over speed."""
    with figure_style():
        figure = new_figure(5.5, 4.6)
        ax = figure.subplots()
        legend: dict[str, Any] = {}
        for colour, marker, one in styled(series):
            if one.curve is not None:
                values = one.curve.values.reshape(len(one.curve.v), -1)
                ax.plot(values.real, values.imag, color=colour, lw=1.1, alpha=0.7)
            if not one.comparisons:
                continue
            like = np.array([c.prediction.like for c in one.comparisons])
            ax.plot(like.real, like.imag, marker, mfc="none", mec=colour, ms=7.0, mew=0.8)
            fits = [c.fit for c in one.comparisons]
            legend[one.label] = ax.errorbar(
                [fit.re for fit in fits],
                [fit.im for fit in fits],
                xerr=[BAR_STDS * fit.re_std for fit in fits],
                yerr=[BAR_STDS * fit.im_std for fit in fits],
                fmt=marker,
                color=colour,
                **ERROR_BAR_STYLE,
            )
        ax.axvline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        ax.set(xlabel="Re λ  [1/s]", ylabel="Im λ  [rad/s]")
        fits = [c.fit for one in series for c in one.comparisons]
        if fits:
            seen, (across, up) = np.array([fit.eigenvalue for fit in fits]), bars_of(fits)
            (left, right), (low, high) = range_with_bars(seen.real, across), range_with_bars(seen.imag, up)
            ax.set_xlim(min(left, 0.0) - PLANE_MARGIN, max(right, 0.0) + PLANE_MARGIN)
            ax.set_ylim(max(0.0, low - PLANE_MARGIN), high + PLANE_MARGIN)
        legend_above(figure, legend)
    return figure
