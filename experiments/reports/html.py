"""Report of an analysis as one HTML file.

It is self-contained, with every figure, table and number. Nothing is fetched when it is read: figures are inline SVG,
style is inline, and the numbers are embedded as JSON (also written beside it, `report.json`). Figures are drawn by the
other files of this folder.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riderless.experiments.analysis.comparison.compare import SampleStatistics, Summary, figure7_residuals, summary
from riderless.experiments.analysis.frequency_response.goodness_of_fit import response_document
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse
from riderless.experiments.analysis.verdict.goodness_of_fit import GoodnessOfFit
from riderless.experiments.analysis.verdict.next_steps import next_steps
from riderless.experiments.datatypes import AGREEMENT, Comparison, Rejected, Response
from riderless.experiments.recordings.author_windows import BesideAuthors
from riderless.experiments.recordings.published import Figure7
from riderless.experiments.reports import eigenvalues, files, loop
from riderless.experiments.reports.analysis_text import remarks_of
from riderless.experiments.reports.answer import Answer, answer_of
from riderless.experiments.reports.page import frequency_section
from riderless.experiments.reports.page.course_section import CourseSection, ForeseenSection
from riderless.experiments.reports.page.numbered import NumberedWindow, least_agreeing, origin_text
from riderless.experiments.reports.page.panels import bicycle_panels, curve_numbers, panel_files
from riderless.experiments.reports.page.recordings import parameter_rows, recording_pictures, rejected_by_reason
from riderless.experiments.reports.page.window_pictures import window_picture
from riderless.hil.logs.json_values import plain
from riderless.hil.output_file import OutputFile
from riderless.models.harmless_text import harmless

if TYPE_CHECKING:
    from jinja2 import Environment

    from riderless.hil.design.schedule import GainSchedule

_logger = logging.getLogger("riderless.experiments")
WINDOWS_SHOWN = 40
WINDOWS_PRINTED = 12  # of those, on paper
COMMIT_DIGITS = 10  # of a commit where it is only named; the provenance has it whole
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
    course: CourseSection | None = None  # of an experiment that ran itself
    foreseen: Sequence[ForeseenSection] = ()  # what a campaign was said to see before it was run
    missing: str = ""  # which runs of a campaign are missing and why
    schedules: Sequence["GainSchedule"] = ()
    timings: Mapping[str, np.ndarray] = field(default_factory=dict)  # label -> TICK rows
    runs: Sequence[Mapping[str, Any]] = ()  # name, state, stop reason, counters (a mapping)
    unanalysed: Sequence[Response] = ()  # recordings that are only drawn over time
    provenance: Mapping[str, str] = field(default_factory=dict)  # commit, versions, command, seed, ...


def write_report(folder: Path, report: ReportInput, force: bool = False) -> Path:
    """Write ``report.html`` and ``report.json`` into a folder (made when absent); returns the page.

    An older report there is replaced, something else of these names only with ``force``.

    Raises
    ------
    InputError
        A comparison belongs to none of the recordings, or the folder has other files of these names.
    """
    folder = Path(folder)
    files.require_report_place(folder, force)
    parts = _parts_of(report)
    numbers = _numbers_text(report, parts)
    page = _environment().get_template("report.html").render(**_page_fields(report, parts, numbers))
    path = folder / files.REPORT_PAGE
    course = report.course.files if report.course else {}
    figures = {**panel_files(parts.panels), **parts.frequency.files, **course}
    with files.whole_or_gone(folder):
        files.make_folder(folder)
        OutputFile(folder / files.REPORT_NUMBERS, "the report", force=True).write(numbers + "\n")
        OutputFile(path, "the report", force=True).write(page)
        files.save_figures(folder / files.REPORT_FIGURES, figures, _about(report, parts))
    _logger.info("wrote the report %s", path)
    return path


@dataclass(frozen=True)
class _Parts:
    """Parts that page and numbers share, computed and drawn once."""

    windows: Sequence[NumberedWindow]
    panels: Sequence[Any]
    timing: dict[str, Any] | None
    frequency: frequency_section.FrequencySection
    answer: Answer
    recordings: Sequence[Any]


def _parts_of(report: ReportInput) -> _Parts:
    windows = [NumberedWindow(i, c) for i, c in enumerate(report.comparisons, start=1)]
    responses = (*report.responses, *report.unanalysed)
    return _Parts(
        windows=windows,
        panels=bicycle_panels(windows, report.figure7),
        timing=_timing(report.timings),
        frequency=frequency_section.draw_section(report.frequency, report.no_frequency),
        answer=answer_of(report.verdicts, report.responses, report.comparisons, report.frequency, report.missing),
        recordings=recording_pictures(responses, windows, report.rejected, report.runs),
    )


def _about(report: ReportInput, parts: _Parts) -> str:
    """Title, windows, and commit and version of the program: what a figure tells where it stands alone."""
    program = [f"{name} {report.provenance[name]}" for name in ("commit", "riderless") if report.provenance.get(name)]
    return "; ".join(part for part in (report.title, origin_text(parts.windows), *program) if part)


@cache
def _environment() -> "Environment":
    """Environment of the templates, which are compiled once: what a name holds is text, and never markup."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("riderless.experiments.reports"),
        autoescape=True,
        finalize=lambda value: harmless(value, keep="\n") if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=typeset_number,
        degrees=np.degrees,
        rows=_rows_shown,
        said=frequency_section.FrequencySection.said,
        svg=lambda figure, title: Markup(eigenvalues.to_svg(figure, title)),
    )
    return environment


def _page_fields(report: ReportInput, parts: _Parts, numbers: str) -> dict[str, Any]:
    """Everything the template of the page asks for, by its name there."""
    from markupsafe import Markup

    windows = parts.windows
    shown = least_agreeing(windows, WINDOWS_SHOWN)
    drawn = {recording.response.source for recording in parts.recordings}
    bicycles = list({r.own_bicycle.name: r.own_bicycle for r in report.responses}.values()) if windows else []
    return {
        "title": report.title,
        "palette": eigenvalues.PALETTE,
        "contents": _contents(report, parts),
        "answer": parts.answer,
        "verdicts": report.verdicts,
        "residuals": _residuals(windows),
        "panels": parts.panels,
        "frequency": parts.frequency,
        "course": report.course,
        "foreseen": report.foreseen,
        "remarks": remarks_of(report.responses),
        "zip": zip,
        "windows": windows,
        "shown": shown,
        "printed": least_agreeing(shown, WINDOWS_PRINTED),
        "pictures": [window_picture(w.number, w.response, w.comparison) for w in shown],
        "pooled": summary(report.comparisons).pooled,
        "hand_cut": report.hand_cut,
        "rejected": rejected_by_reason(report.rejected),
        "next_steps": next_steps(report.responses, report.comparisons, report.rejected),
        "schedules": report.schedules,
        "gain_figures": _gain_figures(report.schedules),
        "timing": parts.timing,
        "recordings": parts.recordings,
        "recordings_in_all": len(report.responses) + len(report.unanalysed),
        "runs": [run for run in report.runs if run["name"] not in drawn],
        "bicycles": bicycles,
        "parameters": parameter_rows(bicycles),
        "provenance": report.provenance,
        "commit": (report.provenance.get("commit") or "unknown")[:COMMIT_DIGITS],
        "made": report.provenance.get("made", ""),
        "stds": eigenvalues.BAR_STDS,
        "agreement": AGREEMENT,
        "numbers": Markup(numbers.replace("<", "\\u003c")),
    }


def _numbers_text(report: ReportInput, parts: _Parts) -> str:
    """Every number of the page, as JSON."""
    numbers = _numbers(report, parts) | {"curves": curve_numbers(parts.panels)}
    return harmless(json.dumps(plain(numbers), indent=1, allow_nan=False, ensure_ascii=False), keep="\n")


def typeset_number(value: float, digits: int = 2, sign: bool = False) -> str:
    """Typeset a number for the page: true minus sign, no sign on zero, a dash where there is none."""
    if np.isnan(value):
        return "–"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    if not text.strip("+-0."):
        text = text.lstrip("+-")
    return text.replace("-", "−").replace("inf", "∞")


def _residuals(windows: Sequence[NumberedWindow]) -> list[dict[str, Any]]:
    """Mean residuals of each kind of recording, in order of appearance."""
    return [
        {
            "who": who,
            "summary": s,
            "like": (_mean(s.like_re), _mean(s.like_im)),
            "frozen": (_mean(s.frozen_re), _mean(s.frozen_im)),
        }
        for who, s in _summaries(windows).items()
    ]


def _summaries(windows: Sequence[NumberedWindow]) -> dict[str, Summary]:
    """Summary of each kind of recording, by its name on the page, in order of appearance."""
    kinds = dict.fromkeys(w.response.kind for w in windows)
    return {
        RECORDING_NAMES.get(kind, kind): summary([w.comparison for w in windows if w.response.kind == kind])
        for kind in kinds
    }


def _mean(spread: SampleStatistics) -> str:
    """Mean with its 95 % interval, alone where one window gives no scatter."""
    interval = f" ± {typeset_number(eigenvalues.half_width(spread), 3)}" if spread.n > 1 else ""
    return typeset_number(spread.mean, 3, True) + interval


def _contents(report: ReportInput, parts: _Parts) -> list[tuple[str, str]]:
    """List the sections that the page has, each with its place, in order."""
    sections = [(f"bicycle-{i}", panel["bicycle"], True) for i, panel in enumerate(parts.panels, start=1)]
    sections += [
        ("course", "What was chosen, and why", report.course is not None),
        ("foreseen", "What was to be seen", bool(report.foreseen)),
        ("frequency", "Frequency responses", bool(parts.frequency.rows or parts.frequency.unusable)),
        ("conditions", "Conditions", bool(parts.windows)),
        ("hand-cut", "Beside the windows cut by hand", bool(report.hand_cut)),
        ("symbols", "Symbols and bicycles", bool(parts.windows)),
        ("recordings", "Recordings over time", bool(parts.recordings)),
        ("windows", "Windows", bool(parts.windows)),
        ("remarks", "Remarks on the recordings", any(r.remarks for r in report.responses)),
        ("rejected", "Rejected", bool(report.rejected)),
        ("gains", "Gains and margins", bool(report.schedules)),
        ("timing", "Loop timing", parts.timing is not None),
        ("provenance", "Where the numbers came from", True),
    ]
    return [(place, name) for place, name, there in sections if there]


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
        {"label": label, "n": len(lateness), "lateness": _percentiles(lateness), "compute": _percentiles(compute)}
        for label, (lateness, compute) in columns.items()
    ]
    return {"rows": rows, "figure": loop.timing_figure(columns)}


def _percentiles(seconds: np.ndarray) -> list[float]:
    """50th and 99th percentile and maximum [us]."""
    return [float(x) for x in 1e6 * np.percentile(seconds, (50, 99, 100))]


def _numbers(report: ReportInput, parts: _Parts) -> dict[str, Any]:
    windows, timing = parts.windows, parts.timing
    return {
        "title": report.title,
        "answer": parts.answer.as_json(),
        "summary": {who: pooled.as_json() for who, pooled in _summaries(windows).items()},
        "verdicts": [verdict.as_json() for verdict in report.verdicts],
        "windows": [_window_numbers(w) for w in windows],
        "rejected": report.rejected,
        "frequency_responses": [response_document(response) for response in report.frequency],
        **({"course": report.course.numbers} if report.course else {}),
        **({"foreseen": [asdict(size) for size in report.foreseen]} if report.foreseen else {}),
        "figure7": figure7_residuals(report.figure7) if report.figure7 is not None else None,
        "schedules": report.schedules,
        "timing_us": timing["rows"] if timing else [],
        "runs": report.runs,
        "provenance": report.provenance,
    }


def _window_numbers(w: NumberedWindow) -> dict[str, Any]:
    c = w.comparison
    return {
        "number": w.number,
        "label": c.label,
        "condition": c.condition,
        "bicycle": w.response.own_bicycle.name,
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
