"""`make fuzz`, second half: mutants of every kind of file that is read, each the same again from its seed.

    python -m tests.tools.fuzz_files --mutants 1e5            # of each reader
    python -m tests.tools.fuzz_files --mutants 1e4 --only log,rig --seed 7 --keep found
    python -m tests.tools.fuzz_files --again log 1 4711       # one mutant of seed 1, with its traceback

A worker reads hundreds of mutants in one process. Files of findings are kept; exit code 1 where there are any.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.tools.fuzz_files.readers import READERS
from tests.tools.fuzz_files.worker import Counters, Finding, fork_worker, in_memory, mutant, random_of

BATCH = 1000  # mutants a worker reads before it is replaced
PATIENCE = 300.0  # s without a new mutant until a worker is taken to hang in a library
_LOOK = 0.02  # s


def fuzz_reader(reader: str, mutants: int, seed: int, jobs: int, keep: Path) -> tuple[Counter[str], list[Finding]]:
    """Read mutants of one kind in forked workers; how many were read and refused, and the findings."""
    counts: Counter[str] = Counter()
    found: list[Finding] = []
    waiting = [range(a, min(a + BATCH, mutants)) for a in range(0, mutants, BATCH)][::-1]
    running: dict[int, tuple[range, Counters, list[float]]] = {}
    with TemporaryDirectory(dir=in_memory()) as name:
        told = Path(name) / "found"
        while waiting or running:
            while waiting and len(running) < jobs:
                numbers, counters = waiting.pop(), Counters()
                pid = fork_worker(reader, seed, numbers, counters, keep, told)
                running[pid] = numbers, counters, [time.monotonic(), numbers.start]
            time.sleep(_LOOK)
            for pid, (numbers, counters, seen) in list(running.items()):
                at, read, refused, _ = counters.get()
                if at != seen[1]:
                    seen[:] = time.monotonic(), at
                elif time.monotonic() - seen[0] > PATIENCE:
                    os.kill(pid, signal.SIGKILL)
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended:
                    continue
                del running[pid]
                at, read, refused, _ = counters.get()
                counts.update(read=read, refused=refused, mutants=min(at, numbers.stop) - numbers.start)
                if status:
                    found.append(_lost(reader, seed, at, status, keep))
                    counts["mutants"] += 1
                    at += 1
                if at < numbers.stop:
                    waiting.append(range(at, numbers.stop))
        if told.exists():
            found += [Finding(*json.loads(line)) for line in told.read_text(encoding="utf-8").splitlines()]
    return counts, found


def _lost(reader: str, seed: int, number: int, status: int, keep: Path) -> Finding:
    """Finding of a mutant whose worker died or was ended because it hung."""
    keep.mkdir(parents=True, exist_ok=True)
    file = keep / f"{reader}-{seed}-{number}{READERS[reader].suffix}"
    file.write_bytes(mutant(seed, reader, number))
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
    return Finding(reader, number, f"worker ended by {how}", "the process died or hung", str(file))


def show(reader: str, counts: "Counter[str]", found: list[Finding], seconds: float) -> None:
    """Print a line for a reader, and each kind of finding with its file."""
    print(
        f"{reader:14s} {counts['mutants']:7d} mutants: {counts['read']:7d} read, {counts['refused']:7d} refused, "
        f"{len(found):5d} findings; {seconds:.0f} s",
        flush=True,
    )
    kinds: dict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        kinds[finding.place].append(finding)
    for place, some in sorted(kinds.items(), key=lambda item: -len(item[1])):
        kept = next((one.file for one in some if one.file), "")
        print(f"    {len(some):5d} {place}\n          {some[0].words[:160]}\n          {kept}", flush=True)


def again(reader: str, seed: int, number: int) -> None:
    """Read one mutant without a net: what it raises is seen."""
    with TemporaryDirectory() as name:
        folder, rng = Path(name), random_of(seed, reader, number)
        READERS[reader].prepare(folder)
        path = folder / f"mutant{READERS[reader].suffix}"
        path.write_bytes(READERS[reader].make(rng))
        for step in READERS[reader].steps(path, rng):
            print(step())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=float, default=1e5, help="of each reader")
    parser.add_argument("--only", default=",".join(READERS), help="readers, with commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz_found"), help="folder for files of findings")
    parser.add_argument("--again", nargs=3, metavar=("READER", "SEED", "NUMBER"), help="read one mutant")
    given = parser.parse_args()
    if given.again:
        again(given.again[0], int(given.again[1]), int(given.again[2]))
        return 0
    bad = 0
    for reader in given.only.split(","):
        begun = time.monotonic()
        counts, found = fuzz_reader(reader, int(given.mutants), given.seed, given.jobs, given.keep)
        show(reader, counts, found, time.monotonic() - begun)
        bad += len(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
