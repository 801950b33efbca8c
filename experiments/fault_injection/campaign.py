"""Fault campaign in simulated time.

Thousands of cases, on all cores, in any order and with the same result.
"""

from collections.abc import Callable

from riderless.experiments.campaigns.sweeps import spread
from riderless.experiments.fault_injection.cases import CaseOptions, draw_case
from riderless.experiments.fault_injection.judge import CaseResult, judge_case
from riderless.experiments.fault_injection.simulate import play_case
from riderless.models.errors import InputError

CASES_PER_BATCH = 50  # cases handed out at a time


def run_cases(
    count: int,
    seed: int,
    jobs: int | None = None,
    tell: Callable[[list[CaseResult]], None] = lambda verdicts: None,
    options: CaseOptions = CaseOptions(),
) -> list[CaseResult]:
    """Play and judge the first ``count`` cases of a seed; the verdicts come in order, whatever ``jobs`` is.

    Parameters
    ----------
    count, seed : int
    jobs : int or None
        Processes, see `riderless.experiments.campaigns.sweeps.spread`.
    tell : callable
        Given each batch of verdicts as it is finished.
    options : CaseOptions
        Length of the rides, faults in a set, and what they are drawn from.

    Raises
    ------
    InputError
        For a count below 1 or a negative seed.
    """
    if count < 1:
        raise InputError(f"the number of cases must be 1 or more, found {count}")
    if seed < 0:
        raise InputError(f"the seed must be a whole number from 0, found {seed}")
    verdicts: list[CaseResult] = []
    for _, batch in spread(
        _batch, [(seed, i, min(i + CASES_PER_BATCH, count), options) for i in range(0, count, CASES_PER_BATCH)], jobs
    ):
        verdicts += batch
        tell(batch)
    return sorted(verdicts, key=lambda verdict: verdict.index)


def _batch(work: tuple[int, int, int, CaseOptions]) -> list[CaseResult]:
    """Play and judge cases ``first`` to below ``last`` of a seed."""
    seed, first, last, options = work
    cases = (draw_case(seed, index, options) for index in range(first, last))
    return [judge_case(case, play_case(case)) for case in cases]
