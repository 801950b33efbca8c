"""Operator of a run: what to demand and when, judged from the rows just recorded.

The same object drives the lockstep and the real-time runner, so that a run means the same in both.
"""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np

from hil.loop.states import SENTENCES, Cause, Demand, State

NOBODY_THERE = "stopped because nobody was at the live page any more, and the rig asks for a present operator"
_AFTERMATH = 0.3  # s recorded after a fault or stop, to see the torque gone
_SIGNALLED = "stopped by SIG"  # begins the sentence of an interruption by a signal, as no other does
_STOPS = (Cause.NONE, Cause.OPERATOR_STOP, Cause.OPERATOR_OFF)  # first causes where nothing but a stop ended the run


@dataclass(frozen=True)
class Outcome:
    """End of a run: reason and cause."""

    reason: str  # "success", "abort", "fault"
    cause: str  # one sentence
    remarks: tuple[str, ...] = ()  # what else a person should know
    folder: Path | None = None  # of the log, where somebody has moved it during the run
    late_stop: str = ""  # how somebody stopped it when something else had ended it already

    @property
    def stopped(self) -> str:
        """Way in which somebody stopped the run, be it too late to be its cause; empty if nobody did."""
        return self.cause if self.reason == "abort" else self.late_stop

    @property
    def stopped_by_signal(self) -> bool:
        """Did Ctrl-C or another signal stop the run? That means the whole program."""
        return self.stopped.startswith(_SIGNALLED)


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

    def told(number: int, frame: FrameType | None) -> None:
        heed(signal.Signals(number).name)

    kept = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
