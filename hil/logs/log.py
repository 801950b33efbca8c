"""Runs as a whole, in memory or logged.

The file `run.mcap` holds the header (JSON), then the rows of the tick record and the markers in the order they came,
then the stop record (JSON). It only grows, by whole batches: a run that was killed reads up to its last
batch. docs/log-format.md describes the format, docs/decisions/0001-log-container.md why it was chosen.
"""

import itertools
import logging
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mcap.writer import MCAP0_MAGIC as MAGIC
from numpy.typing import NDArray

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.folders import folder_stem
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.mcap_reader import DAMAGE, McapContents
from riderless.hil.logs.records import (
    MARKER_TOPIC,
    RUN_FILE,
    STOP_KILLED,
    TICK_TOPIC,
    WIRE_SCHEMA,
    WIRE_TOPIC,
    Marker,
    Stop,
    seal,
    unseal,
)
from riderless.hil.logs.stored_rows import StoredMessages, in_stretches
from riderless.hil.logs.writer import RunWriter
from riderless.hil.loop.tick_record import TICK, TICK_COLUMNS
from riderless.hil.memory import TooMuchMemory
from riderless.models.errors import InputError
from riderless.models.tables import data_frame
from riderless.models.text_file import why_unreadable

if TYPE_CHECKING:
    import pandas

_logger = logging.getLogger("riderless.hil")
LONG_LOG_BYTES = 32_000_000  # of a file; its rows are three times as long in memory, and their columns more
_PROFILE_SEEN = 32  # bytes of a file within which its profile stands; ours has its name there
_SUMMARY_SEEN = 1 << 20  # and bytes at its end where its schemas are named again, as of a copy that `mcap` made
MARKER_FIELDS = {"t": float, "kind": str, "text": str}
WIRE_FIELDS = {"k": int, "tape": bytes}
__all__ = [
    "RUN_FILE",
    "STOP_KILLED",
    "Marker",
    "Run",
    "RunRecorder",
    "RunWriter",
    "Stop",
    "read_run",
    "require_columns",
    "warm_up_log",
]


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """Run in memory, from a simulation or read from its log."""

    folder: Path  # of its log; only a name for a run that was never saved
    header: RunHeader
    ticks: NDArray  # (n,), read only, with the columns it was written with (TICK, if by this version)
    markers: tuple[Marker, ...]
    tapes: Mapping[int, bytes]  # raw bytes of the ports (see riderless.hil.loop.wire_tape), by the tick they begin with
    stop: Stop
    complete: bool  # stopped properly and every row and marker is here
    recovered: str  # what was read of a damaged or unfinished file; empty if the file is whole

    @property
    def duration(self) -> float:
        """Time from the first row to the last [s], on the host's clock."""
        return float(self.ticks[-1]["t_host"]) - float(self.ticks[0]["t_host"]) if len(self.ticks) else 0.0

    def __repr__(self) -> str:
        name = self.header.label or self.folder.name
        return f"Run({name}: {len(self.ticks)} ticks in {self.duration:.2f} s, {self.stop.reason}: {self.stop.cause})"

    def _repr_html_(self) -> str:
        """Short table for notebooks."""
        rows = {
            "run": self.header.label or self.folder.name,
            "ticks": f"{len(self.ticks)} in {self.duration:.2f} s",
            "ended": f"{self.stop.reason}: {self.stop.cause}",
            "markers": ", ".join(f"{marker.kind} {marker.text} at {marker.t:.2f} s" for marker in self.markers),
            "recovered": self.recovered,
        }
        cells = (f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in rows.items() if value)
        return f"<table>{''.join(cells)}</table>"

    def to_frame(self) -> "pandas.DataFrame":
        """Copy the rows into a pandas DataFrame, one column for each of the log, SI units.

        Raises
        ------
        InputError
            pandas is not installed.
        """
        columns = {name: self.ticks[name].copy() for name in self.ticks.dtype.names or ()}
        return data_frame(columns, units={column.name: column.unit for column in TICK_COLUMNS})

    def batches(self) -> Iterator[tuple[int, NDArray, bytes]]:
        """Rows in the batches their tapes were written in, each with the number of its first tick and its tape."""
        tapes = iter(self.tapes.items() if isinstance(self.tapes, StoredTapes) else sorted(self.tapes.items()))
        coming = next(tapes, None)
        begun: dict[int, bytes] = {}  # tapes of the rows that are looked at
        rows = self.ticks[:0]
        for more in in_stretches(self.ticks):
            rows = np.concatenate([rows, more]) if len(rows) else more
            k = rows["k"].astype(np.int64)
            while coming is not None and coming[0] <= k.max():
                begun[coming[0]], coming = coming[1], next(tapes, None)
            gaps = np.flatnonzero(np.diff(k, prepend=k[:1]) > 1)
            starts = sorted({0, *gaps.tolist(), *np.searchsorted(k, sorted(begun)).tolist()} - {len(k)})
            for a, b in itertools.pairwise(starts):
                yield int(k[a]), rows[a:b], begun.get(int(k[a]), b"")
            rows = rows[starts[-1] :]  # the last may go on
            begun = {first: tape for first, tape in begun.items() if first >= k[starts[-1]]}
        if len(rows):
            yield int(rows["k"][0]), rows, begun.get(int(rows["k"][0]), b"")

    def save(self, folder: str | Path) -> Path:
        """Write the run to a new or empty ``folder``, as the runner that made it would have; its log.

        Raises
        ------
        InputError
            The folder is in use, or the rows have other columns than this version's.
        OSError
            The disk does not take them.
        """
        if self.ticks.dtype != TICK:
            raise InputError(
                f"wanted rows with this version's columns, found others: {self.header.made_by} made this run; copy "
                f"its file {self.folder / RUN_FILE} instead"
            )
        with RunWriter(folder, self.header) as writer:
            markers = deque(self.markers)
            for _, rows, tape in self.batches():
                writer.write(rows, np.frombuffer(tape, np.uint8))
                while markers and markers[0].t <= rows["t_host"][-1]:
                    writer.marker(**vars(markers.popleft()))
            for marker in markers:
                writer.marker(**vars(marker))
            writer.finish(self.stop)
        return writer.folder / RUN_FILE


class StoredTapes(Mapping[int, bytes]):
    """Raw bytes of a long run, read from its log when they are asked for: best in their order, by `items`."""

    def __init__(self, messages: StoredMessages, others: Mapping[int, bytes]) -> None:
        self._messages, self._others = messages, others

    def __len__(self) -> int:
        return len(self._messages) + len(self._others)

    def __iter__(self) -> Iterator[int]:
        return (k for k, _ in self.items())

    def __getitem__(self, wanted: int) -> bytes:
        for k, tape in self.items():
            if k == wanted:
                return tape
        raise KeyError(wanted)

    def items(self) -> Any:
        """Tapes in the order in which they were written."""
        wire_class = protobuf_schema.message_class(WIRE_SCHEMA)
        for data in self._messages:
            try:
                wire = wire_class.FromString(data)
            except DAMAGE:
                continue
            yield wire.k, wire.tape
        yield from self._others.items()


class RunRecorder:
    """Collects a run in memory, where `RunWriter` would write it to the disk."""

    def __init__(self, header: RunHeader) -> None:
        self.header = header
        self._batches: list[NDArray] = []
        self._markers: list[Marker] = []
        self._tapes: dict[int, bytes] = {}

    def write(self, rows: NDArray, tape: NDArray) -> None:
        """Keep a copy of rows (n,) of TICK and of the tape of their bytes."""
        self._batches.append(rows.copy())
        if len(tape):
            self._tapes[int(rows["k"][0])] = tape.tobytes()

    def marker(self, t: float, kind: str, text: str = "") -> None:
        """Keep a marker at ``t`` [s, clock of `t_host`]."""
        self._markers.append(Marker(t, kind, text))

    def run(self, reason: str, cause: str) -> Run:
        """Everything kept so far as a run that ended for a ``reason`` (one of `STOP_REASONS`) with a ``cause``."""
        ticks = np.concatenate([np.zeros(0, TICK), *self._batches])
        ticks.setflags(write=False)
        stop = Stop(reason, cause, "", len(ticks), len(self._markers), 0)
        name = Path(folder_stem(self.header.label) or "run")
        return Run(name, self.header, ticks, tuple(self._markers), self._tapes, stop, complete=True, recovered="")


def warm_up_log() -> None:
    """Write and read a run of one row, so that nothing is loaded or built for the first time later."""
    with tempfile.TemporaryDirectory() as root:
        with RunWriter(Path(root) / "warm-up", RunHeader({})) as writer:
            writer.write(np.zeros(1, TICK), np.zeros(1, np.uint8))
            writer.marker(0.0, "operator")
        read_run(writer.folder)


def run_or_read(source: Run | str | Path) -> Run:
    """Give a run as it is, or read it from its folder as `read_run` does, rows of a long log left in their file."""
    return source if isinstance(source, Run) else read_run(source, stored=True)


def read_run(path: str | Path, everything: bool = True, stored: bool = False) -> Run:
    """Read a run, finished or not, whole or cut anywhere.

    Parameters
    ----------
    path
        The run's folder, or its `run.mcap`.
    everything
        False where only columns of the ticks are wanted: they are then views of the file's bytes (twice as fast, not
        aligned), and the raw bytes of the ports are left out.
    stored
        The rows and raw bytes of a log of more than `LONG_LOG_BYTES` stay in its file, as `StoredRows` and
        `StoredTapes`; damage inside them shows when they are read.

    Raises
    ------
    InputError
        There is no run, it ends before its header does, or a newer version of riderless wrote it.
    """
    path = Path(path)
    file = path / RUN_FILE if path.is_dir() else path
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:  # a file that was cut within its first bytes is a log too
            begins = opened.read(len(MAGIC))
        if not begins or not MAGIC.startswith(begins):
            found = "an empty file" if not begins else "something else"
            raise InputError(f"wanted a log (MCAP), found {found} in {file}; give the folder of a run")
        long = stored and size > LONG_LOG_BYTES
        try:
            contents, rest = _contents(file, everything, long)
        except TooMuchMemory:
            if long or not stored:
                raise
            long = True  # a short file of long rows
            contents, rest = _contents(file, everything, long)
    except OSError as error:
        raise InputError(
            f"wanted a run folder, found no {RUN_FILE} at {path} ({why_unreadable(error)}); give the folder of a run"
        ) from None
    content = unseal(contents.metadata.get("header"))
    if content is None:
        raise InputError(
            f"wanted a run with its header, found {size} bytes without one in {file}: it was cut before "
            "its first row: give the folder of another run; or it is another program's file: say with --mapping which "
            "field is what (docs/foreign-logs.md)"
        )
    header = RunHeader.from_json(content)
    stop = Stop.from_json(unseal(contents.metadata.get("stop")) or {})
    ticks: Any = contents.stored_rows(file) if long else contents.rows(copied=everything)
    require_columns(ticks.dtype, ("k", "t_host") if len(ticks) else (), file)
    if not long:
        ticks.setflags(write=False)
    markers = tuple(Marker(*fields) for fields in _decoded(contents, MARKER_TOPIC, MARKER_FIELDS))
    tapes: Mapping[int, bytes] = dict(_decoded(contents, WIRE_TOPIC, WIRE_FIELDS))
    missing = _missing(contents, stop, len(ticks), len(markers))
    remarks = list(missing)
    if rest != MAGIC:
        remarks.append("its index is missing" + (f", {len(rest)} bytes at its end are cut" if rest else ""))
    summary = f"read {len(ticks)} rows and {len(markers)} markers of a run that is not whole: "
    recovered = summary + "; ".join(remarks) if remarks else ""
    if long and everything:
        tapes = StoredTapes(contents.stored_messages(file, WIRE_TOPIC), tapes)
    _logger.info("read %d rows of %s%s", len(ticks), file, f", {recovered}" if recovered else "")
    return Run(file.parent, header, ticks, markers, tapes, stop, not missing, recovered)


def require_columns(dtype: np.dtype, names: Iterable[str], where: object) -> None:
    """Refuse rows that lack a column, or have other things than its numbers in it.

    Raises
    ------
    InputError
        ``where`` names the run.
    """
    known = dtype.names or ()
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"wanted a run with the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}, found none in "
            f"{where}: the log is damaged, or another program made it"
        )
    ours = TICK.names or ()
    for name in names:
        wanted = "iu" if name in ours and TICK[name].kind in "iu" else "f"
        if dtype[name].kind not in wanted:
            raise InputError(
                f"wanted {'whole numbers' if wanted == 'iu' else 'numbers'} in the column {name} of {where}, found "
                f"{dtype[name].name}: the log is damaged, or another program made it"
            )


def is_foreign_log(file: Path) -> bool:
    """Is this another program's MCAP file? One that was cut within its header may be anybody's, and is none."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_PROFILE_SEEN)
            opened.seek(max(file.stat().st_size - _SUMMARY_SEEN, 0))
            summary = opened.read()
    except OSError:
        return False
    begins = head.startswith(MAGIC) and len(head) == _PROFILE_SEEN
    return begins and protobuf_schema.PACKAGE.encode() not in head and b"riderless.Tick" not in summary


def _contents(file: Path, everything: bool, long: bool) -> tuple[McapContents, bytes]:
    """Records of a log, and what follows the last whole one; the rows of a ``long`` one stay in the file."""
    topics = ((TICK_TOPIC, WIRE_TOPIC) if everything else (TICK_TOPIC,)) if long else ()
    contents = McapContents(TICK_TOPIC, TICK, without="" if everything else WIRE_TOPIC, located=topics)
    return contents, contents.take_file(file, len(MAGIC))


def _missing(contents: McapContents, stop: Stop, rows: int, markers: int) -> list[str]:
    """List the signs that not everything recorded is here."""
    missing = []
    if stop.reason == STOP_KILLED:
        missing.append("it has no stop record")
    elif (stop.rows, stop.markers) != (rows, markers):
        missing.append(f"its stop record counts {stop.rows} and {stop.markers}")
    damaged = contents.damaged + sum(v != seal(v.get("json", "")) for v in contents.metadata.values())
    if damaged:
        missing.append(f"damaged records: {damaged}")
    return missing


def _decoded(contents: McapContents, topic: str, kinds: Mapping[str, type]) -> Iterator[tuple[Any, ...]]:
    """Fields of the messages of a topic, of the ``kinds`` they must have; one without them is damaged."""
    for channel, schema, data in contents.messages:
        if channel.topic != topic:
            continue
        try:
            message = protobuf_schema.message_class(schema).FromString(data)
            fields = tuple(getattr(message, name) for name in kinds)
        except DAMAGE:
            contents.damaged += 1
            continue
        if all(isinstance(field, kind) for field, kind in zip(fields, kinds.values(), strict=True)):
            yield fields
        else:
            contents.damaged += 1
