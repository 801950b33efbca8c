"""A log of ours taken apart and put together again, each record with a right length and checksum."""

import copy
import json
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.log import read_run
from riderless.hil.logs.mcap_writer import McapWriter
from riderless.hil.logs.records import (
    MARKER_SCHEMA,
    MARKER_TOPIC,
    TICK_TOPIC,
    WIRE_SCHEMA,
    WIRE_TOPIC,
    nanoseconds,
    seal,
)

GONE = object()  # instead of a value: the key is taken out
ROWS_A_CHUNK = 20


class InMemory(BytesIO):
    """What `McapWriter` wants of a file."""

    def flush(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class LogParts:
    """Everything a log holds."""

    header: Any  # a JSON object, or the text itself
    rows: np.ndarray
    markers: tuple[tuple[float, str, str], ...]
    tapes: dict[int, bytes]
    stop: Any

    def with_header(self, *changes: tuple[str, Any]) -> "LogParts":
        """The same with other values in the header, each by its path: ``rig.ports.0.device``."""
        return replace(self, header=changed(self.header, changes))

    def with_stop(self, *changes: tuple[str, Any]) -> "LogParts":
        """The same with other values in the stop record."""
        return replace(self, stop=changed(self.stop, changes))

    def with_rows(self, **columns: Any) -> "LogParts":
        """The same with other values in columns."""
        rows = self.rows.copy()
        for name, values in columns.items():
            rows[name] = values
        return replace(self, rows=rows)

    def some(self, keep: Any) -> "LogParts":
        """Only some of the rows."""
        return replace(self, rows=self.rows[keep].copy())

    def without(self, *columns: str) -> "LogParts":
        """Rows that lack columns."""
        names = [name for name in self.rows.dtype.names if name not in columns]
        return replace(self, rows=recast(self.rows, [(name, self.rows.dtype[name]) for name in names]))

    def retyped(self, **kinds: str) -> "LogParts":
        """Rows with other types in some columns."""
        fields = [(name, kinds.get(name, self.rows.dtype[name])) for name in self.rows.dtype.names]
        return replace(self, rows=recast(self.rows, fields))

    def log(self) -> bytes:
        """The log: each batch as `RunWriter` would write it."""
        file = InMemory()
        mcap = McapWriter(file, profile=protobuf_schema.PACKAGE)
        mcap.metadata("header", seal(text(self.header)))
        ticks = mcap.channel(TICK_TOPIC, "riderless.Tick", protobuf_schema.schema("Tick", self.rows.dtype))
        marks = mcap.channel(MARKER_TOPIC, "riderless.Marker", MARKER_SCHEMA)
        tapes = mcap.channel(WIRE_TOPIC, "riderless.Wire", WIRE_SCHEMA)
        wire_class, marker_class = (
            protobuf_schema.message_class(WIRE_SCHEMA),
            protobuf_schema.message_class(MARKER_SCHEMA),
        )
        known = self.rows.dtype.names or ()
        for start in range(0, len(self.rows), ROWS_A_CHUNK):
            some = self.rows[start : start + ROWS_A_CHUNK]
            k = some["k"].astype(np.uint64) if "k" in known else np.arange(start, start + len(some), dtype=np.uint64)
            t = some["t_host"] if "t_host" in known else np.zeros(len(some))
            mcap.messages(ticks, k & np.uint64(2**32 - 1), nanoseconds(t), protobuf_schema.encode_rows(some))
        for k, tape in self.tapes.items():
            data = wire_class(k=k, tape=tape).SerializeToString()
            mcap.messages(tapes, np.array([k % 2**32]), nanoseconds([0.0]), np.frombuffer(data, f"V{len(data)}"))
        for n, (t, kind, words) in enumerate(self.markers, start=1):
            data = marker_class(t=t, kind=kind, text=words).SerializeToString()
            mcap.messages(marks, np.array([n]), nanoseconds([t]), np.frombuffer(data, f"V{len(data)}"))
        if self.stop is not None:
            mcap.metadata("stop", seal(text(self.stop)))
        mcap.finish()
        return file.getvalue()


def text(content: Any) -> str:
    """A document as JSON, or a text as it is."""
    return content if isinstance(content, str) else json.dumps(content)


def recast(rows: np.ndarray, fields: list) -> np.ndarray:
    """Rows with other columns."""
    out = np.zeros(len(rows), np.dtype(fields, align=True))
    with np.errstate(all="ignore"):
        for name in out.dtype.names:
            out[name] = rows[name]
    return out


def changed(document: Any, changes: tuple[tuple[str, Any], ...]) -> Any:
    """A copy of a JSON document with other values at some paths."""
    out = copy.deepcopy(document)
    for path, value in changes:
        *way, last = (int(word) if word.isdigit() else word for word in path.split("."))
        inner = out
        for word in way:
            inner = inner[word]
        if value is GONE:
            del inner[last]
        else:
            inner[last] = value
    return out


def taken_apart(folder: Path) -> LogParts:
    """Parts of a good run."""
    run = read_run(folder)
    return LogParts(
        run.header.to_json(),
        run.ticks,
        tuple((marker.t, marker.kind, marker.text) for marker in run.markers),
        dict(run.tapes),
        asdict(run.stop),
    )
