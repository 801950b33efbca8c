"""Recordings on the page.

Each has its picture over time, how it ended, and its bicycle's parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riderless.experiments.datatypes import Rejected, Response
from riderless.experiments.reports.page.numbered import NumberedWindow
from riderless.experiments.reports.timeline.figure import timeline_figure
from riderless.experiments.reports.timeline.recorded import states_text, timeline_of
from riderless.models.parameters import PARAMETERS, Bicycle

RECORDINGS_DRAWN = 40


@dataclass(frozen=True, eq=False)
class _RecordingPicture:
    """One recording over time."""

    response: Response
    figure: Any  # of matplotlib
    states: str
    run: Mapping[str, Any] | None  # how a run of ours ended


def recording_pictures(
    responses: Sequence[Response],
    windows: Sequence[NumberedWindow],
    rejected: Sequence[Rejected],
    runs: Sequence[Mapping[str, Any]],
) -> list[_RecordingPicture]:
    """Draw the recordings over time, the first `RECORDINGS_DRAWN` of many.

    Parameters
    ----------
    responses : sequence of Response
        The recordings.
    windows : sequence of NumberedWindow
        Of any of them.
    rejected : sequence of Rejected
        Parts of any of them.
    runs : sequence of mappings
        How our own runs ended: name, state, stop_reason, counters.
    """
    ended = {run["name"]: run for run in runs}
    numbered = [(w.number, w.comparison) for w in windows]
    pictures = []
    for response in responses[:RECORDINGS_DRAWN]:
        timeline = timeline_of(response, numbered, rejected)
        response.release_memory()  # a search for kicks has looked at all of it
        figure = timeline_figure(timeline, compact=True)
        pictures.append(_RecordingPicture(response, figure, states_text(response.states), ended.get(response.source)))
        response.release_memory()
    return pictures


def rejected_by_reason(rejected: Sequence[Rejected]) -> dict[str, dict[str, list[Rejected]]]:
    """Group rejected parts by reason (what it says after a semicolon left out), and within one by recording."""
    grouped: dict[str, dict[str, list[Rejected]]] = {}
    for part in rejected:
        reason = part.reason.partition(";")[0]
        grouped.setdefault(reason, {}).setdefault(part.source, []).append(part)
    return grouped


def parameter_rows(bicycles: Sequence[Bicycle]) -> list[dict[str, Any]]:
    """Symbol, meaning and unit of each parameter, with its value and standard deviation (or None) in each bicycle."""
    return [
        {
            "symbol": name,
            "meaning": meaning,
            "unit": unit,
            "values": [(getattr(bicycle, name), bicycle.std.get(name)) for bicycle in bicycles],
        }
        for name, (unit, meaning) in PARAMETERS.items()
    ]
