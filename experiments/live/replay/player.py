"""Replay of a recording on the page.

A finished run, or a log of others, at any pace, from any time.
"""

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.live.fits import Fitter, FoundFits
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.replay.recordings import recording_to_show
from riderless.experiments.live.rows import CODES, MOST_ROWS_PER_SECOND, SHOWN
from riderless.experiments.live.schema import (
    ROW_COLUMNS,
    LiveEvent,
    LiveHello,
    LiveRows,
    LiveTrace,
    ReplayLine,
    ShownRun,
    as_text,
)
from riderless.hil.logs.stored_rows import whole_columns
from riderless.hil.loop.states import State

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
MOST_DRAWN = 2400  # rows of a stretch that a page draws
LOST_AFTER = 0.3  # s between two rows of a log, beyond which nothing is known in between


class _DrawnRun:
    """Recording as a page draws it over time.

    Parameters
    ----------
    path : Path
    **how
        As of `Player`.
    """

    def __init__(self, path: Path, **how: Any) -> None:
        self.path, self.recording = path, recording_to_show(path, **how)
        clock = np.asarray(self.recording.rows["t_host"][:], dtype=float)
        self.zero = float(clock[0])
        self.times = clock - self.zero
        self.found: FoundFits | None = None

    @cached_property
    def _columns(self) -> np.ndarray:
        names = self.recording.rows.dtype.names or ()
        wanted = ["t_host", *(name for name in (*SHOWN.values(), *CODES) if name in names)]
        return np.asarray(whole_columns(self.recording.rows, wanted)[wanted])

    def zeros(self) -> dict[str, float]:
        """Times [s] at which another run can be laid over it."""
        controlled = self.times[self._columns["state"] == State.RUNNING]
        kicks = [event.t for event in self.recording.events() if event.kind == "kick" and event.t is not None]
        kicks = kicks or [window.t_start for window in (self.found.windows if self.found else ())]
        named = {"under control": controlled[:1], "first kick": sorted(kicks)[:1], "first row": [0.0]}
        return {name: float(t[0]) for name, t in named.items() if len(t)}

    def stretch(self, t_start: float, t_end: float) -> tuple[LiveRows, float]:
        """Rows between two times [s], and the time [s] between two of them that is a gap.

        Of more rows than a page can draw it has the least and the greatest of each column, in their order.
        """
        first, last = np.searchsorted(self.times, [t_start, t_end])
        rows = self._columns[max(first - 1, 0) : last + 1]
        each = -(-2 * len(rows) // MOST_DRAWN)
        if each <= 2:
            return rows_message(rows, self.zero), LOST_AFTER
        whole = rows[: len(rows) // each * each].reshape(-1, each)
        thinned = np.empty((len(whole), 2), rows.dtype)
        for name in rows.dtype.names or ():
            values = whole[name]
            unknown = ~np.isfinite(values)
            ends = np.argmin(np.where(unknown, np.inf, values), 1), np.argmax(np.where(unknown, -np.inf, values), 1)
            thinned[name] = np.take_along_axis(values, np.sort(np.transpose(ends), 1), 1)
        gap = LOST_AFTER + 2.0 * float(np.median(np.ptp(whole["t_host"], 1)))
        return rows_message(thinned.ravel(), self.zero), gap


class Player:
    """Player of one recording, over which another may be laid.

    Parameters
    ----------
    path : Path
        Run folder, log, or a file of others.
    other : Path or None
        Another, drawn over time beside the first.
    **how
        As `riderless.experiments.recordings.read.read_recording` takes it: mapping, preset, bicycle, trust.

    Raises
    ------
    InputError
        There is nothing to read, or nothing in it.
    """

    def __init__(self, path: Path, other: Path | None = None, **how: Any) -> None:
        self._server: LiveServerProcess
        self._how = how
        self._drawn = [_DrawnRun(each, **how) for each in (path, other) if each is not None]
        self.recording, self._times, self._zero = self._drawn[0].recording, self._drawn[0].times, self._drawn[0].zero
        self.end = float(self._times[-1])
        self.t, self.pace = 0.0, 1.0
        self._sent = 0  # rows before this one have been sent
        self._told_at = -np.inf
        self._step = max(1, round(self.recording.rate / MOST_ROWS_PER_SECOND))

    def hello(self) -> LiveHello:
        """First message: the recordings, the time line and its windows as far as they are known."""
        found = self._drawn[0].found
        runs = [
            ShownRun(name=str(run.path), command_unit=run.recording.command_unit, zeros=run.zeros())
            for run in self._drawn
        ]
        windows = found.windows if found else []
        return self.recording.hello(ReplayLine(start=0.0, end=self.end, windows=windows, runs=runs))

    def serve(self, server: LiveServerProcess, stopped: Callable[[], bool] = lambda: False) -> None:
        """Play until ``stopped()`` or the server is gone."""
        self._server = server
        with Fitter(self._note) as fitter:
            self._begin()
            unfitted = iter(self._drawn)
            run = next(unfitted)
            fitter.ask(run.path, **self._how)
            before = time.monotonic()
            while not stopped() and self._server.alive:
                self._await_requests(FRAME)
                now = time.monotonic()
                self._advance(now - before)
                before = now
                fits = fitter.found()
                if fits is not None:
                    run.found = fits
                    self._begin()
                    if (following := next(unfitted, None)) and fitter.free:
                        run = following
                        fitter.ask(run.path, **self._how)

    def _note(self, text: str) -> None:
        self._server.tell(as_text(LiveEvent(t=None, kind="note", text=text)))

    def _begin(self) -> None:
        """Tell the whole once more: hello, marks and fits; then go on where it was."""
        self._server.tell(as_text(self.hello()))
        for event in self.recording.events():
            self._server.tell(as_text(event))
        found = self._drawn[0].found
        for fit in found.fits if found else ():
            self._server.tell(as_text(fit))
        self._jump(self.t)

    def _await_requests(self, patience: float) -> None:
        self._server.wait_for_requests(patience)
        for request in self._server.requests():
            if request["type"] == "seek":
                self._jump(request["t"])
            elif request["type"] == "pace":
                self.pace = request["pace"]
            elif request["type"] == "view" and request["run"] < len(self._drawn):
                rows, gap = self._drawn[request["run"]].stretch(request["t_start"], request["t_end"])
                self._server.tell(as_text(LiveTrace(page=request["page"], run=request["run"], gap=gap, rows=rows)))

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
