"""Judge of a case: was the promise kept, by the rows of the log and the drive's own record, not by the supervisor?

What is demanded of every case, whatever the fault:

* it ends in DISARMED or FAULT with the drive off and no torque;
* the drive was never asked for more torque, nor for a faster change of it, than the limits allow, and for
  none but while the machine was RUNNING or in RAMPDOWN;
* once a cause was kept the torque was gone within the time of a ramp, or at once if it had to be at once;
* a bicycle that truly leans beyond the limit, whatever its sensors say, gets no torque for longer than `LEANING_TIME`;
* the log's rows follow one another without a gap, from the first to the last, the onset among them.

And of the fault: that it was ridden through or noticed in time, and named, as its `Threat` promises.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.studies.fault_injection.cases import END_AT, STOP_AT, FaultCase
from experiments.studies.fault_injection.fault_spec import AT_ONCE_CAUSES, GROSS_TIME, SAMPLE_PERIOD, TIME_TO_ZERO
from experiments.studies.fault_injection.log_check import check_written_log, is_written
from experiments.studies.fault_injection.simulate import CASE_LIMITS, Played
from hil.loop.limits import Limits
from hil.loop.states import Cause, State

NO_TORQUE = 0.07  # N m: a hundredth of the limit; static friction of a head set is more
QUIET_TIME = 0.2  # s, at the end of a case, in which there must be no torque at all
LEANING_TIME = 0.5  # s
TORQUE_ROUNDING = 1.01e-3  # N m: two values in whole mN m
TIME_ROUNDING = 1e-9  # s
LATE_TICKS = (
    7  # ticks from the end of control until the drive must ask for nothing: two, and its watchdog's if they are lost
)
EARLY_CAUSES = frozenset(  # what may keep a bicycle from coming under control, besides the names of the fault
    {cause for cause in Cause if cause.name.startswith("CHECK_")}
    | {Cause.OPERATOR_STOP, Cause.OPERATOR_OFF, Cause.LEAN_LIMIT, Cause.STEER_LIMIT}
)
RODE_THROUGH, REFUSED = "rode through", "refused"


@dataclass(frozen=True)
class CaseResult:
    """Outcome of a case, and the promises that it broke."""

    index: int
    threat: str
    outcome: str  # RODE, REFUSED or the name of the cause
    to_zero: float  # s from the moment the fault met a bicycle under control until the torque was gone; NaN if none
    complaints: tuple[str, ...]  # every promise that was broken, in words
    log_intact: bool


def judge_case(case: FaultCase, played: Played, limits: Limits = CASE_LIMITS) -> CaseResult:
    """Judge whether a case kept every promise; ``limits`` are those promised, whatever it was played with."""
    if played.refused:
        unjust = () if case.threat.refused else (f"refused: {played.refused}",)
        return CaseResult(case.index, case.threat.name, REFUSED, math.nan, unjust, True)
    gaps = _log(case, played)
    outcome, to_zero, wrong = _promise(case, played)
    complaints = [*wrong, *_end(case, played, limits), *_bounds(case, played, limits), *_answer(case, played, limits)]
    if case.threat.refused:
        complaints.append("was armed, and should have been refused")
    return CaseResult(case.index, case.threat.name, outcome, to_zero, (*complaints, *gaps), not gaps)


def first_cause(played: Played) -> tuple[Cause, int]:
    """Find the first cause in the rows, and its row; NONE and the number of rows if there is none."""
    causes = played.rows["cause"]
    k = int(np.argmax(causes > 0)) if causes.any() else len(causes)
    return (Cause(int(causes[k])) if k < len(causes) else Cause.NONE), k


def last_torque(played: Played) -> float:
    """Find the end of the torque on the steer [s since power-up]; 0 if there never was any."""
    torque = np.flatnonzero(np.abs(played.diary["T"]) > NO_TORQUE)
    return float(played.diary["t"][torque[-1]]) + SAMPLE_PERIOD if torque.size else 0.0


def _promise(case: FaultCase, played: Played) -> tuple[str, float, list[str]]:
    """Judge by the fault's own promise: outcome, time to zero torque [s], and what is wrong."""
    threat, rows = case.threat, played.rows
    cause, k = first_cause(played)
    t_cause = float(rows["t_host"][k]) if k < len(rows) else END_AT
    running_from = _running_from(played)
    met = _met(case, played)
    wrong = _gross(case, played, t_cause)
    if cause is Cause.OPERATOR_STOP and t_cause >= STOP_AT - TIME_ROUNDING and running_from < STOP_AT:
        lasted = min(case.over, STOP_AT) - met
        noticeable = threat.detected is not None and lasted >= threat.detected
        if noticeable and not threat.rides:
            wrong.append(f"not noticed in {lasted:.3f} s")
        return RODE_THROUGH, math.nan, wrong
    if not threat.causes and math.isfinite(case.over):
        wrong.append(f"ended by {cause.name}, should have been ridden through")
    allowed = threat.causes | EARLY_CAUSES if running_from > t_cause else threat.causes
    if cause is Cause.NONE:
        if rows["state"].any():
            wrong.append("ended without a cause")
    elif t_cause < case.onset - TIME_ROUNDING:
        wrong.append(f"{cause.name} at {t_cause:.3f} s, before the fault began")
    elif cause not in allowed:
        wrong.append(f"the cause kept is {cause.name}, which does not name it")
    if running_from > END_AT:
        return cause.name, 0.0, wrong
    to_zero = max(0.0, last_torque(played) - max(met, running_from))
    if threat.to_zero is not None and not threat.deaf and to_zero > threat.to_zero + TIME_ROUNDING:
        wrong.append(f"torque for {to_zero:.3f} s, promised {threat.to_zero:.3f} s")
    return cause.name, to_zero, wrong


def _running_from(played: Played) -> float:
    """Find when the bicycle came under control [s since power-up]; infinite if it never did."""
    controlled = np.flatnonzero(np.isin(played.rows["state"], (State.RUNNING, State.RAMPDOWN)))
    return float(played.rows["t_host"][controlled[0]]) if controlled.size else math.inf


def _met(case: FaultCase, played: Played) -> float:
    """Find when the fault met a bicycle on which it could be noticed [s since power-up]; infinite if never."""
    running_from = _running_from(played)
    return math.inf if case.threat.sudden and case.onset < running_from else max(case.onset, running_from)


def _gross(case: FaultCase, played: Played, t_cause: float) -> list[str]:
    """Demand that a drive that grossly disobeys, by its own report, was noticed."""
    if case.threat.gross is None:
        return []
    diary = played.diary
    off = (np.abs(diary["T_made"] - diary["T_asked"]) > case.threat.gross) & (played.rows["state"] == State.RUNNING)
    n = round(GROSS_TIME / SAMPLE_PERIOD)
    lasting = np.convolve(off, np.ones(n))[: len(off)] >= n - 0.5  # for so long by now
    if not lasting.any() or t_cause <= diary["t"][np.argmax(lasting)] + TIME_TO_ZERO:
        return []
    return [f"off by {case.threat.gross} N m for {GROSS_TIME} s and not noticed"]


def _end(case: FaultCase, played: Played, limits: Limits) -> list[str]:
    """Demand a safe end: off, without torque, and no torque for long if the bicycle truly leant too far."""
    diary, state, wrong = played.diary, State(int(played.rows["state"][-1])), []
    if state not in (State.DISARMED, State.FAULT):
        wrong.append(f"ended in {state.name}")
    if diary["on"][-1]:
        wrong.append("the drive is on at the end")
    if case.threat.deaf:
        return wrong
    if np.abs(diary["T"][diary["t"] > END_AT - QUIET_TIME]).max() > NO_TORQUE:
        wrong.append("there is torque at the end")
    over = np.flatnonzero(np.abs(diary["phi"]) > limits.lean.value)
    if over.size and last_torque(played) > diary["t"][over[0]] + LEANING_TIME:
        wrong.append(f"torque {last_torque(played) - diary['t'][over[0]]:.3f} s after the lean passed its limit")
    return wrong


def _bounds(case: FaultCase, played: Played, limits: Limits) -> list[str]:
    """Demand that the drive was asked for torque within the limits, and only under control."""
    diary, state, wrong = played.diary.copy(), played.rows["state"], []
    somebody_elses = (diary["t"] >= case.onset) & (diary["t"] <= case.onset + case.threat.obeyed + TIME_ROUNDING)
    diary["T_asked"][somebody_elses & (case.threat.obeyed > 0.0)] = 0.0
    asked = diary["T_asked"]
    worst = float(np.abs(asked).max())
    if worst > limits.torque.value + TORQUE_ROUNDING:
        wrong.append(f"the drive was asked for {worst:.3f} N m")
    rate = _fastest_change(diary)
    if rate * SAMPLE_PERIOD > limits.torque_rate.value * SAMPLE_PERIOD + TORQUE_ROUNDING:
        wrong.append(f"the drive was asked to change by {rate:.0f} N m/s")
    under_control = np.isin(state, (State.RUNNING, State.RAMPDOWN))
    late = LATE_TICKS + math.ceil(case.threat.slack / SAMPLE_PERIOD)
    lately = np.convolve(under_control, np.ones(late + 1))[: len(state)] > 0  # a command may be under way
    if np.any((np.abs(asked) > 0.0) & ~lately):
        wrong.append("the drive was asked for torque outside RUNNING and RAMPDOWN")
    return wrong


def _fastest_change(diary: NDArray) -> float:
    """Find the fastest change between two commands that the drive obeyed [N m/s], other than switching off.

    The change is shared out among the periods and the commands between them, lost ones included.
    """
    new = np.flatnonzero(np.diff(diary["command_seq"], prepend=-1))
    asked, on, seq = (diary[name][new] for name in ("T_asked", "on", "command_seq"))
    steps = np.maximum(np.diff(new), np.abs((np.diff(seq) + 2**15) % 2**16 - 2**15))
    both = (on[1:] == 1) & (on[:-1] == 1) & (asked[1:] != 0.0)
    rates = np.abs(np.diff(asked)) / (steps * SAMPLE_PERIOD)
    return float(rates[both].max(initial=0.0))


def _answer(case: FaultCase, played: Played, limits: Limits) -> list[str]:
    """Demand that the torque was gone in time, once a cause was kept."""
    cause, k = first_cause(played)
    if cause is Cause.NONE or case.threat.deaf:
        return []
    allowed = case.threat.slack + TIME_TO_ZERO + (0.0 if cause in AT_ONCE_CAUSES else limits.ramp.value)
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
    if not rows["t_host"][0] <= case.onset <= rows["t_host"][-1]:
        wrong.append("the log does not hold the onset")
    if sum(map(len, played.tapes)) != int(rows["n_wire"].sum()):
        wrong.append("bytes are missing from the log")
    return [*wrong, *(check_written_log(case, played) if is_written(case) else [])]
