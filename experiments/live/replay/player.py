"""Replay of a recording on the page.

A finished run, or a log of others, at any pace, from any time.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from riderless.experiments.live.fits import Fitter, FoundFits
from riderless.experiments.live.launch import LiveServerProcess
from riderless.experiments.live.replay.recordings import recording_to_show
from riderless.experiments.live.rows import CODES, MOST_ROWS_PER_SECOND, SHOWN
from riderless.experiments.live.schema import ROW_COLUMNS, LiveEvent, LiveHello, LiveRows, ReplayLine, as_text

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
        self.recording = recording_to_show(path, **how)
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
