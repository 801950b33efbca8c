"""Narrator of a run's rows.

In words: the state, what is in the way, and what happened.
"""

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from riderless.experiments.live.schema import LiveEvent, LiveStatus, Obstacle
from riderless.experiments.terminal.obstacles import beyond_gains, obstacles_and_advice
from riderless.experiments.terminal.operator import OVER
from riderless.hil.logs.header import RunHeader
from riderless.hil.loop.states import SENTENCES, STATE_SENTENCES, Cause, State
from riderless.models.errors import InputError

MOST_OBSTACLES = 6
_KINDS = {"kick": "kick", "fall": "fault", "operator": "stop"}  # of a marker: kind of the event


@dataclass
class Narrator:
    """Teller of one run; give it rows in their order.

    Parameters
    ----------
    header : RunHeader
    t_zero : float
        Host clock of the first row, from which a page counts [s].
    """

    header: RunHeader
    t_zero: float
    _state: State = field(default=State.DISARMED, init=False)
    _cause: Cause = field(default=Cause.NONE, init=False)

    def events(self, rows: np.ndarray) -> list[LiveEvent]:
        """Changes of state and causes in rows (n,) of TICK that follow those of the last call."""
        happened: list[LiveEvent] = []
        before_state = np.concatenate([[int(self._state)], rows["state"][:-1]])
        before_cause = np.concatenate([[int(self._cause)], rows["cause"][:-1]])
        for i in np.flatnonzero((rows["state"] != before_state) | (rows["cause"] != before_cause)):
            t = float(rows["t_host"][i]) - self.t_zero
            cause, state = _cause_of(rows["cause"][i]), _state_of(rows["state"][i])
            if cause is not self._cause and cause is not Cause.NONE:
                happened.append(LiveEvent(t=t, kind="cause", text=SENTENCES[cause]))
            if state is not self._state:
                happened.append(LiveEvent(t=t, kind="state", text=STATE_SENTENCES[state]))
            self._state, self._cause = state, cause
        return happened

    def marker(self, t: float, kind: str, text: str) -> LiveEvent | None:
        """Event of a marker of the log at ``t`` [s, host clock]; None for changes of state, which the rows tell."""
        if kind == "state":
            return None
        return LiveEvent(t=t - self.t_zero, kind=_KINDS.get(kind, "note"), text=text or kind)  # type: ignore[arg-type]

    def status(self, row: np.void, **about: Any) -> LiveStatus:
        """Digest of the newest row.

        Parameters
        ----------
        row : record of TICK
        **about
            Fields of `LiveStatus` that no row tells. ``waiting`` is no such field: a person must press Enter first.
        """
        state, cause = _state_of(row["state"]), _cause_of(row["cause"])
        waiting = about.pop("waiting", False)
        over = about.pop("over", False)
        words, remaining = STATE_SENTENCES[state], about.get("time_left")
        if state is State.RUNNING and remaining is not None:
            words = f"{words}, {remaining:.0f} s left"
        if state is State.DISARMED and over:
            words = OVER
        elif state is State.DISARMED and waiting:
            words = "not armed: hold it upright, Enter at the terminal arms"
        why = SENTENCES[cause] if cause is not Cause.NONE else ""
        if state is State.RUNNING:
            why = why or self._beyond(row)
        about = {"why": why, **{name: value for name, value in about.items() if value not in (None, "")}}
        return LiveStatus(
            t=float(row["t_host"]) - self.t_zero,
            state=words,
            code=state.name,
            still=state in (State.DISARMED, State.FAULT),
            obstacles=[] if over else self._obstacles(row, state),
            battery=_number(row, "bus_meas"),
            late_ticks=_number(row, "ticks_late"),
            skipped_ticks=_number(row, "ticks_skipped"),
            link_errors=_link_errors(row),
            recording_ok=bool(row["recording"]),
            **about,
        )

    def _obstacles(self, row: np.void, state: State) -> list[Obstacle]:
        if state not in (State.DISARMED, State.CHECK):
            return []
        try:
            obstacles = obstacles_and_advice(row, self.header.rig, self.header.schedule)
        except (InputError, ValueError):  # rows of an older version lack what is looked at
            return []
        return [Obstacle(what=what, do=advice) for what, advice in obstacles[:MOST_OBSTACLES]]

    def _beyond(self, row: np.void) -> str:
        return beyond_gains(float(row["v_est"]), self.header.schedule)


def _state_of(code: Any) -> State:
    try:
        return State(int(code))
    except ValueError:
        return State.FAULT


def _cause_of(code: Any) -> Cause:
    try:
        return Cause(int(code))
    except ValueError:  # of a later version
        return Cause.NONE


def _number(row: np.void, name: str) -> float | None:
    if name not in (row.dtype.names or ()):
        return None
    value = float(row[name])
    return value if isfinite(value) else None


def _link_errors(row: np.void) -> float | None:
    names = ("frames_bad_crc", "frames_bad_length", "frames_bad_version", "samples_lost", "write_short")
    counts = [value for name in names if (value := _number(row, name)) is not None]
    return sum(counts) if counts else None
