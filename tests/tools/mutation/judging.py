"""Mutants judged inside one run of pytest: collected once, each mutant in a forked process of its own.

Collecting and loading is most of what a quick test costs, and most mutants are noticed by few tests. Only tests that
run the changed statement are asked, those first that have noticed most mutants, then the quick ones.
"""

import gc
import json
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.tools.mutation.changes import Mutant
from tests.tools.mutation.living import Living

_Fixture = tuple[str, str, int]  # where it is known, its name, which of its parameters
TIMES = 5  # times as long as the tests take without a mutant, of processor time and by the clock
SLACK = 3.0  # s beyond
NOTICED, TOO_LONG, ALIVE, NOT_IN_PLACE = "test", "time", "", "not in place"


class Ran(NamedTuple):
    """What a test did without a mutant."""

    passed: bool
    seconds: float  # of processor time
    lines: frozenset[int]  # of the module


class Judge:
    """Plugin of pytest that, instead of running the tests, lets them judge mutants."""

    def __init__(self, path: str, mutants: list[Mutant], jobs: int, tell: Callable[[Mutant, str], None]) -> None:
        self.path, self.mutants, self.jobs, self.tell = path, mutants, jobs, tell
        self.found: dict[Mutant, str] | None = None  # None while the tests do not pass without a mutant
        self.failed = ""  # the test that does not pass without one
        self.seconds = 0.0
        self._lines: set[int] = set()  # of the module, run since the test, or its fixture, began
        self._fixtures: dict[_Fixture, set[int]] = {}  # lines that setting each up runs: for all tests that share it

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Keep the lines that a fixture runs apart: a test that finds it set up depends on them as well."""
        around, self._lines = self._lines, set()
        try:
            return (yield)
        finally:
            key = fixturedef.baseid, fixturedef.argname, request.param_index
            self._fixtures.setdefault(key, set()).update(self._lines)
            around |= self._lines
            self._lines = around

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge every mutant."""
        if session.testsfailed or not session.items:
            self.failed = "they cannot be collected"
            return True
        living = Living(self.path)
        gc.freeze()  # what is there now need not be looked through, and so copied, in every process
        ran = self._without_a_mutant(session, living)
        self.failed = next((item.nodeid for item, was in zip(session.items, ran, strict=True) if not was.passed), "")
        if self.failed:
            return True
        self.seconds = sum(was.seconds for was in ran)
        noticed: Counter[int] = Counter()
        waiting, running = self.mutants[::-1], {}
        self.found = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                header = living.header_of(mutant)
                everywhere = living.is_value(mutant)
                asked = [n for n, was in enumerate(ran) if everywhere or not was.lines.isdisjoint(header)]
                if not asked:  # nothing runs it but the loading of the module, perhaps
                    self._found(mutant, NOT_IN_PLACE)
                    continue
                asked.sort(key=lambda n: (-noticed[n], ran[n].seconds))
                heard, told = os.pipe()
                pid = self._fork(session, living, mutant, asked, sum(ran[n].seconds for n in asked), told)
                os.close(told)
                running[pid] = mutant, heard
            if not running:
                continue
            pid, status = os.wait()
            mutant, heard = running.pop(pid)
            by = _rest_of(heard)
            self._found(mutant, _outcome(status))
            if _outcome(status) == NOTICED and by:
                noticed[int(by)] += 1
        return True

    def _found(self, mutant: Mutant, outcome: str) -> None:
        assert self.found is not None
        self.found[mutant] = outcome
        self.tell(mutant, outcome)

    def _without_a_mutant(self, session: pytest.Session, living: Living) -> list[Ran]:
        """Run all tests once in a forked process, and see which lines of the module each runs."""
        heard, told = os.pipe()
        pid = os.fork()
        if pid == 0:
            ran: list[Ran] = []
            try:
                for item, after in _with_next(session.items):
                    self._lines = set()
                    began = time.process_time()
                    threading.settrace(self._tracer(living.file))
                    sys.settrace(self._tracer(living.file))
                    passed = _passes(item, after)
                    sys.settrace(None)
                    lines = self._lines.union(*(self._fixtures.get(key, ()) for key in _fixtures_of(item)))
                    ran.append(Ran(passed, time.process_time() - began, frozenset(lines)))
                    if not passed:
                        break
                ran += [Ran(True, 0.0, frozenset())] * (len(session.items) - len(ran))
                with os.fdopen(told, "w", encoding="utf-8") as stream:
                    json.dump([(was.passed, was.seconds, sorted(was.lines)) for was in ran], stream)
            finally:
                os._exit(0)
        os.close(told)
        said = _rest_of(heard)
        os.waitpid(pid, 0)
        return [Ran(passed, seconds, frozenset(lines)) for passed, seconds, lines in json.loads(said)]

    def _tracer(self, file: str) -> Callable[..., Any]:
        """A tracer that notes the lines of one file."""

        def inside(frame: Any, event: str, argument: Any) -> Any:
            self._lines.add(frame.f_lineno)
            return inside

        def called(frame: Any, event: str, argument: Any) -> Any:
            return inside if frame.f_code.co_filename == file else None

        return called

    def _fork(
        self,
        session: pytest.Session,
        living: Living,
        mutant: Mutant,
        asked: list[int],
        seconds: float,
        told: int,
    ) -> int:
        """Start a process that puts a mutant in its place and asks tests until one fails; its number.

        Parameters
        ----------
        session
            The collected tests.
        living
            The module.
        mutant
            What is put into it.
        asked
            Places of the tests, in the order in which they are asked.
        seconds
            Processor time that they take without a mutant [s].
        told
            Where to write the place of the test that failed.
        """
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            most = int(TIMES * seconds + SLACK)
            signal.alarm(10 * most)
            used = resource.getrusage(resource.RUSAGE_SELF)
            spent = int(used.ru_utime + used.ru_stime)
            resource.setrlimit(resource.RLIMIT_CPU, (spent + most, resource.RLIM_INFINITY))
            if not living.put(mutant):
                os._exit(3)
            for n, after in _with_next(asked):
                if not _passes(session.items[n], session.items[after] if after is not None else None):
                    os.write(told, str(n).encode())
                    os._exit(1)
            code = 0
        finally:
            os._exit(code)


def _outcome(status: int) -> str:
    """What became of a mutant, by how its process ended."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU):
        return TOO_LONG
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 3):
        return NOT_IN_PLACE if os.WEXITSTATUS(status) else ALIVE
    return NOTICED


def _rest_of(descriptor: int) -> bytes:
    """All that comes until the other end is closed."""
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def _with_next(things: Any) -> Any:
    """Pairs of a thing and the next one."""
    return zip(things, [*things[1:], None], strict=True)


def _passes(item: pytest.Item, after: pytest.Item | None) -> bool:
    """Whether a test passes."""
    failed = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    return item.session.testsfailed == failed


def _fixtures_of(item: Any) -> Iterator[_Fixture]:
    """Fixtures that a test has."""
    places = getattr(getattr(item, "callspec", None), "indices", {})
    for name, found in item._fixtureinfo.name2fixturedefs.items():
        yield found[-1].baseid, name, places.get(name, 0)
