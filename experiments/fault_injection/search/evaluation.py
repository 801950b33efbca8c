"""Parallel play of a search's cases.

On all cores, with the same result on any number of them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from numpy.typing import NDArray

from riderless.experiments.campaigns.sweeps import cores, worker_processes
from riderless.experiments.fault_injection.cases import CaseOptions
from riderless.experiments.fault_injection.danger import Danger
from riderless.experiments.fault_injection.judge import judge_case
from riderless.experiments.fault_injection.search.genes import case_of_genes
from riderless.experiments.fault_injection.simulate import play_case
from riderless.hil.loop.tick import LoopState
from riderless.models.errors import InputError

CASES_PER_PIECE = 20  # handed to a process at a time


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One case of a search, played and judged."""

    genes: NDArray
    threats: str
    danger: Danger
    complaints: tuple[str, ...]
    replay: str

    @property
    def level(self) -> float:
        """Danger, which is at least 1 where any promise was broken."""
        return max(self.danger.level, 1.0) if self.complaints else self.danger.level

    @property
    def kind(self) -> str:
        """Set of threats, in whatever order."""
        return " + ".join(sorted(self.threats.split(" + ")))


Evaluator = Callable[[NDArray, CaseOptions], list[Evaluated]]


def evaluate_genes(
    genes: NDArray, options: CaseOptions, sabotage: Callable[[LoopState], object] = lambda loop: None
) -> Evaluated:
    """Play and judge the case of some genes; ``sabotage`` as for `simulate.play_case`."""
    case = case_of_genes(genes, options)
    verdict = judge_case(case, play_case(case, sabotage))
    return Evaluated(genes, case.name, verdict.danger, verdict.complaints, case.replay)


def _evaluate_here(population: NDArray, options: CaseOptions) -> list[Evaluated]:
    """Play cases in this process."""
    return [evaluate_genes(genes, options) for genes in population]


@contextmanager
def evaluating(jobs: int | None) -> Iterator[Evaluator]:
    """Give an evaluator that uses ``jobs`` processes, one a core by default; raises InputError for less than one."""
    if jobs is not None and jobs < 1:
        raise InputError(f"the number of jobs must be 1 or more, found {jobs}; leave it out for one a core")
    if (jobs or cores()) == 1:
        yield _evaluate_here
        return
    with worker_processes(jobs or cores()) as pool:

        def evaluate(population: NDArray, options: CaseOptions) -> list[Evaluated]:
            return list(pool.map(partial(evaluate_genes, options=options), population, chunksize=CASES_PER_PIECE))

        yield evaluate
