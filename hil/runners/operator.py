"""Operator of a run.

It decides what to demand and when, from the rows just recorded. The same object drives the lockstep and the real-time
runner, so that a run means the same in both.
"""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from riderless.hil.loop.states import SENTENCES, Cause, Demand, State

if TYPE_CHECKING:
    from riderless.hil.logs.log import Run

NOBODY_THERE = "stopped because nobody was at the live page any more, and the rig asks for a present operator"
_AFTERMATH = 0.3  # s recorded after a fault or stop, to see the torque gone
_SIGNALLED = "stopped by SIG"  # begins the sentence of an interruption by a signal, as no other does
_TIMING = (
    Cause.STALE_SAMPLE,
    Cause.DRIVE_WATCHDOG,
    Cause.DRIVE_OFF,
    Cause.FOREIGN_COMMANDS,
    Cause.TICKS_LATE,
    Cause.UNATTENDED,
    Cause.RATE_LOW,
    Cause.RATE_HIGH,
    Cause.CLOCK_STEP,
    Cause.CHECK_STREAM,
    Cause.CHECK_ENABLE,
    Cause.CHECK_WATCHDOG,
)  # that a computer may bring about which lets loop or emulated bicycle wait
_LONG_DELAY = 2.0  # periods of the loop; a device that is merely silent delays a tick by half of one
_LOOK_BACK = 1.0  # s before the cause
_LONGEST_END = 4.0  # s of rows after the cause: ramp and aftermath
_STOPS = (Cause.NONE, Cause.OPERATOR_STOP, Cause.OPERATOR_OFF)  # first causes where nothing but a stop ended the run


@dataclass(frozen=True)
class Outcome:
    """End of a run: reason and cause."""

    reason: str  # "success", "abort", "fault"
    cause: str  # one sentence
    remarks: tuple[str, ...] = ()  # what else a person should know
    folder: Path | None = None  # of the log, where somebody has moved it during the run
    late_stop: str = ""  # how somebody stopped it when something else had ended it already
    delay: float = 0.0  # s for which this computer let it wait, where that ended the run: see `host_delay`

    @property
    def ended_by(self) -> str:
        """Name of what ended the run: "plan", "person", "computer" or "machine"; or "killed"."""
        if self.reason == "fault":
            return "computer" if self.delay > 0.0 else "machine"
        return {"success": "plan", "abort": "person"}.get(self.reason, self.reason)

    @classmethod
    def of_run(cls, run: "Run") -> "Outcome":
        """Outcome of a recorded run."""
        outcome = cls(run.stop.reason, run.stop.cause)
        if run.header.runner != "realtime" or outcome.reason != "fault":
            return outcome
        return replace(outcome, delay=host_delay(run.ticks, run.header.rig.rate, bool(run.header.emulation)))

    def blaming(self, delay: float) -> "Outcome":
        """Outcome of a run that this computer ended by a ``delay`` [s], with that in its cause; as it is for 0."""
        if delay <= 0.0 or self.reason != "fault":
            return self
        busy = f"this computer was too busy for it ({1e3 * delay:.0f} ms late)"
        cause = f"{self.cause}; {busy}: end other programs, or give --fifo 40"
        return replace(self, cause=cause, delay=delay)

    @property
    def stopped(self) -> str:
        """Way in which somebody stopped the run, be it too late to be its cause; empty if nobody did."""
        return self.cause if self.reason == "abort" else self.late_stop

    @property
    def stopped_by_signal(self) -> bool:
        """Did Ctrl-C or another signal stop the run? That means the whole program."""
        return self.stopped.startswith(_SIGNALLED)


def host_delay(rows: np.ndarray, rate: float, emulated: bool) -> float:
    """Longest time [s] for which the computer kept a run waiting that ended by that; 0 if something else ended it.

    Late wake-ups of the loop are the computer's. An emulated bicycle shares it: its clock goes as the host's, so that a
    sample that lags behind the others shows that the bicycle, or the loop, had to wait.

    Parameters
    ----------
    rows : (n,) array of TICK
        Of a run in real time, the last seconds or all.
    rate : float
        Of the loop [Hz].
    emulated : bool
        The machine was emulated on this computer.
    """
    rows = rows[-round((_LOOK_BACK + _LONGEST_END) * rate) :]
    if not {"t_host", "t_due", "t", "valid", "cause"} <= set(rows.dtype.names or ()) or not np.any(rows["cause"]):
        return 0.0
    cause, ended = int(rows["cause"][-1]), int(np.argmax(rows["cause"] == rows["cause"][-1]))
    if cause not in _TIMING:
        return 0.0
    start = max(0, ended - round(_LOOK_BACK * rate))
    before, around = rows[start : ended + 1], rows[start:]
    delay = float(np.max(before["t_host"] - before["t_due"]))
    lag = (around["t_host"] - around["t"])[around["valid"] == 1]
    if emulated and lag.size:
        delay = max(delay, float(np.ptp(lag)))
    return delay if delay > _LONG_DELAY / rate or cause == Cause.TICKS_LATE else 0.0


class Operator:
    """Operator that arms, runs for a while and stops, and switches off at the first sign of trouble.

    Parameters
    ----------
    duration : float
        Time to stay RUNNING [s].
    waiting : bool
        Arm only when `arm` is called: a person must want it.
    """

    def __init__(self, duration: float, waiting: bool = False) -> None:
        self.duration = duration
        self.waiting = waiting
        self.demand = Demand.OFF if waiting else Demand.RUN
        self.marks: deque[tuple[float, str, str]] = deque()  # (s, kind, text) for the log, not yet written
        self.seen: float | None = None  # s, host clock of the newest row
        self.running_since: float | None = None
        self.over_since: float | None = None
        self.interrupted = ""
        self._stopped = ""  # by an interruption while the run was not over
        self._attendance: Callable[[float], bool] | None = None
        self._held = False  # until somebody is there
        self.presses = 0  # of STOP on a page that looks on, heeded so far
        self._first = self._cause = Cause.NONE
        self._reached = False  # the planned duration
        self._was_armed = False

    def require_presence(self, attendance: Callable[[float], bool]) -> None:
        """Arm only while somebody is there, and ramp down when they are gone.

        ``attendance`` says whether somebody is there at a time of the clock of `t_host` [s].
        """
        self._attendance = attendance
        if not self.waiting:
            self.demand, self._held = Demand.OFF, True

    def arm(self) -> None:
        """Arm, the explicit act of a person."""
        if self.waiting and not self.interrupted:
            self.waiting = False
            self.demand = Demand.RUN

    def mark(self, kind: str, text: str = "") -> None:
        """Mark a moment that a person wants to find again in the log: a kick, for instance."""
        if self.seen is not None:
            self.marks.append((self.seen, kind, text))

    @property
    def left(self) -> float:
        """Time left under control [s]; the whole of it while it has not begun."""
        gone = 0.0 if self.running_since is None or self.seen is None else self.seen - self.running_since
        return max(0.0, self.duration - gone)

    def end(self) -> None:
        """End the run early as its planned end would: ramp down. Who asks knows why, and says so."""
        self.demand = min(self.demand, Demand.STOP)

    def interrupt(self, what: str) -> None:
        """End the run: ramp down; the second time, off at once. What has ended already keeps its cause."""
        self.demand = Demand.OFF if self.interrupted else min(self.demand, Demand.STOP)
        self.interrupted = what
        if self.over_since is None:
            self._stopped = what

    def watch(self, row: np.void) -> None:
        """Take note of the newest TICK row and decide the next demand."""
        state, t = State(int(row["state"])), float(row["t_host"])
        self.seen = t
        if self.waiting and not self.interrupted:
            return
        if self._attendance is not None and not self.interrupted and self.over_since is None:
            there = self._attendance(t)
            if self._held and not there:
                return
            if self._held:
                self._held, self.demand = False, Demand.RUN
            elif not there:
                self.marks.append((t, "operator", NOBODY_THERE))
                self.interrupt(NOBODY_THERE)
        if int(row["cause"]):
            self._cause = Cause(int(row["cause"]))
            self._first = self._first or self._cause
        if state in (State.CHECK, State.ARMED):
            self._was_armed = True
        if state is State.RUNNING:
            if self.running_since is None:
                self.running_since = t
            if t - self.running_since >= self.duration and self.demand == Demand.RUN:
                self.demand, self._reached = Demand.STOP, True
        ended = state is State.FAULT or (state is State.DISARMED and (self._was_armed or self.demand < Demand.ARM))
        if ended and self.over_since is None:
            self.over_since = t
            self.demand = Demand.OFF

    def finished(self, t: float) -> bool:
        """Nothing more will happen and the aftermath has been recorded."""
        return self.over_since is not None and t - self.over_since >= _AFTERMATH

    def outcome(self) -> Outcome:
        """Stop reason for the log: what came first; a fault in the ramp of an end is told, and is no success."""
        faulted = self._cause not in _STOPS
        if self._stopped and self._first in _STOPS:
            in_ramp = f"; then, in its ramp: {SENTENCES[self._cause]}" if faulted else ""
            return Outcome("abort", f"{self._stopped}{in_ramp}")
        if self._cause in (Cause.NONE, Cause.OPERATOR_STOP) and self.running_since is not None:
            return Outcome("success", "the planned duration was reached", late_stop=self.interrupted)
        after = "; the planned duration was reached before, and is recorded" if self._reached and faulted else ""
        return Outcome("fault", f"{SENTENCES[self._cause]}{after}", late_stop=self.interrupted)

    @contextmanager
    def heeding_signals(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP become interruptions while this lasts; signals reach the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with heeding(lambda name: self.interrupt(_SIGNALLED + name.removeprefix("SIG"))):
            yield


@contextmanager
def heeding(heed: Callable[[str], None]) -> Iterator[None]:
    """Call ``heed`` with the name of a SIGINT, SIGTERM or SIGHUP that comes meanwhile; wants the main thread."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        heed(signal.Signals(number).name)

    heeded = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    kept = {number: signal.signal(number, on_signal) for number in heeded}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
