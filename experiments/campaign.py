"""The campaign: run every condition of a protocol, keep every attempt, analyse and report."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from experiments.console import new_folder
from experiments.protocols.treadmill import Condition
from experiments.twin import start_twin
from firmware_interface.virtual import VirtualProcess
from hil.operator import Outcome
from hil.rehearsal import run_lockstep
from hil.session import run_realtime
from hil.warmup import warm_up

ATTEMPTS = 3  # a run that a busy machine spoilt is kept, and made again


@dataclass(frozen=True)
class Attempt:
    """One run of a condition, good or not."""

    condition: Condition
    folder: Path
    outcome: Outcome


Watcher = Callable[[Condition, np.void], None]


def in_lockstep(conditions: Iterable[Condition], out: Path, watch: Watcher) -> Iterable[Attempt]:
    """Run the conditions in simulated time."""
    for condition in conditions:
        folder = new_folder(out, condition.label)
        outcome = run_lockstep(
            folder,
            condition.rig,
            condition.schedule,
            condition.scenario,
            condition.duration,
            condition.label,
            partial(watch, condition),
            condition.emulation,
        )
        yield Attempt(condition, folder, outcome)


def in_real_time(conditions: Iterable[Condition], out: Path, watch: Watcher, fifo: int = 0) -> Iterable[Attempt]:
    """Run the conditions in real time, each against its twin; the next twin starts meanwhile.

    A run that does not end in success stays in its folder with its reason, and is made again up to
    `ATTEMPTS` times. A person's interruption ends the campaign.
    """
    waiting = list(conditions)
    with ThreadPoolExecutor(1) as starter:
        coming: list[Future[VirtualProcess]] = [starter.submit(_twin, condition, fifo) for condition in waiting[:1]]
        try:
            warm_up(waiting[0].rig, waiting[0].schedule)  # the controller compiles while the first twin does
            for condition, following in zip(waiting, [*waiting[1:], None], strict=True):
                twin = coming.pop().result()
                if following:
                    coming.append(starter.submit(_twin, following, fifo))
                for _ in range(ATTEMPTS):
                    with twin:
                        attempt = _attempt(condition, twin.paths, out, watch, fifo)
                    yield attempt
                    if attempt.outcome.reason == "abort":
                        return
                    if attempt.outcome.reason == "success":
                        break
                    twin = _twin(condition, fifo)
                else:
                    twin.stop()
        finally:
            for future in coming:
                future.result().stop()


def _twin(condition: Condition, fifo: int) -> VirtualProcess:
    return start_twin(condition.rig, condition.scenario, condition.emulation, fifo)


def _attempt(condition: Condition, ports: list[str], out: Path, watch: Watcher, fifo: int) -> Attempt:
    folder = new_folder(out, condition.label)
    outcome = run_realtime(
        folder,
        condition.rig,
        condition.schedule,
        ports,
        condition.duration,
        condition.label,
        {"scenario": condition.scenario, "emulation": condition.emulation},
        partial(watch, condition),
        fifo,
    )
    return Attempt(condition, folder, outcome)
