"""Messages of topics as columns.

One for each number, time or text in them, by topic and field.
"""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riderless.experiments.recordings.foreign.table import Table, dotted_name, is_wanted, require_columns_few

LOG_TIME = "log_time"  # when a message was written down [ns]
MOST_ELEMENTS = 64  # of an array in a message: longer ones are pictures and scans
DEEPEST = 8  # messages within messages
_TIMES = (("sec", "nanosec"), ("sec", "nsec"), ("seconds", "nanos"), ("secs", "nsecs"))  # ROS 2, ROS 1, protobuf, JSON
_NO_TIME = -(2**63)


class _Nanoseconds(int):
    """Time or duration in a message, which a double would round to 256 ns."""


class TopicColumns(NamedTuple):
    """Columns that were read, in a form that passes from process to process."""

    columns: dict[str, np.ndarray]
    topics: dict[str, str]  # of each column
    unread: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def table(self, path: Path) -> Table:
        """Table of these columns."""
        return Table(path, self.columns, unread=self.unread, remarks=self.remarks, topics=self.topics)


class Topics:
    """Columns of the messages that are added, those ``wanted`` or all."""

    def __init__(self, path: Path, wanted: Collection[str]) -> None:
        self._path, self._wanted = path, [name.replace(" ", "/") for name in wanted]
        self._whole = [name.startswith("/") or " " in name for name in wanted]  # named with their topics
        self._times: dict[str, array[int]] = {}
        self._columns: dict[str, dict[str, Any]] = {}  # of each topic, by their fields
        self._unread: dict[str, None] = {}

    def needs(self, topic: str) -> bool:
        """May messages on this topic hold a column that is wanted?"""
        needed = not self._wanted or any(
            not whole or dotted_name(name).startswith(f"{dotted_name(topic)}.")
            for name, whole in zip(self._wanted, self._whole, strict=True)
        )
        if not needed:
            self._unread[f"{topic} ..."] = None
        return needed

    def add(self, topic: str, log_time: int, message: Any) -> None:
        """Add a message, written down at a time [ns]."""
        times, columns = self._times.setdefault(topic, array("q")), self._columns.setdefault(topic, {})
        values: dict[str, Any] = {}
        _spread(message, "", values)
        for name, value in values.items():
            if name not in columns:
                columns[name] = self._new(f"{topic} {name}", value)
                require_columns_few(sum(map(len, self._columns.values())), self._path)
            if (column := columns[name]) is not None:
                _append(column, len(times), value)
        times.append(min(log_time, 2**63 - 1))

    def _new(self, name: str, value: Any) -> Any:
        """Empty column for values like this one; None where it is not wanted."""
        if not is_wanted(name.replace(" ", "/"), self._wanted):
            self._unread[name] = None
            return None
        return array("q") if isinstance(value, _Nanoseconds) else [] if isinstance(value, str) else array("d")

    def result(self, remarks: Iterable[str] = ()) -> TopicColumns:
        """All columns, in the order of their times."""
        columns: dict[str, np.ndarray] = {}
        topics: dict[str, str] = {}
        for topic, times in self._times.items():
            order = np.argsort(np.array(times), kind="stable")
            columns[f"{topic} {LOG_TIME}"] = np.array(times)[order]
            for name, column in self._columns[topic].items():
                if column is not None:
                    _append(column, len(times), None)
                    columns[f"{topic} {name}"] = _as_array(column)[:-1][order]
            topics |= dict.fromkeys((name for name in columns if name not in topics), topic)
        return TopicColumns(columns, topics, tuple(self._unread), tuple(remarks))


def _append(column: Any, row: int, value: Any) -> None:
    """Put a value into a row of a column, nothing into those before it that have none."""
    nothing = None if isinstance(column, list) else _NO_TIME if column.typecode == "q" else np.nan
    if row > len(column):
        column.extend([nothing] * (row - len(column)))
    if isinstance(column, list):
        column.append(None if value is None else str(value))
        return
    try:
        column.append(nothing if value is None or isinstance(value, str) else value)
    except (OverflowError, TypeError):  # a number beyond its kind
        column.append(nothing)


def _as_array(column: Any) -> np.ndarray:
    values = np.array(column, dtype=object) if isinstance(column, list) else np.array(column)
    missing = values == _NO_TIME if values.dtype.kind == "i" else np.zeros(1, bool)
    return np.where(missing, np.nan, values) if missing[:-1].any() else values


def _spread(value: Any, name: str, into: dict[str, Any], depth: int = 0) -> None:
    """Collect the numbers, times and texts of a message, each by its path in it."""
    if isinstance(value, int | float | str | np.number | np.bool_):
        into[name] = value
        return
    if depth == DEEPEST:
        return
    if (members := _members(value)) is not None:
        for whole, parts in _TIMES:
            if whole in members and parts in members and len(members) == 2:
                try:
                    into[name] = _Nanoseconds(int(members[whole]) * 10**9 + int(members[parts]))
                except (TypeError, ValueError, OverflowError):
                    into[name] = None
                return
        labels = _texts(members.get("name"))  # of joints, whose arrays are in the same order
        for part, inner in members.items():
            path = f"{name}.{part}" if name else str(part)
            if labels and isinstance(inner, Sequence | np.ndarray) and len(inner) == len(labels):
                for label, member in zip(labels, inner, strict=True):
                    _spread(member, f"{path}[{label}]", into, depth + 1)
            else:
                _spread(inner, path, into, depth + 1)
    elif isinstance(value, Sequence | np.ndarray) and not isinstance(value, bytes) and len(value) <= MOST_ELEMENTS:
        for i, member in enumerate(value):
            _spread(member, f"{name}[{i}]", into, depth + 1)


def _members(value: Any) -> Mapping[str, Any] | None:
    """Fields of a message of JSON, ROS or protobuf; None where it is no message."""
    if isinstance(value, Mapping):
        return value
    if names := _field_names(value.__class__):
        return {name: getattr(value, name) for name in names}
    if hasattr(value, "ListFields"):
        present = {field.name for field, _ in value.ListFields()}  # zeros count as absent, and are told all the same
        known = value.DESCRIPTOR.fields
        return {
            field.name: getattr(value, field.name) for field in known if not field.message_type or field.name in present
        }
    return None


@lru_cache(maxsize=256)
def _field_names(kind: Any) -> tuple[str, ...]:
    """Fields of a type of ROS messages; what has a value already is one of its constants."""
    known = fields(kind) if is_dataclass(kind) else ()
    return tuple(field.name for field in known if field.default is MISSING)


def _texts(value: Any) -> Sequence[str]:
    """Texts of a list of nothing else, and of none that is too long."""
    listed = isinstance(value, Sequence) and not isinstance(value, str) and 0 < len(value) <= MOST_ELEMENTS
    return value if listed and all(isinstance(text, str) for text in value) else ()
