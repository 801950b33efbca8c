"""Figures of eigenvalues, and the report's style.

Eigenvalues over speed and in the complex plane, and residuals; the style is that of all figures of the report.
matplotlib is imported inside the functions (it costs half a second that no other command should pay) and without
pyplot: nothing here needs a display or leaves global state behind. Colours are a colour-blind safe palette with a light
and a dark value each; `to_svg` writes them as CSS variables, so that a page can follow the reader's setting.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from riderless.experiments.analysis.comparison.compare import SampleStatistics
from riderless.experiments.analysis.comparison.random_effects import CONFIDENCE_LEVEL as CONFIDENCE
from riderless.experiments.datatypes import Comparison, Fit
from riderless.experiments.recordings.published import Figure7
from riderless.models.array_types import Array
from riderless.models.errors import InputError
from riderless.models.harmless_text import harmless
from riderless.models.noise_statistics import STDS_95 as BAR_STDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LEAST_SPEEDS = 0.05  # m/s that an axis of speeds shows: windows of one run differ by less than its numbers have digits
PLANE_MARGIN = 0.6  # 1/s, around what was measured
LETTERS_ACROSS = 54  # of the widest words of a legend in two columns, which a figure has room for

PALETTE = {  # name: (light, dark)
    "ink": ("#1d2126", "#e6e8eb"),
    "muted": ("#67707b", "#99a3ae"),
    "grid": ("#e4e7eb", "#31373f"),
    "card": ("#fefefe", "#1b2027"),
    "blue": ("#0b64ad", "#6cb4f8"),
    "vermilion": ("#c14f0b", "#ff9a5e"),
    "green": ("#0e7c61", "#52d0a6"),
    "purple": ("#87509d", "#d0a6f7"),
}
INK_COLOUR, MUTED_COLOUR, GRID_COLOUR, CARD_COLOUR, BLUE, VERMILION, GREEN, PURPLE = (
    light for light, _ in PALETTE.values()
)
SERIES_STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PURPLE, "D"))

FIGURE_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "riderless",
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.1,  # in: half of an axis's last number stands out
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED_COLOUR,
    "axes.linewidth": 0.7,
    "axes.labelcolor": INK_COLOUR,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": GRID_COLOUR,
    "grid.linewidth": 0.7,
    "text.color": INK_COLOUR,
    "xtick.color": MUTED_COLOUR,
    "ytick.color": MUTED_COLOUR,
    "xtick.labelcolor": INK_COLOUR,
    "ytick.labelcolor": INK_COLOUR,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.6,
}

ERROR_BAR_STYLE: dict[str, Any] = {
    "ms": 4.0,
    "mec": CARD_COLOUR,
    "mew": 0.5,
    "elinewidth": 0.9,
    "zorder": 3,
}  # points with bars


@dataclass(frozen=True)
class Curve:
    """Prediction over speed: v (n,) m/s, values (n,) or, for k modes, (n, k) complex, nan where none."""

    label: str
    v: Array
    values: np.ndarray


@dataclass(frozen=True)
class Bands:
    """Uncertainty of a predicted mode over speed: v (k,) m/s, mode and std (k,) complex, both parts in one."""

    v: Array
    mode: np.ndarray
    std: np.ndarray


@dataclass(frozen=True)
class Series:
    """Windows measured under one condition, drawn in one colour."""

    label: str
    comparisons: Sequence[Comparison]
    curve: Curve | None = None
    bands: Bands | None = None


def figure_style(more: Mapping[str, Any] = MappingProxyType({})) -> AbstractContextManager[None]:
    """Set the style of every figure, while it is made and while it is drawn."""
    from matplotlib import rc_context

    settings: Any = {**FIGURE_STYLE, **more}
    return rc_context(settings)


def new_figure(width: float, height: float) -> "Figure":
    """Make an empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def axes_given(ax: Any, panels: Sequence[str]) -> list["Axes"]:
    """Axes to draw into, one for each panel, of the one or the array that ``plt.subplots`` makes.

    Raises
    ------
    InputError
        There are more or fewer than panels.
    """
    axes = list(np.ravel(ax))
    if len(axes) != len(panels):
        raise InputError(
            f"wanted {len(panels)} axes, for {', '.join(panels)}; found {len(axes)}: make as many with plt.subplots"
        )
    return axes


def half_width(spread: SampleStatistics) -> float:
    """Half the 95 % interval of a mean, by Student's t from the scatter; nan for n < 2."""
    if spread.n < 2:
        return float("nan")
    return float(stdtrit(spread.n - 1, 0.5 + CONFIDENCE / 2) * spread.sem)


def eigenvalue_figure(
    series: Sequence[Series], others: Sequence[Curve] = (), figure7: Figure7 | None = None
) -> "Figure":
    """Eigenvalue against speed, after Kooijman, Schwab and Meijaard (2008), figure 7; as `draw_eigenvalues`."""
    with figure_style():
        figure = new_figure(5.5, 6.2)
        legend_above(figure, draw_eigenvalues(figure.subplots(2, 1, sharex=True), series, others, figure7))
    return figure


def draw_eigenvalues(
    axes: Sequence["Axes"], series: Sequence[Series], others: Sequence[Curve] = (), figure7: Figure7 | None = None
) -> dict[str, Any]:
    """Draw real and imaginary parts of eigenvalues over speed; returns what is drawn for each entry of a legend.

    Parameters
    ----------
    axes : sequence of Axes
        Of the real and of the imaginary parts.
    series : sequence of Series
        Measured windows with the curve that predicts them. Vertical bars: +-1.96 standard deviations of
        the fit; horizontal bars: the speed range of the window.
    others : sequence of Curve
        Up to three more predictions, drawn thin.
    figure7 : Figure7, optional
        Published measurements to show beside them.
    """
    for ax, part, name in zip(axes, (np.real, np.imag), ("Re λ  [1/s]", "Im λ  [rad/s]"), strict=True):
        legend: dict[str, Any] = {}  # label: what is drawn for it, on top of one another
        for colour, marker, group in _styled(series):
            legend[f"{group.label} (n = {len(group.comparisons)})"] = _measured(ax, group, part, colour, marker)
        for curve, dashes in zip(others, ("--", ":", "-."), strict=False):
            (legend[curve.label],) = ax.plot(curve.v, part(curve.values), color=MUTED_COLOUR, lw=1.1, ls=dashes)
        if figure7 is not None:
            label = f"Kooijman et al. 2008 (n = {len(figure7.re)})"
            legend[label] = _published(ax, figure7, "re" if part is np.real else "im")
        ax.set_ylabel(name)
        ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
    axes[1].set_xlabel("forward speed v  [m/s]")
    _limit(axes, series, figure7)
    return legend


def _styled(series: Sequence[Series]) -> list[tuple[str, str, Series]]:
    """Each series with its colour and marker."""
    return [(*SERIES_STYLES[i % len(SERIES_STYLES)], group) for i, group in enumerate(series)]


def legend_above(figure: "Figure", entries: Mapping[str, Any]) -> None:
    """Entries above the axes, in two columns where the widest words of both are no wider than the axes."""
    words = [len(entry) for entry in entries]
    half = math.ceil(len(words) / 2)
    both = max(words[:half], default=0) + max(words[half:], default=0)
    columns = 2 if both <= LETTERS_ACROSS else 1
    figure.legend(entries.values(), entries.keys(), loc="outside upper left", ncols=columns)


def _measured(
    ax: "Axes", group: Series, part: Callable[[np.ndarray], np.ndarray], colour: str, marker: str
) -> tuple[Any, ...]:
    """Draw a series' predicted curve and measured points; returns both for the legend."""
    drawn: tuple[Any, ...] = ()
    if group.curve is not None:
        drawn += tuple(ax.plot(group.curve.v, part(group.curve.values), color=colour)[:1])
    if group.bands is not None:
        middle, half = part(group.bands.mode), BAR_STDS * part(group.bands.std)
        ax.fill_between(group.bands.v, middle - half, middle + half, color=colour, alpha=0.16, lw=0, zorder=0)
    if not group.comparisons:
        return drawn
    v = np.array([c.window.v_mean for c in group.comparisons])
    ends = np.array([(c.window.v_start, c.window.v_end) for c in group.comparisons])
    y = part(np.array([complex(c.fit.re, c.fit.im) for c in group.comparisons]))
    std = [c.fit.re_std if part is np.real else c.fit.im_std for c in group.comparisons]
    points = ax.errorbar(
        v,
        y,
        yerr=BAR_STDS * np.array(std),
        xerr=np.abs(np.sort(ends, axis=1).T - v),
        fmt=marker,
        color=colour,
        **ERROR_BAR_STYLE,
    )
    return (*drawn, points)


def _published(ax: "Axes", figure7: Figure7, part: str) -> Any:
    half = 0.5 * np.abs(figure7.v_end - figure7.v_start)
    return ax.errorbar(
        figure7.v_mean, getattr(figure7, part), xerr=half, fmt="x", color=INK_COLOUR, ms=4.0, elinewidth=0.7, zorder=2
    )


def _limit(axes: Sequence["Axes"], series: Sequence[Series], figure7: Figure7 | None) -> None:
    """Show what was measured, bars included, with room around it, not the far ends of the curves."""
    v = [c.window.v_mean for group in series for c in group.comparisons]
    fits = [c.fit for group in series for c in group.comparisons]
    values = [fit.eigenvalue for fit in fits]
    if figure7 is not None:
        v += [*figure7.v_start, *figure7.v_end]
        values += list(figure7.re + 1j * figure7.im)
    if not v:
        return
    low, high = max(0.0, min(v) - 0.6), max(v) + 0.6
    for ax in axes:
        ax.set_xlim(low, high)
    for group in series:
        if group.curve is not None:
            inside = (group.curve.v >= low) & (group.curve.v <= high)
            values += list(group.curve.values[inside].ravel())
    seen = np.array(values)
    seen = seen[np.isfinite(seen)]
    for ax, y, bars in zip(axes, (seen.real, seen.imag), _bars_of(fits), strict=True):
        margin = 0.12 * max(float(np.ptp(y)), 1.0)
        least, most = _range_with_bars(y, bars)
        ax.set_ylim(min(least, 0.0) - margin, max(most, 0.0) + margin)


def _bars_of(fits: Sequence[Fit]) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the bars of fits, (2, n) each: of the real parts and of the imaginary parts."""
    numbers = np.array([(fit.re, fit.re_std, fit.im, fit.im_std) for fit in fits]).reshape(-1, 4)
    re, re_std, im, im_std = numbers.T
    ends = np.array([[-BAR_STDS], [BAR_STDS]])
    return re + ends * re_std, im + ends * im_std


def _range_with_bars(y: np.ndarray, bars: np.ndarray) -> tuple[float, float]:
    """Least and greatest of what is drawn; on either side bars widen it by what the values span, no more.

    Parameters
    ----------
    y : (m,)
        Values.
    bars : (2, n)
        Ends of bars; those that are not finite count for nothing.
    """
    room = max(float(np.ptp(y)), 1.0)
    shown = np.append(y, np.clip(bars[np.isfinite(bars)], y.min() - room, y.max() + room))
    return float(shown.min()), float(shown.max())


def residual_figure(series: Sequence[Series]) -> "Figure":
    """Measured minus predicted per window against speed, with the mean and its 95 % interval.

    Filled: minus like for like, bars +-1.96 joint standard deviations. Open: minus the frozen eigenvalue.
    """
    with figure_style():
        figure = new_figure(5.5, 6.2)
        axes = figure.subplots(2, 1, sharex=True)
        for ax, part in zip(axes, ("re", "im"), strict=True):
            everything: list[float] = []
            legend: dict[str, Any] = {}
            for colour, marker, group in _styled(series):
                legend[group.label], like = _residuals(ax, group, part, colour, marker)
                everything += like
            name, unit = ("Re λ", "1/s") if part == "re" else ("Im λ", "rad/s")
            _mean_band(ax, SampleStatistics.of(everything), unit)
            ax.axhline(0.0, color=MUTED_COLOUR, lw=0.8, zorder=1)
            ax.set_ylabel(f"{name}, measured − predicted  [{unit}]")
        axes[1].set_xlabel("forward speed v  [m/s]")
        low, high = axes[1].get_xlim()
        if high - low < LEAST_SPEEDS:
            middle = 0.5 * (low + high)
            axes[1].set_xlim(middle - 0.5 * LEAST_SPEEDS, middle + 0.5 * LEAST_SPEEDS)
        legend_above(figure, legend)
    return figure


def _residuals(ax: "Axes", group: Series, part: str, colour: str, marker: str) -> tuple[Any, list[float]]:
    """Draw one series of residuals; returns the points, and the values against like for like."""
    i = 0 if part == "re" else 1
    v = [c.window.v_mean for c in group.comparisons]
    measured = np.array([(c.fit.re, c.fit.im)[i] for c in group.comparisons])
    like = measured - [(c.prediction.like.real, c.prediction.like.imag)[i] for c in group.comparisons]
    frozen = measured - [(c.prediction.frozen.real, c.prediction.frozen.imag)[i] for c in group.comparisons]
    joint = [c.prediction.difference_std[i] for c in group.comparisons]
    ax.plot(v, frozen, marker, mfc="none", mec=colour, ms=4.5, mew=0.8)
    points = ax.errorbar(v, like, yerr=BAR_STDS * np.array(joint), fmt=marker, color=colour, **ERROR_BAR_STYLE)
    return points, [float(r) for r in like if np.isfinite(r)]


def _mean_band(ax: "Axes", spread: SampleStatistics, unit: str) -> None:
    half = half_width(spread)
    if not np.isfinite(half):
        return
    ax.axhspan(spread.mean - half, spread.mean + half, color=MUTED_COLOUR, alpha=0.22, lw=0, zorder=0)
    ax.set_title(
        f"like for like: mean {spread.mean:+.3f} ± {half:.3f} {unit} (95 %, n = {spread.n})".replace("-", "−"),
        loc="left",
        fontsize=9.5,
        color=MUTED_COLOUR,
    )


def to_svg(figure: "Figure", title: str) -> str:
    """Write a figure as an SVG element for an HTML page: no address in it, colours as CSS variables."""
    from html import escape

    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out = StringIO()
    make_texts_harmless(figure)
    with figure_style():
        FigureCanvasSVG(figure).print_svg(out)  # savefig would draw everything twice
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r' id="[a-zA-Z0-9.]+_\d+"', "", svg)  # names of groups, not unique on a page
    svg = re.sub(r' d="[^"]*"', lambda d: re.sub(r"(\.\d\d)\d+", r"\1", d[0]), svg)  # 0.01 pt is enough
    svg = re.sub(r"(font: [\d.]+px) [^;\"]*", r"\1 var(--font)", svg)
    for name, (light, _) in PALETTE.items():
        svg = svg.replace(light, f"var(--{name})")
    svg = re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(harmless(title), quote=True)}"', 1)


def make_texts_harmless(figure: "Figure") -> None:
    """Take every text of a figure as it is: a name with $ is no formula, one with a control character no broken SVG.

    Numbers beside the axes are left alone; those of logarithmic axes are formulas of matplotlib's own.
    """
    from matplotlib.text import Text

    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    ticks = [tick for axis in axes for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())]
    numbers = {label for tick in ticks for label in (tick.label1, tick.label2)}  # asked for as such they are laid out
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in numbers:
            text.set_parse_math(False)
            text.set_text(harmless(text.get_text(), keep="\n"))


def plane_figure(series: Sequence[Series]) -> "Figure":
    """Windows in the complex plane, with what the same fit makes of the model (open), and theory's path over speed."""
    with figure_style():
        figure = new_figure(5.5, 4.6)
        ax = figure.subplots()
        legend: dict[str, Any] = {}
        for colour, marker, group in _styled(series):
            if group.curve is not None:
                values = group.curve.values.reshape(len(group.curve.v), -1)
                ax.plot(values.real, values.imag, color=colour, lw=1.1, alpha=0.7)
            if not group.comparisons:
                continue
            like = np.array([c.prediction.like for c in group.comparisons])
            ax.plot(like.real, like.imag, marker, mfc="none", mec=colour, ms=7.0, mew=0.8)
            fits = [c.fit for c in group.comparisons]
            legend[group.label] = ax.errorbar(
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
        fits = [c.fit for group in series for c in group.comparisons]
        if fits:
            seen, (across, up) = np.array([fit.eigenvalue for fit in fits]), _bars_of(fits)
            (left, right), (low, high) = _range_with_bars(seen.real, across), _range_with_bars(seen.imag, up)
            ax.set_xlim(min(left, 0.0) - PLANE_MARGIN, max(right, 0.0) + PLANE_MARGIN)
            ax.set_ylim(max(0.0, low - PLANE_MARGIN), high + PLANE_MARGIN)
        legend_above(figure, legend)
    return figure
