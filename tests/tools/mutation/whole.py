"""Mutants judged from the beginning: a process in which the module and all that imports it are loaded anew.

Slower than `tests.tools.mutation.judging`, and told are changes that work while a module is loaded.
"""

import ast
import os
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

from tests.paths import ROOT
from tests.sources import imported, module_of, sources, tree
from tests.tools.mutation.changes import Mutant
from tests.tools.mutation.judging import SLACK, TIMES
from tests.tools.mutation.plan import LONG, TESTS
from tests.tools.mutation.uncompiled import uncompile


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


def options_of(path: str) -> list[str]:
    """Options of pytest, and the tests of a module."""
    tests = [str(ROOT / "tests" / test) for test in TESTS[path] if (ROOT / "tests" / test).exists()]
    options = ["-q", "-m", "not slow and not realtime", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout"]
    return [*options, "-k", f"not ({' or '.join(LONG)})", "--hypothesis-profile=mutants", f"--rootdir={ROOT}", *tests]


def plain() -> None:
    """Make a process ready: nothing of ours is compiled, tests that draw examples draw few."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uncompile()
    settings.register_profile("mutants", derandomize=True, deadline=None, max_examples=15, database=None)


def run_tests(path: str) -> bool:
    """Run the tests of a module in silence; True if all pass."""
    null = os.open(os.devnull, os.O_WRONLY)
    kept = os.dup(1), os.dup(2)
    for stream in (1, 2):
        os.dup2(null, stream)
    try:
        return pytest.main(["-x", *options_of(path)]) == 0
    finally:
        for stream, was in zip((1, 2), kept, strict=True):
            os.dup2(was, stream)
        for descriptor in (null, *kept):
            os.close(descriptor)


def users_of(path: str) -> set[str]:
    """Modules that import the module of ``path``, and those that import them."""
    files = {module_of(source): source for source in sources()}
    arrows = {module: set(imported(ast.walk(tree(file)), files)) for module, file in files.items()}
    found, more = set(), {module_of(ROOT / path)}
    while more:
        found |= more
        more = {module for module, wants in arrows.items() if wants & more} - found
    return found


_effort = Effort(0.0, 0.0)  # of this worker's module without a mutant


def prepare(path: str, report: Any) -> None:
    """Make a process ready for the mutants of a module: its tests run once, and then only what sees it is forgotten."""
    global _effort
    plain()
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


def noticed_anew(path: str, mutants: list[Mutant], jobs: int) -> list[tuple[Mutant, str]] | None:
    """Mutants of one module, and what noticed each; None if its tests do not pass without a mutant."""
    context = get_context("fork")
    report = context.SimpleQueue()
    jobs = min(jobs, len(mutants))
    with context.Pool(jobs, prepare, (path, report)) as pool:
        reports = [report.get() for _ in range(jobs)]  # one of each process
        if not all(passed for passed, _ in reports):
            return None
        return list(pool.imap_unordered(outcome, mutants))
