"""Plots of measured things for a notebook: a run, a window, the fits of an analysis, identified quantities."""

from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.datatypes import Comparison, Response
from riderless.experiments.notebook import eigenvalue_with_unit
from riderless.experiments.reports.analyze import analyze
from riderless.experiments.reports.eigenvalues import (
    axes_given,
    draw_eigenvalues,
    figure_style,
    legend_above,
    new_figure,
)
from riderless.experiments.reports.identification_figures import draw_profiles, profiles_figure, profiles_of
from riderless.experiments.reports.identify import IdentificationResult
from riderless.experiments.reports.page.numbered import NumberedWindow
from riderless.experiments.reports.page.panels import eigenvalue_curves
from riderless.experiments.reports.result import AnalysisResult
from riderless.experiments.reports.timeline.figure import draw_panels, timeline_figure
from riderless.experiments.reports.timeline.recorded import timeline_of
from riderless.hil.logs.log import Run
from riderless.models.errors import InputError


def plot_run(run: Run | Response | str | Path, *, ax: Any = None) -> Any:
    """Draw lean, steer, torque and speed of a run over time, with states, kicks and the windows of its analysis.

    Parameters
    ----------
    run : Run, Response or path
        One recording.
    ax : matplotlib axes, optional
        Drawn into, one for each quantity in that order; fewer show the first of them. States are left to the figure.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        It cannot be read, or is none over time; or there are more axes than quantities.
    """
    result = analyze(run)
    if len(result.responses) != 1:
        raise InputError(f"wanted one recording to plot, found {len(result.responses)}: give one of them")
    response = result.responses[0]
    windows = list(enumerate(result.comparisons, start=1))
    timeline, name = timeline_of(response, windows, result.rejected), response.label or response.source
    if ax is None:
        return timeline_figure(timeline, f"{name}\n{result.answer.headline}")
    with figure_style():
        draw_panels(list(np.ravel(ax)), timeline, name)
    return ax


def plot_window(comparison: Comparison, ax: Any = None) -> Any:
    """Draw the lean rate of a window, and the mode that was fitted to it.

    Parameters
    ----------
    comparison : Comparison
        One of ``analyze(...).comparisons``.
    ax : matplotlib axes, optional
        Drawn into.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.
    """
    window, fit = comparison.window, comparison.fit
    response = comparison.segment.response
    rows = slice(window.start, window.stop)
    with figure_style():
        figure = new_figure(6.4, 3.2) if ax is None else None
        (axes,) = axes_given(figure.subplots() if figure else ax, ("the lean rate",))
        axes.plot(response.t[rows], np.degrees(response.phi_dot[rows]), lw=0.9, label="measured")
        if len(fit.curve):
            fitted = f"fit {eigenvalue_with_unit(fit.eigenvalue)}"
            axes.plot(response.t[rows], np.degrees(fit.curve), "--", label=fitted)
        like = eigenvalue_with_unit(comparison.prediction.like)
        axes.set(xlabel="t  [s]", ylabel="lean rate  [deg/s]", title=f"{window.v_mean:.2f} m/s, like for like {like}")
        axes.legend()
    return figure or ax


def plot_fits(result: AnalysisResult, *, ax: Any = None) -> Any:
    """Draw the eigenvalues that were fitted to windows over speed, with bars of 95 %, on the curves of theory.

    Parameters
    ----------
    result : AnalysisResult
        As `analyze` makes it, of one bicycle.
    ax : matplotlib axes, optional
        Two to draw into, for real and imaginary parts.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        No window, several bicycles, or other axes.
    """
    windows = [NumberedWindow(number, found) for number, found in enumerate(result.comparisons, start=1)]
    bicycles = sorted({window.response.own_bicycle.name for window in windows})
    if len(bicycles) != 1:
        found = f"those of {', '.join(bicycles)}" if bicycles else "none"
        raise InputError(f"wanted windows of one bicycle to plot, found {found}: analyze recordings of one")
    with figure_style():
        figure = new_figure(5.5, 6.2) if ax is None else None
        axes = axes_given(figure.subplots(2, 1, sharex=True) if figure else ax, ("real parts", "imaginary parts"))
        series, others = eigenvalue_curves(windows[0].response.own_bicycle, windows)
        legend = draw_eigenvalues(axes, series, others)
        if figure:
            legend_above(figure, legend)
        else:
            axes[0].legend(legend.values(), legend.keys())
    return figure or ax


def plot_identification(result: IdentificationResult, *, ax: Any = None) -> Any:
    """Draw how well each identified quantity is known: the rise of -2 log likelihood beside the best value.

    Parameters
    ----------
    result : IdentificationResult
        As `identify_parameters` makes it; without profiles the rise is that of its standard deviations, a parabola.
    ax : matplotlib axes, optional
        Drawn into, one for each quantity.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Other axes.
    """
    profiles = result.profiles or profiles_of(result.found)
    if ax is None:
        return profiles_figure(profiles)
    with figure_style():
        draw_profiles(axes_given(ax, [profile.name for profile in profiles]), profiles)
    return ax
