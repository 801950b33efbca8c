"""Parallel runs, locally or on Dask.

`spread` hands out any function over any arguments; `simulate_all` does it with runs in simulated time.
"""

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from riderless.firmware_interface.child_processes import new_worker_pool
from riderless.hil.controllers.controller import Controller
from riderless.hil.rig.rig import Rig
from riderless.hil.rig.task import Task
from riderless.hil.runners.emulation import Emulation
from riderless.hil.runners.operator import Outcome
from riderless.hil.runners.simulated_run import run_lockstep
from riderless.models.errors import InputError
from riderless.models.plant.plant import Scenario

A = TypeVar("A")
B = TypeVar("B")
CONNECT_TIMEOUT = 10.0  # s, for the answer of a cluster


@dataclass(frozen=True)
class SweepCase:
    """One simulated run, as `riderless.hil.runners.simulated_run.run_lockstep` wants it."""

    rig: Rig
    schedule: Controller
    scenario: Scenario
    emulation: Emulation
    duration: float  # s of RUNNING
    label: str
    allow_mismatch: bool = False  # the gains may be for another bicycle, delay or drive lag
    task: Task = Task()

    def __repr__(self) -> str:
        return f"<SweepCase '{self.label}': {self.rig.bicycle.name}, {self.duration:g} s>"


@dataclass(frozen=True)
class _SweepResult:
    """Outcome of a case, and the folder of its run."""

    condition: SweepCase
    folder: Path
    outcome: Outcome

    def __repr__(self) -> str:
        return f"<SweepResult '{self.condition.label}': {self.outcome.reason}, in {self.folder}>"


def simulate_all(
    cases: Sequence[SweepCase],
    folders: Sequence[Path],
    jobs: int | None = None,
    cluster: str | None = None,
    watch: Callable[[SweepCase, np.void], None] | None = None,
) -> Iterator[_SweepResult]:
    """Run the cases, each into its folder; results come as they are finished.

    Parameters
    ----------
    cases : sequence of SweepCase
    folders : sequence of Path
        New or empty. The workers of a cluster must see them under the same names.
    jobs, cluster
        See `spread`.
    watch : callable or None
        Told of a case and its newest row now and then; a single case only, which runs in this process.
    """
    if len(cases) == 1 and cluster is None:
        _require_jobs(jobs)
        yield _SweepResult(cases[0], folders[0], _simulate_case((cases[0], folders[0]), watch))
        return
    work = [(case, folder.resolve()) for case, folder in zip(cases, folders, strict=True)]
    for i, outcome in spread(_simulate_case, work, jobs, cluster):
        yield _SweepResult(cases[i], folders[i], outcome)


def _simulate_case(work: tuple[SweepCase, Path], watch: Callable[[SweepCase, np.void], None] | None = None) -> Outcome:
    """Run one case into its folder."""
    case, folder = work
    return run_lockstep(
        folder,
        case.rig,
        case.schedule,
        case.scenario,
        case.duration,
        label=case.label,
        watch=partial(watch, case) if watch else None,
        emulation=case.emulation,
        task=case.task,
        allow_mismatch=case.allow_mismatch,
    )


def cores() -> int:
    """Count the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _require_jobs(jobs: int | None) -> None:
    if jobs is not None and jobs < 1:
        raise InputError(f"the number of jobs must be 1 or more, found {jobs}; leave it out for one a core")


def spread(
    function: Callable[[A], B], work: Iterable[A], jobs: int | None = None, cluster: str | None = None
) -> Iterator[tuple[int, B]]:
    """Apply `function` to each piece of `work`, several at a time.

    Parameters
    ----------
    function : callable
        Can be imported by name: other processes load it.
    work : iterable
        Can be pickled.
    jobs : int or None
        Processes on this machine; None for one a core. One does it all in this process.
    cluster : str or None
        Address of a Dask scheduler, as "tcp://host:8786"; `jobs` then does not count.

    Yields
    ------
    (int, result)
        Index of a piece and what came of it, in the order in which they are finished.

    Raises
    ------
    InputError
        No cluster answers, or dask is not installed; or `jobs` is not positive.
    """
    pieces = list(work)
    if cluster is not None:
        yield from _on_cluster(function, pieces, cluster)
        return
    _require_jobs(jobs)
    jobs = min(jobs or cores(), len(pieces))
    if jobs <= 1:
        yield from ((i, function(piece)) for i, piece in enumerate(pieces))
        return
    with worker_processes(jobs) as pool:
        futures = {pool.submit(function, piece): i for i, piece in enumerate(pieces)}
        for future in as_completed(futures):
            yield futures[future], future.result()


@contextmanager
def worker_processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of ``jobs`` processes, which ends with what it is used for, however that ends."""
    # new interpreters: a fork would copy locks that threads of this process hold
    pool = new_worker_pool(jobs)
    others = set(active_children())
    try:
        yield pool
    except BaseException:  # Ctrl-C does not reach them, nor SIGTERM to this process alone
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _on_cluster(function: Callable[[A], B], pieces: list[A], address: str) -> Iterator[tuple[int, B]]:
    try:
        from distributed import as_completed as finished
    except ImportError:
        raise InputError("a cluster wants Dask, which is not installed: pip install 'riderless[dask]'") from None
    with _connected(address) as client:
        futures = {client.submit(function, piece, pure=False): i for i, piece in enumerate(pieces)}
        for future in finished(futures):
            yield futures[future], future.result()


def _connected(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        reason = str(error)
    # The client was left half made and closes itself when it is collected. Here, then: where that happens in a thread
    # that Dask is just starting, it waits for a lock which the starter holds, and both wait for ever.
    gc.collect()
    raise InputError(
        f"no Dask scheduler answers at {address} ({reason}): give its address as it prints it, tcp://HOST:8786"
    )
