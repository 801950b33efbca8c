"""Bode plots with coherence.

Frequency responses as drawn by every textbook: gain, phase and coherence against frequency.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from riderless.experiments.analysis.frequency_response.response import TRUSTED, FrequencyResponse, Transfer
from riderless.experiments.reports.eigenvalues import (
    CONFIDENCE,
    ERROR_BAR_STYLE,
    MUTED_COLOUR,
    SERIES_STYLES,
    axes_given,
    figure_style,
    new_figure,
)
from riderless.models.array_types import Array
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OUTPUT_LABELS = {"phi_dot": "lean rate [rad/s]", "delta": "steer [rad]"}
COMMAND_LABELS = {"N m": "torque [N m]", "rad/s": "steer rate asked [rad/s]", "rad": "steer asked [rad]"}
UNTRUSTED_OPACITY = 0.25  # opacity of a line that is not to be trusted
BODE_CURVE_POINTS = 300  # points of a predicted curve
FIXED_LAYOUT = {"figure.constrained_layout.use": False}  # finding a layout takes longer than drawing


RESPONSE_PANELS = ("gain", "ratio", "phase", "coherence")
BODE_PANELS = ("gain", "phase")


def response_figure(response: FrequencyResponse, system: str) -> "Figure":
    """Measured lines with bars of 95 % on the predicted curves, of the "loop" or the "plant".

    From the top: gain, its ratio to the predicted one, phase, coherence. Lines with a coherence under `TRUSTED` are
    faint.
    """
    with figure_style(FIXED_LAYOUT):
        figure = new_figure(5.5, 7.6)
        axes = figure.subplots(4, 1, sharex=True, height_ratios=(3.0, 1.5, 2.2, 1.2))
        figure.subplots_adjust(left=0.135, right=0.985, top=0.945, bottom=0.07, hspace=0.13)
        legend = _draw_response(dict(zip(RESPONSE_PANELS, axes, strict=True)), response, system)
        figure.align_ylabels(axes)
        figure.legend(legend.values(), legend.keys(), loc="upper left", bbox_to_anchor=(0.1, 1.0), ncols=3)
    return figure


def plot_frequency_response(response: FrequencyResponse, of: str = "loop", *, ax: Any = None) -> Any:
    """Draw a measured frequency response, with bars of 95 %, on the predicted one.

    Parameters
    ----------
    response : FrequencyResponse
        One of ``analyze(...).frequency_responses``.
    of : str
        "loop", from the torque that was played, or "plant", from the torque commanded.
    ax : matplotlib axes, optional
        Drawn into: two, for gain and phase, or four, for gain, its ratio to the predicted one, phase and coherence.

    Returns
    -------
    Figure or axes
        A figure of its own with all four, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Neither loop nor plant, or other axes.
    """
    if of not in ("loop", "plant"):
        raise InputError(f"wanted the response of the loop or the plant, found {of!r}: say of='loop' or of='plant'")
    if ax is None:
        return response_figure(response, of)
    panels = BODE_PANELS if np.size(ax) == len(BODE_PANELS) else RESPONSE_PANELS
    with figure_style():
        axes = dict(zip(panels, axes_given(ax, panels), strict=True))
        legend = _draw_response(axes, response, of)
        axes["gain"].legend(legend.values(), legend.keys())
    return ax


def _draw_response(axes: Mapping[str, "Axes"], response: FrequencyResponse, system: str) -> dict[str, Any]:
    """Draw a response into the panels that there are; returns what is drawn for each entry of a legend."""
    transfers = [transfer for transfer in response.responses if transfer.of == system]
    f = np.geomspace(response.f[0], response.f[-1], BODE_CURVE_POINTS)
    legend: dict[str, Any] = {}
    for transfer, (colour, marker) in zip(transfers, SERIES_STYLES, strict=False):
        curve = getattr(response.theory, system)(f, transfer.output)
        turned = np.unwrap(np.angle(curve))
        drawn = axes["gain"].plot(f, np.abs(curve), color=colour)[0]
        axes["phase"].plot(f, np.degrees(turned), color=colour)
        points = _lines(axes, response, transfer, np.interp(np.log(response.f), np.log(f), turned), colour, marker)
        legend[OUTPUT_LABELS.get(transfer.output, COMMAND_LABELS[response.unit])] = (drawn, points)
    axes["gain"].set(yscale="log", ylabel=f"gain  [per {response.unit}]")
    axes["phase"].set_ylabel("phase  [deg]")
    if "ratio" in axes:
        axes["ratio"].set_ylabel("ratio")
        axes["ratio"].axhline(1.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        axes["coherence"].set(ylabel="coherence", ylim=(-0.05, 1.08))
        axes["coherence"].axhline(TRUSTED, color=MUTED_COLOUR, lw=0.8, zorder=1)
    for ax in axes.values():
        ax.set_xscale("log")
    list(axes.values())[-1].set_xlabel("frequency  [Hz]")
    _limit(axes, transfers)
    _ticks(axes)
    return legend


def _lines(
    axes: Mapping[str, "Axes"], response: FrequencyResponse, transfer: Transfer, near: Array, colour: str, marker: str
) -> Any:
    """Draw the measured lines of one response, phases turned next to the predicted ones (m,) [rad]."""
    half = float(stdtrit(2 * response.lines.freedom, 0.5 + CONFIDENCE / 2)) * transfer.std
    below = np.minimum(half, 0.95)  # a logarithm has no place for more
    y, ratio = np.abs(transfer.measured), np.abs(transfer.measured / transfer.predicted)
    angle = np.degrees(near + np.angle(transfer.measured / transfer.predicted))
    points = None
    for trusted, alpha in ((False, UNTRUSTED_OPACITY), (True, 1.0)):
        rows = (transfer.coherence >= TRUSTED) == trusted
        f, how = response.f[rows], {"fmt": marker, "color": colour, "alpha": alpha, **ERROR_BAR_STYLE}
        points = axes["gain"].errorbar(f, y[rows], yerr=[(below * y)[rows], (half * y)[rows]], **how)
        axes["phase"].errorbar(f, angle[rows], yerr=np.degrees(np.minimum(half, np.pi))[rows], **how)
        if "ratio" in axes:
            axes["ratio"].errorbar(f, ratio[rows], yerr=(half * ratio)[rows], **how)
            axes["coherence"].plot(f, transfer.coherence[rows], marker, color=colour, alpha=alpha, ms=3.0, mec="none")
    return points


def _limit(axes: Mapping[str, "Axes"], responses: Sequence[Transfer]) -> None:
    """Show predictions and trusted lines with room around them, not the long bars of faint ones."""
    seen, ratios = [], [0.97, 1.03]
    for transfer in responses:
        trusted = transfer.coherence >= TRUSTED
        seen += [*np.abs(transfer.predicted), *np.abs(transfer.measured)[trusted]]
        ratios += [*np.abs(transfer.measured / transfer.predicted)[trusted]]
    axes["gain"].set_ylim(min(seen) / 1.6, max(seen) * 1.6)
    margin = 0.15 * (max(ratios) - min(ratios))
    if "ratio" in axes:
        axes["ratio"].set_ylim(max(min(ratios) - margin, 0.0), max(ratios) + margin)


def _ticks(axes: Mapping[str, "Axes"]) -> None:
    """Frequencies and gains in plain numbers: 0.2, 0.5, 1, 2, 5; angles in parts of a turn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    plain = FuncFormatter(lambda value, _: f"{value:g}")
    low, high = axes["gain"].get_ylim()
    wide = np.log10(high / low) > 2.0
    across = [ax.xaxis for ax in axes.values()]
    for axis in (*across, axes["gain"].yaxis):
        subs = (1.0,) if wide and axis is axes["gain"].yaxis else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs, numticks=15))
        axis.set_major_formatter(plain)
    for ax in axes.values():
        ax.minorticks_off()
    axes["phase"].yaxis.set_major_locator(MaxNLocator(5, steps=[1, 1.8, 3, 4.5, 9, 10]))
    if "ratio" in axes:
        axes["ratio"].yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
