"""What a person sees while long work goes on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.analysis import Analysis, analyze
from experiments.nouns import Response
from hil.operator import Outcome
from hil.states import State


class Planned(Protocol):
    """A run that is to be made."""

    @property
    def label(self) -> str:
        """What it is called."""

    @property
    def duration(self) -> float:
        """Time it will take [s]."""


class Made(Protocol):
    """A run that was made of one that was planned."""

    @property
    def condition(self) -> Any:
        """The `Planned`."""

    @property
    def folder(self) -> Path:
        """Where it lies."""

    @property
    def outcome(self) -> Outcome:
        """How it ended."""


def _bar(screen: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(24),
        TextColumn("{task.fields[now]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=screen)


@contextmanager
def watching(
    screen: Console, planned: Sequence[Planned], title: str = "campaign"
) -> Iterator[tuple[Callable[[Any, np.void], None], Callable[[Made], None]]]:
    """A live line of many runs: yields what to call with a plan and its newest row, and after each run made."""
    total = sum(c.duration for c in planned)
    began: dict[int, float] = {}
    behind = 0.0
    with _bar(screen) as bar:
        task = bar.add_task(title, total=total, now="")

        def watch(condition: Planned, row: np.void) -> None:
            state, t = State(int(row["state"])), float(row["t_host"])
            start = began.setdefault(id(condition), t)
            degrees = np.degrees(row["phi_est"])
            bar.update(
                task,
                completed=behind + min(t - start, condition.duration),
                now=f"{condition.label:<24} {state.name:<8} lean {degrees:+6.2f} deg  torque {row['T_cmd']:+6.2f} N m",
            )

        def done(attempt: Made) -> None:
            nonlocal behind
            began.pop(id(attempt.condition), None)
            if attempt.outcome.reason == "success":
                behind += attempt.condition.duration
            else:
                bar.console.print(f"{attempt.folder.name}: {attempt.outcome.reason}, {attempt.outcome.cause}")
            bar.update(task, completed=behind)

        yield watch, done


def analysed(
    screen: Console,
    responses: Sequence[Response],
    given: tuple[float, float] | None = None,
    estimator: str | None = None,
) -> Analysis:
    """Analyse recordings with a bar."""
    with _bar(screen) as bar:
        task = bar.add_task("analysis", total=len(responses), now="")

        def tell(response: Response) -> None:
            bar.update(task, advance=1, now=response.source)

        return analyze(responses, given, estimator, tell)


def one_by_one(screen: Console, steps: Mapping[str, Callable[[], None]]) -> None:
    """Take steps that cannot say how far they are, with the time each took."""
    columns = SpinnerColumn(finished_text="done"), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=screen) as progress:
        for title, step in steps.items():
            task = progress.add_task(title, total=1)
            step()
            progress.update(task, completed=1)
