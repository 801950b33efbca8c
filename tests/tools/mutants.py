"""`make mutants`: would the tests notice a wrong line in the real-time part?

Each mutant is the source of one module with one thing changed (`tests.tools.mutation.changes`). The tests that
`TESTS` names for the module run against it, uncompiled, in a process of its own; a mutant that no test notices
must stand in `tests.tools.mutation.equivalent` with the reason why it makes no difference. Exit code 1 if one does not.

    python -m tests.tools.mutants --only hil/loop/tick.py            one module, or several
    python -m tests.tools.mutants --only tick.py --words observe     those whose words hold a text
    python -m tests.tools.mutants --sample 100 --seed 1              some of each module, at random
"""

import argparse
import os
import random
import resource
import signal
import sys
import time
from importlib import util
from importlib.machinery import ModuleSpec, SourceFileLoader
from multiprocessing import get_context
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from rich.console import Console
from rich.progress import Progress

from tests.paths import ROOT
from tests.sources import imported, module_of, sources
from tests.tools.mutation.changes import TABLE, Mutant, source_mutants, table_mutants
from tests.tools.mutation.equivalent import EQUIVALENT
from tests.tools.mutation.uncompiled import uncompile

_SUPERVISOR_TESTS = (
    "hil/loop/test_supervisor_table.py",
    "hil/loop/test_supervisor.py",
    "hil/loop/test_limits.py",
    "hil/loop/test_supervisor_edges.py",
    "hil/loop/test_supervisor_promises.py",
)
_TICK_TESTS = ("hil/loop/test_tick.py",)
_PLAUSIBILITY_TESTS = ("hil/loop/test_plausibility_edges.py", "hil/loop/test_plausibility.py")
_CALIBRATION_TESTS = ("firmware_interface/test_calibration_edges.py", "firmware_interface/test_calibration.py")
TESTS: dict[str, tuple[str, ...]] = {  # the quickest to notice first; a second or two altogether
    "hil/loop/supervisor.py": _SUPERVISOR_TESTS,
    "hil/loop/limits.py": _SUPERVISOR_TESTS,
    TABLE: _SUPERVISOR_TESTS,
    "hil/loop/tick.py": _TICK_TESTS,
    "hil/controllers/gains.py": ("hil/loop/test_tick_requests.py",),
    "hil/loop/plausibility.py": _PLAUSIBILITY_TESTS,
    "hil/loop/drives/following.py": ("hil/loop/test_following.py",),
    "hil/loop/observer.py": ("hil/loop/test_observer_step.py", "hil/loop/test_observer.py"),
    "firmware_interface/calibration.py": _CALIBRATION_TESTS,
    "hil/runners/session.py": ("hil/runners/test_session.py",),
    "hil/runners/operator.py": ("hil/runners/test_operator.py",),
    "hil/runners/realtime.py": ("hil/runners/test_realtime_loop.py",),
    "hil/runners/log_sink.py": ("hil/runners/test_log_sink.py",),
    "hil/runners/ring_buffer.py": ("hil/runners/test_ring_buffer.py",),
    "hil/loop/wire_tape.py": ("hil/runners/test_ring_buffer.py",),
    "hil/loop/clock_offset.py": ("hil/loop/test_clock_offset.py",),
    "hil/logs/header.py": ("hil/logs/test_header.py",),
    "hil/logs/writer.py": ("hil/logs/test_log.py",),
    "hil/logs/log.py": ("hil/logs/test_log.py", "hil/logs/test_log_damage.py"),
}
LONG = (  # tests left out: as plain Python they take long, and others notice the same
    "real_bicycle",  # thousands of rows
    "whatever_comes",  # hundreds of rides
    "drift_over_ten_minutes",
    "dies_out_at_the_bandwidth",
    "steady_turn",
    "kick_does_not_disturb",
    "designed_weave",
    "has_not_spoken",  # thousands of ticks
    "come_too_seldom",
    "broken_frames_are_counted",
    "same_angle_at_every_speed",
)
TIMES = 5  # times as long as the tests take without a mutant, of processor time and by the clock
SLACK = 3.0  # s beyond


class Effort(NamedTuple):
    """Time that tests took [s]."""

    cpu: float
    clock: float


class _Mutated(SourceFileLoader):
    """Loads one module from another text."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> Any:
        """The code of the other text."""
        return compile(self.text, self.path, "exec")


class _Finder:
    """Finds the mutated module first."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Ours for the mutated module, nothing for all others."""
        if name != self.module:
            return None
        file = str(ROOT / (name.replace(".", "/") + ".py"))
        return util.spec_from_file_location(name, file, loader=_Mutated(name, file, self.text))


def run_tests(path: str) -> bool:
    """Run the tests of a module in silence; True if all pass."""
    null = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    for stream in (1, 2):
        os.dup2(null, stream)
    tests = [str(ROOT / "tests" / test) for test in TESTS[path] if (ROOT / "tests" / test).exists()]
    options = ["-x", "-q", "-m", "not slow and not realtime"]
    options += [word for plugin in ("cacheprovider", "xdist", "timeout") for word in ("-p", f"no:{plugin}")]
    options += ["-k", f"not ({' or '.join(LONG)})", "--hypothesis-profile=mutants"]
    try:
        return pytest.main([*options, f"--rootdir={ROOT}", *tests]) == 0
    finally:
        for stream, was in zip((1, 2), kept, strict=True):
            os.dup2(was, stream)
        for descriptor in (null, *kept):
            os.close(descriptor)


def users_of(path: str) -> set[str]:
    """Modules that import the module of ``path``, and those that import them."""
    arrows = {module_of(source): set(imported(source)) for source in sources()}
    found, more = set(), {module_of(ROOT / path)}
    while more:
        found |= more
        more = {module for module, wants in arrows.items() if wants & more} - found
    return found


_effort = Effort(0.0, 0.0)  # of this worker's module without a mutant


def prepare(path: str, report: Any) -> None:
    """Make a process ready for the mutants of a module: its tests run once, and then only what sees it is forgotten."""
    global _effort
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uncompile()
    settings.register_profile("mutants", derandomize=True, deadline=None, max_examples=15, database=None)
    passed = run_tests(path)  # loads everything
    forget = users_of(path)
    for name, module in list(sys.modules.items()):
        ours = name.startswith("tests.") and not name.startswith(("tests.tools.mut", "tests.paths"))
        if (name in forget and not hasattr(module, "__path__")) or ours:  # a folder forgotten would lose its files
            del sys.modules[name]
            folder, _, last = name.rpartition(".")
            vars(sys.modules.get(folder, module)).pop(last, None)  # `from folder import module` asks the folder first
    began, cpu = time.monotonic(), _children_cpu()
    passed = passed and not _noticed_by(path, "", "", Effort(600.0, 6000.0))
    _effort = Effort(_children_cpu() - cpu, time.monotonic() - began)
    report.put((passed, _effort))


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _noticed_by(path: str, module: str, text: str, most: Effort) -> str:
    """Whether a test fails with a module of another text ("test"), or takes too long ("time"); empty if neither.

    In a process of its own.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(int(most.clock))
            resource.setrlimit(resource.RLIMIT_CPU, (int(most.cpu), resource.RLIM_INFINITY))
            sys.meta_path.insert(0, _Finder(module, text))  # type: ignore[arg-type]
            code = 0 if run_tests(path) else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU):
        return "time"
    return "test" if status else ""


def outcome(mutant: Mutant) -> tuple[Mutant, str]:
    """A mutant, and what noticed it."""
    most = Effort(*(TIMES * seconds + SLACK for seconds in _effort))
    return mutant, _noticed_by(mutant.path, module_of(ROOT / mutant.path), mutant.text(), most)


def survivors_of(path: str, mutants: list[Mutant], jobs: int, screen: Console) -> list[Mutant] | None:
    """Mutants of one module that no test notices; None if its tests do not pass without a mutant."""
    context = get_context("fork")
    report = context.SimpleQueue()
    jobs = min(jobs, len(mutants))
    with context.Pool(jobs, prepare, (path, report)) as pool, Progress(console=screen, transient=True) as progress:
        shown = progress.add_task(path, total=len(mutants))
        efforts = [report.get() for _ in range(jobs)]
        if not all(passed for passed, _ in efforts):
            return None
        each = max(effort.cpu for _, effort in efforts)
        screen.print(
            f"{path}: {len(mutants)} mutants, tests of {each:.1f} s of processor time: "
            f"at most {len(mutants) * each / jobs / 60:.0f} min on {jobs} idle processors",
            soft_wrap=True,
        )
        alive = []
        for n, (mutant, noticed) in enumerate(pool.imap_unordered(outcome, mutants), 1):
            progress.advance(shown)
            if not screen.is_terminal and n % 50 == 0:
                screen.print(f"{path}: {n} of {len(mutants)}", soft_wrap=True)
            if noticed == "test":
                continue
            if not noticed:
                alive.append(mutant)
            told = "took too long" if noticed else "argued" if reason_for(mutant) else "NOT NOTICED"
            progress.console.print(f"{told}: {mutant.name}", soft_wrap=True, markup=False, highlight=False)
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
