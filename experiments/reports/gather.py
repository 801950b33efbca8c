"""Content of a report, gathered.

Analysis, gains, timing, stop reasons and the provenance of all of it.
"""

import shlex
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from riderless.experiments.analysis.analyze import Analysis
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.author_windows import BesideAuthors
from riderless.experiments.recordings.published import Figure7, figure7
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.recordings.runs import run_of
from riderless.experiments.reports.html import ReportInput, write_report
from riderless.experiments.reports.page.course_section import CourseSection, ForeseenSection
from riderless.hil.design.schedule import GainSchedule
from riderless.hil.logs.log import Run
from riderless.hil.logs.provenance import provenance
from riderless.hil.loop.states import State
from riderless.hil.loop.tick_record import COUNTERS
from riderless.hil.runners.operator import Outcome
from riderless.models.errors import InputError


def report_on(
    folder: Path,
    title: str,
    analysis: Analysis,
    runs: Sequence[Path | Run] = (),
    published: Figure7 | None = None,
    hand_cut: Sequence[BesideAuthors] = (),
    frequency: Sequence[FrequencyResponse] = (),
    no_frequency: Sequence[str] = (),
    force: bool = False,
    course: CourseSection | None = None,
    foreseen: Sequence[ForeseenSection] = (),
    missing: str = "",
) -> Path:
    """Write the report of an analysis, with gains, timing and faults of our own runs; returns its page.

    The published measurements of the Silver bicycle are shown whenever it appears.

    Parameters
    ----------
    folder : Path
        Made when absent.
    title : str
        Heading of the page.
    analysis : Analysis
        Windows, fits and comparisons.
    runs : sequence of Path or Run
        Our own runs, whether windows were found in them or not.
    published : Figure7, optional
        Published measurements instead of those of Kooijman, Schwab and Meijaard (2008).
    hand_cut : sequence of BesideAuthors
        Automatic windows beside those cut by hand.
    frequency : sequence of FrequencyResponse
        Of the runs that played a torque.
    no_frequency : sequence of str
        Why a run that played one has no frequency response.
    force : bool
        The report may take the place of other files than those of an older report.
    course : CourseSection, optional
        What an experiment that ran itself chose, and why.
    foreseen : sequence of ForeseenSection
        What a campaign was said to see before it was run.
    missing : str
        Which of its runs are missing and why.
    """
    logs = [run if isinstance(run, Run) else run_of(run) for run in runs]
    schedules = {}
    for log in logs:
        key = (log.header.bicycle.name, log.header.controller)
        if key not in schedules and isinstance(made := log.header.schedule, GainSchedule) and not made.is_off:
            schedules[key] = made  # another kind of controller has no gains to draw
    origin = provenance()
    bicycles = {response.bicycle.name for response in analysis.responses if response.bicycle}
    return write_report(
        folder,
        ReportInput(
            title=title,
            responses=analysis.responses,
            comparisons=analysis.comparisons,
            rejected=analysis.rejected,
            verdicts=analysis.verdicts,
            figure7=published or (figure7() if "Silver" in bicycles else None),
            hand_cut=hand_cut,
            frequency=frequency,
            no_frequency=no_frequency,
            course=course,
            foreseen=foreseen,
            missing=missing,
            schedules=tuple(schedules.values()),
            timings={log.folder.name: log.ticks for log in logs if log.header.time == "real"},
            runs=[_run_row(log) for log in logs],
            unanalysed=_unanalysed(logs, {response.source for response in analysis.responses}),
            provenance={
                "made": origin["utc"][:16].replace("T", " ") + " UTC",
                "command": shlex.join(["riderless", *origin["command"][1:]]),
                "commit": origin["git"]["commit"] + (" with changes" if origin["git"]["dirty"] else ""),
                "python": origin["python"],
                **{name: str(version) for name, version in origin["packages"].items()},
            },
        ),
        force,
    )


def _unanalysed(logs: Sequence[Run], known: Collection[str]) -> list[Response]:
    """Read the runs that were not analysed, those that hold samples: the report draws them over time as well."""
    responses = []
    for log in logs:
        if log.folder.name not in known:
            with suppress(InputError):
                responses.append(response_of_run(log))
    return responses


def _run_row(log: Run) -> dict:
    last = log.ticks[-1] if len(log.ticks) else None
    return {
        "name": log.folder.name,
        "state": State(int(last["state"])).name if last is not None else "no rows",
        "stop_reason": f"{log.stop.reason}: {log.stop.cause}",
        "ended_by": Outcome.of_run(log).ended_by,
        "counters": {name: int(last[name]) for name in COUNTERS} if last is not None else {},
    }
