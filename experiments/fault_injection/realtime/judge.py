"""Judge of the real-time faults.

A promise is judged by the bicycle's own record and the log as read back.
"""

import math
import re

import numpy as np

from riderless.experiments.fault_injection.realtime.bench import ControllerProcess, Instant, RealtimeBench
from riderless.experiments.fault_injection.realtime.faults import RealtimeFault, quiet
from riderless.firmware_interface.twins.virtual_node import Report
from riderless.hil.logs.log import STOP_KILLED, Run
from riderless.hil.loop.states import State
from riderless.hil.runners.replay import replay

SCHEDULING_TIME = 0.1  # s, that a busy computer may take on top of everything else
LOST_TIME = 0.25  # s of a run that a log may lack
CLOCK_ROUNDING = 1e-6  # s
CUT_REPLAY = "the raw bytes end here"  # how a replay of a run that was killed may end


def judge_end(fault: RealtimeFault, bench: RealtimeBench, controller: ControllerProcess) -> list[str]:
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


def allowed_time(fault: RealtimeFault) -> float:
    """Promised time to zero torque [s]; a busy computer's share is in it, but not in a drive's own."""
    return fault.to_zero if fault.by_device else fault.to_zero + SCHEDULING_TIME


def judge_lateness(fault: RealtimeFault, lasted: float) -> list[str]:
    """Complain if the torque lasted longer [s] than promised."""
    promised = allowed_time(fault)
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
