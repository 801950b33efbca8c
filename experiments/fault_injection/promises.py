"""Promises for a case's faults.

A single fault has that of its `Threat`, a set what can be promised of it. In a set a fault that is promised to stop the
run must stop it still, in its time and what the others may cost: the slack of their late commands, the silence that a
line may have before it is called stale, and a ramp. Causes need not name it, for another fault may have been first, and
what is borne alone need not be borne together.

Four things are excepted, each with its reason:

* a drive that obeys nobody (`Threat.deaf`), and a drive whose watchdog is dead on a line that loses commands: two
  guards failed at once, and only cutting the supply takes the torque away (`undefended`);
* a fault of a reading that another fault of the set changes as well may be hidden by it (`hidden_by`);
* a step that comes while samples are lost or late is not seen as a step (`hidden_by`);
* a line that loses frames is not noticed where another fault sends each one twice: the copy gets through (`hidden_by`).
"""

import math

import numpy as np

from riderless.experiments.fault_injection.cases import FaultCase, FaultPart
from riderless.experiments.fault_injection.danger import last_torque
from riderless.experiments.fault_injection.simulate import CASE_LIMITS, Played
from riderless.experiments.fault_injection.threats.fault_spec import (
    AT_ONCE_CAUSES,
    GROSS_TIME,
    RAMP_TIME,
    SAMPLE_PERIOD,
    TIME_TO_ZERO,
)
from riderless.experiments.fault_injection.threats.link_faults import WATCHDOG_SLACK
from riderless.experiments.fault_injection.threats.sensor_faults import BALANCE_LOST_CAUSES
from riderless.firmware_interface.twins.faults import LINK_KINDS, TO_COMPUTER, TO_NODE, Fault
from riderless.firmware_interface.twins.faults import FaultKind as Kind
from riderless.hil.loop.states import Cause, State

TIME_ROUNDING = 1e-9  # s
EARLY_CAUSES = frozenset(  # what may keep a bicycle from coming under control, besides the names of the fault
    {cause for cause in Cause if cause.name.startswith("CHECK_")}
    | {Cause.OPERATOR_STOP, Cause.OPERATOR_OFF, Cause.LEAN_LIMIT, Cause.STEER_LIMIT, Cause.NODE_GUARD}
)
RODE_THROUGH = "rode through"
# Share of the lean limit below which a ride with nothing wrong has no reason to end. A turn ends it at 0.94 of the
# limit; in v psi_dot / g, which it rests on, that is the tangent of a true lean of 26 deg, and wind holds some of it.
FREE_OF_LIMIT = 0.8
STRUCK_TIME = 0.3  # s after a training wheel struck the ground, in which gyro and accelerometer may disagree
NO_ANSWER = "the drive obeys nobody"
NO_WATCHDOG = "the drive's watchdog is dead on a line that loses commands"
BLIND_TIME = 0.075  # s, of silence that a line may have before it is called stale, and of the watchdog behind it

_READING_KINDS = frozenset({Kind.STUCK, Kind.BIAS, Kind.SCALE, Kind.NOISY, Kind.SLIP, Kind.READS, Kind.DRIFT})
_LOSING_KINDS = frozenset({Kind.FLIP, Kind.GARBLE, Kind.TRUNCATE, Kind.DROP, Kind.NOISE})
_MAKING_KINDS = frozenset({Kind.DRIVE_GAIN, Kind.DRIVE_LIES, Kind.DRIVE_CLAMP, Kind.DRIVE_HOLDS, Kind.DRIVE_ZERO})


def first_cause(played: Played) -> tuple[Cause, int]:
    """Find the first cause in the rows, and its row; NONE and the number of rows if there is none."""
    causes = played.rows["cause"]
    k = int(np.argmax(causes > 0)) if causes.any() else len(causes)
    return (Cause(int(causes[k])) if k < len(causes) else Cause.NONE), k


def slack_of(case: FaultCase) -> float:
    """Time for which the drive may go on with older commands because of the faults of a case [s].

    In a set the order to stop, whatever it is given for, may be lost to another fault: then the watchdog stops it.
    """
    slack = sum(part.threat.slack for part in case.parts)
    lost = bool(case.others) and any(_is_of_the_line(fault, TO_NODE) for fault in case.all_faults)
    return slack + (WATCHDOG_SLACK if lost else 0.0)


def undefended(case: FaultCase) -> str:
    """Tell why no program can promise the torque of a case; empty where one can."""
    if any(part.threat.deaf for part in case.parts):
        return NO_ANSWER
    no_watchdog = any(fault.kind is Kind.WATCHDOG_DEAD for fault in case.all_faults)
    if no_watchdog and any(_is_of_the_line(fault, TO_NODE) for fault in case.all_faults):
        return NO_WATCHDOG
    return ""


def judge_fault(case: FaultCase, played: Played) -> tuple[str, float, list[str]]:
    """Judge by the promise of a fault alone: outcome, time to zero torque [s], and what is wrong."""
    threat, rows, (part, *_) = case.threat, played.rows, case.parts
    cause, t_cause = _cause_and_time(case, played)
    running_from = _running_from(played)
    met = _met(part, running_from)
    wrong = _gross(part, played, t_cause)
    if _rode_through(case, cause, t_cause, running_from):
        lasted = min(case.over, case.plan.stop_at) - met
        noticeable = threat.detected is not None and lasted >= threat.detected
        if noticeable and not threat.rides:
            wrong.append(f"not noticed in {lasted:.3f} s")
        return RODE_THROUGH, math.nan, wrong
    at_rest = running_from > t_cause and cause in threat.refusals
    if not threat.causes and math.isfinite(case.over) and not at_rest:
        wrong.append(f"ended by {cause.name}, should have been ridden through")
    allowed = threat.causes | EARLY_CAUSES if running_from > t_cause else threat.causes
    if cause is Cause.NONE:
        if rows["state"].any():
            wrong.append("ended without a cause")
    elif _by_circumstances(case, played, cause, t_cause, running_from):
        pass
    elif t_cause < case.onset - TIME_ROUNDING:
        when = "before the fault began" if threat.what is not None else "with nothing wrong"
        wrong.append(f"{cause.name} at {t_cause:.3f} s, {when}")
    elif cause not in allowed:
        wrong.append(f"the cause kept is {cause.name}, which does not name it")
    if running_from > case.plan.end_at:
        return cause.name, 0.0, wrong
    to_zero = max(0.0, last_torque(played) - max(met, running_from))
    if threat.to_zero is not None and not threat.deaf and to_zero > threat.to_zero + TIME_ROUNDING:
        wrong.append(f"torque for {to_zero:.3f} s, promised {threat.to_zero:.3f} s")
    return cause.name, to_zero, wrong


def judge_set(case: FaultCase, played: Played) -> tuple[str, float, list[str]]:
    """Judge by what is promised of a set: outcome, time to zero torque [s], and what is wrong."""
    cause, t_cause = _cause_and_time(case, played)
    running_from = _running_from(played)
    wrong = [] if undefended(case) else _unfound(case, played, t_cause, running_from)
    if _rode_through(case, cause, t_cause, running_from):
        return RODE_THROUGH, math.nan, wrong
    if cause is Cause.NONE and played.rows["state"].any():
        wrong.append("ended without a cause")
    first = min(part.onset for part in case.parts)
    if t_cause < first - TIME_ROUNDING and not _by_circumstances(case, played, cause, t_cause, running_from):
        wrong.append(f"{cause.name} at {t_cause:.3f} s, before a fault began")
    if running_from > case.plan.end_at:
        return cause.name, 0.0, wrong
    return cause.name, max(0.0, last_torque(played) - max(first, running_from)), wrong


def _unfound(case: FaultCase, played: Played, t_cause: float, running_from: float) -> list[str]:
    """List the faults of a set that should have stopped the run in time and did not."""
    wrong, gone = [], last_torque(played)
    slack = slack_of(case)
    for i, part in enumerate(case.parts):
        others = (*case.parts[:i], *case.parts[i + 1 :])
        if hidden_by(part, others):
            continue
        wrong += [f"{part.threat.name}: {words}" for words in _gross(part, played, t_cause)]
        met, detected = _met(part, running_from), part.threat.detected
        if detected is None or part.threat.rides or met > min(t_cause, case.plan.stop_at):
            continue
        delay = detected + slack + (BLIND_TIME if any(_of_the_line(other) for other in others) else 0.0)
        if min(part.over, case.plan.stop_at) - met < delay:
            continue
        ramp = RAMP_TIME if any(each.threat.causes - AT_ONCE_CAUSES for each in case.parts) else 0.0
        if gone - met > delay + TIME_TO_ZERO + ramp + TIME_ROUNDING:
            wrong.append(
                f"{part.threat.name}: torque for {gone - met:.3f} s, promised {delay + TIME_TO_ZERO + ramp:.3f} s"
            )
    return wrong


def hidden_by(part: FaultPart, others: tuple[FaultPart, ...]) -> str:
    """Name the fault of the set that may hide this one; empty where none may."""
    for other in others:
        if _changed(part) & _changed(other):
            return other.threat.name
        if part.threat.sudden and _of_the_line(other):
            return other.threat.name
        if any(_restores(copy, loss) for copy in other.faults for loss in part.faults):
            return other.threat.name
    return ""


def _restores(copy: Fault, loss: Fault) -> bool:
    """Say whether a fault sends again what another one loses, on the same way of the line."""
    return copy.kind is Kind.DUPLICATE and loss.kind in _LOSING_KINDS and bool(copy.way & loss.way)


def _changed(part: FaultPart) -> set[str]:
    """Name the readings that a fault changes; a drive that makes something else of a command changes its report."""
    of_sensors = {fault.channel for fault in part.faults if fault.kind in _READING_KINDS}
    of_drive = {"T" for fault in part.faults if fault.kind in _MAKING_KINDS}
    of_clock = {"clock" for fault in part.faults if fault.kind in (Kind.CLOCK_JUMP, Kind.RESET, Kind.SLOWING)}
    return of_sensors | of_drive | of_clock


def _of_the_line(part: FaultPart) -> bool:
    return any(_is_of_the_line(fault, TO_COMPUTER | TO_NODE) for fault in part.faults)


def _is_of_the_line(fault: Fault, way: int) -> bool:
    """Say whether a fault spoils bytes that go a way."""
    return fault.kind in LINK_KINDS and bool(fault.way & way)


def _cause_and_time(case: FaultCase, played: Played) -> tuple[Cause, float]:
    cause, k = first_cause(played)
    return cause, float(played.rows["t_host"][k]) if k < len(played.rows) else case.plan.end_at


def _rode_through(case: FaultCase, cause: Cause, t_cause: float, running_from: float) -> bool:
    """Say whether the run went on to its planned end."""
    stop_at = case.plan.stop_at
    return cause is Cause.OPERATOR_STOP and t_cause >= stop_at - TIME_ROUNDING and running_from < stop_at


def _running_from(played: Played) -> float:
    """Find when the bicycle came under control [s since power-up]; infinite if it never did."""
    controlled = np.flatnonzero(np.isin(played.rows["state"], (State.RUNNING, State.RAMPDOWN)))
    return float(played.rows["t_host"][controlled[0]]) if controlled.size else math.inf


def _by_circumstances(case: FaultCase, played: Played, cause: Cause, t_cause: float, running_from: float) -> bool:
    """Say whether a ride ended by what it met besides faults: in CHECK, or at a limit that it truly came near.

    A blow of a training wheel is such a limit too: the observer knows nothing of the ground that holds the bicycle.
    """
    if not case.options.pool.varied:
        return False
    if running_from > t_cause:
        return cause in EARLY_CAUSES
    t, leans = played.diary["t"], np.abs(played.diary["phi"])
    wheels = case.circumstances.surroundings.training_wheels
    if cause is Cause.SENSORS_DISAGREE and wheels is not None:
        return bool((leans[(t > t_cause - STRUCK_TIME) & (t <= t_cause)] >= wheels).any())
    lean = float(leans[t <= max(t_cause, last_torque(played))].max(initial=0.0))
    return cause in BALANCE_LOST_CAUSES and lean > FREE_OF_LIMIT * CASE_LIMITS.lean.value


def _met(part: FaultPart, running_from: float) -> float:
    """Find when a fault met a bicycle on which it could be noticed [s since power-up]; infinite if never."""
    return math.inf if part.threat.sudden and part.onset < running_from else max(part.grown, running_from)


def _gross(part: FaultPart, played: Played, t_cause: float) -> list[str]:
    """Demand that a drive that grossly disobeys, by its own report, was noticed."""
    if part.threat.gross is None:
        return []
    diary = played.diary
    off = (np.abs(diary["T_made"] - diary["T_asked"]) > part.threat.gross) & (played.rows["state"] == State.RUNNING)
    n = round(GROSS_TIME / SAMPLE_PERIOD)
    lasting = np.convolve(off, np.ones(n))[: len(off)] >= n - 0.5  # for so long by now
    if not lasting.any() or t_cause <= diary["t"][np.argmax(lasting)] + TIME_TO_ZERO:
        return []
    return [f"off by {part.threat.gross} N m for {GROSS_TIME} s and not noticed"]
