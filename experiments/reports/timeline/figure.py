"""Figure of a recording over time.

Line styles, hatches and marks say without colour what the colours say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.datatypes import AGREEMENT
from riderless.experiments.reports.eigenvalues import (
    BLUE,
    GREEN,
    GRID_COLOUR,
    INK_COLOUR,
    MUTED_COLOUR,
    PURPLE,
    VERMILION,
    figure_style,
    new_figure,
)
from riderless.experiments.reports.timeline.recorded import AGREES, DIFFERS, REJECTED, Timeline, decimated
from riderless.experiments.reports.timeline.ridden_path import RiddenPath
from riderless.hil.loop.states import State
from riderless.models.array_types import Array
from riderless.models.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Map of a path: asked and ridden, seen from above, the right-hand side below as on a chart of the road ahead.


_MARGIN = 2.0  # m, of the path asked that is shown beyond what was ridden


def _draw_path(ax: "Axes", ridden: RiddenPath) -> None:
    """Draw the path asked and the one ridden into axes of their own; y grows downwards, for it is to the right."""
    near = (ridden.asked_x > ridden.x.min() - _MARGIN) & (ridden.asked_x < ridden.x.max() + _MARGIN)
    ax.plot(ridden.asked_x[near], ridden.asked_y[near], color=MUTED_COLOUR, lw=2.6, alpha=0.5, solid_capstyle="butt")
    ax.plot(ridden.x, ridden.y, color=BLUE, lw=0.9)
    ax.plot(ridden.x[:1], ridden.y[:1], "o", color=INK_COLOUR, ms=3.0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.invert_yaxis()
    ax.set_ylabel("y [m]", labelpad=2.0)
    ax.set_xlabel("x [m]", labelpad=1.0)
    ax.tick_params(length=2.0, pad=1.5)
    words = (
        f"{ridden.name}, at {ridden.speed:g} m/s: asked (broad, grey) and ridden by the estimate (line, from the dot)\n"
        f"beside it {1e3 * ridden.rms:.0f} mm rms, {1e3 * ridden.most:.0f} mm at most"
    )
    ax.set_title(words, fontsize=6.8, color=MUTED_COLOUR, loc="left", pad=3.0)


WIDTH = 7.1  # in: a sheet of A4 between its margins
COMPACT_HEIGHT, TALL_HEIGHT = 1.4, 5.2  # in, of a picture in the report at least, and of one on its own
LINE_HEIGHT = 0.105  # in, of a name or a number beside a panel
LEFT_MARGIN, RIGHT_MARGIN = 0.52, 0.82  # in, for the numbers and for the names of the lines
TITLE_LINE, TITLE_CHARACTERS = 0.15, 118  # in, and of a line
MOST_TITLE_LINES = 8  # the panels want the rest of the height
_PAPER = {"facecolor": "#fefefe", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}  # below a text on a hatch
TOP, BOTTOM, STRIP = 0.05, 0.2, 0.30  # in; the strip shows states and windows
COLUMNS = 700  # of a picture, over which a long signal keeps its lowest and highest values
MAP_HEIGHT, MAP_BOTTOM, MAP_TOP, MAP_RIGHT = 2.6, 0.3, 0.35, 0.2  # in, of a path seen from above, and its margins
LEAST_FOR_A_NAME = 0.06  # of the width: a shorter span has no room for its name
MARKS = {AGREES: "✓", DIFFERS: "✗", REJECTED: ""}
WINDOW_STYLES: dict[str, dict[str, Any]] = {
    AGREES: {"facecolor": GRID_COLOUR, "edgecolor": GREEN, "lw": 1.0},
    DIFFERS: {"facecolor": "none", "edgecolor": VERMILION, "lw": 1.0, "hatch": "//////"},
    REJECTED: {"facecolor": "none", "edgecolor": MUTED_COLOUR, "lw": 0.6, "ls": ":"},
}
KEY = (
    f"✓, filled: window within {AGREEMENT:g} standard deviations of the prediction; ✗, hatched: beyond; "
    "dotted: rejected; ▼: kick, release"
)


@dataclass(frozen=True, eq=False)
class _TimelineSignal:
    """One line of a panel, no finer than the picture."""

    name: str
    t: Array  # s
    values: Array
    colour: str
    dashes: Any = "-"  # of matplotlib

    @classmethod
    def of(cls, name: str, t: Array, values: Array, colour: str, dashes: Any = "-") -> "_TimelineSignal":
        """Line of a signal as it was recorded, of which the picture shows no more than it can.

        Parameters
        ----------
        name : str
        t, values : (n,)
            Times [s], and the signal.
        colour : str
        dashes : optional
            As matplotlib takes them.
        """
        return cls(name, *decimated(t, values, COLUMNS), colour, dashes)

    @property
    def in_degrees(self) -> "_TimelineSignal":
        """Same line of a signal that was recorded in radians."""
        return replace(self, values=np.degrees(self.values))


def timeline_figure(timeline: Timeline, title: str = "", compact: bool = False) -> "Figure":
    """Lean and steer, torque, place on the belt and speed over time, below the supervisor's states and the windows.

    Parameters
    ----------
    timeline : Timeline
    title : str
        With one, the figure stands on its own and explains its marks.
    compact : bool
        As low as its names allow, for a page with many of them.
    """
    panels, ridden = _panels(timeline), timeline.ridden if title else None
    map_height = MAP_HEIGHT if ridden else 0.0
    shares = [max(2, _lines(signals, _edges(timeline, unit))) for unit, signals in panels]
    lowest = TOP + BOTTOM + STRIP + 1.08 * LINE_HEIGHT * sum(shares)  # the panels and the gaps between them
    height = (max(COMPACT_HEIGHT, lowest) if compact else TALL_HEIGHT) + map_height
    top = TOP + (TITLE_LINE * (len(_wrapped(title)) + 1.4) if title else 0.0)
    style = {"font.size": 7.5 if title else 7.0, "lines.linewidth": 0.9, "figure.constrained_layout.use": False}
    with figure_style(style):
        figure = new_figure(WIDTH, height)
        strip_share = STRIP / (height - top - BOTTOM - map_height)
        axes = figure.subplots(
            1 + len(panels),
            1,
            sharex=True,
            height_ratios=[strip_share * sum(shares) / (1 - strip_share), *shares],
            gridspec_kw={
                "left": LEFT_MARGIN / WIDTH,
                "right": 1.0 - RIGHT_MARGIN / WIDTH,
                "top": 1.0 - top / height,
                "bottom": (BOTTOM + map_height) / height,
                "hspace": 0.12,
            },
        )
        t = timeline.response.t
        spans = [(s.t_start, s.t_end) for s in timeline.response.states]
        first, last = min([float(t[0]), *(a for a, _ in spans)]), max([float(t[-1]), *(b for _, b in spans)])
        _strip(axes[0], timeline, last - first)
        for ax, (unit, signals) in zip(axes[1:], panels, strict=True):
            _draw(ax, timeline, unit, signals, compact)
        axes[-1].set_xlim(first, max(last, first + timeline.response.dt))
        axes[-1].annotate("t [s]", (1.01, 0.0), (0, -9), "axes fraction", "offset points", va="center")
        if ridden:
            _draw_map(figure, ridden)
        if title:
            _write_title(figure, title)
    return figure


def draw_panels(axes: Sequence["Axes"], timeline: Timeline, name: str) -> None:
    """Draw the first panels of a timeline into axes that are given, named at the top.

    Raises
    ------
    InputError
        There are more axes than panels.
    """
    from matplotlib.lines import Line2D

    panels = _panels(timeline)
    if not 0 < len(axes) <= len(panels):
        names = ", ".join(" and ".join(signal.name.replace("\n", " ") for signal in signals) for _, signals in panels)
        raise InputError(f"wanted 1 to {len(panels)} axes, for {names}; found {len(axes)}: make as many")
    for ax, (unit, signals) in zip(axes, panels, strict=False):
        named = _draw_signals(ax, timeline, unit, signals)
        ax.set_ylabel(f"[{unit}]")
        ax.legend(handles=[Line2D([], [], label=name.replace("\n", " "), **style) for name, style in named])
    axes[0].set_title(name, loc="left")
    axes[-1].set_xlabel("t  [s]")


def _wrapped(title: str) -> list[str]:
    """Lines of a title, none longer than the figure is wide; of a text without end in a log, the beginning."""
    lines = [line for part in title.splitlines() for line in wrap(part, TITLE_CHARACTERS)]
    return lines if len(lines) <= MOST_TITLE_LINES else [*lines[: MOST_TITLE_LINES - 1], "..."]


def _write_title(figure: "Figure", title: str) -> None:
    """Write the title above the panels, and what the marks mean."""
    height = figure.get_size_inches()[1]
    for i, line in enumerate([*_wrapped(title), KEY]):
        size, colour = (8.5, INK_COLOUR) if i == 0 else (6.8, MUTED_COLOUR)
        y = 1.0 - (0.05 + TITLE_LINE * i) / height
        figure.text(LEFT_MARGIN / WIDTH, y, line, va="top", fontsize=size, color=colour)


def _draw_map(figure: "Figure", ridden: RiddenPath) -> None:
    """Draw a path seen from above below the panels."""
    height = figure.get_size_inches()[1]
    wide, tall = 1.0 - (LEFT_MARGIN + MAP_RIGHT) / WIDTH, (MAP_HEIGHT - MAP_BOTTOM - MAP_TOP) / height
    _draw_path(figure.add_axes((LEFT_MARGIN / WIDTH, MAP_BOTTOM / height, wide, tall)), ridden)


def _panels(timeline: Timeline) -> list[tuple[str, list[_TimelineSignal]]]:
    """Unit and lines of each panel, of the signals that were recorded."""
    r = timeline.response
    angles = [
        _TimelineSignal.of(name, r.t, values, colour, dashes).in_degrees
        for name, values, colour, dashes in (("lean", r.phi, BLUE, "-"), ("steer", r.delta, VERMILION, (0, (3, 1.2))))
        if values is not None
    ]
    panels = [("deg", angles)] if angles else []
    if r.phi is None:
        in_radians = r.phi_dot_unit == "rad/s"
        rate = _TimelineSignal.of("lean rate", r.t, r.phi_dot, BLUE)
        panels.append(("deg/s", [rate.in_degrees]) if in_radians else (r.phi_dot_unit, [rate]))
    if r.T_delta is not None:
        panels.append(_command_panel(r.t, r.T_delta, r.command_unit))
    if timeline.ridden is not None:
        beside = np.interp(r.t, timeline.ridden.t, timeline.ridden.lateral, np.nan, np.nan)
        panels.append(("m", [_TimelineSignal.of("off path", r.t, beside, BLUE)]))
    elif r.lane is not None:
        front, rear = (np.interp(r.t, r.lane.t, y, np.nan, np.nan) for y in (r.lane.front, r.lane.rear))
        wheels = [
            _TimelineSignal.of("rear", r.t, rear, BLUE),
            _TimelineSignal.of("front", r.t, front, VERMILION, (0, (3, 1.2))),
        ]
        panels.append(("m", wheels))
    return [*panels, ("m/s", [_TimelineSignal.of("speed", r.t, r.v, GREEN)])]


def _command_panel(t: Array, command: Array, unit: str) -> tuple[str, list[_TimelineSignal]]:
    """Panel of what the drive was commanded, a rate or an angle in degrees."""
    if unit == "N m":
        return unit, [_TimelineSignal.of("torque", t, command, PURPLE)]
    name = "rate\nasked" if unit == "rad/s" else "steer\nasked"  # in one line it is cut off beside a wide panel
    return unit.replace("rad", "deg"), [_TimelineSignal.of(name, t, command, PURPLE).in_degrees]


def _edges(timeline: Timeline, unit: str) -> float | None:
    """Half the width of the belt [m], for the panel that shows the wheels on it."""
    lane = timeline.response.lane
    if unit != "m" or timeline.ridden is not None or lane is None or not np.isfinite(lane.half_belt):
        return None
    return lane.half_belt


def _lines(signals: list[_TimelineSignal], edges: float | None) -> int:
    """Lines that the names beside a panel take."""
    return sum(1 + signal.name.count("\n") for signal in signals) + (edges is not None)


def _draw(ax: "Axes", timeline: Timeline, unit: str, signals: list[_TimelineSignal], compact: bool) -> None:
    """Draw the lines of one panel over the windows and kicks.

    Parameters
    ----------
    ax : Axes
    timeline : Timeline
    unit : str
        Of the lines.
    signals : list of _TimelineSignal
        Lines of the panel.
    compact : bool
        There is room for few numbers beside it.
    """
    named = _draw_signals(ax, timeline, unit, signals)
    ax.set_ylabel(unit, labelpad=2.0, fontsize=6.3 if compact else None)
    ax.yaxis.set_label_coords(-0.40 / (WIDTH - LEFT_MARGIN - RIGHT_MARGIN), 0.5)
    ax.locator_params(axis="y", nbins=3 if compact else 5, min_n_ticks=2 if compact else 3)
    ax.tick_params(length=2.0, pad=1.5)
    _write_names(ax, named)
    _write_numbers(ax)


def _draw_signals(
    ax: "Axes", timeline: Timeline, unit: str, signals: list[_TimelineSignal]
) -> list[tuple[str, dict[str, Any]]]:
    """Draw the lines of one panel over the windows and kicks; returns the name and the style of each."""
    across = ax.get_xaxis_transform()
    spans = [(w.t_start, w.t_end - w.t_start) for w in timeline.windows if w.verdict != REJECTED]
    ax.broken_barh(spans, (0.0, 1.0), color=GRID_COLOUR, alpha=0.6, lw=0, zorder=0, transform=across)
    dashes: Any = (0, (2, 2))
    ax.vlines(timeline.kicks, 0.0, 1.0, color=MUTED_COLOUR, lw=0.6, ls=dashes, zorder=1, transform=across)
    for signal in signals:
        ax.plot(signal.t, signal.values, color=signal.colour, ls=signal.dashes)
    ax.margins(y=0.08)
    named: list[tuple[str, dict[str, Any]]] = [(s.name, {"color": s.colour, "ls": s.dashes}) for s in signals]
    edges = _edges(timeline, unit)
    if edges is not None:
        style: dict[str, Any] = {"color": INK_COLOUR, "lw": 1.2}
        ax.hlines([-edges, edges], 0.0, 1.0, transform=ax.get_yaxis_transform(), **style)
        named.insert(0, ("edges", style))
    low, high = ax.get_ylim()
    if high - low < 0.2:  # a constant speed is drawn flat, not its noise over the whole height
        ax.set_ylim(low - 0.1, high + 0.1)
    return named


def _write_names(ax: "Axes", named: list[tuple[str, dict[str, Any]]]) -> None:
    """Write the names of the lines beside a panel, one below the other, each with a piece of its line."""
    pitch = max(_line_height(ax), 0.68 / len(named))
    for i, (name, style) in enumerate(named):
        place = 0.5 + pitch * (0.5 * (len(named) - 1) - i)
        ax.plot([1.01, 1.045], [place, place], transform=ax.transAxes, clip_on=False, **style)
        ax.text(1.055, place, name, transform=ax.transAxes, va="center", color=INK_COLOUR)


def _write_numbers(ax: "Axes") -> None:
    """Write the numbers beside a panel, none where the next has its own: the outer two if all do not fit."""
    low, high = ax.get_ylim()
    values = [float(y) for y in ax.get_yticks() if low <= y <= high]
    line = _line_height(ax)
    places = np.clip((np.array(values) - low) / (high - low), 0.5 * line, 1.0 - 0.5 * line)
    shown = list(zip(ax.yaxis.get_major_formatter().format_ticks(values), places, strict=True))
    if len(shown) > 2 and np.diff(places).min() < line:
        values, shown = [values[0], values[-1]], [shown[0], shown[-1]]
    ax.set_yticks(values, [""] * len(values))
    for number, place in shown:
        ax.annotate(number, (0.0, place), (-3.5, 0.0), "axes fraction", "offset points", ha="right", va="center")


def _line_height(ax: "Axes") -> float:
    """Part of the height of a panel that a line of text beside it takes."""
    return LINE_HEIGHT * ax.figure.dpi / ax.bbox.height


def _strip(ax: "Axes", timeline: Timeline, whole: float) -> None:
    """Draw the states above, the windows below; names and numbers where there is room."""
    from matplotlib.patches import Rectangle

    ax.set(ylim=(0.0, 2.0), yticks=[0.5, 1.5] if timeline.response.states else [0.5])
    ax.set_yticklabels(["window", "state"] if timeline.response.states else ["window"], fontsize=6.3)
    ax.grid(visible=False)
    ax.tick_params(length=0.0, pad=1.5, labelbottom=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    for span in timeline.response.states:
        style: dict[str, Any] = {"facecolor": "none", "edgecolor": MUTED_COLOUR, "lw": 0.6}
        if span.state is State.FAULT:
            style |= {"facecolor": VERMILION, "hatch": "xxxx"}
        elif span.state is not State.RUNNING:
            style |= {"facecolor": GRID_COLOUR}
        ax.add_patch(Rectangle((span.t_start, 1.08), span.t_end - span.t_start, 0.84, **style))
        if span.t_end - span.t_start > LEAST_FOR_A_NAME * whole:
            middle, under = 0.5 * (span.t_start + span.t_end), _PAPER if "hatch" in style else None
            ax.text(middle, 1.46, span.state.name, ha="center", va="center", fontsize=6.0, bbox=under)
    for window in timeline.windows:
        width = window.t_end - window.t_start
        ax.add_patch(Rectangle((window.t_start, 0.1), width, 0.8, **WINDOW_STYLES[window.verdict]))
        if window.number is not None and width > 0.25 * LEAST_FOR_A_NAME * whole:
            mark = f"{window.number} {MARKS[window.verdict]}"
            middle = 0.5 * (window.t_start + window.t_end)
            ax.text(middle, 0.47, mark, ha="center", va="center", fontsize=6.3, bbox=_PAPER)
    if timeline.kicks:
        ax.plot(timeline.kicks, [0.02] * len(timeline.kicks), "v", color=INK_COLOUR, ms=3.0, clip_on=False, zorder=4)
