"""Analysis of recordings, as `riderless analyze` does.

Recordings of any kind, from files, folders or memory.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.analysis.analyze import analyze_responses, require_estimator
from riderless.experiments.analysis.frequency_response.recordings import add_recorded
from riderless.experiments.analysis.frequency_response.response import FrequencyResponse, add_response
from riderless.experiments.analysis.windows.grouping import ROWS_LOOKED_AT, own_sources, tell_apart
from riderless.experiments.analysis.windows.notes import attach_notes
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings import author_windows, published
from riderless.experiments.recordings.quality.inspection import inspect_in_memory
from riderless.experiments.recordings.read import (
    find_recordings,
    is_run,
    read_named_run,
    read_recording,
    refuse_unused,
    with_left_out,
)
from riderless.experiments.recordings.run_response import response_of_run
from riderless.experiments.reports.result import AnalysisResult
from riderless.hil.logs.log import RUN_FILE, Run
from riderless.models.errors import InputError
from riderless.models.parameters import Bicycle

Source = str | Path | Run | Response
Progress = Callable[[int, int, str], None]
MANY_WINDOWS = 100  # of one recording, which take seconds


@dataclass
class _Gathered:
    """Recordings read so far, in the order of the sources."""

    responses: list[Response] = field(default_factory=list)
    controllers: list[str] = field(default_factory=list)  # of each response, the same text for the same controller
    paths: list[Path | None] = field(default_factory=list)  # of each response, None where it was in memory
    runs: list[Run | Path] = field(default_factory=list)
    frequency: list[FrequencyResponse] = field(default_factory=list)
    no_frequency: list[str] = field(default_factory=list)
    tables: list[Path] = field(default_factory=list)  # of published eigenvalues
    foreign: int = 0  # files of others read
    made: int = 0  # responses that a program made
    read: set[Path] = field(default_factory=set)  # files, however they were named
    shown: dict[tuple[int, bytes], Path] = field(default_factory=dict)  # where a lean rate was read that looks so

    def require_new(self, path: Path) -> None:
        """Refuse a recording that was read before: its windows would count twice. Raises InputError."""
        file = Path(os.path.realpath(path / RUN_FILE if path.is_dir() else path))
        if file in self.read:
            raise InputError(f"{path} is named twice, and its windows would count twice: name it once")
        self.read.add(file)

    def add(self, response: Response, path: Path | None, controller: str) -> None:
        """Take a recording; refuse one that is there already, by another name. Raises InputError."""
        if path is not None:
            every = max(1, len(response.t) // ROWS_LOOKED_AT)
            shown = (len(response.t), np.round(response.phi_dot[::every], 6).tobytes())
            if other := self.shown.get(shown):
                raise InputError(
                    f"{path} holds the same recording as {other}, and its windows would count twice: leave one out"
                )
            self.shown[shown] = path
        self.responses.append(response)
        self.paths.append(path)
        self.controllers.append(controller)

    def add_recorded(self, response: Response, path: Path | None) -> None:
        """Take a recording, with its frequency response if a known torque was added to the controller's."""
        self.add(response, path, response.theory.name if response.theory else "")
        add_recorded(response, self.frequency, self.no_frequency)

    def add_run(self, run: Run, path: Path | None, progress: Progress) -> None:
        """Take a run of ours, with its frequency response if it played a torque."""
        response = response_of_run(run, lambda done, total: progress(done, total, f"reading {run.folder.name}"))
        self.add(response, path, str(run.header.content.get("schedule", "")))
        self.runs.append(path or run)
        add_response(run, self.frequency, self.no_frequency)


def analyze(
    sources: Source | Sequence[Source],
    *,
    mapping: str | Path = "",
    preset: str = "",
    bicycle: str | Path | Bicycle = "",
    trust: bool = False,
    notes: str | Path | None = None,
    window: tuple[float, float] | None = None,
    estimator: str | None = None,
    on_progress: Progress = lambda done, total, source: None,
) -> AnalysisResult:
    """Find free responses in recordings, fit their eigenvalues and compare them with theory.

    Runs that played a torque are compared by their frequency responses as well. Tables of eigenvalues
    (v_start, v_end, re, im) are compared with the Silver bicycle; windows that the authors of a data set cut by hand
    and left beside it are shown beside the automatic ones.

    Parameters
    ----------
    sources : Run, Response, path, or a sequence of these
        Run folders, folders of runs, others' files (CSV, MAT, HDF5, Parquet, MCAP, bags of ROS, ULog, MF4), or what
        is in memory.
    mapping : str or Path
        TOML file that says which column of others' files is what, or a shipped one's name.
    preset : str
        Kind of the files: kooijman, delft-sbw, riderless-table, chalmers or peterson; recognised by their columns if
        empty.
    bicycle : str, Path or Bicycle
        With a mapping, or logs that name none: a name of the catalogue, a TOML file, or the bicycle itself.
    trust : bool
        Analyse also where physics contradicts a unit or a sign.
    notes : str, Path or None
        File of vetoes and moves of windows; by default windows.txt beside the recordings.
    window : (t_start, t_end) or None
        Fit this window [s] instead of the automatic ones.
    estimator : str or None
        single_mode, several_modes, real_mode, log_decrement, era or four_state; None takes the one that suits theory.
    on_progress : callable
        Told how many recordings are done, of how many, and the last one's name; of a long one also how many of its
        rows have been read and of its windows compared, of how many.

    Raises
    ------
    InputError
        A file is missing or not understood, or says what cannot be.
    """
    require_estimator(estimator)
    given = _listed(sources)
    gathered, names = _Gathered(), []
    for source in given:
        if isinstance(source, Response):
            gathered.add_recorded(inspect_in_memory(source, refuse=not trust), None)
            gathered.made += 1
            names.append(source.source)
        elif isinstance(source, Run):
            gathered.add_run(source, None, on_progress)
            names.append(source.folder.name)
        else:
            _read(Path(source), gathered, mapping, preset, bicycle, trust, on_progress)
            names.append(Path(source).name)
    trusted = trust and not gathered.made
    refuse_unused(gathered.foreign, mapping=mapping, preset=preset, bicycle=bicycle, trust=trusted)
    _refuse_idle(gathered, notes, window, estimator)
    table = gathered.tables[0] if gathered.tables else None
    measured = published.read_published(table) if table else None
    gathered.responses = tell_apart(gathered.responses, gathered.controllers)
    responses = own_sources(_with_notes(gathered, Path(notes) if notes is not None else None))
    done = count(1)

    def tell(response: Response) -> None:
        on_progress(next(done), len(responses), response.source)

    def tell_window(response: Response, compared: int, windows: int) -> None:
        if windows >= MANY_WINDOWS:
            on_progress(compared, windows, f"windows of {response.source}")

    analysis = analyze_responses(responses, window, estimator, tell, tell_window)
    files = [path for path in gathered.paths if path is not None]
    cuts = author_windows.read_author_windows(files)
    return AnalysisResult(
        analysis=analysis,
        title=f"Analysis of {', '.join(names)}",
        runs=tuple(gathered.runs),
        published=measured,
        published_name=table.name if table else "",
        hand_cut=tuple(author_windows.match_author_windows(cuts, analysis.comparisons)),
        frequency_responses=tuple(gathered.frequency),
        no_frequency_response=tuple(gathered.no_frequency),
    )


def _listed(sources: Source | Sequence[Source]) -> list[Source]:
    """List the sources; refuses what is none. Raises InputError."""
    several = isinstance(sources, Sequence | Iterator) and not isinstance(sources, str | bytes | Source)
    given: list[Any] = list(sources) if several else [sources]  # type: ignore[arg-type]
    for source in given:
        if not isinstance(source, Source):
            raise InputError(
                f"analyze wants runs, responses or paths of recordings, found a {type(source).__name__}: save a table "
                "to a file and name it with its mapping, or make a Response of it"
            )
    return given


def _read(
    source: Path,
    gathered: _Gathered,
    mapping: str | Path,
    preset: str,
    bicycle: str | Path | Bicycle,
    trust: bool,
    progress: Progress,
) -> None:
    """Read the recordings at a path; the first of a folder says what was left out there."""
    first = len(gathered.responses)
    for path in find_recordings([source]):
        gathered.require_new(path)
        if published.is_table(path):
            gathered.tables.append(path)
        elif is_run(path):
            gathered.add_run(read_named_run(path), path, progress)
        else:
            gathered.add_recorded(read_recording(path, mapping, preset, bicycle, trust), path)
            gathered.foreign += 1
    gathered.responses[first:] = with_left_out(gathered.responses[first:], source)


def _refuse_idle(gathered: _Gathered, notes: object, window: object, estimator: object) -> None:
    """Refuse notes on windows where one window is given, and what is said of fits where there is nothing to fit."""
    if notes is not None and window is not None:
        raise InputError(
            "the file of notes on windows would be ignored: one window is given, and no other is looked for; leave one "
            "of the two out"
        )
    if gathered.tables and not gathered.responses and any(it is not None for it in (notes, window, estimator)):
        raise InputError(
            "notes, window and estimator would be ignored: a table of eigenvalues holds nothing to fit; leave them out"
        )


def _with_notes(gathered: _Gathered, notes: Path | None) -> list[Response]:
    """Give the responses the notes of a person: of the file given, or of those beside the recordings."""
    if notes is not None:
        return attach_notes(gathered.responses, [], notes)
    filed = [(r, path) for r, path in zip(gathered.responses, gathered.paths, strict=True) if path is not None]
    with_notes = iter(attach_notes([response for response, _ in filed], [path for _, path in filed]))
    return [
        response if path is None else next(with_notes)
        for response, path in zip(gathered.responses, gathered.paths, strict=True)
    ]
