"""Figures of the loop: gains over speed, and how the computer kept time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.reports.eigenvalues import SERIES_STYLES, figure_style, legend_above, new_figure
from models.array_types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hil.design.schedule import GainSchedule


def gain_figure(schedules: Sequence["GainSchedule"], note: str = "") -> "Figure":
    """Feedback gains on the four states of the bicycle against speed, one line per design."""
    names = ("φ  [N m/rad]", "δ  [N m/rad]", "φ̇  [N m s/rad]", "δ̇  [N m s/rad]")
    with figure_style():
        figure = new_figure(5.5, 4.4, note)
        axes = figure.subplots(2, 2, sharex=True).ravel()
        for j, (ax, name) in enumerate(zip(axes, names, strict=True)):
            legend: dict[str, Any] = {}
            for i, s in enumerate(schedules):
                (legend[s.method],) = ax.plot(s.v, s.K[:, j], color=SERIES_STYLES[i % len(SERIES_STYLES)][0])
            ax.set_title(f"gain on {name}", loc="left", fontsize=10)
        for ax in axes[2:]:
            ax.set_xlabel("v  [m/s]")
        legend_above(figure, legend)
    return figure


def timing_figure(timings: Mapping[str, tuple[Array, Array]], note: str = "") -> "Figure":
    """Histograms of wake-up lateness and compute time; ``timings`` maps a label to both, in s.

    More runs than there are colours are drawn as one.
    """
    if len(timings) > len(SERIES_STYLES):
        lateness, compute = (np.concatenate(column) for column in zip(*timings.values(), strict=True))
        timings = {f"all {len(timings)} runs": (lateness, compute)}
    with figure_style():
        figure = new_figure(5.5, 4.4, note)
        axes = figure.subplots(2, 1)
        for ax, k, name in zip(axes, (0, 1), ("wake-up lateness", "compute time"), strict=True):
            us = {label: np.maximum(1e6 * columns[k], 0.1) for label, columns in timings.items()}
            low, high = min(map(np.min, us.values())), max(map(np.max, us.values()))
            bins = np.geomspace(0.8 * low, 1.25 * high, 61)
            legend: dict[str, Any] = {}
            for i, (label, values) in enumerate(us.items()):
                colour = SERIES_STYLES[i % len(SERIES_STYLES)][0]
                legend[label] = ax.hist(values, bins, histtype="step", lw=1.2, color=colour)[2][0]
            ax.set(xscale="log", yscale="log", ylabel="ticks", xlabel=f"{name}  [µs]")
            ax.minorticks_off()
        legend_above(figure, legend)
    return figure
