"""Recorder of a run.

It records rows and bytes, and markers for changes of state, late ticks and falls.
"""

from collections import deque
from collections.abc import Iterator
from operator import itemgetter
from typing import Protocol

import numpy as np

from riderless.hil.logs.writer import LogSink
from riderless.hil.loop.states import State


class _Fallible(Protocol):
    """Plant in memory that may fall; ``riderless.models.plant.plant.Plant`` is one."""

    @property
    def fall(self) -> str:
        """Reason for which it fell; empty while it has not."""

    @property
    def status(self) -> str:
        """Situation that its equations of motion no longer cover; empty if none."""


class Keeper:
    """Recorder of batches of rows with their tape, and of markers.

    Attributes
    ----------
    fall : str
        Why the plant in memory fell; empty while it has not.
    late : str
        The first late tick, in words; empty while there was none.
    """

    def __init__(
        self,
        writer: LogSink,
        plant: _Fallible | None = None,
        marks: deque[tuple[float, str, str]] | None = None,
    ) -> None:
        self.fall = self.late = ""
        self._writer, self._plant = writer, plant
        self._marks = deque() if marks is None else marks  # (s, kind, text) that others put there
        self._state, self._status = State.DISARMED, ""

    def __call__(self, rows: np.ndarray, tape: np.ndarray) -> None:
        self._writer.write(rows, tape)
        for marker in sorted(self._markers_of(rows), key=itemgetter(0)):
            self._writer.marker(*marker)
        if self._plant is not None:
            self._look_at(self._plant, float(rows[-1]["t_host"]))

    def _markers_of(self, rows: np.ndarray) -> Iterator[tuple[float, str, str]]:
        """Yield what a batch of rows tells, and what others marked meanwhile: time [s], kind and text of each."""
        for row in rows[np.flatnonzero(np.diff(rows["state"], prepend=np.uint32(self._state)))]:
            self._state = State(int(row["state"]))
            yield float(row["t_host"]), "state", self._state.name
        while self._marks:
            yield self._marks.popleft()
        if not self.late and rows["late"].any():
            yield self._first_late(rows[int(np.argmax(rows["late"]))])

    def _first_late(self, row: np.void) -> tuple[float, str, str]:
        """Report an over-run once, with its context; afterwards `ticks_late` counts them."""
        self.late = (
            f"tick {int(row['k'])} in state {State(int(row['state'])).name} woke "
            f"{1e3 * float(row['t_host'] - row['t_due']):.1f} ms after it was due; "
            "missed beats are left out, not made up"
        )
        return float(row["t_host"]), "late", self.late

    def _look_at(self, plant: _Fallible, t: float) -> None:
        """Mark at time ``t`` [s] what has happened to the plant in memory and no instrument tells."""
        if plant.fall and not self.fall:
            self._writer.marker(t, "fall", plant.fall)
        if plant.status not in ("", self._status):
            self._writer.marker(t, "model", plant.status)
        self.fall, self._status = self.fall or plant.fall, plant.status
