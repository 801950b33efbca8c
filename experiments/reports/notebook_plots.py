"""Plots of one run and of one window, for a notebook."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.notebook import eigenvalue_with_unit
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.eigenvalues import figure_style, new_figure
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import timeline_of
from riderless.hil.logs.log import Run
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_run(run: Run | Response | str | Path) -> "Figure":
    """Draw lean, steer, torque and speed of a run over time, with states, kicks and the windows of its analysis.

    Parameters
    ----------
    run : Run, Response or path
        One recording.

    Raises
    ------
    InputError
        It cannot be read, or is none over time.
    """
    result = analyze(run)
    if len(result.responses) != 1:
        raise InputError(f"wanted one recording to plot, found {len(result.responses)}: give one of them")
    response = result.responses[0]
    windows = list(enumerate(result.comparisons, start=1))
    title = f"{response.label or response.source}\n{result.answer.headline}"
    return timeline_figure(timeline_of(response, windows, result.rejected), title)


def plot_window(comparison: Comparison, ax: "Axes | None" = None) -> "Axes":
    """Draw the lean rate of a window, and the mode that was fitted to it.

    Parameters
    ----------
    comparison : Comparison
        One of ``analyze(...).comparisons``.
    ax : matplotlib axes, optional
        Drawn into; a figure of its own by default.
    """
    window, fit = comparison.window, comparison.fit
    response = comparison.segment.response
    rows = slice(window.start, window.stop)
    with figure_style():
        ax = ax or new_figure(6.4, 3.2).subplots()
        ax.plot(response.t[rows], np.degrees(response.phi_dot[rows]), lw=0.9, label="measured")
        if len(fit.curve):
            ax.plot(response.t[rows], np.degrees(fit.curve), "--", label=f"fit {eigenvalue_with_unit(fit.eigenvalue)}")
        like = eigenvalue_with_unit(comparison.prediction.like)
        ax.set(xlabel="t  [s]", ylabel="lean rate  [deg/s]", title=f"{window.v_mean:.2f} m/s, like for like {like}")
        ax.legend()
    return ax
