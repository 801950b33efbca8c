"""Judge of a case: promise kept or broken.

By the rows of the log and the drive's own record, not by the supervisor. What is demanded of every case, whatever the
fault:

* it ends in DISARMED or FAULT with the drive off and no torque, and a FAULT has a cause that is one;
* the drive was never asked for more torque, nor for a faster change of it, than the limits allow, and for
  none but while the machine was RUNNING or in RAMPDOWN;
* once a cause was kept the torque was gone within the time of a ramp, or at once if it had to be at once;
* a bicycle that truly leans beyond the limit, whatever its sensors say, gets no torque for longer than `LEANING_TIME`;
* no wheel leaves the belt under torque, where there is one and something aboard shows the fault;
* no command that is old, recorded, repeated or forged moved the drive for longer than `OLD_COMMAND_TIME`;
* the log's rows follow one another without a gap, from the first to the last, the onset among them.

And of the fault: that it was ridden through or noticed in time, and named, as its `Threat` promises; of a set of
faults, see `promises`.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from riderless.experiments.fault_injection.cases import FaultCase
from riderless.experiments.fault_injection.danger import (
    LEANING_TIME,
    NO_DANGER,
    NO_TORQUE,
    OLD_COMMAND_TIME,
    Danger,
    farthest_under_torque,
    last_torque,
    measure_danger,
)
from riderless.experiments.fault_injection.promises import (
    NO_WATCHDOG,
    TIME_ROUNDING,
    first_cause,
    judge_fault,
    judge_set,
    slack_of,
    undefended,
)
from riderless.experiments.fault_injection.simulate import CASE_LIMITS, Played, task_of
from riderless.experiments.fault_injection.threats.fault_list import family
from riderless.experiments.fault_injection.threats.fault_spec import AT_ONCE_CAUSES, SAMPLE_PERIOD, TIME_TO_ZERO
from riderless.hil.logs.header import new_header
from riderless.hil.logs.log import RunWriter, read_run
from riderless.hil.loop.limits import COMMAND_LIMITS, Limits
from riderless.hil.loop.states import Cause, State
from riderless.hil.runners.log_sink import Keeper
from riderless.hil.runners.replay import replay

# Check of a case's log on disk.

WRITTEN_EVERY = 41  # cases of which one is written: often enough to meet every threat in a campaign of thousands


def is_written(case: FaultCase) -> bool:
    """Choose the cases whose log goes to disk and comes back; the choice walks through all threats."""
    return not case.code and case.index % WRITTEN_EVERY == case.seed % WRITTEN_EVERY


def check_written_log(case: FaultCase, played: Played) -> list[str]:
    """Write the log of a case, read and replay it, and list what is wrong; nothing, if all is well."""
    with TemporaryDirectory() as folder:
        run = read_run(_write(Path(folder) / "run", case, played))
        wrong = []
        if not run.complete:
            wrong.append(f"the log is not complete: {run.recovered}")
        if not np.array_equal(run.ticks.view(np.uint8), played.rows.view(np.uint8)):
            wrong.append("the rows read are not the rows written")
        if b"".join(run.tapes.values()) != b"".join(played.tapes):
            wrong.append("the bytes read are not the bytes written")
        again = replay(run)
        if not again.identical or again.ticks != len(played.rows):
            wrong.append(f"the replay differs at tick {again.first}: {again.difference}")
    return wrong


def _write(folder: Path, case: FaultCase, played: Played) -> Path:
    assert played.calibration is not None, "a session that was refused has no log"
    head = new_header(
        played.rig,
        played.schedule,
        played.calibration,
        runner="lockstep",
        simulated=True,
        task=task_of(case, played.rig),
    )
    with RunWriter(folder, head, simulated=True) as writer:
        keep = Keeper(writer)
        for first, last, tape in zip(played.looks, [*played.looks[1:], len(played.rows)], played.tapes, strict=True):
            keep(played.rows[first:last], np.frombuffer(tape, np.uint8))
        writer.close("fault" if case.all_faults else "success", case.name)
    return folder


QUIET_TIME = 0.2  # s, at the end of a case, in which there must be no torque at all
TORQUE_ROUNDING = 1.01e-3  # N m: two values in whole mN m
LATE_TICKS = (
    7  # ticks from the end of control until the drive must ask for nothing: two, and its watchdog's if they are lost
)
REFUSED = "refused"
NO_FAULTS = (Cause.NONE, Cause.OPERATOR_STOP, Cause.OPERATOR_OFF)
NOT_SEEN = "nothing aboard shows this fault"


@dataclass(frozen=True)
class CaseResult:
    """Outcome of a case, and the promises that it broke."""

    index: int
    threat: str
    outcome: str  # RODE, REFUSED or the name of the cause
    to_zero: float  # s from the moment the fault met a bicycle under control until the torque was gone; NaN if none
    complaints: tuple[str, ...]  # every promise that was broken, in words
    log_intact: bool
    danger: Danger = NO_DANGER
    families: str = ""  # of its threats, in the order of the alphabet
    declared: str = ""  # why its torque is beyond any program; empty for almost every case


def judge_case(case: FaultCase, played: Played, limits: Limits = CASE_LIMITS) -> CaseResult:
    """Judge whether a case kept every promise; ``limits`` are those promised, whatever it was played with."""
    refusal = any(part.threat.refused for part in case.parts)
    if played.refused:
        unjust = () if refusal else (f"refused: {played.refused}",)
        return CaseResult(case.index, case.name, REFUSED, math.nan, unjust, True, families=_families(case))
    gaps, declared, danger = _log(case, played), undefended(case), NO_DANGER
    outcome, to_zero, wrong = judge_set(case, played) if case.others else judge_fault(case, played)
    complaints = [*wrong, *_bounds(case, played, limits, declared)]
    complaints += _end(played, declared)
    if not declared:
        danger = measure_danger(played, limits.lean.value)
        if danger.leaning > LEANING_TIME and all(part.threat.unseen for part in case.parts):
            declared = NOT_SEEN
        complaints += _belt(case, played)
        complaints += [*_answer(case, played, limits), *_dangers(danger, declared)]
    if refusal:
        complaints.append("was armed, and should have been refused")
    return CaseResult(
        case.index, case.name, outcome, to_zero, (*complaints, *gaps), not gaps, danger, _families(case), declared
    )


def _families(case: FaultCase) -> str:
    return " + ".join(sorted(family(part.threat) for part in case.parts))


def _end(played: Played, declared: str) -> list[str]:
    """Demand a safe end: off and without torque."""
    diary, state, wrong = played.diary, State(int(played.rows["state"][-1])), []
    if state not in (State.DISARMED, State.FAULT):
        wrong.append(f"ended in {state.name}")
    cause = Cause(int(played.rows["cause"][-1]))
    if state is State.FAULT and cause in NO_FAULTS:
        wrong.append(f"ended in FAULT with the cause {cause.name}")
    if diary["on"][-1] and declared != NO_WATCHDOG:
        wrong.append("the drive is on at the end")
    if not declared and np.abs(diary["T"][diary["t"] > diary["t"][-1] + SAMPLE_PERIOD - QUIET_TIME]).max() > NO_TORQUE:
        wrong.append("there is torque at the end")
    return wrong


def _dangers(danger: Danger, declared: str) -> list[str]:
    """Demand no torque for long if the bicycle truly leant too far, and none by old commands."""
    wrong = []
    if danger.leaning > LEANING_TIME and not declared:
        wrong.append(f"torque for {danger.leaning:.3f} s beyond the limit of lean")
    if danger.old > OLD_COMMAND_TIME + TIME_ROUNDING:
        wrong.append(f"torque for {danger.old:.3f} s by commands of which none was new")
    return wrong


def _belt(case: FaultCase, played: Played) -> list[str]:
    """Demand that no wheel left the belt under torque, unless nothing aboard shows the fault."""
    place = played.rig.place
    if place is None or place.belt_width is None or any(part.threat.unseen for part in case.parts):
        return []
    farthest = farthest_under_torque(played)
    return [f"a wheel was {farthest:.2f} m from the middle of the belt"] if farthest > 0.5 * place.belt_width else []


def _bounds(case: FaultCase, played: Played, limits: Limits, declared: str) -> list[str]:
    """Demand that the drive was asked for torque within the limits, and only under control."""
    diary, state, wrong = played.diary.copy(), played.rows["state"], []
    for part in case.parts:
        if part.threat.obeyed > 0.0:
            since = diary["t"] - part.onset
            diary["T_asked"][(since >= 0.0) & (since <= part.threat.obeyed + TIME_ROUNDING)] = 0.0
    torque = diary["T_asked"]
    kind = case.options.drive
    most, change = (getattr(limits, name) for name in COMMAND_LIMITS[kind])
    worst = float(np.abs(torque).max())
    if worst > most.value + TORQUE_ROUNDING:
        wrong.append(f"the drive was asked for {worst:.3f} {most.unit}")
    rate = _fastest_change(diary)
    if rate * SAMPLE_PERIOD > change.value * SAMPLE_PERIOD + TORQUE_ROUNDING:
        wrong.append(f"the drive was asked to change by {rate:.0f} {change.unit}")
    if declared == NO_WATCHDOG or kind == "angle":  # armed, an angle drive is told where the bars are held
        return wrong
    under_control = np.isin(state, (State.RUNNING, State.RAMPDOWN))
    late = LATE_TICKS + math.ceil(slack_of(case) / SAMPLE_PERIOD)
    lately = np.convolve(under_control, np.ones(late + 1))[: len(state)] > 0  # a command may be under way
    if np.any((np.abs(torque) > 0.0) & ~lately):
        wrong.append("the drive was asked for torque outside RUNNING and RAMPDOWN")
    return wrong


def _fastest_change(diary: NDArray) -> float:
    """Find the fastest change between two commands that the drive obeyed [N m/s], other than switching off.

    The change is shared out among the periods and the commands between them, lost ones included.
    """
    new = np.flatnonzero(np.diff(diary["command_seq"], prepend=-1))
    torque, on, seq = (diary[name][new] for name in ("T_asked", "on", "command_seq"))
    steps = np.maximum(np.diff(new), np.abs((np.diff(seq) + 2**15) % 2**16 - 2**15))
    both = (on[1:] == 1) & (on[:-1] == 1) & (torque[1:] != 0.0)
    rates = np.abs(np.diff(torque)) / (steps * SAMPLE_PERIOD)
    return float(rates[both].max(initial=0.0))


def _answer(case: FaultCase, played: Played, limits: Limits) -> list[str]:
    """Demand that the torque was gone in time, once a cause was kept."""
    cause, k = first_cause(played)
    if cause is Cause.NONE:
        return []
    allowed = slack_of(case) + TIME_TO_ZERO + (0.0 if cause in AT_ONCE_CAUSES else limits.ramp.value)
    took = last_torque(played) - float(played.rows["t_host"][k])
    return (
        [f"torque for {took:.3f} s after {cause.name}, allowed {allowed:.3f} s"]
        if took > allowed + TIME_ROUNDING
        else []
    )


def _log(case: FaultCase, played: Played) -> list[str]:
    """Demand every row and its bytes, the onset among them; some logs go to disk and back."""
    rows, wrong = played.rows, []
    if not np.array_equal(rows["k"], np.arange(1, len(rows) + 1)):
        wrong.append("rows are missing from the log")
    onset, (cause, k) = min(part.onset for part in case.parts), first_cause(played)
    ended_before = cause is not Cause.NONE and rows["t_host"][k] < onset
    if not (rows["t_host"][0] <= onset <= rows["t_host"][-1] or ended_before):
        wrong.append("the log does not hold the onset")
    if sum(map(len, played.tapes)) != int(rows["n_wire"].sum()):
        wrong.append("bytes are missing from the log")
    return [*wrong, *(check_written_log(case, played) if is_written(case) else [])]
