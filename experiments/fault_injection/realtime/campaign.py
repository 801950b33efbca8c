"""Fault campaign in real time.

Real processes, signals, disks and terminals, on an emulated bicycle's port. Smaller than the one in simulated time, and
about what that one cannot show: that whatever happens to the program, the computer or the cable, the bicycle's own
record ends at zero torque in time, and the log holds what had happened until then.
"""

import math
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from riderless.experiments.fault_injection.realtime.bench import (
    ControllerProcess,
    Instant,
    NeverCameError,
    RealtimeBench,
)
from riderless.experiments.fault_injection.realtime.controller_process import HESITANT
from riderless.experiments.fault_injection.realtime.faults import (
    REALTIME_FAULTS,
    NotKeptError,
    RealtimeFault,
    When,
    quiet,
)
from riderless.experiments.fault_injection.summary_table import FaultRow
from riderless.firmware_interface.twins.virtual_node import Report
from riderless.hil.logs.log import STOP_KILLED, Run
from riderless.hil.loop.states import State
from riderless.hil.runners.replay import replay
from riderless.models.errors import InputError

# Judge of the real-time faults.

SCHEDULING_TIME = 0.1  # s, that a busy computer may take on top of everything else
LOST_TIME = 0.25  # s of a run that a log may lack
CLOCK_ROUNDING = 1e-6  # s
CUT_REPLAY = "the raw bytes end here"  # how a replay of a run that was killed may end


def _judge_end(fault: RealtimeFault, bench: RealtimeBench, controller: ControllerProcess) -> list[str]:
    """Wait for it and say what is wrong with how it ended: the drive off, the exit code, the sentence."""
    code, wrong = controller.ended(), []
    bench.wait(0.1)  # the drive's own watchdog has the last word
    if not quiet(bench.twin.report):
        wrong.append("the drive is on, or has torque, at the end")
    if fault.code is not None and code != fault.code:
        wrong.append(f"the exit code is {code}, should be {fault.code}")
    output = controller.said
    if "Traceback" in output:
        wrong.append("it ended in a traceback")
    if fault.says and not re.search(fault.says, output):
        wrong.append(f"it said '{output}', should say '{fault.says}'")
    return wrong


def time_to_zero(fault: RealtimeFault, struck: Instant, report: Report, run: Run) -> float:
    """Measure how long there was torque after the strike [s]; where nobody is heard, until the program gave up.

    Parameters
    ----------
    fault : RealtimeFault
    struck : Instant
        Of the strike.
    report : Report
        The bicycle's own record at the end.
    run : Run
        As read back.
    """
    if fault.unheard:
        # from the last good sample until the machine was no longer armed
        ticks = run.ticks
        heard = np.flatnonzero(ticks["valid"])
        given_up = np.flatnonzero(np.isin(ticks["state"], (State.FAULT, State.DISARMED)))
        after = given_up[given_up > heard[-1]] if heard.size else given_up
        return float(ticks["t_host"][after[0]] - ticks["t_host"][heard[-1]]) if after.size and heard.size else math.inf
    if fault.by_device:
        report = struck.report
    if report.zero_host < struck.host:
        return 0.0
    return report.zero_t - report.heard_t if fault.by_device else report.zero_host - struck.host


def _allowed_time(fault: RealtimeFault) -> float:
    """Promised time to zero torque [s]; a busy computer's share is in it, but not in a drive's own."""
    return fault.to_zero if fault.by_device else fault.to_zero + SCHEDULING_TIME


def judge_lateness(fault: RealtimeFault, lasted: float) -> list[str]:
    """Complain if the torque lasted longer [s] than promised."""
    promised = _allowed_time(fault)
    return [f"torque for {lasted:.3f} s, promised {promised:.3f} s"] if lasted > promised + CLOCK_ROUNDING else []


def judge_log(fault: RealtimeFault, struck: Instant, run: Run) -> list[str]:
    """List what is wrong with the log."""
    ticks, wrong = run.ticks, []
    if run.stop.reason != fault.reason:
        wrong.append(f"the log's stop reason is {run.stop.reason}, should be {fault.reason}")
    if fault.reason != STOP_KILLED and not run.complete:
        wrong.append(f"the log is not whole: {run.recovered}")
    if not len(ticks):
        return [*wrong, "the log is empty"]
    if not (np.diff(ticks["k"].astype(np.int64)) == 1).all():
        wrong.append("ticks are missing from the log")
    last = float(ticks["t_host"][-1])
    if last < struck.host - LOST_TIME:
        wrong.append(f"the log ends {struck.host - last:.3f} s before the strike")
    if fault.by_device and fault.reason == STOP_KILLED and struck.report.heard_host - last > LOST_TIME:
        wrong.append(f"the log lacks the last {struck.report.heard_host - last:.3f} s")
    again = replay(run)
    if not (again.identical or (fault.reason == STOP_KILLED and again.difference == CUT_REPLAY)):
        wrong.append(f"the replay differs at tick {again.first}: {again.difference}")
    return wrong


ANSWERING_TORQUE = 1.0  # N m: the answer to a push
MAX_TRIES = 3  # on a computer so busy that the emulated bicycle itself came late
SMALL_DISK_SIZE = "100m"  # room for the planned run, or it is refused


@dataclass(frozen=True)
class _RealtimeCase:
    """One fault at one state; the exact moment is drawn from the seed."""

    seed: int
    index: int
    fault: RealtimeFault
    when: When

    @property
    def replay(self) -> str:
        """Command that plays it again."""
        return f"riderless faults --real-time --seed {self.seed} --case {self.index}"


class _NotPossibleError(Exception):
    """Refusal of this computer to have the fault tried."""


def realtime_cases(seed: int) -> list[_RealtimeCase]:
    """List every fault at every state it is tried at, numbered from 0."""
    places = [(fault, when) for fault in REALTIME_FAULTS for when in fault.at]
    return [_RealtimeCase(seed, index, fault, when) for index, (fault, when) in enumerate(places)]


def realtime_case(seed: int, index: int) -> _RealtimeCase:
    """Find case number ``index``.

    Raises
    ------
    InputError
    """
    cases = realtime_cases(seed)
    if not 0 <= index < len(cases):
        raise InputError(
            f"the real-time cases are numbered from 0 to {len(cases) - 1}, found {index}: name one of them"
        )
    return cases[index]


def run_realtime_cases(cases: Iterable[_RealtimeCase], folder: Path) -> list[FaultRow]:
    """Play cases one after the other on one bicycle, and make one row for each fault."""
    rows: dict[str, list[FaultRow]] = {}
    with ExitStack() as stack:
        bench: RealtimeBench | None = None
        for case in cases:
            bench = bench or stack.enter_context(RealtimeBench(folder, case.seed))
            rows.setdefault(case.fault.name, []).append(run_realtime_case(case, folder, bench))
    return [merge_rows(of_fault) for of_fault in rows.values()]


def run_realtime_case(case: _RealtimeCase, folder: Path, bench: RealtimeBench | None = None) -> FaultRow:
    """Play and judge one case.

    Parameters
    ----------
    folder : Path
        For what it leaves behind.
    bench : RealtimeBench
        The bicycle to play it on; one of its own by default.
    """
    if bench is None:
        with RealtimeBench(folder, case.seed) as own:
            return run_realtime_case(case, folder, own)
    for _ in range(MAX_TRIES):
        slips = bench.twin.report.slips
        row = _played(case, bench)
        if not row.violations or bench.twin.report.slips <= slips:
            break
    return row


def merge_rows(rows: Sequence[FaultRow]) -> FaultRow:
    """Merge the rows of one fault into one."""
    outcomes: Counter[str] = Counter()
    for row in rows:
        outcomes.update(dict(row.outcomes))
    times = [row.worst for row in rows if math.isfinite(row.worst)]
    return FaultRow(
        fault=rows[0].fault,
        cases=sum(row.cases for row in rows),
        outcomes=tuple(outcomes.most_common()),
        worst=max(times, default=math.nan),
        promise=rows[0].promise,
        log_intact=all(row.log_intact for row in rows),
        violations=tuple(violation for row in rows for violation in row.violations),
    )


def _played(case: _RealtimeCase, bench: RealtimeBench) -> FaultRow:
    fault, root = case.fault, bench.visit()
    outcome, lasted, wrong, missing = "did not end", math.nan, list[str](), list[str]()
    with ExitStack() as stack:
        try:
            if fault.small_disk:
                _mount(root / "runs", stack)
            spoil = HESITANT if case.when is When.ARMED else fault.spoil
            controller = bench.control(root, spoil, fault.terminal)
            stack.callback(controller.stop)
            _reach(case, bench, controller)
            struck = fault.strike(bench, controller)
            wrong = _judge_end(fault, bench, controller)
            run, report = controller.run, bench.twin.report
            outcome = run.stop.reason
            lasted = time_to_zero(fault, struck, report, run)
            wrong += judge_lateness(fault, lasted)
            missing = judge_log(fault, struck, run)
        except _NotPossibleError as reason:
            return FaultRow(fault.name, 0, ((f"not tried: {reason}", 1),), lasted, _promise(fault), True)
        except (NeverCameError, NotKeptError, InputError) as problem:
            wrong.append(str(problem))
    complaints = "; ".join([*wrong, *missing])
    violations = (f"{fault.name} ({case.when}): {complaints}: {case.replay}",) if complaints else ()
    return FaultRow(fault.name, 1, ((outcome, 1),), lasted, _promise(fault), not missing, violations)


def _promise(fault: RealtimeFault) -> str:
    counted = " by its own clock" if fault.by_device else ""
    return f"{'gives up' if fault.unheard else 'stops'} in {1e3 * _allowed_time(fault):.0f} ms{counted}"


def _reach(case: _RealtimeCase, bench: RealtimeBench, controller: ControllerProcess) -> None:
    """Wait for the state at which the fault strikes, by the bicycle's own record, and a little longer."""
    before, draw = bench.twin.report, np.random.default_rng([case.seed, case.index])

    def tested(report: Report) -> bool:
        return report.watchdog_trips > before.watchdog_trips and report.enabled == 1.0

    match case.when:
        case When.STREAM:
            bench.until("the first command", lambda r: r.commands > before.commands, controller)
            bench.wait(draw.uniform(0.1, 0.7))
        case When.WITHHOLD:
            bench.until("the drive on for its proof", lambda r: r.enabled == 1.0, controller)
        case When.ARMED:
            bench.until("the drive on after its proof", tested, controller)
            bench.wait(draw.uniform(0.05, 0.3))
        case When.KICK | When.RAMPDOWN:
            bench.until("the answer to a push", lambda r: tested(r) and abs(r.T) > ANSWERING_TORQUE, controller)
            bench.wait(draw.uniform(0.0, 0.02))
    if case.when is When.RAMPDOWN:
        controller.signal(signal.SIGINT)
        bench.wait(draw.uniform(0.05, 0.12))


def _mount(folder: Path, stack: ExitStack) -> None:
    """Mount a small disk in memory at ``folder``, until the case is over."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_SIZE}", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode != 0:
        raise _NotPossibleError("no right to mount a disk")
    stack.callback(lambda: subprocess.run(["umount", folder], check=True))
