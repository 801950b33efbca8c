"""Replay of a recording on the page.

A finished run, or a log of others, at any pace, from any time.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.live.fits import Fitter, FoundFits
from riderless.experiments.live.hello import bicycle_fields, hello_of, law_wanted, limit_values
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.narrator import Narrator
from riderless.experiments.live.rows import CODES, MOST_ROWS_PER_SECOND, SHOWN
from riderless.experiments.live.schema import (
    ROW_COLUMNS,
    LiveEvent,
    LiveHello,
    LiveRows,
    LiveStatus,
    ReplayLine,
    as_text,
)
from riderless.experiments.recordings.read import is_run, read_recording, refuse_unused
from riderless.experiments.recordings.runs import run_of
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.states import Cause, State
from riderless.models.errors import InputError

# Recordings for replay on a page.

_NO_LIMITS = "the log names no limits: those are drawn that a rig has by default"


class _ShownRecording(Protocol):
    """Recording that a `Player` plays.

    Attributes
    ----------
    rows : array of records
        With ``t_host`` [s] and what else of `SHOWN` and `CODES` there is.
    rate : float
        Of the rows [Hz].
    """

    rows: Any
    rate: float

    def hello(self, line: ReplayLine) -> LiveHello:
        """First message, with a time line."""

    def events(self) -> list[LiveEvent]:
        """Marks that the recording holds."""

    def status(self, row: np.void, **about: Any) -> LiveStatus:
        """Digest of a row."""


class OwnRun:
    """Run of ours, by its folder or log; raises InputError where there is none, or an empty one."""

    def __init__(self, path: Path) -> None:
        self._run = run_of(path)
        self.rows: Any = self._run.ticks
        if len(self.rows) < 2:
            raise InputError(f"wanted a run with rows to look at, found {len(self.rows)} in {path}: give another")
        self.rate = float(self._run.header.rig.rate)
        self._narrator = Narrator(self._run.header, float(self.rows["t_host"][0]))

    def hello(self, line: ReplayLine) -> LiveHello:
        """Describe the run."""
        header = self._run.header
        title, can = header.label or self._run.folder.name, ["seek", "pace"]
        return hello_of(header, kind="replay", title=title, run=str(self._run.folder), can=can, replay=line)

    def events(self) -> list[LiveEvent]:
        """Markers of the log in the order of time, and why nothing can be fitted where a law is wanted."""
        markers = sorted(self._run.markers, key=lambda marker: marker.t)  # older logs write a late tick at the end
        shown = [self._narrator.marker(marker.t, marker.kind, marker.text) for marker in markers]
        wanted = law_wanted(self._run.header)
        notes = [LiveEvent(t=None, kind="note", text=wanted)] if wanted else []
        return notes + [event for event in shown if event is not None]

    def status(self, row: np.void, **about: Any) -> LiveStatus:
        """Digest of a row, in the supervisor's words; of a stop the log knows who asked for it."""
        if row["cause"] == Cause.OPERATOR_STOP:
            about = {"why": self._run.stop.cause, **about}
        return self._narrator.status(row, recording=str(self._run.folder), **about)


class _ForeignLog:
    """Log of others as it was read; what it did not measure is not shown.

    Parameters
    ----------
    path : Path
        Where it lies.
    response : Response
        What was read there.

    Raises
    ------
    InputError
        No bicycle is named that could be drawn and predicted, or there are no rows.
    """

    def __init__(self, path: Path, response: Response) -> None:
        if len(response.t) < 2:
            raise InputError(f"wanted a log with rows to look at, found {len(response.t)} in {path}: give another")
        if response.bicycle is None:
            raise InputError(
                f"wanted the bicycle that {path} was recorded with, to draw and predict it, found none: name it by "
                "--bicycle"
            )
        self._path, self._response, self._bicycle = path, response, response.bicycle
        self.rate = 1.0 / response.dt
        self.rows = rows_of(response)

    def hello(self, line: ReplayLine) -> LiveHello:
        """Describe the log."""
        limits = limit_values(Limits(), "torque")
        return LiveHello(
            kind="replay",
            title=self._path.name,
            label=self._response.label if self._response.label != self._path.name else "",
            run=str(self._path),
            rate=self.rate,
            row_rate=min(self.rate, 100.0),
            limits=limits,
            limit_reasons=dict.fromkeys(("lean", "steer", "torque", "speed_min", "speed_max"), _NO_LIMITS),
            command_unit=self._response.command_unit,  # type: ignore[arg-type]
            can=["seek", "pace"],
            replay=line,
            **bicycle_fields(self._bicycle, None),
        )

    def events(self) -> list[LiveEvent]:
        """Its markers, and what was found wrong or doubtful in it."""
        zero = float(self._response.t[0])
        notes = [LiveEvent(t=m.t - zero, kind="note", text=m.text or m.kind) for m in self._response.markers]
        return [LiveEvent(t=None, kind="note", text=remark) for remark in self._response.remarks] + notes

    def status(self, row: np.void, **about: Any) -> LiveStatus:
        """Digest of a row: it knows no states."""
        state = "recorded with another program: no state was told"
        t = float(row["t_host"]) - float(self.rows["t_host"][0])
        return LiveStatus(t=t, state=state, recording=str(self._path), **about)


def rows_of(response: Response) -> np.ndarray:
    """Rows (n,) with the columns that a page shows, by their names in our logs; not a number where not measured."""
    rows = np.zeros(
        len(response.t), [("t_host", "f8"), *((name, "f8") for name in SHOWN.values()), *((c, "i8") for c in CODES)]
    )
    for name in SHOWN.values():
        rows[name] = np.nan
    rows["t_host"], rows["v_est"] = response.t, response.v
    measured = {"phi_est": response.phi, "delta_est": response.delta, "T_cmd": response.T_delta}
    if response.phi_dot_unit == "rad/s":
        measured["phi_dot_est"] = response.phi_dot
    for name, values in measured.items():
        if values is not None:
            rows[name] = values
    rows["state"] = int(State.RUNNING)  # nothing tells when its controller was off, so nothing is shaded
    return rows


def _recording_to_show(path: Path, **how: Any) -> _ShownRecording:
    """Read what is to be shown again.

    Parameters
    ----------
    path : Path
        Run folder, log, or a file of others.
    **how
        As `read_recording` takes it: mapping, preset, bicycle, trust.

    Raises
    ------
    InputError
    """
    if is_run(path) or not path.exists():
        refuse_unused(0, **how)
        return OwnRun(path)
    return _ForeignLog(path, read_recording(path, **how))


# Rows of a log as the messages that pages read.


def rows_message(rows: np.ndarray, zero: float) -> LiveRows:
    """Message of rows (n,) of a log, older ones too; times counted from ``zero`` [s, host clock]."""
    names = rows.dtype.names or ()

    def column(name: str) -> list[float | None]:
        if name not in names:
            return [None] * len(rows)
        values = np.round(rows[name].astype(float), 5)
        return [float(x) if np.isfinite(x) else None for x in values]

    columns: dict[str, Any] = {name: column(SHOWN[name]) for name in ROW_COLUMNS}
    columns |= {name: [int(x) for x in rows[name]] for name in CODES}
    return LiveRows(t=[round(float(t) - zero, 4) for t in rows["t_host"]], **columns)


FRAME = 1.0 / 30.0  # s
STATUS_EVERY = 0.1  # s
LEAD_SHOWN = 10.0  # s before the place that was sought which a page gets with it


class Player:
    """Player of one recording.

    Parameters
    ----------
    path : Path
        Run folder, log, or a file of others.
    **how
        As `riderless.experiments.recordings.read.read_recording` takes it: mapping, preset, bicycle, trust.

    Raises
    ------
    InputError
        There is nothing to read, or nothing in it.
    """

    def __init__(self, path: Path, **how: Any) -> None:
        self._server: LiveServerProcess
        self._path, self._how = path, how
        self.recording = _recording_to_show(path, **how)
        self._times = np.asarray(self.recording.rows["t_host"][:], dtype=float)
        self._zero = float(self._times[0])
        self._times = self._times - self._zero
        self.end = float(self._times[-1])
        self.t, self.pace = 0.0, 1.0
        self._sent = 0  # rows before this one have been sent
        self._told_at = -np.inf
        self._found: FoundFits | None = None
        self._step = max(1, round(self.recording.rate / MOST_ROWS_PER_SECOND))

    def hello(self) -> LiveHello:
        """First message: the recording, its time line and its windows as far as they are known."""
        windows = self._found.windows if self._found else []
        return self.recording.hello(ReplayLine(start=0.0, end=self.end, windows=windows))

    def serve(self, server: LiveServerProcess, stopped: Callable[[], bool] = lambda: False) -> None:
        """Play until ``stopped()`` or the server is gone."""
        self._server = server
        with Fitter(self._note) as fitter:
            self._begin()
            fitter.ask(self._path, **self._how)
            before = time.monotonic()
            while not stopped() and self._server.alive:
                self._await_requests(FRAME)
                now = time.monotonic()
                self._advance(now - before)
                before = now
                fits = fitter.found()
                if fits is not None:
                    self._found = fits
                    self._begin()

    def _note(self, text: str) -> None:
        self._server.tell(as_text(LiveEvent(t=None, kind="note", text=text)))

    def _begin(self) -> None:
        """Tell the whole once more: hello, marks and fits; then go on where it was."""
        self._server.tell(as_text(self.hello()))
        for event in self.recording.events():
            self._server.tell(as_text(event))
        for fit in self._found.fits if self._found else ():
            self._server.tell(as_text(fit))
        self._jump(self.t)

    def _await_requests(self, patience: float) -> None:
        self._server.wait_for_requests(patience)
        for request in self._server.requests():
            if request["type"] == "seek":
                self._jump(request["t"])
            elif request["type"] == "pace":
                self.pace = request["pace"]

    def _jump(self, t: float) -> None:
        """Go to a time [s]; pages get what went before it too."""
        self.t = float(np.clip(t, 0.0, self.end))
        self._sent = int(np.searchsorted(self._times, self.t - LEAD_SHOWN))
        self._send_rows()
        self._told_at = -np.inf

    def _advance(self, passed: float) -> None:
        self.t = min(self.end, self.t + self.pace * min(passed, 0.5))
        self._send_rows()
        if abs(time.monotonic() - self._told_at) >= STATUS_EVERY:
            self._told_at = time.monotonic()
            newest = max(0, min(int(np.searchsorted(self._times, self.t, "right")) - 1, len(self._times) - 1))
            pace = 0.0 if self.t >= self.end else self.pace
            self._server.tell(as_text(self.recording.status(self.recording.rows[newest], pace=pace, age_s=0.0)))

    def _send_rows(self) -> None:
        until = int(np.searchsorted(self._times, self.t, "right"))
        picked = np.arange(self._sent + (-self._sent) % self._step, until, self._step)
        self._sent = until
        if len(picked):
            rows = self.recording.rows[picked[0] : picked[-1] + 1][:: self._step]
            self._server.tell(as_text(rows_message(rows, self._zero)))
