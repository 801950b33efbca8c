"""`make mutants`: would the tests notice a wrong line in the real-time part?

Each mutant is the source of one module with one thing changed (`tests.tools.mutation.changes`). The tests that
`tests.tools.mutation.plan` names for the module run against it, uncompiled: put into the loaded module first
(`judging`), and those that no test runs, or that cannot be put there, from the beginning (`whole`). One that is left
must stand in `tests.tools.mutation.equivalent` with the reason why it makes no difference. Exit code 1 if one does not.

    python -m tests.tools.mutants --only hil/loop/tick.py            one module, or several
    python -m tests.tools.mutants --only tick.py --words observe     those whose words hold a text
    python -m tests.tools.mutants --sample 100 --seed 1              some of each module, at random
"""

import argparse
import os
import random
import sys
import time
from multiprocessing import get_context

import pytest
from rich.console import Console

from tests.tools.mutation.changes import TABLE, Mutant, source_mutants, table_mutants
from tests.tools.mutation.equivalent import EQUIVALENT
from tests.tools.mutation.judging import ALIVE, NOT_IN_PLACE, TOO_LONG, Judge
from tests.tools.mutation.plan import TESTS
from tests.tools.mutation.whole import noticed_anew, options_of, plain

_LEFT = {ALIVE: "NOT NOTICED", TOO_LONG: "took too long"}


def _noticed_in_place(path: str, mutants: list[Mutant], jobs: int) -> tuple[dict[Mutant, str] | None, str, float]:
    """In a process of its own: what noticed each mutant, the test that fails without one, and the tests' time [s]."""
    plain()
    kept = os.dup(1), os.dup(2)
    screen = os.fdopen(os.dup(1), "w")

    def tell(mutant: Mutant, outcome: str) -> None:
        if outcome in _LEFT and not reason_for(mutant):
            print(f"{_LEFT[outcome]}: {mutant.name}", file=screen, flush=True)

    judge = Judge(path, mutants, jobs, tell)
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    try:
        pytest.main(options_of(path), plugins=[judge])
    finally:
        for stream, was in zip((1, 2), kept, strict=True):
            os.dup2(was, stream)
    return judge.found, judge.failed, judge.seconds


def survivors_of(path: str, mutants: list[Mutant], jobs: int, screen: Console) -> list[Mutant] | None:
    """Mutants of one module that no test notices; None if its tests do not pass without a mutant."""
    began = time.monotonic()
    with get_context("fork").Pool(1) as pool:
        found, failed, seconds = pool.apply(_noticed_in_place, (path, mutants, jobs))
    if found is None:
        screen.print(f"{path}: fails without a mutant: {failed}", soft_wrap=True, markup=False)
        return None
    alive = [mutant for mutant in mutants if found[mutant] == ALIVE]
    again = [mutant for mutant in mutants if found[mutant] == NOT_IN_PLACE]
    screen.print(
        f"{path}: {len(mutants)} mutants, tests of {seconds:.1f} s, {time.monotonic() - began:.0f} s; "
        f"{len(again)} are tried from the beginning",
        soft_wrap=True,
    )
    anew = noticed_anew(path, again, jobs) if again else []
    if anew is None:
        return None
    for mutant, noticed in anew:
        if noticed in _LEFT:
            told = "argued" if reason_for(mutant) else _LEFT[noticed]
            screen.print(f"{told}: {mutant.name}", soft_wrap=True, markup=False, highlight=False)
    alive += [mutant for mutant, noticed in anew if noticed == ALIVE]
    return sorted(alive)


def reason_for(mutant: Mutant) -> str:
    """Reason why a mutant makes no difference; empty where none is given."""
    return next((why for key, why in EQUIVALENT.get(mutant.path, {}).items() if key in mutant.words), "")


def judge(path: str, mutants: list[Mutant], alive: list[Mutant], whole: bool, screen: Console) -> int:
    """Tell the result of one module; the number of complaints."""
    argued = EQUIVALENT.get(path, {})
    left = [mutant for mutant in alive if not reason_for(mutant)]
    screen.print(
        f"{path}: {len(mutants)} mutants, {len(mutants) - len(alive)} noticed, {len(alive) - len(left)} argued, "
        f"{len(left)} not noticed",
        soft_wrap=True,
    )
    idle = [key for key in argued if whole and not any(key in mutant.words for mutant in alive)]
    for key in idle:
        gone = "is noticed after all" if any(key in mutant.words for mutant in mutants) else "is gone"
        screen.print(f"ARGUED, AND {gone}: {path}: {key}", soft_wrap=True, markup=False, highlight=False)
    return len(left) + len(idle)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="PATH", help="modules whose path ends so")
    parser.add_argument("--words", default="", help="only mutants whose words hold this text")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    return parser.parse_args()


def main() -> int:
    """Try every mutant, tell those that no test noticed."""
    options, screen, complaints = arguments(), Console(), 0
    paths = [path for path in TESTS if path.endswith(tuple(options.only))]
    if not paths:
        screen.print(f"no such module: there are {', '.join(TESTS)}", soft_wrap=True)
        return 2
    began, tried = time.monotonic(), 0
    for path in paths:
        mutants = list(table_mutants() if path == TABLE else source_mutants(path))
        mutants = [mutant for mutant in mutants if options.words in mutant.words]
        if options.sample is not None:
            mutants = random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))
        if not mutants:
            continue
        alive = survivors_of(path, mutants, options.jobs, screen)
        if alive is None:
            screen.print(f"{path}: its tests do not pass without a mutant, so nothing can be said", soft_wrap=True)
            complaints += 1
            continue
        tried += len(mutants)
        complaints += judge(path, mutants, alive, not options.words and options.sample is None, screen)
    screen.print(f"{tried} mutants in {(time.monotonic() - began) / 60:.1f} min, {complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
