"""Runs of a campaign.

Every condition in simulated or real time, every attempt kept.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from riderless.experiments.campaigns.protocols.condition import Condition
from riderless.experiments.datatypes import Response
from riderless.experiments.emulation.workstand import start_twin
from riderless.experiments.recordings.read import read_recording
from riderless.firmware_interface.twins.virtual_node import VirtualProcess
from riderless.hil.live.feed import LiveFeed
from riderless.hil.logs.folders import new_folder
from riderless.hil.runners.operator import Operator, Outcome
from riderless.hil.runners.session import RowWatcher, run_realtime
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.hil.runners.warmup import warm_up

MAX_ATTEMPTS = 3  # a run that a busy machine spoilt is kept, and made again


@dataclass(frozen=True)
class Attempt:
    """Run of a condition, good or not."""

    condition: Condition
    folder: Path
    outcome: Outcome
    attended: bool = False  # a person is asked before the next run

    @property
    def ends_campaign(self) -> bool:
        """Did a person stop the campaign with this run? Who is asked before the next one stops no more than the run."""
        return self.outcome.stopped_by_signal or (not self.attended and bool(self.outcome.stopped))

    def __repr__(self) -> str:
        return f"<Attempt '{self.condition.name}': {self.outcome.reason}, in {self.folder}>"


ConditionWatcher = Callable[[Condition, np.void], None]
OperatorAnswer = Literal["go", "skip", "stop"]


def run_conditions_in_lockstep(
    conditions: Iterable[Condition], out: Path, watch: ConditionWatcher
) -> Iterator[Attempt]:
    """Run the conditions in simulated time; a person's interruption ends the campaign."""
    for condition in conditions:
        folder = new_folder(out, condition.name)
        outcome = _record_condition(folder, condition, partial(watch, condition))
        attempt = Attempt(condition, outcome.folder or folder, outcome)
        yield attempt
        if attempt.ends_campaign:
            return


def _record_condition(folder: Path, condition: Condition, watch: RowWatcher | None = None) -> Outcome:
    """Run a condition in simulated time into a folder; ``watch`` is given its newest row now and then."""
    return run_lockstep(
        folder,
        condition.rig,
        condition.schedule,
        condition.scenario,
        condition.duration,
        label=condition.label,
        watch=watch,
        emulation=condition.emulation,
        task=condition.task,
        extra={"condition": condition.said()},
        allow_mismatch=condition.allow_mismatch,
    )


def condition_response(condition: Condition) -> Response:
    """Run a condition in simulated time, for its recording alone."""
    with TemporaryDirectory() as root:
        folder = Path(root) / "run"
        _record_condition(folder, condition)
        return read_recording(folder)


def run_in_real_time(
    conditions: Iterable[Condition], out: Path, watch: ConditionWatcher, fifo: int = 0, feed: LiveFeed | None = None
) -> Iterator[Attempt]:
    """Run the conditions in real time, each against its twin; the next twin starts meanwhile.

    A run that does not end in success stays in its folder with its reason, and is made again after the others, for a
    busy machine may have spoilt it; `MAX_ATTEMPTS` times in all. A person's interruption ends the campaign.

    Parameters
    ----------
    conditions : iterable of Condition
    out : Path
        Folder in which each run gets its own.
    watch : callable
        Given a condition and its newest row (TICK) now and then.
    fifo : int
        Real-time priority 1 to 90 of loop and bicycle; 0 for none.
    feed : LiveFeed or None
        Memory by which others look on, and press STOP.
    """
    waiting = deque((condition, MAX_ATTEMPTS) for condition in conditions)
    if not waiting:
        return
    with ThreadPoolExecutor(1) as starter:
        coming: list[Future[VirtualProcess]] = []

        def start_next_twin() -> None:
            if waiting and not coming:
                coming.append(starter.submit(_twin, waiting[0][0], fifo))

        try:
            start_next_twin()
            warm_up(waiting[0][0].rig, waiting[0][0].schedule)  # the controller compiles while the first twin does
            while waiting:
                start_next_twin()
                twin = coming[0].result()
                coming.clear()
                condition, attempts_left = waiting.popleft()
                start_next_twin()
                with twin as bicycle:  # each attempt has one of its own
                    attempt = _attempt(condition, bicycle.paths, out, watch, fifo, feed)
                yield attempt
                if attempt.ends_campaign:
                    return
                if attempt.outcome.reason != "success" and attempts_left > 1:
                    waiting.append((condition, attempts_left - 1))
        finally:
            for future in coming:
                future.result().stop()


def run_on_bicycle(
    conditions: Iterable[Condition],
    out: Path,
    watch: ConditionWatcher,
    ports: Sequence[str],
    ask: Callable[[Condition, Outcome | None], OperatorAnswer],
    keys: Callable[[], AbstractContextManager[Callable[[], str]]],
    heed: Callable[[str, Operator], None],
    fifo: int = 0,
    unattended: bool = False,
    feed: LiveFeed | None = None,
    about: Mapping[str, Any] = {},
) -> Iterator[Attempt]:
    """Run the conditions on a real bicycle, each when a person says so, and again if they want it.

    A person who stops a run is asked what to do next. A signal ends the campaign, as does any stop where ``ask``
    answers by itself.

    Parameters
    ----------
    conditions : iterable of Condition
    out : Path
        Folder in which each run gets its own.
    watch : callable
        Given a condition and its newest row (TICK) now and then.
    ports : sequence of str
        One for each port of the rig.
    ask : callable
        Told a condition, and how its last attempt ended if there was one; says what to do.
    keys, heed : callable
        A context that gives a function for the keys pressed since it was last called, and what they mean to the
        operator of a run.
    fifo : int
        Real-time priority 1 to 90 of the loop; 0 for none.
    unattended : bool
        Nobody is there to be asked; the headers of the logs say so.
    feed : LiveFeed or None
        Memory by which others look on, and press STOP.
    about : mapping
        What else the headers of the logs say.
    """
    about = {**about, **({"unattended": True} if unattended else {})}
    for condition in conditions:
        last: Outcome | None = None
        while last is None or last.reason != "success":
            answer = ask(condition, last)
            if answer == "stop":
                return
            if answer == "skip":
                break
            operator = Operator(condition.duration)
            with keys() as pressed:
                attempt = _run(
                    condition,
                    ports,
                    out,
                    _heeding(condition, operator, pressed, heed, watch),
                    fifo,
                    operator,
                    about,
                    feed,
                )
            attempt = replace(attempt, attended=not unattended)
            last = attempt.outcome
            yield attempt
            if attempt.ends_campaign:
                return


def _heeding(
    condition: Condition,
    operator: Operator,
    pressed: Callable[[], str],
    heed: Callable[[str, Operator], None],
    watch: ConditionWatcher,
) -> Callable[[np.void], None]:
    """Make the function that obeys the person and then shows the run, at every look at it."""

    def watched(row: np.void) -> None:
        heed(pressed(), operator)
        watch(condition, row)

    return watched


def _twin(condition: Condition, fifo: int) -> VirtualProcess:
    return start_twin(condition.rig, condition.scenario, condition.emulation, fifo)


def _attempt(
    condition: Condition, ports: Sequence[str], out: Path, watch: ConditionWatcher, fifo: int, feed: LiveFeed | None
) -> Attempt:
    about = {"scenario": condition.scenario, "emulation": condition.emulation}
    return _run(condition, ports, out, partial(watch, condition), fifo, Operator(condition.duration), about, feed)


def _run(
    condition: Condition,
    ports: Sequence[str],
    out: Path,
    watch: Callable[[np.void], None],
    fifo: int,
    operator: Operator,
    about: Mapping[str, Any] = {},
    feed: LiveFeed | None = None,
) -> Attempt:
    folder = new_folder(out, condition.name)
    outcome = run_realtime(
        folder,
        condition.rig,
        condition.schedule,
        ports,
        condition.duration,
        label=condition.label,
        extra={"condition": condition.said(), **about},
        watch=watch,
        fifo=fifo,
        operator=operator,
        allow_mismatch=condition.allow_mismatch,
        allow_unstable=condition.allow_unstable,
        speeds=[v for _, v in condition.scenario.speed],
        task=condition.task,
        feed=feed,
    )
    return Attempt(condition, outcome.folder or folder, outcome)
