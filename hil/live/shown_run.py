"""Display of a real-time run to observers.

It tells what no row tells, about ten times a second.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Protocol

import numpy as np

from riderless.hil.live.feed import LiveFeed, SharedSink
from riderless.hil.logs.header import RunHeader
from riderless.hil.logs.records import RUN_FILE
from riderless.hil.logs.writer import LogSink, RunWriter

_EVERY = 0.1  # s
_DISK_EVERY = 2.0  # s
RowShower = Callable[[np.void], None]


class _ShownOperator(Protocol):
    """Operator of a run as far as it is shown; `riderless.hil.runners.operator.Operator` is one."""

    waiting: bool
    interrupted: str
    over_since: float | None

    @property
    def left(self) -> float:
        """Time left under control [s]."""


@contextmanager
def shown_run(
    feed: LiveFeed | None, writer: RunWriter, header: RunHeader, operator: _ShownOperator
) -> Iterator[tuple[LogSink, RowShower | None]]:
    """Show a run for as long as the context lasts; yields where its rows go, and what to call with the newest row.

    Parameters
    ----------
    feed : LiveFeed or None
        Nothing is shown without one.
    writer : RunWriter
        Of its log.
    header : RunHeader
    operator : _ShownOperator
    """
    if feed is None:
        yield writer, None
        return
    folder = writer.folder.absolute()
    rig = header.content["rig"]
    about = {"folder": str(folder), "rate": float(rig["rate"]), "can": feed.can}
    feed.begin({**about, "presence": bool(rig.get("present")), "header": header.to_json()})
    sink = SharedSink(writer, feed)
    try:
        yield sink, _Shower(feed, sink, folder, operator)
    finally:
        feed.finish()
        feed.tell({"over": True, "t_zero": sink.t_zero} if sink.t_zero == sink.t_zero else {"over": True})


class _Shower:
    """Shower of what no row tells, about ten times a second."""

    def __init__(self, feed: LiveFeed, sink: SharedSink, folder: Path, operator: _ShownOperator) -> None:
        self._feed, self._sink, self._folder, self._operator = feed, sink, folder, operator
        self._shown_at = self._disk_at = -inf
        self._on_disk: dict[str, int] = {}

    def __call__(self, row: np.void) -> None:
        now, operator = float(row["t_host"]), self._operator
        if now - self._shown_at < _EVERY and operator.over_since is None:
            return
        self._shown_at = now
        self._look_at_disk(now)
        digest = {
            "t_zero": self._sink.t_zero,
            "waiting": operator.waiting,
            "interrupted": operator.interrupted,
            "over": operator.over_since is not None,
            "time_left": operator.left,
            **self._on_disk,
        }
        self._feed.tell({name: x for name, x in digest.items() if x == x})  # without what is not a number

    def _look_at_disk(self, now: float) -> None:
        """Look at log and disk now and then; what was seen last stays where they cannot be seen."""
        if now - self._disk_at < _DISK_EVERY:
            return
        self._disk_at = now
        with suppress(OSError):
            size = (self._folder / RUN_FILE).stat().st_size
            self._on_disk = {"recording_bytes": size, "disk_left": shutil.disk_usage(self._folder).free}


def joined_watchers(*watchers: RowShower | None) -> RowShower | None:
    """Join functions that look at the newest row; None where there are none."""
    given = [watch for watch in watchers if watch is not None]
    if len(given) < 2:
        return given[0] if given else None

    def watch_all(row: np.void) -> None:
        for watch in given:
            watch(row)

    return watch_all
