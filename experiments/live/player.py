"""Replay of a finished run on the page, at any pace, from any time."""

import select
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from experiments.live.fits import FoundFits, ask_fits, new_fitter
from experiments.live.hello import hello_of
from experiments.live.launch import LiveServerProcess
from experiments.live.narrator import Narrator
from experiments.live.rows import CODES, MOST_ROWS_PER_SECOND, SHOWN
from experiments.live.schema import ROW_COLUMNS, LiveHello, LiveRows, ReplayLine, as_text
from experiments.recordings.runs import run_of
from models.errors import InputError

FRAME = 1.0 / 30.0  # s
STATUS_EVERY = 0.1  # s
LEAD_SHOWN = 10.0  # s before the place that was sought which a page gets with it


class Player:
    """Player of one run of ours.

    Parameters
    ----------
    path : Path
        Run folder or log.

    Raises
    ------
    InputError
        There is no run, or an empty one.
    """

    def __init__(self, path: Path) -> None:
        self._server: LiveServerProcess
        self._path = path
        self.run = run_of(path)
        self._ticks: Any = self.run.ticks
        if len(self._ticks) < 2:
            raise InputError(f"wanted a run with rows to look at, found {len(self._ticks)} in {path}: give another")
        self._times = np.asarray(self._ticks["t_host"][:], dtype=float)
        self._zero = float(self._times[0])
        self._times = self._times - self._zero
        self.end = float(self._times[-1])
        self.t, self.pace = 0.0, 1.0
        self._sent = 0  # rows before this one have been sent
        self._told_at = -np.inf
        self._narrator = Narrator(self.run.header, self._zero)
        self._found: FoundFits | None = None
        self._step = max(1, round(float(self.run.header.rig.rate) / MOST_ROWS_PER_SECOND))

    def hello(self) -> LiveHello:
        """First message: the run, its time line and its windows as far as they are known."""
        windows = self._found.windows if self._found else []
        header = self.run.header
        return hello_of(
            header,
            kind="replay",
            title=header.label or self.run.folder.name,
            run=str(self.run.folder),
            can=["seek", "pace"],
            replay=ReplayLine(start=0.0, end=self.end, windows=windows),
        )

    def serve(self, server: LiveServerProcess, stopped: Callable[[], bool] = lambda: False) -> None:
        """Play until ``stopped()`` or the server is gone."""
        self._server = server
        with new_fitter() as fitter:
            asked: Future[FoundFits] | None = ask_fits(fitter, self._path)
            self._begin()
            before = time.monotonic()
            while not stopped() and self._server.alive:
                self._await_requests(FRAME)
                now = time.monotonic()
                self._advance(now - before)
                before = now
                if asked is not None and asked.done():
                    self._found, asked = asked.result(), None
                    self._begin()
            fitter.shutdown(wait=False, cancel_futures=True)  # a fit under way is not waited for

    def _begin(self) -> None:
        """Tell the whole once more: hello, marks and fits; then go on where it was."""
        self._server.tell(as_text(self.hello()))
        for marker in self.run.markers:
            event = self._narrator.marker(marker.t, marker.kind, marker.text)
            if event is not None:
                self._server.tell(as_text(event))
        for fit in self._found.fits if self._found else ():
            self._server.tell(as_text(fit))
        self._jump(self.t)

    def _await_requests(self, patience: float) -> None:
        select.select([self._server.fileno()], [], [], patience)
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
            row = self._ticks[max(0, min(int(np.searchsorted(self._times, self.t, "right")) - 1, len(self._times) - 1))]
            pace = 0.0 if self.t >= self.end else self.pace
            self._server.tell(as_text(self._narrator.status(row, pace=pace, age_s=0.0, recording=str(self.run.folder))))

    def _send_rows(self) -> None:
        until = int(np.searchsorted(self._times, self.t, "right"))
        picked = np.arange(self._sent + (-self._sent) % self._step, until, self._step)
        self._sent = until
        if len(picked):
            self._server.tell(as_text(rows_message(self._ticks[picked[0] : picked[-1] + 1][:: self._step], self._zero)))


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
