"""Report of an analysis: one self-contained HTML file with every figure, table and number.

Nothing is fetched when it is read: figures are inline SVG, style is inline, and the numbers are
embedded as JSON (also written beside it, `report.json`). Figures are drawn by the other files of this folder.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.analysis.compare import SampleStatistics, figure7_residuals, summary
from experiments.analysis.goodness_of_fit import GoodnessOfFit
from experiments.analysis.next_steps import next_steps
from experiments.datatypes import Comparison, Rejected, Response
from experiments.dynamics import Theory, unit_of
from experiments.frequency.response import FrequencyResponse
from experiments.recordings.author_windows import BesideAuthors
from experiments.recordings.published import Figure7
from experiments.reports import complex_plane, eigenvalues, files, frequency_section, loop
from experiments.reports.eigenvalues import Bands, Curve, Series
from experiments.reports.window_pictures import window_picture
from experiments.theory.modes import kicked_modes
from experiments.theory.theory import bicycle_for, theory_for
from experiments.theory.uncertainty_bands import eigenvalue_band
from hil.logs.json_values import plain
from models import catalogue
from models.errors import InputError
from models.linear import modes
from models.parameters import Bicycle

if TYPE_CHECKING:
    from hil.design.schedule import GainSchedule

WINDOWS_SHOWN = 40
CURVE_POINTS = 61
BAND_POINTS = 25
SHARES_SHOWN = 8  # quantities that make a band, by name
GAIN_ROWS = 21
RECORDING_NAMES = {  # kind of response: how the verdict calls it
    "riderless": "Our own recordings",
    "kooijman": "Kooijman et al. 2008",
    "delft-sbw": "Delft steer-by-wire 2024",
}


@dataclass(frozen=True)
class ReportInput:
    """Everything a report can show; whatever is left empty is simply absent from the page."""

    title: str
    responses: Sequence[Response] = ()
    comparisons: Sequence[Comparison] = ()
    rejected: Sequence[Rejected] = ()
    verdicts: Sequence[GoodnessOfFit] = ()  # one for each bicycle
    figure7: Figure7 | None = None  # published measurements, shown with Silver
    hand_cut: Sequence[BesideAuthors] = ()
    frequency: Sequence[FrequencyResponse] = ()  # of the runs that played a torque
    no_frequency: Sequence[str] = ()  # why a run that played one has none
    schedules: Sequence["GainSchedule"] = ()
    timings: Mapping[str, np.ndarray] = field(default_factory=dict)  # label -> TICK rows
    runs: Sequence[Mapping[str, Any]] = ()  # name, state, stop reason, counters (a mapping)
    provenance: Mapping[str, str] = field(default_factory=dict)  # commit, versions, command, seed, ...


@dataclass(frozen=True)
class _Numbered:
    """Comparison with its number on the page and the recording it was cut from."""

    number: int
    comparison: Comparison
    response: Response

    @property
    def worst(self) -> float:
        c = self.comparison
        return float(np.nan_to_num(max(abs(c.z_re), abs(c.z_im)), nan=np.inf))


def write_report(folder: Path, report: ReportInput) -> Path:
    """Write ``report.html`` and ``report.json`` into a folder (made when absent); returns the page.

    Raises
    ------
    InputError
        If a comparison belongs to none of the recordings.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("experiments.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=typeset_number,
        degrees=np.degrees,
        rows=_rows_shown,
        svg=lambda figure, title: Markup(eigenvalues.to_svg(figure, title)),
    )
    windows = _numbered(report)
    shown = _shown(windows)
    panels = _panels(report, windows)
    timing = _timing(report.timings)
    frequency = frequency_section.draw_section(report.frequency, report.no_frequency)
    numbers = json.dumps(plain(_numbers(report, windows, timing)), indent=1, allow_nan=False, ensure_ascii=False)
    page = environment.get_template("report.html").render(
        title=report.title,
        palette=eigenvalues.PALETTE,
        answers=report.verdicts,
        agreements=_agreements(windows),
        panels=panels,
        frequency=frequency,
        remarks=[(r.source, remark) for r in report.responses for remark in r.remarks],
        zip=zip,
        windows=windows,
        shown=shown,
        pictures=[window_picture(w.number, w.response, w.comparison) for w in shown],
        pooled=summary(report.comparisons).pooled,
        hand_cut=report.hand_cut,
        rejected=report.rejected,
        next_steps=next_steps(report.responses, report.comparisons, report.rejected),
        schedules=report.schedules,
        gain_figures=_gain_figures(report.schedules),
        timing=timing,
        runs=report.runs,
        provenance=report.provenance,
        commit=_commit(report),
        stds=eigenvalues.BAR_STDS,
        numbers=Markup(numbers.replace("<", "\\u003c")),
    )
    folder = Path(folder)
    files.make_folder(folder)
    (folder / "report.json").write_text(numbers + "\n", encoding="utf-8")
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    files.save_figures(folder / "figures", {**_files(panels), **frequency.files})
    return path


def typeset_number(value: float, digits: int = 2, sign: bool = False) -> str:
    """Typeset a number for the page: true minus sign, no sign on zero, a dash where there is none."""
    if np.isnan(value):
        return "–"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    if not text.strip("+-0."):
        text = text.lstrip("+-")
    return text.replace("-", "−").replace("inf", "∞")


def _numbered(report: ReportInput) -> list[_Numbered]:
    by_name = {(r.source, r.label or r.source): r for r in report.responses}
    windows = []
    for i, c in enumerate(report.comparisons, start=1):
        response = by_name.get((c.window.source, c.label))
        if response is None:
            raise InputError(
                f"wanted the recording '{c.window.source}' ({c.label}) of window {i} among the responses of "
                "the report, found none; give the report every response that was analysed."
            )
        windows.append(_Numbered(i, c, response))
    return windows


def _agreements(windows: Sequence[_Numbered]) -> list[dict[str, Any]]:
    """One sentence and its summary for each kind of recording, in order of appearance."""
    kinds = dict.fromkeys(w.response.kind for w in windows)
    agreements = []
    for kind in kinds:
        s = summary([w.comparison for w in windows if w.response.kind == kind])
        agreements.append(
            {
                "who": RECORDING_NAMES.get(kind, kind),
                "summary": s,
                "like": (_mean(s.like_re), _mean(s.like_im)),
                "frozen": (_mean(s.frozen_re), _mean(s.frozen_im)),
                "pass": s.fraction >= 0.95,
            }
        )
    return agreements


def _mean(spread: SampleStatistics) -> str:
    """Mean with its 95 % interval, alone where one window gives no scatter."""
    interval = f" ± {typeset_number(eigenvalues.half_width(spread), 3)}" if spread.n > 1 else ""
    return typeset_number(spread.mean, 3, True) + interval


def _panels(report: ReportInput, windows: Sequence[_Numbered]) -> list[dict[str, Any]]:
    """Eigenvalue and residual figure of each bicycle, with the caption that says where from."""
    bicycles = {bicycle_for(w.response).name: bicycle_for(w.response) for w in windows}
    if report.figure7 is not None and "Silver" not in bicycles:
        bicycles["Silver"] = catalogue.load_bicycle("Silver")
    panels = []
    for name, bicycle in bicycles.items():
        own = [w for w in windows if bicycle_for(w.response).name == name]
        published = report.figure7 if name == "Silver" else None
        speeds = _speeds(own, published)
        series = _series(own, speeds)
        panel: dict[str, Any] = {
            "bicycle": name,
            "eigenvalues": eigenvalues.eigenvalue_figure(series, _open_loop_curves(bicycle, speeds, series), published),
            "residuals": eigenvalues.residual_figure(series) if own else None,
            "plane": complex_plane.plane_figure(series) if own else None,
            "shares": _shares(own),
            "origin": _origin(own, _commit(report)),
            "figure7": figure7_residuals(published) if published is not None else None,
        }
        panels.append(panel)
    return panels


def _speeds(windows: Sequence[_Numbered], figure7: Figure7 | None) -> np.ndarray:
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
    if all(one.label != "open loop" for one in series):
        curves.insert(0, Curve("weave without control", speeds, followed.weave_oscillation))
    return curves


def _series(windows: Sequence[_Numbered], speeds: np.ndarray) -> list[Series]:
    """Group the windows by what theory says moves in them."""
    groups: dict[str, tuple[Theory, list[Comparison]]] = {}
    for w in windows:
        theory = theory_for(w.response)
        groups.setdefault(theory.name, (theory, []))[1].append(w.comparison)
    series = []
    for name in sorted(groups, key=lambda name: (name != "open loop", name)):
        theory, comparisons = groups[name]
        curve = Curve(name, speeds, kicked_modes(theory.dynamics(), speeds))
        series.append(Series(name, comparisons, curve, _bands(theory, speeds)))
    return series


def _bands(theory: Theory, speeds: np.ndarray) -> Bands | None:
    """Band of the predicted oscillation, where theory says how uncertain its quantities are."""
    if not theory.uncertain:
        return None
    found = [eigenvalue_band(theory, float(v)) for v in np.linspace(speeds[0], speeds[-1], BAND_POINTS)]
    found = [one for one in found if np.isfinite(one.mode)]
    std = np.array([complex(one.re_std, one.im_std) for one in found])
    return Bands(np.array([one.v for one in found]), np.array([one.mode for one in found]), std)


def _shares(windows: Sequence[_Numbered]) -> dict[str, Any] | None:
    """Contributions to the band of the first theory with one, at the middle of the measured speeds."""
    for w in windows:
        theory = theory_for(w.response)
        if theory.uncertain:
            v = float(np.median([one.comparison.window.v_mean for one in windows]))
            found = eigenvalue_band(theory, v)
            return {"theory": theory.name, "band": found, "shares": found.contributions[:SHARES_SHOWN], "unit": unit_of}
    return None


def _files(panels: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Figures worth printing, by the name of their file."""
    kinds = ("eigenvalues", "residuals", "plane")
    named = {f"{panel['bicycle']}-{kind}": panel[kind] for panel in panels for kind in kinds}
    return {name: figure for name, figure in named.items() if figure is not None}


def _shown(windows: Sequence[_Numbered]) -> list[_Numbered]:
    """Windows whose signal is drawn: all, or those that agree least, in their order."""
    worst = sorted(windows, key=lambda w: w.worst, reverse=True)[:WINDOWS_SHOWN]
    return sorted(worst, key=lambda w: w.number)


def _origin(windows: Sequence[_Numbered], commit: str) -> str:
    """Run, window and commit of a figure, in words."""
    if not windows:
        return f"Commit {commit}"
    sources = list(dict.fromkeys(w.comparison.window.source for w in windows))
    named = ", ".join(sources[:3]) + (f" and {len(sources) - 3} more" if len(sources) > 3 else "")
    return f"{_ranges([w.number for w in windows])} from {named}; commit {commit}"


def _ranges(numbers: Sequence[int]) -> str:
    """Window numbers in words: [1, 2, 3, 7] -> "Windows 1–3, 7"."""
    runs: list[list[int]] = []
    for i in numbers:
        if runs and i == runs[-1][-1] + 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    parts = [f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs]
    return ("Window " if len(numbers) == 1 else "Windows ") + ", ".join(parts)


def _commit(report: ReportInput) -> str:
    return report.provenance.get("commit") or "unknown"


def _gain_figures(schedules: Sequence["GainSchedule"]) -> dict[str, Any]:
    """One figure of gains for each bicycle."""
    by_bicycle: dict[str, list[GainSchedule]] = {}
    for schedule in schedules:
        by_bicycle.setdefault(schedule.bicycle.name, []).append(schedule)
    return {name: loop.gain_figure(own) for name, own in by_bicycle.items()}


def _rows_shown(schedule: "GainSchedule") -> list[int]:
    """Rows of a schedule's table: all, or an even choice with both ends."""
    return sorted({round(i) for i in np.linspace(0, len(schedule.v) - 1, min(len(schedule.v), GAIN_ROWS))})


def _timing(timings: Mapping[str, np.ndarray]) -> dict[str, Any] | None:
    columns = {
        label: (ticks["t_host"] - ticks["t_due"], ticks["compute"]) for label, ticks in timings.items() if len(ticks)
    }
    if not columns:
        return None
    rows = [
        {
            "label": label,
            "n": len(lateness),
            "lateness": _percentiles(lateness),
            "compute": _percentiles(compute),
        }
        for label, (lateness, compute) in columns.items()
    ]
    return {"rows": rows, "figure": loop.timing_figure(columns)}


def _percentiles(seconds: np.ndarray) -> list[float]:
    """50th and 99th percentile and maximum [us]."""
    return [float(x) for x in 1e6 * np.percentile(seconds, (50, 99, 100))]


def _numbers(report: ReportInput, windows: Sequence[_Numbered], timing: dict[str, Any] | None) -> dict[str, Any]:
    """Every number of the page."""
    return {
        "title": report.title,
        "summary": {
            RECORDING_NAMES.get(kind, kind): summary(
                [w.comparison for w in windows if w.response.kind == kind]
            ).as_json()
            for kind in dict.fromkeys(w.response.kind for w in windows)
        },
        "verdicts": [verdict.as_json() for verdict in report.verdicts],
        "windows": [_window_numbers(w) for w in windows],
        "rejected": report.rejected,
        "frequency_responses": frequency_section.frequency_numbers(report.frequency),
        "figure7": figure7_residuals(report.figure7) if report.figure7 is not None else None,
        "schedules": report.schedules,
        "timing_us": timing["rows"] if timing else [],
        "runs": report.runs,
        "provenance": report.provenance,
    }


def _window_numbers(w: _Numbered) -> dict[str, Any]:
    c = w.comparison
    return {
        "number": w.number,
        "label": c.label,
        "bicycle": bicycle_for(w.response).name,
        "window": c.window,
        "n": c.window.stop - c.window.start,
        "re": c.fit.re,
        "im": c.fit.im,
        "re_std": c.fit.re_std,
        "im_std": c.fit.im_std,
        "r2": c.fit.r2,
        "estimator": c.fit.estimator,
        "status": c.fit.status,
        "prediction": c.prediction,
        "z_re": c.z_re,
        "z_im": c.z_im,
        "agrees": c.agrees,
    }
