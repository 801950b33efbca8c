"""Real-time run shown to whoever looks on: what no row tells, about ten times a second."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Protocol

import numpy as np

from hil.live.feed import LiveFeed, SharedSink
from hil.logs.header import RunHeader
from hil.logs.records import RUN_FILE
from hil.logs.writer import LogSink, RunWriter

_EVERY = 0.1  # s
_DISK_EVERY = 2.0  # s
RowShower = Callable[[np.void], None]


class ShownOperator(Protocol):
    """Operator of a run as far as it is shown; `hil.runners.operator.Operator` is one."""

    waiting: bool
    interrupted: str
    over_since: float | None

    @property
    def left(self) -> float:
        """Time left under control [s]."""


@contextmanager
def shown_run(
    feed: LiveFeed | None, writer: RunWriter, header: RunHeader, operator: ShownOperator
) -> Iterator[tuple[LogSink, RowShower | None]]:
    """Show a run for as long as the context lasts; yields where its rows go, and what to call with the newest row.

    Parameters
    ----------
    feed : LiveFeed or None
        Nothing is shown without one.
    writer : RunWriter
        Of its log.
    header : RunHeader
    operator : ShownOperator
    """
    if feed is None:
        yield writer, None
        return
    folder = writer.folder.absolute()
    rig = header.content["rig"]
    told = {"folder": str(folder), "rate": float(rig["rate"]), "can": feed.can}
    feed.begin({**told, "presence": bool(rig.get("present")), "header": header.to_json()})
    sink = SharedSink(writer, feed)
    shown_at = disk_at = -inf
    on_disk: dict[str, int] = {}

    def show(row: np.void) -> None:
        nonlocal shown_at, disk_at, on_disk
        now = float(row["t_host"])
        if now - shown_at < _EVERY and operator.over_since is None:
            return
        if now - disk_at >= _DISK_EVERY:
            disk_at = now
            with suppress(OSError):
                size = (folder / RUN_FILE).stat().st_size
                on_disk = {"recording_bytes": size, "disk_left": shutil.disk_usage(folder).free}
        shown_at = now
        digest = {
            "t_zero": sink.t_zero,
            "waiting": operator.waiting,
            "interrupted": operator.interrupted,
            "over": operator.over_since is not None,
            "time_left": operator.left,
            **on_disk,
        }
        feed.tell({name: value for name, value in digest.items() if value == value})  # without what is not a number

    try:
        yield sink, show
    finally:
        feed.finish()
        feed.tell({"over": True, "t_zero": sink.t_zero} if sink.t_zero == sink.t_zero else {"over": True})


def joined_watchers(*watchers: RowShower | None) -> RowShower | None:
    """Join functions that look at the newest row; None where there are none."""
    given = [watch for watch in watchers if watch is not None]
    if len(given) < 2:
        return given[0] if given else None

    def watch_all(row: np.void) -> None:
        for watch in given:
            watch(row)

    return watch_all
