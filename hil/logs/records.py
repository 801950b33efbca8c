"""Records of a log beside its rows.

Markers, stop record, raw bytes, and how each is encoded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from numpy.typing import ArrayLike, NDArray

from riderless.hil.logs import protobuf_schema
from riderless.hil.logs.mcap_writer import crc32_text

RUN_FILE = "run.mcap"
_MOST_DIGITS = 25  # of a whole number; a counter of 64 bits has 20
STOP_REASONS = ("success", "abort", "fault")
STOP_KILLED = "killed"

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


@dataclass(frozen=True)
class Marker:
    """Something that happened at a known time `t` (s, the clock of `t_host`)."""

    t: float
    kind: str  # "kick", "operator", ...
    text: str = ""


@dataclass(frozen=True)
class Stop:
    """Stop record: reason and time of the end, and how much the writer says it had recorded."""

    reason: str = STOP_KILLED  # or one of STOP_REASONS
    cause: str = "no stop record: the program was killed, or is still running"
    utc: str = ""
    rows: int | None = None
    markers: int | None = None
    dropped: int | None = None  # rows that the loop made and nobody fetched in time

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Stop record of a run that was read; what has not the kind it should have is left out."""
        texts, counts = ("reason", "cause", "utc"), ("rows", "markers", "dropped")
        given = {name: content[name] for name in texts if isinstance(content.get(name), str)}
        given |= {name: content[name] for name in counts if isinstance(content.get(name), int)}
        return cls(**given)


def seal(text: str) -> dict[str, str]:
    """Content of a metadata record; MCAP itself has a CRC for chunks only."""
    return {"json": text, "crc32": crc32_text(text.encode())}


def unseal(values: dict[str, str] | None) -> dict[str, Any] | None:
    """Read what `seal` kept, or None; a wrong CRC is counted elsewhere, it may be one digit of a long header."""
    try:
        text = (values or {})["json"]
        content = json.loads(text, parse_int=_number)
        if "\\ud" in text.lower():  # halves of characters, which no terminal and no file takes
            whole = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
            content = json.loads(whole, parse_int=_number)
    except (KeyError, ValueError, RecursionError):  # the last: nested without end
        return None
    return content if isinstance(content, dict) else None


def _number(digits: str) -> int | float:
    """Read a whole number; one that no counter reaches becomes a float, perhaps infinite, which everybody refuses."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def nanoseconds(t: ArrayLike) -> NDArray[np.uint64]:
    """Convert time stamps [s] to those of MCAP; 0 for what is no time (NaN, negative), whose column keeps its bits."""
    t = np.asarray(t, np.float64)
    usable = (t >= 0) & (t < 1e10)
    return np.rint(np.where(usable, t, 0.0) * 1e9).astype(np.uint64)
