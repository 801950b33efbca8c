"""Figures of the loop.

A design over speed, the gains of several, and how the computer kept time.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.reports.eigenvalues import (
    BLUE,
    INK_COLOUR,
    MUTED_COLOUR,
    SERIES_STYLES,
    VERMILION,
    axes_given,
    figure_style,
    legend_above,
    new_figure,
)
from riderless.experiments.reports.theory import check_figure_file, save_figure
from riderless.hil.design.lane import lane_loop
from riderless.hil.design.sampled_plant import continuous, sampled_model
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.design.whole_margins import loop_gain
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.linear.modes import named_modes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from riderless.experiments.analysis.identification.loop_margins import LoopMargins
    from riderless.hil.controllers.controller import Controller
    from riderless.hil.design.margins import Margins
    from riderless.models.parameters import Bicycle

FINE_SPEEDS = 201  # of the eigenvalues between the designed speeds
FASTEST_SHOWN = 25.0  # 1/s; drive and delay decay faster, the modes of a bicycle slower
LEAST_FACTOR, MOST_FACTOR = 0.03, 100.0  # of the gain, that are shown
LEGEND_ROOM = 0.4  # of the range of some gains, above them
GAIN_UNITS = {"torque": ("N m/rad", "N m s/rad"), "rate": ("1/s", "1"), "angle": ("1", "s")}  # on angles, and on rates
SLOWEST_DRAWN, BODE_POINTS = 0.05, 1500  # rad/s, and points of a loop gain that is drawn
NYQUIST_HALF = 3.0  # of the plane of L that is shown
GAIN_TICKS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def gain_figure(schedules: Sequence["GainSchedule"]) -> "Figure":
    """Feedback gains on the four states of the bicycle against speed, one line per design; of any drive."""
    kinds = {_command_kind(schedule) for schedule in schedules}
    on_angle, on_rate = GAIN_UNITS[kinds.pop()] if len(kinds) == 1 else ("command/rad", "command s/rad")
    names = (f"φ  [{on_angle}]", f"δ  [{on_angle}]", f"φ̇  [{on_rate}]", f"δ̇  [{on_rate}]")
    with figure_style():
        figure = new_figure(5.5, 4.4)
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


def timing_figure(timings: Mapping[str, tuple[Array, Array]]) -> "Figure":
    """Histograms of wake-up lateness and compute time; ``timings`` maps a label to both, in s.

    More runs than there are colours are drawn as one.
    """
    if len(timings) > len(SERIES_STYLES):
        lateness, compute = (np.concatenate(column) for column in zip(*timings.values(), strict=True))
        timings = {f"all {len(timings)} runs": (lateness, compute)}
    with figure_style():
        figure = new_figure(5.5, 4.4)
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


EIGENVALUE_PANELS = ("real parts", "imaginary parts")
MARGIN_PANELS = ("margins in gain", "in phase", "in delay")
DESIGN_PANELS = ("gains on angles", "on rates", "on the drive", *EIGENVALUE_PANELS, *MARGIN_PANELS)
LOOP_GAIN_PANELS = ("|L|", "arg L", "the plane of L")


def plot_design(schedule: "GainSchedule", *, ax: Any = None, path: str | Path | None = None) -> Any:
    """Draw a gain schedule over speed: gains, closed-loop eigenvalues, and margins in gain, phase and delay.

    Parameters
    ----------
    schedule : GainSchedule
        As `design` makes it.
    ax : matplotlib axes, optional
        Eight to draw into: three for gains, two for eigenvalues, three for margins.
    path : str or Path, optional
        File to write as well, SVG, PDF or PNG.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Other axes, or a file that cannot be written, or whose suffix is no format of a figure.
    """
    if not isinstance(schedule, GainSchedule) or schedule.drive is not None:
        raise InputError(
            f"plot_design draws gains of a torque, found {schedule!r}: draw another controller with "
            "plot_margins(margins(controller))"
        )
    check_figure_file(path, ax)
    with figure_style():
        if ax is not None:
            _draw_design(axes_given(ax, DESIGN_PANELS), schedule)
            return ax
        figure = new_figure(7.0, 8.6)
        grid = figure.add_gridspec(3, 6)
        gains = [figure.add_subplot(grid[0, i : i + 2]) for i in (0, 2, 4)]
        eigenvalues = [figure.add_subplot(grid[1, i : i + 3]) for i in (0, 3)]
        margins = [figure.add_subplot(grid[2, i : i + 2]) for i in (0, 2, 4)]
        _draw_design([*gains, *eigenvalues, *margins], schedule)
        _say_design(figure, schedule, "T_δ = −K z")
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def _draw_design(axes: Sequence["Axes"], schedule: "GainSchedule") -> None:
    """Draw gains, eigenvalues and margins into the panels of `DESIGN_PANELS`."""
    _draw_gains(axes[:3], schedule)
    v = _fine_speeds(schedule.v)
    between = np.array([_closed_loop(schedule, speed) for speed in v.tolist()])
    _draw_eigenvalues(axes[3:5], schedule.bicycle, (v, between), (schedule.v, schedule.closed_loop))
    _draw_margins(axes[5:], schedule.v, schedule.margins)
    _set_speeds(axes, schedule.v)


def plot_margins(found: "LoopMargins", *, ax: Any = None, path: str | Path | None = None) -> Any:
    """Draw a judged loop: eigenvalues and margins over speed, Bode and Nyquist diagrams at up to four of the speeds.

    Parameters
    ----------
    found : LoopMargins
        As `margins` makes it.
    ax : matplotlib axes, optional
        Five to draw into, two for eigenvalues and three for margins; Bode and Nyquist diagrams are `plot_loop`'s.
    path : str or Path, optional
        File to write as well, SVG, PDF or PNG.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Other axes, or a file that cannot be written, or whose suffix is no format of a figure.
    """
    check_figure_file(path, ax)
    with figure_style():
        if ax is not None:
            _draw_judged(axes_given(ax, (*EIGENVALUE_PANELS, *MARGIN_PANELS)), found)
            return ax
        figure = new_figure(7.0, 11.2)
        grid = figure.add_gridspec(4, 6)
        eigenvalues = [figure.add_subplot(grid[0, i : i + 3]) for i in (0, 3)]
        margins = [figure.add_subplot(grid[1, i : i + 2]) for i in (0, 2, 4)]
        bode = [figure.add_subplot(grid[row, :3]) for row in (2, 3)]
        _draw_judged([*eigenvalues, *margins], found)
        _draw_loop_gains(bode, figure.add_subplot(grid[2:, 3:]), found)
        _say_design(figure, found.loop.schedule, "the whole sampled loop")
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def plot_loop(found: "LoopMargins", *, ax: Any = None) -> Any:
    """Draw the loop gain L at up to four of the speeds that were judged: Bode and Nyquist diagrams.

    Parameters
    ----------
    found : LoopMargins
        As `margins` makes it.
    ax : matplotlib axes, optional
        Three to draw into: gain and phase over frequency, and the plane of L.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Other axes.
    """
    with figure_style():
        if ax is not None:
            *bode, nyquist = axes_given(ax, LOOP_GAIN_PANELS)
            _draw_loop_gains(bode, nyquist, found)
            return ax
        figure = new_figure(7.0, 4.2)
        grid = figure.add_gridspec(2, 2)
        bode = [figure.add_subplot(grid[row, 0]) for row in (0, 1)]
        _draw_loop_gains(bode, figure.add_subplot(grid[:, 1]), found)
        _say_design(figure, found.loop.schedule, "the whole sampled loop")
    return figure


def _draw_judged(axes: Sequence["Axes"], found: "LoopMargins") -> None:
    """Draw eigenvalues and margins of a judged loop over speed."""
    loop, speeds = found.loop, np.array([row.v for row in found])
    fine = _fine_speeds(speeds)
    rows = _padded([loop.eigenvalues(v) for v in fine.tolist()])
    _draw_eigenvalues(axes[:2], loop.bicycle, (fine, rows), (speeds, _padded([row.eigenvalues for row in found])))
    _draw_margins(axes[2:], speeds, [row.margins for row in found])
    _set_speeds(axes, speeds)


def _some_speeds(v: Array) -> list[float]:
    """Up to as many speeds as there are colours, evenly among those given."""
    chosen = np.unique(np.round(np.linspace(0, len(v) - 1, min(len(v), len(SERIES_STYLES)))).astype(int))
    return [float(v[i]) for i in chosen]


def _draw_loop_gains(bode: Sequence["Axes"], nyquist: "Axes", found: "LoopMargins") -> None:
    """Draw the loop gain L against frequency and in its plane, where a disc of 1/2 around -1 is a peak of 2."""
    loop, speeds = found.loop, _some_speeds(np.array([row.v for row in found]))
    omega = np.geomspace(SLOWEST_DRAWN, np.pi / loop.dt, BODE_POINTS)
    for v, (colour, _) in zip(speeds, SERIES_STYLES, strict=False):
        L = loop_gain(loop, v)(omega)
        bode[0].plot(omega, np.abs(L), color=colour, label=f"{v:g} m/s")
        bode[1].plot(omega, np.degrees(np.unwrap(np.angle(L))), color=colour)
        nyquist.plot(L.real, L.imag, color=colour)
        nyquist.plot(L.real, -L.imag, color=colour, lw=0.7, ls=(0, (3, 2)))
    bode[0].axhline(1.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
    bode[0].set(xscale="log", yscale="log")
    bode[0].set_title("|L|", loc="left", fontsize=10)
    bode[0].legend(loc="lower left", fontsize=8.5, handlelength=1.4)
    bode[1].set(xscale="log", xlabel="ω  [rad/s]")
    bode[1].set_title("arg L  [deg]", loc="left", fontsize=10)
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    nyquist.plot(np.cos(turn), np.sin(turn), color=MUTED_COLOUR, lw=0.8, zorder=1)
    nyquist.plot(-1.0 + 0.5 * np.cos(turn), 0.5 * np.sin(turn), color=MUTED_COLOUR, lw=0.8, ls=":", zorder=1)
    nyquist.plot([-1.0], [0.0], "+", color=VERMILION, ms=9, mew=1.6)
    nyquist.set(xlim=(-NYQUIST_HALF, NYQUIST_HALF), ylim=(-NYQUIST_HALF, NYQUIST_HALF), aspect="equal", xlabel="Re L")
    nyquist.set_title("Im L; dotted: sensitivity 2", loc="left", fontsize=10)


def _fine_speeds(v: Array) -> Array:
    return np.unique(np.append(np.linspace(v[0], v[-1], FINE_SPEEDS), v))


def _padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Stack eigenvalues of speeds of which some have one more at z = 0, which is left out; far left in its place."""
    out = np.full((len(rows), max(map(len, rows))), -np.inf, complex)
    for row, eigenvalues in zip(out, rows, strict=True):
        row[: len(eigenvalues)] = eigenvalues
    return out


def _set_speeds(axes: Sequence["Axes"], v: Array) -> None:
    """Let every panel reach over the speeds, and say so."""
    low, high = float(v[0]), float(v[-1])
    room = 0.03 * (high - low) or 0.5
    for ax in axes:
        ax.set_xlim(low - room, high + room)
        ax.set_xlabel("v  [m/s]")


def _say_design(figure: "Figure", made: "Controller", law: str) -> None:
    """Write bicycle, method, law and timing above a figure."""
    loop = made.loop
    figure.suptitle(
        f"{made.bicycle.name}, {made.method}: {law} at {loop.rate:g} Hz, delay {loop.delay:.3g} sample"
        f"{'s' * (loop.delay != 1)}, drive lag {1e3 * loop.drive_lag:.3g} ms",
        x=0.012,
        ha="left",
        fontsize=11,
        color=INK_COLOUR,
    )


def _command_kind(schedule: "GainSchedule") -> str:
    """Quantity that gains command: torque, rate or angle."""
    return schedule.drive.kind if schedule.drive else "torque"


def _draw_gains(axes: Sequence["Axes"], schedule: "GainSchedule") -> None:
    """Draw the six gains, two of one unit in each axes; those on heading and place stand in the table."""
    on_angle, on_rate = GAIN_UNITS[_command_kind(schedule)]
    panels = (
        (f"gains on angles  [{on_angle}]", ("φ", "δ")),
        (f"gains on rates  [{on_rate}]", ("φ̇", "δ̇")),
        ("gains on the drive  [1]", ("its torque", "last command")),
    )
    for i, (ax, (title, names)) in enumerate(zip(axes, panels, strict=True)):
        for name, (colour, marker), K in zip(names, SERIES_STYLES, schedule.K[:, 2 * i : 2 * i + 2].T, strict=False):
            ax.plot(schedule.v, K, color=colour, marker=marker, ms=3.5, label=name)
        ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        ax.set_title(title, loc="left", fontsize=10)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + LEGEND_ROOM * (high - low))
        ax.legend(loc="upper right", fontsize=8.5, handlelength=1.4)


def _draw_eigenvalues(
    axes: Sequence["Axes"],
    bicycle: "Bicycle",
    interpolated: tuple[Array, np.ndarray],
    designed: tuple[Array, np.ndarray],
) -> None:
    """Draw the closed loop at the designed speeds and, interpolated, between them; dashed: uncontrolled."""
    v, between = interpolated
    free = named_modes(bicycle, v)
    real = np.concatenate(
        [between[between.real > -FASTEST_SHOWN].real, free.all[np.abs(free.all.real) < FASTEST_SHOWN].real, [-1.0, 1.0]]
    )
    room = 0.06 * float(np.ptp(real))
    low, high = float(real.min()) - room, float(real.max()) + room
    for ax, part, name in zip(axes, (np.real, np.imag), ("Re λ  [1/s]", "Im λ  [rad/s]"), strict=True):
        waves = free.all.imag > 0.0
        uncontrolled = np.where(waves | ((free.all.imag == 0.0) & (part is np.real)), part(free.all), np.nan)
        ax.plot(v, uncontrolled, color=MUTED_COLOUR, lw=1.0, ls=(0, (4, 2)))
        for speeds, values, size in ((v, between, 1.1), (*designed, 3.6)):
            shown = (values.imag >= 0.0) & (values.real >= low)
            for colour, which in ((BLUE, values.real < 0.0), (VERMILION, values.real >= 0.0)):
                seen = shown & which & ((values.imag > 0.0) | (part is np.real))
                y = np.where(seen, part(np.where(shown, values, 0.0)), np.nan)
                ax.plot(speeds, y, "o", color=colour, ms=size, mew=0)
        ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        ax.set_title(name, loc="left", fontsize=10)
    axes[0].set_ylim(low, high)
    axes[1].set_ylim(0.0, None)
    axes[0].text(
        1.0, 1.02, "dashed: uncontrolled", transform=axes[0].transAxes, ha="right", fontsize=8.5, color=MUTED_COLOUR
    )


def _closed_loop(schedule: "GainSchedule", v: float) -> np.ndarray:
    """Eigenvalues [1/s] of the sampled loop at a speed, with gains as a run interpolates them."""
    model = (lane_loop if schedule.keeps_lane else sampled_model)(schedule.bicycle, v, schedule.loop)
    return continuous(model.closed_loop(schedule.gains(v)), model.dt)


def _draw_margins(axes: Sequence["Axes"], v: Array, margins: Sequence["Margins"]) -> None:
    """Draw margins in gain (the interval in which the factor may lie), phase and delay; none where unlimited."""
    gain, phase, delay = axes
    down, up = np.array([each.gain for each in margins]).T
    bars = np.maximum(down, LEAST_FACTOR), np.minimum(up, MOST_FACTOR)
    gain.vlines(v, *bars, color=BLUE, lw=3.0, clip_on=False)  # the first and the last stand on the edge
    gain.axhline(1.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
    gain.set(yscale="log", ylim=(LEAST_FACTOR, MOST_FACTOR))
    gain.set_yticks(GAIN_TICKS, [f"{factor:g}" for factor in GAIN_TICKS])
    gain.minorticks_off()
    gain.set_title("gain margin, factors", loc="left", fontsize=10)
    for ax, title, values in (
        (phase, "phase margin  [deg]", np.degrees([each.phase for each in margins])),
        (delay, "delay margin  [ms]", 1e3 * np.array([each.delay for each in margins])),
    ):
        limited = np.where(np.isfinite(values), values, np.nan)
        ax.plot(v, limited, color=BLUE, marker="o", ms=3.5)
        ax.set_ylim(0.0, 1.1 * np.nanmax(limited) if np.isfinite(limited).any() and np.nanmax(limited) > 0.0 else 1.0)
        ax.set_title(title, loc="left", fontsize=10)
        if not np.isfinite(limited).any():
            ax.text(0.5, 0.5, "no limit", transform=ax.transAxes, ha="center", color=MUTED_COLOUR)
