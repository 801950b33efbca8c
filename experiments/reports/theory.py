"""Figures of theory alone.

Eigenvalues over speed, mode shapes, steady turns; one file each, by its suffix. They share colours and style with
`riderless.experiments.reports.eigenvalues`, and matplotlib is imported as late: when something is drawn.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from riderless.experiments.reports.eigenvalues import (
    BLUE,
    CARD_COLOUR,
    GREEN,
    GRID_COLOUR,
    INK_COLOUR,
    MUTED_COLOUR,
    SERIES_STYLES,
    VERMILION,
    axes_given,
    figure_style,
    make_texts_harmless,
    new_figure,
)
from riderless.experiments.reports.files import figure_metadata
from riderless.hil.output_file import OutputFile
from riderless.models.errors import InputError
from riderless.models.linear.mode_shapes import ModeShape
from riderless.models.linear.modes import CriticalSpeeds, Modes, critical_speeds, named_modes
from riderless.models.parameters import Bicycle, require_bicycle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from riderless.models.nonlinear.hands_free import TurnFamily
    from riderless.models.nonlinear.steady_turns import SteadyTurn

USUAL_SPEEDS = np.linspace(0.0, 10.0, 401)  # m/s, of a figure over speed
FIGURE_FORMATS = (".svg", ".pdf", ".png")
MODE_COLOURS = {"weave": BLUE, "capsize": VERMILION, "caster": GREEN}
LEAN_COLOUR, STEER_COLOUR = BLUE, VERMILION
FIGURE_DPI = 160
STRAIGHT_STARTS = {
    "straight": "straight running",
    "reversed": "straight running, handlebar reversed,",
}  # starts of a family


def save_figure(figure: "Figure", path: Path, about: str = "") -> None:
    """Write a figure as SVG, PDF or PNG, as the suffix of ``path`` says, also in the place of another file.

    ``about`` is what the file says of itself, out of sight: its run and commit.

    Raises
    ------
    InputError
        For another suffix, or a place that cannot be written, or that has a log.
    """
    check_figure_format(path)
    suffix, drawn = path.suffix.lower(), BytesIO()  # in memory: a PDF that meets a full disk ends in an error of zlib
    make_texts_harmless(figure)
    about_it: Any = figure_metadata(suffix, about)
    with figure_style():
        figure.savefig(drawn, format=suffix[1:], dpi=FIGURE_DPI, facecolor=CARD_COLOUR, metadata=about_it)
    OutputFile(path, "the figure", force=True).write(drawn.getvalue())


def check_figure_format(path: Path) -> None:
    """Refuse a file name whose suffix is no format of a figure, before anything is computed."""
    if path.suffix.lower() not in FIGURE_FORMATS:
        raise InputError(
            f"a figure is written as {', '.join(FIGURE_FORMATS)}; found '{path.name}': end the name in one of them"
        )


def check_figure_file(path: str | Path | None, ax: Any) -> None:
    """Refuse, before anything is computed, a file that cannot be a figure, or one of a figure that is the caller's."""
    if path is not None and ax is not None:
        raise InputError("path writes a figure of its own; found ax too: save yours with ax.figure.savefig")
    if path is not None:
        check_figure_format(Path(path))


def plot_eigenvalues(
    modes: Modes | Bicycle, speeds: ArrayLike | None = None, *, ax: Any = None, path: str | Path | None = None
) -> Any:
    """Draw the eigenvalues of the uncontrolled bicycle over speed, each mode by name.

    Parameters
    ----------
    modes : Modes or Bicycle
        Named eigenvalues, or a bicycle, whose critical speeds are marked as well.
    speeds : array_like (n,), optional
        With a bicycle: forward speeds [m/s]; from 0 to 10 m/s by default.
    ax : matplotlib axes, optional
        Drawn into: two, for real and imaginary parts, or one, in which the imaginary parts are dashed.
    path : str or Path, optional
        File to write as well, SVG, PDF or PNG.

    Returns
    -------
    Figure or axes
        A figure of its own, or ``ax`` where it is given.

    Raises
    ------
    InputError
        Neither modes nor a bicycle, fewer than two speeds, other axes, or a file that cannot be written.
    """
    name, critical = "", None
    check_figure_file(path, ax)
    if not isinstance(modes, Modes):
        require_bicycle(modes)
        name, critical = modes.name, critical_speeds(modes)
        modes = named_modes(modes, USUAL_SPEEDS if speeds is None else speeds)
    low, high = (float(modes.v.min()), float(modes.v.max())) if len(modes.v) else (np.nan, np.nan)
    if not high > low:
        speeds_found = f"{low:g} m/s alone" if len(modes.v) else "none"
        raise InputError(f"a plot over speed needs two speeds at least; found {speeds_found}: write --speeds 0:10:1")
    with figure_style():
        if ax is not None:
            together = np.size(ax) == 1
            real, imaginary = [*np.ravel(ax)] * 2 if together else axes_given(ax, ("real parts", "imaginary parts"))
            _draw_eigenvalues(real, imaginary, name, modes, critical)
            return ax
        figure = new_figure(6.4, 6.6)
        real, imaginary = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_eigenvalues(real, imaginary, name, modes, critical)
    if path is not None:
        save_figure(figure, Path(path))
    return figure


def _draw_eigenvalues(
    real: "Axes", imaginary: "Axes", name: str, modes: Modes, critical: CriticalSpeeds | None = None
) -> None:
    """Real and imaginary parts of the eigenvalues over speed, each mode by name, critical speeds marked.

    Shaded: speeds at which the upright bicycle is stable by itself.
    """
    together = imaginary is real
    axes = (real,) if together else (real, imaginary)
    _shade_stable(axes, modes)
    for mode, column in zip(("weave", "weave", "capsize", "caster"), modes.all.T, strict=True):
        style: dict[str, Any] = {"color": MODE_COLOURS[mode], "solid_capstyle": "round"}
        real.plot(modes.v, column.real, **style)
        style["ls"] = "--" if together else "-"
        imaginary.plot(modes.v, np.where(column.imag > 0.0, column.imag, np.nan), **style)
    low, high = _interesting(modes)
    if together:
        high = max(high, 1.05 * float(modes.all.imag.max()))
    else:
        imaginary.set_ylim(0.0, None)
    real.set_ylim(low, high)
    for ax in axes:
        ax.set_xlim(modes.v.min(), modes.v.max())
        ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
    _label_modes(real, modes, _mark_critical(real, modes, critical) if critical else [], low, high)
    imaginary.set_ylabel("Im λ  [rad/s]")
    real.set_ylabel("Re λ  [1/s]; dashed: Im λ  [rad/s]" if together else "Re λ  [1/s]")
    imaginary.set_xlabel("forward speed v  [m/s]")
    real.set_title(
        ", ".join(filter(None, (name, "upright, hands off"))) + ("; critical speeds in m/s" if critical else ""),
        loc="left",
        fontsize=11,
        color=INK_COLOUR,
        pad=20,
    )


def _shade_stable(axes: Sequence["Axes"], modes: Modes) -> None:
    order = np.argsort(modes.v)
    stable = np.all(modes.all[order].real < 0.0, axis=1)
    for ax in axes:
        ax.fill_between(
            modes.v[order],
            0,
            1,
            where=stable,
            transform=ax.get_xaxis_transform(),
            color=GREEN,
            alpha=0.09,
            lw=0,
            zorder=0,
        )


def _interesting(modes: Modes) -> tuple[float, float]:
    """Limits of the real axis: all of weave and capsize, and as much of caster as leaves them readable."""
    slow = modes.all[:, :3].real
    low, high = min(float(slow.min()), -2.0), max(float(slow.max()), 1.0)
    low = max(float(modes.caster.real.min()), min(low, -1.6 * high))
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _mark_critical(ax: "Axes", modes: Modes, critical: CriticalSpeeds) -> list[float]:
    """Mark each critical speed: a dot on the curve, its value above the frame; returns the speeds in view."""
    speeds = (
        ("double root", critical.double_root, critical.double_root_eigenvalue, INK_COLOUR),
        ("weave", critical.weave, 0.0, BLUE),
        ("capsize", critical.capsize, 0.0, VERMILION),
    )
    shown = []
    for label, v, height, colour in speeds:
        if v is None or height is None or not modes.v.min() <= v <= modes.v.max():
            continue
        ax.plot(v, height, "o", ms=5.5, color=colour, mec=CARD_COLOUR, mew=1.0, zorder=5)
        ax.axvline(v, color=colour, lw=0.7, ls=(0, (3, 3)), zorder=1)
        ax.annotate(
            f"{label} {v:.2f}",
            (v, 1.0),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=colour,
        )
        shown.append(v)
    return shown


def _label_modes(ax: "Axes", modes: Modes, occupied: Sequence[float], low: float, high: float) -> None:
    """Write the name of each mode on its curve, far from the others and from the speeds ``occupied``."""
    span = float(np.ptp(modes.v))
    free = (modes.v > modes.v.min() + 0.12 * span) & (modes.v < modes.v.max() - 0.12 * span)
    for speed in occupied:
        free &= np.abs(modes.v - speed) > 0.07 * span
    for mode, columns in (("weave", [0, 1]), ("capsize", [2]), ("caster", [3])):
        curve = modes.all[:, columns[0]].real
        gap = np.min(np.abs(np.delete(modes.all.real, columns, axis=1).T - curve), axis=0)
        inside = free & (curve > low + 0.08 * (high - low)) & (curve < high - 0.08 * (high - low))
        if inside.any():
            k = int(np.argmax(np.where(inside, gap, -1.0)))
            _on_curve(ax, mode, float(modes.v[k]), float(curve[k]), MODE_COLOURS[mode])


def _on_curve(ax: "Axes", text: str, x: float, y: float, colour: str) -> None:
    """Write a word in the middle of a curve, on a patch of background."""
    patch = {"facecolor": CARD_COLOUR, "edgecolor": "none", "boxstyle": "square,pad=0.12"}
    ax.text(x, y, text, ha="center", va="center", color=colour, bbox=patch, zorder=6)


def mode_shapes_figure(name: str, v: float, shapes: Sequence[ModeShape]) -> "Figure":
    """Phasors of lean and steer of each mode at speed ``v`` [m/s], and the motion they stand for."""
    with figure_style():
        figure = new_figure(2.75 * len(shapes), 5.2)
        grid = figure.subplots(2, len(shapes), squeeze=False, sharey="row", height_ratios=(3, 2))
        for (phasors, motion), shape in zip(grid.T, shapes, strict=True):
            _draw_phasors(phasors, shape)
            legend = _draw_motion(motion, shape)
        grid[1, 0].set_ylabel("angle, in one scale")
        figure.legend(*legend, loc="outside upper right", ncols=2)
        figure.suptitle(f"{name} at {v:g} m/s", x=0.012, ha="left", fontsize=11, color=INK_COLOUR)
    return figure


def _draw_phasors(ax: "Axes", shape: ModeShape) -> None:
    """Lean and steer as arrows in the unit circle of the complex plane."""
    circle = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 181))
    ax.plot(circle.real, circle.imag, color=GRID_COLOUR, lw=0.9, zorder=1)
    for axis in (ax.axhline, ax.axvline):
        axis(0.0, color=GRID_COLOUR, lw=0.9, zorder=1)
    for phasor, colour, width in (
        (shape.lean, LEAN_COLOUR, 3.4),
        (shape.steer, STEER_COLOUR, 1.8),
    ):  # both seen when in line
        if abs(phasor) < 0.08:  # an arrow would be all head
            ax.plot(phasor.real, phasor.imag, "o", ms=2.0 * width, color=colour, zorder=4)
            continue
        arrow = {"arrowstyle": "-|>,head_width=0.24", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (phasor.real, phasor.imag), (0.0, 0.0), arrowprops=arrow, zorder=3)
    if shape.oscillatory:
        arc = 0.3 * np.exp(-1j * np.linspace(0.0, shape.lean_lead, 61))
        ax.plot(arc.real, arc.imag, color=MUTED_COLOUR, lw=0.9, zorder=2)
    ax.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12), aspect="equal")
    ax.axis("off")
    ax.set_title(f"{shape.name}\nλ = {_value(shape.eigenvalue)} 1/s", fontsize=10, color=INK_COLOUR)
    ax.text(0.0, -1.2, _in_words(shape), ha="center", va="top", fontsize=8.5, color=MUTED_COLOUR)


def _value(s: complex) -> str:
    text = f"{s.real:.2f} ± {s.imag:.2f} i" if s.imag else f"{s.real:.2f}"
    return text.replace("-", "−")


def _in_words(shape: ModeShape) -> str:
    if shape.oscillatory:
        lead = np.degrees(shape.lean_lead)
        phase = f"lean {'ahead' if lead >= 0.0 else 'behind'} by {abs(lead):.0f}°"
    else:
        phase = "to the same side" if shape.lean_lead == 0.0 else "to opposite sides"
    ratio = shape.steer_over_lean
    return (f"steer {ratio:.3g} × lean" if ratio >= 1.0 else f"lean {1.0 / ratio:.3g} × steer") + f"\n{phase}"


def _draw_motion(ax: "Axes", shape: ModeShape) -> tuple[list[Any], list[str]]:
    """Lean and steer over two periods, but no longer than they matter; returns what a legend needs."""
    s = shape.eigenvalue
    fade = (5.0 if shape.oscillatory else 3.0) / max(abs(s.real), 0.02)
    duration = min(fade, 4.0 * np.pi / s.imag) if shape.oscillatory else fade
    t = np.linspace(0.0, duration, 301)
    lean, steer = shape.motion(t)
    largest = max(np.max(np.abs(lean)), np.max(np.abs(steer)))
    lines = [
        ax.plot(t, lean / largest, color=LEAN_COLOUR, lw=2.6)[0],
        ax.plot(t, steer / largest, color=STEER_COLOUR, lw=1.6)[0],
    ]
    ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
    ax.set(xlim=(0.0, duration), ylim=(-1.1, 1.1), xlabel="t  [s]")
    ax.set_yticks([-1.0, 0.0, 1.0])
    return lines, ["lean φ", "steer δ"]


def families_figure(name: str, families: Sequence["TurnFamily"]) -> "Figure":
    """Hands-free turns: lean over steer and over speed, one colour a family, thick where it is stable."""
    with figure_style():
        figure = new_figure(8.4, 4.8)
        over_steer, over_speed = figure.subplots(1, 2, sharey=True)
        lines = []
        for i, family in enumerate(families):
            colour, _ = SERIES_STYLES[i % len(SERIES_STYLES)]
            lean = np.degrees([turn.phi for turn in family.turns])
            steer = np.degrees([turn.delta for turn in family.turns])
            v = np.array([turn.v for turn in family.turns])
            stable = np.array([turn.stable for turn in family.turns])
            for ax, x in ((over_steer, steer), (over_speed, v)):
                (line,) = ax.plot(x, lean, color=colour, lw=1.4)
                ax.plot(np.where(stable, x, np.nan), lean, color=colour, lw=5.0, alpha=0.55, solid_capstyle="round")
                if family.start in STRAIGHT_STARTS:
                    ax.plot(x[0], lean[0], "o", ms=6.0, color=colour, mec=CARD_COLOUR, mew=1.0, zorder=5, clip_on=False)
            line.set_label(_family_in_words(family))
            lines.append(line)
        over_steer.set(xlim=(0.0, 180.0), xlabel="steer δ  [deg]", ylabel="lean φ  [deg]")
        over_speed.set(xlim=(0.0, 12.0), xlabel="forward speed v  [m/s]")
        over_steer.set_xticks(range(0, 181, 30))
        over_steer.set_yticks(range(-90, 91, 30))
        for ax in (over_steer, over_speed):
            ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        figure.legend(handles=lines, loc="outside lower left", ncols=2)
        title = f"{name}: turns without steer torque; thick: stable"
        figure.suptitle(title, x=0.012, ha="left", fontsize=11, color=INK_COLOUR)
    return figure


def _family_in_words(family: "TurnFamily") -> str:
    if family.start in STRAIGHT_STARTS:
        return f"from {STRAIGHT_STARTS[family.start]} at {family.turns[0].v:.2f} m/s to {family.end}"
    return f"from {family.start} to {family.end}"


def turn_figure(bicycle: Bicycle, turn: "SteadyTurn") -> "Figure":
    """One turn: the circles of the two wheels seen from above, and the eigenvalues of motions about it."""
    with figure_style():
        figure = new_figure(8.4, 4.4)
        ground, plane = figure.subplots(1, 2)
        _draw_circles(ground, bicycle, turn)
        s = np.array(turn.eigenvalues)
        plane.axvline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        plane.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
        colours = [VERMILION if value.real >= 0.0 else BLUE for value in s]
        plane.scatter(s.real, s.imag, c=colours, s=42, edgecolors=CARD_COLOUR, linewidths=1.0, zorder=3)
        plane.set(xlabel="Re λ  [1/s]", ylabel="Im λ  [rad/s]")
        plane.margins(0.15)
        plane.set_title("stable" if turn.stable else "unstable", loc="left", fontsize=10, color=INK_COLOUR)
        words = (
            f"{bicycle.name}: lean {np.degrees(turn.phi):.2f}°, steer {np.degrees(turn.delta):.2f}°, "
            f"{turn.v:.2f} m/s, steer torque {turn.T_delta:.3f} N m"
        )
        figure.suptitle(words.replace("-", "−"), x=0.012, ha="left", fontsize=11, color=INK_COLOUR)
    return figure


def _draw_circles(ax: "Axes", bicycle: Bicycle, turn: "SteadyTurn") -> None:
    """Paths of the contacts from above, rear at the origin and heading up, right to the right."""
    circle = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 361))
    front = abs(turn.front_rate * bicycle.rF / turn.psi_dot)  # m, the front contact rolls along its circle
    for radius, colour, label in ((abs(turn.radius), BLUE, "rear contact"), (front, VERMILION, "front contact")):
        path = turn.radius + radius * circle
        ax.plot(path.real, path.imag, color=colour, label=label)
    reach = max(abs(turn.radius), front)
    ax.annotate(
        "",
        (0.0, 0.35 * reach),
        (0.0, 0.0),
        arrowprops={"arrowstyle": "-|>", "color": INK_COLOUR, "lw": 1.2, "shrinkA": 0},
    )
    ax.plot(0.0, 0.0, "o", ms=5.0, color=INK_COLOUR, mec=CARD_COLOUR, zorder=4)
    ax.plot(turn.radius, 0.0, "+", ms=8.0, color=MUTED_COLOUR)
    ax.set(aspect="equal", xlabel="to the right  [m]", ylabel="ahead  [m]")
    ax.set_title(f"radius {abs(turn.radius):.3g} m", loc="left", fontsize=10, color=INK_COLOUR)
    ax.figure.legend(loc="outside lower left", ncols=2)
