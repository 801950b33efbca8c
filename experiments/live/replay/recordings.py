"""Recordings for replay on a page.

Runs of ours, and logs of others.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from riderless.experiments.datatypes import Response
from riderless.experiments.live.hello import bicycle_fields, hello_of, law_wanted, limit_values
from riderless.experiments.live.narrator import Narrator
from riderless.experiments.live.rows import CODES, SHOWN
from riderless.experiments.live.schema import LiveEvent, LiveHello, LiveStatus, ReplayLine
from riderless.experiments.recordings.read import is_run, read_recording, refuse_unused
from riderless.experiments.recordings.runs import run_of
from riderless.hil.loop.limits import Limits
from riderless.hil.loop.states import Cause, State
from riderless.models.errors import InputError
from riderless.models.linear.prescribed_steer import COMMAND_UNITS

_NO_LIMITS = "the log names no limits: those are drawn that a rig has by default"


class _ShownRecording(Protocol):
    """Recording that a `Player` plays.

    Attributes
    ----------
    rows : array of records
        With ``t_host`` [s] and what else of `SHOWN` and `CODES` there is.
    rate : float
        Of the rows [Hz].
    command_unit : str
        Of what the drive is told.
    """

    rows: Any
    rate: float
    command_unit: str

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
        self.command_unit: str = COMMAND_UNITS[self._run.header.rig.drive_kind]
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
        self.rate, self.command_unit = 1.0 / response.dt, response.command_unit
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
            command_unit=self.command_unit,  # type: ignore[arg-type]
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


def recording_to_show(path: Path, **how: Any) -> _ShownRecording:
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
