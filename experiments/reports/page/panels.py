"""Figures of each bicycle on the page.

Eigenvalues over speed, residuals, complex plane, and what makes the bands.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.analysis.comparison.compare import figure7_residuals
from riderless.experiments.datatypes import Comparison
from riderless.experiments.dynamics import SAMPLED_LOOP, Theory, value_unit
from riderless.experiments.recordings.published import Figure7
from riderless.experiments.reports import eigenvalues
from riderless.experiments.reports.eigenvalues import Bands, Curve, Series
from riderless.experiments.reports.page.numbered import NumberedWindow, origin_text
from riderless.experiments.theory.modes import kicked_modes
from riderless.experiments.theory.uncertainty_bands import eigenvalue_band
from riderless.models import catalogue
from riderless.models.linear import modes
from riderless.models.parameters import Bicycle

CURVE_POINTS = 61
BAND_POINTS = 25
_SAME_CURVE = 0.03  # of an eigenvalue; between two points of a curve lies less
SHARES_SHOWN = 8  # quantities that make a band, by name


def bicycle_panels(windows: Sequence[NumberedWindow], figure7: Figure7 | None) -> list[dict[str, Any]]:
    """Draw eigenvalues, residuals and complex plane of each bicycle, with what their captions say."""
    bicycles = {w.response.own_bicycle.name: w.response.own_bicycle for w in windows}
    if figure7 is not None and "Silver" not in bicycles:
        bicycles["Silver"] = catalogue.load_bicycle("Silver")
    panels = []
    for name, bicycle in bicycles.items():
        own = [w for w in windows if w.response.own_bicycle.name == name]
        published = figure7 if name == "Silver" else None
        speeds = _speeds(own, published)
        groups = _predicted(own, speeds)
        series = _series(groups, speeds)
        others = _open_loop_curves(bicycle, speeds, series)
        panel: dict[str, Any] = {
            "bicycle": name,
            "eigenvalues": eigenvalues.eigenvalue_figure(series, others, published),
            "residuals": eigenvalues.residual_figure(series) if own else None,
            "plane": eigenvalues.plane_figure(series) if own else None,
            "shares": _shares(groups),
            "origin": origin_text(own),
            "figure7": figure7_residuals(published) if published is not None else None,
            "curves": [*(group.curve for group in series if group.curve is not None), *others],
        }
        panels.append(panel)
    return panels


def eigenvalue_curves(bicycle: Bicycle, windows: Sequence[NumberedWindow]) -> tuple[list[Series], list[Curve]]:
    """Windows of a bicycle with the curves that predict them, and those of the bicycle without control."""
    speeds = _speeds(windows, None)
    series = _series(_predicted(windows, speeds), speeds)
    return series, _open_loop_curves(bicycle, speeds, series)


def curve_numbers(panels: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Collect the predicted curves over speed of all panels [m/s, 1/s]; those of k modes as k curves."""
    return [
        {"bicycle": panel["bicycle"], "label": curve.label, "v": curve.v, "re": column.real, "im": column.imag}
        for panel in panels
        for curve in panel["curves"]
        for column in np.atleast_2d(curve.values.T)
    ]


def _speeds(windows: Sequence[NumberedWindow], figure7: Figure7 | None) -> np.ndarray:
    """Speed grid of the curves [m/s]: what was measured, with a metre per second around it."""
    v = [w.comparison.window.v_mean for w in windows]
    if figure7 is not None:
        v += [*figure7.v_start, *figure7.v_end]
    return np.linspace(max(0.0, min(v) - 1.0), max(v) + 1.0, CURVE_POINTS)


def _open_loop_curves(bicycle: Bicycle, speeds: np.ndarray, series: Sequence[Series]) -> list[Curve]:
    """Weave (unless measured, then it is drawn already) and capsize without control."""
    followed = modes.named_modes(bicycle, speeds)
    capsize = np.full(len(speeds), complex(np.nan, np.nan))  # no imaginary part to draw
    capsize.real = np.where(followed.capsize.imag == 0.0, followed.capsize.real, np.nan)
    curves = [Curve("capsize without control", speeds, capsize)]
    if all(group.label != "open loop" for group in series):
        curves.insert(0, Curve("weave without control", speeds, followed.weave_oscillation))
    return curves


class _Predicted(NamedTuple):
    """Windows whose motion one curve of theory predicts."""

    name: str  # of the theory, with its controller where several share it
    theory: Theory
    curve: Curve
    comparisons: list[Comparison]


def _predicted(windows: Sequence[NumberedWindow], speeds: np.ndarray) -> list[_Predicted]:
    """Group the windows by what theory says moves in them, and by the curve that predicts them."""
    groups: list[_Predicted] = []
    for w in windows:
        theory, comparison = w.response.own_theory, w.comparison
        own = (group for group in groups if group.name == theory.name and _lies_on(group.curve, comparison))
        group = next(own, None)
        if group is None:
            curve = Curve(theory.name, speeds, kicked_modes(theory.dynamics(), speeds))
            group = _Predicted(theory.name, theory, curve, [])
            groups.append(group)
        group.comparisons.append(comparison)
    groups.sort(key=lambda group: (group.name != "open loop", group.name))
    names = [group.name for group in groups]
    return [
        group._replace(name=f"{group.name}: {_controller(group.comparisons[0])}")
        if names.count(group.name) > 1
        else group
        for group in groups
    ]


def _series(groups: Sequence[_Predicted], speeds: np.ndarray) -> list[Series]:
    """Curves with their bands and windows, as the figures draw them."""
    series = []
    for group in groups:
        name = group.name.removeprefix(SAMPLED_LOOP)  # that of every controller
        curve = replace(group.curve, label=name)
        series.append(Series(name, group.comparisons, curve, _bands(group.theory, speeds)))
    return series


def _lies_on(curve: Curve, comparison: Comparison) -> bool:
    """True if the eigenvalue predicted for a window is on the curve: gains of other weights have another one."""
    modes_at = [_between(column, curve.v, comparison.window.v_mean) for column in np.atleast_2d(curve.values.T)]
    frozen = comparison.prediction.frozen
    near = [abs(mode - frozen) for mode in modes_at if np.isfinite(mode)]
    return not near or not np.isfinite(frozen) or min(near) < _SAME_CURVE * abs(frozen)


def _between(values: np.ndarray, v: np.ndarray, wanted: float) -> complex:
    """Value of a curve between its points."""
    return complex(np.interp(wanted, v, values.real), np.interp(wanted, v, values.imag))


def _controller(comparison: Comparison) -> str:
    """Name of the controller in the label of a condition, "Silver firm lane 6.2 m/s"; the whole label of another."""
    match = re.match(r"\S+ (.+?) [\d.]+ m/s", comparison.label)
    return match[1] if match else comparison.label


def _bands(theory: Theory, speeds: np.ndarray) -> Bands | None:
    """Band of the predicted oscillation, where theory says how uncertain its quantities are."""
    if not theory.uncertain:
        return None
    bands = [eigenvalue_band(theory, float(v)) for v in np.linspace(speeds[0], speeds[-1], BAND_POINTS)]
    bands = [band for band in bands if np.isfinite(band.mode)]
    std = np.array([complex(band.re_std, band.im_std) for band in bands])
    return Bands(np.array([band.v for band in bands]), np.array([band.mode for band in bands]), std)


def _shares(groups: Sequence[_Predicted]) -> list[dict[str, Any]]:
    """Contributions to the band of each theory that has one, at the middle of the speeds measured under it."""
    contributions = []
    for group in groups:
        if group.theory.uncertain:
            v = float(np.median([comparison.window.v_mean for comparison in group.comparisons]))
            band = eigenvalue_band(group.theory, v)
            shares = band.contributions[:SHARES_SHOWN]
            contributions.append({"theory": group.name, "band": band, "shares": shares, "unit": value_unit})
    return contributions


def panel_files(panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures worth printing, by the name of their file."""
    kinds = ("eigenvalues", "residuals", "plane")
    named = {f"{panel['bicycle']}-{kind}": panel[kind] for panel in panels for kind in kinds}
    return {name: figure for name, figure in named.items() if figure is not None}
