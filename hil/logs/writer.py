"""Writer of a run's log.

Its header first, then rows and markers as they come, and the stop record at the end.
"""

import json
import logging
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.append_only import AppendOnlyFile
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.mcap_writer import McapWriter
from riderless.hil.logs.records import (
    MARKER_SCHEMA,
    MARKER_TOPIC,
    RUN_FILE,
    STOP_KILLED,
    STOP_REASONS,
    TICK_TOPIC,
    WIRE_SCHEMA,
    WIRE_TOPIC,
    Stop,
    nanoseconds,
    seal,
)
from riderless.hil.loop.tick_record import TICK
from riderless.models.errors import InputError

_logger = logging.getLogger("riderless.hil")
_NO_TAPE = np.zeros(0, np.uint8)


class LogSink(Protocol):
    """Receiver of a run: `RunWriter` on the disk, `RunRecorder` in memory."""

    def write(self, rows: np.ndarray, tape: np.ndarray) -> None:
        """Take rows (n,) of TICK and the tape of their bytes."""

    def marker(self, t: float, kind: str, text: str = "") -> None:
        """Take a marker at ``t`` [s, clock of `t_host`]."""


class RunWriter:
    """Writes a run; safe to use from several threads (rows from one, markers from another).

    As a context manager it closes the run as a success, or as an abort with the text of the exception.

    Parameters
    ----------
    folder
        Made if needed; must hold nothing yet.
    header
        As `riderless.hil.logs.header.new_header` makes it.
    simulated
        Time is simulated: no date is written, so that the same run gives the same bytes.

    Attributes
    ----------
    folder
        Of the run; once it is closed, where it lies if somebody has moved it meanwhile.
    moved
        Somebody has moved the run while it was written; known once it is closed.

    Raises
    ------
    InputError
        The folder is in use, cannot be made, or its disk does not take the header.
    """

    def __init__(self, folder: str | Path, header: RunHeader, simulated: bool = False) -> None:
        text = json.dumps(header.to_json())
        self.folder = _new_folder(Path(folder))
        self.moved = False
        self.rows = 0
        self.markers = 0
        self._simulated = simulated
        self._closed = False
        self._lock = Lock()
        self._marker = protobuf_schema.message_class(MARKER_SCHEMA)
        self._wire = protobuf_schema.message_class(WIRE_SCHEMA)
        try:
            self._file = AppendOnlyFile(self.folder / RUN_FILE)
            self._start(text)
        except OSError as error:
            raise InputError(
                f"cannot start a log in {self.folder}: {error.strerror}; make room or name another folder"
            ) from None

    def write(self, rows: NDArray, tape: NDArray = _NO_TAPE) -> None:
        """Append rows (n,) of TICK and the tape of their bytes; on return the operating system has them.

        Each call makes a chunk of its own: call it every 50 to 100 ms, not for every tick.

        Raises
        ------
        OSError
            The disk does not take them (full, gone). What was written before stays readable, and the
            rows are kept and tried again by the next `write`, `marker` or `close`.
        """
        if rows.dtype != TICK:
            raise TypeError(f"wanted rows of TICK, found {rows.dtype}")
        if not len(rows):
            return
        messages, times = protobuf_schema.encode_rows(rows), nanoseconds(rows["t_host"])
        with self._lock:
            self._check_open()
            self.rows += len(rows)
            self._mcap.messages(self._ticks, rows["k"], times, messages)
            if len(tape):
                data = self._wire(k=int(rows["k"][0]), tape=tape.tobytes()).SerializeToString()
                self._mcap.message(self._tapes, int(rows["k"][0]), int(times[0]), data)

    def marker(self, t: float, kind: str, text: str = "") -> None:
        """Append a marker at `t` (s, the clock of `t_host`). Raises as `write` does."""
        data = self._marker(t=t, kind=kind, text=text).SerializeToString()
        with self._lock:
            self._check_open()
            self.markers += 1
            self._mcap.message(self._marks, self.markers, int(nanoseconds(t)), data)

    def close(self, reason: str, cause: str = "", dropped: int = 0) -> None:
        """Write the stop record and the index, and wait for the disk. A second call does nothing.

        Parameters
        ----------
        reason
            "success", "abort" or "fault".
        cause
            Why, in words.
        dropped
            Rows that the loop made and nobody fetched in time.
        """
        if reason not in STOP_REASONS:
            raise ValueError(f"wanted a stop reason out of {', '.join(STOP_REASONS)}, found {reason!r}")
        with self._lock:
            if self._closed:
                return
            utc = "" if self._simulated else datetime.now(UTC).isoformat(timespec="milliseconds")
            self._finish(Stop(reason, cause, utc, self.rows, self.markers, dropped))

    def finish(self, stop: Stop) -> None:
        """Write the stop record of a run that ended before, none if it was killed, and the index."""
        with self._lock:
            self._check_open()
            self._finish(stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self.close("success")
            return
        try:
            self.close("abort", f"{type(error).__name__}: {error}")
        except OSError as failure:  # what went wrong first is what the caller must see
            error.add_note(f"the stop record of {self.folder} could not be written: {failure}")

    def _start(self, header: str) -> None:
        try:
            self._mcap = McapWriter(self._file, profile=protobuf_schema.PACKAGE)
            self._mcap.metadata("header", seal(header))
            self._ticks = self._mcap.channel(TICK_TOPIC, "riderless.Tick", protobuf_schema.schema("Tick", TICK))
            self._marks = self._mcap.channel(MARKER_TOPIC, "riderless.Marker", MARKER_SCHEMA)
            self._tapes = self._mcap.channel(WIRE_TOPIC, "riderless.Wire", WIRE_SCHEMA)
            self._file.sync()
        except BaseException:
            self._file.close()
            raise

    def _finish(self, stop: Stop) -> None:
        """Write stop record and index, and wait for the disk."""
        self._closed = True
        try:
            if stop.reason != STOP_KILLED:
                self._mcap.metadata("stop", seal(json.dumps(asdict(stop))))
            self._mcap.finish()
            self._file.sync()
            self._file.require_intact()
            if self._file.is_moved:
                self.folder, self.moved = self._file.place.parent, True
        finally:
            self._file.close()
        _logger.info(
            "wrote the log %s: %d rows, %s%s",
            self.folder,
            self.rows,
            stop.reason,
            f", {stop.cause}" if stop.cause else "",
        )

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"the run {self.folder} is closed")


def _new_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        in_use = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot make the run folder {folder}: {error.strerror}; name another one") from None
    if in_use:
        raise InputError(f"wanted a new or empty folder for the run, found files in {folder}; name another one")
    return folder
