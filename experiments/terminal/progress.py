"""Progress of long work on the screen.

Bars, live lines, and the board of a campaign.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from riderless.experiments.analysis.analyze import Analysis, analyze_responses
from riderless.experiments.analysis.comparison.condition_means import ConditionMean, FittedWindow, condition_means
from riderless.experiments.analysis.estimators import estimate
from riderless.experiments.analysis.windows.find import find_windows
from riderless.experiments.datatypes import Response
from riderless.experiments.recordings.read import read_recording
from riderless.experiments.reports.text import eigenvalue_text
from riderless.experiments.terminal.console import unmarked
from riderless.experiments.terminal.operator import command_text
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.operator import Outcome
from riderless.models.errors import InputError

# Eigenvalues of a campaign while it goes on: a quick fit of every window, for the live table only.


class _SoFar:
    """Mean eigenvalues of the windows of each label's runs, a condition each."""

    def __init__(self) -> None:
        self._found: list[FittedWindow] = []

    def add(self, folder: Path) -> None:
        """Take a run that has ended well; one without windows adds nothing."""
        try:
            response = read_recording(folder)
            windows, _ = find_windows(response)
        except InputError:
            return
        for window in windows:
            part = slice(window.start, window.stop)
            fit = estimate(response.t[part] - response.t[part][0], response.phi_dot[part])
            if fit.ok:
                self._found.append(FittedWindow(response.label, window, fit))

    def of(self, label: str) -> list[ConditionMean]:
        """Means of the conditions of a label."""
        return [mean for mean in condition_means(self._found) if mean.label == label]


class _Planned(Protocol):
    """Run that is to be made."""

    @property
    def label(self) -> str:
        """Name of the condition."""

    @property
    def duration(self) -> float:
        """Time it will take [s]."""

    @property
    def rig(self) -> Rig:
        """Machine that makes it."""


class RunProgress(Protocol):
    """Run that was made of a planned one."""

    @property
    def condition(self) -> Any:
        """Plan that it was made of."""

    @property
    def folder(self) -> Path:
        """Folder of the run."""

    @property
    def outcome(self) -> Outcome:
        """Outcome of the run."""


CUE_NOTICE = 1.5  # s before a cue at which a person is told


class _WordsColumn(TextColumn):
    """Words on one line beside a bar, whatever the names in them hold."""

    def render(self, task: Task) -> Text:
        """Write the words of a task."""
        return unmarked(super().render(task).plain)


def _bar(screen: Console, last: str = "") -> Progress:
    columns = (
        _WordsColumn("{task.description}", markup=False),
        BarColumn(24),
        _WordsColumn("{task.fields[now]}", markup=False),
        TimeRemainingColumn(),
        *([_WordsColumn(last, markup=False)] if last else []),
    )
    return Progress(*columns, console=screen)


@contextmanager
def watching(
    screen: Console, planned: Sequence[_Planned], title: str = "campaign"
) -> Iterator[tuple[Callable[[Any, np.void], None], Callable[[RunProgress], None]]]:
    """Show a live line of many runs: yields what to call with a plan and its newest row, and after each run made."""
    total = sum(c.duration for c in planned)
    began: dict[int, float] = {}
    behind = 0.0
    with _bar(screen) as bar:
        task = bar.add_task(title, total=total, now="")

        def watch(condition: _Planned, row: np.void) -> None:
            state, t = State(int(row["state"])), float(row["t_host"])
            start = began.setdefault(id(condition), t)
            degrees = np.degrees(row["phi_est"])
            bar.update(
                task,
                completed=behind + min(t - start, condition.duration),
                now=f"{condition.label:<24} {state.name:<8} lean {degrees:+6.2f} deg  "
                + command_text(row["T_cmd"], condition.rig),
            )

        def done(attempt: RunProgress) -> None:
            nonlocal behind
            began.pop(id(attempt.condition), None)
            if attempt.outcome.reason == "success":
                behind += attempt.condition.duration
            else:
                bar.console.print(f"{attempt.folder.name}: {attempt.outcome.reason}, {attempt.outcome.cause}")
            bar.update(task, completed=behind)

        yield watch, done


@contextmanager
def analysing(screen: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar of an analysis: yields what to call with recordings done, of how many, and the last one's name."""
    with _bar(screen) as bar:
        task = bar.add_task("analysis", total=0, now="")
        yield lambda done, total, source: bar.update(task, completed=done, total=total, now=source)


@contextmanager
def passing(screen: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar of a pass through a log: yields what to call with how many are done, of how many."""
    with _bar(screen) as bar:
        task = bar.add_task(what, total=None, now="")
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def telling(screen: Console, what: str) -> Iterator[Callable[[str], None]]:
    """Show a line of what is worked on: yields what to call with its next words; in a file each is a line by itself."""
    if not screen.is_interactive:
        screen.print(unmarked(what), soft_wrap=True)
        yield lambda words: screen.print(unmarked(words), soft_wrap=True)
        return
    with screen.status(what) as line:
        yield lambda words: line.update(unmarked(words))


def analysed(screen: Console, responses: Sequence[Response]) -> Analysis:
    """Analyse responses with a bar."""
    done = 0
    with analysing(screen) as show:

        def tell(response: Response) -> None:
            nonlocal done
            done += 1
            show(done, len(responses), response.source)

        analysis = analyze_responses(responses, on_progress=tell)
        analysis.judge(lambda what: show(done, len(responses), what))
        return analysis


def one_by_one(screen: Console, steps: Mapping[str, Callable[[], None]]) -> None:
    """Take steps that cannot say how far they are, with the time each took."""
    columns = SpinnerColumn(finished_text="done"), _WordsColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=screen) as progress:
        for title, step in steps.items():
            task = progress.add_task(title, total=1)
            step()
            progress.update(task, completed=1)


class Board:
    """Live table of a campaign: conditions, their state, runs done, eigenvalue so far, and the time left.

    Parameters
    ----------
    planned : sequence
        Every condition of the campaign, in order.
    so_far : _SoFar
        What was measured, also before.
    done : mapping
        How many runs of a label have been made with success.
    person : bool
        Somebody is there to be told what to do when.
    """

    def __init__(
        self, screen: Console, planned: Sequence[Any], so_far: _SoFar, done: Mapping[str, int], person: bool = False
    ) -> None:
        self._person = person
        self._screen, self._so_far, self._planned, self._done = screen, so_far, list(planned), dict(done)
        self._state: dict[str, str] = {}
        self._now, self._cue = "", ""
        self._bar = _bar(screen, "left")
        self._task = self._bar.add_task("campaign", total=sum(c.duration for c in planned), now="")
        self._behind, self._began = 0.0, -1.0
        self._live = Live(console=screen, get_renderable=self._picture, refresh_per_second=4)

    def __enter__(self) -> "Board":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        if not self._screen.is_interactive:
            self._screen.print()  # what comes next begins a line, in a file too

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the screen to somebody else for a while, to ask a person."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def kept(self, seconds: float) -> None:
        """So much of the campaign was measured before [s of RUNNING]."""
        self._behind += seconds
        self._bar.update(self._task, completed=self._behind)

    def told(self, label: str, state: str) -> None:
        """Write a word beside a condition."""
        self._state[label] = state

    def watch(self, condition: Any, row: np.void) -> None:
        """Look at the newest row of the run that is being made."""
        state, t = State(int(row["state"])), float(row["t_host"])
        if self._now != condition.name:
            self._now, self._began = condition.name, -1.0
        if state is State.RUNNING and self._began < 0.0:
            self._began = t
        gone = min(t - self._began, condition.duration) if self._began >= 0.0 else 0.0
        self.told(condition.label, state.name)
        prompted = self._person and self._began >= 0.0
        due = [text for at, text in condition.cues if prompted and 0.0 <= at - gone < CUE_NOTICE]
        self._cue = due[0] if due else ""
        self._bar.update(
            self._task,
            completed=self._behind + gone,
            now=f"lean {np.degrees(row['phi_est']):+6.2f} deg  {command_text(row['T_cmd'], condition.rig)}",
        )

    def made(self, attempt: RunProgress) -> None:
        """Take a run that has ended."""
        condition = attempt.condition
        self._now, self._cue = "", ""
        if attempt.outcome.reason == "success":
            self._behind += condition.duration
            self._done[condition.label] = self._done.get(condition.label, 0) + 1
            if condition.kicked:
                self._so_far.add(attempt.folder)
            self.told(condition.label, "")
        else:
            self._screen.print(f"{attempt.folder.name}: {attempt.outcome.reason}, {attempt.outcome.cause}")
            self.told(condition.label, attempt.outcome.reason)
        self._bar.update(self._task, completed=self._behind, now="")

    def table(self) -> Table:
        """All conditions, as they stand."""
        wanted: dict[str, int] = {}
        for condition in self._planned:
            wanted[condition.label] = wanted.get(condition.label, 0) + 1
        running = next((c.label for c in self._planned if c.name == self._now), "")
        labels = list(wanted)
        room = max(4, self._screen.height - 8)
        first = max(0, min(labels.index(running) - room // 2 if running else 0, len(labels) - room))
        table = Table(box=SIMPLE_HEAD)
        for title in ("condition", "state", "runs", "eigenvalue so far 1/s", "windows"):
            table.add_column(title, justify="left" if title in ("condition", "state") else "right")
        for label in labels[first : first + room]:
            done = self._done.get(label, 0)
            state = self._state.get(label) or ("done" if done >= wanted[label] else "waiting")
            means, runs = self._so_far.of(label), f"{done} of {wanted[label]}"
            if len(means) != 1:
                table.add_row(unmarked(label), state, runs, "-", "")
            for mean in means:
                first_words = (state, runs) if len(means) == 1 else ("", "")
                value = "-" if mean.eigenvalue is None else eigenvalue_text(mean.eigenvalue)
                table.add_row(unmarked(mean.name), *first_words, value, str(mean.windows))
        return table

    def _picture(self) -> Group:
        return Group(self.table(), *([f">>> {self._cue}"] if self._cue else []), self._bar)


def board_of(screen: Console, planned: Sequence[Any], runs: Sequence[Any], person: bool = False) -> Board:
    """Make the board of a campaign of which some runs may have been made before.

    Parameters
    ----------
    screen : Console
        Where it is shown.
    planned : sequence of _Planned
        Every condition of the campaign, in order.
    runs : sequence
        Those made before, with name, folder and outcome.
    person : bool
        Somebody is there to be told what to do when.
    """
    good = {run.name: run.folder for run in runs if run.outcome.reason == "success"}
    so_far = _SoFar()
    done: dict[str, int] = {}
    there = [condition for condition in planned if condition.name in good]
    for condition in there:
        if condition.kicked:
            so_far.add(good[condition.name])
        done[condition.label] = done.get(condition.label, 0) + 1
    board = Board(screen, planned, so_far, done, person)
    board.kept(sum(condition.duration for condition in there))
    return board
