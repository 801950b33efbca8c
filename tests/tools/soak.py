"""`make soak`: half an hour in real time over a pseudo-terminal. Is memory flat, do counters and clocks agree?

A bicycle that is kicked now and then runs under control against its twin in another process, while this
program looks at the memory, threads and open files of both. Exit code 1 if anything grew, was lost or did
not add up. The limits that end a run for lateness are wide here: what is asked for is what creeps in over
time, on whatever computer is at hand; punctuality is the subject of `riderless latency`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table

from riderless.experiments.emulation.workstand import start_twin
from riderless.firmware_interface.twins.virtual_node import Report, VirtualProcess
from riderless.hil.logs.log import Run, read_run
from riderless.hil.loop.clock_offset import OFFSET_WINDOW
from riderless.hil.loop.limits import Limit, Limits
from riderless.hil.loop.states import State
from riderless.hil.rig.rig import Rig
from riderless.hil.runners.replay import replay
from riderless.hil.runners.session import run_realtime
from riderless.models.plant.scenario import Kick, Scenario
from tests.hil.machine import gains, rig_of

LOOK = 5.0  # s between two looks; a short soak looks more often
SETTLE = 60.0  # s until the recorder's ring and tape have been all around, every page of them touched
ENOUGH = 10  # looks from which something can be told
GROWTH = {  # MB an hour
    "controller": 16.0,  # the log's index in memory: 20 batches a second, two chunks each, 87 bytes a chunk
    "twin": 2.0,  # a seventh of a page a second
}
UNSTEADY = 0.5  # MB besides: what an allocator takes and gives back
QUIET = 2.5 * OFFSET_WINDOW  # s without a slip of the twin, after which the loop's map of its clock has settled
LAG = 2  # samples or commands that may be under way at the best of moments


class Held(NamedTuple):
    """What a process holds."""

    resident: int  # kB
    threads: int
    files: int


class Look(NamedTuple):
    """Both processes at one moment: what they hold, and what each says has happened."""

    t: float  # s, since the first look
    row: np.void  # the loop's newest of TICK
    report: Report  # the twin's, taken a little later
    quiet: float  # s, since the twin was last seen to move its schedule
    holds: dict[str, Held]


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    found: str
    good: bool | None  # None: could not be judged


def held(pid: int) -> Held:
    """Memory (exact; that in `status` lags), threads and open files of a process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    resident = next(line.split()[1] for line in rollup.splitlines() if line.startswith("Rss:"))
    return Held(int(resident), len(os.listdir(f"/proc/{pid}/task")), len(os.listdir(f"/proc/{pid}/fd")))


def whole(twin: VirtualProcess) -> Report:
    """The twin's record, read until it did not change while it was read."""
    report = twin.report
    while (again := twin.report) != report:
        report = again
    return report


def machine(rate: float) -> Rig:
    """The emulated rig, patient with a busy computer."""
    why = "a soak outlasts a busy computer"
    patient = Limits(
        stale=Limit(0.2, "s", why),
        late=Limit(rate, "1/s", why),
        seldom=Limit(0.5, "1", why),
        check_timeout=Limit(120.0, "s", why),
    )
    return rig_of(rate=rate, watchdog=0.2, limits=patient)


def kicked(duration: float) -> Scenario:
    """5 m/s and a kick every few seconds, to the right and to the left."""
    times = np.arange(2.0, duration, 5.0)
    return Scenario(speed=((0.0, 5.0),), kicks=tuple(Kick(float(t), 3.0 * (-1) ** i) for i, t in enumerate(times)))


def soak(rig: Rig, duration: float, folder: Path, screen: Console, fifo: int = 0) -> list[Look]:
    """Run for ``duration`` s into ``folder``; what was seen meanwhile."""
    looks: list[Look] = []
    schedule, pause = gains(rig), min(LOOK, duration / 60.0)
    with start_twin(rig, kicked(duration)) as twin, screen.status("soaking") as line:
        began = slipped = time.monotonic()
        slips = 0.0

        def watch(row: np.void) -> None:
            nonlocal slips, slipped
            now, report = time.monotonic(), whole(twin)
            if report.slips != slips:
                slips, slipped = report.slips, now
            t = now - began
            since = t - looks[-1].t if looks else 2.0 * pause
            if since < pause or (since < 2.0 * pause and now - slipped < QUIET):  # better wait for a quiet moment
                return
            holds = {"controller": held(os.getpid()), "twin": held(int(twin.pid or 0))}
            looks.append(Look(t, row, report, now - slipped, holds))
            memory = ", ".join(f"{who} {x.resident / 1024:.1f} MB" for who, x in looks[-1].holds.items())
            line.update(f"soaking {t / 60:.1f} of {duration / 60:g} min, {State(int(row['state'])).name}; {memory}")

        run_realtime(folder, rig, schedule, twin.path, duration, "soak", watch=watch, fifo=fifo)
    return looks


def risen(values: ArrayLike) -> float:
    """Median of the last third less median of the first: two thirds of what a steady growth makes."""
    values = np.asarray(values, float)
    third = max(1, len(values) // 3)
    return float(np.median(values[-third:]) - np.median(values[:third]))


def judged(run: Run, looks: Sequence[Look]) -> list[Finding]:
    """Everything there is to say about a soak."""
    ticks, again = run.ticks, replay(run)
    last, gaps = ticks[-1], int(np.sum(np.diff(ticks["k"].astype(np.int64)) != 1))
    broken = sum(int(last[f"frames_bad_{why}"]) for why in ("crc", "length", "version")) + int(last["bytes_skipped"])
    flagged = int(ticks["late"].sum())
    symptoms = int(np.count_nonzero(ticks["symptoms"][ticks["state"] == State.RUNNING]))
    dropped = int(run.stop.dropped or 0)
    return [
        Finding("the run", f"{run.stop.reason}: {run.stop.cause}", run.stop.reason == "success"),
        Finding("log", run.recovered or f"{len(ticks)} rows, whole", run.complete),
        Finding("tick numbers", f"{gaps} gaps, {dropped} rows dropped", gaps == 0 and dropped == 0),
        Finding("replay", again.difference or f"{again.commands} commands, bit for bit", again.identical),
        Finding("broken frames", str(broken), broken == 0),
        Finding("late ticks", f"{flagged}, {last['ticks_skipped']} beats left out", flagged == last["ticks_late"]),
        Finding("implausible ticks while running", str(symptoms), symptoms == 0),
        samples(looks),
        commands(ticks, looks),
        clocks(run, looks),
        *(memory(who, looks) for who in GROWTH),
    ]


def samples(looks: Sequence[Look]) -> Finding:
    """Sent by the twin less received or missed here: what it sent before we listened, all the time."""
    under_way = [look.report.samples - float(look.row["frames_ok"]) - float(look.row["samples_lost"]) for look in looks]
    third = max(1, len(looks) // 3)
    missing = min(under_way[-third:]) - min(under_way[:third])
    last = looks[-1].row
    text = f"{last['frames_ok']} received, {last['samples_lost']} known to be lost, {missing:g} unaccounted for"
    return Finding("samples of the twin", text, abs(missing) <= LAG if len(looks) >= ENOUGH else None)


def commands(ticks: NDArray, looks: Sequence[Look]) -> Finding:
    """Commands obeyed, as the twin counts them and as its acknowledgements tell.

    A command that comes in before the twin's next instant supersedes the one before it. Between two rows with
    m samples in which the number acknowledged rose by j, the twin has obeyed at least one and at most min(m, j).
    """
    came = np.diff(ticks["frames_ok"].astype(np.int64) + ticks["samples_lost"], prepend=0)
    rose = _rises(ticks["acked_seq"])
    least, most = np.cumsum(rose > 0), np.cumsum(np.minimum(came, rose))
    late = looks[-max(1, len(looks) // 3) :]
    rows = np.searchsorted(ticks["k"], [look.row["k"] for look in late])
    obeyed = np.array([look.report.commands for look in late])
    under_way = min((int(look.row["command_seq"]) - int(look.row["acked_seq"])) & 0xFFFF for look in late)
    adds_up = min(obeyed - least[rows]) >= 0 and min(obeyed - most[rows]) <= LAG and under_way <= LAG
    good = bool(adds_up) if len(looks) >= ENOUGH else None
    given, heard = int(_rises(ticks["command_seq"]).sum()), int(obeyed[-1])
    between = f"{least[rows[-1]]} to {most[rows[-1]]}"
    return Finding("commands", f"{given} given, {heard} obeyed, {between} acknowledged one by one", good)


def _rises(seq: NDArray) -> NDArray:
    """From row to row, of a number of 16 bits that wraps."""
    return np.bitwise_and(np.diff(seq.astype(np.int64), prepend=0), 0xFFFF)


def clocks(run: Run, looks: Sequence[Look]) -> Finding:
    """Device time and host time are one clock here, except where the twin woke too late and moved its schedule.

    The twin knows both times of the instant at which it read a command; the loop estimates their difference from
    the samples alone, over two windows, and is asked when the twin has kept its schedule for longer. The two may drift
    apart by a quarter of a period; medians are compared, for a twin that wakes late now and then makes up for it.
    """
    period = 1.0 / run.header.rig.rate
    running = [look for look in looks if look.row["state"] == State.RUNNING and look.quiet >= QUIET]
    if len(running) < ENOUGH:
        return Finding("device clock against host clock", f"the twin kept time on {len(running)} looks only", None)
    # the age of a command counts from the instant before the one at which it was read
    truth = np.array([look.report.heard_host - look.report.heard_t - period for look in running])
    estimate = np.array([float(look.row["host_offset"]) for look in running])
    apart, span = risen(estimate - truth), running[-1].t - running[0].t
    slips, moved = running[-1].report.slips - running[0].report.slips, truth[-1] - truth[0]
    text = (
        f"{1e3 * apart:+.2f} ms or {1.5e6 * apart / span:+.1f} ppm apart, "
        f"besides {slips:g} slips of the twin, {1e3 * moved:.1f} ms in all"
    )
    return Finding("device clock against host clock", text, abs(apart) <= period / 4)


def memory(who: str, looks: Sequence[Look]) -> Finding:
    """Does a process grow, in memory, threads or files?"""
    holds = [look.holds[who] for look in looks if look.t >= SETTLE]
    if len(holds) < ENOUGH:
        return Finding(f"memory of the {who}", f"a soak of less than {SETTLE / 60 + 1:g} min does not tell", None)
    span = looks[-1].t - SETTLE
    growth = 1.5 * risen([h.resident for h in holds]) / 1024  # MB
    allowed = GROWTH[who] * span / 3600 + UNSTEADY
    threads, files = {h.threads for h in holds}, {h.files for h in holds}
    text = (
        f"{holds[0].resident / 1024:.1f} to {holds[-1].resident / 1024:.1f} MB, {growth:+.1f} MB "
        f"in {span / 60:.0f} min, {allowed:.1f} allowed; {_range(threads)} threads, {_range(files)} files"
    )
    return Finding(f"memory of the {who}", text, growth <= allowed and len(threads) == len(files) == 1)


def _range(values: set[int]) -> str:
    return str(min(values)) if len(values) == 1 else f"{min(values)} to {max(values)}"


def main() -> int:
    """Soak, print what was found, and say so with the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=200.0, help="samples per second")
    parser.add_argument("--fifo", type=int, default=0, help="real-time priority of the loop, 0 for none")
    parser.add_argument("--out", type=Path, help="keep the log in this new folder")
    given = parser.parse_args()
    screen = Console()
    with tempfile.TemporaryDirectory() as root:
        folder = given.out or Path(root) / "run"
        looks = soak(machine(given.rate), 60.0 * given.minutes, folder, screen, given.fifo)
        run = read_run(folder)
        findings = judged(run, looks)
        size = sum(f.stat().st_size for f in folder.iterdir()) / 1e6  # MB
    hours = float(run.ticks["t_host"][-1] - run.ticks["t_host"][0]) / 3600.0
    title = f"{60 * hours:.1f} minutes at {given.rate:g} Hz; the log takes {size / hours:.0f} MB an hour"
    table = Table("what", "found", "verdict", title=title, title_justify="left")
    for finding in findings:
        table.add_row(finding.what, finding.found, {True: "good", False: "NOT GOOD", None: "-"}[finding.good])
    screen.print(table)
    return 1 if any(finding.good is False for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
