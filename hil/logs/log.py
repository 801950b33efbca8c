"""The log of a run: one folder, one file `run.mcap`, written and read here.

The file holds the header (JSON), then the rows of the tick record and the markers in the order they came,
then the stop record (JSON). It only grows, by whole batches: a run that was killed reads up to its last
batch. docs/log-format.md describes the format, docs/decisions/0001-log-container.md why it was chosen.
"""

import dataclasses
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import numpy as np
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from mcap.writer import MCAP0_MAGIC as MAGIC
from numpy.typing import ArrayLike, NDArray

from hil.logs import protobuf_schema
from hil.logs.append_only import AppendOnlyFile
from hil.logs.header import RunHeader
from hil.logs.mcap_reader import McapContents
from hil.logs.mcap_writer import McapWriter, crc32_text
from hil.loop.tick_record import TICK
from models.errors import InputError

RUN_FILE = "run.mcap"
REASONS = ("success", "abort", "fault")
KILLED = "killed"

TICK_TOPIC = "/tick"
WIRE_TOPIC = "/wire"
MARKER_TOPIC = "/marker"
WIRE_SCHEMA = protobuf_schema.message_schema(
    "Wire",
    [
        ("k", FieldDescriptorProto.TYPE_FIXED64),  # of the first row whose bytes these are
        ("tape", FieldDescriptorProto.TYPE_BYTES),
    ],
)
MARKER_SCHEMA = protobuf_schema.message_schema(
    "Marker",
    [
        ("t", FieldDescriptorProto.TYPE_DOUBLE),
        ("kind", FieldDescriptorProto.TYPE_STRING),
        ("text", FieldDescriptorProto.TYPE_STRING),
    ],
)


_NO_TAPE = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class Marker:
    """Something that happened at a known time `t` (s, the clock of `t_host`)."""

    t: float
    kind: str  # "kick", "operator", ...
    text: str = ""


@dataclass(frozen=True)
class Stop:
    """Why and when a run ended, and what its writer says it had recorded."""

    reason: str = KILLED  # or one of REASONS
    cause: str = "no stop record: the program was killed, or is still running"
    utc: str = ""
    rows: int | None = None
    markers: int | None = None
    dropped: int | None = None  # rows that the loop made and nobody fetched in time


@dataclass(frozen=True, eq=False)
class Run:
    """A run as read back."""

    folder: Path
    header: RunHeader
    ticks: NDArray  # (n,), read only, with the columns it was written with (TICK, if by this version)
    markers: tuple[Marker, ...]
    tapes: dict[int, bytes]  # raw bytes of the ports (see hil.loop.wire_tape), by the tick they begin with
    stop: Stop
    complete: bool  # stopped properly and every row and marker is here
    recovered: str  # what was read of a damaged or unfinished file; empty if the file is whole


class RunWriter:
    """Writes a run; safe to use from several threads (rows from one, markers from another).

    As a context manager it closes the run as a success, or as an abort with the text of the exception.

    Parameters
    ----------
    folder
        Made if needed; must hold nothing yet.
    header
        As `hil.logs.header.new_header` makes it.
    simulated
        Time is simulated: no date is written, so that the same run gives the same bytes.

    Raises
    ------
    InputError
        The folder is in use, cannot be made, or its disk does not take the header.
    """

    def __init__(self, folder: str | Path, header: RunHeader, simulated: bool = False) -> None:
        text = json.dumps(header.to_json())
        self.folder = _new_folder(Path(folder))
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
        messages, times = protobuf_schema.pack(rows), _nanoseconds(rows["t_host"])
        with self._lock:
            self._check_open()
            self.rows += len(rows)
            self._mcap.messages(self._ticks, rows["k"], times, messages)
            if len(tape):
                data = self._wire(k=int(rows["k"][0]), tape=tape.tobytes()).SerializeToString()
                self._mcap.messages(self._tapes, rows["k"][:1], times[:1], np.frombuffer(data, f"V{len(data)}"))

    def marker(self, t: float, kind: str, text: str = "") -> None:
        """Append a marker at `t` (s, the clock of `t_host`). Raises as `write` does."""
        data = self._marker(t=t, kind=kind, text=text).SerializeToString()
        message = np.frombuffer(data, f"V{len(data)}")
        with self._lock:
            self._check_open()
            self.markers += 1
            self._mcap.messages(self._marks, np.array([self.markers]), _nanoseconds([t]), message)

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
        if reason not in REASONS:
            raise ValueError(f"wanted a stop reason out of {', '.join(REASONS)}, found {reason!r}")
        with self._lock:
            if self._closed:
                return
            self._closed = True
            utc = "" if self._simulated else datetime.now(UTC).isoformat(timespec="milliseconds")
            stop = Stop(reason, cause, utc, self.rows, self.markers, dropped)
            try:
                self._mcap.metadata("stop", _seal(json.dumps(dataclasses.asdict(stop))))
                self._mcap.finish()
                self._file.sync()
            finally:
                self._file.close()

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
            self._mcap.metadata("header", _seal(header))
            self._ticks = self._mcap.channel(TICK_TOPIC, "riderless.Tick", protobuf_schema.schema("Tick", TICK))
            self._marks = self._mcap.channel(MARKER_TOPIC, "riderless.Marker", MARKER_SCHEMA)
            self._tapes = self._mcap.channel(WIRE_TOPIC, "riderless.Wire", WIRE_SCHEMA)
            self._file.sync()
        except BaseException:
            self._file.close()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"the run {self.folder} is closed")


def run_folder(root: str | Path, *words: object) -> Path:
    """A folder name in `root` for a run that starts now: UTC time and `words`; not yet made."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    name = "-".join([stamp, *(re.sub(r"[^\w.+-]+", "_", str(word)) for word in words)])
    folder, n = Path(root) / name, 1
    while folder.exists():
        n += 1
        folder = Path(root) / f"{name}-{n}"
    return folder


def warm_up() -> None:
    """Write and read a run of one row, so that nothing is loaded or built for the first time later."""
    with tempfile.TemporaryDirectory() as root:
        with RunWriter(Path(root) / "warm-up", RunHeader({})) as writer:
            writer.write(np.zeros(1, TICK), np.zeros(1, np.uint8))
            writer.marker(0.0, "operator")
        read_run(writer.folder)


def read_run(path: str | Path, everything: bool = True) -> Run:
    """Read a run, finished or not, whole or cut anywhere.

    Parameters
    ----------
    path
        The run's folder, or its `run.mcap`.
    everything
        False where only columns of the ticks are wanted: they are then views of the file's bytes (twice as fast, not
        aligned), and the raw bytes of the ports are left out.

    Raises
    ------
    InputError
        There is no run, it ends before its header does, or a newer version of riderless wrote it.
    """
    path = Path(path)
    file = path / RUN_FILE if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(
            f"wanted a run folder, found no {RUN_FILE} at {path} ({error.strerror}); give the folder of a run"
        ) from None
    if not data or not MAGIC.startswith(data[: len(MAGIC)]):
        found = "an empty file" if not data else "something else"
        raise InputError(f"wanted a log (MCAP), found {found} in {file}; give the folder of a run")
    contents = McapContents(TICK_TOPIC, TICK, without="" if everything else WIRE_TOPIC)
    rest = data[contents.take(data, len(MAGIC)) :]
    content = _unseal(contents.metadata.get("header"))
    if content is None:
        raise InputError(
            f"wanted a run with its header, found {len(data)} bytes without one in {file}: it was cut before "
            "its first row or is another program's file; give the folder of another run"
        )
    header = RunHeader.from_json(content)
    stopped = _unseal(contents.metadata.get("stop")) or {}
    stop = Stop(**{f.name: stopped[f.name] for f in dataclasses.fields(Stop) if f.name in stopped})
    ticks = contents.rows(copied=everything)
    ticks.setflags(write=False)
    markers = tuple(_markers(contents))
    missing = _missing(contents, stop, len(ticks), len(markers))
    remarks = list(missing)
    if rest != MAGIC:
        remarks.append("its index is missing" + (f", {len(rest)} bytes at its end are cut" if rest else ""))
    found = f"read {len(ticks)} rows and {len(markers)} markers of a run that is not whole: "
    recovered = found + "; ".join(remarks) if remarks else ""
    return Run(file.parent, header, ticks, markers, dict(_tapes(contents)), stop, not missing, recovered)


def _missing(contents: McapContents, stop: Stop, rows: int, markers: int) -> list[str]:
    """What speaks against having everything that was recorded."""
    missing = []
    if stop.reason == KILLED:
        missing.append("it has no stop record")
    elif (stop.rows, stop.markers) != (rows, markers):
        missing.append(f"its stop record counts {stop.rows} and {stop.markers}")
    damaged = contents.damaged + sum(v != _seal(v.get("json", "")) for v in contents.metadata.values())
    if damaged:
        missing.append(f"damaged records: {damaged}")
    return missing


def _markers(contents: McapContents) -> Iterator[Marker]:
    for channel, schema, data in contents.messages:
        if channel.topic == MARKER_TOPIC:
            marker = protobuf_schema.message_class(schema).FromString(data)
            yield Marker(marker.t, marker.kind, marker.text)


def _tapes(contents: McapContents) -> Iterator[tuple[int, bytes]]:
    for channel, schema, data in contents.messages:
        if channel.topic == WIRE_TOPIC:
            wire = protobuf_schema.message_class(schema).FromString(data)
            yield wire.k, wire.tape


def _seal(text: str) -> dict[str, str]:
    """A metadata record's content; MCAP itself has a CRC for chunks only."""
    return {"json": text, "crc32": crc32_text(text.encode())}


def _unseal(values: dict[str, str] | None) -> dict[str, Any] | None:
    """What `_seal` kept, or None; a wrong CRC is counted elsewhere, it may be one digit of a long header."""
    try:
        content = json.loads((values or {})["json"])
    except (KeyError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _nanoseconds(t: ArrayLike) -> NDArray[np.uint64]:
    """Time stamps as MCAP wants them; 0 for what is no time (NaN, negative), whose column keeps its bits."""
    t = np.asarray(t, np.float64)
    usable = (t >= 0) & (t < 1e10)
    return np.rint(np.where(usable, t, 0.0) * 1e9).astype(np.uint64)


def _new_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        in_use = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot make the run folder {folder}: {error.strerror}; name another one") from None
    if in_use:
        raise InputError(f"wanted a new or empty folder for the run, found files in {folder}; name another one")
    return folder
