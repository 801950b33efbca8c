"""A forked process that reads mutants one after the other, within bounds of memory and time, and keeps what it finds.

Right is that a file is read, or refused by the project's own error in one line. Anything else is a finding: another
exception, a sentence that is none, too much memory or time; that the process died or hangs, its parent sees.
"""

import faulthandler
import json
import mmap
import os
import resource
import signal
import struct
import sys
import traceback
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any, NamedTuple

from tests.paths import ROOT
from tests.tools.fuzz_files.readers import OWN_ERRORS, READERS

MOST_SECONDS = 10.0  # of processor time, a mutant
USUAL_SIZE = 200_000_000  # bytes, of a process of its own that has imported the readers
MOST_MEMORY = 500_000_000  # bytes resident, the interpreter and its libraries included
MOST_ADDRESSES = 3_000_000_000  # bytes of address space beyond what the process begins with
KEPT_OF_A_KIND = 2
_COUNTERS = struct.Struct("<qqqq")  # mutant at hand, read, refused, found


class Finding(NamedTuple):
    """What went wrong with one mutant; ``place`` tells kinds of findings apart."""

    reader: str
    number: int
    place: str
    words: str
    file: str = ""


class TooSlowError(BaseException):
    """More processor time than `MOST_SECONDS`; no reader may catch it."""


class Counters:
    """Numbers that a worker writes and its parent reads, also after the worker's death."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _COUNTERS.size)

    def get(self) -> tuple[int, int, int, int]:
        return _COUNTERS.unpack(self._memory[: _COUNTERS.size])

    def set(self, *values: int) -> None:
        self._memory[: _COUNTERS.size] = _COUNTERS.pack(*values)


def random_of(seed: int, reader: str, number: int) -> Random:
    """All chance of one mutant."""
    return Random(f"{seed} {reader} {number}")


def mutant(seed: int, reader: str, number: int) -> bytes:
    """Make a mutant, always the same from its seed and number."""
    return READERS[reader].make(random_of(seed, reader, number))


def read_mutants(reader: str, seed: int, numbers: range, counters: Counters, keep: Path, folder: Path) -> list[Finding]:
    """Read mutants within bounds; findings, with the file of the first few of each kind."""
    READERS[reader].prepare(folder)
    _set_bounds()
    found: list[Finding] = []
    kinds: dict[str, int] = {}
    read = refused = 0
    for number in numbers:
        counters.set(number, read, refused, len(found))
        rng = random_of(seed, reader, number)
        data = READERS[reader].make(rng)
        outcome = read_one(reader, data, rng, folder)
        if isinstance(outcome, bool):
            read, refused = read + outcome, refused + (not outcome)
            continue
        place, words = outcome
        kinds[place] = kinds.get(place, 0) + 1
        file = ""
        if kinds[place] <= KEPT_OF_A_KIND:
            keep.mkdir(parents=True, exist_ok=True)
            file = str(keep / f"{reader}-{seed}-{number}{READERS[reader].suffix}")
            Path(file).write_bytes(data)
        found.append(Finding(reader, number, place, words, file))
        if place.startswith("memory"):  # what a process once had it counts for ever
            numbers = range(number + 1, numbers.stop)
            break
    counters.set(
        numbers.stop if not found or not found[-1].place.startswith("memory") else numbers.start,
        read,
        refused,
        len(found),
    )
    return found


def read_one(reader: str, data: bytes, rng: Random, folder: Path) -> bool | tuple[str, str]:
    """Read one mutant: True where it was read, False where it was refused, else the place and words of a finding."""
    path = folder / f"mutant{READERS[reader].suffix}"
    path.write_bytes(data)
    read, before = False, _seconds_apart()
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        try:
            steps = READERS[reader].steps(path, rng)
        except OWN_ERRORS as error:
            return _sentence(error) or False
        for step in steps:
            try:
                step()
                read = True
            except OWN_ERRORS as error:
                if bad := _sentence(error):
                    return bad
    except TooSlowError as error:
        return f"slow: {place_of(error)}", f"more than {MOST_SECONDS:g} s of processor time"
    except Exception as error:
        return place_of(error), f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    if (seconds := _seconds_apart() - before) > MOST_SECONDS:
        return "slow: a process of its own", f"{seconds:.1f} s of processor time"
    if (peak := _most_resident() - _began_with) > MOST_MEMORY:
        return "memory", f"{peak / 1e6:.0f} MB resident"
    return read


def _sentence(error: BaseException) -> tuple[str, str] | None:
    """What is wrong with a refusal, if anything; that it stays on a line and is not too long, the way out sees to."""
    text = str(error)
    if not text.strip():
        return f"no words: {place_of(error)}", type(error).__name__
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError):
            return f"memory refused only by the bound: {place_of(error)}", text[:300]
        seen = seen.__cause__ or seen.__context__
    return None


def place_of(error: BaseException) -> str:
    """Kind of an error, and the innermost line of ours that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if f.filename.startswith(str(ROOT)) and "/tests/tools/" not in f.filename]
    frame = ours[-1] if ours else frames[-1]
    inside = "" if frame is frames[-1] else f" in {Path(frames[-1].filename).name}"
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno} {frame.name}{inside}"


def fork_worker(reader: str, seed: int, numbers: range, counters: Counters, keep: Path, told: Path) -> int:
    """Start a worker in a folder of its own beside ``told``, the file to which its findings go, a line of JSON each."""
    counters.set(numbers.start, 0, 0, 0)
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        faulthandler.disable()  # a reader's own process may die, which is what is looked for
        sys.stdout.flush()
        folder = Path(mkdtemp(dir=told.parent))
        found = read_mutants(reader, seed, numbers, counters, keep, folder)
        with told.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(finding) + "\n" for finding in found)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


_began_with = 0  # bytes resident of the process that was forked: a test runner may be large


def _most_resident() -> int:
    """Largest resident size so far [bytes], of this process or of one that read for it."""
    return 1024 * max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _seconds_apart() -> float:
    """Processor time of the processes that have read for this one [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _set_bounds() -> None:
    """Bound addresses, for what asks for terabytes; processor time is bounded for each mutant."""
    global _began_with
    _began_with = max(_most_resident() - USUAL_SIZE, 0)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_ADDRESSES, size + MOST_ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _too_slow)


def _too_slow(*_: Any) -> None:
    raise TooSlowError


def in_memory() -> str | None:
    """Folder for short-lived files, in memory where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
